"""Aggregation: from a fraction per list to one exact number."""

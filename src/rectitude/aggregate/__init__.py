"""Aggregation: from one fraction per list to one exact number."""

"""Experiments: from raw interactions and models, by one file, to results that can be repeated."""

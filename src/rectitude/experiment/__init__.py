"""Experiments: one file describes data, models and metrics; a run gives reproducible results."""

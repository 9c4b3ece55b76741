"""Metrics of lists shown shelf by shelf."""

"""Auditing: what is wrong with a split and with predictions, and what that does to the numbers."""

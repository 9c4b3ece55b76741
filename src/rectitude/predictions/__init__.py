"""Predictions: who is predicted what, and in which order."""

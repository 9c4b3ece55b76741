"""Predictions: what a model recommends to each user, and in which order."""

"""Candidates: the items a recommender ranks, and how sampling them changes a metric's value."""

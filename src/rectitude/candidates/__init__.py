"""Candidates: which items a recommender chooses among, and what sampling them does to a number."""

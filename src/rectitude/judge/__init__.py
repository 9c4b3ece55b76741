"""Judging: match recommended items with the truth and find their ranks."""

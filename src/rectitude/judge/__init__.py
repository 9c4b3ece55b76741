"""Judging: the only stage that compares ids and finds ranks."""

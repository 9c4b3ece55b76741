"""Comparison: is one model better than another, by how much, and is the difference significant?"""

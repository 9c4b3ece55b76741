"""Comparison: is one model better than another, by how much, and could it be chance?"""

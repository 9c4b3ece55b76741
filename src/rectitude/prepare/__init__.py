"""Preparing: steps that remove interactions, each with an account of what it removed."""

"""Explain numbers: why two differ, which definition gives one, and how one is computed."""

"""Kinds of files that are read and written, one file for those that are alike."""

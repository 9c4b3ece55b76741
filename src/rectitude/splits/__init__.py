"""Splits: which interactions are learnt from, which are shown, and which are to be found."""

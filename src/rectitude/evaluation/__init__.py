"""Engines run an evaluation; they hold no formulas."""

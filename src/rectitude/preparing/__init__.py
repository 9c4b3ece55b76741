"""Preparing: steps that remove interactions, each with an account of what it removed."""

from rectitude.preparing.recipe import prepare, read_recipe
from rectitude.preparing.steps import STEPS

__all__ = ["STEPS", "prepare", "read_recipe"]

"""The command line: `rectitude VERB`, one file per verb."""

from rectitude.cli.app import main

__all__ = ["main"]

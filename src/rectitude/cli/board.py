"""`rectitude board`: rank the stored results of several people on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rectitude.cli.options import Json
from rectitude.cli.output import say

NAME = "board"
EXAMPLE = """\b
Examples:
  rectitude board results                       everything in this folder, as board.html
  rectitude board results --output shop.html --title "Shop, spring" """


def run(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder with stored evaluations and runs.")
    ],
    *,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The HTML file to write.")] = Path(
        "board.html"
    ),
    title: Annotated[str, typer.Option(metavar="TEXT", help="The title of the page.")] = "",
    as_json: Json = False,
) -> int:
    """Rank stored evaluations and runs on one self-contained HTML page.

    Results are ranked together only if truth, candidates and definitions are the same; the page
    says what keeps others apart, and under which convention they could be compared.
    """
    from rectitude.reports.board import board

    written = board(folder, output, title=title)
    say(json.dumps({"board": str(written)}) if as_json else str(written))
    return 0

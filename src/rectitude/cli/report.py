"""`rectitude report`: write results as an HTML page to read and share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.cli.options import Json
from rectitude.cli.output import say
from rectitude.errors import BadArgument

NAME = "report"
EXAMPLE = """\b
Examples:
  rectitude report runs/shop                         one run
  rectitude report runs/shop runs/shop-2 --output both.html
  rectitude report a.json b.json --output both.html  saved evaluations
  rectitude report runs/shop --figures figures --png charts and tables for a paper"""


def run(
    results: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN|FILE", help="Folders of runs, or saved evaluations."),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The HTML file; by default report.html in the run's folder."
        ),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The title of the report.")] = "",
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write charts and tables for papers to this folder."),
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Also write the charts as PNG.")] = False,
    as_json: Json = False,
) -> int:
    """Write a report: one self-contained HTML file."""
    from rectitude.reports.page import report

    if not results:
        raise BadArgument("no results were given.", "the folder of a run, or saved evaluations.")
    if png and figures is None:
        raise BadArgument("--png was given without --figures.", "--figures with a folder.")
    folder = Path(results[0])
    path = output or (folder if len(results) == 1 and folder.is_dir() else Path()) / "report.html"
    options: dict[str, Any] = {"figures": figures, "pictures": "png" if png else "svg"}
    written = report(results, path, title=title, **options)
    say(json.dumps({"report": str(written)}) if as_json else str(written))
    return 0

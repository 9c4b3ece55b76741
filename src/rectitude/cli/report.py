"""`rectitude report`: results as a page to look at and to share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.cli.options import Json
from rectitude.errors import BadName

NAME = "report"
EXAMPLE = """\b
Examples:
  rectitude report runs/shop                         one run
  rectitude report runs/shop runs/shop-2 --output both.html
  rectitude report a.json b.json --output both.html  evaluations that were stored
  rectitude report runs/shop --figures figures --png charts and tables for a paper"""


def run(
    results: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN|FILE", help="Folders of runs, or stored evaluations."),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; report.html, in the folder of a run."),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="What stands above it.")] = "",
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where charts and tables for papers go."),
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Charts as PNG, too.")] = False,
    as_json: Json = False,
) -> int:
    """Write a page to look at and to share: one HTML file that needs nothing else."""
    from rectitude.reports.page import report

    if not results:
        raise BadName("no results were named.", "the folder of a run, or stored evaluations.")
    if png and figures is None:
        raise BadName("--png was given without --figures.", "--figures with a folder.")
    folder = Path(results[0])
    path = output or (folder if len(results) == 1 and folder.is_dir() else Path()) / "report.html"
    given: dict[str, Any] = {"figures": figures, "pictures": "png" if png else "svg"}
    written = report(results, path, title=title, **given)
    typer.echo(json.dumps({"report": str(written)}) if as_json else str(written))
    return 0

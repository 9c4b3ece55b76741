"""`rectitude convert`: predictions, truth or candidates from one format to another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns
from rectitude.cli.options import Json, listing, pairs
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.data.formats.convert import Conversion

NAME = "convert"
EXAMPLE = """\b
Examples:
  rectitude convert recs.csv recs.run
  rectitude convert ml-1m/ratings.dat ml-1m.inter
  rectitude convert scores.tsv recs.parquet --from elliot --to rectools --as predictions
  rectitude convert --formats"""
KINDS = ("predictions", "truth", "candidates")


def run(
    source: Annotated[
        Path | None, typer.Argument(metavar="FROM", help="The file to read.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None, typer.Argument(metavar="TO", help="The file to write.", show_default=False)
    ] = None,
    form: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="Its format, if the guess is wrong.")
    ] = "",
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="By default what the ending stands for.")
    ] = "",
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="predictions, truth or candidates.")
    ] = "",
    columns: Columns = None,
    formats: Annotated[bool, typer.Option("--formats", help="List all formats.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a file, and say what was recognised and what could not be kept."""
    if formats:
        cells = _formats()
        rows = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
        typer.echo(json.dumps(rows, indent=1) if as_json else listing(cells))
        return
    if source is None or target is None:
        raise BadName("convert needs two files.", "rectitude convert FROM TO.",
                      "see: rectitude convert --help")  # fmt: skip
    if kind and kind not in KINDS:
        raise BadName(f"--as cannot be {kind!r}.", f"{', '.join(KINDS)}.")
    from rectitude.data.formats.convert import convert

    asked: Any = kind or None
    named = pairs(columns or (), "--columns", "user=visitor")
    done = convert(source, target, form=form, to=to, kind=asked, columns=named)
    told = {"from": str(source), "to": str(target), **asdict(done)}
    typer.echo(json.dumps(told, indent=1) if as_json else _told(done, source, target))


def _told(done: Conversion, source: Path, target: Path) -> str:
    taken = [
        f"{'user' if role == 'list' else role} = {name}"
        for role, name in done.columns.items()
        if name
    ]
    lines = [
        f"read {source} as {done.read}",
        f"  {done.kind}: {done.why}",
        *([f"  columns: {', '.join(taken)}"] if taken else []),
        f"wrote {target} as {done.written}: {done.rows:,} rows, {done.lists:,} lists",
        *(f"  note: {note}" for note in done.made),
        *(f"  not kept: {note}" for note in done.lost),
    ]
    return "\n".join(lines)


def _formats() -> list[tuple[str, ...]]:
    from rectitude.data.formats.registry import FORMATS

    rows: list[tuple[str, ...]] = [("format", "what it is", "written with", "endings")]
    for name, form in FORMATS.items():
        rows.append((name, form.title, ", ".join(form.holds) or "-", " ".join(form.suffixes)))
    return rows

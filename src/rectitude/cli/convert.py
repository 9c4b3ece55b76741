"""`rectitude convert`: convert predictions, truth or candidates to another format."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns, refuse
from rectitude.cli.options import Json, listing, pairs
from rectitude.cli.output import say
from rectitude.errors import BadArgument

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
        str, typer.Option("--from", metavar="FORMAT", help="Format of FROM; recognised by default.")
    ] = "",
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="FORMAT", help="Format of TO; by default, from its extension."
        ),
    ] = "",
    kind: Annotated[
        str, typer.Option("--as", metavar="KIND", help="Content: predictions, truth or candidates.")
    ] = "",
    columns: Columns = None,
    formats: Annotated[bool, typer.Option("--formats", help="List all formats.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a file, and report what was recognised and what could not be kept."""
    if formats:
        words = {"--from": form or None, "--to": to or None, "--as": kind or None}
        refuse({"FROM": source, "TO": target, **words, "--columns": columns}, "--formats")
        cells = _list_formats()
        rows = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
        say(json.dumps(rows, indent=1) if as_json else listing(cells))
        return
    if source is None or target is None:
        raise BadArgument(
            "convert needs two files.", "rectitude convert FROM TO.",
            "see: rectitude convert --help",
        )  # fmt: skip
    if kind and kind not in KINDS:
        raise BadArgument(f"--as is {kind!r}.", f"one of {', '.join(KINDS)}.")
    from rectitude.data.formats.convert import convert

    chosen_kind: Any = kind or None
    names = pairs(columns or (), "--columns", "user=visitor")
    conversion = convert(source, target, form=form, to=to, kind=chosen_kind, columns=names)
    if as_json:
        facts = {"from": str(source), "to": str(target), **asdict(conversion)}
        say(json.dumps(facts, indent=1))
    else:
        say(_describe_conversion(conversion, source, target))


def _describe_conversion(conversion: Conversion, source: Path, target: Path) -> str:
    columns = [
        f"{'user' if role == 'list' else role} = {name}"
        for role, name in conversion.columns.items()
        if name
    ]
    size = f"{conversion.rows:,} rows, {conversion.lists:,} lists"
    lines = [
        f"read {source} as {conversion.read}",
        f"  {conversion.kind}: {conversion.why}",
        *([f"  columns: {', '.join(columns)}"] if columns else []),
        f"wrote {target} as {conversion.written}: {size}",
        *(f"  note: {note}" for note in conversion.made),
        *(f"  not kept: {note}" for note in conversion.lost),
    ]
    return "\n".join(lines)


def _list_formats() -> list[tuple[str, ...]]:
    from rectitude.data.formats.registry import FORMATS

    rows: list[tuple[str, ...]] = [("format", "what it is", "written with", "endings")]
    for name, form in FORMATS.items():
        rows.append((name, form.title, ", ".join(form.holds) or "-", " ".join(form.suffixes)))
    return rows

"""Convert a file to another format and report what was read, written and lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rectitude.data.columns import RANK, SCORE, normal, require_order, want_columns
from rectitude.data.formats.file import FileContent, Kind, open_content
from rectitude.data.formats.fit import files_of, fit
from rectitude.data.formats.layouts import is_typed
from rectitude.data.formats.registry import FORMATS, format_for, format_named
from rectitude.data.read import open_file, read
from rectitude.data.table import Source, Table, What
from rectitude.data.times import convert_times
from rectitude.errors import RectitudeError, TooLarge, UnwritableFile
from rectitude.storage import write_all

ALWAYS: Mapping[str, Kind] = {
    "daisyrec": "predictions", "ncf": "candidates", "recpack": "truth", "movielens": "truth",
    "sets": "truth", "adjacency": "truth",
}  # fmt: skip
"""Formats that always contain one kind of table, unless the user names another."""
PREDICTION_NAMES = {normal(name) for name in (*SCORE[0], *RANK)}


@dataclass(frozen=True, slots=True)
class Conversion:
    """The report of a conversion."""

    kind: Kind
    why: str
    """how the kind (predictions, truth or candidates) was decided"""
    read: str
    """the format that was read, and how it was detected"""
    columns: Mapping[str, str]
    """canonical name -> column of the source"""
    written: str
    rows: int
    lists: int
    made: tuple[str, ...]
    lost: tuple[str, ...]


def convert(
    source: Path,
    target: Path,
    *,
    form: str = "",
    to: str = "",
    kind: Kind | None = None,
    columns: Mapping[str, str] | None = None,
) -> Conversion:
    """Read a file in one format and write it in another; never leave a half-written file."""
    name = to or _format_by_name(target)
    chosen = format_named(name, "--to")
    if os.path.realpath(source) == os.path.realpath(target):
        raise UnwritableFile(
            f"{target} is both the source and the target.",
            "a target that differs from the source.",
            "choose another name for the target.",
        )
    content_kind, why = (kind, "as requested") if kind else kind_of(source, form, columns or {})
    what: What = "log" if content_kind == "truth" else content_kind
    table = read(source, what, columns=columns, form=form)
    require_order(table)
    typed = chosen.ids == "typed" or (chosen.ids == "by extension" and is_typed(target))
    with_times = typed or chosen.times == "seconds"
    content = FileContent(
        content_kind, _convert_times(table, with_times), table.handed, source.stem
    )
    fitted = fit(content, chosen, text=table.text, typed=typed)
    write_all(files_of(fitted.content, chosen, target))
    frame = fitted.content.frame
    keys = None if chosen.empty == "lost" else fitted.content.list_keys
    lists = frame["list"] if keys is None else keys
    return Conversion(
        content_kind, why, table.recognised, table.columns, name, frame.height, lists.n_unique(),
        fitted.made, fitted.lost,
    )  # fmt: skip


def kind_of(source: Path, form: str, columns: Mapping[str, str]) -> tuple[Kind, str]:
    """Return whether a file holds predictions, truth or candidates, and the reason."""
    opened = _open_as_any_kind(source, form, columns)
    name = opened.recognised.partition(" ")[0]
    if name in ALWAYS:
        return ALWAYS[name], f"{name} files hold {ALWAYS[name]}"
    if name == "trec":
        return _kind_of_trec(source)
    if {"score", "rank"} & set(columns):
        return "predictions", "a column of scores or ranks was named"
    names = [*opened.names, *_inner_names(opened)]
    telling = [name for name in names if normal(name) in PREDICTION_NAMES]
    if telling and not opened.anonymous:
        return "predictions", f"it has the column {telling[0]!r}"
    if name == "json" and opened.anonymous:
        return _kind_of_json(opened)
    return "truth", "it has no column of scores or ranks"


def _open_as_any_kind(source: Path, form: str, columns: Mapping[str, str]) -> Source:
    """Open a file as the first kind that works: some formats cannot hold predictions."""
    sides: tuple[What, ...] = ("predictions", "truth", "candidates")
    errors: list[RectitudeError] = []
    for side in sides:
        try:
            return open_file(source.expanduser(), want_columns(side, columns, "user", form))
        except TooLarge:
            raise
        except RectitudeError as error:
            errors.append(error)
    raise errors[0]


def _inner_names(opened: Source) -> list[str]:
    """Return the names of the fields of items, if one row holds a whole list."""
    if "items" not in opened.names or opened.anonymous:
        return []
    dtype = opened.take({"items": "items"})["items"].dtype
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    return [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []


def _kind_of_trec(source: Path) -> tuple[Kind, str]:
    lines = [line for line in open_content(source.expanduser()).lines if not line.startswith("#")]
    fields = len(lines[0].split()) if lines else 0
    return ("predictions" if fields > 4 else "truth"), f"its lines have {fields} fields"


def _kind_of_json(opened: Source) -> tuple[Kind, str]:
    """Decide by the numbers: grades of ranx are whole numbers, its scores are not."""
    if opened.given:
        return "predictions", "it holds ordered lists; if they are the truth, use --as truth"
    numbers = opened.take({"score": "score"})["score"] if "score" in opened.names else None
    whole_numbers = numbers is not None and numbers.dtype.is_integer()
    return (
        ("truth", "its numbers are whole") if whole_numbers else ("predictions", "it holds scores")
    )


def _format_by_name(target: Path) -> str:
    name = format_for(target)
    if name is None:
        raise UnwritableFile(
            f"the name {target.name!r} does not indicate a format.",
            f"a known ending, or one of the formats {', '.join(FORMATS)}.",
            "name the format with --to.",
        )
    return name


def _convert_times(table: Table, with_times: bool) -> pl.DataFrame:
    """Return the rows, with timestamps as numbers or dates if the format needs them typed."""
    frame = table.frame
    if with_times and "timestamp" in frame.columns and not frame["timestamp"].null_count():
        return frame.with_columns(convert_times(frame["timestamp"], table.source))
    return frame

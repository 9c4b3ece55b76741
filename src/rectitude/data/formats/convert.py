"""Converting a file: what was read and why, what was written, and what could not be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rectitude.data.columns import RANK, SCORE, normal, wanted
from rectitude.data.formats.file import FileContent, Kind, opened
from rectitude.data.formats.fit import files_of, fit
from rectitude.data.formats.layouts import is_typed
from rectitude.data.formats.registry import FORMATS, format_for, format_named
from rectitude.data.read import open_file, read
from rectitude.data.table import Source, Table, What
from rectitude.data.times import times
from rectitude.errors import BadName, RectitudeError, UnwritableFile
from rectitude.storage import write_all

ALWAYS: Mapping[str, Kind] = {
    "daisyrec": "predictions", "ncf": "candidates", "recpack": "truth", "movielens": "truth",
    "sets": "truth", "adjacency": "truth",
}  # fmt: skip
"""Formats that hold one kind of table, unless another is named."""
TOLD = {normal(name) for name in (*SCORE[0], *RANK)}


@dataclass(frozen=True, slots=True)
class Conversion:
    """What converting did."""

    kind: Kind
    why: str
    """why the file was taken for predictions, truth or candidates"""
    read: str
    """the format that was read, and why"""
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
    """Read a file in one format and write it in another; nothing is left half-written."""
    name = to or _asked(target)
    chosen = format_named(name, "--to")
    if source.resolve() == target.resolve():
        raise BadName(f"{target} would be written over what is read.", "another name.")
    held, why = (kind, "as was said") if kind else kind_of(source, form, columns or {})
    what: What = "log" if held == "truth" else held
    table = read(source, what, columns=columns, form=form)
    typed = chosen.ids == "typed" or (chosen.ids == "by ending" and is_typed(target))
    timed = typed or chosen.times == "seconds"
    content = FileContent(held, _frame(table, timed), table.handed, source.stem)
    fitted = fit(content, chosen, text=table.text, typed=typed)
    write_all(files_of(fitted.content, chosen, target))
    frame = fitted.content.frame
    lists = frame["list"] if fitted.content.handed is None else fitted.content.handed
    return Conversion(
        held, why, table.recognised, table.columns, name, frame.height, lists.n_unique(),
        fitted.made, fitted.lost,
    )  # fmt: skip


def kind_of(source: Path, form: str, columns: Mapping[str, str]) -> tuple[Kind, str]:
    """Whether a file holds predictions, truth or candidates, and what says so."""
    found = _first_opened(source, form, columns)
    name = found.recognised.partition(" ")[0]
    if name in ALWAYS:
        return ALWAYS[name], f"{name} holds {ALWAYS[name]}"
    if name == "trec":
        return _trec(source)
    if {"score", "rank"} & set(columns):
        return "predictions", "a column of scores or ranks was named"
    names = [*found.names, *_inner(found)]
    told = [name for name in names if normal(name) in TOLD]
    if told and not found.anonymous:
        return "predictions", f"it has the column {told[0]!r}"
    if name == "json" and found.anonymous:
        return _json(found)
    return "truth", "it has no column of scores or ranks"


def _first_opened(source: Path, form: str, columns: Mapping[str, str]) -> Source:
    """The file as whatever it can be: some formats hold no predictions."""
    sides: tuple[What, ...] = ("predictions", "truth", "candidates")
    errors: list[RectitudeError] = []
    for side in sides:
        try:
            return open_file(source.expanduser(), wanted(side, columns, "user", form))
        except RectitudeError as error:
            errors.append(error)
    raise errors[0]


def _inner(found: Source) -> list[str]:
    """The names of the fields within items, where one row holds a whole list."""
    if "items" not in found.names or found.anonymous:
        return []
    kind = found.take({"items": "items"})["items"].dtype
    inner = kind.inner if isinstance(kind, pl.List) else None
    return [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []


def _trec(source: Path) -> tuple[Kind, str]:
    lines = [line for line in opened(source.expanduser()).lines if not line.startswith("#")]
    fields = len(lines[0].split()) if lines else 0
    return ("predictions" if fields > 4 else "truth"), f"its lines have {fields} fields"


def _json(found: Source) -> tuple[Kind, str]:
    """Grades of ranx are whole numbers, its scores are not."""
    if found.given:
        return "predictions", "it holds lists in an order; say truth if it is one"
    numbers = found.take({"score": "score"})["score"] if "score" in found.names else None
    whole = numbers is not None and numbers.dtype.is_integer()
    return ("truth", "its numbers are whole") if whole else ("predictions", "it holds scores")


def _asked(target: Path) -> str:
    name = format_for(target)
    if name is None:
        raise UnwritableFile(
            f"the name {target.name!r} stands for no format.",
            f"a known ending, or a format: {', '.join(FORMATS)}.",
            "name it with --to.",
        )
    return name


def _frame(table: Table, timed: bool) -> pl.DataFrame:
    """The rows; moments become numbers or dates where text will not do."""
    frame = table.frame
    if timed and "timestamp" in frame.columns and not frame["timestamp"].null_count():
        return frame.with_columns(times(frame["timestamp"], table.source))
    return frame

"""Making content fit a format: what it needs is made, what it has no room for is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import polars as pl

from rectitude.data.formats.file import PACKED, FileContent, Format
from rectitude.data.ids import whole_numbers
from rectitude.data.values import EXACT
from rectitude.errors import BadIds, BadTable, UnwritableFile
from rectitude.storage import Write

BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


@dataclass(frozen=True, slots=True)
class Fitted:
    """Content that fits, what was made for it, and what could not be kept."""

    content: FileContent
    made: tuple[str, ...]
    lost: tuple[str, ...]


def fit(content: FileContent, form: Format, *, text: bool = False, typed: bool = False) -> Fitted:
    """The content as a format holds it.

    `text` says that its ids come from untyped text, `typed` that columns will have types.
    """
    if form.write is None or content.kind not in form.holds:
        able = " and ".join(form.holds) or "nothing"
        raise UnwritableFile(
            f"{content.kind} cannot be written as {form.title}.",
            f"a format for {content.kind}; this one can be written with {able}.",
            "see: rectitude convert --formats",
        )
    frame, lists = content.frame, content.handed
    frame, said = _ids(frame, text and typed, form)
    if lists is not None:
        lists = lists.cast(frame["list"].dtype)
    frame, made = _complete(frame, form, content.kind)
    frame, lost = _within(frame, form, content.kind)
    if not typed and "grade" in frame.columns:
        frame = frame.with_columns(_whole(frame["grade"]))
    frame, timed = _timed(frame, form)
    if form.empty == "lost" and lists is not None:
        lost = (*_empty(frame, lists), *lost)
    fitting = replace(content, frame=frame, handed=lists)
    return Fitted(fitting, (*said, *made, *timed, *form.remarks(fitting)), lost)


def files_of(content: FileContent, form: Format, path: Path) -> dict[Path, Write]:
    """What is to be written, and where; binary files are not compressed once more."""
    inner = Path(path.stem).suffix.lower()
    binary = form.nature == "binary" or (form.nature == "either" and inner in BINARY)
    if path.suffix.lower() in PACKED and binary:
        raise UnwritableFile(
            f"{path.name} would be {form.title} in {PACKED[path.suffix.lower()]}.",
            "text, if it is to be compressed: binary files are read as they are.",
            f"leave out {path.suffix}.",
        )
    return {} if form.write is None else dict(form.write(content, path))


def _ids(frame: pl.DataFrame, guess: bool, form: Format) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Ids in a type that files can hold; text that holds integers only becomes integers."""
    said = []
    for role in ("list", "item"):
        column = frame[role]
        untold = column.dtype in (pl.Binary, pl.Duration, pl.Time) and form.nature != "binary"
        if untold or column.dtype == pl.Object or column.dtype.is_nested():
            raise BadIds(
                f"{_word(role)} ids are of the type {column.dtype} (first: {column[0]!r}).",
                "ids that such a file can hold: integers, text, dates or floats.",
            )
        told = column.dtype == pl.String or column.dtype.is_integer()
        numbers = whole_numbers(column) if guess and told else None
        if numbers is not None and len(column):
            frame = frame.with_columns(numbers.alias(role))
            said.append(f"{_word(role)} ids are written as integers: every one of them is one")
    return frame, tuple(said)


def _whole(grades: pl.Series) -> pl.Series:
    """Grades without a point where none has anything behind it."""
    exact = grades.is_finite() & (grades == grades.round()) & (grades.abs() < EXACT)
    return grades.cast(pl.Int64) if bool(exact.all()) else grades


def _timed(frame: pl.DataFrame, form: Format) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Moments as seconds, for formats whose timestamps are numbers."""
    if form.times != "seconds" or "timestamp" not in frame.columns:
        return frame, ()
    if not frame["timestamp"].dtype.is_temporal():
        return frame, ()
    micros = pl.col("timestamp").cast(pl.Datetime("us")).dt.epoch("us")
    whole = bool(frame.select((micros % 1_000_000 == 0).all()).item())
    seconds = micros // 1_000_000 if whole else micros / 1_000_000
    said = "timestamps are written as seconds since 1970 (UTC)"
    return frame.with_columns(seconds.alias("timestamp")), (said,)


def _word(role: str) -> str:
    return "user" if role == "list" else role


def _complete(frame: pl.DataFrame, form: Format, kind: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The frame with every column that the format needs."""
    needs = form.needs.get(kind, ())  # type: ignore[call-overload]
    made = []
    bare = kind == "predictions" and not {"score", "rank"} & set(frame.columns)
    if bare and form.order == "lost":
        frame = frame.with_columns(pl.int_range(1, pl.len() + 1).over("list").alias("rank"))
        made.append("ranks were made from the order of the rows")
    if "score" in needs and "score" not in frame.columns:
        best = pl.col("rank").max().fill_null(0) + 1
        frame = frame.with_columns((best - pl.col("rank")).cast(pl.Float64).alias("score"))
        made.append("scores were made from the ranks, the best highest")
    if "rank" in needs and "rank" not in frame.columns:
        frame = frame.with_columns(
            pl.col("score").rank("ordinal", descending=True).over("list").cast(int).alias("rank")
        )
        made.append("ranks were made by score, equal scores in the order of the rows")
    if "grade" in needs and "grade" not in frame.columns:
        frame = frame.with_columns(pl.lit(1.0).alias("grade"))
        made.append("grades were made: 1 in every row")
    return frame, tuple(made)


def _within(frame: pl.DataFrame, form: Format, kind: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The frame with the columns that the format has room for, in its order."""
    room = ("list", "item", *form.holds[kind])  # type: ignore[index]
    beside = [name for name in frame.columns if name not in room]
    lost = tuple(f"{name}: there is no column for it" for name in beside)
    if form.order == "kept":
        frame, lost = _ordered(frame, beside, lost)
    return frame.select(role for role in room if role in frame.columns), lost


def _ordered(
    frame: pl.DataFrame, beside: list[str], lost: tuple[str, ...]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Rows in the order of their lists, where order is what a format has."""
    by = next((role for role in ("rank", "score") if role in beside), None)
    if by is None:
        return frame, lost
    key = pl.col(by).rank("ordinal", descending=by == "score").over("list")
    said = tuple(f"{name}: only the order is kept" if name == by else note
                 for name, note in zip(beside, lost, strict=True))  # fmt: skip
    return frame.with_columns(key.alias("_place")).sort("_place", maintain_order=True).drop(
        "_place"
    ), said


def _empty(frame: pl.DataFrame, lists: pl.Series) -> tuple[str, ...]:
    without = lists.filter(~lists.is_in(frame["list"].unique().implode()))
    if not len(without):
        return ()
    return (f"{len(without)} empty lists (first: {without[0]!r}): a row needs an item",)


def require_numbers(column: pl.Series, title: str, most: int = 2**31 - 1) -> pl.Series:
    """Ids as positions: whole numbers from 0 on, or an error that names the first that is none."""
    numbers = column if column.dtype.is_integer() else None
    if column.dtype == pl.String:
        numbers = whole_numbers(column)
    if numbers is None:
        raise BadIds(
            f"{_word(column.name)} ids are {column.dtype} (first: {column[0]!r}), and ids of"
            f" {title} are positions.",
            "whole numbers from 0 on.",
            "number the ids first, or choose a format with columns.",
        )
    wrong = numbers.filter((numbers < 0) | (numbers > most))
    if len(wrong):
        raise BadIds(
            f"{len(wrong)} {_word(column.name)} ids are no positions (first: {wrong[0]}).",
            f"whole numbers from 0 to {most:,}.",
        )
    return numbers.cast(pl.Int64)


def bound_of(positions: pl.Series) -> int:
    """One more than the highest position."""
    return cast("int", positions.max()) + 1 if len(positions) else 0


def require_plain(frame: pl.DataFrame, forbidden: str, title: str) -> None:
    """An error if an id holds a character that would break the lines of a format."""
    for role in ("list", "item"):
        text = frame[role].cast(pl.String)
        wrong = text.filter(text.str.contains(forbidden) | (text == ""))
        if len(wrong):
            raise BadTable(
                f"{len(wrong)} {_word(role)} ids cannot stand in {title} (first: {wrong[0]!r}).",
                "ids without spaces and marks that separate fields.",
                "choose another format, such as csv or parquet.",
            )

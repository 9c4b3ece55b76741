"""Fit content to a format: create what the format needs, and report what it cannot store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import polars as pl

from rectitude.data.formats.compression import PACKED
from rectitude.data.formats.file import FileContent, Format
from rectitude.data.ids import whole_numbers
from rectitude.data.values import EXACT
from rectitude.errors import BadIds, BadTable, UnwritableFile
from rectitude.storage import Write

BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


@dataclass(frozen=True, slots=True)
class Fitted:
    """Content that fits a format, with remarks on what was created and what was lost."""

    content: FileContent
    made: tuple[str, ...]
    lost: tuple[str, ...]


def fit(content: FileContent, form: Format, *, text: bool = False, typed: bool = False) -> Fitted:
    """Return the content as a format can store it.

    `text` says that its ids come from untyped text, `typed` that the target has typed columns.
    """
    if form.write is None or content.kind not in form.holds:
        kinds = " and ".join(form.holds) or "nothing"
        raise UnwritableFile(
            f"{content.kind} cannot be written as {form.title}.",
            f"a format for {content.kind}; this one can store {kinds}.",
            "list the formats with: rectitude convert --formats",
        )
    frame, lists = content.frame, content.list_keys
    frame, id_remarks = _convert_ids(frame, text and typed, form)
    if lists is not None:
        lists = lists.cast(frame["list"].dtype)
    frame, created = _add_needed_columns(frame, form, content.kind)
    frame, lost = _drop_other_columns(frame, form, content.kind)
    if not typed and "grade" in frame.columns:
        frame = frame.with_columns(_to_integers(frame["grade"]))
    frame, time_remarks = _times_to_seconds(frame, form)
    if form.empty == "lost" and lists is not None:
        lost = (*_count_empty_lists(frame, lists), *lost)
    fitted = replace(content, frame=frame, list_keys=lists)
    return Fitted(fitted, (*id_remarks, *created, *time_remarks, *form.remarks(fitted)), lost)


def files_of(content: FileContent, form: Format, path: Path) -> dict[Path, Write]:
    """Return the files to write; raise an error if a binary file would be compressed."""
    inner = Path(path.stem).suffix.lower()
    binary = form.content == "binary" or (form.content == "text or binary" and inner in BINARY)
    own = path.suffix.lower() in form.suffixes
    if path.suffix.lower() in PACKED and binary and not own:
        raise UnwritableFile(
            f"{path.name} would be {form.title} compressed with {PACKED[path.suffix.lower()]}.",
            "a binary file without compression: only text files may be compressed.",
            f"leave out {path.suffix}.",
        )
    return {} if form.write is None else dict(form.write(content, path))


def _convert_ids(
    frame: pl.DataFrame, guess: bool, form: Format
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return ids in a type that files can store; text with only integers becomes integers."""
    remarks = []
    for role in ("list", "item"):
        column = frame[role]
        not_writable = (
            column.dtype in (pl.Binary, pl.Duration, pl.Time) and form.content != "binary"
        )
        if not_writable or column.dtype == pl.Object or column.dtype.is_nested():
            raise BadIds(
                f"{_role_word(role)} ids are of type {column.dtype} (first: {column[0]!r}).",
                "ids that such a file can store: integers, text, dates or floats.",
                "convert the ids first, for example to text.",
            )
        may_be_integers = column.dtype == pl.String or column.dtype.is_integer()
        numbers = whole_numbers(column) if guess and may_be_integers else None
        if numbers is not None and len(column):
            frame = frame.with_columns(numbers.alias(role))
            remarks.append(
                f"{_role_word(role)} ids are written as integers, because all of them are"
            )
    return frame, tuple(remarks)


def _to_integers(grades: pl.Series) -> pl.Series:
    """Return grades as integers if all of them are whole numbers."""
    exact = grades.is_finite() & (grades == grades.round()) & (grades.abs() < EXACT)
    return grades.cast(pl.Int64) if bool(exact.all()) else grades


def _times_to_seconds(frame: pl.DataFrame, form: Format) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Convert timestamps to seconds, for formats whose timestamps are numbers."""
    if form.times != "seconds" or "timestamp" not in frame.columns:
        return frame, ()
    if not frame["timestamp"].dtype.is_temporal():
        return frame, ()
    micros = pl.col("timestamp").cast(pl.Datetime("us")).dt.epoch("us")
    whole = bool(frame.select((micros % 1_000_000 == 0).all()).item())
    seconds = micros // 1_000_000 if whole else micros / 1_000_000
    remark = "timestamps are written as seconds since 1970 (UTC)"
    return frame.with_columns(seconds.alias("timestamp")), (remark,)


def _role_word(role: str) -> str:
    return "user" if role == "list" else role


def _add_needed_columns(
    frame: pl.DataFrame, form: Format, kind: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the frame with every column that the format needs, and remarks on new columns."""
    needs = form.needs.get(kind, ())  # type: ignore[call-overload]
    remarks = []
    unranked = kind == "predictions" and not {"score", "rank"} & set(frame.columns)
    if unranked and form.order == "lost":
        frame = frame.with_columns(pl.int_range(1, pl.len() + 1).over("list").alias("rank"))
        remarks.append("ranks were created from the order of the rows")
    if "score" in needs and "score" not in frame.columns:
        best = pl.col("rank").max().fill_null(0) + 1
        frame = frame.with_columns((best - pl.col("rank")).cast(pl.Float64).alias("score"))
        remarks.append("scores were created from the ranks, highest for the best rank")
    if "rank" in needs and "rank" not in frame.columns:
        frame = frame.with_columns(
            pl.col("score").rank("ordinal", descending=True).over("list").cast(int).alias("rank")
        )
        remarks.append("ranks were created from the scores, ties in the order of the rows")
    if "grade" in needs and "grade" not in frame.columns:
        frame = frame.with_columns(pl.lit(1.0).alias("grade"))
        remarks.append("grades were created: 1 in every row")
    return frame, tuple(remarks)


def _drop_other_columns(
    frame: pl.DataFrame, form: Format, kind: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the frame with the columns that the format can store, in its order."""
    columns = ("list", "item", *form.holds[kind])  # type: ignore[index]
    dropped = [name for name in frame.columns if name not in columns]
    lost = tuple(f"{name}: the format has no column for it" for name in dropped)
    if form.order == "kept":
        frame, lost = _order_rows(frame, dropped, lost)
    return frame.select(role for role in columns if role in frame.columns), lost


def _order_rows(
    frame: pl.DataFrame, dropped: list[str], lost: tuple[str, ...]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Sort rows by rank or score, for formats that store only the order."""
    by = next((role for role in ("rank", "score") if role in dropped), None)
    if by is None:
        return frame, lost
    key = pl.col(by).rank("ordinal", descending=by == "score").over("list")
    remarks = tuple(f"{name}: only the order is kept" if name == by else note
                    for name, note in zip(dropped, lost, strict=True))  # fmt: skip
    return frame.with_columns(key.alias("_rank")).sort("_rank", maintain_order=True).drop(
        "_rank"
    ), remarks


def _count_empty_lists(frame: pl.DataFrame, lists: pl.Series) -> tuple[str, ...]:
    empty = lists.filter(~lists.is_in(frame["list"].unique().implode()))
    if not len(empty):
        return ()
    return (f"{len(empty)} empty lists (first: {empty[0]!r}): every row needs an item",)


def require_numbers(column: pl.Series, title: str, most: int = 2**31 - 1) -> pl.Series:
    """Return ids as numbers; raise an error unless all are whole numbers from 0 on."""
    numbers = column if column.dtype.is_integer() else None
    if column.dtype == pl.String:
        numbers = whole_numbers(column)
    if numbers is None:
        raise BadIds(
            f"{_role_word(column.name)} ids are {column.dtype} (first: {column[0]!r}), but"
            f" {title} needs whole numbers.",
            "whole numbers from 0 on.",
            "number the ids from 0 first, or choose a format that stores ids, such as csv.",
        )
    wrong = numbers.filter((numbers < 0) | (numbers > most))
    if len(wrong):
        raise BadIds(
            f"{len(wrong)} {_role_word(column.name)} ids cannot be used in {title}"
            f" (first: {wrong[0]}).",
            f"whole numbers from 0 to {most:,}.",
            "number the ids from 0 first, or choose a format that stores ids, such as csv.",
        )
    return numbers.cast(pl.Int64)


def upper_bound(positions: pl.Series) -> int:
    """Return one more than the highest position."""
    return cast("int", positions.max()) + 1 if len(positions) else 0


def require_plain(frame: pl.DataFrame, forbidden: str, title: str) -> None:
    """Raise an error if an id contains a character that would break the lines of a format."""
    for role in ("list", "item"):
        text = frame[role].cast(pl.String)
        wrong = text.filter(text.str.contains(forbidden) | (text == ""))
        if len(wrong):
            raise BadTable(
                f"{len(wrong)} {_role_word(role)} ids cannot be written in {title}"
                f" (first: {wrong[0]!r}).",
                "ids without spaces or field separators.",
                "choose another format, such as csv or parquet.",
            )

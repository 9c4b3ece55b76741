"""TREC runs and qrels, as trec_eval and ir_measures take them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rectitude.data.columns import Wanted
from rectitude.data.formats.file import File
from rectitude.data.formats.fit import require_plain
from rectitude.data.formats.format import Content
from rectitude.data.formats.separated import write_bytes
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.data.trec import open_trec, sniff_trec
from rectitude.errors import BadGrades
from rectitude.storage import Write

if TYPE_CHECKING:
    import polars as pl


def sniff(file: File, what: What) -> str | None:
    """A run or qrels by its name or its lines."""
    return sniff_trec(file.path.name, file.suffix, file.head, what)


def read(file: File, want: Wanted) -> Source:
    """A run, if predictions are wanted; else qrels."""
    return open_trec(file.path, file.data, file.head, want)


def write(content: Content, path: Path) -> Mapping[Path, Write]:
    """A run of predictions, qrels of a truth."""
    require_plain(content.frame, r"\s|^#", "a TREC file")
    lines = _run(content) if content.kind == "predictions" else _qrels(content.frame)
    raw = lines.write_csv(separator=" ", include_header=False, quote_style="never")
    return write_bytes(raw.encode(), path)


def _run(content: Content) -> pl.DataFrame:
    import polars as pl

    tag = "-".join(content.tag.split()) or "rectitude"
    return content.frame.select(
        "list", pl.lit("Q0").alias("Q0"), "item", "rank", "score", pl.lit(tag).alias("tag")
    )


def _qrels(frame: pl.DataFrame) -> pl.DataFrame:
    """Grades of qrels are whole numbers: trec_eval would cut off what stands behind the point."""
    import polars as pl

    grades = frame["grade"]
    wrong = frame.filter((grades != grades.round()).fill_null(value=True))
    if wrong.height:
        first = wrong.row(0, named=True)
        raise BadGrades(
            f"{wrong.height} grades are no whole numbers (first: {first['grade']} for user"
            f" {first['list']!r}, item {first['item']!r}).",
            "whole numbers, which is what qrels hold.",
            "choose another format, such as csv or parquet.",
        )
    return frame.select("list", pl.lit(0).alias("iter"), "item", grades.cast(pl.Int64))

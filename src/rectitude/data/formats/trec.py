"""TREC runs (`qid Q0 docno rank score tag`) and qrels (`qid iter docno rel`), as trec_eval and
ir_measures take them.

Their ids are strings by definition: trec_eval orders equal scores by the bytes of docno.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent, write_bytes
from rectitude.data.formats.fit import require_plain
from rectitude.data.formats.separated import Rest, Text, parse
from rectitude.data.table import Source
from rectitude.errors import BadGrades
from rectitude.storage import Write

RUN = ("qid", "Q0", "docno", "rank", "score", "tag")
QRELS = ("qid", "iter", "docno", "rel")
ROLES = {
    RUN: {"list": "qid", "item": "docno", "rank": "rank", "score": "score"},
    QRELS: {"list": "qid", "item": "docno", "grade": "rel"},
}
LAYOUTS = {
    RUN: "the 6 fields of a run: qid Q0 docno rank score tag.",
    QRELS: "the 4 fields of qrels: qid iter docno rel.",
}


def read_trec(file: File, want: WantedColumns) -> Source:
    """A run, if predictions are wanted; else qrels."""
    names = RUN if want.what == "predictions" else QRELS
    rest: Rest = "ignored" if names == RUN else "refused"  # behind the tag there may be remarks
    separator = "\t" if b"\t" in file.head else " "
    text = Text(
        file.path, file.data, names, separator,
        quote=None, comment="#", loose=True, layout=LAYOUTS[names], rest=rest, ids="text",
    )  # fmt: skip
    return Source(file.path.name, names, partial(parse, text), ROLES[names])


def write_trec(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """A run of predictions, qrels of a truth."""
    require_plain(content.frame, r"\s|^#", "a TREC file")
    lines = _run(content) if content.kind == "predictions" else _qrels(content.frame)
    raw = lines.write_csv(separator=" ", include_header=False, quote_style="never")
    return write_bytes(raw.encode(), path)


def _run(content: FileContent) -> pl.DataFrame:
    tag = "-".join(content.tag.split()) or "rectitude"
    return content.frame.select(
        "list", pl.lit("Q0").alias("Q0"), "item", "rank", "score", pl.lit(tag).alias("tag")
    )


def _qrels(frame: pl.DataFrame) -> pl.DataFrame:
    """Grades of qrels are whole numbers: trec_eval would cut off what stands behind the point."""
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

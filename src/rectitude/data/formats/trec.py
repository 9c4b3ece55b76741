"""TREC runs and qrels, as trec_eval and ir_measures take them.

TREC files: runs (`qid Q0 docno rank score tag`) and qrels (`qid iter docno rel`).

Their ids are strings by definition: trec_eval orders equal scores by the bytes of docno.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent
from rectitude.data.formats.fit import require_plain
from rectitude.data.formats.separated import write_bytes
from rectitude.data.table import Source, What
from rectitude.data.text import Rest, Text, parse
from rectitude.errors import BadGrades
from rectitude.storage import Write

RUN = ("qid", "Q0", "docno", "rank", "score", "tag")
QRELS = ("qid", "iter", "docno", "rel")
SUFFIXES = (".run", ".qrels", ".qrel", ".trec")
ROLES = {
    RUN: {"list": "qid", "item": "docno", "rank": "rank", "score": "score"},
    QRELS: {"list": "qid", "item": "docno", "grade": "rel"},
}
LAYOUTS = {
    RUN: "the 6 fields of a run: qid Q0 docno rank score tag.",
    QRELS: "the 4 fields of qrels: qid iter docno rel.",
}


def sniff_trec(name: str, suffix: str, head: bytes, what: What) -> str | None:
    """Why a file is a run (for predictions) or qrels (for truth): its name or its lines."""
    if what not in ("predictions", "truth", "train", "log"):
        return None
    if suffix in SUFFIXES or (suffix == ".txt" and "qrels" in name.lower().split(".")):
        return "its name says so"
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[:100]
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    if what == "predictions":
        run = bool(rows) and all(_is_run(row) for row in rows[:-1] or rows)
        return "the second field of every line is Q0" if run else None
    # One line such as `7 0 3 5` may as well be user, item, rating, time: two are asked for.
    qrels = len(rows) > 1 and all(_is_qrels(row) for row in rows[:-1])
    return "lines have four fields, the second always 0" if qrels else None


def open_trec(path: Path, data: bytes | None, head: bytes, want: WantedColumns) -> Source:
    """A run or qrels as a source."""
    names = RUN if want.what == "predictions" else QRELS
    rest: Rest = "ignored" if names == RUN else "refused"  # behind the tag there may be remarks
    separator = "\t" if b"\t" in head else " "
    text = Text(
        path, data, names, separator,
        quote=None, comment="#", loose=True, layout=LAYOUTS[names], rest=rest, ids="text",
    )  # fmt: skip
    return Source(path.name, names, partial(parse, text), ROLES[names])


def _is_run(fields: list[str]) -> bool:
    return len(fields) >= len(RUN) and fields[1].upper() == "Q0"


def _is_qrels(fields: list[str]) -> bool:
    return len(fields) == len(QRELS) and fields[1].upper() in ("0", "Q0")


def sniff(file: File, what: What) -> str | None:
    """A run or qrels by its name or its lines."""
    return sniff_trec(file.path.name, file.suffix, file.head, what)


def read(file: File, want: WantedColumns) -> Source:
    """A run, if predictions are wanted; else qrels."""
    return open_trec(file.path, file.data, file.head, want)


def write(content: FileContent, path: Path) -> Mapping[Path, Write]:
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

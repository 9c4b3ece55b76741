"""TREC runs (`qid Q0 docno rank score tag`) and qrels (`qid iter docno rel`).

trec_eval and ir_measures read these formats. Their ids are always text: trec_eval breaks ties by
the bytes of docno.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import (
    File,
    FileContent,
    open_content,
    require_text,
    write_bytes,
)
from rectitude.data.formats.fit import require_plain
from rectitude.data.formats.separated import Rest, Text, parse
from rectitude.data.table import Source
from rectitude.errors import BadGrades, BadTable, UnreadableFile
from rectitude.storage import Write

RUN = ("qid", "Q0", "docno", "rank", "score", "tag")
QRELS = ("qid", "iter", "docno", "rel")
PREFS = ("qid", "group", "subgroup", "docno", "level")
ZSCORES = ("qid", "measure", "mean", "deviation")
ROLES = {
    RUN: {"list": "qid", "item": "docno", "rank": "rank", "score": "score"},
    QRELS: {"list": "qid", "item": "docno", "grade": "rel"},
}
LAYOUTS = {
    RUN: "the 6 fields of a run: qid Q0 docno rank score tag.",
    QRELS: "the 4 fields of qrels: qid iter docno rel.",
    PREFS: "the 5 fields of preferences: qid group subgroup docno level.",
    ZSCORES: "the 4 fields of z-scores: qid measure mean deviation.",
}


def read_trec(file: File, want: WantedColumns) -> Source:
    """Read a run for predictions, otherwise qrels."""
    names = RUN if want.what == "predictions" else QRELS
    if not any(line.strip() for line in file.start):
        raise UnreadableFile(
            f"{file.path} contains only blank lines.", LAYOUTS[names], "write or download it again."
        )
    _refuse_other_kind(file, names)
    rest: Rest = "ignored" if names == RUN else "refused"  # remarks may follow the tag
    text = _split_fields(file, names, rest)
    roles = ROLES[names]
    if want.what == "truth":
        roles = {**roles, "subtopic": "iter"}  # dropped if it is the same everywhere
    return Source(file.path.name, names, partial(parse, text), roles)


def read_fields(path: Path, names: tuple[str, ...], roles: Mapping[str, str]) -> pl.DataFrame:
    """Return the fields of a TREC file of another kind, by role: preferences, z-scores, or qrels
    with the judgement group in their second field."""
    file = open_content(path)
    require_text(file)
    return parse(_split_fields(file, names, "refused"), roles)


def _split_fields(file: File, names: tuple[str, ...], rest: Rest) -> Text:
    separator = "\t" if b"\t" in file.head else " "
    return Text(
        file.path, file.data, names, separator,
        quote=None, comment="#", loose=True, layout=LAYOUTS[names], rest=rest, ids="text",
    )  # fmt: skip


def _refuse_other_kind(file: File, names: tuple[str, ...]) -> None:
    """Raise an error for qrels as predictions, and for a run as truth: the two are swapped."""
    rows = [line.split() for line in file.lines if not line.startswith("#")]
    other, found = (QRELS, "qrels") if names == RUN else (RUN, "a run")
    if rows and all(len(row) == len(other) and row[1].upper() in ("0", "Q0") for row in rows):
        side = "predictions" if names == RUN else "truth"
        raise BadTable(
            f"{file.path.name} is {found}, with {len(other)} fields per line, but was given as"
            f" {side}.",
            LAYOUTS[names],
            "predictions come first, then the truth: are the two swapped?",
        )


def write_trec(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write predictions as a run, and truth as qrels."""
    require_plain(content.frame, r"\s|^#", "a TREC file")
    lines = _build_run(content) if content.kind == "predictions" else _build_qrels(content.frame)
    raw = lines.write_csv(separator=" ", include_header=False, quote_style="never")
    return write_bytes(raw.encode(), path)


def _build_run(content: FileContent) -> pl.DataFrame:
    tag = "-".join(content.tag.split()) or "rectitude"
    return content.frame.select(
        "list", pl.lit("Q0").alias("Q0"), "item", "rank", "score", pl.lit(tag).alias("tag")
    )


def _build_qrels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return qrels; grades must be whole numbers, because trec_eval would truncate them."""
    grades = frame["grade"]
    wrong = frame.filter((grades != grades.round()).fill_null(value=True))
    if wrong.height:
        first = wrong.row(0, named=True)
        raise BadGrades(
            f"{wrong.height} grades are not whole numbers (first: {first['grade']} for user"
            f" {first['list']!r}, item {first['item']!r}).",
            "whole numbers, as qrels require.",
            "choose another format, such as csv or parquet.",
        )
    return frame.select("list", pl.lit(0).alias("iter"), "item", grades.cast(pl.Int64))

"""TREC files: runs (`qid Q0 docno rank score tag`) and qrels (`qid iter docno rel`).

Their ids are strings by definition: trec_eval orders equal scores by the bytes of docno.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rectitude.data.columns import Wanted, wanted
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.data.text import Rest, Text, parse

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


def open_trec(path: Path, data: bytes | None, head: bytes, want: Wanted) -> Source:
    """A run or qrels as a source."""
    names = RUN if want.what == "predictions" else QRELS
    rest: Rest = "ignored" if names == RUN else "refused"  # behind the tag there may be remarks
    separator = "\t" if b"\t" in head else " "
    text = Text(
        path, data, names, separator,
        quote=None, comment="#", loose=True, layout=LAYOUTS[names], rest=rest, ids="text",
    )  # fmt: skip
    return Source(path.name, names, partial(parse, text), ROLES[names])


def tag_of(path: str) -> str:
    """The tag that the last line of a run holds; the name of a file that is no run."""
    from rectitude.data.files import open_file

    source = open_file(Path(path).expanduser(), wanted("predictions", {}, "user"))
    if tuple(source.names) != RUN:
        return source.label
    return str(source.take({"tag": "tag"})["tag"][-1])


def _is_run(fields: list[str]) -> bool:
    return len(fields) >= len(RUN) and fields[1].upper() == "Q0"


def _is_qrels(fields: list[str]) -> bool:
    return len(fields) == len(QRELS) and fields[1].upper() in ("0", "Q0")

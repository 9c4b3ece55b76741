"""Detect the format of a file from its first bytes, its first lines and its name.

The tests are listed in the order in which they are tried: bytes that only one format begins with,
then the first character, then patterns that all lines share. Any other file is text in columns.
Formats that differ only in column names are not detected: the columns are recognised instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from rectitude.archives import open_archive
from rectitude.data.formats.arrays import IDS
from rectitude.data.formats.columnar import DAMAGED
from rectitude.data.formats.compression import MAGIC
from rectitude.data.formats.file import ARROW, PARQUET, SAMPLE, STREAM, File, require_text
from rectitude.data.formats.letor import find_sizes
from rectitude.data.formats.separated import COLONS, read_typed_fields
from rectitude.data.formats.trec import QRELS, RUN
from rectitude.data.table import What

Test = Callable[[File, What], str | None]
"""A test that returns the reason why a file has a format, or None."""
PROPERTIES = "_properties.yaml"
"""The ending of the name of RecPack's properties file."""
_TREC = (".run", ".qrels", ".qrel", ".trec")
_PAIR = r"^\([^(),\s]+,\s*[^(),\s]+\)(\t|$)"
_FEATURES = r"^\s*(#|([^\s:#]+\s+){1,2}[^\s:#]+:[^\s#]+(\s|$))"
_GLANCE = 1 << 12
"""How many bytes tell whether a file is a column of numbers."""
_WITHOUT_PAIRS = ("items", "users", "weights")
"""Tables without pairs of a user and an item."""


def recognise(file: File, what: What) -> tuple[str, str]:
    """Return the first format that a file fits, and the reason.

    Raise an error for a file that is neither a known binary format nor text.
    """
    match = _first_match(BINARY, file, what)
    if match is None:
        require_text(file)
        match = _first_match(TEXT, file, what)
    return match or ("tsv" if file.separator == "\t" else "csv", "text in columns")


def _first_match(tests: Mapping[str, Test], file: File, what: What) -> tuple[str, str] | None:
    tried = ((name, test(file, what)) for name, test in tests.items())
    return next(((name, reason) for name, reason in tried if reason is not None), None)


def holds_bare_numbers(path: Path) -> bool:
    """Whether a file begins with lines of one number each, and so has no ids; a pipe or a device is
    not opened, as it may never give a line."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(_GLANCE)
        numbers = [
            float(line) for line in start.splitlines()[: -1 if len(start) == _GLANCE else None]
        ]
    except (OSError, ValueError):
        return False
    return bool(numbers)


# binary formats


def is_lenskit(file: File, what: What) -> str | None:
    """Detect Parquet with a column `items` of lists of records."""
    if file.data is not None or not file.head.startswith(PARQUET):
        return None
    lazy = pl.scan_parquet(file.path, glob=False, hive_partitioning=False)
    try:
        kind = lazy.collect_schema()["items"]
    except (*DAMAGED, KeyError):
        return None
    inner = kind.inner if isinstance(kind, pl.List) else None
    return (
        f"its column items has the type list of {inner}" if isinstance(inner, pl.Struct) else None
    )


def is_parquet(file: File, what: What) -> str | None:
    """Detect Parquet by its first bytes or its name."""
    if file.data is None and file.head.startswith(PARQUET):
        return "it begins with PAR1"
    return "from the file name" if file.path.suffix in (".parquet", ".pq") else None


def is_arrow(file: File, what: What) -> str | None:
    """Detect Arrow IPC, as a file (Feather) or a stream, by its first bytes or its name."""
    if file.head.startswith(ARROW):
        return "it begins with ARROW1"
    if file.head.startswith(STREAM):
        return "it begins like an Arrow stream"
    return "from the file name" if file.suffix in (".arrow", ".ipc", ".feather") else None


def is_sparse(file: File, what: What) -> str | None:
    """Detect a sparse matrix of SciPy by the names of its arrays."""
    return "it is a SciPy sparse matrix" if {"data", "shape"} <= _array_names(file) else None


def is_array(file: File, what: What) -> str | None:
    """Detect a NumPy array, or an archive with the ids of lists."""
    if file.data is None and file.head.startswith(b"\x93NUMPY"):
        return "it is a NumPy array: one row per list"
    names = _array_names(file) & set(IDS)
    return f"it contains the array {names.pop()}: one row per list" if names else None


def _array_names(file: File) -> set[str]:
    """Return the names of the arrays in an archive."""
    if file.data is not None or not file.head.startswith(b"PK"):
        return set()
    with open_archive(file.path, "a complete archive.", "write it again.") as archive:
        names = archive.namelist()
    return {name.removesuffix(".npy") for name in names if name.endswith(".npy")}


# text formats


def is_json_lines(file: File, what: What) -> str | None:
    """Detect JSON lines by name, or by an object on the first of several lines."""
    if file.suffix in (".jsonl", ".ndjson"):
        return "from the file name"
    lines = file.lines
    if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
        return None
    try:
        json.loads(lines[0])
    except (ValueError, RecursionError):
        return None
    return "every line is an object"


def is_json(file: File, what: What) -> str | None:
    """Detect JSON by name, or by a brace at the start."""
    if file.suffix == ".json":
        return "from the file name"
    return "it begins with '{'" if file.head.lstrip().startswith(b"{") else None


def is_letor(file: File, what: What) -> str | None:
    """Detect lines with qid: after one number, or for predictions after one or two; or features,
    with the sizes of the queries in a file next to it."""
    if file.suffix in (".letor", ".svmlight"):
        return "from the file name"
    rows = [line.split(None, 3) for line in file.lines if not line.lstrip().startswith("#")]
    after = (1, 2) if what == "predictions" else (1,)
    queries = bool(rows) and all(
        any(len(row) > n and row[n].startswith("qid:") for n in after) for row in rows
    )
    if queries:
        return "every line names a query after its label, as qid:"
    features = bool(rows) and all(re.match(_FEATURES, line) for line in file.lines)
    return "every line has features" if features and find_sizes(file.path) else None


def is_trec(file: File, what: What) -> str | None:
    """Detect a run (for predictions) or qrels (for truth) by name or by lines."""
    if what not in ("predictions", "truth", "train", "log"):
        return None
    named = file.suffix == ".txt" and "qrels" in file.path.name.lower().split(".")
    if file.suffix in _TREC or named:
        return "from the file name"
    start = (line for line in file.start[:SAMPLE] if line.strip())
    rows = [line.split() for line in start if not line.startswith("#")]
    if what == "predictions":
        run = bool(rows) and all(_is_run(row) for row in rows[:-1] or rows)
        return "the second field of every line is Q0" if run else None
    # A single line such as `7 0 3 5` could also be user, item, rating, time: two are required.
    qrels = len(rows) > 1 and all(_is_qrels(row) for row in rows[:-1])
    return "lines have four fields, the second always 0" if qrels else None


def _is_run(fields: list[str]) -> bool:
    return len(fields) >= len(RUN) and fields[1].upper() == "Q0"


def _is_qrels(fields: list[str]) -> bool:
    return len(fields) == len(QRELS) and fields[1].upper() in ("0", "Q0")


def is_recpack(file: File, what: What) -> str | None:
    """Detect RecPack's properties by name, and its table by a column that only RecPack has."""
    if file.path.name.endswith(PROPERTIES):
        return "its name is that of a RecPack properties file"
    first = file.lines[0].split(",") if file.lines else []
    return (
        "its header contains interactionid" if {"uid", "iid", "interactionid"} <= {*first} else None
    )


def is_negatives(file: File, what: What) -> str | None:
    """Detect lines that begin with a pair in parentheses."""
    pairs = bool(file.lines) and all(re.match(_PAIR, line) for line in file.lines)
    return "every line begins with (user,item)" if pairs else None


def is_movielens(file: File, what: What) -> str | None:
    """Detect lines with `::` between fields, as in ratings.dat."""
    separated = bool(file.lines) and all(2 <= line.count(COLONS) <= 3 for line in file.lines)
    return "the fields of every line are separated by '::'" if separated else None


def is_sets(file: File, what: What) -> str | None:
    """Detect lines with two sets of whole numbers separated by a tab."""
    halves = [line.split("\t") for line in file.lines]
    if what in _WITHOUT_PAIRS or not halves or any(len(half) != 2 for half in halves):
        return None
    words = [[side.split() for side in half] for half in halves]
    if not all(word.isdecimal() for half in words for side in half for word in side):
        return None
    longer_sets = sum(len(side) > 1 for half in words for side in half)
    return "every line has two sets of whole numbers, separated by a tab" if longer_sets else None


def is_adjacency(file: File, what: What) -> str | None:
    """Detect lines of whole numbers that differ in length or are longer than a table row."""
    rows = [line.split() for line in file.lines]
    if what in _WITHOUT_PAIRS or file.suffix not in ("", ".txt"):
        return None
    if any("\t" in line for line in file.lines):
        return None
    if not all(word.isdecimal() for row in rows for word in row):
        return None
    if len({row[0] for row in rows}) < len(rows):  # rows of a table with a broken row
        return None
    lengths = {len(row) for row in rows}
    if len(lengths) < 2 and max(lengths, default=0) <= 4:
        return None
    return f"lines of {min(lengths)} to {max(lengths)} whole numbers: a user and their items"


def is_recbole(file: File, what: What) -> str | None:
    """Detect a header whose names have types, such as user_id:token."""
    fields = read_typed_fields(file)
    return f"its header has types, such as {fields[0]}" if fields else None


def is_cbor(file: File, what: What) -> str | None:
    """Detect content that is compressed with lz4 twice, as ranx does."""
    twice = file.compression == "lz4" and MAGIC.get(file.head[:4]) == "lz4"
    return "it is compressed with lz4 twice, as ranx does" if twice else None


BINARY: Mapping[str, Test] = {
    "cbor": is_cbor, "lenskit": is_lenskit, "parquet": is_parquet, "arrow": is_arrow,
    "csr": is_sparse, "daisyrec": is_array,
}  # fmt: skip
TEXT: Mapping[str, Test] = {
    "jsonl": is_json_lines, "json": is_json, "letor": is_letor, "trec": is_trec,
    "recpack": is_recpack,
    "ncf": is_negatives, "movielens": is_movielens, "sets": is_sets, "adjacency": is_adjacency,
    "recbole": is_recbole,
}  # fmt: skip

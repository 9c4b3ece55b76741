"""Which kind of file it is: what its first bytes, its first lines and its name say.

The tests stand in the order in which they are tried: bytes that only one format begins with, then
the first character, then what all lines have in common. Text in columns is what is left. Formats
that differ in nothing but the names of their columns are never guessed: columns are recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from zipfile import BadZipFile, ZipFile

import polars as pl

from rectitude.data.formats.arrays import IDS
from rectitude.data.formats.file import ARROW, PARQUET, SAMPLE, STREAM, File, require_text
from rectitude.data.formats.separated import COLONS, typed_fields
from rectitude.data.formats.trec import QRELS, RUN
from rectitude.data.table import What
from rectitude.errors import UnreadableFile

Test = Callable[[File, What], str | None]
"""The reason why a file is of one kind, or None."""
PROPERTIES = "_properties.yaml"
"""How the name of a file ends that holds RecPack's properties."""
_TREC = (".run", ".qrels", ".qrel", ".trec")
_PAIR = re.compile(r"^\([^(),\s]+,\s*[^(),\s]+\)(\t|$)")
_ALONE = ("items", "users", "weights")
"""Tables that have no pairs of a user and an item."""


def recognise(file: File, what: What) -> tuple[str, str]:
    """Name and reason of the first format that a file fits; what is not text must be known."""
    found = _first(BINARY, file, what)
    if found is None:
        require_text(file)
        found = _first(TEXT, file, what)
    return found or ("tsv" if file.separator == "\t" else "csv", "text in columns")


def _first(tests: Mapping[str, Test], file: File, what: What) -> tuple[str, str] | None:
    tried = ((name, test(file, what)) for name, test in tests.items())
    return next(((name, reason) for name, reason in tried if reason is not None), None)


# formats of bytes


def is_lenskit(file: File, what: What) -> str | None:
    """Parquet with a column `items` of lists of records."""
    if file.data is not None or not file.head.startswith(PARQUET):
        return None
    lazy = pl.scan_parquet(file.path, glob=False, hive_partitioning=False)
    try:
        kind = lazy.collect_schema()["items"]
    except (pl.exceptions.PolarsError, OSError, KeyError):
        return None
    inner = kind.inner if isinstance(kind, pl.List) else None
    return (
        f"its column items has the type list of {inner}" if isinstance(inner, pl.Struct) else None
    )


def is_parquet(file: File, what: What) -> str | None:
    """Parquet by its first bytes, or by a name that promises it."""
    if file.data is None and file.head.startswith(PARQUET):
        return "it begins with PAR1"
    return "its name says so" if file.path.suffix in (".parquet", ".pq") else None


def is_arrow(file: File, what: What) -> str | None:
    """Arrow IPC by its first bytes: the file format (Feather) or the stream."""
    if file.head.startswith(ARROW):
        return "it begins with ARROW1"
    if file.head.startswith(STREAM):
        return "it begins as a stream of Arrow does"
    return "its name says so" if file.suffix in (".arrow", ".ipc", ".feather") else None


def is_sparse(file: File, what: What) -> str | None:
    """An archive of SciPy: it holds indptr, or the row and col of coordinates."""
    return "it is a sparse matrix of SciPy" if {"data", "shape"} <= _arrays(file) else None


def is_array(file: File, what: What) -> str | None:
    """An array of NumPy, or an archive that holds the ids of lists."""
    if file.data is None and file.head.startswith(b"\x93NUMPY"):
        return "it is an array of NumPy: one row per list"
    found = _arrays(file) & set(IDS)
    return f"it holds the array {found.pop()}: one row per list" if found else None


def _arrays(file: File) -> set[str]:
    """The names of the arrays in an archive."""
    if file.data is not None or not file.head.startswith(b"PK"):
        return set()
    try:
        with ZipFile(file.path) as archive:
            names = archive.namelist()
    except (BadZipFile, OSError) as error:
        raise UnreadableFile(f"{file.path} is truncated or damaged: {error}.",
                             "a complete archive.", "write it again.") from error  # fmt: skip
    return {name.removesuffix(".npy") for name in names if name.endswith(".npy")}


# formats of text


def is_json_lines(file: File, what: What) -> str | None:
    """JSON lines: by name, or because the first line is an object and others follow."""
    if file.suffix in (".jsonl", ".ndjson"):
        return "its name says so"
    lines = file.lines
    if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
        return None
    try:
        json.loads(lines[0])
    except ValueError:
        return None
    return "every line is an object"


def is_json(file: File, what: What) -> str | None:
    """JSON: by name, or because it begins with a brace."""
    if file.suffix == ".json":
        return "its name says so"
    return "it begins with '{'" if file.head.lstrip().startswith(b"{") else None


def is_trec(file: File, what: What) -> str | None:
    """A run (for predictions) or qrels (for truth) by its name or its lines."""
    if what not in ("predictions", "truth", "train", "log"):
        return None
    named = file.suffix == ".txt" and "qrels" in file.path.name.lower().split(".")
    if file.suffix in _TREC or named:
        return "its name says so"
    start = (line for line in file.start[:SAMPLE] if line.strip())
    rows = [line.split() for line in start if not line.startswith("#")]
    if what == "predictions":
        run = bool(rows) and all(_is_run(row) for row in rows[:-1] or rows)
        return "the second field of every line is Q0" if run else None
    # One line such as `7 0 3 5` may as well be user, item, rating, time: two are asked for.
    qrels = len(rows) > 1 and all(_is_qrels(row) for row in rows[:-1])
    return "lines have four fields, the second always 0" if qrels else None


def _is_run(fields: list[str]) -> bool:
    return len(fields) >= len(RUN) and fields[1].upper() == "Q0"


def _is_qrels(fields: list[str]) -> bool:
    return len(fields) == len(QRELS) and fields[1].upper() in ("0", "Q0")


def is_recpack(file: File, what: What) -> str | None:
    """RecPack's properties by name, its table by the column that only RecPack has."""
    if file.path.name.endswith(PROPERTIES):
        return "its name is that of RecPack's properties"
    first = file.lines[0].split(",") if file.lines else []
    return "its header holds interactionid" if {"uid", "iid", "interactionid"} <= {*first} else None


def is_negatives(file: File, what: What) -> str | None:
    """Lines that begin with a pair in parentheses."""
    pairs = bool(file.lines) and all(_PAIR.match(line) for line in file.lines)
    return "every line begins with (user,item)" if pairs else None


def is_movielens(file: File, what: What) -> str | None:
    """Lines with `::` between fields, as in ratings.dat."""
    apart = bool(file.lines) and all(2 <= line.count(COLONS) <= 3 for line in file.lines)
    return "every line is separated by '::'" if apart else None


def is_sets(file: File, what: What) -> str | None:
    """Lines of two sets of whole numbers with a tab between them."""
    halves = [line.split("\t") for line in file.lines]
    if what in _ALONE or not halves or any(len(half) != 2 for half in halves):
        return None
    words = [[side.split() for side in half] for half in halves]
    if not all(word.isdecimal() for half in words for side in half for word in side):
        return None
    several = sum(len(side) > 1 for half in words for side in half)
    return "two sets of whole numbers on every line, a tab between them" if several else None


def is_adjacency(file: File, what: What) -> str | None:
    """Lines of whole numbers with spaces between, of different lengths or longer than a row."""
    rows = [line.split() for line in file.lines]
    if what in _ALONE or file.suffix not in ("", ".txt"):
        return None
    if any("\t" in line for line in file.lines):
        return None
    if not all(word.isdecimal() for row in rows for word in row):
        return None
    if len({row[0] for row in rows}) < len(rows):  # rows of a table, one of which is broken
        return None
    lengths = {len(row) for row in rows}
    if len(lengths) < 2 and max(lengths, default=0) <= 4:
        return None
    return f"lines of {min(lengths)} to {max(lengths)} whole numbers: a user and its items"


def is_recbole(file: File, what: What) -> str | None:
    """A header whose names bear types, such as user_id:token."""
    fields = typed_fields(file)
    return f"its header bears types, such as {fields[0]}" if fields else None


BINARY: Mapping[str, Test] = {
    "lenskit": is_lenskit, "parquet": is_parquet, "arrow": is_arrow, "csr": is_sparse,
    "daisyrec": is_array,
}  # fmt: skip
TEXT: Mapping[str, Test] = {
    "jsonl": is_json_lines, "json": is_json, "trec": is_trec, "recpack": is_recpack,
    "ncf": is_negatives, "movielens": is_movielens, "sets": is_sets, "adjacency": is_adjacency,
    "recbole": is_recbole,
}  # fmt: skip

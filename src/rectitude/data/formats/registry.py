"""All kinds of files that are read and written, in the order in which they are tried.

A format says why a file is one of its kind; the first that does reads it, and any can be named
instead. What only differs in the names of its columns is never guessed: columns are recognised.

Paths: which kind of file or folder it is, and what says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rectitude.data.columns import WantedColumns
from rectitude.data.formats import arrays, columnar, jsons, layouts, separated, trec
from rectitude.data.formats.columnar import read_lenskit, sniff_lenskit, write_lenskit
from rectitude.data.formats.file import PACKED, READ, File, Format, Kind, Role, opened, require_text
from rectitude.data.formats.folders import open_folder
from rectitude.data.formats.layouts import Layout, read_recpack, sniff_recpack, write_recpack
from rectitude.data.formats.lines import (
    read_adjacency,
    read_negatives,
    read_sets,
    sniff_adjacency,
    sniff_negatives,
    sniff_sets,
    write_adjacency,
    write_negatives,
)
from rectitude.data.formats.separated import read_sniffed
from rectitude.data.table import Source, What
from rectitude.errors import UnreadableFile, unknown_name

FLAT: Mapping[Kind, tuple[Role, ...]] = {
    "predictions": ("score", "rank"),
    "truth": ("grade", "timestamp"),
    "candidates": (),
}
LISTS: Mapping[Kind, tuple[Role, ...]] = {"predictions": (), "truth": (), "candidates": ()}


def _never(file: File, what: What) -> str | None:
    """Nothing but names of columns would tell: such a format is named, never guessed."""
    return None


def _table(title: str, layout: Layout, **facts: object) -> Format:
    """A format that is a plain table with names of its own."""
    kinds: tuple[Kind, ...] = ("predictions", "truth")
    holds = {kind: layout.roles(kind) for kind in kinds}
    given = {
        "sniff": _never, "read": layouts.reader(layout), "write": layouts.writer(layout),
        "holds": holds, "needs": {"predictions": ("score",)}, "nature": "either",
        "ids": "by ending", **facts,
    }  # fmt: skip
    return Format(title, **given)  # type: ignore[arg-type]


FORMATS: Mapping[str, Format] = {
    "lenskit": Format(
        "LensKit's native Parquet, one row per list", sniff_lenskit, read_lenskit, write_lenskit,
        nature="binary", empty="kept", order="kept", ids="typed",
        holds={"predictions": ("score", "rank"), "truth": ("grade",), "candidates": ()},
    ),
    "parquet": Format(
        "Parquet", columnar.sniff_parquet, columnar.read_parquet, layouts.writer(layouts.PLAIN),
        (".parquet", ".pq"), "binary", FLAT, ids="typed",
    ),
    "arrow": Format(
        "Arrow IPC (Feather), file or stream", columnar.sniff_arrow, columnar.read_arrow,
        layouts.writer(layouts.PLAIN), (".arrow", ".feather", ".ipc"), "binary", FLAT, ids="typed",
    ),
    "csr": Format(
        "a sparse matrix of SciPy, users x items (implicit, RecPack)", arrays.sniff_sparse,
        arrays.read_sparse, arrays.write_sparse, (".npz",), "binary",
        {"predictions": ("score",), "truth": ("grade",)},
        {"predictions": ("score",), "truth": ("grade",)}, empty="kept", ids="typed",
        remarks=arrays.gaps,
    ),
    "daisyrec": Format(
        "arrays of ids, one row per list (DaisyRec, implicit)", arrays.sniff_lists,
        arrays.read_lists, arrays.write_lists, (".npy",), "binary", {"predictions": ()},
        empty="kept", order="kept", ids="typed",
    ),
    "jsonl": Format(
        "JSON lines, one object a row", jsons.sniff_lines, jsons.read_lines,
        layouts.writer(layouts.PLAIN), (".jsonl", ".ndjson"), holds=FLAT, ids="typed",
    ),
    "json": Format(
        "JSON, {user: {item: number}} (ranx), {user: [items]}, rows or columns", jsons.sniff_json,
        jsons.read_json, jsons.write_json, (".json",), empty="kept",
        holds={"predictions": ("score",), "truth": ("grade",)},
        needs={"predictions": ("score",), "truth": ("grade",)},
    ),
    "trec": Format(
        "a TREC run or qrels", trec.sniff, trec.read, trec.write, (".run", ".qrels", ".trec"),
        holds={"predictions": ("rank", "score"), "truth": ("grade",)},
        needs={"predictions": ("rank", "score"), "truth": ("grade",)},
    ),
    "recpack": Format(
        "RecPack's interactions: csv, and properties in YAML", sniff_recpack, read_recpack,
        write_recpack, holds={"truth": ("timestamp",)}, ids="typed", times="seconds",
    ),
    "ncf": Format(
        "NCF's negatives: (user,item), then items", sniff_negatives, read_negatives,
        write_negatives, (".negative",), holds={"candidates": ()}, order="kept",
    ),
    "movielens": Format(
        "MovieLens' ratings.dat, separated by '::'", separated.sniff_movielens,
        separated.read_movielens, separated.write_movielens, (".dat",),
        holds={"truth": ("grade", "timestamp")}, needs={"truth": ("grade",)}, times="seconds",
    ),
    "sets": Format("pairs of sets (SMGCN): a list is a line, its items the second set",
                   sniff_sets, read_sets),
    "adjacency": Format(
        "adjacency lists: a user and its items on a line (LightGCN, NGCF)", sniff_adjacency,
        read_adjacency, write_adjacency, (".txt",), holds=LISTS, empty="kept", order="kept",
    ),
    "recbole": Format(
        "RecBole's atomic files, whole or split", separated.sniff_recbole, separated.read_recbole,
        layouts.write_recbole, (".inter",),
        holds={"predictions": ("score",), "truth": ("grade", "timestamp")},
        needs={"predictions": ("score",)}, times="seconds",
    ),
    "tsv": Format("text separated by tabs", separated.sniff_tsv, separated.read_tsv,
                  layouts.writer(layouts.TSV), (".tsv",), holds=FLAT),
    "csv": Format("text separated by commas, semicolons or bars", separated.sniff_csv,
                  separated.read_csv, layouts.writer(layouts.PLAIN), (".csv",), holds=FLAT),
    "headerless": Format(
        "separated text whose first line is a row", _never, separated.read_headerless,
        layouts.writer(layouts.BARE), times="seconds",
        holds={"predictions": ("score",), "truth": ("grade", "timestamp")},
        needs={"predictions": ("score",), "truth": ("grade",)},
    ),
    "sessions": Format(
        "without a header: session, item, timestamp (Cornac's SIT)", _never,
        separated.in_places("list", "item", "timestamp"), layouts.writer(layouts.SESSIONS),
        holds={"truth": ("timestamp",)}, times="seconds",
    ),
    "baskets": Format(
        "without a header: user, basket or session, item, timestamp (Cornac's UBIT, USIT)", _never,
        separated.in_places("user", "list", "item", "timestamp"),
    ),
    "elliot": _table("Elliot's tsv without a header", layouts.ELLIOT, ids="text", times="seconds",
                     needs={"predictions": ("score",), "truth": ("grade",)}),
    "warprec": _table("WarpRec's tsv: user_id, item_id, rating", layouts.WARPREC,
                      times="seconds"),
    "lenskit_flat": _table("LensKit's flat table: user_id, item_id, score, rank", layouts.LENSKIT,
                           needs={}),
    "rectools": _table("RecTools' table: user_id, item_id, score, rank", layouts.RECTOOLS,
                       needs={"predictions": ("rank",)}),
    "replay": _table("RePlay's table: query_id, item_id, rating", layouts.REPLAY),
    "microsoft": _table("Microsoft recommenders' table: userID, itemID, prediction",
                        layouts.MICROSOFT),
}  # fmt: skip


ALSO = {
    "ranx": "json", "implicit": "csr", "lightgcn": "adjacency", "smgcn": "sets",
    "cornac": "headerless",
}  # fmt: skip
"""Names of libraries for formats that have a name of their own."""


def format_named(name: str, where: str = "") -> Format:
    """The format of that name, or an error with the nearest."""
    own = ALSO.get(name, name)
    if own not in FORMATS:
        raise unknown_name("format", name, [*FORMATS, *ALSO], where)
    return FORMATS[own]


def recognised(file: File, what: What) -> tuple[str, str] | None:
    """Name and reason of the first format that a file fits; None if it is not text, and none."""
    tried = ((name, form.sniff(file, what)) for name, form in FORMATS.items())
    return next(((name, reason) for name, reason in tried if reason is not None), None)


def format_for(path: Path) -> str | None:
    """The format that the ending of a file to be written stands for, if it stands for one."""
    bare = Path(path.stem) if path.suffix.lower() in PACKED else path
    return next((n for n, form in FORMATS.items() if bare.suffix.lower() in form.suffixes), None)


__all__ = ["ALSO", "FORMATS", "Format", "format_for", "format_named", "recognised"]


def open_file(path: Path, want: WantedColumns) -> Source:
    """A file as a source. Its content says what it is; its name only helps; `form` decides."""
    if path.is_dir():
        source, reason = open_folder(path)
        return replace(source, recognised=reason)
    if want.form:
        form, file = format_named(want.form, "format="), opened(path)
        if form.nature == "text":
            require_text(file)
        return _told(form.read(file, want), want.form, "as was said")
    file = opened(path)
    name, reason = _guessed(file, want)
    # Where nobody names the separator, the first line does.
    read = read_sniffed if name in ("csv", "tsv") else FORMATS[name].read
    return _told(read(file, want), name, reason)


def _guessed(file: File, want: WantedColumns) -> tuple[str, str]:
    """Formats of bytes are tried before any text is looked at."""
    for name, form in FORMATS.items():
        if form.nature != "binary":
            continue
        reason = form.sniff(file, want.what)
        if reason is not None:
            return name, reason
    require_text(file)
    found = recognised(file, want.what)
    if found is None:
        raise UnreadableFile(f"{file.path} is of no known format.", READ)
    return found


def _told(source: Source, name: str, reason: str) -> Source:
    details = f"; {source.recognised}" if source.recognised else ""
    return replace(source, recognised=f"{name} ({reason}{details})")

"""All file formats by name; `recognise` detects the format of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rectitude.data.formats import (
    arrays,
    cbor,
    columnar,
    jsons,
    layouts,
    letor,
    lines,
    separated,
    trec,
)
from rectitude.data.formats.file import Format, Kind, Role, suffix_of
from rectitude.data.formats.layouts import Layout
from rectitude.errors import unknown_name

FLAT: Mapping[Kind, tuple[Role, ...]] = {
    "predictions": ("score", "rank"),
    "truth": ("grade", "timestamp"),
    "candidates": (),
}
LISTS: Mapping[Kind, tuple[Role, ...]] = {"predictions": (), "truth": (), "candidates": ()}


def _table_format(title: str, layout: Layout, **facts: object) -> Format:
    """Return a format that is a plain table with particular column names."""
    kinds: tuple[Kind, ...] = ("predictions", "truth")
    holds = {kind: layout.roles(kind) for kind in kinds}
    arguments = {
        "read": layouts.reader(layout), "write": layouts.writer(layout),
        "holds": holds, "needs": {"predictions": ("score",)}, "content": "text or binary",
        "ids": "by extension", **facts,
    }  # fmt: skip
    return Format(title, **arguments)  # type: ignore[arg-type]


FORMATS: Mapping[str, Format] = {
    "lenskit": Format(
        "LensKit's native Parquet, one row per list", columnar.read_lenskit, columnar.write_lenskit,
        content="binary", empty="kept", order="kept", ids="typed",
        holds={"predictions": ("score", "rank"), "truth": ("grade",), "candidates": ()},
    ),
    "parquet": Format(
        "Parquet", columnar.read_parquet, layouts.writer(layouts.PLAIN), (".parquet", ".pq"),
        "binary", FLAT, ids="typed",
    ),
    "arrow": Format(
        "Arrow IPC (Feather), file or stream", columnar.read_arrow,
        layouts.writer(layouts.PLAIN), (".arrow", ".feather", ".ipc"), "binary", FLAT, ids="typed",
    ),
    "csr": Format(
        "a SciPy sparse matrix, users x items (implicit, RecPack)", arrays.read_sparse,
        arrays.write_sparse, (".npz",), "binary",
        {"predictions": ("score",), "truth": ("grade",)},
        {"predictions": ("score",), "truth": ("grade",)}, empty="kept", ids="typed",
        remarks=arrays.describe_gaps,
    ),
    "daisyrec": Format(
        "arrays of ids, one row per list (DaisyRec, implicit)", arrays.read_lists,
        arrays.write_lists, (".npy",), "binary", {"predictions": ()}, empty="kept",
        order="kept", ids="typed",
    ),
    "jsonl": Format(
        "JSON lines, one object per row", jsons.read_lines,
        layouts.writer(layouts.PLAIN), (".jsonl", ".ndjson"), holds=FLAT, ids="typed",
    ),
    "json": Format(
        "JSON, {user: {item: number}} (ranx), {user: [items]}, rows or columns", jsons.read_json,
        jsons.write_json, (".json",), empty="kept",
        holds={"predictions": ("score",), "truth": ("grade",)},
        needs={"predictions": ("score",), "truth": ("grade",)},
    ),
    "cbor": Format(
        "ranx's runs, {user: {item: number}} as CBOR, compressed twice", cbor.read_cbor,
        cbor.write_cbor, (".lz4",), "binary", empty="kept",
        holds={"predictions": ("score",)}, needs={"predictions": ("score",)},
    ),
    "trec": Format(
        "a TREC run or qrels", trec.read_trec, trec.write_trec, (".run", ".qrels", ".trec"),
        holds={"predictions": ("rank", "score"), "truth": ("grade",)},
        needs={"predictions": ("rank", "score"), "truth": ("grade",)},
    ),
    "letor": Format(
        "SVMlight with queries (LETOR, MSLR): label qid:query features # document",
        letor.read_letor, suffixes=(".letor", ".svmlight"),
    ),
    "recpack": Format(
        "RecPack's interactions: csv, with properties in YAML", layouts.read_recpack,
        layouts.write_recpack, holds={"truth": ("timestamp",)}, ids="typed", times="seconds",
    ),
    "ncf": Format(
        "NCF's negatives: (user,item), then the negative items", lines.read_negatives,
        lines.write_negatives, (".negative",), holds={"candidates": ()}, order="kept",
    ),
    "movielens": Format(
        "MovieLens' ratings.dat, separated by '::'", separated.read_movielens,
        separated.write_movielens, (".dat",),
        holds={"truth": ("grade", "timestamp")}, needs={"truth": ("grade",)}, times="seconds",
    ),
    "sets": Format(
        "pairs of sets (SMGCN): each line is a list, its items are the second set", lines.read_sets
    ),
    "adjacency": Format(
        "adjacency lists: a user and their items on each line (LightGCN, NGCF)",
        lines.read_adjacency, lines.write_adjacency, (".txt",), holds=LISTS, empty="kept",
        order="kept",
    ),
    "recbole": Format(
        "RecBole's atomic files, whole or split", separated.read_recbole,
        layouts.write_recbole, (".inter",),
        holds={"predictions": ("score",), "truth": ("grade", "timestamp")},
        needs={"predictions": ("score",)}, times="seconds",
    ),
    "tsv": Format("text separated by tabs", separated.read_tsv,
                  layouts.writer(layouts.TSV), (".tsv",), holds=FLAT),
    "csv": Format("text separated by commas, semicolons or pipes (|)", separated.read_csv,
                  layouts.writer(layouts.PLAIN), (".csv",), holds=FLAT),
    "headerless": Format(
        "separated text without a header", separated.read_headerless,
        layouts.writer(layouts.BARE), times="seconds",
        holds={"predictions": ("score",), "truth": ("grade", "timestamp")},
        needs={"predictions": ("score",), "truth": ("grade",)},
    ),
    "sessions": Format(
        "text without a header: session, item, timestamp (Cornac's SIT)",
        separated.by_position("list", "item", "timestamp"), layouts.writer(layouts.SESSIONS),
        holds={"truth": ("timestamp",)}, times="seconds",
    ),
    "baskets": Format(
        "text without a header: user, basket or session, item, timestamp (Cornac's UBIT, USIT)",
        separated.by_position("user", "list", "item", "timestamp"),
    ),
    "elliot": _table_format(
        "Elliot's tsv without a header", layouts.ELLIOT, ids="text", times="seconds",
        needs={"predictions": ("score",), "truth": ("grade",)},
    ),
    "warprec": _table_format(
        "WarpRec's tsv: user_id, item_id, rating", layouts.WARPREC, times="seconds"
    ),
    "lenskit_flat": _table_format(
        "LensKit's flat table: user_id, item_id, score, rank", layouts.LENSKIT, needs={}
    ),
    "rectools": _table_format(
        "RecTools' table: user_id, item_id, score, rank", layouts.RECTOOLS,
        needs={"predictions": ("rank",)},
    ),
    "replay": _table_format("RePlay's table: query_id, item_id, rating", layouts.REPLAY),
    "microsoft": _table_format(
        "Microsoft recommenders' table: userID, itemID, prediction", layouts.MICROSOFT
    ),
}  # fmt: skip


ALIASES = {
    "ranx": "json", "svmlight": "letor",
    "implicit": "csr", "lightgcn": "adjacency", "smgcn": "sets",
    "cornac": "headerless",
}  # fmt: skip
"""Names of libraries that stand for a format with another name."""


def format_named(name: str, where: str = "") -> Format:
    """Return the format with that name; an unknown name raises an error with similar names."""
    canonical = ALIASES.get(name, name)
    if canonical not in FORMATS:
        raise unknown_name("format", name, [*FORMATS, *ALIASES], where)
    return FORMATS[canonical]


def format_for(path: Path) -> str | None:
    """Return the format for the extension of a target file, or None."""
    suffix = suffix_of(path) or path.suffix.lower()
    return next((name for name, form in FORMATS.items() if suffix in form.suffixes), None)

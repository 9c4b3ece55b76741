"""Fingerprints of what was judged: equal content, equal fingerprint, whatever the order of rows.

They tell whether two evaluations saw the same truth or the same predictions, in whatever file or frame.
Each row is mixed into 64 bits, and rows of a list, then lists, are added up. Integer ids enter by
their value. Text enters by its Polars hash, which may change between releases, so that the release is part of
the fingerprint: fingerprints that begin differently say nothing about each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import in_blocks
from rectitude.data.ids import kind_of
from rectitude.judge import kernels
from rectitude.judge.group import Grouped
from rectitude.judge.sides import Sides

if TYPE_CHECKING:
    import polars as pl

Words = NDArray[np.uint64]
_GOLDEN, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def fingerprint(sides: Sides, side: str) -> str:
    """The fingerprint of the predictions or of the truth."""
    rows = sides.lists if side == "predictions" else sides.judgements
    frame = getattr(sides.sources, side).frame
    worth = next((frame[c] for c in ("rank", "score", "grade") if c in frame.columns), None)
    key = None if worth is None else worth.cast(float).fill_null(float("nan")).to_numpy()
    sums = _sums(rows, _words(frame["item"]), key, _words(sides.keys))
    scheme = {_scheme(frame["item"]), _scheme(sides.keys)}
    mixed = int(np.sum(sums[rows.length > 0], dtype=np.uint64))
    return f"{'+'.join(sorted(scheme))}:{mixed:016x}"


def _scheme(ids: pl.Series) -> str:
    import polars as pl

    return "int" if kind_of(ids) == "integer" else f"polars{pl.__version__}"


def _words(ids: pl.Series) -> Words:
    """64 bits for each id, the same wherever the id occurs."""
    import polars as pl

    kind = kind_of(ids)
    if kind == "integer" and ids.dtype != pl.Int128:
        wide = ids if ids.dtype == pl.UInt64 else ids.cast(pl.Int64)
        return wide.to_numpy().view(np.uint64)
    if kind == "object":
        return pl.Series([repr(value) for value in ids.to_list()]).hash().to_numpy()
    return ids.cast(pl.String).hash().to_numpy() if kind == "text" else ids.hash().to_numpy()


def _sums(rows: Grouped, items: Words, key: NDArray[Any] | None, salt: Words) -> Words:
    items = rows.take(items)
    key = None if key is None else rows.take(key)
    if kernels.repay(len(items)):
        return _sums_compiled(rows, items, key, salt)
    lists, where = rows.expand()
    bits = (where - rows.start[lists] if key is None else key[where]).view(np.uint64)
    x = items[where] * _GOLDEN + bits
    x = (x ^ (x >> np.uint64(32))) * _MIX
    x ^= x >> np.uint64(32)
    sums = np.zeros(len(rows.start), np.uint64)
    np.add.at(sums, lists, x)
    return _finished(sums, salt)


def _finished(sums: Words, salt: Words) -> Words:
    x = (sums ^ salt) * _GOLDEN
    return x ^ (x >> np.uint64(29))


def _sums_compiled(rows: Grouped, items: Words, key: NDArray[Any] | None, salt: Words) -> Words:
    kernel = kernels.compiled("fold")
    sums = np.zeros(len(rows.start), np.uint64)
    bits = np.zeros(0, np.uint64) if key is None else key.view(np.uint64)
    arrays = [kernels.frozen(a) for a in (rows.start, rows.length, items, bits)]

    def work(first: int, last: int) -> None:
        kernel(first, last, *arrays, key is not None, sums)

    in_blocks(work, len(rows.start))
    return _finished(sums, salt)

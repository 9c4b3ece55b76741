"""Fingerprints of what was judged: equal content, equal fingerprint, whatever the order of rows.

They tell whether two evaluations saw the same truth or the same predictions, in whatever file or
frame. Each row is mixed into 64 bits, and rows of a list, then lists, are added up. Integer ids
enter by their value. Text enters by its Polars hash, which may change between releases, so that the
release is part of the fingerprint: fingerprints that begin differently say nothing about each
other.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Grouped, Pieces
from rectitude.data.ids import has_128_bits, kind_of
from rectitude.data.values import pieces
from rectitude.judge.align import Aligned
from rectitude.judge.dense import recorded
from rectitude.judge.match import Stretch, share, stretches
from rectitude.kernels import HASH, frozen, kernel, repay

Words = NDArray[np.uint64]
_MIX = np.uint64(0xD6E8FEB86659FD93)


def fingerprint(sides: Aligned, side: str) -> str:
    """The fingerprint of the predictions or of the truth."""
    if side == "predictions" and sides.sources.dense is not None:
        return _standings(sides)
    frame = getattr(sides.sources, side).frame
    worth = next((c for c in ("rank", "score", "grade") if c in frame.columns), None)
    ids = sides.items.columns[side]  # as they were brought together, whatever they were read from
    words = None if sides.items.names is None else Pieces(_words(ids))
    if side == "predictions":
        rows = sides.lists
        items = sides.column("item") if words is None else rows.take(words)
        key = None if worth is None else sides.column(worth)
    else:
        rows = sides.judgements
        items = rows.take(words or sides.items.codes[side])
        key = rows.take(pieces(frame[worth]) if worth else Pieces(np.zeros(frame.height)))
    sums = _sums(rows, items, key, _names(sides))
    nameless = {"rows"} if _nameless(sides) else {_scheme(sides.keys)}
    scheme = {_scheme(ids), *nameless}
    mixed = int(np.sum(sums[rows.length > 0], dtype=np.uint64))
    return f"{'+'.join(sorted(scheme))}:{mixed:016x}"


def _standings(sides: Aligned) -> str:
    """Dense scores by what was read from them: where the items of the truth stand."""
    found = next(iter(sides.readings.values()))
    if sides.sources.recorded is not None:
        found = recorded(found, sides.sources.recorded)
    salt = _names(sides)[found.list] + np.uint64(1) * found.column.view(np.uint64)
    x = (salt * HASH) ^ found.above.view(np.uint64)
    x = (x ^ (x >> np.uint64(32))) * _MIX + found.tied.view(np.uint64)
    x = (x ^ (x >> np.uint64(32))) * _MIX
    depth = sides.sources.dense.depth if sides.sources.dense else None
    return f"ranks{'' if depth is None else depth}:{int(np.sum(x, dtype=np.uint64)):016x}"


def _nameless(sides: Aligned) -> bool:
    """Whether rows are known by their numbers only, which begin again in every batch."""
    return sides.sources.dense is not None and not sides.sources.dense.named


def _names(sides: Aligned) -> Words:
    """64 bits for the name of each list, 0 where it has none."""
    return np.zeros(len(sides.keys), np.uint64) if _nameless(sides) else _words(sides.keys)


def _scheme(ids: pl.Series) -> str:
    return "int" if _fits_64_bits(ids) else f"polars{pl.__version__}"


def _fits_64_bits(ids: pl.Series) -> bool:
    low, high = (ids.min(), ids.max()) if has_128_bits(ids) and len(ids) else (0, 0)
    return kind_of(ids) == "integer" and bool(low >= -(2**63) and high < 2**64)  # type: ignore[operator]


def _words(ids: pl.Series) -> Words:
    """64 bits for each id, the same wherever the id occurs."""
    kind = kind_of(ids)
    if ids.dtype == pl.Int64 and not ids.null_count():
        whole: Words = ids.to_numpy().view(np.uint64)
        return whole
    if _fits_64_bits(ids):
        small, large = (ids.cast(t, strict=False) for t in (pl.Int64, pl.UInt64))
        words = small.fill_null(0).to_numpy().view(np.uint64)
        return np.where(small.is_null().to_numpy(), large.fill_null(0).to_numpy(), words)
    if kind == "object":
        return pl.Series([repr(value) for value in ids.to_list()]).hash().to_numpy()
    written = ids.cast(pl.String) if kind in ("text", "integer") else ids
    return written.hash().to_numpy()


def _sums(rows: Grouped, items: Pieces, key: Pieces | None, salt: Words) -> Words:
    items = items.map(lambda part: part.view(np.uint64))
    sums = np.zeros(len(rows.start), np.uint64)
    if repay(len(items)):
        _fold(rows, items, key, sums)
        return _finished(sums, salt)
    lists, where = rows.expand()
    worth = where - rows.start[lists] if key is None else key.whole[where].astype(np.float64)
    x = items.whole[where] * HASH + worth.view(np.uint64)
    x = (x ^ (x >> np.uint64(32))) * _MIX
    x ^= x >> np.uint64(32)
    some = np.flatnonzero(rows.length)
    if len(some):
        sums[some] = np.add.reduceat(x, (np.cumsum(rows.length) - rows.length)[some])
    return _finished(sums, salt)


def _finished(sums: Words, salt: Words) -> Words:
    x = (sums ^ salt) * HASH
    return x ^ (x >> np.uint64(29))


def _fold(rows: Grouped, items: Pieces, key: Pieces | None, sums: Words) -> None:
    fold = kernel(_fold_kernel)
    nothing = np.zeros(0, np.float32)

    def work(stretch: Stretch, first: int, last: int) -> None:
        own = [*stretch.columns, nothing][:2]
        arrays = map(frozen, (*stretch[:3], *own))
        fold(first, last, *arrays, key is not None, sums)

    share(stretches(rows, [items] if key is None else [items, key]), work)


def _fold_kernel(first, last, numbers, start, length, items, key, keyed, sums):  # type: ignore[no-untyped-def]
    """Mix the rows of each list into 64 bits, whatever their order."""
    for n in range(first, last):
        mine = items[start[n] : start[n] + length[n]]
        total = np.uint64(0)
        if keyed:
            bits = key[start[n] : start[n] + length[n]].astype(np.float64).view(np.uint64)
            for j in range(mine.shape[0]):
                x = mine[j] * HASH + bits[j]
                x = (x ^ (x >> np.uint64(32))) * _MIX
                total += x ^ (x >> np.uint64(32))
        else:
            for j in range(mine.shape[0]):
                x = mine[j] * HASH + np.uint64(j)
                x = (x ^ (x >> np.uint64(32))) * _MIX
                total += x ^ (x >> np.uint64(32))
        sums[numbers[n]] = total

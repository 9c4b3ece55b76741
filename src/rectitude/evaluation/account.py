"""What an evaluation says of its inputs: the ledger counts who was there, who was missing, what was
short or empty; the manifest holds where inputs came from, with a fingerprint of what they hold.

Fingerprints tell whether two evaluations saw the same truth or the same predictions, in whatever
file or frame. Each row is mixed into 64 bits, and rows of a list, then lists, are added up. Integer
ids enter by their value. Text enters by its Polars hash, which may change between releases, so that
the release is part of the fingerprint: fingerprints that begin differently say nothing about each
other.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude._version import __version__
from rectitude.arrays import Flags, Grouped, Pieces, distinct_codes
from rectitude.data.ids import has_128_bits, kind_of, lookalikes
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.table import Table
from rectitude.data.values import pieces
from rectitude.errors import BadIds, NothingToEvaluate
from rectitude.judge.align import Aligned
from rectitude.judge.dense import recorded
from rectitude.judge.judge import Verdict
from rectitude.judge.judged import Judged
from rectitude.judge.match import Stretch, share, stretches
from rectitude.kernels import HASH, frozen, kernel, repay
from rectitude.parallel import Task
from rectitude.profiles import Profile

_PYTHON = platform.python_version()


def account(sides: Aligned, judged: Judged, deepest: int | None, ledger: Ledger) -> None:
    """Count users, lists and items on both sides, and name the columns that were used."""
    dense = sides.sources.dense
    ledger.note("predictions", dense.source if dense else _columns(sides.sources.predictions))
    ledger.note("truth", _columns(sides.sources.truth))
    told, handed, returned = judged.in_truth, judged.handed, judged.returned
    if not (told & handed).any() and sides.sources.left == "all":
        raise _strangers(sides, told, handed)
    if not len(judged.list):
        _no_match(sides, ledger)

    def count(name: str, flags: Flags, about: str, of: Flags, weight: Weight = "fact") -> None:
        first = sides.label(np.flatnonzero(flags)[0]) if flags.any() else ""
        ledger.count(name, int(flags.sum()), about, int(of.sum()), first, weight)

    who = _who(sides)
    ledger.count("users_in_truth", int(told.sum()), who)
    ledger.count("users_with_list", int((told & handed).sum()), f"{who} have predictions")
    count("users_without_list", told & ~handed, f"{who} have no predictions", told, "warning")
    nothing = told & (judged.relevant == 0)
    count("users_without_relevant", nothing, f"{who} have no relevant item", told, "notice")
    count("lists_not_in_truth", handed & ~told, "lists have no truth", handed, "notice")
    count("lists_empty", handed & (returned == 0), "lists are empty", handed, "warning")
    if sides.listless is not None and len(sides.listless):
        about = "users in the truth have no list to be evaluated by: not counted"
        first = repr(sides.listless[0])
        ledger.count("users_without_any_list", len(sides.listless), about, None, first, "warning")
    if sides.absent:
        about = "users to be evaluated are in neither predictions nor truth"
        ledger.count("users_absent", sides.absent, about, weight="warning")
    if sides.sources.weights is not None:
        ledger.note("weights", _columns(sides.sources.weights))
    if sides.left_out:
        about = "lists belong to users who are not to be evaluated: left out"
        ledger.count("lists_left_out", sides.left_out, about, weight="notice")
    _unknown_items(sides, ledger)
    if deepest is not None:
        short = handed & (returned > 0) & (returned < deepest)
        count("lists_short", short, f"lists are shorter than {deepest}", handed, "notice")


def _unknown_items(sides: Aligned, ledger: Ledger) -> None:
    """Count what is predicted of items that nobody knows."""
    if sides.foreign is None:
        ledger.note("unknown users and items", "not counted: no train or items given")
        return
    dense = sides.sources.dense
    what = "recommended items are" if dense is None else "scores are of items"
    times = 1 if dense is None else dense.rows
    rows = len(sides.items.codes["predictions"]) * times
    about = f"{what} not in {sides.catalogue}"
    ledger.count("recommended_unknown", sides.foreign * times, about, rows, weight="notice")


def _who(sides: Aligned) -> str:
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        return "targets"
    return "users in the truth" if sides.by_user else "lists in the truth"


def _columns(table: Table) -> str:
    used = [f"{role} = {name!r}" if name else role for role, name in table.columns.items()]
    return f"{table.source} ({', '.join(used)})"


def _strangers(sides: Aligned, told: Flags, handed: Flags) -> NothingToEvaluate:
    theirs = sides.label(np.flatnonzero(handed)[0]) if handed.any() else "none"
    ours = sides.label(np.flatnonzero(told)[0]) if told.any() else "none"
    alike = lookalikes(sides.keys.filter(handed), sides.keys.filter(told))
    cause = f"; some differ only by {alike}" if alike else ""
    return NothingToEvaluate(
        f"no user is common to the predictions ({int(handed.sum())} users, first: {theirs}) "
        f"and the truth ({int(told.sum())} users, first: {ours}){cause}.",
        "lists for at least one user of the truth.",
        "check that both files use the same ids and the right columns.",
    )


def _no_match(sides: Aligned, ledger: Ledger) -> None:
    """Not one recommended item is in the truth of its list: say so, and why if it shows."""
    theirs, ours = sides.items.columns["predictions"], sides.items.columns["truth"]
    some = sides.sources.left == "some"  # of lists that were looked at when they came
    examples = "" if some else f"predictions {theirs[0]!r}, truth {ours[0]!r}"
    alike = "" if some or _share_ids(sides) else lookalikes(theirs, ours)
    if alike:
        raise BadIds(
            f"no item of the predictions is in the truth, and some differ only by {alike} "
            f"(first: {examples}).",
            "the same ids on both sides.",
            "clean the item ids of one side.",
        )
    about = "evaluation without any hit: no recommended item is in the truth of its list"
    ledger.count("without_any_hit", 1, about, None, examples, "warning")


def _share_ids(sides: Aligned) -> bool:
    theirs, ours = (distinct_codes(sides.items.codes[side]) for side in ("predictions", "truth"))
    return bool(np.isin(ours, theirs).any())


def account_for_attributes(verdicts: Iterable[Verdict], ledger: Ledger) -> None:
    """Count the items and users without a value of the attributes that metrics looked at."""
    for known in (verdict.judged.extras for verdict in verdicts):
        if known.stock is not None:
            known.stock.attributes.account(ledger, known.stock.ids)
        if known.people is not None:
            known.people.attributes.account(ledger, known.people.ids, known.owner)


COUNTED = ("unseen", "met", "stock", "wanted", "people", "predicted", "scored")
"""What lists are judged anew for, as it costs time that most metrics need not spend."""
OWN = ("predicted", "scored")
"""What changes how lists are read, so that nothing is shared with metrics that need it."""


def manifest_of(sides: Aligned, profile: Profile, prints: Mapping[str, str]) -> dict[str, Any]:
    """The tables with their rows, columns and fingerprints, the profile, and the versions."""
    inputs: dict[str, dict[str, Any]] = {
        side: {"source": table.source, "rows": table.frame.height, "columns": dict(table.columns)}
        for side, table in sides.sources.given().items()
    }
    for side, table in sides.sources.given().items():
        inputs[side] |= {"format": table.recognised} if table.recognised else {}
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        inputs["predictions"]["classes"] = dense.columns
    if sides.sources.offered is not None:
        inputs["candidates"] = {**sides.sources.offered}
    for side, mark in prints.items():
        inputs[side]["fingerprint"] = mark
    return {
        "rectitude": __version__,
        "profile": profile.label,
        "profile_versions": list(profile.versions),
        "inputs": inputs,
        "lists": len(sides.keys),
        "python": _PYTHON,
        "numpy": np.__version__,
        "polars": pl.__version__,
    }


_JUDGED = ("predictions", "truth")


Words = NDArray[np.uint64]
_MIX = np.uint64(0xD6E8FEB86659FD93)


def identify(aligned: Aligned, prints: dict[str, str]) -> list[Task]:
    """Tasks that write down the fingerprints of predictions and truth."""

    def write(side: str) -> None:
        prints[side] = content_fingerprint(aligned, side)

    return [partial(write, side) for side in ("predictions", "truth")]


def content_fingerprint(sides: Aligned, side: str) -> str:
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

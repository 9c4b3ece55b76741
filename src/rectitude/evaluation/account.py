"""What an evaluation reports about its inputs.

The ledger counts users and lists: how many there are, how many are missing, short or empty. The
manifest says where inputs came from, with a fingerprint of their content.

Fingerprints show whether two evaluations used the same truth or the same predictions, in any file
or frame. Each row is hashed to 64 bits; the rows of a list, and then the lists, are added up.
Integer ids are hashed by value. Text is hashed by Polars, whose hash may change between releases,
so the release is part of the fingerprint: fingerprints that begin differently cannot be compared.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude._version import __version__
from rectitude.arrays import Flags, Grouped, Integers, Pieces, add_counts, distinct_codes
from rectitude.data.columns import quote_names
from rectitude.data.ids import (
    Column,
    has_128_bits,
    kind_of,
    lookalikes,
    occurs_in,
    smallest,
    whole_numbers,
)
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.subtopics import COLUMN as SUBTOPICS
from rectitude.data.table import Table
from rectitude.data.values import pieces
from rectitude.errors import BadGrades, BadIds, NothingToEvaluate
from rectitude.evaluation.swapped import are_ranked
from rectitude.judge.align import Aligned
from rectitude.judge.dense import apply_recorded_order
from rectitude.judge.judge import Verdict
from rectitude.judge.judged import Judged, is_relevant
from rectitude.judge.match import Stretch, share, stretches
from rectitude.judge.seen import account_for_seen
from rectitude.judge.truth import LOW_GRADES
from rectitude.kernels import HASH, freeze, kernel, should_compile
from rectitude.metrics.registry import RELEVANCE_LAWS, Metric
from rectitude.parallel import Task
from rectitude.profiles import PROFILES, Asked, Profile

_PYTHON = platform.python_version()
_FEW_LISTS = 10
_SHORTEST_TOP = 5
"""The fewest items of a top-k list that a truth would hardly have for nearly every user."""
_MOST = 0.9


def account(sides: Aligned, judged: Judged, deepest: int | None, ledger: Ledger) -> None:
    """Count users, lists and items of predictions and truth, and record the columns that were
    used."""
    dense = sides.sources.dense
    predictions, truth = sides.sources.predictions, sides.sources.truth
    ledger.note("predictions", dense.source if dense else _describe_columns(sides, predictions))
    ledger.note("truth", _describe_columns(sides, truth))
    in_truth, handed, returned = judged.in_truth, judged.handed, judged.returned
    left, has_truth = sides.sources.left, bool(sides.judgements.length.any())
    if not (in_truth & handed).any() and (left == "all" or (left == "batch" and has_truth)):
        raise _no_common_user(sides, in_truth, handed)
    if not len(judged.list) and left != "part":
        _account_for_no_match(sides, ledger)

    def count(name: str, flags: Flags, about: str, of: Flags, weight: Weight = "fact") -> None:
        first = sides.first_label(np.flatnonzero(flags))
        ledger.count(name, int(flags.sum()), about, int(of.sum()), first, weight)

    who = _name_lists(sides)
    ledger.count("users_in_truth", int(in_truth.sum()), who)
    ledger.count("users_with_list", int((in_truth & handed).sum()), f"{who} have predictions")
    count(
        "users_without_list", in_truth & ~handed, f"{who} have no predictions", in_truth, "warning"
    )
    without_relevant = in_truth & (judged.relevant == 0)
    count(
        "users_without_relevant",
        without_relevant,
        f"{who} have no relevant item",
        in_truth,
        "notice",
    )
    _count_empty_truth(sides, who, ledger)
    _count_ungraded(truth, ledger)
    count("lists_not_in_truth", handed & ~in_truth, "lists have no truth", handed, "notice")
    count("lists_empty", handed & (returned == 0), "lists are empty", handed, "warning")
    _count_left_out(sides, ledger)
    _count_unknown_items(sides, ledger)
    if dense is None and left != "part":
        suspect_swap(lengths_of(sides, judged), sides.sources.predictions, deepest, ledger)
    if sides.seen is not None and dense is None:
        account_for_seen(sides, sides.seen, ledger)
    if deepest is not None:
        short = handed & (returned > 0) & (returned < deepest)
        count("lists_short", short, f"lists are shorter than {deepest}", handed, "notice")


class Lengths(NamedTuple):
    """How many lists have each length, from 0, in the truth and in the predictions."""

    truth: Integers
    predictions: Integers

    def plus(self, other: Lengths) -> Lengths:
        """Return the counts of both."""
        return Lengths(*(add_counts(*pair) for pair in zip(self, other, strict=True)))


def lengths_of(sides: Aligned, judged: Judged) -> Lengths:
    """Count the lengths of lists in the truth and in the predictions."""
    return Lengths(
        np.bincount(sides.judgements.length[judged.in_truth]),
        np.bincount(sides.lists.length[judged.handed]),
    )


def suspect_swap(lengths: Lengths, predictions: Table, deepest: int | None, ledger: Ledger) -> None:
    """Warn if the truth has the lengths of ranked lists, and the predictions those of a truth.

    Users rarely have the same number of items in a truth, at least 5, but nearly always in top-k
    lists. Predictions that are shorter are then the truth, more likely than not, unless nearly all
    have the same length as well and no metric looks deeper: those are top-n lists for metrics @n.
    """
    if min(lengths.truth.sum(), lengths.predictions.sum()) < _FEW_LISTS:
        return
    size, many, lists = _find_usual_length(lengths.truth)
    shorter = lengths.predictions[:size].sum() / lengths.predictions.sum()
    if size < _SHORTEST_TOP or many < _MOST * lists or shorter <= 1 / 2:
        return
    length, same, returned = _find_usual_length(lengths.predictions)
    fits = same >= _MOST * returned and deepest is not None and deepest <= length
    if not fits and not are_ranked(predictions):
        about = (
            f"lists in the truth have exactly {size} items, as ranked lists do, and most"
            " predictions have fewer: are the two swapped? (predictions come first)"
        )
        ledger.count("truth_like_lists", many, about, lists, weight="warning")


def _find_usual_length(counts: Integers) -> tuple[int, int, int]:
    """Return the most frequent length, how many lists have it, and how many lists there are."""
    return int(counts.argmax()), int(counts.max()), int(counts.sum())


def _count_empty_truth(sides: Aligned, who: str, ledger: Ledger) -> None:
    """Count the users whose truth is an empty list, as in {"ann": []}; no row mentions them."""
    table, users = sides.sources.truth, sides.sources.users
    if table.handed is None or "list" not in table.frame.columns:
        return
    keys = table.handed
    if users is not None and sides.by_user:
        keys = keys.filter(_occur_in(keys, users, table))
    empty = keys.filter(~_occur_in(keys, table, table))
    numbers = whole_numbers(empty) if table.text and sides.keys.dtype.is_integer() else None
    first = repr(next(iter(empty if numbers is None else numbers), None))
    about = f"{who} have no items: there is nothing to find"
    ledger.count("truth_empty", len(empty), about, len(keys), first, "notice")


def _occur_in(keys: pl.Series, table: Table, source: Table) -> Flags:
    """Return which keys of one table occur as list keys in another."""
    return occurs_in(Column(keys, source.source, source.text), Column.of(table, "list"), "user")


def _count_left_out(sides: Aligned, ledger: Ledger) -> None:
    """Count the users and lists that are not evaluated, and record the training targets of logits
    and the column of weights."""
    if sides.listless is not None and len(sides.listless):
        about = "users in the truth have no list at all: not counted"
        first = repr(sides.listless[0])
        ledger.count("users_without_any_list", len(sides.listless), about, None, first, "warning")
    if sides.absent:
        about = "users of users= have neither a list nor truth: not evaluated"
        users = sides.sources.users
        has_attributes = users is not None and users.frame.width > 1
        weight: Weight = "fact" if has_attributes else "notice"
        ledger.count("users_absent", sides.absent, about, weight=weight)
    if sides.sources.train_targets is not None:
        rows = sides.sources.train_targets.frame.height
        ledger.note("train", f"{rows:,} training targets, for slices only: nothing is masked")
    if sides.sources.weights is not None:
        ledger.note("weights", _describe_columns(sides, sides.sources.weights))
    if sides.left_out:
        about = "lists belong to users who are not evaluated: left out"
        ledger.count("lists_left_out", sides.left_out, about, weight="notice")


def _count_unknown_items(sides: Aligned, ledger: Ledger) -> None:
    """Count the predictions for items that are not in the training data or the catalogue."""
    if sides.foreign is None:
        ledger.note(
            "unknown users and items", "not checked, because neither train= nor items= is given"
        )
        return
    dense = sides.sources.dense
    what = "recommended items are" if dense is None else "scores are for items"
    per_item = 1 if dense is None else dense.rows
    rows = len(sides.items.codes["predictions"]) * per_item
    about = f"{what} not in {sides.catalogue}"
    ledger.count("recommended_unknown", sides.foreign, about, rows, weight="notice")


def _name_lists(sides: Aligned) -> str:
    if _has_targets(sides):
        return "targets"
    return "users in the truth" if sides.by_user else "lists in the truth"


def _has_targets(sides: Aligned) -> bool:
    return sides.sources.dense is not None and sides.sources.dense.kind == "logits"


def _describe_columns(sides: Aligned, table: Table) -> str:
    words = {"list": "user"} if sides.by_user and not _has_targets(sides) else {}
    roles = {words.get(role, role): name for role, name in table.columns.items()}
    used = [f"{role} = {name!r}" if name else role for role, name in roles.items()]
    return f"{table.source} ({', '.join(used)})"


def _no_common_user(sides: Aligned, in_truth: Flags, handed: Flags) -> NothingToEvaluate:
    predicted = sides.label(np.flatnonzero(handed)[0]) if handed.any() else "none"
    wanted = sides.label(np.flatnonzero(in_truth)[0]) if in_truth.any() else "none"
    if not (handed.any() or in_truth.any()):
        return NothingToEvaluate(
            "no user is left to evaluate: the convention drops all users of the truth.",
            "at least one user of the truth who is known and has predictions.",
            "check unknown_users and unknown_items of the convention, and the ids in train=.",
        )
    difference = lookalikes(sides.keys.filter(handed), sides.keys.filter(in_truth))
    cause = f"; some differ only by {difference}" if difference else ""
    return NothingToEvaluate(
        f"no user is in both the predictions ({int(handed.sum())} users, first: {predicted}) and "
        f"the truth ({int(in_truth.sum())} users, first: {wanted}){cause}.",
        "predictions for at least one user of the truth.",
        "check that both use the same ids and that the right columns were read.",
    )


def _account_for_no_match(sides: Aligned, ledger: Ledger) -> None:
    """Report that no recommended item is in the truth of its list."""
    predicted, wanted = sides.items.columns["predictions"], sides.items.columns["truth"]
    lists = count_judgeable(sides)
    if sides.sources.left == "some":  # of lists that were checked when they arrived
        _warn_of_no_match(lists, "", ledger)
    elif len(predicted) and len(wanted):  # not a batch without lists or truth
        report_no_match(predicted, wanted, _share_ids(sides), lists, ledger)


def count_judgeable(sides: Aligned) -> int:
    """Count the lists that have predictions and truth."""
    return int((sides.handed & (sides.judgements.length > 0)).sum())


def report_no_match(
    predicted: pl.Series, wanted: pl.Series, shared: bool, lists: int, ledger: Ledger
) -> None:
    """Warn that no recommended item is in the truth of its list, or raise an error if the ids look
    alike but differ. `shared` says whether the item ids of both have any in common."""
    difference = "" if shared else lookalikes(predicted, wanted)
    examples = f"predictions {smallest(predicted)!r}, truth {smallest(wanted)!r}"
    if difference:
        raise BadIds(
            f"no item of the predictions is in the truth, and some differ only by {difference} "
            f"(first: {examples}).",
            "the same ids in both.",
            "clean the item ids of predictions or truth.",
        )
    _warn_of_no_match(lists, "" if shared else examples, ledger)


def _warn_of_no_match(lists: int, examples: str, ledger: Ledger) -> None:
    asks = ": do both tables use the same item ids?" if examples else ""
    about = f"lists contain no item of their truth{asks}"
    ledger.count("without_any_hit", lists, about, lists, examples, "warning")


def _share_ids(sides: Aligned) -> bool:
    predicted, wanted = (
        distinct_codes(sides.items.codes[side]) for side in ("predictions", "truth")
    )
    return bool(np.isin(wanted, predicted).any())


def _count_ungraded(truth: Table, ledger: Ledger) -> None:
    """Say that a truth without grades has numbers that were not used."""
    if truth.unclear:
        about = (
            f"truth rows have no grade; {_unused(truth)} not used: if it holds grades, name it with"
            f" {_naming(truth)}"
        )
        ledger.count("truth_ungraded", truth.frame.height, about, weight="notice")


def require_grades(asked: Iterable[Asked], profile: Profile, truth: Table) -> None:
    """Raise an error if the caller set how grades count, and a truth without grades has numbers
    that may be grades."""
    by_grade = [request for request in asked if _counts_grades(request, profile)]
    if not truth.unclear or not by_grade:
        return
    convention = by_grade[0].convention
    switch = "gain" if convention.gain != "binary" else "relevant_from"
    raise BadGrades(
        f"{switch}={getattr(convention, switch)!r} is set for {str(by_grade[0].name)!r}, but no"
        f" column of the truth ({truth.source}) was recognised as grade; {_unused(truth)} not"
        " used.",
        "a truth with grades.",
        f"name the column of the grades: {_naming(truth)}. If there are no grades, leave out"
        f" {switch}=.",
    )


def _counts_grades(asked: Asked, profile: Profile) -> bool:
    """Return whether the caller, and not only the profile, says how grades count in a metric."""
    said = {*profile.changes, *(("gain", "relevant_from") if asked.name.variants else ())}
    by_gain = "gain" in said and "gain" in asked.metric.obeys and asked.convention.gain != "binary"
    return by_gain or ("relevant_from" in said and asked.convention.relevant_from is not None)


def _unused(truth: Table) -> str:
    several = len(truth.unclear) > 1
    return f"{quote_names(truth.unclear)} {'were' if several else 'was'}"


def _naming(truth: Table) -> str:
    name = truth.unclear[0]
    return f"columns={{'grade': {name!r}}} or --columns grade={name}"


def account_for_attributes(verdicts: Iterable[Verdict], ledger: Ledger) -> None:
    """Count the items and users that lack an attribute that a metric needs."""
    for extras in (verdict.judged.extras for verdict in verdicts):
        if extras.stock is not None:
            extras.stock.attributes.account(ledger, extras.stock.ids)
        if extras.people is not None:
            extras.people.attributes.account(ledger, extras.people.ids, extras.owner)


def account_for_grades(asked: Sequence[Asked], manifest: Mapping[str, Any], ledger: Ledger) -> None:
    """Say that differences between grades are ignored, if all grades count as relevant and a metric
    only asks whether an item is relevant; and that low grades are not relevant by default."""
    _account_for_low_grades(asked, ledger)
    low, high = range_of_grades(manifest) or (0.0, 0.0)
    binary = [request for request in asked if _ignores_grades(request, low)]
    if low == high or not binary or "truth_rows" not in ledger:  # slices have no ledger
        return
    by_gain = [str(request.name) for request in binary if "gain" in request.metric.obeys]
    profile = str(manifest.get("profile", "default")).partition(",")[0]
    start = {"profile": profile} if profile != "default" and profile in PROFILES else {}
    most = min(high, math.ceil(high - (high - low) / 4))
    threshold = int(most) if most == int(most) else most
    linear = {**start, "gain": "linear"}
    gain = f", {linear} weights items by grade in {by_gain[0]}" if by_gain else ""
    ledger.count(
        "truth_graded", ledger["truth_rows"],
        f"truth rows have grades from {low:g} to {high:g}, and all of them count as relevant: "
        f"convention={ {**start, 'relevant_from': threshold} } counts only high grades{gain} "
        f"(command line: --convention {''.join(f'{name} ' for name in start.values())}"
        f"relevant_from={threshold})", weight="notice",
    )  # fmt: skip


def _account_for_low_grades(asked: Sequence[Asked], ledger: Ledger) -> None:
    by_default = [
        request
        for request in asked
        if _uses_relevance(request.metric) and request.convention.relevant_from is None
    ]
    if by_default and "truth_low_grades" in ledger:
        entry = ledger.entries["truth_low_grades"]
        about = (
            f"{LOW_GRADES}: they do not count as relevant; convention={{'relevant_from': 'any'}} "
            "counts every row (command line: --convention relevant_from=any)"
        )
        ledger.count(entry.name, entry.count, about, entry.of, entry.example, "notice")


def range_of_grades(manifest: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the lowest and highest grade of the truth; None if it has no grades."""
    low, high = manifest.get("inputs", {}).get("truth", {}).get("grades", (None, None))
    return None if low is None or high is None else (low, high)


def _ignores_grades(asked: Asked, lowest: float) -> bool:
    """Return whether a metric treats all items with at least this grade alike."""
    metric, convention = asked.metric, asked.convention
    binary = convention.gain == "binary" or "gain" not in metric.obeys
    return (
        _uses_relevance(metric)
        and binary
        and bool(is_relevant(np.array(lowest), convention.relevant_from))
    )


def _uses_relevance(metric: Metric) -> bool:
    return metric.kind != "counts" and not {*RELEVANCE_LAWS} <= {*metric.breaks}


def manifest_of(sides: Aligned, profile: Profile, prints: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables with their rows, columns and fingerprints, the profile, and the
    versions."""
    inputs: dict[str, dict[str, Any]] = {
        side: {"source": table.source, "rows": table.frame.height, "columns": dict(table.columns)}
        for side, table in sides.sources.tables().items()
    }
    for side, table in sides.sources.tables().items():
        inputs[side] |= {"format": table.recognised} if table.recognised else {}
    dense, truth = sides.sources.dense, sides.sources.truth.frame
    if "grade" in truth.columns and truth.height:
        grades = truth["grade"].cast(float)
        inputs["truth"]["grades"] = [grades.min(), grades.max()]
    if dense is not None and dense.kind == "logits":
        inputs["predictions"]["classes"] = dense.columns
    if sides.sources.offered is not None:
        inputs["candidates"] = {**sides.sources.offered}
    for side, mark in prints.items():
        inputs[side]["fingerprint"] = mark
    counted_by = None if dense is None else dense.counted_by
    return {
        "rectitude": __version__,
        "profile": profile.label,
        "profile_versions": list(profile.versions),
        "inputs": inputs,
        "lists": len(sides.keys),
        "python": _PYTHON,
        "numpy": np.__version__,
        "polars": pl.__version__,
        **({} if counted_by is None else {"kernels": counted_by}),
    }


Words = NDArray[np.uint64]
MIX = np.uint64(0xD6E8FEB86659FD93)


def identify(aligned: Aligned, prints: dict[str, str]) -> list[Task]:
    """Return tasks that compute the fingerprints of predictions and truth."""

    def write(side: str) -> None:
        prints[side] = content_fingerprint(aligned, side)

    return [partial(write, side) for side in ("predictions", "truth")]


def content_fingerprint(sides: Aligned, side: str) -> str:
    """Return the fingerprint of the predictions or of the truth."""
    if side == "predictions" and sides.sources.dense is not None:
        return _hash_ranks(sides)
    frame = getattr(sides.sources, side).frame
    value = next((c for c in ("rank", "score", "grade") if c in frame.columns), None)
    ids = sides.items.columns[side]  # in the type in which they were matched
    hashes = None if sides.items.names is None else Pieces(_hash_ids(ids))
    if side == "predictions":
        rows = sides.lists
        items = sides.column("item") if hashes is None else rows.take(hashes)
        key = None if value is None else sides.column(value)
    else:
        rows = sides.judgements
        items = rows.take(hashes or sides.items.codes[side])
        key = rows.take(pieces(frame[value]) if value else Pieces(np.zeros(frame.height)))
    sums = _hash_lists(rows, items, key, _hash_keys(sides))
    key_scheme = {"rows"} if _has_no_keys(sides) else {_scheme(sides.keys)}
    scheme = {_scheme(ids), *key_scheme}
    mixed = int(np.sum(sums[rows.length > 0], dtype=np.uint64))
    if SUBTOPICS in frame.columns:
        scheme |= {f"polars{pl.__version__}"}
        hashed = frame.select("list", "item", pl.col(SUBTOPICS).list.eval(pl.element().hash()))
        mixed = (mixed + int(hashed.hash_rows().sum())) % 2**64
    return f"{'+'.join(sorted(scheme - {''}))}:{mixed:016x}"


def _hash_ranks(sides: Aligned) -> str:
    """Return a fingerprint of dense scores by the ranks of the items in the truth."""
    reading = next(iter(sides.readings.values()))
    if sides.sources.recorded is not None:
        reading = apply_recorded_order(reading, sides.sources.recorded)
    salt = _hash_keys(sides)[reading.list] + np.uint64(1) * reading.column.view(np.uint64)
    x = (salt * HASH) ^ reading.above.view(np.uint64)
    x = (x ^ (x >> np.uint64(32))) * MIX + reading.tied.view(np.uint64)
    x = (x ^ (x >> np.uint64(32))) * MIX
    depth = sides.sources.dense.depth if sides.sources.dense else None
    return f"ranks{'' if depth is None else depth}:{int(np.sum(x, dtype=np.uint64)):016x}"


def _has_no_keys(sides: Aligned) -> bool:
    """Return whether rows are identified only by their numbers, which start again in every
    batch."""
    return sides.sources.dense is not None and not sides.sources.dense.named


def _hash_keys(sides: Aligned) -> Words:
    """Return 64 bits for the key of each list; 0 if it has none."""
    return np.zeros(len(sides.keys), np.uint64) if _has_no_keys(sides) else _hash_ids(sides.keys)


def _scheme(ids: pl.Series) -> str:
    """Return how ids are hashed; an empty text if there are none, as in a part of some tables."""
    if ids.is_empty():
        return ""
    return "int" if _fits_64_bits(ids) else f"polars{pl.__version__}"


def _fits_64_bits(ids: pl.Series) -> bool:
    low, high = (ids.min(), ids.max()) if has_128_bits(ids) and len(ids) else (0, 0)
    return kind_of(ids) == "integer" and bool(low >= -(2**63) and high < 2**64)  # type: ignore[operator]


def _hash_ids(ids: pl.Series) -> Words:
    """Return 64 bits for each id, the same in every table."""
    kind = kind_of(ids)
    if ids.dtype == pl.Int64 and not ids.null_count():
        whole: Words = ids.to_numpy().view(np.uint64)
        return whole
    if _fits_64_bits(ids):
        small, large = (ids.cast(t, strict=False) for t in (pl.Int64, pl.UInt64))
        bits = small.fill_null(0).to_numpy().view(np.uint64)
        return np.where(small.is_null().to_numpy(), large.fill_null(0).to_numpy(), bits)
    if kind == "object":
        return pl.Series([repr(value) for value in ids.to_list()]).hash().to_numpy()
    text = ids.cast(pl.String) if kind in ("text", "integer") else ids
    return text.hash().to_numpy()


def _hash_lists(rows: Grouped, items: Pieces, key: Pieces | None, salt: Words) -> Words:
    items = items.map(lambda piece: piece.view(np.uint64))
    sums = np.zeros(len(rows.start), np.uint64)
    if should_compile(len(items)):
        _hash_in_kernel(rows, items, key, sums)
        return _finish_hash(sums, salt)
    list_items, values = _values_of(rows, items, key)
    x = list_items * HASH + values
    x = (x ^ (x >> np.uint64(32))) * MIX
    x ^= x >> np.uint64(32)
    nonempty = np.flatnonzero(rows.length)
    if len(nonempty):
        sums[nonempty] = np.add.reduceat(x, (np.cumsum(rows.length) - rows.length)[nonempty])
    return _finish_hash(sums, salt)


def _values_of(rows: Grouped, items: Pieces, key: Pieces | None) -> tuple[Words, Words]:
    """Return the items of all lists, one list after the other, and their values or places."""
    if key is not None and rows.are_adjacent():
        size = int(rows.length.sum())
        return items.whole[:size], key.whole[:size].astype(np.float64, copy=False).view(np.uint64)
    lists, where = rows.expand()
    values = where - rows.start[lists] if key is None else key.whole[where].astype(np.float64)
    return items.whole[where], values.view(np.uint64)


def _finish_hash(sums: Words, salt: Words) -> Words:
    x = (sums ^ salt) * HASH
    return x ^ (x >> np.uint64(29))


def _hash_in_kernel(rows: Grouped, items: Pieces, key: Pieces | None, sums: Words) -> None:
    hash_rows = kernel(_hash_kernel)
    nothing = np.zeros(0, np.float32)

    def work(stretch: Stretch, first: int, last: int) -> None:
        columns = [*stretch.columns, nothing][:2]
        arrays = map(freeze, (*stretch[:3], *columns))
        hash_rows(first, last, *arrays, key is not None, sums)

    share(stretches(rows, [items] if key is None else [items, key]), work)


def _hash_kernel(first, last, numbers, start, length, items, key, keyed, sums):  # type: ignore[no-untyped-def]
    """Hash the rows of each list to 64 bits, independent of their order."""
    for n in range(first, last):
        list_items = items[start[n] : start[n] + length[n]]
        total = np.uint64(0)
        if keyed:
            bits = key[start[n] : start[n] + length[n]].astype(np.float64).view(np.uint64)
            for j in range(list_items.shape[0]):
                x = list_items[j] * HASH + bits[j]
                x = (x ^ (x >> np.uint64(32))) * MIX
                total += x ^ (x >> np.uint64(32))
        else:
            for j in range(list_items.shape[0]):
                x = list_items[j] * HASH + np.uint64(j)
                x = (x ^ (x >> np.uint64(32))) * MIX
                total += x ^ (x >> np.uint64(32))
        sums[numbers[n]] = total

"""Sampled candidates: the truth of each user, and sampled negatives.

Negatives are drawn for many users at once, weighted, with or without replacement. Each try uses a
random number that depends on the seed, the group and the number of the try; items that are not
allowed are skipped. This is the same as drawing one item after another from those that are left.
Groups that are still not complete after some rounds, because few items are left for them, draw from
an explicit list of all their items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct
from rectitude.candidate_sets.estimators import Replacement, warning
from rectitude.candidate_sets.sets import SplitParts, numbers_of, parts_of
from rectitude.candidate_sets.value import Candidates
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument
from rectitude.options import Option, options_of, require_option
from rectitude.preparing.draws import numbers
from rectitude.splits.split import Split

Per = Literal["user", "positive"]
Weight = Literal["uniform", "popularity"]
Known = Literal["by_split", "by_time", "ever"]
ROUNDS = 6
CELLS = 2_000_000
"""How many draws, or pairs of group and item, are processed at a time."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """How to draw negatives."""

    count: int
    per: Per = "user"
    """whether `count` negatives are drawn for each user, or for each of their positives"""
    weight: Weight = "uniform"
    exponent: float = 1.0
    """popularity is raised to this power: 0 is uniform, 0.75 is the choice of word2vec"""
    replacement: Replacement = "without"
    seen: Literal["excluded", "kept"] = "excluded"
    """whether negatives may be items that the user had before"""
    truth: Literal["excluded", "kept"] = "excluded"
    """whether negatives may be items of the user's truth"""
    known: Known = "by_split"
    """which items can be negatives: those that occur before the truth ("by_split"), those that
    occur before the user's first row of the truth ("by_time"), or all, including items that first
    occur in the truth ("ever")"""
    positives: Literal["included", "left_out"] = "included"
    users: Literal["truth", "all"] = "truth"
    short: Literal["error", "fewer"] = "error"
    """what to do if a user has fewer items left than are to be drawn"""
    counted: Literal["negatives", "candidates"] = "negatives"
    """whether `count` is the number of negatives, or of all candidates including the user's
    positives"""
    crowded: Literal["all", "drawn"] = "all"
    """which positives are used if candidates are counted and a user has `count` or more positives:
    all of them, or `count` drawn with replacement"""


def sample_negatives(split: Split, count: int = 100, *, items: object = None, seed: int = 0,
            **choices: Any) -> Candidates:  # fmt: skip
    """Draw negatives for each user of the truth or each of their positives; see `SamplingPlan`.

    The draws only depend on the seed and the ids, not on row order, file or machine.
    """
    plan = plan_of(count, choices)
    parts = parts_of(split, items)
    ledger = Ledger()
    urn = _fill_urn(split, parts, plan, ledger)
    groups = _limit_groups(_make_groups(parts, plan), urn, parts, plan, ledger)
    group, item = draw(urn, groups, seed, plan.replacement)
    pieces = [_rows(groups.owner[group], item, groups.positive[group])]
    if plan.positives == "included":
        pieces.append(_choose_positives(parts, plan, seed, ledger))
    ledger.note(
        "sampling", warning(plan.count, int((urn.weight > 0).sum()), weight=_actual_weight(plan))
    )
    frame = finish_rows(parts, pieces, linked=plan.per == "positive")
    _count_repeats(frame, plan, ledger)
    ledger.count("negatives", len(item), f"negatives for {len(groups.owner):,} {plan.per}s")
    left = urn.count_left(len(parts.users))[groups.owner]
    settings = {"kind": "sampled", **asdict(plan), "items_left": float(left.mean())}
    return Candidates(frame, frame["user"].unique().sort(), settings, seed, ledger)


def plan_of(count: int, choices: Mapping[str, Any]) -> SamplingPlan:
    """Return a valid plan; raise an error if settings are wrong or do not go together."""
    options = {"count": Option(int), **options_of(SamplingPlan)}
    for name, value in {"count": count, **choices}.items():
        require_option(name, value, options, "sampled candidates", word="setting")
    plan = SamplingPlan(count, **choices)
    if plan.count < 1:
        raise BadArgument(f"count is {plan.count}.", "a whole number of at least 1.")
    if plan.counted == "candidates" and (plan.per, plan.positives) != ("user", "included"):
        raise BadArgument(
            f"counted='candidates' was given with per={plan.per!r}, positives={plan.positives!r}.",
            "per='user' and positives='included', because candidates are counted per user.",
        )
    if not np.isfinite(plan.exponent) or plan.exponent < 0:
        raise BadArgument(f"exponent is {plan.exponent}.", "a number of at least 0; 0 is uniform.")
    return plan


def _actual_weight(plan: SamplingPlan) -> Weight:
    return plan.weight if plan.exponent else "uniform"


def _fill_urn(split: Split, parts: SplitParts, plan: SamplingPlan, ledger: Ledger) -> Urn:
    """Return the items that can be drawn, and the pairs that are excluded."""
    weight = np.zeros(len(parts.items))
    weight[parts.catalogue] = 1.0
    future = parts.future[weight[parts.future] > 0]
    left_out = plan.known != "ever"
    ledger.count(
        "future_items", len(future),
        "items occur in the truth but not in the training data and were "
        + ("not drawn" if left_out else "drawn like all others"),
        of=len(parts.catalogue), weight="notice" if left_out else "warning",
        example=f"item {parts.items[int(future[0])]!r}" if len(future) else "",
    )  # fmt: skip
    if left_out:
        weight[future] = 0.0
    if plan.weight == "popularity":
        weight *= parts.counts**plan.exponent
    excluded_pairs = [parts.train] if plan.seen == "excluded" else []
    excluded_pairs += [parts.truth] if plan.truth == "excluded" else []
    keys = [parts.keys(frame) for frame in excluded_pairs]
    first, moment = _find_times(split, parts) if plan.known == "by_time" else (None, None)
    excluded = distinct(np.concatenate([np.zeros(0, np.int64), *keys]))
    return Urn(weight, excluded, first, moment)


def _find_times(split: Split, parts: SplitParts) -> tuple[Integers, Integers]:
    """Return when each item first occurred, and when each user's truth begins."""
    for log in (*split.visible, split.truth):
        log.require("timestamp", "known='by_time'")
    earlier = pl.concat([log.frame.select("item", "timestamp") for log in split.visible])
    never = np.iinfo(np.int64).max
    first = _earliest(earlier, "item", parts.items, never)
    return first, _earliest(split.truth.frame, "user", parts.users, never)


def _earliest(frame: pl.DataFrame, key: str, known: pl.Series, never: int) -> Integers:
    ids = pl.col(key).cast(known.dtype)
    times = frame.select(ids, pl.col("timestamp")).group_by(key).agg(pl.col("timestamp").min())
    earliest = np.full(len(known), never)
    stamps = times["timestamp"]
    physical = stamps if stamps.dtype.is_numeric() else stamps.to_physical()
    earliest[numbers_of(times[key], known)] = _as_integers(physical)
    return earliest


def _as_integers(times: pl.Series) -> Integers:
    """Return times as integers in the same order, with fractions of seconds."""
    if times.dtype.is_float():
        return np.floor(times.to_numpy() * 1e6).astype(np.int64)
    return times.to_numpy().astype(np.int64)


def _make_groups(parts: SplitParts, plan: SamplingPlan) -> DrawGroups:
    if plan.per == "positive":
        owner, positive = (parts.truth[name].to_numpy() for name in ("user", "item"))
    else:
        users = parts.truth["user"].unique().sort().to_numpy()
        owner = np.arange(len(parts.users)) if plan.users == "all" else users
        positive = np.full(len(owner), -1)
    count = np.full(len(owner), plan.count)
    if plan.counted == "candidates":
        size = np.bincount(parts.truth["user"].to_numpy(), minlength=len(parts.users))
        count = np.maximum(count - size[owner], 0)
    return DrawGroups(owner, positive, count)


def _limit_groups(
    groups: DrawGroups, urn: Urn, parts: SplitParts, plan: SamplingPlan, ledger: Ledger
) -> DrawGroups:
    """Return groups whose counts are possible; raise an error if fewer than requested are."""
    drawable = int((urn.weight > 0).sum())
    needed = np.minimum(groups.count, 1) if plan.replacement == "with" else groups.count
    most = int(needed.max(initial=0))
    if drawable < most:
        raise BadArgument(
            f"{most:,} negatives were requested, but only {drawable:,} items of the catalogue can "
            "be drawn.",
            "at most as many negatives as items.",
            "lower the count, pass a larger catalogue with items=, or rank all items.",
        )
    left = urn.count_left(len(parts.users))[groups.owner]
    few = np.flatnonzero(left < needed)
    example = f"user {parts.users[int(groups.owner[few[0]])]!r}" if len(few) else ""
    if len(few) and plan.short == "error":
        raise BadArgument(
            f"{len(few):,} of {len(left):,} {plan.per}s have fewer than {most} items left to draw "
            f"(first: {example}, {left[few[0]]:,} items).",
            f"{plan.count} {plan.counted} for each.",
            "lower the count, or use short='fewer' to draw as many as there are.",
        )
    ledger.count(
        "short", len(few), f"{plan.per}s have fewer than {plan.count} negatives: no more are left",
        of=len(left), weight="warning", example=example,
    )  # fmt: skip
    limit = np.where(left > 0, groups.count, 0) if plan.replacement == "with" else left
    return DrawGroups(groups.owner, groups.positive, np.minimum(groups.count, limit))


def _choose_positives(
    parts: SplitParts, plan: SamplingPlan, seed: int, ledger: Ledger
) -> pl.DataFrame:
    """Return the pairs of the truth; a sample of them for users who have too many."""
    user, item = (parts.truth[name].to_numpy() for name in ("user", "item"))
    owner, size = np.unique(user, return_counts=True)
    many = size >= plan.count
    if plan.counted == "negatives" or plan.crowded == "all" or not many.any():
        return _rows(user, item, item)
    few = ~np.isin(user, owner[many])
    crowded = parts.truth.filter(~few)["item"].to_numpy()
    row = np.repeat(np.arange(int(many.sum())), plan.count)
    number = np.tile(np.arange(plan.count), int(many.sum()))
    drawn, sizes = owner[many][row], size[many]
    chance = numbers(seed, drawn, np.zeros_like(row), number)
    at = (np.cumsum(sizes) - sizes)[row] + (chance * sizes[row]).astype(np.int64)
    kept = distinct(drawn * len(parts.items) + crowded[at])
    about = f"users have {plan.count} or more positives and therefore no negatives"
    ledger.count("crowded", len(sizes), about, of=len(owner), weight="warning")
    about = f"positives of users with {plan.count} or more were not sampled"
    lost = len(crowded) - len(kept)
    ledger.count("positives_lost", lost, about, of=len(item), weight="warning")
    users, items = np.concatenate((user[few], drawn)), np.concatenate((item[few], crowded[at]))
    return _rows(users, items, items)


def _count_repeats(frame: pl.DataFrame, plan: SamplingPlan, ledger: Ledger) -> None:
    if plan.replacement == "with" or plan.crowded == "drawn":
        ledger.count(
            "repeated", frame.height - frame.n_unique(), "candidates are repeated and count once",
            of=frame.height, weight="warning",
        )  # fmt: skip


def _rows(user: Integers, item: Integers, positive: Integers) -> pl.DataFrame:
    return pl.DataFrame({"user": user, "item": item, "positive": positive})


def finish_rows(parts: SplitParts, pieces: list[pl.DataFrame], linked: bool) -> pl.DataFrame:
    """Return rows of numbers as sorted rows of ids."""
    columns = ["user", "positive", "item"] if linked else ["user", "item"]
    rows = pl.concat(pieces).select("user", "item", *columns[1:-1]).sort(columns)
    columns_of_ids = {
        "user": parts.users.gather(rows["user"]),
        **{name: parts.items.gather(rows[name]) for name in rows.columns if name != "user"},
    }
    return pl.DataFrame([ids.alias(name) for name, ids in columns_of_ids.items()])


@dataclass(frozen=True, slots=True)
class Urn:
    """The items that can be drawn, by number, and the users they are excluded for."""

    weight: Floats
    """(items) the relative probability of each item; 0 means never"""
    excluded: Integers
    """sorted and distinct: owner x items + item"""
    first: Integers | None = None
    """(items) when each item first occurred"""
    moment: Integers | None = None
    """(owners) only items that first occurred before this time can be drawn for the owner"""

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.weight)

    def allows(self, owner: Integers, item: Integers) -> Flags:
        """Return whether each item can be drawn for each owner."""
        excluded = is_among(self.excluded, owner * self.items + item)
        return ~excluded & (self.weight[item] > 0) & self.knows(owner, item)

    def knows(self, owner: Integers, item: Integers) -> Flags:
        """Return whether each item occurred before each owner's moment."""
        if self.first is None or self.moment is None:
            return np.ones(len(item), np.bool_)
        return self.first[item] < self.moment[owner]

    def count_left(self, owners: int) -> Integers:
        """Return (owners) how many items can be drawn for each."""
        drawable = self.weight > 0
        if self.first is None or self.moment is None:
            known = np.full(owners, drawable.sum())
        else:
            known = np.searchsorted(np.sort(self.first[drawable]), self.moment)
        owner, item = self.excluded // self.items, self.excluded % self.items
        lost = drawable[item] & self.knows(owner, item)
        left: Integers = known - np.bincount(owner[lost], minlength=owners)
        return left


@dataclass(frozen=True, slots=True)
class DrawGroups:
    """The groups that items are drawn for: users, or positives of users."""

    owner: Integers
    """(groups) the number of the user"""
    positive: Integers
    """(groups) the number of the positive, or -1"""
    count: Integers
    """(groups) how many items to draw"""


def draw(
    urn: Urn, groups: DrawGroups, seed: int, replacement: Replacement = "without"
) -> tuple[Integers, Integers]:
    """Return the group and the item of each draw, sorted. Every group must have enough items."""
    taken = np.zeros(0, np.int64)
    used = np.zeros(len(groups.owner), np.int64)
    for number in range(ROUNDS):
        missing = _count_missing(groups, taken, urn.items)
        if not missing.any():
            break
        tries = np.minimum((missing << (number + 1)) + 4, urn.items) * (missing > 0)
        drawn = _draw_round(urn, groups, seed, replacement, (taken, missing, used, tries))
        taken = np.sort(np.concatenate([taken, *drawn]))
        used += tries
    missing = _count_missing(groups, taken, urn.items)
    finish = _draw_exhaustively if replacement == "without" else _draw_with_replacement
    blocks = _split_groups(np.where(missing > 0, urn.items, 0))
    drawn = [finish(urn, groups, seed, block, missing, taken) for block in blocks]
    taken = np.sort(np.concatenate([taken, *drawn]))
    return taken // urn.items, taken % urn.items


def _draw_round(
    urn: Urn, groups: DrawGroups, seed: int, replacement: Replacement, so_far: tuple[Integers, ...]
) -> list[Integers]:
    """Return the next draws of all incomplete groups, block by block."""
    taken, missing, used, tries = so_far
    draws = []
    for block in _split_groups(tries):
        drawn = _try_draws(urn, groups, seed, block, used[block], tries[block])
        if replacement == "without":
            drawn = _drop_repeats(drawn, taken)
        draws.append(_limit_draws(drawn, missing, urn.items))
    return draws


def _count_missing(groups: DrawGroups, taken: Integers, items: int) -> Integers:
    missing: Integers = groups.count - np.bincount(taken // items, minlength=len(groups.count))
    return missing


def _try_draws(
    urn: Urn, groups: DrawGroups, seed: int, block: Integers, used: Integers, tries: Integers
) -> Integers:
    """Return the keys of the next draws of some groups, without items their owners cannot have."""
    group = np.repeat(block, tries)
    number = np.arange(len(group)) + np.repeat(used - np.cumsum(tries) + tries, tries)
    owner = groups.owner[group]
    chance = numbers(seed, owner, groups.positive[group] + 1, number)
    cumulated = np.cumsum(urn.weight)
    item = np.searchsorted(cumulated, chance * cumulated[-1], side="right")
    item = np.minimum(item, np.flatnonzero(urn.weight)[-1])
    key: Integers = group * urn.items + item
    return key[urn.allows(owner, item)]


def _drop_repeats(drawn: Integers, taken: Integers) -> Integers:
    """Return the distinct draws that were not taken before, in the order they were drawn."""
    first: Integers = drawn[pl.Series(drawn).is_first_distinct().to_numpy()]
    return first[~is_among(taken, first)]


def _limit_draws(drawn: Integers, missing: Integers, items: int) -> Integers:
    """Return the first draws of each group, as many as it misses; draws are sorted by group."""
    group = drawn // items
    position = np.arange(len(group)) - np.searchsorted(group, group)
    return drawn[position < missing[group]]


def _split_groups(size: Integers) -> list[Integers]:
    """Return the groups with a size above 0, in blocks that fit into memory."""
    groups = np.flatnonzero(size)
    block = np.cumsum(size[groups]) // CELLS
    return np.split(groups, np.flatnonzero(np.diff(block)) + 1) if len(groups) else []


def _make_grid(urn: Urn, groups: DrawGroups, block: Integers) -> tuple[Integers, Integers, Flags]:
    """Return every pair of some groups and all items, and whether it is allowed."""
    group, item = np.repeat(block, urn.items), np.tile(np.arange(urn.items), len(block))
    return group, item, urn.allows(groups.owner[group], item)


def _draw_exhaustively(
    urn: Urn, groups: DrawGroups, seed: int, block: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draw without replacement from all items left: those with the shortest exponential times."""
    group, item, allowed = _make_grid(urn, groups, block)
    key = (group * urn.items + item)[allowed]
    key = key[~is_among(taken, key)]
    group, item = key // urn.items, key % urn.items
    chance = numbers(~seed, groups.owner[group], groups.positive[group] + 1, item)
    wait = -np.log1p(-chance) / urn.weight[item]
    key = key[np.lexsort((item, wait, group))]
    return _limit_draws(key, missing, urn.items)


def _draw_with_replacement(
    urn: Urn, groups: DrawGroups, seed: int, block: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draw with replacement from all allowed items."""
    _, item, allowed = _make_grid(urn, groups, block)
    weight = np.where(allowed, urn.weight[item], 0.0).reshape(len(block), urn.items)
    cumulated = np.cumsum(weight, axis=1)
    wanted = missing[block]
    row = np.repeat(np.arange(len(block)), wanted)
    number = np.arange(len(row)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    chance = numbers(~seed, groups.owner[block][row], groups.positive[block][row] + 1, number)
    # Rows are concatenated, each scaled to length 1, so that one search is enough for all.
    line = (cumulated / cumulated[:, -1:] + np.arange(len(block))[:, None]).ravel()
    at = np.searchsorted(line, row + chance, side="right") - row * urn.items
    last = urn.items - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    key: Integers = block[row] * urn.items + np.minimum(at, last[row])
    return key


def is_among(known: Integers, keys: Integers) -> Flags:
    """Return whether each key is among the known ones, which must be sorted."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    matches: Flags = known[at] == keys
    return matches

"""Sampled candidates: the truth of each user, and some items that are not relevant.

Drawing items for many users at once: weighted, with or without replacement, by content alone.

Items are tried in the order of random numbers that belong to the seed, the group and the number of
the try, and refused ones are passed over. That is drawing one after the other from what is left.
Groups that are not filled after some rounds, because little is left for them, go through all items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_type_hints

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct
from rectitude.candidates.estimators import warning
from rectitude.candidates.sets import SplitParts, parts_of
from rectitude.candidates.value import Candidates
from rectitude.data.ids import numbers_in
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, unknown_name
from rectitude.options import require_fitting
from rectitude.prepare.draws import numbers
from rectitude.splits.split import Split

Replacement = Literal["without", "with"]
ROUNDS = 6
CELLS = 2_000_000
"""How many draws or pairs of group and item are looked at in one go."""


@dataclass(frozen=True, slots=True)
class Urn:
    """The items that can be drawn, by number, and for whom they cannot."""

    weight: Floats
    """(items) how likely each is drawn; 0 for never"""
    excluded: Integers
    """sorted, each once: owner x items + item"""
    first: Integers | None = None
    """(items) when each item was first met"""
    moment: Integers | None = None
    """(owners) items first met from then on are not known to the owner"""

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.weight)

    def allows(self, owner: Integers, item: Integers) -> Flags:
        """Whether each item can be drawn for each owner."""
        met = among(self.excluded, owner * self.items + item)
        return ~met & (self.weight[item] > 0) & self.knows(owner, item)

    def knows(self, owner: Integers, item: Integers) -> Flags:
        """Whether each item had been met before each owner's moment."""
        if self.first is None or self.moment is None:
            return np.ones(len(item), np.bool_)
        return self.first[item] < self.moment[owner]

    def left(self, owners: int) -> Integers:
        """(owners) how many items can be drawn for each."""
        live = self.weight > 0
        if self.first is None or self.moment is None:
            known = np.full(owners, live.sum())
        else:
            known = np.searchsorted(np.sort(self.first[live]), self.moment)
        owner, item = self.excluded // self.items, self.excluded % self.items
        lost = live[item] & self.knows(owner, item)
        left: Integers = known - np.bincount(owner[lost], minlength=owners)
        return left


@dataclass(frozen=True, slots=True)
class DrawGroups:
    """What items are drawn for: users, or positives of users."""

    owner: Integers
    """(groups) the number of the user"""
    positive: Integers
    """(groups) the number of the positive, or -1"""
    count: Integers
    """(groups) how many items are drawn"""


def among(known: Integers, keys: Integers) -> Flags:
    """Whether each key is one of the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Flags = known[at] == keys
    return found


def draw(
    urn: Urn, groups: DrawGroups, seed: int, replacement: Replacement = "without"
) -> tuple[Integers, Integers]:
    """The group and the item of each draw, sorted. Every group must have enough items left."""
    taken = np.zeros(0, np.int64)
    used = np.zeros(len(groups.owner), np.int64)
    for number in range(ROUNDS):
        missing = _missing(groups, taken, urn.items)
        if not missing.any():
            break
        tries = np.minimum((missing << (number + 1)) + 4, urn.items) * (missing > 0)
        fresh = _round(urn, groups, seed, replacement, (taken, missing, used, tries))
        taken = np.sort(np.concatenate([taken, *fresh]))
        used += tries
    missing = _missing(groups, taken, urn.items)
    rest = _exhaustive if replacement == "without" else _repeated
    parts = _portions(np.where(missing > 0, urn.items, 0))
    fresh = [rest(urn, groups, seed, part, missing, taken) for part in parts]
    taken = np.sort(np.concatenate([taken, *fresh]))
    return taken // urn.items, taken % urn.items


def _round(
    urn: Urn, groups: DrawGroups, seed: int, replacement: Replacement, so_far: tuple[Integers, ...]
) -> list[Integers]:
    """The next draws of all groups that miss some, a portion of them at a time."""
    taken, missing, used, tries = so_far
    found = []
    for part in _portions(tries):
        fresh = _tried(urn, groups, seed, part, used[part], tries[part])
        if replacement == "without":
            fresh = _distinct(fresh, taken)
        found.append(_cut(fresh, missing, urn.items))
    return found


def _missing(groups: DrawGroups, taken: Integers, items: int) -> Integers:
    missing: Integers = groups.count - np.bincount(taken // items, minlength=len(groups.count))
    return missing


def _tried(
    urn: Urn, groups: DrawGroups, seed: int, part: Integers, used: Integers, tries: Integers
) -> Integers:
    """Keys of what the next numbers of some groups hit, without what their owners cannot have."""
    group = np.repeat(part, tries)
    number = np.arange(len(group)) + np.repeat(used - np.cumsum(tries) + tries, tries)
    owner = groups.owner[group]
    chance = numbers(seed, owner, groups.positive[group] + 1, number)
    upto = np.cumsum(urn.weight)
    item = np.searchsorted(upto, chance * upto[-1], side="right")
    item = np.minimum(item, np.flatnonzero(urn.weight)[-1])
    key: Integers = group * urn.items + item
    return key[urn.allows(owner, item)]


def _distinct(fresh: Integers, taken: Integers) -> Integers:
    """What was not taken before, each once, in the order in which it was drawn."""
    once: Integers = fresh[pl.Series(fresh).is_first_distinct().to_numpy()]
    return once[~among(taken, once)]


def _cut(fresh: Integers, missing: Integers, items: int) -> Integers:
    """The first draws of each group, as many as it misses; draws come group by group."""
    group = fresh // items
    place = np.arange(len(group)) - np.searchsorted(group, group)
    return fresh[place < missing[group]]


def _portions(size: Integers) -> list[Integers]:
    """Groups that have any size, in portions that fit memory."""
    some = np.flatnonzero(size)
    portion = np.cumsum(size[some]) // CELLS
    return np.split(some, np.flatnonzero(np.diff(portion)) + 1) if len(some) else []


def _grid(urn: Urn, groups: DrawGroups, part: Integers) -> tuple[Integers, Integers, Flags]:
    """Every pair of some groups and all items, and whether it is allowed."""
    group, item = np.repeat(part, urn.items), np.tile(np.arange(urn.items), len(part))
    return group, item, urn.allows(groups.owner[group], item)


def _exhaustive(
    urn: Urn, groups: DrawGroups, seed: int, part: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draws without replacement from all that is left: the first of exponential waiting times."""
    group, item, fine = _grid(urn, groups, part)
    key = (group * urn.items + item)[fine]
    key = key[~among(taken, key)]
    group, item = key // urn.items, key % urn.items
    chance = numbers(~seed, groups.owner[group], groups.positive[group] + 1, item)
    wait = -np.log1p(-chance) / urn.weight[item]
    key = key[np.lexsort((item, wait, group))]
    return _cut(key, missing, urn.items)


def _repeated(
    urn: Urn, groups: DrawGroups, seed: int, part: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draws with replacement from all that is allowed."""
    _, item, fine = _grid(urn, groups, part)
    weight = np.where(fine, urn.weight[item], 0.0).reshape(len(part), urn.items)
    upto = np.cumsum(weight, axis=1)
    wanted = missing[part]
    row = np.repeat(np.arange(len(part)), wanted)
    number = np.arange(len(row)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    chance = numbers(~seed, groups.owner[part][row], groups.positive[part][row] + 1, number)
    # Rows are laid end to end, each scaled to length 1, so that one search serves all.
    line = (upto / upto[:, -1:] + np.arange(len(part))[:, None]).ravel()
    at = np.searchsorted(line, row + chance, side="right") - row * urn.items
    last = urn.items - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    key: Integers = part[row] * urn.items + np.minimum(at, last[row])
    return key


Per = Literal["user", "positive"]
Weight = Literal["uniform", "popularity"]
Known = Literal["by_split", "by_time", "ever"]


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """How negatives are drawn."""

    count: int
    per: Per = "user"
    """whether each user has `count` negatives, or each of his positives has its own"""
    weight: Weight = "uniform"
    exponent: float = 1.0
    """popularity is raised to this power: 0 is uniform, 0.75 the unigram choice of word2vec"""
    replacement: Replacement = "without"
    seen: Literal["excluded", "kept"] = "excluded"
    """whether a user's negatives may be items that he had before"""
    truth: Literal["excluded", "kept"] = "excluded"
    """whether a user's negatives may be items of his truth"""
    known: Known = "by_split"
    """which items can be negatives: those met before the truth; those met before the user's own
    first row of the truth; or all, those too that the truth is the first to hold"""
    positives: Literal["included", "left_out"] = "included"
    users: Literal["truth", "all"] = "truth"
    short: Literal["error", "fewer"] = "error"
    """what happens where a user has fewer items left than are to be drawn"""
    counted: Literal["negatives", "candidates"] = "negatives"
    """whether `count` says how many negatives are drawn, or how many candidates there are in all,
    the user's positives among them"""
    crowded: Literal["all", "drawn"] = "all"
    """which positives a user with `count` or more of them has where candidates are counted: all, or
    `count` that are drawn with replacement"""


def sampled(split: Split, count: int = 100, *, items: object = None, seed: int = 0,
            **choices: Any) -> Candidates:  # fmt: skip
    """Negatives drawn for each user of the truth or for each of his positives; see `SamplingPlan`.

    The draws depend on the seed and on ids alone: row order, file and machine play no part.
    """
    plan = plan_of(count, choices)
    parts = parts_of(split, items)
    ledger = Ledger()
    urn = _urn(split, parts, plan, ledger)
    groups = _filled(_groups(parts, plan), urn, parts, plan, ledger)
    group, item = draw(urn, groups, seed, plan.replacement)
    pieces = [_rows(groups.owner[group], item, groups.positive[group])]
    if plan.positives == "included":
        pieces.append(_positives(parts, plan, seed, ledger))
    ledger.note("sampling", warning(plan.count, int((urn.weight > 0).sum()), weight=_weight(plan)))
    frame = finished(parts, pieces, linked=plan.per == "positive")
    _repeats(frame, plan, ledger)
    ledger.count("negatives", len(item), f"negatives for {len(groups.owner):,} {plan.per}s")
    left = urn.left(len(parts.users))[groups.owner]
    made = {"kind": "sampled", **asdict(plan), "items_left": float(left.mean())}
    return Candidates(frame, frame["user"].unique().sort(), made, seed, ledger)


def _weight(plan: SamplingPlan) -> Weight:
    return plan.weight if plan.exponent else "uniform"


def _positives(parts: SplitParts, plan: SamplingPlan, seed: int, ledger: Ledger) -> pl.DataFrame:
    """The pairs of the truth; of users who have too many of them, some."""
    user, item = (parts.truth[name].to_numpy() for name in ("user", "item"))
    owner, size = np.unique(user, return_counts=True)
    many = size >= plan.count
    if plan.counted == "negatives" or plan.crowded == "all" or not many.any():
        return _rows(user, item, item)
    few = ~np.isin(user, owner[many])
    again = parts.truth.filter(~few)["item"].to_numpy()
    row = np.repeat(np.arange(int(many.sum())), plan.count)
    number = np.tile(np.arange(plan.count), int(many.sum()))
    drawn, sizes = owner[many][row], size[many]
    chance = numbers(seed, drawn, np.zeros_like(row), number)
    at = (np.cumsum(sizes) - sizes)[row] + (chance * sizes[row]).astype(np.int64)
    kept = distinct(drawn * len(parts.items) + again[at])
    ledger.count("crowded", len(sizes), f"users have {plan.count} positives or more, no negatives",
                 of=len(owner), weight="warning")  # fmt: skip
    ledger.count("positives_lost", len(again) - len(kept), "positives were not drawn",
                 of=len(item), weight="warning")  # fmt: skip
    users, items = np.concatenate((user[few], drawn)), np.concatenate((item[few], again[at]))
    return _rows(users, items, items)


def _repeats(frame: pl.DataFrame, plan: SamplingPlan, ledger: Ledger) -> None:
    if plan.replacement == "with" or plan.crowded == "drawn":
        ledger.count(
            "repeated", frame.height - frame.n_unique(), "candidates are repeats and count once",
            of=frame.height, weight="warning",
        )  # fmt: skip


def plan_of(count: int, choices: Mapping[str, Any]) -> SamplingPlan:
    """A plan that makes sense, or an error that says what does not."""
    hints = get_type_hints(SamplingPlan)
    for name, value in {"count": count, **choices}.items():
        if name not in hints:
            raise unknown_name("setting", name, hints, where="sampled candidates")
        require_fitting(value, hints[name], f"{name} of sampled candidates")
    plan = SamplingPlan(count, **choices)
    if plan.count < 1:
        raise BadName(f"{plan.count} candidates were asked for.", "a number from 1 on.")
    if plan.counted == "candidates" and (plan.per, plan.positives) != ("user", "included"):
        raise BadName(
            f"counted='candidates' was given with per={plan.per!r}, positives={plan.positives!r}.",
            "per='user' and positives='included': candidates are counted user by user.",
        )
    if not np.isfinite(plan.exponent) or plan.exponent < 0:
        raise BadName(f"the exponent is {plan.exponent}.", "a number from 0 on; 0 is uniform.")
    return plan


def _urn(split: Split, parts: SplitParts, plan: SamplingPlan, ledger: Ledger) -> Urn:
    """The items that can be drawn at all, and the pairs that cannot."""
    weight = np.zeros(len(parts.items))
    weight[parts.catalogue] = 1.0
    future = parts.future[weight[parts.future] > 0]
    left_out = plan.known != "ever"
    ledger.count(
        "future_items", len(future),
        "items are met in the truth for the first time and were "
        + ("not drawn" if left_out else "drawn like all others"),
        of=len(parts.catalogue), weight="notice" if left_out else "warning",
        example=f"item {parts.items[int(future[0])]!r}" if len(future) else "",
    )  # fmt: skip
    if left_out:
        weight[future] = 0.0
    if plan.weight == "popularity":
        weight *= parts.counts**plan.exponent
    refused = [parts.train] if plan.seen == "excluded" else []
    refused += [parts.truth] if plan.truth == "excluded" else []
    keys = [parts.keys(frame) for frame in refused]
    first, moment = _times(split, parts) if plan.known == "by_time" else (None, None)
    excluded = distinct(np.concatenate([np.zeros(0, np.int64), *keys]))
    return Urn(weight, excluded, first, moment)


def _times(split: Split, parts: SplitParts) -> tuple[Integers, Integers]:
    """When each item was first met, and when each user's truth begins."""
    logs = [split.train, *([split.fold_in] if split.fold_in else [])]
    for log in (*logs, split.truth):
        log.require("timestamp", "known='by_time'")
    met = pl.concat([log.frame.select("item", "timestamp") for log in logs])
    never = np.iinfo(np.int64).max
    first = _earliest(met, "item", parts.items, never)
    return first, _earliest(split.truth.frame, "user", parts.users, never)


def _earliest(frame: pl.DataFrame, key: str, known: pl.Series, never: int) -> Integers:
    ids = pl.col(key).cast(known.dtype)
    times = frame.select(ids, pl.col("timestamp")).group_by(key).agg(pl.col("timestamp").min())
    found = np.full(len(known), never)
    stamps = times["timestamp"]
    whole = stamps if stamps.dtype.is_numeric() else stamps.to_physical()
    found[numbers_in(times[key], known)] = _ordered(whole)
    return found


def _ordered(times: pl.Series) -> Integers:
    """Times as whole numbers of the same order; fractions of a second count."""
    if times.dtype.is_float():
        return np.floor(times.to_numpy() * 1e6).astype(np.int64)
    return times.to_numpy().astype(np.int64)


def _groups(parts: SplitParts, plan: SamplingPlan) -> DrawGroups:
    if plan.per == "positive":
        owner, positive = (parts.truth[name].to_numpy() for name in ("user", "item"))
    else:
        named = parts.truth["user"].unique().sort().to_numpy()
        owner = np.arange(len(parts.users)) if plan.users == "all" else named
        positive = np.full(len(owner), -1)
    count = np.full(len(owner), plan.count)
    if plan.counted == "candidates":
        size = np.bincount(parts.truth["user"].to_numpy(), minlength=len(parts.users))
        count = np.maximum(count - size[owner], 0)
    return DrawGroups(owner, positive, count)


def _filled(
    groups: DrawGroups, urn: Urn, parts: SplitParts, plan: SamplingPlan, ledger: Ledger
) -> DrawGroups:
    """The groups, with what each can have; an error if that is less than was asked for."""
    live = int((urn.weight > 0).sum())
    needed = np.minimum(groups.count, 1) if plan.replacement == "with" else groups.count
    most = int(needed.max(initial=0))
    if live < most:
        raise BadName(
            f"{most:,} negatives were asked for, and the catalogue has {live:,} items that can be "
            "drawn.",
            "fewer negatives than items.",
            "lower the count, hand over a larger catalogue with items=, or rank all of them.",
        )
    left = urn.left(len(parts.users))[groups.owner]
    few = np.flatnonzero(left < needed)
    example = f"user {parts.users[int(groups.owner[few[0]])]!r}" if len(few) else ""
    if len(few) and plan.short == "error":
        raise BadName(
            f"{len(few):,} of {len(left):,} {plan.per}s have fewer than {most} items left to draw "
            f"(first: {example}, {left[few[0]]:,} items).",
            f"{plan.count} {plan.counted} for each.",
            "lower the count, or take what there is with short='fewer'.",
        )
    ledger.count(
        "short", len(few), f"{plan.per}s have fewer negatives than {plan.count}: no more are left",
        of=len(left), weight="warning", example=example,
    )  # fmt: skip
    limit = np.where(left > 0, groups.count, 0) if plan.replacement == "with" else left
    return DrawGroups(groups.owner, groups.positive, np.minimum(groups.count, limit))


def _rows(user: Integers, item: Integers, positive: Integers) -> pl.DataFrame:
    return pl.DataFrame({"user": user, "item": item, "positive": positive})


def finished(parts: SplitParts, pieces: list[pl.DataFrame], linked: bool) -> pl.DataFrame:
    """Rows of numbers as rows of ids, sorted."""
    columns = ["user", "positive", "item"] if linked else ["user", "item"]
    rows = pl.concat(pieces).select("user", "item", *columns[1:-1]).sort(columns)
    named = {
        "user": parts.users.gather(rows["user"]),
        **{name: parts.items.gather(rows[name]) for name in rows.columns if name != "user"},
    }
    return pl.DataFrame([ids.alias(name) for name, ids in named.items()])

"""The rows of a traced list: what stands at each rank, and what it adds to the value."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.ledger import Ledger
from rectitude.evaluation.measure import given_to
from rectitude.explanation.trace.alone import Alone
from rectitude.judge.judge import Judging, judge
from rectitude.judge.judged import Judged
from rectitude.judge.truth import truth_under
from rectitude.metrics.choices import weights_of, worth_of
from rectitude.metrics.registry import Facts
from rectitude.profiles import Asked

SHOWN = 100
"""Ranks that are shown up to a cutoff."""
SHOWN_WITHOUT_CUTOFF = 20
_TERMS = 500  # rows of a list up to which each is weighed by itself
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class WantedLine:
    """An item of the truth, and the rank it has."""

    item: Any
    grade: float
    relevant: bool
    rank: int | None
    """None where it is not ranked"""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """What stands at a rank."""

    rank: int
    item: Any
    score: float | None = None
    grade: float | None = None
    """what the truth says; None where it says nothing"""
    relevant: bool = False
    tied: tuple[int, int] | None = None
    """the first and the last rank the item may take, where ties are averaged"""
    hits: int | None = None
    """relevant items up to this rank"""
    gain: float | None = None
    discount: float | None = None
    adds: float | None = None
    """what the row adds to the numerator"""
    total: float | None = None
    """the numerator with this row and all before it"""


@dataclass(frozen=True, slots=True)
class Ideal:
    """A rank of the best list: what its item gains, the weight of the rank, their product."""

    rank: int
    gain: float
    discount: float
    adds: float


def wanted_of(one: Alone, asked: Asked, mine: Judged) -> tuple[WantedLine, ...]:
    """The items of the truth with their ranks, in the truth's own order."""
    codes, grades = _truth(one, asked)
    labels = one.sides.items.labels(codes)
    ranks = dict(zip(mine.place[::-1].tolist(), mine.rank[::-1].tolist(), strict=True))
    return tuple(
        WantedLine(item, float(grade), bool(relevant), ranks.get(place))
        for place, (item, grade, relevant) in enumerate(
            zip(labels.to_list(), grades, mine.is_relevant(grades), strict=True)
        )
    )


def _truth(one: Alone, asked: Asked) -> tuple[Integers, Floats]:
    """The codes and grades of the items of the truth, in its own order."""
    truth = truth_under(one.sides, asked.convention, Ledger())
    low, size = truth.rows.start[one.number], truth.rows.length[one.number]
    return truth.items[low : low + size], truth.grades[low : low + size]


def lines_of(
    facts: Facts, asked: Asked, one: Alone, mine: Judged, wanted: tuple[WantedLine, ...]
) -> tuple[TraceLine, ...]:
    """The first ranks of the list with all that stands there, then its other judged items."""
    k, returned = asked.cutoff, int(mine.returned[0])
    depth = min(returned, SHOWN_WITHOUT_CUTOFF if k is None or k > SHOWN else k)
    placed, codes = _placed(one, asked, max(depth, 1))
    rows = _rows_of(facts, asked, mine)
    own: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for place, row in zip(mine.place.tolist(), rows, strict=True):
        own[place].append(row)
    at_rank: defaultdict[int, list[TraceLine]] = defaultdict(list)
    scores, items, truth = one.scores(), one.sides.items, _truth(one, asked)[0].tolist()
    for place, rank in zip(placed.place.tolist(), placed.rank.tolist(), strict=True):
        row = own[place].pop(0) if own[place] else {}
        told = wanted[place]
        score = scores.get(truth[place])
        at_rank[rank].append(TraceLine(rank, told.item, score, told.grade, told.relevant, **row))
    for rank, code in enumerate(codes[:depth], 1):
        if code >= 0 and not at_rank[rank]:
            at_rank[rank].append(
                TraceLine(rank, items.labels(np.array([code]))[0], scores.get(code))
            )
    return tuple(line for rank in sorted(at_rank) for line in at_rank[rank])


def _placed(one: Alone, asked: Asked, depth: int) -> tuple[Judged, list[int]]:
    """The list in one order, with the codes of the items in the first places.

    Where ties are averaged there is no one order: equals are shown as they were given.
    """
    convention = asked.convention
    if convention.ties == "average":
        convention = convention.replace(ties="given")
    _, verdict = judge(one.sides, Judging.of(convention, depth), Ledger())
    mine = verdict.judged.only(np.array([one.number])).at_threshold(convention.relevant_from)
    shown = mine.extras.shown
    return mine, one.codes(np.full(depth, -1) if shown is None else shown.items[0])


def _rows_of(facts: Facts, asked: Asked, mine: Judged) -> list[dict[str, Any]]:
    """For each judged row its gain, its discount, and what it adds, where the metric has such."""
    given = given_to(asked, facts)
    columns: dict[str, list[Any]] = {"hits": mine.nth.tolist()}
    if mine.last is not None:
        columns["tied"] = list(zip(mine.rank.tolist(), mine.last.tolist(), strict=True))
    if "gain" in given:
        columns["gain"] = worth_of(mine, given["gain"], given["gain_from"])(mine.grade).tolist()
    if "discount_by" in given:
        weights = weights_of(given["discount"], given["log_base"])
        columns["discount"] = given["discount_by"](mine, asked.cutoff, weights).tolist()
    terms = _terms(asked, given, mine)
    if terms is not None:
        columns["adds"], columns["total"] = terms
    return [
        {name: values[row] for name, values in columns.items()} for row in range(len(mine.list))
    ]


def _terms(asked: Asked, given: Any, mine: Judged) -> tuple[list[float], list[float]] | None:
    """What each row adds to the numerator, and the numerator so far.

    The metric itself is asked, with the rows up to each one. A metric of more than ranks, or one
    that is better when low, is no sum over hits.
    """
    size = len(mine.list)
    if asked.metric.requires or asked.metric.best == "low" or size > _TERMS:
        return None

    def above(rows: Integers) -> float:
        found: Floats = asked.metric.function(mine.of_rows(rows), asked.cutoff, **given).above
        return float(found[0])

    everything = np.arange(size)
    so_far = [above(everything[:count]) for count in range(size + 1)]
    if so_far[0] != 0:
        return None
    alone = [above(everything[row : row + 1]) for row in range(size)]
    adds = [
        own if before + own == after else after - before
        for own, (before, after) in zip(alone, pairwise(so_far), strict=True)
    ]
    return adds, so_far[1:]


def ideal_lines(facts: Facts, asked: Asked, mine: Judged) -> tuple[Ideal, ...]:
    """The best list that a discounted gain is divided by, rank by rank; empty for other metrics."""
    given = given_to(asked, facts)
    if "ideal" not in given or "discount_by" not in given:
        return ()
    k, ideal = asked.cutoff, given["ideal"]
    worth = worth_of(mine, given["gain"], given["gain_from"])
    weights = weights_of(given["discount"], given["log_base"])
    deepest = max(int(mine.judged[0]), int(mine.returned[0]), len(mine.list))
    deepest = min(_TERMS, deepest if k is None else k)
    found = []
    for rank in range(1, deepest + 1):
        gain = float(ideal(mine, k, worth, lambda ranks, at=rank: (ranks == at) * 1.0)[0])
        weight = float(weights(np.array([rank]))[0])
        if gain:
            found.append(Ideal(rank, gain, weight, gain * weight))
    whole = float(ideal(mine, k, worth, weights)[0])
    complete = abs(sum(line.adds for line in found) - whole) <= _CLOSE * max(1.0, whole)
    return tuple(found) if complete else ()

"""The rows of a traced list: the item at each rank, and what it adds to the value."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.ledger import Ledger
from rectitude.evaluation.measure import arguments_for
from rectitude.explanation.trace.alone import Alone
from rectitude.judge.judge import Judging, judge
from rectitude.judge.judged import Judged
from rectitude.judge.truth import truth_under
from rectitude.metrics.choices import discount_function, gain_function
from rectitude.metrics.registry import Facts
from rectitude.profiles import Asked

SHOWN = 100
"""How many ranks are shown if there is a cutoff."""
SHOWN_WITHOUT_CUTOFF = 20
_TERMS = 500  # in longer lists, what each row adds is not computed
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class WantedLine:
    """An item of the truth, and its rank in the list."""

    item: Any
    grade: float
    relevant: bool
    rank: int | None
    """None if it is not in the list"""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """The item at a rank."""

    rank: int
    item: Any
    score: float | None = None
    grade: float | None = None
    """the grade in the truth; None if the item is not judged"""
    relevant: bool = False
    tied: tuple[int, int] | None = None
    """the first and the last rank that the item may have, if ties are averaged"""
    hits: int | None = None
    """relevant items up to this rank"""
    gain: float | None = None
    discount: float | None = None
    adds: float | None = None
    """what the row adds to the numerator"""
    total: float | None = None
    """the numerator up to and including this row"""


@dataclass(frozen=True, slots=True)
class Ideal:
    """A rank of the ideal list: the gain of its item, the weight of the rank, their product."""

    rank: int
    gain: float
    discount: float
    adds: float


def lines_of_truth(single: Alone, asked: Asked, traced: Judged) -> tuple[WantedLine, ...]:
    """Return the items of the truth with their ranks, in the order of the truth."""
    codes, grades = _truth(single, asked)
    labels = single.sides.items.labels(codes)
    ranks = dict(zip(traced.place[::-1].tolist(), traced.rank[::-1].tolist(), strict=True))
    return tuple(
        WantedLine(item, float(grade), bool(relevant), ranks.get(position))
        for position, (item, grade, relevant) in enumerate(
            zip(labels.to_list(), grades, traced.is_relevant(grades), strict=True)
        )
    )


def _truth(single: Alone, asked: Asked) -> tuple[Integers, Floats]:
    """Return the codes and grades of the items of the truth, in the order of the truth."""
    truth = truth_under(single.sides, asked.convention, Ledger())
    low, size = truth.rows.start[single.number], truth.rows.length[single.number]
    return truth.items[low : low + size], truth.grades[low : low + size]


def lines_of(
    facts: Facts, asked: Asked, single: Alone, traced: Judged, wanted: tuple[WantedLine, ...]
) -> tuple[TraceLine, ...]:
    """Return all items at the first ranks of the list, then its other judged items."""
    k, returned = asked.cutoff, int(traced.returned[0])
    depth = min(returned, SHOWN_WITHOUT_CUTOFF if k is None or k > SHOWN else k)
    ordered, codes = _order_items(single, asked, max(depth, 1))
    rows_of: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for position, row in zip(traced.place.tolist(), _rows_of(facts, asked, traced), strict=True):
        rows_of[position].append(row)
    at_rank: defaultdict[int, list[TraceLine]] = defaultdict(list)
    scores, items, truth = single.scores(), single.sides.items, _truth(single, asked)[0].tolist()
    for position, rank in zip(ordered.place.tolist(), ordered.rank.tolist(), strict=True):
        row = rows_of[position].pop(0) if rows_of[position] else {}
        judged, score = wanted[position], scores.get(truth[position])
        line = TraceLine(rank, judged.item, score, judged.grade, judged.relevant, **row)
        at_rank[rank].append(line)
    for rank, code in enumerate(codes[:depth], 1):
        if code >= 0 and not at_rank[rank]:
            at_rank[rank].append(
                TraceLine(rank, items.labels(np.array([code]))[0], scores.get(code))
            )
    return tuple(line for rank in sorted(at_rank) for line in at_rank[rank])


def _order_items(single: Alone, asked: Asked, depth: int) -> tuple[Judged, list[int]]:
    """Return the list in one order, and the codes of the items at the first ranks.

    If ties are averaged, there is no single order: tied items are shown as the default orders them.
    """
    convention = asked.convention
    if convention.ties == "average":
        convention = convention.replace(ties="pessimistic")
    _, verdict = judge(single.sides, Judging.of(convention, depth), Ledger())
    ordered = verdict.judged.only(np.array([single.number]))
    ordered = ordered.at_threshold(convention.relevant_from)
    shown = ordered.extras.shown
    return ordered, single.codes(np.full(depth, -1) if shown is None else shown.items[0])


def _rows_of(facts: Facts, asked: Asked, traced: Judged) -> list[dict[str, Any]]:
    """Return the gain and discount of each judged row and what it adds, if the metric has these."""
    arguments = arguments_for(asked, facts)
    columns: dict[str, list[Any]] = {"hits": traced.nth.tolist()}
    if traced.last is not None:
        columns["tied"] = list(zip(traced.rank.tolist(), traced.last.tolist(), strict=True))
    if "gain" in arguments:
        gain_of = gain_function(traced, arguments["gain"], arguments["gain_from"], "signed")
        columns["gain"] = gain_of(traced.grade).tolist()
    if "discount_by" in arguments:
        weights = discount_function(arguments["discount"], arguments["log_base"])
        columns["discount"] = arguments["discount_by"](traced, asked.cutoff, weights).tolist()
    terms = _terms(asked, arguments, traced)
    if terms is not None:
        columns["adds"], columns["total"] = terms
    return [
        {name: values[row] for name, values in columns.items()} for row in range(len(traced.list))
    ]


def _terms(asked: Asked, arguments: Any, traced: Judged) -> tuple[list[float], list[float]] | None:
    """Return what each row adds to the numerator, and the running numerator.

    The metric is computed with the rows up to each one. A metric that needs more than ranks, or
    for which lower is better, is not a sum over hits, so None is returned.
    """
    size = len(traced.list)
    if asked.metric.requires or asked.metric.best == "low" or size > _TERMS:
        return None

    def above(rows: Integers) -> float:
        numerator: Floats = asked.metric.function(
            traced.of_rows(rows), asked.cutoff, **arguments
        ).above
        return float(numerator[0])

    everything = np.arange(size)
    so_far = [above(everything[:count]) for count in range(size + 1)]
    if so_far[0] != 0:
        return None
    alone = [above(everything[row : row + 1]) for row in range(size)]
    adds = [
        term if before + term == after else after - before
        for term, (before, after) in zip(alone, pairwise(so_far), strict=True)
    ]
    return adds, so_far[1:]


def ideal_lines(facts: Facts, asked: Asked, traced: Judged) -> tuple[Ideal, ...]:
    """Return the ideal list of a discounted gain, rank by rank; empty for other metrics."""
    arguments = arguments_for(asked, facts)
    if "ideal" not in arguments or "discount_by" not in arguments:
        return ()
    k, ideal = asked.cutoff, arguments["ideal"]
    gain_of = gain_function(traced, arguments["gain"], arguments["gain_from"], "signed")
    weights = discount_function(arguments["discount"], arguments["log_base"])
    deepest = max(int(traced.judged[0]), int(traced.returned[0]), len(traced.list))
    deepest = min(_TERMS, deepest if k is None else k)
    ideal_list = []
    for rank in range(1, deepest + 1):
        gain = float(ideal(traced, k, gain_of, lambda ranks, at=rank: (ranks == at) * 1.0)[0])
        weight = float(weights(np.array([rank]))[0])
        if gain:
            ideal_list.append(Ideal(rank, gain, weight, gain * weight))
    whole = float(ideal(traced, k, gain_of, weights)[0])
    complete = abs(sum(line.adds for line in ideal_list) - whole) <= _CLOSE * max(1.0, whole)
    return tuple(ideal_list) if complete else ()

"""Metrics of queries with several subtopics, or intents: does a list serve all of them, without
repeating itself? The truth judges items for each subtopic.

An item that is relevant to a subtopic is worth less the more relevant items of that subtopic are
above it. Subtopics without a relevant item do not count. The ideal list is built greedily, since
the best list is too hard to find; items of equal worth are ordered by id, descending, as in ndeval.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import (
    Flags,
    Floats,
    Integers,
    run_starts,
    running_count,
    sum_by_group,
    sum_rows,
)
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.browsing import reach_weights
from rectitude.metrics.choices import Weights, log, require_order, whole_k
from rectitude.metrics.registry import Ratio, metric, require_choice

_NEEDS = ("subtopics",)
_GAIN = "gain = sum over the subtopics that the item is relevant to of (1 - alpha)^(relevant items"
_FULL = "{over} (full: a list in which every item serves every subtopic)"


def _by_log(ranks: Integers) -> Floats:
    return log(ranks, 2.0)


def _by_reciprocal(ranks: Integers) -> Floats:
    return 1.0 / np.maximum(ranks, 1)


@metric(
    "Alpha-DCG",
    formula="sum over the top {k} of gain / log2(rank + 1) / the same sum of "
    f"{_FULL}; {_GAIN} of the subtopic above it), alpha = {{alpha}}",
    reading="1 if every item serves every subtopic.",
    use="Use it when users mean different things by the same query; alpha-NDCG is easier to "
    "compare across queries.",
    cite="clarke2008novelty",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def alpha_dcg(lists: Judged, k: int | None, *, alpha: float = 0.5, over: str = "full") -> Ratio:
    """Discounted gain of items that serve subtopics, less for those that repeat others."""
    return _discount_novelty(lists, k, _by_log, alpha, over)


@metric(
    "Alpha-NDCG",
    formula="sum over the top {k} of gain / log2(rank + 1) / the same sum for the ideal list; "
    f"{_GAIN} of the subtopic above it), alpha = {{alpha}}",
    reading="1 if the list serves as many subtopics as early as possible, without repeating "
    "itself.",
    use="Use it to compare lists for queries with subtopics; alpha = 0 ignores repetition.",
    cite="clarke2008novelty",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def alpha_ndcg(lists: Judged, k: int | None, *, alpha: float = 0.5) -> Ratio:
    """Discounted gain of items that serve subtopics, relative to the ideal list."""
    return _compare_with_ideal(lists, k, _by_log, alpha)


@metric(
    "Intent-aware expected reciprocal rank",
    formula="sum over the top {k} of gain / rank / the same sum of "
    f"{_FULL}; {_GAIN} of the subtopic above it), alpha = {{alpha}}",
    reading="1 if every item serves every subtopic.",
    use="Use it when users stop at the first item that serves them, and mean different things.",
    cite="chapelle2011intent",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def err_ia(lists: Judged, k: int | None, *, alpha: float = 0.5, over: str = "full") -> Ratio:
    """Expected reciprocal rank, over all subtopics."""
    return _discount_novelty(lists, k, _by_reciprocal, alpha, over)


@metric(
    "Normalised intent-aware expected reciprocal rank",
    formula="sum over the top {k} of gain / rank / the same sum for the ideal list; "
    f"{_GAIN} of the subtopic above it), alpha = {{alpha}}",
    reading="1 if the list serves as many subtopics as early as possible.",
    use="Use it to compare lists for queries with subtopics, if users stop at the first item that "
    "serves them.",
    cite="chapelle2011intent",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def nerr_ia(lists: Judged, k: int | None, *, alpha: float = 0.5) -> Ratio:
    """Expected reciprocal rank over all subtopics, relative to the ideal list."""
    return _compare_with_ideal(lists, k, _by_reciprocal, alpha)


@metric(
    "Novelty- and rank-biased precision",
    formula="(1 - (1 - alpha) * beta) * sum over the top {k} of gain * beta^(rank - 1) / "
    f"subtopics; {_GAIN} of the subtopic above it), alpha = {{alpha}}, beta = {{beta}}",
    reading="1 if every item serves every subtopic.",
    use="Use it when you know how patient users are; beta is the persistence of RBP.",
    cite="clarke2009effectiveness",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def nrbp(lists: Judged, k: int | None, *, alpha: float = 0.5, beta: float = 0.5) -> Ratio:
    """Rank-biased precision of items that serve subtopics, less for those that repeat others."""
    gains = _novel_gains(lists, alpha) * reach_weights(beta)(lists.rank)
    return Ratio((1 - (1 - alpha) * beta) * lists.total(gains, upto=k), _count_subtopics(lists))


@metric(
    "Normalised novelty- and rank-biased precision",
    formula="sum over the top {k} of gain * beta^(rank - 1) / the same sum for the ideal list; "
    f"{_GAIN} of the subtopic above it), alpha = {{alpha}}, beta = {{beta}}",
    reading="1 if the list serves as many subtopics as early as possible.",
    use="Use it to compare lists for queries with subtopics, if you know how patient users are.",
    cite="clarke2009effectiveness",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def nnrbp(lists: Judged, k: int | None, *, alpha: float = 0.5, beta: float = 0.5) -> Ratio:
    """Novelty- and rank-biased precision, relative to the ideal list."""
    return _compare_with_ideal(lists, k, reach_weights(beta), alpha)


@metric(
    "Intent-aware average precision",
    formula="mean over the subtopics of average precision in the top {k}, over the relevant items "
    "of the subtopic",
    reading="1 if every relevant item is relevant to every subtopic and ranked above all others.",
    use="Use it to reward complete lists in good order for every subtopic.",
    cite="agrawal2009diversifying",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def ap_ia(lists: Judged, k: int | None) -> Ratio:
    """Mean over the subtopics of average precision."""
    relevant, nth = _relevant_by_subtopic(lists), _count_so_far(lists)
    terms = (nth * (nth > 0) * _serves(lists)) / lists.rank[:, None]
    values = np.zeros(lists.size)
    for topic in range(relevant.shape[1]):
        found = lists.total(terms[:, topic], upto=k)
        values += np.where(relevant[:, topic] > 0, found / np.maximum(relevant[:, topic], 1), 0.0)
    return Ratio(values, _count_subtopics(lists))


@metric(
    "Intent-aware precision",
    formula="subtopics served by the items in the top {k}, with repeats / (k * subtopics)",
    reading="0.2 at 10 means that 2 of the first 10 items serve a subtopic, on average over the "
    "subtopics.",
    use="Use it with alpha-NDCG, to see how much of it comes from relevance alone.",
    cite="agrawal2009diversifying",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def precision_ia(lists: Judged, k: int | None) -> Ratio:
    """Mean over the subtopics of precision."""
    require_order(lists, "judgements are by subtopic")
    served = lists.total(_serves(lists).sum(axis=1, dtype=np.float64), upto=k)
    return Ratio(served, whole_k(lists, k) * _count_subtopics(lists))


@metric(
    "Subtopic recall",
    formula="subtopics served in the top {k} / subtopics",
    reading="0.5 at 10 means that the first 10 items serve half of the subtopics.",
    use="Use it to see whether a list serves all intents; it does not ask at which rank.",
    cite="zhai2003beyond",
    needs=_NEEDS,
    breaks=("perfect_is_best", "moving_up_helps"),
)
def subtopic_recall(lists: Judged, k: int | None) -> Ratio:
    """Share of the subtopics that some item of the list serves."""
    first = (_count_so_far(lists) == 1) & _serves(lists)
    return Ratio(lists.total(first.sum(axis=1, dtype=np.float64), upto=k), _count_subtopics(lists))


def _relevance(lists: Judged) -> Flags:
    """Return (truth rows, subtopics) whether the item is relevant to the subtopic."""
    return lists.is_relevant(lists.subtopics.grades)


def _serves(lists: Judged) -> Flags:
    """Return (matches, subtopics) whether the item is relevant to the subtopic."""
    return lists.once("serves", lambda: _relevance(lists)[lists.where])


def _count_so_far(lists: Judged) -> Floats:
    """Return (matches, subtopics) the relevant items up to this rank."""
    require_order(lists, "judgements are by subtopic")
    serves = _serves(lists)
    counts = [running_count(serves[:, topic], lists.list) for topic in range(serves.shape[1])]
    return np.array(counts, np.float64).T.reshape(serves.shape)


def _relevant_by_subtopic(lists: Judged) -> Floats:
    """Return (lists, subtopics) the relevant items in the truth."""
    relevance, rows = _relevance(lists), lists.truth.rows()
    counts = [sum_by_group(rows[flags], lists.size) for flags in relevance.T]
    return np.array(counts).T.reshape(lists.size, relevance.shape[1])


def _count_subtopics(lists: Judged) -> Floats:
    """Return the number of subtopics that have a relevant item."""
    count: Floats = (_relevant_by_subtopic(lists) > 0).sum(axis=1).astype(np.float64)
    return count


def _novel_gains(lists: Judged, alpha: float) -> Floats:
    """Return (matches,) the gain of each item."""
    if not 0 <= alpha <= 1:
        raise BadArgument(f"alpha is {alpha:g}.", "a number from 0 to 1.")
    before = np.maximum(_count_so_far(lists) - 1, 0)
    return sum_rows(_serves(lists) * (1 - alpha) ** before)


def _discount_novelty(
    lists: Judged, k: int | None, weights: Weights, alpha: float, over: str
) -> Ratio:
    """Return the discounted gain over that of a list whose every item serves every subtopic."""
    require_choice("over", over, ("full", "subtopics", "none"))
    above = lists.total(_novel_gains(lists, alpha) * weights(lists.rank), upto=k)
    below = _count_subtopics(lists)
    if over == "none":
        return Ratio(above, (below > 0).astype(np.float64))
    if over == "full":
        ends = whole_k(lists, k).astype(np.int64)
        ranks = np.arange(1, int(ends.max(initial=0)) + 1)
        best = np.cumsum((1 - alpha) ** (ranks - 1.0) * weights(ranks))
        below = below * np.concatenate(([0.0], best))[ends]
    return Ratio(above, below)


def _compare_with_ideal(lists: Judged, k: int | None, weights: Weights, alpha: float) -> Ratio:
    """Return the discounted gain over that of the ideal list."""
    above = lists.total(_novel_gains(lists, alpha) * weights(lists.rank), upto=k)
    gains = lists.once(("ideal gains", alpha), lambda: _ideal_gains(lists, alpha))
    gains = gains[:, :k]
    return Ratio(above, sum_rows(gains * weights(np.arange(1, gains.shape[1] + 1))))


def _ideal_gains(lists: Judged, alpha: float) -> Floats:
    """Return (lists, ranks) the gains of the ideal list: at each rank, the item that gains most."""
    owners = lists.truth.rows()
    order = np.lexsort((lists.subtopics.order, owners))
    order = order[_relevance(lists)[order].any(axis=1)]
    relevance, owners = _relevance(lists)[order].astype(np.float64), owners[order]
    worth = np.ones((lists.size, relevance.shape[1]))
    starts, left = run_starts(owners), np.ones(len(owners), bool)
    gains: list[Floats] = []
    while left.any():
        scores = np.where(left, sum_rows(relevance * worth[owners]), -1.0)
        most = np.repeat(
            np.maximum.reduceat(scores, starts), np.diff(np.append(starts, len(owners)))
        )
        chosen = np.maximum.reduceat(np.where(scores == most, np.arange(len(owners)), -1), starts)
        chosen = chosen[left[chosen]]
        left[chosen] = False
        at_rank = np.zeros(lists.size)
        at_rank[owners[chosen]] = scores[chosen]
        gains.append(at_rank)
        worth[owners[chosen]] *= np.where(relevance[chosen] > 0, 1 - alpha, 1.0)
    return np.array(gains).T.reshape(lists.size, len(gains))

"""What a metric of a full ranking was likely to be, from ranks among sampled items.

A positive of rank r among n items has j of m sampled items before it with a known chance. A metric
that looks at sampled ranks therefore measures something else than its name says. The estimators put
another function of the sampled rank in its place (Krichene and Rendle, On Sampled Metrics for Item
Recommendation, KDD 2020), whose expectation comes near the metric at every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers
from rectitude.candidates.value import Candidates
from rectitude.candidates.value import first as first_row
from rectitude.data.ids import fitting
from rectitude.data.read import read
from rectitude.errors import BadName, BadScores, NothingToEvaluate, unknown_name

Method = Literal["bias_variance", "least_squares", "rank", "none"]
Over = Literal["positives", "users"]
Replacement = Literal["without", "with"]
_CHUNK = 20_000
_FORMULAS: Mapping[str, Callable[[Floats], Floats]] = {
    "recall": np.ones_like,
    "hit": np.ones_like,
    "precision": np.ones_like,
    "ap": lambda rank: 1.0 / rank,
    "mrr": lambda rank: 1.0 / rank,
    "ndcg": lambda rank: 1.0 / np.log2(rank + 1.0),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric of the full ranking as far as a sample tells, and how sure that is."""

    metric: str
    value: float
    standard_error: float
    """of the mean: it counts which positives there are and which negatives were drawn, but not the
    bias that the method leaves"""
    sampled: float
    """the metric computed on the sampled ranks as they are"""
    method: Method
    positives: int
    warning: str

    def __str__(self) -> str:
        return (
            f"{self.metric} = {self.value:.4f} +- {self.standard_error:.4f} "
            f"({self.method}; {self.sampled:.4f} on the sample itself)"
        )


def estimate(
    ranks: object,
    metric: str,
    *,
    negatives: int,
    items: int,
    method: Method = "bias_variance",
    strength: float = 0.01,
    replacement: Replacement = "without",
    users: object = None,
    over: Over = "positives",
) -> Estimate:
    """A metric of the full ranking, from the ranks of positives among `negatives` sampled items.

    `ranks` count from 1, one for each positive, `items` is how many items the full ranking has
    beside the user's other positives and what he had seen, the positive included; the mean where
    users differ in that. Every positive counts as the only relevant item of its list, and negatives
    must have been drawn uniformly.
    Methods: `bias_variance` weighs squared bias, all ranks alike, against `strength` times the
    variance; `least_squares` makes the bias as small as a function allows that falls with the rank;
    `rank` puts the expected rank into the metric; `none` corrects nothing.
    """
    where = _whole_ranks(ranks, negatives, items)
    table = corrected(metric, negatives, items, method, strength, replacement)
    plain = corrected(metric, negatives, items, "none")
    value, error = _mean(table[where - 1], users, over)
    sampled, _ = _mean(plain[where - 1], users, over)
    text = warning(negatives, items, cutoff=_parsed(metric)[1])
    return Estimate(metric, value, error, sampled, method, len(where), text)


def corrected(
    metric: str, negatives: int, items: int, method: Method, strength: float = 0.01,
    replacement: Replacement = "without",
) -> Floats:  # fmt: skip
    """(negatives + 1) what each sampled rank is worth."""
    function = formula(metric)
    place = np.arange(negatives + 1.0)
    if method == "none":
        return function(place + 1.0)
    if method == "rank":
        return function(1.0 + (items - 1.0) * place / negatives)
    if method not in ("bias_variance", "least_squares"):
        raise unknown_name("method", method, ("bias_variance", "least_squares", "rank", "none"))
    if not 0.0 <= strength <= 1.0:
        raise BadName(f"the strength is {strength}.", "a number from 0 to 1.")
    blocks = _blocks(function, negatives, items, replacement)
    if method == "least_squares":
        return _falling(blocks, negatives)
    return _balanced(blocks, negatives, strength)


def formula(metric: str) -> Callable[[Floats], Floats]:
    """What a metric is worth at each rank of the only relevant item."""
    name, cutoff = _parsed(metric)
    worth = _FORMULAS[name]
    share = 1.0 / cutoff if name == "precision" and cutoff else 1.0
    limit = np.inf if cutoff is None else cutoff

    def function(rank: Floats) -> Floats:
        return np.where(rank <= limit, share * worth(rank), 0.0)

    return function


def warning(negatives: int, items: int, cutoff: int | None = None, weight: str = "uniform") -> str:
    """What sampling does to a number, in words."""
    k = min(10 if cutoff is None else cutoff, max(1, negatives))
    reach = min(items, round(k * items / max(1, negatives)))
    text = (
        f"each positive meets {negatives:,} of {items:,} items, so the first {k:,} places here "
        f"stand for about the first {reach:,} of a full ranking: values come out higher than with "
        "all items, cannot be compared with them or with other sample sizes, and can put models "
        "in another order."
    )
    if weight == "popularity":
        text += " Popular items are drawn more often, which favours models that avoid them."
    return text


def _parsed(metric: str) -> tuple[str, int | None]:
    name, at, cutoff = metric.partition("@")
    name = {"map": "ap", "hr": "hit"}.get(name, name)
    if name not in _FORMULAS:
        raise unknown_name("estimator for the metric", name, _FORMULAS)
    if at and (not cutoff.isdecimal() or int(cutoff) < 1):
        raise BadName(f"{metric!r} has the cutoff {cutoff!r}.", "a whole number from 1 on.")
    if name in ("recall", "hit", "precision") and not at:
        raise BadName(f"{metric!r} has no cutoff.", f"{name}@10, for example.")
    return name, int(cutoff) if at else None


def _whole_ranks(ranks: object, negatives: int, items: int) -> Integers:
    where = np.asarray(ranks)
    if where.ndim != 1 or not len(where):
        raise NothingToEvaluate(f"ranks have the shape {where.shape}.", "one rank per positive.")
    if negatives < 1 or items < 2 or negatives > items - 1:
        raise BadName(
            f"{negatives:,} negatives were drawn of {items:,} items.",
            "at least 1 negative, and fewer than there are items.",
        )
    whole = where.astype(np.int64)
    wrong = np.flatnonzero((whole != where) | (whole < 1) | (whole > negatives + 1))
    if len(wrong):
        raise BadName(
            f"{len(wrong):,} of {len(where):,} ranks cannot be (first: {where[wrong[0]]}).",
            f"whole numbers from 1 to {negatives + 1:,}.",
        )
    return whole


def _blocks(
    function: Callable[[Floats], Floats], negatives: int, items: int, replacement: Replacement
) -> Iterator[tuple[Floats, Floats]]:
    """For portions of all ranks: the chances of every sampled rank, and the metric's worth."""
    for first in range(1, items + 1, _CHUNK):
        part = np.arange(first, min(first + _CHUNK, items + 1))
        yield chances(part, negatives, items, replacement), function(part.astype(np.float64))


def chances(ranks: Integers, negatives: int, items: int, replacement: Replacement) -> Floats:
    """(ranks, negatives + 1) how likely an item of each rank has 0, 1, ... sampled items before."""
    from scipy.special import gammaln, xlog1py, xlogy

    logs: Floats = gammaln(np.arange(1.0, max(items, negatives) + 1.0))  # of factorials
    before, place = ranks[:, None] - 1, np.arange(negatives + 1)[None, :]
    after, rest = items - 1 - before, negatives - place
    if replacement == "with":
        share = before / (items - 1)
        ways = logs[negatives] - logs[place] - logs[rest]
        chance: Floats = np.exp(ways + xlogy(place, share) + xlog1py(rest, -share))
        return chance
    can = (place <= before) & (rest <= after)
    ways = _ways(logs, before, np.minimum(place, before))
    ways = ways + _ways(logs, after, np.minimum(rest, after))
    total = logs[items - 1] - logs[negatives] - logs[items - 1 - negatives]
    return np.where(can, np.exp(ways - total), 0.0)


def _ways(logs: Floats, of: Integers, chosen: Integers) -> Floats:
    """The logarithm of how many ways there are to choose."""
    ways: Floats = logs[of] - logs[chosen] - logs[of - chosen]
    return ways


def _balanced(blocks: Iterable[tuple[Floats, Floats]], negatives: int, strength: float) -> Floats:
    """The least mean over ranks of squared bias plus `strength` times variance, in closed form."""
    squares = np.zeros((negatives + 1, negatives + 1))
    total, target = np.zeros(negatives + 1), np.zeros(negatives + 1)
    for chance, worth in blocks:
        squares += chance.T @ chance
        total += chance.sum(axis=0)
        target += chance.T @ worth
    matrix = (1.0 - strength) * squares + strength * np.diag(total)
    return np.linalg.lstsq(matrix, target, rcond=None)[0].astype(np.float64)


def _falling(blocks: Iterable[tuple[Floats, Floats]], negatives: int) -> Floats:
    """The least mean squared bias of a function that falls with the rank and is never negative."""
    from scipy.optimize import nnls

    # A falling function is a sum of steps down, one after each rank, none of them negative.
    steps = np.triu(np.ones((negatives + 1, negatives + 1)))
    triangle = np.zeros((0, negatives + 2))
    for chance, worth in blocks:
        rows = np.column_stack((chance @ steps, worth))
        triangle = np.asarray(np.linalg.qr(np.vstack((triangle, rows)), mode="r"))
    solution, _ = nnls(triangle[:, :-1], triangle[:, -1])
    falling: Floats = steps @ solution
    return falling


def _mean(values: Floats, users: object, over: Over) -> tuple[float, float]:
    """The mean and its standard error, where positives of one user go together."""
    if users is None:
        if over == "users":
            raise BadName("over='users' was given without users=.", "the user of each rank.")
        owner = np.arange(len(values))
    else:
        owner = np.unique(np.asarray(users), return_inverse=True)[1]
    if len(owner) != len(values):
        raise BadName(f"{len(owner):,} users were given for {len(values):,} ranks.", "one each.")
    size = np.bincount(owner).astype(np.float64)
    sums: Floats = np.bincount(owner, values).astype(np.float64)
    if over == "users":
        sums, size = sums / size, np.ones_like(size)
    mean = sums.sum() / size.sum()
    groups = len(size)
    if groups < 2:
        return float(mean), float("nan")
    spread = np.sum((sums - mean * size) ** 2) * groups / (groups - 1)
    return float(mean), float(np.sqrt(spread) / size.sum())


def sampled_ranks(
    scores: object,
    candidates: Candidates,
    truth: object,
    ties: Literal["worst", "best"] = "worst",
) -> pl.DataFrame:
    """user, item, rank, negatives: where each positive stands among its distinct negatives.

    Other positives of the user take no place. `scores` is a table with a score for every candidate;
    an equal score stands before the positive under `ties="worst"`.
    """
    pairs = ["user", "item"]
    rows = candidates.source.unique(maintain_order=True)
    positives = fitting(read(truth, "truth"), rows).select(pairs).unique(maintain_order=True)
    rows = rows.join(_scored(scores, rows), on=pairs, how="left", maintain_order="left")
    _require_scores(rows)
    negatives = rows.join(positives, on=pairs, how="anti")
    own = rows.select(*pairs, "score").unique(maintain_order=True)
    found = positives.join(own, on=pairs, how="inner", maintain_order="left")
    linked = {"left_on": ["user", "item"], "right_on": ["user", "positive"]}
    keys = linked if candidates.linked else {"on": "user"}
    met = found.join(negatives, how="left", suffix="_other", **keys)
    other, mine = pl.col("score_other"), pl.col("score")
    before = other >= mine if ties == "worst" else other > mine
    counted = met.group_by(pairs, maintain_order=True).agg(
        rank=(before.fill_null(False).sum() + 1).cast(pl.Int64),
        negatives=other.count().cast(pl.Int64),
    )
    return counted.sort(pairs)


def _scored(scores: object, model: pl.DataFrame) -> pl.DataFrame:
    frame = fitting(read(scores, "predictions"), model)
    if "score" not in frame.columns:
        raise BadScores("the scores have no score column.", "columns user, item, score.")
    return frame.select("user", "item", "score")


def _require_scores(rows: pl.DataFrame) -> None:

    score = pl.col("score")
    missing = rows.filter(score.is_null() | score.cast(pl.Float64).is_nan())
    if missing.height:
        raise BadScores(
            f"{missing.height:,} of {rows.height:,} candidates have no score "
            f"(first: {first_row(missing, 'user', 'item')}).",
            "a score for every candidate of every user.",
        )

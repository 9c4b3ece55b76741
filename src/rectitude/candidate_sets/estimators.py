"""Estimate a metric of the full ranking from ranks among sampled items.

An item of rank r among n items has j of m sampled items ranked above it with a known probability.
Therefore a metric of sampled ranks does not measure the metric of the full ranking. The estimators
replace it by another function of the sampled rank, whose expected value is close to the metric at
every rank (Krichene and Rendle, On Sampled Metrics for Item Recommendation, KDD 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers
from rectitude.candidate_sets.value import HIGHER_IN_SAMPLES, Candidates
from rectitude.candidate_sets.value import describe_first as first_row
from rectitude.data.ids import cast_ids_like
from rectitude.data.read import read
from rectitude.errors import BadArgument, BadName, BadScores, NothingToEvaluate, unknown_name

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
    """An estimate of a metric of the full ranking, with its standard error."""

    metric: str
    value: float
    standard_error: float
    """of the mean: includes the choice of positives and of negatives, but not the remaining bias of
    the method"""
    sampled: float
    """the metric of the sampled ranks, without correction"""
    method: Method
    positives: int
    warning: str

    def __str__(self) -> str:
        return (
            f"{self.metric} = {self.value:.4f} +- {self.standard_error:.4f} "
            f"({self.method}; {self.sampled:.4f} without correction)"
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
    """Estimate a metric of the full ranking from the ranks of positives among sampled items.

    `ranks` start at 1, one for each positive. `negatives` is the number of sampled items per
    positive. `items` is the number of items in the full ranking: the positive and all items except
    the user's other positives and the items they have seen; use the mean if users differ. Every
    positive counts as the only relevant item of its list, and negatives must have been drawn
    uniformly.

    Methods: `bias_variance` minimises squared bias, averaged over all ranks, plus `strength` times
    the variance. `least_squares` minimises the bias among functions that decrease with the rank.
    `rank` uses the expected rank in the metric. `none` corrects nothing.
    """
    sampled_rank = _require_ranks(ranks, negatives, items)
    corrected = correct_ranks(metric, negatives, items, method, strength, replacement)
    uncorrected = correct_ranks(metric, negatives, items, "none")
    value, error = _mean(corrected[sampled_rank - 1], users, over)
    sampled, _ = _mean(uncorrected[sampled_rank - 1], users, over)
    text = warning(negatives, items, cutoff=_parse_metric(metric)[1])
    return Estimate(metric, value, error, sampled, method, len(sampled_rank), text)


def correct_ranks(
    metric: str, negatives: int, items: int, method: Method, strength: float = 0.01,
    replacement: Replacement = "without",
) -> Floats:  # fmt: skip
    """Return (negatives + 1) the value for each sampled rank."""
    function = formula(metric)
    above = np.arange(negatives + 1.0)
    if method == "none":
        return function(above + 1.0)
    if method == "rank":
        return function(1.0 + (items - 1.0) * above / negatives)
    if method not in ("bias_variance", "least_squares"):
        raise unknown_name("method", method, ("bias_variance", "least_squares", "rank", "none"))
    if not 0.0 <= strength <= 1.0:
        raise BadArgument(f"strength is {strength}.", "a number between 0 and 1.")
    blocks = _blocks(function, negatives, items, replacement)
    if method == "least_squares":
        return _fit_decreasing(blocks, negatives)
    return _balance_bias(blocks, negatives, strength)


def formula(metric: str) -> Callable[[Floats], Floats]:
    """Return a function from the rank of the only relevant item to the value of a metric."""
    name, cutoff = _parse_metric(metric)
    value_at = _FORMULAS[name]
    share = 1.0 / cutoff if name == "precision" and cutoff else 1.0
    limit = np.inf if cutoff is None else cutoff

    def compute(rank: Floats) -> Floats:
        return np.where(rank <= limit, share * value_at(rank), 0.0)

    return compute


def warning(negatives: int, items: int, cutoff: int | None = None, weight: str = "uniform") -> str:
    """Explain how sampling changes the value of a metric."""
    k = min(10 if cutoff is None else cutoff, max(1, negatives))
    reach = min(items, round(k * items / max(1, negatives)))
    text = (
        f"each positive is ranked against {negatives:,} of {items:,} items, so the first {k:,} "
        f"ranks correspond to about the first {reach:,} ranks of a full ranking: "
        f"{HIGHER_IN_SAMPLES}."
    )
    if weight == "popularity":
        text += " Popular items are drawn more often, which favours models that avoid them."
    return text


def _parse_metric(metric: str) -> tuple[str, int | None]:
    name, at, cutoff = metric.partition("@")
    name = {"map": "ap", "hr": "hit"}.get(name, name)
    if name not in _FORMULAS:
        raise unknown_name("estimator for the metric", name, _FORMULAS)
    if at and (not cutoff.isdecimal() or int(cutoff) < 1):
        raise BadName(
            f"{metric!r} has the cutoff {cutoff!r}.",
            "a cutoff that is a whole number of at least 1.",
        )
    if name in ("recall", "hit", "precision") and not at:
        raise BadName(f"{metric!r} has no cutoff.", f"a cutoff, such as {name}@10.")
    return name, int(cutoff) if at else None


def _require_ranks(ranks: object, negatives: int, items: int) -> Integers:
    values = np.asarray(ranks)
    if values.ndim != 1 or not len(values):
        raise NothingToEvaluate(f"ranks has the shape {values.shape}.", "one rank per positive.")
    if negatives < 1 or items < 2 or negatives > items - 1:
        raise BadArgument(
            f"there are {negatives:,} negatives and {items:,} items.",
            "at least 1 negative, and fewer negatives than items.",
        )
    integers = values.astype(np.int64)
    wrong = np.flatnonzero((integers != values) | (integers < 1) | (integers > negatives + 1))
    if len(wrong):
        raise BadArgument(
            f"{len(wrong):,} of {len(values):,} ranks are not valid (first: {values[wrong[0]]}).",
            f"whole numbers from 1 to {negatives + 1:,}.",
        )
    return integers


def _blocks(
    function: Callable[[Floats], Floats], negatives: int, items: int, replacement: Replacement
) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for blocks of ranks, the probability of every sampled rank and the metric's value."""
    for first in range(1, items + 1, _CHUNK):
        ranks = np.arange(first, min(first + _CHUNK, items + 1))
        yield chances(ranks, negatives, items, replacement), function(ranks.astype(np.float64))


def chances(ranks: Integers, negatives: int, items: int, replacement: Replacement) -> Floats:
    """Return (ranks, negatives + 1) the probability that 0, 1, ... sampled items are ranked above
    an item of each rank."""
    from scipy.special import gammaln, xlog1py, xlogy

    logs: Floats = gammaln(np.arange(1.0, max(items, negatives) + 1.0))  # of factorials
    before, above = ranks[:, None] - 1, np.arange(negatives + 1)[None, :]
    after, below = items - 1 - before, negatives - above
    if replacement == "with":
        share = before / (items - 1)
        ways = logs[negatives] - logs[above] - logs[below]
        chance: Floats = np.exp(ways + xlogy(above, share) + xlog1py(below, -share))
        return chance
    possible = (above <= before) & (below <= after)
    ways = _log_binomial(logs, before, np.minimum(above, before))
    ways = ways + _log_binomial(logs, after, np.minimum(below, after))
    total = logs[items - 1] - logs[negatives] - logs[items - 1 - negatives]
    return np.where(possible, np.exp(ways - total), 0.0)


def _log_binomial(logs: Floats, size: Integers, chosen: Integers) -> Floats:
    """Return the logarithm of the number of ways to choose some items of a size."""
    ways: Floats = logs[size] - logs[chosen] - logs[size - chosen]
    return ways


def _balance_bias(
    blocks: Iterable[tuple[Floats, Floats]], negatives: int, strength: float
) -> Floats:
    """Minimise the mean over ranks of squared bias plus `strength` times variance."""
    squares = np.zeros((negatives + 1, negatives + 1))
    total, target = np.zeros(negatives + 1), np.zeros(negatives + 1)
    for chance, value in blocks:
        squares += chance.T @ chance
        total += chance.sum(axis=0)
        target += chance.T @ value
    matrix = (1.0 - strength) * squares + strength * np.diag(total)
    return np.linalg.lstsq(matrix, target, rcond=None)[0].astype(np.float64)


def _fit_decreasing(blocks: Iterable[tuple[Floats, Floats]], negatives: int) -> Floats:
    """Minimise the mean squared bias among decreasing functions that are not negative."""
    from scipy.optimize import nnls

    # A decreasing function is a sum of steps down, one after each rank, none of them negative.
    steps = np.triu(np.ones((negatives + 1, negatives + 1)))
    triangle = np.zeros((0, negatives + 2))
    for chance, value in blocks:
        rows = np.column_stack((chance @ steps, value))
        triangle = np.asarray(np.linalg.qr(np.vstack((triangle, rows)), mode="r"))
    solution, _ = nnls(triangle[:, :-1], triangle[:, -1])
    decreasing: Floats = steps @ solution
    return decreasing


def _mean(values: Floats, users: object, over: Over) -> tuple[float, float]:
    """Return the mean and its standard error; the positives of a user are not independent."""
    if users is None:
        if over == "users":
            raise BadArgument(
                "over='users' was given without users=.", "users= with the user of each rank."
            )
        owner = np.arange(len(values))
    else:
        owner = np.unique(np.asarray(users), return_inverse=True)[1]
    if len(owner) != len(values):
        raise BadArgument(
            f"{len(owner):,} users were given for {len(values):,} ranks.", "one user per rank."
        )
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
    """Return user, item, rank, negatives: the rank of each positive among its distinct negatives.

    Other positives of the user are left out. `scores` is a table with a score for every candidate.
    With `ties="worst"`, negatives with an equal score are ranked above the positive.
    """
    pairs = ["user", "item"]
    rows = candidates.source.unique(maintain_order=True)
    positives = cast_ids_like(read(truth, "truth"), rows).select(pairs).unique(maintain_order=True)
    rows = rows.join(_score_candidates(scores, rows), on=pairs, how="left", maintain_order="left")
    _require_scores(rows)
    negatives = rows.join(positives, on=pairs, how="anti")
    scored = rows.select(*pairs, "score").unique(maintain_order=True)
    positives = positives.join(scored, on=pairs, how="inner", maintain_order="left")
    linked = {"left_on": ["user", "item"], "right_on": ["user", "positive"]}
    keys = linked if candidates.linked else {"on": "user"}
    joined = positives.join(negatives, how="left", suffix="_other", **keys)
    other, own = pl.col("score_other"), pl.col("score")
    before = other >= own if ties == "worst" else other > own
    counted = joined.group_by(pairs, maintain_order=True).agg(
        rank=(before.fill_null(False).sum() + 1).cast(pl.Int64),
        negatives=other.count().cast(pl.Int64),
    )
    return counted.sort(pairs)


def _score_candidates(scores: object, rows: pl.DataFrame) -> pl.DataFrame:
    frame = cast_ids_like(read(scores, "predictions"), rows)
    if "score" not in frame.columns:
        raise BadScores("scores has no column score.", "the columns user, item and score.")
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

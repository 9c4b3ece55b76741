"""Metrics of lists with one target, such as a next location, item or class: ranks and
probabilities."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.errors import UndefinedValue, UnknownIds
from rectitude.judge.judged import Judged
from rectitude.metrics.predicted import require_chances
from rectitude.metrics.registry import IN_UNITS, Counts, Ratio, count_metric, metric


@metric(
    "Accuracy",
    formula="1 if the target is among the first k, else 0; k = 1 without a cutoff",
    reading="0.5 at 5 means that half of the targets are among the first 5. Whether that is good "
    "depends on the number of classes and on the share of the most frequent one: random guessing "
    "gives k / classes.",
    use="Use it when a fixed number of answers is shown: accuracy@1 for a single answer, "
    "accuracy@5 for a short list. It grows with the cutoff and ignores the order above it.",
    needs=("classes",),
    averages="closed form",
)
def accuracy(lists: Judged, k: int | None) -> Ratio:
    """Whether the target is among the first k."""
    return Ratio.of(lists.hits(1 if k is None else k))


@metric(
    "Mean rank",
    formula="mean rank of the relevant items; undefined if any of them is not ranked",
    reading="The arithmetic mean of the ranks; 1 is best. A few very deep targets dominate it; "
    "median_rank and harmonic_mean_rank, which is 1 / mrr, are smaller.",
    use="Use it when every rank further down costs the same. It grows with the number of "
    "candidates; compare it only for the same number of candidates.",
    bounds=(1.0, np.inf),
    best="low",
    needs=("scores",),
    fixed=IN_UNITS,
    averages="closed form",
    cutoff="none",
)
def mean_rank(lists: Judged, k: int | None) -> Ratio:
    """Mean of the ranks of the relevant items."""
    ranks = lists.total(np.where(lists.hit, middle_rank(lists), 0.0))
    ranked = (lists.relevant > 0) & (lists.hits(None) == lists.relevant)
    return Ratio(ranks, lists.relevant).where(ranked)


def middle_rank(lists: Judged) -> Floats:
    """Return (rows,) the rank; with averaged ties, the mean of the ranks that the item may take."""
    return (lists.rank + (lists.rank if lists.last is None else lists.last)) / 2.0


def rank_counts(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count the relevant items at each rank; entry 0 counts those that are not ranked."""
    ranks = np.bincount(lists.rank[lists.hit & counts[lists.list]], minlength=1)
    ranks[0] = int(lists.relevant[counts].sum()) - ranks.sum()
    return {"ranks": ranks}


@count_metric(
    "Median rank",
    counts=rank_counts,
    formula="the rank that half of the relevant items of all lists reach; the mean of the two "
    "middle ranks if their number is even",
    reading="3 means that half of the targets are among the first 3. A target that is not ranked "
    "counts as infinitely deep.",
    use="Use it together with mrr for the typical case: neither top ranks nor very deep ones "
    "dominate it.",
    bounds=(1.0, np.inf),
    best="low",
    needs=("scores",),
    fixed=IN_UNITS,
    cutoff="none",
)
def median_rank(counts: Counts) -> float:
    """Median of the ranks of the relevant items."""
    ranks = counts["ranks"]
    size, upto = int(ranks.sum()), np.cumsum(ranks[1:])
    middle = np.searchsorted(upto, [(size - 1) // 2, size // 2], side="right")
    return float(middle.mean() + 1) if middle[1] < len(upto) else float("inf")


@metric(
    "Cross-entropy",
    formula="-ln(probability of the target), probabilities = softmax of the logits",
    reading="exp(-value) is the geometric mean of the targets' probabilities, see "
    "geometric_mean_probability. Guessing uniformly among C classes gives ln C; compare values "
    "only for the same classes. It does not measure calibration alone: sharper or better ordered "
    "probabilities lower it, too.",
    use="Use it as the loss that models are trained with, and when the probabilities themselves "
    "are used. One confident mistake can outweigh many good predictions. For large float32 logits "
    "it is computed in float32, to 1e-6; for all others in float64.",
    bounds=(0.0, np.inf),
    best="low",
    cite="gneiting2007strictly",
    needs=("logits",),
    fixed=IN_UNITS,
    averages="closed form",
    cutoff="none",
)
def cross_entropy(lists: Judged, k: int | None) -> Ratio:
    """Negative logarithm of the probability of the target."""
    has_target = lists.relevant > 0
    loss = _require_losses(lists, has_target)
    _require_finite(lists, has_target & np.isinf(loss))
    return Ratio.of(loss).where(has_target)


@metric(
    "Mean probability of the target",
    formula="probability of the target: softmax of the logits, 0 outside the classes",
    reading="0.3 means that the targets have a probability of 0.3 on average. It is never below "
    "geometric_mean_probability, which is exp(-cross_entropy).",
    use="Use it together with the loss: it is the expected accuracy of answers drawn from the "
    "probabilities, and single confident mistakes do not dominate it.",
    needs=("logits",),
    averages="closed form",
    cutoff="none",
)
def mean_probability(lists: Judged, k: int | None) -> Ratio:
    """Probability of the target."""
    has_target = lists.relevant > 0
    return Ratio.of(np.exp(-_require_losses(lists, has_target))).where(has_target)


def _require_losses(lists: Judged, has_target: Flags) -> Floats:
    """Return (lists,) the losses; raise an error if infinite logits leave one undefined."""
    require_chances(has_target & np.isnan(lists.loss))
    return lists.loss


def _require_finite(lists: Judged, infinite: Flags) -> None:
    """Raise an error if a target has probability 0: outside the classes, or a logit of
    -infinity."""
    single = lists.single
    outside = infinite & (single.target == single.classes)
    if outside.any():
        raise UnknownIds(
            f"the targets of {int(outside.sum())} of {lists.size} lists are outside the "
            f"{single.classes} classes (first: list {int(np.flatnonzero(outside)[0])}); their "
            "probability is 0 and their loss infinite.",
            "targets among the classes.",
            "set unknown_items='drop' to leave these lists out of every metric.",
        )
    if infinite.any():
        raise UndefinedValue(
            f"the targets of {int(infinite.sum())} of {lists.size} lists have the probability 0 "
            f"(first: list {int(np.flatnonzero(infinite)[0])}); their loss is infinite.",
            "logits above -infinity for all targets.",
            "use mean_probability, which counts such targets as 0.",
        )

"""Metrics of predicted probabilities: of classes (logits), or of relevance (scores from 0 to 1)."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats, totals
from rectitude.data.pairs import (
    binned,
    largest_gap,
    losses,
    mean_gap,
    probabilities,
    require_chances,
)
from rectitude.dense.chances import Chances
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.ratings import NO_LAW, POOLED
from rectitude.metrics.registry import Counts, Ratio, count_metric, metric

_BINS = "bins = {bins} equal parts of 0 to 1, each without its lower end"


@metric(
    "Brier score",
    formula="sum over classes of (probability - 1 if it is the target, else 0)^2, probabilities = "
    "softmax of the logits; a target outside the classes has the probability 0",
    reading="0 if the target always has the probability 1, 2 if another class has. Guessing among "
    "C classes has 1 - 1/C. Some tools report half of it.",
    use="Use it beside cross_entropy: it is as honest a score, and a confident mistake costs no "
    "more than 2.",
    cite="brier1950verification",
    bounds=(0.0, 2.0),
    best="low",
    needs=("chances",),
    fixed={"scale": "fraction"},
    averages="closed form",
    cutoff="none",
)
def brier(lists: Judged, k: int | None) -> Ratio:
    """Squared distance of the probabilities from the truth."""
    told = lists.relevant > 0
    sure = _chances(lists, told)
    return Ratio.of(np.maximum(sure.squares - 2 * sure.target + 1, 0.0)).where(told)


def first_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """How often the first class is right, and how often it should be, by its probability."""
    told = counts & (lists.relevant > 0)
    return binned(_chances(lists, told).top[told], lists.hits(1)[told], bins)


@count_metric(
    "Expected calibration error",
    counts=first_by_chance,
    formula="sum over bins of |rows whose first class is right - sum of its probabilities| / rows, "
    f"by the probability of the first class; {_BINS}",
    reading="0.05 means that the first class is right 5 percentage points more or less often than "
    "its probability says. It does not say how good the classes are: always predicting the shares "
    "of the classes has 0.",
    use="Use it beside accuracy where probabilities are shown or thresholds are set on them. It "
    "depends on the number of bins, and is above 0 by chance in small samples.",
    cite="guo2017calibration",
    best="low",
    breaks=NO_LAW,
    needs=("chances",),
    cutoff="none",
)
def expected_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far probabilities of first classes are from how often these are right, on average."""
    return mean_gap(counts)


@count_metric(
    "Maximum calibration error",
    counts=first_by_chance,
    formula="largest over bins of |rows whose first class is right - sum of its probabilities| / "
    f"rows of the bin, by the probability of the first class; {_BINS}",
    reading="0.3 means that in one bin the first class is right 30 percentage points more or less "
    "often than its probability says.",
    use="Use it where no confidence may be far off. A bin with few rows can decide it.",
    cite="guo2017calibration",
    best="low",
    breaks=NO_LAW,
    needs=("chances",),
    cutoff="none",
)
def max_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far probabilities of first classes are from how often these are right, at worst."""
    return largest_gap(counts)


@metric(
    "Brier score of relevance",
    formula="sum over pairs of (score - 1 if the item is relevant, else 0)^2 / number of pairs, "
    "over the judged items of all lists that have a score",
    reading="0 at best; whoever always predicts the share s of relevant pairs has s * (1 - s).",
    use="Use it for scores that are probabilities, such as of a click. The truth must hold both "
    "kinds: a row with grade 0 for what was shown and not clicked.",
    cite="brier1950verification",
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_brier(lists: Judged, k: int | None) -> Ratio:
    """Squared distance between the probability of relevance and what the truth says."""
    return Ratio(lists.total((_probability(lists) - lists.hit) ** 2), _pairs(lists))


@metric(
    "Log loss of relevance",
    formula="sum over pairs of -ln(probability of what the truth says) / number of pairs, over the "
    "judged items of all lists that have a score; probabilities from {least} to 1 - {least}",
    reading="0 at best; ln 2 = 0.69 for whoever always predicts 0.5. One confident mistake can "
    "outweigh many good answers.",
    use="Use it for scores that are probabilities, such as of a click, with both kinds in the "
    "truth. Set least=1e-15 to bound the cost of a probability of 0.",
    cite="gneiting2007strictly",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def log_loss(lists: Judged, k: int | None, *, least: float = 0.0) -> Ratio:
    """Minus the logarithm of the probability of what the truth says."""
    probability = np.clip(_probability(lists), least, 1 - least)
    told = np.where(lists.hit, probability, 1 - probability)
    return Ratio(lists.total(losses(told, lists.list)), _pairs(lists))


def pairs_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """How many judged items are relevant, and how many should be, by the predicted probability."""
    mine = counts[lists.list]
    return binned(_probability(lists)[mine], lists.hit[mine].astype(float), bins)


@count_metric(
    "Expected calibration error of relevance",
    counts=pairs_by_chance,
    formula="sum over bins of |relevant pairs - sum of their scores| / pairs, over the judged "
    f"items of all lists that have a score; {_BINS}",
    reading="0.05 means that items are relevant 5 percentage points more or less often than their "
    "scores say.",
    use="Use it for scores that are probabilities, such as of a click, beside auc: a model can "
    "order well and be far off, and the other way round.",
    cite="naeini2015obtaining",
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far scores are from the share of relevant items, on average."""
    return mean_gap(counts)


def _chances(lists: Judged, told: Flags) -> Chances:
    sure = needed(needed(lists.single, "classes").chances, "chances")
    require_chances(told & np.isnan(sure.top))
    return sure


def _probability(lists: Judged) -> Floats:
    return probabilities(needed(lists.score, "predicted"), lists.list)


def _pairs(lists: Judged) -> Floats:
    return totals(lists.list, lists.size)

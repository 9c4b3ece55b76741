"""Metrics of a classification: functions of three counts per class, which add up over batches.

`support` counts the lists whose target is the class, `predicted` those for which it is predicted,
`correct` those for which both hold. Predicted is the class put first; at a cutoff k it is the
target where that is among the first k. Targets outside the classes form one class more, the last.
"""

from __future__ import annotations

from math import fsum, sqrt
from operator import mul

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Classes
from rectitude.metrics.registry import Counts, count_metric


def class_counts(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Targets, predictions and matches of each class."""
    single = lists.single
    rows = np.flatnonzero(counts & (lists.relevant > 0))
    target, found = single.target[rows], lists.first[rows] <= (1 if k is None else k)
    predicted = np.where(found, target, single.top[rows])
    size = max(single.classes, int(max(target.max(initial=0), predicted.max(initial=0))) + 1)
    return {
        "support": np.bincount(target, minlength=size),
        "predicted": np.bincount(predicted, minlength=size),
        "correct": np.bincount(target[found], minlength=size),
    }


def _over(above: Integers, below: Integers) -> Floats:
    """A fraction per class; 0 where there is nothing to divide by."""
    return above / np.maximum(below, 1)


def _precisions(counts: Counts) -> Floats:
    return _over(counts["correct"], counts["predicted"])


def _recalls(counts: Counts) -> Floats:
    return _over(counts["correct"], counts["support"])


def _f1s(counts: Counts) -> Floats:
    return _over(2 * counts["correct"], counts["predicted"] + counts["support"])


def _size(counts: Counts) -> int:
    """How many lists were counted."""
    size = int(counts["support"].sum())
    if not size:
        raise NothingToEvaluate("no list that counts has a target.", "at least one target.")
    return size


def _weighted(values: Floats, counts: Counts) -> float:
    return fsum((values * counts["support"]).tolist()) / _size(counts)


def _mean(values: Floats, chosen: Flags) -> float:
    return fsum(values[chosen].tolist()) / int(chosen.sum())


def _macro(values: Floats, counts: Counts, class_average: Classes) -> float:
    _size(counts)
    targets, predictions = (counts[name].astype(np.float64) for name in ("support", "predicted"))
    return _mean(values, class_average(targets, predictions))


def _micro(counts: Counts) -> float:
    return int(counts["correct"].sum()) / _size(counts)


@count_metric(
    "Weighted F1",
    counts=class_counts,
    formula="sum over classes of (targets of the class / all targets) * 2 * correct / (targets + "
    "predictions), 0 for a class never predicted rightly",
    reading="High when the frequent classes are predicted well. It may lie below or above "
    "accuracy@1.",
    use="Use it to look at precision and recall of the classes users really meet. It does not "
    "protect rare classes: ignoring them costs next to nothing; macro_f1 counts every class alike.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_f1(counts: Counts) -> float:
    """Mean F1 of the classes, weighted by how often each is the target."""
    return _weighted(_f1s(counts), counts)


@count_metric(
    "Macro F1",
    counts=class_counts,
    formula="mean of 2 * correct / (targets + predictions) over classes: {class_average}; 0 for a "
    "class never predicted rightly",
    reading="A class with one target weighs as much as one with a thousand, so many rare classes "
    "that are never predicted pull it down.",
    use="Use it when rare classes matter as much as frequent ones. Say which classes were "
    "averaged: class_average=all counts those that never occur as 0.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_f1(counts: Counts, *, class_average: Classes) -> float:
    """Mean F1 of the classes, each counting alike."""
    return _macro(_f1s(counts), counts, class_average)


@count_metric(
    "Micro F1",
    counts=class_counts,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all this",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_f1(counts: Counts) -> float:
    """F1 of all predictions taken together."""
    return _micro(counts)


@count_metric(
    "Weighted precision",
    counts=class_counts,
    formula="sum over classes of (targets of the class / all targets) * correct / predictions, 0 "
    "for a class never predicted",
    reading="How far a prediction can be trusted, averaged over the targets' classes.",
    use="Use it with weighted_recall to see where weighted_f1 comes from.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_precision(counts: Counts) -> float:
    """Mean precision of the classes, weighted by how often each is the target."""
    return _weighted(_precisions(counts), counts)


@count_metric(
    "Macro precision",
    counts=class_counts,
    formula="mean of correct / predictions over classes: {class_average}; 0 for a class never "
    "predicted",
    reading="The precision of the classes, rare ones as much as frequent ones.",
    use="Use it with macro_recall to see where macro_f1 comes from.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_precision(counts: Counts, *, class_average: Classes) -> float:
    """Mean precision of the classes, each counting alike."""
    return _macro(_precisions(counts), counts, class_average)


@count_metric(
    "Micro precision",
    counts=class_counts,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all this",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_precision(counts: Counts) -> float:
    """Precision of all predictions taken together."""
    return _micro(counts)


@count_metric(
    "Weighted recall",
    counts=class_counts,
    formula="sum over classes of (targets of the class / all targets) * correct / targets, 0 for a "
    "class without targets",
    reading="Equals accuracy@1 (accuracy@k at a cutoff): the weights cancel the division by the "
    "targets.",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_recall(counts: Counts) -> float:
    """Mean recall of the classes, weighted by how often each is the target."""
    return _weighted(_recalls(counts), counts)


@count_metric(
    "Macro recall",
    counts=class_counts,
    formula="mean of correct / targets over classes: {class_average}; 0 for a class without "
    "targets",
    reading="The recall of the classes, rare ones as much as frequent ones. Classes that are only "
    "predicted count 0; balanced_accuracy leaves them out.",
    use="Use it when missing a rare class is as bad as missing a frequent one.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_recall(counts: Counts, *, class_average: Classes) -> float:
    """Mean recall of the classes, each counting alike."""
    return _macro(_recalls(counts), counts, class_average)


@count_metric(
    "Micro recall",
    counts=class_counts,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all this",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_recall(counts: Counts) -> float:
    """Recall of all predictions taken together."""
    return _micro(counts)


@count_metric(
    "Balanced accuracy",
    counts=class_counts,
    formula="mean of correct / targets over the classes that have targets",
    reading="Always predicting one class gives 1 / classes, however frequent that class is.",
    use="Use it in the place of accuracy when classes are unbalanced and all of them matter alike.",
    cite="brodersen2010balanced",
    needs=("classes",),
)
def balanced_accuracy(counts: Counts) -> float:
    """Mean recall of the classes that occur as targets."""
    _size(counts)
    return _mean(_recalls(counts), counts["support"] > 0)


@count_metric(
    "Matthews correlation coefficient",
    counts=class_counts,
    formula="(c * n - sum of t * p) / sqrt((n^2 - sum of p^2) * (n^2 - sum of t^2)), over classes "
    "with t targets and p predictions, n lists, c of them correct; 0 if that is 0/0",
    reading="1 for perfect predictions, 0 for predictions that tell nothing of the targets, such "
    "as always the same class; below 0 if they are worse than that.",
    use="Use it when accuracy looks good only because one class is frequent.",
    bounds=(-1.0, 1.0),
    cite="gorodkin2004comparing",
    needs=("classes",),
)
def mcc(counts: Counts) -> float:
    """Correlation between targets and predictions."""
    size, correct = _size(counts), int(counts["correct"].sum())
    targets, predictions = counts["support"].tolist(), counts["predicted"].tolist()
    spread = size**2 - _dot(predictions, predictions), size**2 - _dot(targets, targets)
    if not all(spread):
        return 0.0
    return (correct * size - _dot(targets, predictions)) / sqrt(spread[0] * spread[1])


def _dot(left: list[int], right: list[int]) -> int:
    return sum(map(mul, left, right))

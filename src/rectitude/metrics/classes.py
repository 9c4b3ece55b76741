"""Classification metrics: functions of three counts per class, which add up over batches.

`support` counts the lists whose target is the class, `predicted` those for which it is predicted,
`correct` those for which both hold. The predicted class is the one ranked first; at a cutoff k it
is the target if that is among the first k. Targets outside the classes form one extra class, the
last.
"""

from __future__ import annotations

from math import fsum, sqrt
from operator import mul

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Classes
from rectitude.metrics.registry import Counts, count_metric


def count_classes(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count targets, predictions and matches of each class."""
    single = lists.single
    rows = np.flatnonzero(counts & (lists.relevant > 0))
    target, is_hit = single.target[rows], lists.first[rows] <= (1 if k is None else k)
    predicted = np.where(is_hit, target, single.top[rows])
    size = max(single.classes, int(max(target.max(initial=0), predicted.max(initial=0))) + 1)
    return {
        "support": np.bincount(target, minlength=size),
        "predicted": np.bincount(predicted, minlength=size),
        "correct": np.bincount(target[is_hit], minlength=size),
    }


def _divide(above: Integers, below: Integers) -> Floats:
    """Return a fraction per class; 0 if its denominator is 0."""
    return above / np.maximum(below, 1)


def _precisions(counts: Counts) -> Floats:
    return _divide(counts["correct"], counts["predicted"])


def _recalls(counts: Counts) -> Floats:
    return _divide(counts["correct"], counts["support"])


def _f1s(counts: Counts) -> Floats:
    return _divide(2 * counts["correct"], counts["predicted"] + counts["support"])


def list_classes(counts: Counts) -> pl.DataFrame:
    """Return one row per class that is a target or predicted: its counts, precision, recall and F1.

    The precision of a class that is never predicted is null, and so is the recall of a class
    without targets: the averages take them as 0. Targets outside the classes are the last row,
    numbered after the classes.
    """
    classes = np.flatnonzero(counts["support"] + counts["predicted"])
    support, predicted, correct = (
        counts[name][classes] for name in ("support", "predicted", "correct")
    )
    with np.errstate(invalid="ignore"):  # 0/0 becomes null
        shares = {"precision": correct / predicted, "recall": correct / support}
        shares["f1"] = 2 * correct / (predicted + support)
    table = {"class": classes, "targets": support, "predicted": predicted, "correct": correct}
    series = [pl.Series(*named, nan_to_null=True) for named in {**table, **shares}.items()]
    return pl.DataFrame(series)  # arrays would start threads


def _count_lists(counts: Counts) -> int:
    """Return how many lists were counted."""
    size = int(counts["support"].sum())
    if not size:
        raise NothingToEvaluate(
            "none of the counted lists has a target.",
            "at least one list with a target.",
            "check that the truth and the predictions have the same keys.",
        )
    return size


def _average_weighted(values: Floats, counts: Counts) -> float:
    return _add(values * counts["support"]) / _count_lists(counts)


def _mean(values: Floats, chosen: Flags) -> float:
    return _add(values[chosen]) / int(chosen.sum())


def _add(values: Floats) -> float:
    """Return the sum of values, rounded once; most of many classes have the value 0."""
    return fsum(values[values != 0].tolist())


def _average_macro(values: Floats, counts: Counts, class_average: Classes) -> float:
    _count_lists(counts)
    targets, predictions = (counts[name].astype(np.float64) for name in ("support", "predicted"))
    return _mean(values, class_average(targets, predictions))


def _share_correct(counts: Counts) -> float:
    return int(counts["correct"].sum()) / _count_lists(counts)


@count_metric(
    "Weighted F1",
    counts=count_classes,
    breakdown=list_classes,
    formula="sum over classes of (targets of the class / all targets) * 2 * correct / (targets + "
    "predictions), 0 for a class that is never predicted correctly",
    reading="High if the frequent classes are predicted well. It can be below or above accuracy@1.",
    use="Use it to summarise precision and recall of the classes in proportion to how often they "
    "occur. It does not protect rare classes: ignoring them costs almost nothing. In macro_f1, "
    "every class has the same weight.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_f1(counts: Counts) -> float:
    """Mean F1 of the classes, weighted by how often each is the target."""
    return _average_weighted(_f1s(counts), counts)


@count_metric(
    "Macro F1",
    counts=count_classes,
    breakdown=list_classes,
    formula="mean of 2 * correct / (targets + predictions) over classes: {class_average}; 0 for a "
    "class that is never predicted correctly",
    reading="A class with one target weighs as much as one with a thousand: many rare classes that "
    "are never predicted pull it down.",
    use="Use it when rare classes matter as much as frequent ones. Report which classes were "
    "averaged: class_average=all counts classes that never occur as 0.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_f1(counts: Counts, *, class_average: Classes) -> float:
    """Mean F1 of the classes, all with the same weight."""
    return _average_macro(_f1s(counts), counts, class_average)


@count_metric(
    "Micro F1",
    counts=count_classes,
    breakdown=list_classes,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all equal",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_f1(counts: Counts) -> float:
    """F1 over all predictions pooled."""
    return _share_correct(counts)


@count_metric(
    "Weighted precision",
    counts=count_classes,
    breakdown=list_classes,
    formula="sum over classes of (targets of the class / all targets) * correct / predictions, 0 "
    "for a class that is never predicted",
    reading="How far predictions can be trusted, averaged over classes by how often each is the "
    "target.",
    use="Use it with weighted_recall to see where weighted_f1 comes from.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_precision(counts: Counts) -> float:
    """Mean precision of the classes, weighted by how often each is the target."""
    return _average_weighted(_precisions(counts), counts)


@count_metric(
    "Macro precision",
    counts=count_classes,
    breakdown=list_classes,
    formula="mean of correct / predictions over classes: {class_average}; 0 for a class that is "
    "never predicted",
    reading="The mean precision of the classes; rare classes weigh as much as frequent ones.",
    use="Use it with macro_recall to see where macro_f1 comes from.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_precision(counts: Counts, *, class_average: Classes) -> float:
    """Mean precision of the classes, all with the same weight."""
    return _average_macro(_precisions(counts), counts, class_average)


@count_metric(
    "Micro precision",
    counts=count_classes,
    breakdown=list_classes,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all equal",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_precision(counts: Counts) -> float:
    """Precision over all predictions pooled."""
    return _share_correct(counts)


@count_metric(
    "Weighted recall",
    counts=count_classes,
    breakdown=list_classes,
    formula="sum over classes of (targets of the class / all targets) * correct / targets, 0 for a "
    "class without targets",
    reading="Equals accuracy@1 (accuracy@k at a cutoff), because the weights cancel the division "
    "by the targets.",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def weighted_recall(counts: Counts) -> float:
    """Mean recall of the classes, weighted by how often each is the target."""
    return _average_weighted(_recalls(counts), counts)


@count_metric(
    "Macro recall",
    counts=count_classes,
    breakdown=list_classes,
    formula="mean of correct / targets over classes: {class_average}; 0 for a class without "
    "targets",
    reading="The mean recall of the classes; rare classes weigh as much as frequent ones. Classes "
    "that are predicted but never the target count as 0; balanced_accuracy leaves them out.",
    use="Use it when missing a rare class is as bad as missing a frequent one.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def macro_recall(counts: Counts, *, class_average: Classes) -> float:
    """Mean recall of the classes, all with the same weight."""
    return _average_macro(_recalls(counts), counts, class_average)


@count_metric(
    "Micro recall",
    counts=count_classes,
    breakdown=list_classes,
    formula="correct / all targets: with one target and one prediction per list, micro precision, "
    "recall and F1 are all equal",
    reading="Equals accuracy@1 (accuracy@k at a cutoff).",
    use="Use it to compare with reports that give it; otherwise use accuracy.",
    cite="sokolova2009systematic",
    needs=("classes",),
)
def micro_recall(counts: Counts) -> float:
    """Recall over all predictions pooled."""
    return _share_correct(counts)


@count_metric(
    "Balanced accuracy",
    counts=count_classes,
    breakdown=list_classes,
    formula="mean of correct / targets over the classes that have targets",
    reading="Always predicting the same class gives 1 / classes, no matter how frequent that class "
    "is.",
    use="Use it instead of accuracy when classes are unbalanced and all of them matter equally.",
    cite="brodersen2010balanced",
    needs=("classes",),
)
def balanced_accuracy(counts: Counts) -> float:
    """Mean recall of the classes that occur as targets."""
    _count_lists(counts)
    return _mean(_recalls(counts), counts["support"] > 0)


@count_metric(
    "Matthews correlation coefficient",
    counts=count_classes,
    breakdown=list_classes,
    formula="(c * n - sum of t * p) / sqrt((n^2 - sum of p^2) * (n^2 - sum of t^2)), over classes "
    "with t targets and p predictions, n lists, c of them correct; 0 if this is 0/0",
    reading="1 for perfect predictions; 0 for predictions that are unrelated to the targets, such "
    "as always the same class; below 0 if they are worse than that.",
    use="Use it when accuracy looks good only because one class is frequent.",
    bounds=(-1.0, 1.0),
    cite="gorodkin2004comparing",
    needs=("classes",),
)
def mcc(counts: Counts) -> float:
    """Correlation between targets and predictions."""
    size, correct = _count_lists(counts), int(counts["correct"].sum())
    targets, predictions = counts["support"].tolist(), counts["predicted"].tolist()
    spread = size**2 - _dot(predictions, predictions), size**2 - _dot(targets, targets)
    if not all(spread):
        return 0.0
    return (correct * size - _dot(targets, predictions)) / sqrt(spread[0] * spread[1])


def _dot(left: list[int], right: list[int]) -> int:
    return sum(map(mul, left, right))

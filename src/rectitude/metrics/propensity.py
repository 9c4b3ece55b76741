"""Accuracy that gives items the weight that they lacked in training."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.facts import Facts
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Hits by inverse propensity",
    formula="sum over hits in the top {k} of min(rows of train / rows of train with the item, "
    "{largest}); 0 for an item that train does not hold",
    reading="A hit on an item with 1% of the interactions counts 100. It has no upper limit, and "
    "few hits on rare items can make up most of it.",
    use="Use it beside the hit rate to see whether hits are more than popular items, on the "
    "assumption that what users come to see follows the popularity in train.",
    cite="yang2018unbiased",
    bounds=(0.0, np.inf),
    needs=("train", "met"),
)
def propensity_hits(
    lists: Judged, k: int | None, *, facts: Facts, largest: float = 10_000.0
) -> Ratio:
    """Hits, each weighted by how seldom training held the item."""
    met, train = needed(lists.met, "met"), needed(facts.train, "met")
    weight = np.minimum(train.height / np.maximum(met, 1), largest)
    return Ratio.of(lists.total(np.where(lists.hit & (met > 0), weight, 0.0), upto=k))

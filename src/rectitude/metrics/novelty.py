"""Accuracy that counts a hit for more the less known its item was in training."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, worth_of
from rectitude.metrics.facts import Facts
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


def _discounted(lists: Judged, k: int | None, values: Floats) -> Ratio:
    """Values of hits, discounted by rank, over the discounts of all places that hold an item."""
    places = np.arange(1, int(lists.returned_upto(k).max(initial=0)) + 1)
    whole = np.append(0.0, np.cumsum(1 / np.log2(places + 1)))
    below = whole[lists.returned_upto(k).astype(np.int64)]
    return Ratio(lists.total(values / np.log2(lists.rank + 1), upto=k), np.maximum(below, 1.0))


@metric(
    "Expected popularity complement",
    formula="sum over hits in the top {k} of gain * (1 - rows of train with the item, at least "
    "{least}, / users of train) / log2(rank + 1), divided by the same sum of 1 / log2(rank + 1) "
    "over all items; gain = {gain}",
    reading="Near 1 if all of the list is relevant and hardly known. It can be no higher than the "
    "discounted precision.",
    use="Use it to reward relevant items that are not popular anyway.",
    cite="vargas2011rank",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def epc(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 0.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times the share of users who had not met them."""
    known = np.maximum(needed(lists.met, "met"), least) / max(facts.trained, 1)
    return _discounted(lists, k, worth_of(lists, gain, gain_from)(lists.grade) * (1 - known))


@metric(
    "Expected free discovery",
    formula="sum over hits in the top {k} of gain * log2(rows of train / rows of train with the "
    "item, at least {least}) / log2(rank + 1), divided by the same sum of 1 / log2(rank + 1) over "
    "all items; gain = {gain}",
    reading="High if relevant items are rare in train; 10 bits stand for one row in 1,024.",
    use="Use it like epc where the difference between rare and very rare items matters.",
    cite="vargas2011rank",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def efd(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 1.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times the information in meeting them."""
    met, train = needed(lists.met, "met"), needed(facts.train, "met")
    bits = np.log2(max(train.height, 1) / np.maximum(met, least))
    return _discounted(lists, k, worth_of(lists, gain, gain_from)(lists.grade) * bits)


@metric(
    "Self-information",
    formula="mean over the items in the top {k} of log2(rows of train / rows of train with the "
    "item); one that train does not hold counts as if it had {least}, and 0 if that is 0",
    reading="10 bits mean that an item shown has one row of train in 1,024, on a logarithmic mean.",
    use="Use it to see how rare the items shown are, relevant or not; efd looks at hits, and "
    "inverse_user_frequency at users in the place of rows.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("shown", "stock", "train"),
)
def self_information(lists: Judged, k: int | None, *, least: float = 1.0) -> Ratio:
    """Mean information in drawing the items shown from train, in bits."""
    stock = needed(lists.stock, "shown")

    def bits() -> Floats:
        rows, every = np.maximum(stock.rows, least), max(len(stock.item), 1)
        return np.log2(every / np.where(rows > 0, rows, every))

    return Ratio(stock.total(("row bits", least), bits, lists.places), lists.length)

"""Metrics of the lists themselves, relevant or not: there at all, full, without repeats."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.choices import whole_k
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_LAWS: tuple[Law, ...] = ("perfect_is_best",)


@metric(
    "Filled places",
    formula="items in the top {k} / {k}; without a cutoff, 1 unless the list is empty",
    reading="0.8 means that a fifth of the places is empty.",
    use="Use it to see whether short lists are what makes a model poor.",
    cite="ge2010beyond",
    breaks=_LAWS,
)
def filled_share(lists: Judged, k: int | None) -> Ratio:
    """Share of the places of a list that hold an item."""
    return Ratio(lists.returned_upto(k), np.maximum(whole_k(lists, k), 1.0))


@metric(
    "Share of full lists",
    formula="1 if the list has at least {k} items, else 0; without a cutoff, at least one",
    reading="0.9 means that a tenth of the users see a shorter list than the cutoff asks for.",
    use="Use it beside means at a cutoff; full_lists is their number.",
    cite="ge2010beyond",
    breaks=_LAWS,
)
def full_list_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list is as long as the cutoff."""
    return Ratio.of((lists.returned >= (k or 1)).astype(np.float64))


@metric(
    "Share of covered users",
    formula="1 if the list holds an item, else 0",
    reading="0.95 means that 5% of the users are shown nothing.",
    use="Use it beside means that leave out users without a list; covered_users is their number.",
    cite="ge2010beyond",
    breaks=_LAWS,
)
def covered_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list holds an item."""
    return Ratio.of((lists.returned > 0).astype(np.float64))


@metric(
    "Share of unrepeated items",
    formula="different items in the top {k} / items in the top {k}; 1 if {whole} is not 0 and no "
    "item is repeated, else 0 then",
    reading="0.9 means that a tenth of what is shown was shown already, higher up in the list.",
    use="Use it with duplicates='counted'; other rules refuse lists with repeats, or keep the "
    "first of equals, and it is 1.",
    cite="ge2010beyond",
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("shown", "stock"),
)
def unrepeated_share(lists: Judged, k: int | None, *, whole: float = 0.0) -> Ratio:
    """Share of a list that is no repeat."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    ordered = np.sort(stock.listed[shown], axis=1)
    again = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(axis=1)
    many = (ordered >= 0).sum(axis=1)
    if whole:
        return Ratio((again == 0) * (many > 0).astype(float), (many > 0).astype(float))
    return Ratio((many - again).astype(float), many.astype(float))

"""Errors of a ranking of all labels: how deep one must look, and which pairs are out of order."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.auc import auc
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Coverage error",
    formula="rank of the last relevant item; undefined where one of them is not ranked",
    reading="12 means that a user must look at 12 items, on average, to have met everything "
    "relevant. At best it is the number of relevant items.",
    use="Use it when nothing relevant may be missed, as in tagging. One item far down decides it; "
    "mean_rank looks at all of them. It is no coverage of the catalogue.",
    cite="tsoumakas2010mining",
    bounds=(1.0, np.inf),
    best="low",
    needs=("scores",),
    fixed={"scale": "fraction"},
    cutoff="none",
)
def coverage_error(lists: Judged, k: int | None) -> Ratio:
    """How far down all relevant items are found."""
    last = np.zeros(lists.size)
    np.maximum.at(last, lists.list[lists.hit], lists.rank[lists.hit].astype(float))
    ranked = (lists.relevant > 0) & (lists.hits(None) == lists.relevant)
    return Ratio.of(last).where(ranked)


@metric(
    "Label ranking loss",
    formula="pairs of a relevant item and one that is not, with the relevant one below / all such "
    "pairs, among all candidates: 1 - auc",
    reading="0.1 means that 1 of 10 pairs is in the wrong order; 0 is best, guessing gives 0.5.",
    use="Use it to compare with scikit-learn's loss of that name, in which equal scores are a "
    "wrong order (ties=pessimistic).",
    cite="tsoumakas2010mining",
    best="low",
    needs=("scores",),
    averages="closed form",
    cutoff="none",
)
def label_ranking_loss(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs in which the relevant item stands below the other."""
    right = auc(lists, None)
    return Ratio(right.below - right.above, right.below)


@metric(
    "Fall-out",
    formula="items in the top {k} that are not relevant / all candidates that are not relevant",
    reading="0.02 at 10 means that 2% of all items that are not relevant are among the first 10. "
    "Lower is better, and it grows with the cutoff.",
    use="Use it beside recall, as the other axis of the ROC curve. In large catalogues it is near "
    "0 for every list.",
    cite="cleverdon1966factors",
    best="low",
    needs=("scores",),
    fixed={"without_relevant": "computed"},
    averages="closed form",
)
def fall_out(lists: Judged, k: int | None) -> Ratio:
    """Share of the items that are not relevant that were recommended."""
    others = needed(lists.candidates, "scores") - lists.hits(None)
    return Ratio(lists.returned_upto(k) - lists.hits(k), others)

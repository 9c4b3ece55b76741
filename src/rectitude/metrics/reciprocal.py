"""Reciprocal ranks of all hits, set against the best that the list could have."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Ideal, binary, every_hit, only_relevant, worth_of
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Normalised cumulative reciprocal rank",
    formula="sum over hits in the top {k} of 1 / rank / the same sum for the ideal list; "
    "ideal list = {ideal}",
    reading="1 when the relevant items come first. With one relevant item it is the reciprocal "
    "rank.",
    use="Use it as ndcg with a discount that falls faster: rank 2 counts half, rank 10 a tenth.",
)
def ncrr(lists: Judged, k: int | None, *, ideal: Ideal) -> Ratio:
    """One over the rank, added up over all hits, over the most that the truth allows."""
    worth = worth_of(lists, binary, only_relevant)
    return Ratio(every_hit(lists, k), ideal(lists, k, worth, reciprocal))


def reciprocal(ranks: Integers) -> Floats:
    """One over the rank."""
    weights: Floats = 1.0 / np.asarray(ranks, np.float64)
    return weights

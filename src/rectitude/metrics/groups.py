"""Metrics of how differently a model serves groups of users: functions of each group's mean.

`of` is any metric that is a mean over lists, at the same cutoff; `by` is a column of users=.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rectitude.errors import UndefinedValue
from rectitude.metrics.registry import derived_metric

Means = Mapping[str, float]


@derived_metric(
    "Gap between groups of users",
    of=(),
    formula="largest mean of {of} - smallest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and a group without a list that counts",
    reading="0.05 for ndcg means that the best served group has an NDCG 0.05 above the worst "
    "served. The ledger has the mean of each group.",
    use="Use it to see whom a model leaves behind. With many or small groups some gap is there by "
    "chance: a group with one user has that user's value for a mean, which the ledger warns of.",
    cite="ekstrand2018cool",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def group_gap(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """How far the means of the best and the worst served group of users are apart."""
    values = list(means.values())
    return float(np.max(values) - np.min(values))


@derived_metric(
    "Ratio between groups of users",
    of=(),
    formula="smallest mean of {of} / largest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and a group without a list that counts; 1 where "
    "all means are 0",
    reading="0.8 means that the worst served group has 80% of what the best served has; 1 if all "
    "groups are served alike. The ledger has the mean of each group.",
    use="Use it like group_gap, across metrics of different size; a rule of thumb from employment "
    "law takes less than 0.8 as a sign of disadvantage. For metrics that are never negative.",
    cite="ekstrand2018cool",
    needs=("users", "people"),
)
def group_ratio(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """What the worst served group of users has of the mean of the best served."""
    values = list(means.values())
    if np.min(values) < 0:
        raise UndefinedValue(
            f"a group of users has a mean of {np.min(values):g}, and a ratio of such means says "
            "nothing.",
            "a metric that is never negative.",
            "look at group_gap.",
        )
    return float(np.min(values) / np.max(values)) if np.any(values) else 1.0

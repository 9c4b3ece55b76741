"""Rating metrics of tools that mask by -infinity and add up whole rows: one masked item, and the
row has no value."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.ratings import BY_LIST, NO_LAW, errors, root
from rectitude.metrics.registry import Ratio, metric

_NEEDS = ("predicted", "scores", "unseen")
_WHERE = (
    "pairs with a grade above 0, whatever the cutoff; 0/0 for a list of which train holds an item"
)
_READING = "Where users have anything in train it is undefined: only runs without train have one."


@metric(
    "Mean absolute error of rows without train",
    formula=f"mean over lists of the mean of |score - grade| over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_mae, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mae(lists: Judged, k: int | None) -> Ratio:
    """Mean absolute error of each list, undefined if train holds anything of it."""
    return _unmasked(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error of rows without train",
    formula=f"mean over lists of the mean of (score - grade)^2 over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_mse, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared error of each list, undefined if train holds anything of it."""
    return _unmasked(lists, errors(lists) ** 2)


@metric(
    "Root mean squared error of rows without train",
    formula=f"mean over lists of the square root of its mean of (score - grade)^2 over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_rmse, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_rmse(lists: Judged, k: int | None) -> Ratio:
    """Root mean squared error of each list, undefined if train holds anything of it."""
    return root(unmasked_mse(lists, k))


def _unmasked(lists: Judged, values: Floats) -> Ratio:
    unseen, candidates = needed(lists.unseen, "unseen"), needed(lists.candidates, "scores")
    given = lists.grade > 0
    whole = Ratio(lists.total(np.where(given, values, 0.0)), lists.total(given.astype(float)))
    return whole.where(unseen >= candidates)

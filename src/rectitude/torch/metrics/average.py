"""From values of users to one number, by the exact sums that all evaluations use."""

from __future__ import annotations

import math

from torch import Tensor

from rectitude.aggregate.state import state_of


def mean_of(values: Tensor) -> float:
    """The mean without NaN; NaN where nothing else is there. A single number is its own mean."""
    found = values.detach().double().cpu().reshape(-1).numpy()
    there = found[~(found != found)]  # noqa: PLR0124  NaN is what differs from itself
    return state_of(there).value if len(there) else math.nan

"""The steps by name, as recipes call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rectitude.data.log import Log
from rectitude.prepare.choosing import (
    earliest,
    in_intervals,
    latest,
    popular_items,
    recent_items,
    sample_users,
)
from rectitude.prepare.counting import (
    between,
    cold_users,
    items_per_user,
    k_core,
    n_filter,
    users_per_item,
)
from rectitude.prepare.grading import grade_range, threshold
from rectitude.prepare.repeats import consecutive, deduplicate
from rectitude.prepare.sorting import sort_rows
from rectitude.prepare.timing import first_days, last_days, session_gap, time_window

Step = Callable[..., Log]

STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        deduplicate,
        consecutive,
        threshold,
        grade_range,
        in_intervals,
        n_filter,
        k_core,
        between,
        items_per_user,
        users_per_item,
        cold_users,
        popular_items,
        recent_items,
        latest,
        earliest,
        time_window,
        last_days,
        first_days,
        session_gap,
        sample_users,
        sort_rows,
    )
}

"""Numbers that no split or step can follow are refused at once."""

from __future__ import annotations

from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadArgument

LOG = {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 3], "timestamp": [1, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("random_ratio", {"repeats": 10**12}),
        ("random_ratio", {"minimum": 10**400}),
        ("random_ratio", {"seed": float("nan")}),
        ("leave_random", {"repeats": 10**12}),
        ("leave_last", {"folds": 10**12}),
        ("leave_last", {"n": 10**12}),
        ("windows", {"span": 1, "folds": 10**12}),
        ("next_after", {"t": 1, "n": 10**12}),
    ],
)
def test_absurd_numbers_of_splits_are_refused(how: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match=r"at most|from -2\^63 to 2\^63"):
        rt.split(LOG, how, **options)


@pytest.mark.parametrize(
    "step",
    [
        {"step": "time_window", "start": 10**400},
        {"step": "session_gap", "gap": 10**400},
        {"step": "last_days", "n": 1e300},
        {"step": "first_days", "n": float("nan")},
        {"step": "first_days", "n": 1e15},
    ],
)
def test_absurd_numbers_of_steps_are_refused(step: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match=r"a number from"):
        rt.prepare(LOG, [step])

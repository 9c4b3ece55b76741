"""What a reader should know before trusting a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rectitude.comparing.pairing import Pair
from rectitude.comparing.significance import all_flips, constant
from rectitude.tables import number

_FEW = 20
"""fewer users show little"""
_FEW_TO_DRAW = 100
"""bootstrap intervals of fewer are too narrow where most values are 0: 95% ones of 50 hold 92%"""


def same_models(paired: Sequence[Pair]) -> list[str]:
    """Models that differ for no user, in no metric."""
    moved: dict[tuple[str, str], bool] = {}
    for one in paired:
        names = one.model, one.baseline
        moved[names] = moved.get(names, False) or bool(one.difference.any())
    return [
        f"{model} and {baseline} have the same values for every user: are they the same model?"
        for (model, baseline), any_moved in moved.items()
        if not any_moved
    ]


def single_differences(
    paired: Sequence[Pair],
    values: Mapping[str, Mapping[str, float]],
    scales: Mapping[str, float],
    test: str,
) -> list[str]:
    """Differences without spread, and numbers that are no means of users."""
    notes = []
    for one in paired:
        told = f"{one.metric} of {one.model} and {one.baseline}"
        mean = float(one.difference.mean())
        if mean and constant(one.difference):
            p = ": t has nothing to divide by, and p is that of sign flips" if test == "t" else ""
            notes.append(f"{told}: all users differ by the same{p}.")
        apart = values[one.metric][one.model] - values[one.metric][one.baseline]
        scale = scales[one.metric]
        if not abs(scale * mean - apart) <= 1e-6 * scale:
            notes.append(
                f"{told}: their numbers differ by {number(apart)}, and by {scale * mean:.4f} in "
                "the mean of the users compared, which is tested."
            )
    return notes


def too_few(
    paired: Sequence[Pair], test: str, interval: str, limits: tuple[float, int, int]
) -> list[str]:
    """Where so few users or draws cannot say much; limits are alpha, tests and resamples."""
    users = min(len(one.one) for one in paired)
    notes = [f"{users} users are few: a difference must be large to show."] if users < _FEW else []
    if interval != "t" and users < _FEW_TO_DRAW:
        notes.append(f"intervals by bootstrap of {users} users tend to be too narrow; t is safer.")
    alpha, tests, resamples = limits
    least = min(_least(one, test, resamples) for one in paired)
    if least >= alpha:
        many = max(_moved(one) for one in paired) if test == "wilcoxon" else users
        who = "users that differ" if test == "wilcoxon" else "users"
        notes.append(
            f"{test} of {many} {who} cannot have a p below {least:.4f}: nothing can be apart."
        )
    elif tests * least >= alpha and test == "sign_flip":
        notes.append(
            f"{resamples:,} flips cannot have a p below {least:.4f}, which may not be small enough "
            f"for {tests} tests: more resamples can."
        )
    return notes


def _least(one: Pair, test: str, resamples: int) -> float:
    """The smallest p that a test of so many users can have."""
    if test == "wilcoxon":
        return min(1.0, 2.0 ** (1 - _moved(one)))
    if test != "sign_flip":
        return 0.0
    users = len(one.one)
    return 2.0 ** (1 - users) if all_flips(users, resamples) else 1 / (resamples + 1)


def _moved(one: Pair) -> int:
    """How many users differ."""
    return int(np.count_nonzero(one.difference))

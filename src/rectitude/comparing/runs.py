"""Several runs of a model: which part of a difference's variance is users, and which is runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import BadTable


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of differences by its sources, and the error of their mean over both."""

    users: float
    runs: float
    rest: float
    """what is neither: how much runs differ from user to user"""
    error: float
    """the standard error of the mean difference, for other users and other runs"""


def components(by_run: Floats) -> Components | None:
    """The components of differences (users, runs), by the mean squares of two random factors.

    None if there are fewer than two users or runs. A component that comes out negative is 0.
    """
    users, runs = by_run.shape
    if min(users, runs) < 2:
        return None
    if np.isnan(by_run).any():
        raise BadTable("some users are not in every run.", "every user in every run.")
    mean = by_run.mean()
    of_users, of_runs = by_run.mean(axis=1), by_run.mean(axis=0)
    rest = by_run - of_users[:, None] - of_runs + mean
    square_users = runs * float(((of_users - mean) ** 2).sum()) / (users - 1)
    square_runs = users * float(((of_runs - mean) ** 2).sum()) / (runs - 1)
    square_rest = float((rest**2).sum()) / ((users - 1) * (runs - 1))
    by_user = max(0.0, (square_users - square_rest) / runs)
    by_seed = max(0.0, (square_runs - square_rest) / users)
    error = math.sqrt(by_user / users + by_seed / runs + square_rest / (users * runs))
    return Components(by_user, by_seed, square_rest, error)

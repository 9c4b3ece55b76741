"""Vectors of users and items that are learnt: iALS and BPR, by the package `implicit`.

They learn on one thread and from a seed, so that they give the same numbers again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import MissingExtra
from rectitude.models.matrix import Matrix, UserProfiles
from rectitude.models.ranking import Products
from rectitude.models.registry import Learnt, Progress, anything_known, model
from rectitude.options import require_from
from rectitude.parallel import one_thread


@model("ials", fold_in="scored", without=("rest",))
def ials(
    train: Matrix,
    *,
    factors: int = 64,
    regularisation: float = 10.0,
    alpha: float = 1.0,
    iterations: int = 15,
    seed: int = 0,
    progress: Progress | None = None,
) -> Learnt:
    """Implicit alternating least squares: a pair that was met weighs `alpha` times what it weighs.

    Users of whom there is a history are solved for with the vectors of items as they are. Hu, Koren
    and Volinsky, ICDM 2008.
    """
    require_from(factors, "factors")
    require_from(iterations, "iterations")
    make = partial(_of_implicit("als").AlternatingLeastSquares, alpha=alpha)
    users, items = _learnt(make, train, progress, factors, regularisation, iterations, seed)
    with one_thread():
        known = items.T @ items + regularisation * np.eye(items.shape[1])

    def score(profiles: UserProfiles) -> Products:
        left = _rows(users, profiles.number)
        with one_thread():
            for place in np.flatnonzero(profiles.shown):
                left[place] = _solved(profiles, int(place), items, known, alpha)
        return Products(left, items)

    def knows(profiles: UserProfiles) -> Flags:
        return (profiles.number >= 0) | anything_known(profiles)

    return Learnt(score, knows=knows)


@model("bpr", fold_in="unknown", without=("rest", "weights"))
def bpr(
    train: Matrix,
    *,
    factors: int = 64,
    learning_rate: float = 0.01,
    regularisation: float = 0.01,
    iterations: int = 100,
    seed: int = 0,
    progress: Progress | None = None,
) -> Learnt:
    """Bayesian personalised ranking: vectors that put what a user had before what he had not.

    Only users of train have a vector. Rendle and others, UAI 2009.
    """
    require_from(factors, "factors")
    require_from(iterations, "iterations")
    make = partial(_of_implicit("bpr").BayesianPersonalizedRanking, learning_rate=learning_rate)
    users, items = _learnt(make, train, progress, factors, regularisation, iterations, seed)
    return Learnt(
        lambda profiles: Products(_rows(users, profiles.number), items),
        knows=lambda profiles: profiles.number >= 0,
    )


def _of_implicit(part: str) -> Any:
    """A module of `implicit`, imported on first use."""
    try:
        return import_module(f"implicit.cpu.{part}")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the model needs the package {error.name!r}, which is not installed.",
            advice="install it with: pip install 'rectitude[baselines]'",
        ) from error


def _learnt(
    make: Callable[..., Any],
    train: Matrix,
    progress: Progress | None,
    factors: int,
    regularisation: float,
    iterations: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """The vectors of users and of items."""
    from scipy.sparse import csr_matrix

    def told(done: int, *_: object) -> None:
        if progress is not None:
            progress(done + 1, iterations)

    with one_thread():
        learner = make(
            factors=factors, regularization=regularisation, iterations=iterations,
            dtype=np.float64, random_state=seed, num_threads=1,
        )  # fmt: skip
        learner.fit(csr_matrix(train.weighted), show_progress=False, callback=told)
    users, items = (np.asarray(v, np.float64) for v in (learner.user_factors, learner.item_factors))
    return users, items


def _rows(vectors: Floats, number: Integers) -> Floats:
    """The vectors of users; zeros for a user who has none."""
    return np.where(number[:, None] >= 0, vectors[number], 0.0)


def _solved(
    profiles: UserProfiles, place: int, items: Floats, known: Floats, alpha: float
) -> Floats:
    """The vector that fits a profile best, the vectors of items being what they are."""
    begin, end = profiles.rows.indptr[place : place + 2]
    mine = items[profiles.rows.indices[begin:end]]
    weight = alpha * profiles.rows.data[begin:end]
    left = known + mine.T @ (mine * (weight - 1.0)[:, None])
    return np.linalg.solve(left, mine.T @ weight).astype(np.float64)

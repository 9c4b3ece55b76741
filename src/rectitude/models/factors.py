"""Matrix factorisation: iALS and BPR, by the package `implicit`.

Both learn on one thread and from a seed, so that results can be reproduced.
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
    """Implicit alternating least squares: interactions have `alpha` times their weight.

    For users with a history, the vector is solved again with fixed item vectors. Hu, Koren and
    Volinsky, ICDM 2008.
    """
    require_from(factors, "factors")
    require_from(iterations, "iterations")
    make = partial(_import_implicit("als").AlternatingLeastSquares, alpha=alpha)
    users, items = _learn(make, train, progress, factors, regularisation, iterations, seed)
    with one_thread():
        gram = items.T @ items + regularisation * np.eye(items.shape[1])

    def score(profiles: UserProfiles) -> Products:
        vectors = _select_vectors(users, profiles.number)
        with one_thread():
            for position in np.flatnonzero(profiles.shown):
                vectors[position] = _solve(profiles, int(position), items, gram, alpha)
        return Products(vectors, items)

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
    """Bayesian personalised ranking: vectors that rank a user's items above all others.

    Only users in the training data have a vector. Rendle and others, UAI 2009.
    """
    require_from(factors, "factors")
    require_from(iterations, "iterations")
    make = partial(_import_implicit("bpr").BayesianPersonalizedRanking, learning_rate=learning_rate)
    users, items = _learn(make, train, progress, factors, regularisation, iterations, seed)
    return Learnt(
        lambda profiles: Products(_select_vectors(users, profiles.number), items),
        knows=lambda profiles: profiles.number >= 0,
    )


def _import_implicit(module: str) -> Any:
    """Return a module of `implicit`, imported on first use."""
    try:
        return import_module(f"implicit.cpu.{module}")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the model needs the package {error.name!r}, which is not installed.",
            advice="pip install 'rectitude[baselines]'",
        ) from error


def _learn(
    make: Callable[..., Any],
    train: Matrix,
    progress: Progress | None,
    factors: int,
    regularisation: float,
    iterations: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Return the learnt vectors of users and of items."""
    from scipy.sparse import csr_matrix

    def report(done: int, *_: object) -> None:
        if progress is not None:
            progress(done + 1, iterations)

    with one_thread():
        learner = make(
            factors=factors, regularization=regularisation, iterations=iterations,
            dtype=np.float64, random_state=seed, num_threads=1,
        )  # fmt: skip
        learner.fit(csr_matrix(train.weighted), show_progress=False, callback=report)
    users, items = (np.asarray(v, np.float64) for v in (learner.user_factors, learner.item_factors))
    return users, items


def _select_vectors(vectors: Floats, number: Integers) -> Floats:
    """Return the vectors of users; zeros for a user who has none."""
    return np.where(number[:, None] >= 0, vectors[number], 0.0)


def _solve(
    profiles: UserProfiles, position: int, items: Floats, gram: Floats, alpha: float
) -> Floats:
    """Return the vector that fits a profile best for fixed item vectors."""
    begin, end = profiles.rows.indptr[position : position + 2]
    vectors = items[profiles.rows.indices[begin:end]]
    weight = alpha * profiles.rows.data[begin:end]
    left = gram + vectors.T @ (vectors * (weight - 1.0)[:, None])
    return np.linalg.solve(left, vectors.T @ weight).astype(np.float64)

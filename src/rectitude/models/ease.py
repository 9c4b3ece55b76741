"""EASE: a linear item-to-item model with a closed-form solution."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import BadArgument
from rectitude.memory import free_memory
from rectitude.models.matrix import Matrix
from rectitude.models.registry import Learnt, model
from rectitude.options import require_from
from rectitude.parallel import note, one_thread

_MATRICES = 3
"""How many (items x items) matrices are in memory while one is inverted."""
_GIB = 2**30


@model("ease", fold_in="scored", without=("rest",))
def ease(train: Matrix, *, regularisation: float = 250.0, memory: float | None = None) -> Learnt:
    """Embarrassingly shallow autoencoder: item-to-item weights by ridge regression.

    All pairs of items are held in memory. A catalogue that needs more than `memory` GiB (default:
    80% of the free memory) is refused. Steck, WWW 2019.
    """
    require_from(regularisation, "regularisation", 1e-9)
    _require_memory(len(train.items), memory)
    with one_thread():
        weights = _solve(train, regularisation)
    return Learnt(lambda profiles: np.asarray(profiles.rows @ weights), note=note())


def _solve(train: Matrix, regularisation: float) -> Floats:
    """Return (items x items) the weight of each item of a profile for each item."""
    from scipy.linalg import lapack

    rows = train.weighted
    gram = (rows.T @ rows).toarray()
    gram[np.diag_indices(len(gram))] += regularisation
    factor, failed = lapack.dpotrf(gram.T, lower=True, overwrite_a=True)
    inverse, failed_inverse = lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed or failed_inverse:
        raise BadArgument(
            f"the matrix of the {len(gram):,} training items could not be inverted.",
            advice="choose a larger regularisation.",
        )
    weights: Floats = np.tril(inverse, -1)
    weights += weights.T
    weights /= -np.diag(inverse)
    return weights


def _require_memory(items: int, memory: float | None) -> None:
    needed = _MATRICES * 8 * items**2 / _GIB
    available = 0.8 * free_memory() / _GIB if memory is None else memory
    if needed > available:
        raise BadArgument(
            f"ease needs {needed:,.1f} GiB for {items:,} items, but may use {available:,.1f} GiB.",
            f"at most {int((available * _GIB / 8 / _MATRICES) ** 0.5):,} items.",
            "remove rare items first (steps k_core or popular_items), or use item-knn, which only"
            " keeps the nearest neighbours.",
        )

"""EASE: a linear model of items from items, solved in one step."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import NothingToEvaluate
from rectitude.models.matrix import Matrix
from rectitude.models.registry import Learnt, model
from rectitude.options import require_from
from rectitude.parallel import note, one_thread

_MATRICES = 3
"""Matrices of items by items that are held at a time while one is inverted."""
_GIB = 2**30


@model("ease", fold_in="scored", without=("rest",))
def ease(train: Matrix, *, regularisation: float = 250.0, memory: float | None = None) -> Learnt:
    """Embarrassingly shallow autoencoder: weights of items from items by ridge regression.

    All pairs of items are held in memory: a catalogue for which that is more than `memory` (GiB;
    four fifths of what is free unless given) is refused. Steck, WWW 2019.
    """
    require_from(regularisation, "regularisation", 1e-9)
    _require_room(len(train.items), memory)
    with one_thread():
        weights = _solved(train, regularisation)
    return Learnt(lambda profiles: np.asarray(profiles.rows @ weights), note=note())


def _solved(train: Matrix, regularisation: float) -> Floats:
    """(items x items) the weight of each item of a profile for each item."""
    from scipy.linalg import lapack

    rows = train.weighted
    gram = (rows.T @ rows).toarray()
    gram[np.diag_indices(len(gram))] += regularisation
    factor, wrong = lapack.dpotrf(gram.T, lower=True, overwrite_a=True)
    inverse, also = lapack.dpotri(factor, lower=True, overwrite_c=True)
    if wrong or also:
        raise NothingToEvaluate(
            f"the {len(gram):,} items of train give no matrix that can be inverted.",
            advice="choose a larger regularisation.",
        )
    weights: Floats = np.tril(inverse, -1)
    weights += weights.T
    weights /= -np.diag(inverse)
    return weights


def _require_room(items: int, memory: float | None) -> None:
    needed = _MATRICES * 8 * items**2 / _GIB
    there = 0.8 * free_memory() / _GIB if memory is None else memory
    if needed > there:
        raise NothingToEvaluate(
            f"ease needs {needed:,.1f} GiB for {items:,} items, and may use {there:,.1f} GiB.",
            f"at most {int((there * _GIB / 8 / _MATRICES) ** 0.5):,} items.",
            "drop rare items first (the steps k_core or popular_items), or take item-knn, which"
            " holds only the nearest.",
        )


def free_memory() -> int:
    """Bytes that may still be used: of the machine, or of the container if it has a limit."""
    bounds = []
    info = Path("/proc/meminfo")
    if info.exists():
        fields = dict(line.split(":", 1) for line in info.read_text().splitlines())
        bounds.append(int(fields.get("MemAvailable", "0").split()[0]) * 1024)
    limit, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if limit.exists() and used.exists() and limit.read_text().strip().isdigit():
        bounds.append(int(limit.read_text()) - int(used.read_text()))
    if not bounds:
        names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
        pages = os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in names else 0
        bounds.append(pages * os.sysconf("SC_PAGE_SIZE") // 2 if pages else 4 * _GIB)
    return max(min(bounds), 0)

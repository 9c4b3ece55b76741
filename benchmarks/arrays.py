"""Synthetic score matrices, logits and embeddings as .npy files, from a fixed seed.

    python benchmarks/arrays.py dense 3706 27000     # or: logits 10000, embeddings 20000

They go to `benchmarks/_data/<kind>-<size>`. No relevant item ties with another of its row, so
that every order of ties gives the same values, and no item is both relevant and seen in training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lists import DATA

RELEVANT, TRAIN = 10, 100
VECTOR = 64
EMBEDDED_ITEMS = 100_000
BLOCK = 1 << 24  # scores made at a time

Array = NDArray[Any]

DENSE = {
    "3706": (10_000, 3_706),
    "27000": (10_000, 27_000),
    "100000": (10_000, 100_000),
    "1000000": (1_000, 1_000_000),  # 10,000 users would take 40 GB
}
LOGITS = {"1000": (20_000, 1_000), "10000": (20_000, 10_000)}
EMBEDDINGS = {"20000": 20_000, "1000000": 1_000_000}


@dataclass(frozen=True)
class Pairs:
    """Items per user, as the two index arrays of a compressed sparse matrix."""

    starts: Array
    items: Array

    def head(self, users: int) -> Pairs:
        """The first users only."""
        return Pairs(self.starts[: users + 1], self.items[: self.starts[users]])

    def matrix(self, shape: tuple[int, ...]) -> Any:
        """As a SciPy matrix of ones."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.items), np.float32)
        return csr_matrix((ones, self.items, self.starts), shape=shape)


@dataclass(frozen=True)
class Dense:
    """A score for every user and item, the relevant items and the training items."""

    array: Array
    truth: Pairs
    train: Pairs

    def head(self, users: int) -> Dense:
        """The first users only."""
        return Dense(self.array[:users], self.truth.head(users), self.train.head(users))


@dataclass(frozen=True)
class Classes:
    """A logit for every row and class, and each row's target."""

    array: Array
    targets: Array

    def head(self, rows: int) -> Classes:
        """The first rows only."""
        return Classes(self.array[:rows], self.targets[:rows])


def folder(kind: str, size: str) -> Path:
    """Where the arrays of one kind and size live."""
    return DATA / f"{kind}-{size}"


def load_dense(size: str) -> Dense:
    """Scores, truth and training items, in memory."""
    named = _loaded("dense", size)
    truth, train = (
        Pairs(named[f"{name}_starts"], named[f"{name}_items"]) for name in ("truth", "train")
    )
    return Dense(named["scores"], truth, train)


def load_logits(size: str) -> Classes:
    """Logits and targets, in memory."""
    named = _loaded("logits", size)
    return Classes(named["logits"], named["targets"])


def load_embeddings(size: str) -> tuple[Array, Array, Pairs]:
    """Vectors of the users and of the items, and the relevant items, in memory."""
    named = _loaded("embeddings", size)
    pairs = Pairs(named["truth_starts"], named["truth_items"])
    return named["users"], named["items"], pairs


def make_dense(size: str, target: Path) -> None:
    """Popular items, relevant items and above all training items score higher than others."""
    users, items = DENSE[size]
    random = np.random.default_rng(11)
    truth, train = _distinct(random, users, items, RELEVANT), _distinct(random, users, items, TRAIN)
    popular = 2 / (1 + random.permutation(items).astype(np.float32)) ** 0.3
    scores = np.lib.format.open_memmap(target / "scores.npy", "w+", np.float32, (users, items))
    for start, stop in _blocks(users, items):
        block = random.standard_normal((stop - start, items), dtype=np.float32) + popular
        rows = np.arange(stop - start)[:, None]
        block[rows, train[start:stop]] += np.float32(1.5)
        bonus = random.gamma(1.2, 1.6, (stop - start, RELEVANT))
        block[rows, truth[start:stop]] += bonus.astype(np.float32)
        _untie(block, truth[start:stop])
        scores[start:stop] = block
    scores.flush()
    keys = [np.arange(users)[:, None] * items + chosen for chosen in (truth, train)]
    _save_pairs(target, "train", train, ~np.isin(keys[1], keys[0]))
    _save_pairs(target, "truth", truth, np.ones(truth.shape, bool))


def make_logits(size: str, target: Path) -> None:
    """Few classes are frequent, and the target's logit is mostly among the largest."""
    rows, classes = LOGITS[size]
    random = np.random.default_rng(13)
    targets = np.minimum(random.zipf(1.3, rows) - 1, classes - 1).astype(np.int64)
    logits = np.lib.format.open_memmap(target / "logits.npy", "w+", np.float32, (rows, classes))
    for start, stop in _blocks(rows, classes):
        block = random.standard_normal((stop - start, classes), dtype=np.float32) * 2
        bonus = random.gamma(2.0, 3.0, stop - start).astype(np.float32)
        block[np.arange(stop - start), targets[start:stop]] += bonus
        _untie(block, targets[start:stop, None])
        logits[start:stop] = block
    logits.flush()
    np.save(target / "targets.npy", targets)


def make_embeddings(size: str, target: Path) -> None:
    """A user's vector leans towards the sum of the relevant items' vectors."""
    users, items = EMBEDDINGS[size], EMBEDDED_ITEMS
    random = np.random.default_rng(17)
    scale = np.float32(VECTOR**-0.5)
    item_vectors = random.standard_normal((items, VECTOR), dtype=np.float32) * scale
    truth = _distinct(random, users, items, RELEVANT)
    vectors = np.lib.format.open_memmap(target / "users.npy", "w+", np.float32, (users, VECTOR))
    for start, stop in _blocks(users, RELEVANT * VECTOR):
        noise = random.standard_normal((stop - start, VECTOR), dtype=np.float32) * (2 * scale)
        vectors[start:stop] = item_vectors[truth[start:stop]].sum(axis=1) + noise
    vectors.flush()
    np.save(target / "items.npy", item_vectors)
    _save_pairs(target, "truth", truth, np.ones(truth.shape, bool))


MAKERS: dict[str, tuple[Callable[[str, Path], None], dict[str, Any]]] = {
    "dense": (make_dense, DENSE),
    "logits": (make_logits, LOGITS),
    "embeddings": (make_embeddings, EMBEDDINGS),
}


def ensure(kind: str, size: str) -> None:
    """Write one data set, unless it is there already."""
    target = folder(kind, size)
    if (target / "done").is_file():
        return
    print(f"making {DATA.name}/{target.name}", file=sys.stderr, flush=True)
    target.mkdir(parents=True, exist_ok=True)
    make, _ = MAKERS[kind]
    make(size, target)
    (target / "done").touch()


def _loaded(kind: str, size: str) -> dict[str, Array]:
    """Every array of a data set, by the name of its file."""
    return {path.stem: np.load(path) for path in sorted(folder(kind, size).glob("*.npy"))}


def _distinct(random: np.random.Generator, users: int, items: int, count: int) -> Array:
    """Distinct items for every user, in order: one from each of `count` equal parts."""
    edges = np.linspace(0, items, count + 1).astype(np.int64)
    chosen = edges[:-1] + random.random((users, count)) * np.diff(edges)
    return chosen.astype(np.int32)


def _blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Row ranges of about `BLOCK` elements."""
    height = max(1, BLOCK // columns)
    return [(start, min(rows, start + height)) for start in range(0, rows, height)]


def _untie(block: Array, columns: Array) -> None:
    """Raise the named scores, one float at a time, until each differs from its row's others."""
    rows = np.arange(len(block))
    tied = True
    while tied:
        tied = False
        for column in columns.T:
            named = block[rows, column]
            equal = (block == named[:, None]).sum(axis=1) > 1
            block[rows[equal], column[equal]] = np.nextafter(named[equal], np.float32(np.inf))
            tied |= bool(equal.any())


def _save_pairs(target: Path, name: str, items: Array, kept: Array) -> None:
    """Write the kept items of every user as starts and items."""
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    np.save(target / f"{name}_starts.npy", starts)
    np.save(target / f"{name}_items.npy", items[kept])


def main() -> int:
    """Command line."""
    kind, *sizes = sys.argv[1:] or [""]
    known = MAKERS.get(kind, (None, {}))[1]
    if not sizes or not set(sizes) <= set(known):
        print(__doc__, file=sys.stderr)
        return 2
    for size in sizes:
        ensure(kind, size)
    return 0


if __name__ == "__main__":
    sys.exit(main())

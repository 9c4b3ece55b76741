"""Who played what, in order: read, split as ComiRec does, and cut into histories and targets.

A file has a line `user item` for each interaction, those of a user in the order of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import rectitude as rt

HISTORY = 20  # the interactions that a model is shown, the latest ones
EARLIEST = 4  # the first interaction of a user that is a target in training
PADDING = 0  # items are numbered from 1 on; 0 fills histories up


@dataclass(frozen=True)
class Side:
    """Users who are evaluated: what is shown of them, and what is to be found."""

    fold_in: pl.DataFrame
    truth: pl.DataFrame
    users: list[int]
    histories: np.ndarray  # (users, HISTORY)


@dataclass(frozen=True)
class Games:
    """The sequences to learn from, and two sides of other users."""

    sequences: list[np.ndarray]
    validation: Side
    test: Side
    items: int  # numbered from 1 to this


def read(path: Path, fewest: int = 5, seed: int = 1) -> Games:
    """8 of 10 users to learn from, 1 to choose by, 1 to report; of the latter two the first 80% of
    their interactions are shown, and the rest is to be found."""
    log = pl.read_csv(path, separator=" ", has_header=False, new_columns=["user", "item"])
    log = log.with_columns(timestamp=pl.int_range(pl.len()))
    cut = {"how": "last_ratio", "ratio": 0.8, "of": "train", "rounding": "floor"}
    users = {"within": cut, "seed": seed}
    split = rt.split(
        log, "strong_generalisation", ratio=0.1, **users,
        recipe=[{"step": "k_core", "users": fewest, "items": fewest}],
        validation={"how": "strong_generalisation", "ratio": 1 / 9, **users},
    )  # fmt: skip
    parts = {"test": split, "validation": split.validation}
    rows = [part.frame["item"] for part in (split.train, split.fold_in, split.truth)]
    items = pl.concat(rows).unique().sort().to_list()
    number = dict(zip(items, range(1, len(items) + 1), strict=True))
    sides = {name: side(one.fold_in.frame, one.truth.frame, number) for name, one in parts.items()}
    learnt = numbered(split.validation.train.frame, number)
    return Games([row.to_numpy() for row in by_user(learnt)["item"]], items=len(items), **sides)


def side(fold_in: pl.DataFrame, truth: pl.DataFrame, number: dict[int, int]) -> Side:
    shown = numbered(fold_in, number)
    lists = by_user(shown)
    histories = np.stack([latest(row.to_numpy()) for row in lists["item"]])
    return Side(shown, numbered(truth, number), lists["user"].to_list(), histories)


def numbered(rows: pl.DataFrame, number: dict[int, int]) -> pl.DataFrame:
    ordered = rows.sort("timestamp").select("user", "item")
    return ordered.with_columns(pl.col("item").replace_strict(number))


def by_user(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("user", maintain_order=True).agg("item")


def latest(items: np.ndarray) -> np.ndarray:
    """The last interactions, with padding behind them if there are few."""
    kept = items[-HISTORY:]
    return np.pad(kept, (0, HISTORY - len(kept)), constant_values=PADDING)


def batches(
    sequences: list[np.ndarray], size: int, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every user once: a target at random, and the history before it."""
    order = random.permutation(len(sequences))
    for first in range(0, len(order), size):
        chosen = [sequences[user] for user in order[first : first + size]]
        places = [int(random.integers(min(EARLIEST, len(one) - 1), len(one))) for one in chosen]
        histories = [latest(one[:place]) for one, place in zip(chosen, places, strict=True)]
        targets = [one[place] for one, place in zip(chosen, places, strict=True)]
        yield np.stack(histories), np.array(targets)


def clusters(games: Games, number: int, seed: int = 1) -> np.ndarray:
    """(items + 1,) a category for each item, -1 for the padding.

    The file has no categories. Clusters of items that the same users had stand in for them: the
    k-means of the items' singular vectors, from the sequences to learn from alone.
    """
    from scipy.cluster.vq import kmeans2
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rows = np.repeat(np.arange(len(games.sequences)), [len(one) for one in games.sequences])
    columns = np.concatenate(games.sequences)
    shape = (len(games.sequences), games.items + 1)
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    start = np.random.default_rng(seed).standard_normal(min(shape))
    vectors = svds(matrix, k=min(16, *(side - 1 for side in shape)), v0=start)[2].T[1:]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    _, found = kmeans2(vectors / np.maximum(lengths, 1e-12), number, minit="++", rng=seed)
    return np.concatenate([[-1], found])


def write_tiny(path: Path, users: int = 300, items: int = 80, seed: int = 0) -> None:
    """A file in the same format: users with two tastes each, who go from one game to the next of
    the same kind."""
    random = np.random.default_rng(seed)
    kinds = 8
    lines = []
    for user in range(1, users + 1):
        tastes = random.choice(kinds, 2, replace=False)
        place = random.integers(0, items // kinds, kinds)
        chosen = random.choice(tastes, random.integers(6, 15))
        for kind in chosen:
            place[kind] += random.integers(1, 3)
            lines.append(f"{user} {1 + kind + kinds * (place[kind] % (items // kinds))}")
    path.write_text("\n".join(dict.fromkeys(lines)) + "\n")

"""Synthetic ranked lists as Parquet files, from a fixed seed.

    python benchmarks/lists.py M           # every variant of one size (default: XS T S M)

A folder `benchmarks/_data/<size><suffix>` holds `recs.parquet` (user, item, score) and
`truth.parquet` (user, item). No ties in score, no pair twice, and every user has a list and some
truth, so that all contestants mean the same thing by each metric.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

DATA = Path(__file__).resolve().parent / "_data"
LIST_LENGTH = 100
RELEVANT = 10
ROW_GROUP = 1 << 20


@dataclass(frozen=True)
class Size:
    """How many users, and how many items to choose from (a prime, see `tables`)."""

    users: int
    items: int


SIZES = {
    "XS": Size(500, 20_011),  # warming only
    "T": Size(1_000, 20_011),  # the small job whose start-up counts
    "S": Size(10_000, 20_011),
    "M": Size(100_000, 50_021),
}
VARIANTS = {"ordered": "", "shuffled": "-shuf", "strings": "-str"}


def folder(size: str, variant: str = "ordered") -> Path:
    """Where the two files of one data set live."""
    return DATA / f"{size}{VARIANTS[variant]}"


def tables(size: Size, seed: int = 7) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Recommendations grouped by user with falling score, and the truth.

    A user's items are an arithmetic progression modulo the number of items: that number being
    prime, no item comes twice. About half the relevant items stand in the list, mostly near its
    head (Pareto-distributed ranks); the others continue the progression beyond it.
    """
    import polars as pl

    random = np.random.default_rng(seed)
    users, length = size.users, LIST_LENGTH
    start = random.integers(0, size.items, (users, 1))
    stride = random.integers(1, size.items, (users, 1))
    items = (start + stride * np.arange(length)) % size.items
    noise = np.sort(random.random((users, length), dtype=np.float32), axis=1)[:, ::-1]
    score = noise + np.linspace(1, 0, length, dtype=np.float32)

    rank = (random.pareto(0.6, (users, RELEVANT)) * 4).clip(max=10 * length).astype(np.int64)
    beyond = length + random.integers(0, size.items - length - 1, (users, RELEVANT))
    found = (rank < length) & (random.random((users, RELEVANT)) < 0.5)
    relevant = np.sort((start + stride * np.where(found, rank, beyond)) % size.items, axis=1)
    once = np.ones_like(relevant, dtype=bool)
    once[:, 1:] = relevant[:, 1:] != relevant[:, :-1]

    user = np.arange(users)
    recs = {"user": np.repeat(user, length), "item": items.ravel(), "score": score.ravel()}
    truth = {"user": np.repeat(user, RELEVANT)[once.ravel()], "item": relevant[once]}
    return pl.DataFrame(recs), pl.DataFrame(truth)


def vary(table: pl.DataFrame, variant: str) -> pl.DataFrame:
    """The same rows as one of the variants: in random order, or with text for ids."""
    import polars as pl

    if variant == "shuffled":
        return table[np.random.default_rng(1).permutation(table.height)]
    if variant == "strings":
        padded = pl.col("user").cast(pl.String).str.zfill(7)
        return table.with_columns(
            pl.format("user_{}", padded).alias("user"), pl.format("item_{}", "item").alias("item")
        )
    return table


def ensure(size: str) -> None:
    """Write every variant of one size, unless it is there already."""
    if all((folder(size, variant) / "done").is_file() for variant in VARIANTS):
        return
    named = dict(zip(("recs", "truth"), tables(SIZES[size]), strict=True))
    for variant in VARIANTS:
        target = folder(size, variant)
        target.mkdir(parents=True, exist_ok=True)
        for name, table in named.items():
            vary(table, variant).write_parquet(
                target / f"{name}.parquet", compression="zstd", row_group_size=ROW_GROUP
            )
        (target / "done").touch()
    print(f"made {DATA.name}/{size} ({', '.join(VARIANTS)})", file=sys.stderr, flush=True)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="make the benchmark's input files")
    parser.add_argument("sizes", nargs="*", default=list(SIZES), metavar="SIZE")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.sizes) - set(SIZES))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(SIZES)}")
    for size in arguments.sizes:
        ensure(size)
    return 0


if __name__ == "__main__":
    sys.exit(main())

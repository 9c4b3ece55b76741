"""Interactions as Parquet and CSV files, from a fixed seed: the input of `data.py`.

Twenty million rows are about as MovieLens 20M: 133,000 users with half of them below 75 rows and
some above 10,000, 25,000 items of skewed popularity, seven rows in a hundred repeating a pair. The
rows stand in no order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent / "_data"
START, END = 1_500_000_000, 1_600_000_000
USERS_EACH, ITEMS_EACH = 150, 800
"""So many rows for every user and for every item, on average."""


def log(rows: int, ending: str = "parquet") -> Path:
    """The file of so many rows; written unless it is there already."""
    import polars as pl

    path = DATA / f"log-{rows}.{ending}"
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    beside = path.with_suffix(".part")
    if ending == "csv":
        pl.read_parquet(log(rows)).write_csv(beside)
    else:
        table(rows).write_parquet(beside)
    beside.replace(path)
    return path


def table(rows: int, seed: int = 11):  # type: ignore[no-untyped-def]
    """The interactions as a Polars frame."""
    import polars as pl

    random = np.random.default_rng(seed)
    users, items = rows // USERS_EACH, rows // ITEMS_EACH
    activity = random.lognormal(0, 1.2, users)
    popularity = (np.arange(items) + 50.0) ** -0.9
    user = random.choice(users, rows, p=activity / activity.sum())
    item = random.choice(items, rows, p=popularity / popularity.sum())
    return pl.DataFrame(
        {
            "user": user,
            "item": random.permutation(items)[item],
            "grade": random.integers(1, 11, rows) / 2,
            "timestamp": random.integers(START, END, rows),
        }
    )

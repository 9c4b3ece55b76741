"""recommenders: the splitters of `recommenders.datasets.python_splitters`, with their seeds."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import numpy as np
import pandas as pd
from recommenders.datasets import python_splitters as splitters

from golden.fixtures import Case, Fixture

FRAMEWORK = "Microsoft recommenders"
RANDOM: tuple[dict[str, Any], ...] = (
    {"ratio": 0.75}, {"ratio": 0.7, "seed": 1}, {"ratio": [0.7, 0.3], "seed": 2},
    {"ratio": [0.6, 0.2, 0.2], "seed": 3}, {"ratio": [0.7, 0.1, 0.2]}, {"ratio": [5.0, 3.0, 2.0]},
)  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("recommenders")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split with every splitter, at several ratios and seeds, by user and by item."""
    table = pd.DataFrame(fixture.tables["interactions"])
    table = table.rename(columns={"user": "userID", "item": "itemID"})
    for options in RANDOM:
        yield _case(fixture, table, "python_random_split", options)
        for side in ("user", "item"):
            by = {**options, "filter_by": side}
            for more in ({}, {"min_rating": 3}):
                yield _case(fixture, table, "python_stratified_split", {**by, **more})
                timed = {key: value for key, value in by.items() if key != "seed"}
                yield _case(fixture, table, "python_chrono_split", {**timed, **more})
    yield _numpy(fixture, table)


def _case(fixture: Fixture, table: pd.DataFrame, method: str, options: dict[str, Any]) -> Case:
    parts = getattr(splitters, method)(table.copy(), **options)
    names = ("train", "valid", "test") if len(parts) > len(("train", "test")) else ("train", "test")
    rows = {name: part["row"] for name, part in zip(names, parts, strict=True)}
    case = _start(fixture, method, options)
    case.data |= {"check": "rows"}
    case.data |= {f"expected_{part}_rows": sorted(map(int, rows[part])) for part in rows}
    return case


def _numpy(fixture: Fixture, table: pd.DataFrame) -> Case:
    """A matrix has no rows to compare; the number of entries of each user is what is left."""
    matrix = np.zeros((table["userID"].max() + 1, table["itemID"].max() + 1))
    matrix[table["userID"], table["itemID"]] = 1
    _, test = splitters.numpy_stratified_split(matrix, ratio=0.7, seed=3)
    case = _start(fixture, "numpy_stratified_split", {"ratio": 0.7, "seed": 3})
    left = int(matrix.sum() - test.sum())
    parts = ["train", "test"]
    sizes = {"train": left, "test": int(test.sum())}
    properties = {"sizes": sizes, "disjoint": parts, "complete": parts}
    case.data |= {"check": "properties", "properties": properties}
    return case


def _start(fixture: Fixture, method: str, options: dict[str, Any]) -> Case:
    words = "-".join(f"{key}_{value}" for key, value in options.items())
    variant = f"{method}-{words}".replace(" ", "").replace("[", "").replace("]", "")
    case = Case("recommenders", fixture, "data", variant=variant.replace(",", "_"))
    case.data["operation"] = {"name": "split", "method": method, **options}
    return case

"""Cornac: its splits with shares and with numbers of rows.

The rating of a row is its number, so that it can be found again. `RatioSplit` and `StratifiedSplit`
draw with NumPy's generator; of these, sizes are recorded, and the training rows where they are the
earliest of each group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

from cornac.eval_methods import RatioSplit, StratifiedSplit, TimestampSplit

from golden.fixtures import Case, Fixture

FRAMEWORK = "Cornac"
SIZES: tuple[dict[str, Any], ...] = (
    {"test_size": 6}, {"test_size": 1}, {"test_size": 0.3}, {"test_size": 6, "val_size": 0.2},
    {"test_size": 6, "val_size": 5}, {"test_size": 0.2, "val_size": 7},
    {"test_size": 0.2, "val_size": 0.1},
)  # fmt: skip
GROUPED: tuple[dict[str, Any], ...] = (
    {"test_size": 1, "val_size": 1}, {"test_size": 1, "val_size": 0.1},
    {"test_size": 0.2, "val_size": 1}, {"test_size": 0.2, "val_size": 0.2}, {"test_size": 2},
)  # fmt: skip
LONG = 5
"""the fewest rows of a user who is split into parts"""


def version() -> str:
    """The release that is installed."""
    return installed("cornac")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split with several sizes; in groups, only users with enough rows for them."""
    rows = [*fixture.rows("interactions", "user", "item", "row", "timestamp")]
    data = [(str(user), str(item), row + 1.0, time) for user, item, row, time in rows]
    for options in SIZES:
        split = TimestampSplit(data, fmt="UIRT", exclude_unknowns=False, seed=1, **options)
        yield _record(_case(fixture, "TimestampSplit", options), split, "train", "valid", "test")
        triples = [row[:3] for row in data]
        split = RatioSplit(triples, fmt="UIR", exclude_unknowns=False, seed=1, **options)
        yield _record(_case(fixture, "RatioSplit", options), split)
    sizes = Counter(user for user, *_ in data)
    long = [row for row in data if sizes[row[0]] >= LONG]
    for options in GROUPED:
        for chrono in (False, True):
            words = {"chrono": chrono, **options}
            split = StratifiedSplit(long, fmt="UIRT", exclude_unknowns=False, seed=1, **words)
            case = _case(fixture, "StratifiedSplit", words)
            case.data["operation"]["base"] = {"name": "min_user_rows", "n": LONG}
            yield _record(case, split, *(["train"] if chrono else []))


def _case(fixture: Fixture, method: str, options: dict[str, Any]) -> Case:
    words = "-".join(f"{key}_{value}" for key, value in options.items())
    case = Case("cornac", fixture, "data", variant=f"{method}-{words}")
    case.data["operation"] = {
        "name": "split", "method": method, "exclude_unknowns": False, **options,
    }  # fmt: skip
    return case


def _record(case: Case, split: Any, *exact: str) -> Case:
    """Record the rows of the parts that are `exact`, and the sizes of all."""
    parts = {"train": split.train_set, "valid": split.val_set, "test": split.test_set}
    rows = {
        part: [] if found is None else sorted(int(value) - 1 for value in found.uir_tuple[2])
        for part, found in parts.items()
    }
    case.data["check"] = "rows" if exact else "properties"
    case.data |= {f"expected_{part}_rows": rows[part] for part in exact}
    case.data["properties"] = {"sizes": {part: len(numbers) for part, numbers in rows.items()}}
    return case

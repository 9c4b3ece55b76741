"""Cornac: `TimestampSplit` with a share and with a number of rows.

The rating of a row is its number, so that it can be found again.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

from cornac.eval_methods import TimestampSplit

from golden.fixtures import Case, Fixture

FRAMEWORK = "Cornac"
SIZES: tuple[dict[str, Any], ...] = (
    {"test_size": 6}, {"test_size": 1}, {"test_size": 0.3}, {"test_size": 6, "val_size": 0.2},
)  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("cornac")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split with several sizes."""
    rows = [*fixture.rows("interactions", "user", "item", "row", "timestamp")]
    data = [(str(user), str(item), row + 1.0, time) for user, item, row, time in rows]
    for options in SIZES:
        split = TimestampSplit(data, fmt="UIRT", exclude_unknowns=False, seed=1, **options)
        words = "-".join(f"{key}_{value}" for key, value in options.items())
        case = Case("cornac", fixture, "data", variant=f"TimestampSplit-{words}")
        case.data["operation"] = {
            "name": "split", "method": "TimestampSplit", "exclude_unknowns": False, **options,
        }  # fmt: skip
        parts = {"train": split.train_set, "valid": split.val_set, "test": split.test_set}
        case.data["check"] = "rows"
        for part, found in parts.items():
            if found is not None:
                numbers = sorted(int(value) - 1 for value in found.uir_tuple[2])
                case.data[f"expected_{part}_rows"] = numbers
        yield case

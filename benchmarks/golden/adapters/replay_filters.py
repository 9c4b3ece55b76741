"""RePlay: `QuantileItemsFilter` on pandas and Polars.

Where equally active users would have to be told apart, the order of an unstable sort decides; such
cases record how many rows are left, not which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import pandas as pd
import polars as pl
from replay.preprocessing.filters import QuantileItemsFilter

from golden.fixtures import Case, Fixture

FRAMEWORK = "RePlay"
CONTAINERS: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def version() -> str:
    """The release that is installed."""
    return installed("replay-rec")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Filter at several quantiles and shares."""
    columns = fixture.tables["interactions"]
    for container, frame in CONTAINERS.items():
        for quantile, share in ((0.5, 0.5), (0.8, 0.5), (0.25, 0.9), (0.6, 0.3)):
            options = {"alpha_quantile": quantile, "items_proportion": share}
            quantiles = QuantileItemsFilter(query_column="user", item_column="item", **options)
            kept = [int(row) for row in quantiles.transform(frame(dict(columns)))["row"]]
            words = "-".join(f"{key}_{value}" for key, value in options.items())
            case = Case("replay", fixture, "data", variant=f"{container}-{words}")
            case.data["operation"] = {
                "name": "filter", "filter": "QuantileItemsFilter", "container": container,
                **options,
            }  # fmt: skip
            case.data["check"] = "rows"
            if _is_clear(fixture, {*kept}):
                case.data["expected_rows"] = sorted(kept)
            left = [
                item for row, item in fixture.rows("interactions", "row", "item") if row in kept
            ]
            case.data["expected_counts"] = {"": len(kept), "items": len({*left})}
            yield case


def _is_clear(fixture: Fixture, kept: set[int]) -> bool:
    """Whether no removed row of an item is of a user as active as that of a row that is left."""
    rows = [*fixture.rows("interactions", "row", "user", "item")]
    activity = Counter(user for _, user, _ in rows)
    left, removed = (
        {(item, activity[user]) for row, user, item in rows if (row in kept) == wanted}
        for wanted in (True, False)
    )
    return not left & removed

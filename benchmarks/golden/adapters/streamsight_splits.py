"""Streamsight: the settings that split by time.

From release 1.0.0: in the commit whose metrics the profile reproduces, `streamsight.settings.base`
imports from itself and cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from streamsight.matrix import InteractionMatrix
from streamsight.settings import SingleTimePointSetting, SlidingWindowSetting

from golden.fixtures import Case, Fixture

FRAMEWORK = "Streamsight"


def version() -> str:
    """The checkout (golden.environments)."""
    return "1.0.0"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split at a moment, and in windows from a moment on."""
    table = pd.DataFrame(fixture.tables["interactions"])
    times = sorted(table["timestamp"])
    moment = int(times[len(times) // 2])
    span = int(max((times[-1] - moment) // 4, 1))
    for limit in ({}, {"top_K": 1}, {"top_K": 3}, {"top_K": 1000}):
        yield _split_once(fixture, table, {"background_t": moment, **limit})
        yield _split_windows(fixture, table, {"background_t": moment, "window_size": span, **limit})


def _split_once(fixture: Fixture, table: pd.DataFrame, options: dict[str, Any]) -> Case:
    setting = SingleTimePointSetting(n_seq_data=0, **options)
    setting.split(_matrix(table))
    case = _start(fixture, "SingleTimePointSetting", options)
    case.data |= {"expected_train_rows": _rows(table, setting.background_data)}
    case.data |= {"expected_test_rows": _rows(table, setting.ground_truth_data)}
    return case


def _split_windows(fixture: Fixture, table: pd.DataFrame, options: dict[str, Any]) -> Case:
    setting = SlidingWindowSetting(n_seq_data=0, **options)
    setting.split(_matrix(table))
    case = _start(fixture, "SlidingWindowSetting", options)
    case.data["folds"] = [
        {"test_rows": _rows(table, window)} for window in setting.ground_truth_data
    ]
    return case


def _matrix(table: pd.DataFrame) -> InteractionMatrix:
    return InteractionMatrix(
        table.drop(columns="rating"), item_ix="item", user_ix="user", timestamp_ix="timestamp"
    )


def _rows(table: pd.DataFrame, part: InteractionMatrix) -> list[int]:
    """Find the rows of a part again by their pairs, which are distinct."""
    frame = part._df
    numbers = {
        (user, item): row
        for row, user, item in table[["row", "user", "item"]].itertuples(index=False)
    }
    pairs = zip(frame["uid"], frame["iid"], strict=True)
    return sorted(int(numbers[pair]) for pair in pairs)


def _start(fixture: Fixture, method: str, options: dict[str, Any]) -> Case:
    variant = f"{method}-{options.get('top_K', 'usual')}"
    case = Case("streamsight", fixture, "data", variant=variant)
    case.data |= {"operation": {"name": "split", "method": method, **options}, "check": "rows"}
    return case

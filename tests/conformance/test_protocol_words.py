"""Parameters of other frameworks that golden cases do not contain have the same effect here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.conformance.run import conformance
from rectitude.errors import BadArgument, NothingToEvaluate
from rectitude.preparing import prepare
from rectitude.splits.protocols import steps
from rectitude.splits.split import Split

LOG = pl.DataFrame(
    {
        "row": range(8), "user": [1, 1, 1, 1, 2, 2, 2, 3], "item": [1, 2, 3, 4, 1, 2, 3, 9],
        "rating": [1, 2, 3, 4, 5, 2, 4, 5], "timestamp": [5, 5, 7, 7, 1, 2, 3, 4],
    }
)  # fmt: skip


def kept_rows(framework: str, **words: Any) -> list[int]:
    """Return the rows that a framework's filter keeps."""
    return prepare(LOG.drop("row"), steps(framework, words)).frame["row"].to_list()


def split(framework: str, **words: Any) -> Split:
    result = rt.split(LOG.drop("row"), protocol=framework, **words)
    assert isinstance(result, Split)
    return result


@pytest.mark.parametrize(
    ("interval", "rows"),
    [
        ("[1,1];[5,inf)", [0, 4, 7]), ("[1,2);(2,3];(4,5]", [0, 2, 4, 7]),
        ("[2,4]", [1, 2, 3, 5, 6]), ("(2,4]", [2, 3, 6]), ("[2,4)", [1, 2, 5]),
        ("(-inf,2]", [0, 1, 5]), ("(2, inf)", [2, 3, 4, 6, 7]), ("[2.5,inf)", [2, 3, 4, 6, 7]),
    ],
)  # fmt: skip
def test_value_intervals_of_recbole_may_be_open_or_closed(interval: str, rows: list[int]) -> None:
    assert kept_rows("recbole", val_interval={"rating": interval}) == rows


@pytest.mark.parametrize(
    ("interval", "rows"),
    [
        ("[1,1];[4,inf)", [0, 1, 2, 3, 7]), ("(-inf,3]", [4, 5, 6, 7]), ("[2,4)", [4, 5, 6]),
        ("(2.5,inf)", [0, 1, 2, 3, 4, 5, 6]),
    ],
)  # fmt: skip
def test_count_intervals_of_recbole_may_be_open_or_closed(interval: str, rows: list[int]) -> None:
    assert kept_rows("recbole", user_inter_num_interval=interval) == rows


@pytest.mark.parametrize(
    "words",
    [
        {"val_interval": {"rating": "[1,2],[4,5]"}},
        {"val_interval": {"weather": "[1,2]"}},
        {"user_inter_num_interval": "5"},
    ],
)
def test_invalid_intervals_are_refused_and_not_ignored(words: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match="interval"):
        kept_rows("recbole", **words)


def test_replay_takes_rows_of_equal_time_in_file_order_from_both_ends() -> None:
    words = {"filter": "NumInteractionsFilter", "num_interactions": 1}
    assert kept_rows("replay", first=True, **words) == [0, 4, 7]
    assert kept_rows("replay", first=False, **words) == [2, 6, 7]


def test_cornac_treats_whole_numbers_as_numbers_of_rows() -> None:
    words = {"method": "StratifiedSplit", "test_size": 1, "exclude_unknowns": False}
    assert split("cornac", chrono=True, **words).truth.frame["row"].to_list() == [3, 6, 7]
    assert split("cornac", chrono=False, **words).truth.frame["user"].to_list() == [1, 2, 3]
    words = {"method": "RatioSplit", "test_size": 3, "exclude_unknowns": False}
    assert split("cornac", **words).truth.frame.height == 3
    tuned = split("cornac", val_size=2, **words).validation
    assert tuned is not None
    assert (tuned.train.frame.height, tuned.truth.frame.height) == (3, 2)


@pytest.mark.parametrize(
    ("framework", "words"),
    [
        ("elliot", {"strategy": "temporal_hold_out", "test_ratio": "half"}),
        ("recpack", {"splitter": "MostRecentSplitter", "n": "all"}),
        ("recbole", {"method": "RS_82_user"}),
        ("recbole", {"method": "RS_80_10_5_5_user"}),
    ],
)
def test_error_names_a_value_that_the_framework_does_not_accept(
    framework: str, words: dict[str, Any]
) -> None:
    with pytest.raises(BadArgument, match="is '"):
        split(framework, **words)


def test_shares_may_be_written_as_digits_or_as_numbers() -> None:
    shares = ("622", "60_20_20")
    first, second = (split("recbole", method=f"RS_{text}_user", order="TO") for text in shares)
    assert first.fingerprint == second.fingerprint


def golden(folder: Path, operation: dict[str, Any], profile: str = "elliot", **stated: Any) -> Path:
    """Write a golden tree with one data case."""
    inputs, cases = folder / "inputs" / "log", folder / "cases" / profile
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    LOG.write_parquet(inputs / "interactions.parquet")
    whole = {"profile": profile, "kind": "data", "input": "log", "check": "rows", **stated}
    (cases / "log.json").write_text(json.dumps({**whole, "operation": operation}))
    return folder


@pytest.mark.parametrize(
    "operation",
    [
        {"name": "split", "strategy": "sometimes"},
        {"name": "split", "strategy": "temporal_hold_out", "test_ratio": 0.2, "weather": "fine"},
        {"name": "filter", "strategy": "by_the_moon"},
    ],
)
def test_case_with_unknown_parameters_does_not_stop_other_cases(
    tmp_path: Path, operation: dict[str, Any]
) -> None:
    (tally,) = conformance(golden(tmp_path, operation, expected_test_rows=[1]))
    assert (tally.cases, tally.compared, tally.unsupported) == (1, 0, 1)


def test_case_that_is_refused_does_not_agree(tmp_path: Path) -> None:
    operation = {"name": "split", "strategy": "fixed_timestamp", "timestamp": 2}
    base = {"name": "filter", "strategy": "user_k_core", "core": 99}
    words = {**operation, "base": base}
    (tally,) = conformance(golden(tmp_path, words, expected_test_rows=[1]))
    assert (tally.agree, tally.compared + tally.unsupported) == (0, 1)


def test_filter_that_removes_all_rows_agrees_only_with_no_rows(tmp_path: Path) -> None:
    operation = {"name": "filter", "strategy": "user_k_core", "core": 99}
    (tally,) = conformance(golden(tmp_path / "a", operation, expected_rows=[]))
    assert (tally.agree, tally.wrong) == (1, [])
    (tally,) = conformance(golden(tmp_path / "b", operation, expected_rows=[1, 2]))
    assert [value.got for value in tally.wrong] == [2.0]


def test_empty_parts_are_compared(tmp_path: Path) -> None:
    operation = {"name": "split", "strategy": "temporal_hold_out", "leave_n_out": 4}
    stated = {"expected_test_rows": [*range(8)], "expected_train_rows": []}
    (tally,) = conformance(golden(tmp_path, operation, **stated))
    assert (tally.agree, tally.wrong) == (2, [])
    with pytest.raises(NothingToEvaluate, match="train is empty"):
        split("elliot", strategy="temporal_hold_out", leave_n_out=4)


def test_test_part_with_a_share_of_zero_is_empty(tmp_path: Path) -> None:
    operation = {"name": "split", "method": "RS_730_user", "order": "time_stable"}
    stated = {"expected_test_rows": [], "expected_valid_rows": [3, 6]}
    folder = golden(tmp_path, operation, **stated, profile="recbole")
    (tally,) = conformance(folder)
    assert (tally.agree, tally.wrong) == (2, [])


def test_unexpected_error_in_a_case_does_not_stop_other_cases(tmp_path: Path) -> None:
    operation = {"name": "filter", "strategy": "user_k_core", "core": 2, "base": ["odd"]}
    (tally,) = conformance(golden(tmp_path, operation, expected_rows=[1]))
    assert (tally.compared, tally.agree) == (1, 0)


def test_base_operation_may_have_a_base_operation(tmp_path: Path) -> None:
    first = {"name": "rows", "from": 0, "to": 6}
    base = {"name": "filter", "strategy": "user_k_core", "core": 3, "base": first}
    operation = {"name": "split", "strategy": "temporal_hold_out", "leave_n_out": 1, "base": base}
    (tally,) = conformance(golden(tmp_path, operation, expected_test_rows=[2, 6]))
    assert (tally.compared, tally.agree) == (1, 1)


def test_all_rows_of_a_missing_fold_count_as_wrong(tmp_path: Path) -> None:
    operation = {"name": "split", "strategy": "random_cross_validation", "folds": 2}
    folds = [{"test_rows": [0, 2, 4, 6, 7]}, {"test_rows": [1, 3, 5]}, {"test_rows": [1]}]
    (tally,) = conformance(golden(tmp_path, operation, folds=folds))
    assert [(value.name, value.got) for value in tally.wrong] == [("fold 2 test_rows", 1.0)]


def test_case_with_unreadable_inputs_does_not_stop_other_cases(tmp_path: Path) -> None:
    folder = golden(tmp_path, {"name": "filter", "strategy": "user_average"}, expected_rows=[3, 4])
    odd = {"profile": "elliot", "kind": "lists", "input": "log", "expected": {"ndcg@10": 1.0}}
    (folder / "cases" / "elliot" / "odd.json").write_text(json.dumps(odd))
    LOG.select("user").write_parquet(folder / "inputs" / "log" / "recommendations.parquet")
    (tally,) = conformance(folder)
    assert (tally.cases, tally.agree) == (2, 0)
    assert [value.case for value in tally.wrong] == ["log", "odd"]

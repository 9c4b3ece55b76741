"""Golden data cases: the same rows as other frameworks, or rows with the expected properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.conformance.cases import load
from rectitude.conformance.data import PROPERTIES, checks, is_declared
from rectitude.conformance.run import conformance
from rectitude.errors import BadArgument, UnknownName
from rectitude.splits.protocols import protocols, resolve, steps

HERE = Path(__file__).parent / "golden"


def tree(folder: Path, profile: str = "elliot", **case: Any) -> Path:
    """Write a golden tree with one data case on six rows."""
    inputs, cases = folder / "inputs" / "six", folder / "cases" / profile
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    table = {
        "row": range(6), "user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 4],
        "rating": [5, 4, 3, 2, 1, 5], "timestamp": [10, 20, 30, 10, 20, 40],
    }  # fmt: skip
    pl.DataFrame(table).write_parquet(inputs / "interactions.parquet")
    whole = {"profile": profile, "kind": "data", "input": "six", **case}
    (cases / "six.json").write_text(json.dumps(whole))
    return folder


LEAVE_ONE = {"name": "split", "strategy": "temporal_hold_out", "leave_n_out": 1}


def test_the_same_rows_agree(tmp_path: Path) -> None:
    folds = [{"test_rows": [2, 5], "n_train": 4}]
    (tally,) = conformance(tree(tmp_path, check="rows", operation=LEAVE_ONE, folds=folds))
    assert (tally.compared, tally.agree, tally.wrong) == (2, 2, [])


def test_different_rows_are_counted_as_wrong(tmp_path: Path) -> None:
    case = {"check": "rows", "operation": LEAVE_ONE, "expected_test_rows": [1, 5]}
    (tally,) = conformance(tree(tmp_path, **case, expected_counts={"train": 5}))
    assert [(value.name, value.got) for value in tally.wrong] == [
        ("expected_test_rows", 2.0),
        ("count of train", 1.0),
    ]


def test_filter_and_its_base_operation_are_applied(tmp_path: Path) -> None:
    base = {"name": "rows", "from": 0, "to": 3}
    operation = {"name": "filter", "strategy": "global_threshold", "threshold": 4, "base": base}
    (tally,) = conformance(tree(tmp_path, check="rows", operation=operation, expected_rows=[0, 1]))
    assert (tally.agree, tally.wrong) == (1, [])


def test_properties_are_checked_on_the_drawn_rows(tmp_path: Path) -> None:
    operation = {"name": "split", "strategy": "random_subsampling", "folds": 1, "leave_n_out": 1}
    stated = {"fold_sizes": [2], "rows_per_user": {"test": {"n": 1}}, "sizes": {"test": 3}}
    (tally,) = conformance(
        tree(tmp_path, check="properties", operation=operation, properties=stated)
    )
    assert [(value.name, value.got) for value in tally.wrong] == [("sizes", 1.0)]
    assert tally.agree == 2


def test_case_in_which_the_framework_fails_is_not_compared(tmp_path: Path) -> None:
    (tally,) = conformance(tree(tmp_path, check="none", operation=LEAVE_ONE))
    assert (tally.cases, tally.compared, tally.unsupported) == (1, 0, 0)


def test_unknown_properties_and_frameworks_are_not_compared(tmp_path: Path) -> None:
    case = {"check": "properties", "operation": LEAVE_ONE, "properties": {"pretty": True}}
    (tally,) = conformance(tree(tmp_path / "a", **case))
    assert (tally.compared, tally.unsupported) == (0, 1)
    (tally,) = conformance(tree(tmp_path / "b", "nobody", **case))
    assert (tally.compared, tally.unsupported) == (0, 1)


def test_every_property_of_the_format_has_a_check() -> None:
    assert set(PROPERTIES) == {
        "sizes", "at_most", "disjoint", "complete", "within", "users", "users_disjoint",
        "users_equal", "rows_per_user", "before", "from", "latest", "fold_sizes", "fold_users",
        "folds_disjoint", "folds_complete", "folds_users_disjoint", "test_known", "test_new_pairs",
        "candidates",
    }  # fmt: skip


def test_declared_difference_has_a_reason() -> None:
    for name, stored in protocols().items():
        for case, reason in stored.get("known_differences", {}).items():
            assert case.startswith("interactions--"), name
            assert len(reason.split()) > 10


@pytest.mark.parametrize("name", protocols())
def test_every_protocol_has_a_description(name: str) -> None:
    assert protocols()[name]["about"]
    assert protocols()[name]["train"] in ("with_validation", "without_validation")


def test_unknown_parameters_of_a_protocol_are_refused() -> None:
    with pytest.raises(BadArgument, match="does not support"):
        resolve("elliot", {"strategy": "sometimes"})
    with pytest.raises(UnknownName, match="no parameter 'min_belw'"):
        resolve("elliot", {"strategy": "fixed_timestamp", "timestamp": "best", "min_belw": 1})
    with pytest.raises(UnknownName, match="did you mean 'elliot'"):
        rt.split({"user": [1], "item": [1]}, protocol="eliot")


def test_filters_of_a_framework_become_a_recipe() -> None:
    words = {"name": "preprocess", "prepro": "5core", "level": "ui", "positive_threshold": 3}
    assert steps("daisyrec", words) == [
        {"step": "deduplicate", "keep": "last", "order": "file"},
        {"step": "threshold", "at": 3},
        {"step": "k_core", "users": 5, "items": 5},
        {"step": "sort_rows", "ties": "introsort", "no_times": "as_is"},
    ]
    interval = {"user_inter_num_interval": "(2,8]", "item_inter_num_interval": "[0,inf)"}
    (step,) = steps("recbole", interval)
    assert step == {"step": "between", "users_among": "(2,8]", "items_among": "[0,inf)"}


def test_all_data_cases_agree_or_are_declared(golden: Path) -> None:
    cases = [case for case in load(golden) if case.kind == "data"]
    assert cases
    for case in cases:
        wrong = [check for check in checks(case) if check.wrong != 0]
        assert wrong == [] or is_declared(case), f"{case.profile}: {case.path.stem}"

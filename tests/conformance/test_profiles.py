"""Our numbers under each profile against values made by the framework's own code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.conformance.cases import changes, in_order, load, rankings
from rectitude.conformance.data import checks
from rectitude.conformance.inputs import arguments
from rectitude.conformance.run import conformance, report_checks

COMPACT = Path(__file__).parent / "golden"
FULL = os.environ.get("RECTITUDE_GOLDEN", "")
PROFILES = [name for name in rt.PROFILES if name != "default"]
needs_full = pytest.mark.skipif(not FULL, reason="set RECTITUDE_GOLDEN to the full golden tree")


OF_LISTS = ["trec_eval-9", "trec_eval-10", "pytrec_eval", "ranx", "rectools", "replay",
            "ir_measures"]  # fmt: skip
SOME_DECLARED = ["trec_eval-9", "trec_eval-10", "ranx"]
OF_SCORES = ["next-location", "smgcn", "smgcn-f1", "smgcn-icde", "sklearn", "torchmetrics",
             "implicit", "comirec", "comirec-paper", "comirec-torch", "comirec-hit",
             "ndcg-reference"]  # fmt: skip
ALL_COMPARED = ["pytrec_eval", "ir_measures",
                "rectools", "replay", "replay-frame", "replay-torch", "recommenders", "recpack",
                "recbole", "cornac", "daisyrec", "daisyrec-2.3", "lenskit-2025",
                "lenskit-2026", "elliot"]  # fmt: skip
NO_KIND = {"data", "report"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_reproduces_the_compact_golden_values(profile: str) -> None:
    (standing,) = conformance(COMPACT, [profile])
    assert standing.compared > 0
    assert standing.wrong == []
    assert standing.agree + standing.declared == standing.compared


@needs_full
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_reproduces_the_full_golden_values(profile: str) -> None:
    (standing,) = conformance(FULL, [profile])
    assert standing.compared > 0
    assert standing.wrong == []
    assert standing.agree + standing.declared == standing.compared
    assert standing.unsupported == 0
    assert standing.declared <= 0.01 * standing.compared or standing.declared == 0


def values_in(folder: str | Path, profile: str) -> int:
    """How many values a tree holds."""
    count = 0
    for path in Path(folder, "cases", profile).glob("*.json"):
        case = json.loads(path.read_text("utf-8"))
        if case["kind"] in NO_KIND:
            continue
        means = list(case["expected"])
        alone = [name for name, users in case.get("per_user", {}).items() for _ in users]
        count += len(means) + len(alone)
    return count


@pytest.mark.parametrize("profile", [*OF_SCORES, *ALL_COMPARED])
def test_no_value_is_passed_over(profile: str) -> None:
    for folder in [COMPACT, *([FULL] if FULL else [])]:
        (standing,) = conformance(folder, [profile])
        cases = [case for case in load(folder, [profile]) if case.kind == "data"]
        of_data = [check for case in cases for check in checks(case) if check.wrong is not None]
        reports = [case for case in load(folder, [profile]) if case.kind == "report"]
        of_data += [one for case in reports for one in report_checks(case, rt.PROFILES[profile])]
        assert standing.compared - len(of_data) == values_in(folder, profile) > 0
        assert standing.declared == sum(bool(check.wrong) for check in of_data)


@pytest.mark.parametrize("profile", SOME_DECLARED)
def test_what_is_declared_is_compared_like_everything_else(profile: str) -> None:
    for folder in [COMPACT, *([FULL] if FULL else [])]:
        (standing,) = conformance(folder, [profile])
        assert standing.compared == values_in(folder, profile) > 0
        assert 0 < standing.declared <= 0.01 * standing.compared


def test_every_profile_is_there() -> None:
    assert {*OF_LISTS, *OF_SCORES} <= set(rt.PROFILES)


def test_the_default_meets_the_reference_definition_of_ndcg() -> None:
    for case in load(COMPACT, ["ndcg-reference"]):
        if case.kind != "lists":
            continue
        evaluation = rt.evaluate(**arguments(case, ""), metrics=list(case.expected))
        for name, expected in case.expected.items():
            assert evaluation[name] == pytest.approx(expected, abs=case.tolerance)


def _tree(folder: Path, expected: dict[str, float], known: bool = True) -> Path:
    """A golden tree of one case: one user, one relevant item at rank 2."""
    import polars as pl

    inputs = folder / "inputs" / "lists-one"
    cases = folder / "cases" / ("ndcg-reference" if known else "nobody")
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    lists = {"user": [1, 1], "item": [7, 8], "score": [2.0, 1.0], "position": [0, 1]}
    pl.DataFrame(lists).write_parquet(inputs / "recommendations.parquet")
    truth = pl.DataFrame({"user": [1], "item": [8], "grade": [1.0]})
    truth.write_parquet(inputs / "truth.parquet")
    case = {
        "profile": cases.name, "kind": "lists", "input": "lists-one", "options": {"order": "given"},
        "tolerance": 1e-12, "expected": expected, "per_user": {"mrr": {"1": 0.5}},
    }  # fmt: skip
    (cases / "lists-one.json").write_text(json.dumps(case))
    return folder


def test_agreement_is_counted_value_by_value(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path, {"mrr": 0.5, "hit@1": 0.0}))
    assert (standing.cases, standing.compared, standing.agree) == (1, 3, 3)
    assert standing.largest_error == 0.0


def test_a_value_beyond_its_tolerance_is_wrong(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path, {"mrr": 0.5 + 1e-9}))
    assert [(one.name, one.got) for one in standing.wrong] == [("mrr", 0.5)]
    assert standing.agree == standing.compared - 1


def test_metrics_and_profiles_that_do_not_exist_yet_are_not_compared(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path / "a", {"mrr": 0.5, "no_such_metric@10": 0.1}))
    assert (standing.compared, standing.unsupported) == (2, 1)
    (standing,) = conformance(_tree(tmp_path / "b", {"mrr": 0.5}, known=False))
    assert (standing.compared, standing.unsupported) == (0, 2)


def _dense_tree(folder: Path, name: str, **case: Any) -> Path:
    """A golden tree of one case: one user, items 0 to 3 by falling score, item 2 relevant."""
    import polars as pl

    inputs, cases = folder / "inputs" / "scores-one", folder / "cases" / "ndcg-reference"
    inputs.mkdir(parents=True, exist_ok=True)
    cases.mkdir(parents=True, exist_ok=True)
    np.save(inputs / "scores.npy", np.array([[4, 3, 2, 1]], np.float16))
    tables = {
        "rows": {"user": [7]},
        "truth": {"user": [7], "item": [2], "grade": [1.0]},
        "train": {"user": [7, 7], "item": [0, 1], "grade": [3.0, 1.0]},
        "mask": {"user": [7], "item": [1]},
        "ranking": {"user": [7, 7, 7], "item": [3, -1, 2], "position": [0, 1, 2]},
        "negatives": {"user": [7], "item": [3]},
    }
    for table, columns in tables.items():
        pl.DataFrame(columns).write_parquet(inputs / f"{table}.parquet")
    whole = {"profile": "ndcg-reference", "kind": "scores", "input": "scores-one", **case}
    (cases / f"{name}.json").write_text(json.dumps(whole))
    return folder


@pytest.mark.parametrize(
    ("options", "mrr"),
    [
        ({}, 1 / 1),  # the profile's own rule: what was seen is removed
        ({"mask": "none"}, 1 / 3),
        ({"mask": "train"}, 1 / 1),
        ({"mask": "train_relevant", "relevant_from": 1}, 1 / 1),
        ({"mask": "mask.parquet"}, 1 / 2),
        ({"order": "given", "ranking": "ranking.parquet"}, 1 / 2),
        ({"candidates": "negatives.parquet"}, 1 / 1),
    ],
)
def test_options_of_dense_cases_mean_what_they_say(
    options: dict[str, Any], mrr: float, tmp_path: Path
) -> None:
    tree = _dense_tree(tmp_path, "one", options=options, expected={"mrr": mrr})
    (standing,) = conformance(tree)
    assert standing.wrong == []
    assert standing.agree == standing.compared == 1


def test_a_mask_of_relevant_items_leaves_the_others(tmp_path: Path) -> None:
    options = {"mask": "train_relevant", "relevant_from": 2}
    (case,) = load(_dense_tree(tmp_path, "one", options=options, expected={"mrr": 1.0}))
    assert changes(case) == {"relevant_from": 2, "seen_items": "relevant_outside_truth"}
    assert arguments(case, "")["train"].rows() == [(7, 0, 3.0), (7, 1, 1.0)]


@pytest.mark.parametrize(("mask", "mrr"), [("none", 1 / 3), ("train", 1), ("train_relevant", 1)])
def test_a_case_that_keeps_unknown_items_ranks_those_of_train_first(
    mask: str, mrr: float, tmp_path: Path
) -> None:
    # Items 0 and 1 are in train; item 2 is as low as item 1, and item 3 is nowhere.
    options = {"exclude_unknowns": False, "mask": mask, "relevant_from": 1}
    (standing,) = conformance(_dense_tree(tmp_path, "one", options=options, expected={"mrr": mrr}))
    assert (standing.wrong, standing.agree) == ([], 1)


def test_what_needs_scores_is_not_read_from_a_recorded_order(tmp_path: Path) -> None:
    options = {"order": "given", "ranking": "ranking.parquet"}
    tree = _dense_tree(tmp_path, "one", options=options, expected={"mrr": 1 / 2, "auc": 1 / 1})
    (case,) = load(tree)
    assert rankings(case) == {"ranking.parquet": ["mrr"], "": ["auc"]}
    (standing,) = conformance(tree)
    assert (standing.wrong, standing.agree) == ([], 2)


def test_options_and_kinds_that_are_not_known_are_not_compared(tmp_path: Path) -> None:
    tree = _dense_tree(tmp_path, "coef", options={"coef": 0.1}, expected={"mrr": 1 / 3})
    _dense_tree(tree, "data", kind="data", expected={"mrr": 1 / 3})
    _dense_tree(tree, "users", options={"users": "in_candidates"}, expected={"mrr": 1 / 3})
    assert [changes(case) for case in load(tree)] == [None, None, None]
    (standing,) = conformance(tree)
    assert (standing.compared, standing.unsupported) == (0, 3)


def test_the_last_cutoff_of_a_case_is_asked_for_last(tmp_path: Path) -> None:
    tree = _dense_tree(tmp_path, "one", cutoffs=[20, 5], expected={})
    (case,) = load(tree)
    assert in_order(case, ["ndcg@5", "ndcg@20", "mrr"]) == ["ndcg@20", "mrr", "ndcg@5"]
    assert in_order(case, ["ndcg@20", "mrr"]) == ["ndcg@20", "mrr", "precision@5"]


@pytest.mark.parametrize(
    ("action", "worth"), [("zero", (1 / 3 + 0) / 2), ("one", (1 / 3 + 1) / 2), ("skip", 1 / 3)]
)
def test_rows_without_relevant_items_count_as_the_option_says(
    action: str, worth: float, tmp_path: Path
) -> None:
    import polars as pl

    # precision@3 of user 7 is 1/3; user 8 has nothing relevant
    options = {"empty_target": action}
    tree = _dense_tree(tmp_path, "one", options=options, expected={"precision@3": worth})
    inputs = tree / "inputs" / "scores-one"
    np.save(inputs / "scores.npy", np.array([[4, 3, 2, 1], [1, 2, 3, 4]], np.float32))
    pl.DataFrame({"user": [7, 8]}).write_parquet(inputs / "rows.parquet")
    (standing,) = conformance(tree)
    assert standing.wrong == []


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {"mrr": 0.5})
    (tree / "inputs" / "lists-one" / "truth.parquet").unlink()
    with pytest.raises(OSError, match=r"truth\.parquet, which does not exist"):
        conformance(tree)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="holds no folder 'cases'"):
        conformance(tmp_path)

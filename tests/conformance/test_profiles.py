"""Our values under each profile, compared with values that the framework computed."""

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
PROFILES = [name for name, p in rt.PROFILES.items() if name != "default" and not p.unproven]
needs_full = pytest.mark.skipif(not FULL, reason="set RECTITUDE_GOLDEN to the full golden tree")


LIST_PROFILES = ["trec_eval-9", "trec_eval-10", "pytrec_eval", "ranx", "rectools", "replay",
                 "ir_measures"]  # fmt: skip
WITH_DECLARED = ["trec_eval-9", "trec_eval-10", "ranx"]
SCORE_PROFILES = ["next-location", "smgcn", "smgcn-f1", "smgcn-icde", "sklearn", "torchmetrics",
                  "implicit", "comirec", "comirec-paper", "comirec-torch", "comirec-hit",
                  "ndcg-reference"]  # fmt: skip
ALL_COMPARED = ["pytrec_eval", "ir_measures",
                "rectools", "replay", "replay-frame", "replay-torch", "recommenders", "recpack",
                "recbole", "cornac", "daisyrec", "daisyrec-2.3", "lenskit-2025",
                "lenskit-2026", "elliot", "spark-mllib", "sentence-transformers", "beir",
                "surprise"]  # fmt: skip
WITHOUT_VALUES = {"data", "report"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_reproduces_the_compact_golden_values(profile: str) -> None:
    (tally,) = conformance(COMPACT, [profile])
    assert tally.compared > 0
    assert tally.wrong == []
    assert tally.agree + tally.declared == tally.compared


@needs_full
@pytest.mark.parametrize(
    "profile", [name for name in PROFILES if Path(FULL, "cases", name).is_dir()]
)
def test_a_profile_reproduces_the_full_golden_values(profile: str) -> None:
    (tally,) = conformance(FULL, [profile])
    assert tally.compared > 0
    assert tally.wrong == []
    assert tally.agree + tally.declared == tally.compared
    assert tally.unsupported == 0
    assert tally.declared <= 0.01 * tally.compared or tally.declared == 0


def trees_of(profile: str) -> list[Path]:
    """Return the golden trees with cases of a profile; the compact one has cases of all."""
    full = [Path(FULL)] if FULL and Path(FULL, "cases", profile).is_dir() else []
    return [COMPACT, *full]


def values_in(folder: str | Path, profile: str) -> int:
    """Count the values of a profile in a golden tree."""
    count = 0
    for path in Path(folder, "cases", profile).glob("*.json"):
        case = json.loads(path.read_text("utf-8"))
        if case["kind"] in WITHOUT_VALUES:
            continue
        means = list(case["expected"])
        per_user = [name for name, users in case.get("per_user", {}).items() for _ in users]
        count += len(means) + len(per_user)
    return count


@pytest.mark.parametrize("profile", [*SCORE_PROFILES, *ALL_COMPARED])
def test_no_value_is_skipped(profile: str) -> None:
    for folder in trees_of(profile):
        (tally,) = conformance(folder, [profile])
        cases = [case for case in load(folder, [profile]) if case.kind == "data"]
        checked = [check for case in cases for check in checks(case) if check.wrong is not None]
        reports = [case for case in load(folder, [profile]) if case.kind == "report"]
        for case in reports:
            checked += report_checks(case, rt.PROFILES[profile])
        assert tally.compared - len(checked) == values_in(folder, profile) > 0
        assert tally.declared == sum(bool(check.wrong) for check in checked)


@pytest.mark.parametrize("profile", WITH_DECLARED)
def test_declared_differences_are_compared_too(profile: str) -> None:
    for folder in trees_of(profile):
        (tally,) = conformance(folder, [profile])
        assert tally.compared == values_in(folder, profile) > 0
        assert 0 < tally.declared <= 0.01 * tally.compared


def test_every_profile_has_golden_values_or_says_that_it_has_none() -> None:
    with_values = {path.name for path in (COMPACT / "cases").iterdir()}
    unproven = {name for name, profile in rt.PROFILES.items() if profile.unproven}
    assert unproven == {*rt.PROFILES} - with_values - {"default"}


def test_every_tested_profile_exists() -> None:
    assert {*LIST_PROFILES, *SCORE_PROFILES} <= set(rt.PROFILES)


def test_default_agrees_with_the_reference_definition_of_ndcg() -> None:
    for case in load(COMPACT, ["ndcg-reference"]):
        if case.kind != "lists":
            continue
        evaluation = rt.evaluate(**arguments(case, ""), metrics=list(case.expected))
        for name, expected in case.expected.items():
            assert evaluation[name] == pytest.approx(expected, abs=case.tolerance)


def _tree(
    folder: Path,
    expected: dict[str, float],
    known: bool = True,
    relevant: int = 8,
) -> Path:
    """Write a golden tree with one case: one user, one relevant item, by default at rank 2."""
    import polars as pl

    inputs = folder / "inputs" / "lists-one"
    cases = folder / "cases" / ("ndcg-reference" if known else "nobody")
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    lists = {"user": [1, 1], "item": [7, 8], "score": [2.0, 1.0], "position": [0, 1]}
    pl.DataFrame(lists).write_parquet(inputs / "recommendations.parquet")
    truth = pl.DataFrame({"user": [1], "item": [relevant], "grade": [1.0]})
    truth.write_parquet(inputs / "truth.parquet")
    case = {
        "profile": cases.name, "kind": "lists", "input": "lists-one", "options": {"order": "given"},
        "tolerance": 1e-12, "expected": expected, "per_user": {"mrr": {"1": 0.5}},
    }  # fmt: skip
    (cases / "lists-one.json").write_text(json.dumps(case))
    return folder


def test_agreement_is_counted_value_by_value(tmp_path: Path) -> None:
    (tally,) = conformance(_tree(tmp_path, {"mrr": 0.5, "hit@1": 0.0}))
    assert (tally.cases, tally.compared, tally.agree) == (1, 3, 3)
    assert tally.largest_error == 0.0


def test_value_outside_the_tolerance_is_wrong(tmp_path: Path) -> None:
    (tally,) = conformance(_tree(tmp_path, {"mrr": 0.5 + 1e-9}))
    assert [(value.name, value.got) for value in tally.wrong] == [("mrr", 0.5)]
    assert tally.agree == tally.compared - 1


@pytest.mark.parametrize(("declared", "item", "counts"), [
    ("nothing to evaluate", 9, (1, 1)), ("recall", 9, (0, 2)), ("nothing to evaluate", 8, (0, 1)),
])  # fmt: skip
def test_a_refused_evaluation_is_a_known_difference_of_profiles_that_say_so(
    tmp_path: Path, declared: str, item: int, counts: tuple[int, int]
) -> None:
    """Only the mean that is refused: one that differs, or a value of a user, is wrong."""
    profile = tmp_path / "ndcg-reference.toml"
    profile.write_text(f"""
        framework = "one that returns 0"
        versions = ["1"]
        about = "a test"
        [convention]
        list_needed = "hit"
        truth_needed = "relevant"
        [known_differences]
        "{declared}" = "0 where no list counts"
    """)
    tree = _tree(tmp_path, {"precision@2": 0.125}, relevant=item)
    (tally,) = conformance(tree, [str(profile)])
    assert (tally.declared, len(tally.wrong)) == counts


def test_metrics_and_profiles_that_do_not_exist_yet_are_not_compared(tmp_path: Path) -> None:
    (tally,) = conformance(_tree(tmp_path / "a", {"mrr": 0.5, "no_such_metric@10": 0.1}))
    assert (tally.compared, tally.unsupported) == (2, 1)
    (tally,) = conformance(_tree(tmp_path / "b", {"mrr": 0.5}, known=False))
    assert (tally.compared, tally.unsupported) == (0, 2)


def _dense_tree(folder: Path, name: str, **case: Any) -> Path:
    """Write a golden tree with one case: one user, items 0 to 3 by descending score, item 2
    relevant."""
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
        ({}, 1 / 1),  # the rule of the profile: training items are removed
        ({"mask": "none"}, 1 / 3),
        ({"mask": "train"}, 1 / 1),
        ({"mask": "train_relevant", "relevant_from": 1}, 1 / 1),
        ({"mask": "mask.parquet"}, 1 / 2),
        ({"order": "given", "ranking": "ranking.parquet"}, 1 / 2),
        ({"candidates": "negatives.parquet"}, 1 / 1),
    ],
)
def test_options_of_dense_cases_are_applied(
    options: dict[str, Any], mrr: float, tmp_path: Path
) -> None:
    tree = _dense_tree(tmp_path, "one", options=options, expected={"mrr": mrr})
    (tally,) = conformance(tree)
    assert tally.wrong == []
    assert tally.agree == tally.compared == 1


def test_mask_of_relevant_items_keeps_the_others(tmp_path: Path) -> None:
    options = {"mask": "train_relevant", "relevant_from": 2}
    (case,) = load(_dense_tree(tmp_path, "one", options=options, expected={"mrr": 1.0}))
    assert changes(case) == {"relevant_from": 2, "seen_items": "relevant_outside_truth"}
    assert arguments(case, "")["train"].rows() == [(7, 0, 3.0), (7, 1, 1.0)]


@pytest.mark.parametrize(("mask", "mrr"), [("none", 1 / 3), ("train", 1), ("train_relevant", 1)])
def test_case_that_keeps_unknown_items_ranks_training_items_first(
    mask: str, mrr: float, tmp_path: Path
) -> None:
    # Items 0 and 1 are in the training data; item 2 is as low as item 1, and item 3 is unknown.
    options = {"exclude_unknowns": False, "mask": mask, "relevant_from": 1}
    (tally,) = conformance(_dense_tree(tmp_path, "one", options=options, expected={"mrr": mrr}))
    assert (tally.wrong, tally.agree) == ([], 1)


def test_metric_that_needs_scores_does_not_use_a_recorded_order(tmp_path: Path) -> None:
    options = {"order": "given", "ranking": "ranking.parquet"}
    tree = _dense_tree(tmp_path, "one", options=options, expected={"mrr": 1 / 2, "auc": 1 / 1})
    (case,) = load(tree)
    assert rankings(case) == {"ranking.parquet": ["mrr"], "": ["auc"]}
    (tally,) = conformance(tree)
    assert (tally.wrong, tally.agree) == ([], 2)


def test_unknown_options_and_kinds_are_not_compared(tmp_path: Path) -> None:
    tree = _dense_tree(tmp_path, "coef", options={"coef": 0.1}, expected={"mrr": 1 / 3})
    _dense_tree(tree, "data", kind="data", expected={"mrr": 1 / 3})
    _dense_tree(tree, "users", options={"users": "in_candidates"}, expected={"mrr": 1 / 3})
    assert [changes(case) for case in load(tree)] == [None, None, None]
    (tally,) = conformance(tree)
    assert (tally.compared, tally.unsupported) == (0, 3)


def test_last_cutoff_of_a_case_is_requested_last(tmp_path: Path) -> None:
    tree = _dense_tree(tmp_path, "one", cutoffs=[20, 5], expected={})
    (case,) = load(tree)
    assert in_order(case, ["ndcg@5", "ndcg@20", "mrr"]) == ["ndcg@20", "mrr", "ndcg@5"]
    assert in_order(case, ["ndcg@20", "mrr"]) == ["ndcg@20", "mrr", "precision@5"]


@pytest.mark.parametrize(
    ("action", "value"), [("zero", (1 / 3 + 0) / 2), ("one", (1 / 3 + 1) / 2), ("skip", 1 / 3)]
)
def test_option_decides_how_rows_without_relevant_items_count(
    action: str, value: float, tmp_path: Path
) -> None:
    import polars as pl

    # precision@3 of user 7 is 1/3; user 8 has nothing relevant
    options = {"empty_target": action}
    tree = _dense_tree(tmp_path, "one", options=options, expected={"precision@3": value})
    inputs = tree / "inputs" / "scores-one"
    np.save(inputs / "scores.npy", np.array([[4, 3, 2, 1], [1, 2, 3, 4]], np.float32))
    pl.DataFrame({"user": [7, 8]}).write_parquet(inputs / "rows.parquet")
    (tally,) = conformance(tree)
    assert tally.wrong == []


def test_error_names_a_missing_input(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {"mrr": 0.5})
    (tree / "inputs" / "lists-one" / "truth.parquet").unlink()
    with pytest.raises(OSError, match=r"truth\.parquet, which does not exist"):
        conformance(tree)


def test_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="contains no folder 'cases'"):
        conformance(tmp_path)

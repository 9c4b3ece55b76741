"""Audits of other inputs: sessions, logits with targets, lists with weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.auditing import Audit
from rectitude.errors import BadArgument, BadScores, BadTable

TRAIN = pl.DataFrame({"user": ["a", "b", "b"], "item": ["x", "x", "y"], "timestamp": [1, 4, 2]})
TRUTH = pl.DataFrame(
    {
        "session": [1, 1, 2, 3, 4],
        "user": ["a", "a", "a", "b", "c"],
        "item": ["x", "y", "z", "x", "y"],
        "timestamp": [5, 5, 6, 3, 9],
    }
)
LISTS = pl.DataFrame(
    {
        "session": [1, 1, 2, 2, 3, 3, 5, 5],
        "item": ["x", "z", "z", "z", "q", "x", "x", "y"],
        "score": [0.5, 0.4, 0.5, 0.4, 0.2, 0.1, 0.3, 0.2],
    }
)


def by_session(lists: Any = LISTS, truth: Any = TRUTH, **more: Any) -> Audit:
    return rt.audit(TRAIN, truth, lists, **{"list_key": "session", "metrics": "recall@2", **more})


def test_lists_with_other_keys_have_the_values_of_evaluate() -> None:
    once = LISTS.unique(["session", "item"], maintain_order=True)
    expected = rt.evaluate(once, TRUTH.drop("user"), "recall@2", list_key="session")
    assert by_session().values == expected.values()


def test_findings_about_lists_name_the_key() -> None:
    found = by_session()
    missing = found["missing_lists"]
    assert (missing.count, missing.of, missing.example) == (1, 4, "session 4")
    assert missing.about == "sessions of the truth have no list"
    assert found["duplicate_items"].example == "session 2, user 'a', item 'z'"
    without = rt.evaluate(
        LISTS.unique(["session", "item"]),
        TRUTH.filter(pl.col("session") != 4).drop("user"),
        "recall@2",
        list_key="session",
    )
    assert missing.effect["recall@2"][1] == without["recall@2"]


def test_findings_about_users_name_the_owner_of_the_list() -> None:
    found = by_session()
    assert (found["truth_in_train"].count, found["truth_in_train"].example) == (
        2, "session 1, user 'a', item 'x'",
    )  # fmt: skip
    assert found["seen_items"].count == 2
    assert found["unknown_users"].example == "user 'c'"
    assert found["older_than_own_train"].example.startswith("session 3, user 'b', item 'x': 3")


def test_lists_without_users_are_not_compared_with_train() -> None:
    found = by_session(truth=TRUTH.drop("user"))
    assert "the users of the truth" in found.skipped["truth_in_train"]
    assert "the users of lists" in found.skipped["seen_items"]
    assert found["unknown_items"].count == 1
    assert found["missing_lists"].count == 1


def test_users_to_evaluate_must_be_found_in_the_lists() -> None:
    assert by_session(users=["a"]).sizes["truth"] == 3
    with pytest.raises(BadArgument, match="does not say which user each list belongs to"):
        by_session(truth=TRUTH.drop("user"), users=["a"])


def test_the_same_item_in_two_lists_of_a_user_is_not_a_repeat() -> None:
    truth = pl.DataFrame({"session": [1, 2], "user": ["a", "a"], "item": ["z", "z"]})
    assert by_session(truth=truth)["duplicate_truth"].severity == "fine"


def test_a_truth_without_the_key_is_an_error() -> None:
    with pytest.raises(BadTable, match="'session'"):
        by_session(truth=TRUTH.drop("session"))


def test_dense_scores_may_have_several_rows_per_user() -> None:
    array = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    scores = rt.Scores(array, users=["a", "a", "b"], lists=[1, 2, 3], items=["x", "y", "z", "q"])
    found = by_session(scores)
    expected = rt.evaluate(scores, TRUTH, "recall@2", train=TRAIN, list_key="session")
    assert found.values == expected.values()
    assert found["constant_scores"].example == "session 3"
    assert found["seen_items"].severity == "fine"


def test_scores_without_users_are_compared_with_the_truth_only() -> None:
    array = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 2.0, 3.0, 1.0], [4.0, 3.0, 2.0, 1.0]])
    scores = rt.Scores(array, lists=[1, 2, 3], items=["x", "y", "z", "q"])
    found = by_session(scores)
    expected = rt.evaluate(scores, TRUTH.drop("user"), "recall@2", list_key="session")
    assert found.values == expected.values()
    assert found["truth_in_train"].count == 2
    assert "the users of lists" in found.skipped["seen_items"]


def test_findings_about_sessions_do_not_depend_on_the_order_of_rows() -> None:
    random = np.random.default_rng(5)
    session = random.integers(0, 40, 300)
    truth = pl.DataFrame(
        {"session": session, "user": session % 7, "item": random.integers(0, 30, 300)}
    )
    lists = pl.DataFrame(
        {
            "session": random.integers(0, 45, 400),
            "item": random.integers(0, 35, 400),
            "score": random.permutation(400) / 7,
        }
    )
    train = pl.DataFrame({"user": random.integers(0, 6, 80), "item": random.integers(0, 28, 80)})
    weights = pl.DataFrame({"session": range(45), "weight": random.random(45)})

    def counted(*tables: pl.DataFrame) -> dict[str, Any]:
        found = rt.audit(*tables, metrics="recall@5", list_key="session", weights=weights)
        return {one.name: (one.count, one.of, one.severity, one.effect) for one in found.findings}

    first = counted(train, truth, lists)
    assert first["seen_items"][0] > 0
    assert first["duplicate_items"][0] > 0
    for seed in range(3):
        shuffled = [table.sample(fraction=1, shuffle=True, seed=seed) for table in
                    (train, truth, lists)]  # fmt: skip
        assert counted(*shuffled) == first


# weights


def test_weights_count_in_every_value() -> None:
    weights = pl.DataFrame({"session": [1, 2, 3, 4], "weight": [1.0, 97.0, 1.0, 1.0]})
    found = by_session(weights=weights)
    heavy = found["uneven_weights"]
    assert (heavy.severity, heavy.count, heavy.of) == ("fine", 1, 4)
    once = LISTS.unique(["session", "item"], maintain_order=True)
    truth = TRUTH.drop("user")
    expected = rt.evaluate(once, truth, "recall@2", list_key="session", weights=weights)
    assert found.values == expected.values()


def test_few_lists_that_decide_are_measured_against_equal_weights() -> None:
    users = [f"u{number}" for number in range(10)]
    truth = {user: ["x"] for user in users}
    lists = {user: ["x"] if user == "u0" else ["y"] for user in users}
    weights = pl.DataFrame({"user": users, "weight": [90.0, *[1.0] * 9]})
    found = rt.audit(None, truth, lists, metrics="recall@1", weights=weights)["uneven_weights"]
    assert (found.severity, found.count, found.example) == ("notice", 1, "user 'u0'")
    assert found.effect["recall@1"] == (pytest.approx(90 / 99), pytest.approx(0.1))


@pytest.mark.parametrize("weight", [float("nan"), -1.0, float("inf")])
def test_invalid_weights_are_reported_not_raised(weight: float) -> None:
    weights = pl.DataFrame({"user": ["a", "b", "b"], "weight": [weight, 1.0, 1.0]})
    truth, lists = {"a": ["x"], "b": ["x"], "c": ["y"]}, {"a": ["x"], "b": ["x"], "c": ["y"]}
    found = rt.audit(None, truth, lists, metrics="recall@1", weights=weights)
    bad = found["bad_weights"]
    assert (bad.severity, bad.count, bad.of, bad.example) == ("serious", 3, 3, "user 'a'")
    assert found.exit_code == 1


# logits

LOGITS = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0, 5.0, 1.0], [9.0, 1.0, 2.0]])
TARGETS = np.array([0, 2, 1, 1])


def test_logits_have_the_values_of_evaluate() -> None:
    metrics = ["accuracy@1", "mrr", "cross_entropy"]
    found = rt.audit(None, TARGETS, rt.Logits(LOGITS), metrics=metrics)
    expected = rt.evaluate(rt.Logits(LOGITS), TARGETS, metrics, {"ties": "pessimistic"})
    assert found.values == expected.values()


def test_bad_and_constant_rows_of_logits_are_found() -> None:
    broken = LOGITS.copy()
    broken[2, 0], broken[3, 1] = np.nan, np.inf
    found = rt.audit(None, TARGETS, rt.Logits(broken))
    bad, same = found["bad_scores"], found["constant_scores"]
    assert (bad.severity, bad.count, bad.of, bad.example) == ("serious", 2, 12, "row 2, class 0")
    assert (same.count, same.of, same.example) == (1, 4, "row 1")
    kept = rt.evaluate(rt.Logits(LOGITS[[0, 2, 3]]), TARGETS[[0, 2, 3]], "mrr")["mrr"]
    clean = rt.audit(None, TARGETS, rt.Logits(LOGITS), metrics="mrr")["constant_scores"]
    assert clean.effect["mrr"][1] == kept
    assert clean.lists == (4, 3)


def test_targets_outside_the_classes_or_unknown_to_training_are_counted() -> None:
    found = rt.audit([0, 0, 1], [0, 7, 1, 2], rt.Logits(LOGITS))
    assert found["unscored_items"].example == "row 1, class 7"
    assert found["unknown_items"].count == 2
    assert found["unknown_items"].about == "truth rows have classes that are not in train"
    assert found["bad_targets"].severity == "fine"


@pytest.mark.parametrize("target", [-1, -100, 0.5, float("nan")])
def test_invalid_targets_are_reported_not_raised(target: float) -> None:
    found = rt.audit(None, [0, target, 1, 1], rt.Logits(LOGITS))
    bad = found["bad_targets"]
    assert (bad.severity, bad.count, bad.of) == ("serious", 1, 4)
    assert bad.example == f"row 1, {float(target) if isinstance(target, float) else target}"
    rest = rt.evaluate(rt.Logits(LOGITS[[0, 2, 3]]), [0, 1, 1], "accuracy@1")["accuracy@1"]
    assert found.values["accuracy@1"] == rest


def test_logits_in_files_and_in_blocks_are_audited_alike(tmp_path: Path) -> None:
    np.save(tmp_path / "logits.npy", LOGITS)
    np.save(tmp_path / "targets.npy", TARGETS)
    blocks = rt.Logits(lambda: iter([LOGITS[:3], LOGITS[3:]]), rows=4)
    files = rt.audit(None, tmp_path / "targets.npy", rt.Logits(tmp_path / "logits.npy"))
    assert files.as_dict() == rt.audit(None, TARGETS, blocks).as_dict()


def test_arguments_that_logits_do_not_support_are_refused() -> None:
    with pytest.raises(BadArgument, match="validation was given together with logits"):
        rt.audit(None, TARGETS, rt.Logits(LOGITS), validation=TARGETS)
    with pytest.raises(BadArgument, match="without a truth"):
        rt.audit(None, None, rt.Logits(LOGITS))
    with pytest.raises(BadScores, match="2 targets and 4 rows"):
        rt.audit(None, [0, 1], rt.Logits(LOGITS))

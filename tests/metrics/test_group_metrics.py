"""Gap and ratio between groups of users, of any metric that is a mean over lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, MissingNeed, NothingToEvaluate, UndefinedValue
from rectitude.explanation.trace import trace

LISTS = {"a": ["x", "y"], "b": ["y", "x"], "c": ["x", "z"], "d": ["z", "w"], "e": ["w"]}
TRUTH = {"a": ["x"], "b": ["x"], "c": ["x"], "d": ["x"], "e": ["w"]}
USERS = {"user": list("abcdef"), "sex": ["f", "f", "m", "m", None, "other"],
         "town": list("ABCDEF")}  # fmt: skip


def evaluate(names: Any, **more: Any) -> rt.Evaluation:
    return rt.evaluate(LISTS, TRUTH, names, **({"users": USERS} | more))


def value(name: str, **more: Any) -> float:
    found = evaluate(name, **more)
    for error in found.failures.values():
        raise error
    return found[name]


def test_gap_and_ratio_are_those_of_the_means() -> None:
    assert value("group_gap[by=sex,of=mrr]") == 0.75 - 0.5
    assert value("group_ratio[by=sex,of=mrr]") == 0.5 / 0.75
    assert value("group_gap[by=sex,of=hit]@1") == 0.0
    assert value("group_ratio[by=sex,of=hit]@1") == 1.0
    assert value("group_gap[by=sex,of=mrr]", convention={"scale": "percent"}) == 25.0


def test_the_ledger_has_the_means_and_warns_of_groups_of_one() -> None:
    found = evaluate(["group_gap[by=sex,of=mrr]", "group_gap[by=town,of=mrr]"])
    assert found.ledger.notes["group_gap[by=sex,of=mrr]"] == (
        "f 0.7500 (2 lists), m 0.5000 (2 lists)"
    )
    assert (found.ledger["groups_of_one_sex"], found.ledger["groups_of_one_town"]) == (0, 5)
    assert found["group_gap[by=town,of=mrr]"] == 1.0
    assert (found.ledger["users_without_sex"], found.ledger["users_without_town"]) == (1, 0)


def test_groups_that_all_have_0_are_served_equally() -> None:
    wrong = {user: ["q"] for user in LISTS}
    assert rt.evaluate(wrong, TRUTH, "group_ratio[by=sex,of=mrr]", users=USERS)[
        "group_ratio[by=sex,of=mrr]"
    ] == 1.0  # fmt: skip


def test_a_ratio_of_negative_means_is_refused() -> None:
    name = "group_ratio[by=sex,of=utility]@1"
    wrong = {user: ["q"] for user in LISTS}
    with pytest.raises(UndefinedValue, match="a mean of -1"):
        _ = rt.evaluate(wrong, TRUTH, name, users=USERS)[name]


def test_a_single_group_cannot_be_compared() -> None:
    with pytest.raises(NothingToEvaluate, match="has a value for only 1 group of 'sex': 'f'"):
        value("group_gap[by=sex,of=mrr]", users={"user": ["a", "b"], "sex": ["f", "f"]})
    with pytest.raises(MissingNeed, match="no value for any user"):
        value("group_gap[by=sex,of=mrr]", users={"user": ["a", "b"], "sex": [None, None]})


def test_missing_inputs_are_named() -> None:
    with pytest.raises(MissingNeed, match="no table of users was given"):
        value("group_gap[by=sex,of=mrr]", users=None)
    with pytest.raises(MissingNeed, match=r"has no column 'six'.*\n.*\n.*did you mean 'sex'"):
        value("group_gap[by=six,of=mrr]")
    with pytest.raises(KeyError, match="did you mean 'mrr'"):
        value("group_gap[by=sex,of=mmr]")


@pytest.mark.parametrize("of", ["gini", "f1_of_means", "group_gap"])
def test_only_means_over_lists_have_groups(of: str) -> None:
    with pytest.raises(BadName, match="a metric that is a mean over lists"):
        value(f"group_gap[of={of},by=sex]@2", items=list("wxyz"))


def test_groups_are_compared_under_the_given_convention() -> None:
    strict = value("group_gap[by=sex,of=ndcg,truth_needed=none]@2")
    assert strict == value("group_gap[by=sex,of=ndcg]@2", convention={"truth_needed": "none"})
    weights = {"user": list("abcde"), "weight": [3.0, 1.0, 1.0, 1.0, 1.0]}
    assert value("group_gap[by=sex,of=mrr]", weights=weights) == 0.875 - 0.5


def test_switches_of_the_metric_are_those_of_the_gap() -> None:
    name = "group_gap[by=sex,ideal=k,of=ndcg]@2"
    assert value(name) == value("group_gap[by=sex,of=ndcg]@2", convention={"ideal": "k"})
    found = evaluate([name, "group_gap[by=sex,of=ndcg]@2"])
    assert "ideal: k" in found.definition(name)
    assert len({result.fingerprint for result in found.results.values()}) == 2


def test_batches_give_the_same_and_can_be_saved(tmp_path: Path) -> None:
    names = ["group_gap[by=sex,of=ndcg]@2", "group_ratio[by=sex,of=mrr]"]
    whole = evaluate(names)
    parts = []
    for user, items in LISTS.items():
        one = rt.Evaluator(names)
        table = {"user": [user], "sex": [USERS["sex"][USERS["user"].index(user)]]}
        one.update({user: items}, {user: TRUTH[user]}, users=table)
        parts.append(one)
    both = sum(parts[::-1])
    both.save(tmp_path / "sums.json")
    for found in (
        both.compute(),
        both.compute(),
        rt.Evaluator.load(tmp_path / "sums.json").compute(),
    ):
        assert found.values() == whole.values()
        assert (
            found.ledger.notes["group_ratio[by=sex,of=mrr]"]
            == (whole.ledger.notes["group_ratio[by=sex,of=mrr]"])
        )
        assert found.ledger["users_without_sex"] == 1


def test_lists_of_a_user_in_several_batches_are_refused() -> None:
    with pytest.raises(BadArgument, match=r"'group_gap\[by=sex,of=mrr\]' compares groups of users"):
        rt.Evaluator("group_gap[by=sex,of=mrr]", {"unit": "user"})


def test_a_trace_names_the_metric_to_ask_for() -> None:
    with pytest.raises(BadName, match="a metric that it is computed from: mrr"):
        trace(LISTS, TRUTH, "group_gap[by=sex,of=mrr]", "a", users=USERS)

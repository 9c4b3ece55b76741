"""Which lists count, the value of 0/0, and how lists become one number; by hand."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadTable, NothingToEvaluate, RectitudeError, UnknownIds

# Who:       list            truth              hit@1
# good       a               a                  1
# bad        x               a                  0
# empty      handed, empty   a                  0
# nobody     none            a                  0
# judged     a               a: 0               0 of 0 relevant
# stranger   a               none               0 of 0 relevant
LISTS = rt.Lists(
    {"good": ["a"], "bad": ["x"], "judged": ["a"], "stranger": ["a"]},
    users=["good", "bad", "empty", "judged", "stranger"],
)
TRUTH = {
    "good": {"a": 1},
    "bad": {"a": 1},
    "empty": {"a": 1},
    "nobody": {"a": 1},
    "judged": {"a": 0},
}
WITH_TRUTH = {
    "relevant": {"good", "bad", "empty", "nobody"},
    "judged": {"good", "bad", "empty", "nobody", "judged"},
    "none": {"good", "bad", "empty", "nobody", "judged", "stranger"},
}
WITH_LIST = {
    "none": {"good", "bad", "empty", "nobody", "judged", "stranger"},
    "handed": {"good", "bad", "empty", "judged", "stranger"},
    "items": {"good", "bad", "judged", "stranger"},
    "hit": {"good"},
}


@pytest.mark.parametrize(("truth_needed", "list_needed"), list(product(WITH_TRUTH, WITH_LIST)))
def test_who_counts(truth_needed: str, list_needed: str) -> None:
    counted = WITH_TRUTH[truth_needed] & WITH_LIST[list_needed]
    convention = {"truth_needed": truth_needed, "list_needed": list_needed}
    evaluation = rt.evaluate(LISTS, TRUTH, "hit@1", convention)
    assert evaluation["hit@1"] == 1 / len(counted)
    assert evaluation.result("hit@1").counted == len(counted)
    rows = evaluation.per_list().rows()
    assert {user for user, value in rows if value is not None} == counted
    assert {user for user, _ in rows} == WITH_TRUTH["none"]


@pytest.mark.parametrize(("undefined", "expected"), [
    # recall: good 1, bad 0, empty 0, nobody 0, judged 0/0, stranger 0/0
    ("zero", 1 / 6), ("one", (1 + 1 + 1) / 6), ("skip", 1 / 4),
])  # fmt: skip
def test_the_value_of_0_over_0(undefined: str, expected: float) -> None:
    convention = {"truth_needed": "none", "undefined": undefined}
    evaluation = rt.evaluate(LISTS, TRUTH, "recall", convention)
    assert evaluation["recall"] == expected
    state = evaluation.result("recall").state
    assert (state.counted, state.skipped) == ((4, 2) if undefined == "skip" else (6, 0))


def test_0_over_0_is_an_error_by_default_that_names_the_first_list() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, ["recall", "hit"], {"truth_needed": "none"})
    message = str(evaluation.failures["recall"])
    assert "2 of 6 lists is 0/0 (first: list 'judged')" in message
    assert "undefined=" in message
    assert evaluation["hit"] == 1 / 6


def test_0_over_0_can_be_nan_on_request_and_then_the_mean_is_nan() -> None:
    convention = {"truth_needed": "judged", "undefined": "nan"}
    evaluation = rt.evaluate(LISTS, TRUTH, "recall", convention)
    assert math.isnan(evaluation["recall"])
    assert evaluation.result("recall").state.nan == 1


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("undefined", ["zero", "one", "skip"])
def test_nan_is_never_a_value_unless_requested(average: str, undefined: str) -> None:
    # Nothing is relevant to anyone: every recall is 0/0.
    truth = {"good": {"a": 0}, "bad": {"a": 0}}
    convention = {"truth_needed": "judged", "undefined": undefined, "average": average}
    evaluation = rt.evaluate({"good": ["a"], "bad": ["x"]}, truth, "recall", convention)
    if undefined == "skip":
        assert isinstance(evaluation.failures["recall"], NothingToEvaluate)
    else:
        assert evaluation["recall"] == {"zero": 0.0, "one": 1.0}[undefined]


# Sessions:  1 and 2 of ann: hits 1 of 1, 0 of 3 relevant; 3 of bob: 1 of 2
SESSIONS = {"user": ["ann", "ann", "bob"], "session": [1, 2, 3], "item": ["a", "x", "a"]}
SESSION_TRUTH = {
    "user": ["ann", "ann", "ann", "ann", "bob", "bob"],
    "session": [1, 2, 2, 2, 3, 3],
    "item": ["a", "a", "b", "c", "a", "b"],
}
WEIGHTS = {"session": [1, 2, 3], "weight": [3.0, 1.0, 2.0]}


def sessions(metric: str, convention: dict[str, str], **more: Any) -> float:
    return rt.evaluate(SESSIONS, SESSION_TRUTH, metric, convention, list_key="session", **more)[
        metric
    ]


def test_unit_and_average_by_hand() -> None:
    assert sessions("recall", {}) == (1 / 1 + 0 / 3 + 1 / 2) / 3
    assert sessions("recall", {"unit": "user"}) == ((1 / 1 + 0 / 3) / 2 + 1 / 2) / 2
    assert sessions("recall", {"average": "micro"}) == (1 + 0 + 1) / (1 + 3 + 2)


def test_weights_by_hand() -> None:
    weighted = (3 * 1 + 1 * 0 + 2 * (1 / 2)) / (3 + 1 + 2)
    assert sessions("recall", {}, weights=WEIGHTS) == weighted
    by_user = ((3 * 1 + 1 * 0) / (3 + 1) + 1 / 2) / 2
    assert sessions("recall", {"unit": "user"}, weights=WEIGHTS) == by_user


def test_weights_enter_a_ratio_of_sums_or_are_refused() -> None:
    try:
        value = sessions("recall", {"average": "micro"}, weights=WEIGHTS)
    except RectitudeError:
        return
    assert value == (3 * 1 + 1 * 0 + 2 * 1) / (3 * 1 + 1 * 3 + 2 * 2)


def test_a_ratio_of_sums_does_not_claim_to_be_over_users_unless_it_is() -> None:
    convention = {"average": "micro", "unit": "user"}
    try:
        evaluation = rt.evaluate(SESSIONS, SESSION_TRUTH, "recall", convention, list_key="session")
        value, definition = evaluation["recall"], evaluation.definition("recall")
    except RectitudeError:
        return
    # over users, ann's two lists weigh 1/2 each
    over_users = value == ((1 + 0) / 2 + 1) / ((1 + 3) / 2 + 2)
    assert over_users or "unit: user" not in definition


def test_weights_as_a_dict_of_users() -> None:
    lists, truth = {"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}
    assert rt.evaluate(lists, truth, "hit", weights={"u": 3, "v": 1})["hit"] == 3 / 4
    assert rt.evaluate(lists, truth, "hit", weights={"u": 0, "v": 1})["hit"] == 0


@pytest.mark.parametrize("weights", [
    {"u": 1}, {"u": 1, "v": -1}, {"u": 1, "v": math.inf}, {"u": 1, "v": math.nan},
    {"user": ["u", "v", "v"], "weight": [1, 1, 1]},
], ids=["missing", "negative", "infinite", "nan", "twice"])  # fmt: skip
def test_weights_that_cannot_be_used_are_refused(weights: Any) -> None:
    lists, truth = {"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}
    with pytest.raises(BadTable, match=r"1 of 2 lists .*weight.*'v'"):
        rt.evaluate(lists, truth, "hit", weights=weights)


def test_weights_that_are_all_0_leave_nothing_to_evaluate() -> None:
    lists, truth = {"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}
    try:
        evaluation = rt.evaluate(lists, truth, "hit", weights={"u": 0, "v": 0})
    except RectitudeError:
        return
    assert "hit" in evaluation.failures, f"the value is {evaluation['hit']}"


def test_an_empty_list_differs_from_a_missing_list() -> None:
    truth = {"u": ["a"], "v": ["a"]}
    handed = {"list_needed": "handed"}
    none = rt.evaluate({"u": ["a"]}, truth, "hit", handed)
    empty = rt.evaluate(rt.Lists({"u": ["a"]}, users=["u", "v"]), truth, "hit", handed)
    spelt_out = rt.evaluate({"u": ["a"], "v": []}, truth, "hit", handed)
    assert (none["hit"], empty["hit"], spelt_out["hit"]) == (1, 1 / 2, 1 / 2)
    assert (none.ledger["users_without_list"], none.ledger["lists_empty"]) == (1, 0)
    assert (empty.ledger["users_without_list"], empty.ledger["lists_empty"]) == (0, 1)
    assert spelt_out.ledger["lists_empty"] == 1


def test_users_restrict_who_is_evaluated() -> None:
    lists = {"u": ["a"], "v": ["x"], "w": ["a"]}
    truth = {"u": ["a"], "v": ["a"], "w": ["a"], "z": ["a"]}
    evaluation = rt.evaluate(lists, truth, "hit", users=["u", "v", "z"])
    assert evaluation["hit"] == (1 + 0 + 0) / 3
    assert evaluation.ledger["users_in_truth"] == 3
    assert evaluation.ledger["users_without_list"] == 1
    assert evaluation.per_list()["user"].to_list() == ["u", "v", "z"]
    table = rt.evaluate(lists, truth, "hit", users={"user": ["u"], "age": [31]})
    assert table["hit"] == 1


def test_users_in_no_other_input_leave_nothing_to_evaluate(kernels: str) -> None:
    with pytest.raises(NothingToEvaluate):
        rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "hit", users=["v"])


TRAIN = {"u": ["a", "x"]}


@pytest.mark.parametrize(("policy", "expected"), [("keep", 1 / 2), ("drop", 1 / 1)])
def test_users_who_are_not_in_the_training_data(policy: str, expected: float) -> None:
    lists, truth = {"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}
    evaluation = rt.evaluate(lists, truth, "hit", {"unknown_users": policy}, train=TRAIN)
    assert evaluation["hit"] == expected
    entry = evaluation.ledger.entries["users_unknown"]
    assert (entry.count, entry.of) == (1, 2)
    assert "'v'" in entry.example
    assert entry.weight == {"keep": "notice", "drop": "warning"}[policy]


def test_users_who_are_not_in_the_training_data_can_be_an_error() -> None:
    with pytest.raises(UnknownIds, match=r"1 of 2 users .*\(first: 'v'\)"):
        rt.evaluate({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}, "hit",
                    {"unknown_users": "error"}, train=TRAIN)  # fmt: skip


@pytest.mark.parametrize("known", [{"train": TRAIN}, {"items": ["a", "x"]}], ids=["train", "items"])
@pytest.mark.parametrize(("policy", "expected"), [("keep", 1 / 3), ("drop", 1 / 1)])
def test_items_that_are_not_in_the_training_data(known: Any, policy: str, expected: float) -> None:
    lists, truth = {"u": ["a"]}, {"u": ["a", "b", "c"]}
    evaluation = rt.evaluate(lists, truth, "recall", {"unknown_items": policy}, **known)
    assert evaluation["recall"] == expected
    assert evaluation.ledger["items_unknown"] == 2
    with pytest.raises(UnknownIds, match=r"2 of 3 .*'b'"):
        rt.evaluate(lists, truth, "recall", {"unknown_items": "error"}, **known)


def test_a_user_whose_items_are_all_dropped_has_no_relevant_item_but_stays_judged() -> None:
    lists, truth = {"u": ["a"], "v": ["a"]}, {"u": ["a"], "v": ["b"]}
    convention = {"unknown_items": "drop"}
    evaluation = rt.evaluate(lists, truth, "hit", convention, items=["a"])
    assert (evaluation["hit"], evaluation.ledger["users_without_relevant"]) == (1, 1)
    judged = convention | {"truth_needed": "judged"}
    assert rt.evaluate(lists, truth, "hit", judged, items=["a"])["hit"] == 1 / 2

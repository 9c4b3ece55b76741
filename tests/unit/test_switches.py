"""Every choice of every switch in a smallest example in which it changes the outcome."""

from __future__ import annotations

from itertools import combinations
from math import log2
from typing import Any, NamedTuple

import pytest

import rectitude as rt
from rectitude.convention import SWITCHES, Convention, literals
from rectitude.errors import (
    BadName,
    BadTable,
    DuplicateItems,
    DuplicateTruth,
    RectitudeError,
    TiedItems,
    UndefinedValue,
    UnknownIds,
    UnknownName,
)
from rectitude.metrics.choices import CHOICES


class Example(NamedTuple):
    """What is evaluated, by which metric, and what each choice gives: a number or an error."""

    lists: Any
    truth: Any
    metric: str  # the first of several counts
    outcomes: dict[Any, Any]
    also: dict[str, Any] = {}  # noqa: RUF012
    given: dict[str, Any] = {}  # noqa: RUF012


TWO_SESSIONS = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "x", "x"]}
SESSION_TRUTH = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "a", "a"]}
COLUMNS = {"user": ["u", "u"], "item": ["a", "x"], "rank": [2, 1], "score": [2.0, 1.0]}
SECOND, THIRD, FOURTH = 1 / log2(3), 1 / log2(4), 1 / log2(5)

EXAMPLES = {
    # grades 1 and 2 in a truth; the list finds the one of grade 1
    "relevant_from": Example({"u": ["a"]}, {"u": {"a": 1, "b": 2}}, "recall",
                             {None: 1 / 2, 2.0: 0 / 1}),
    # n stands above a: judged not relevant it costs bpref everything, unjudged nothing
    "negative_grades": Example({"u": ["n", "a"]}, {"u": {"a": 1, "n": -1}}, "bpref",
                               {"nonrelevant": 0.0, "unjudged": 1.0}),
    # a stands twice in the truth, b is missed: 1 of 2, or 2 of 3
    "duplicate_truth": Example({"u": ["a"]}, {"user": ["u"] * 3, "item": ["a", "a", "b"]}, "recall",
                               {"error": DuplicateTruth, "once": 1 / 2, "counted": 2 / 3}),
    # u was met in training and has a hit, v neither
    "unknown_users": Example({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}, "hit",
                             {"keep": 1 / 2, "drop": 1 / 1, "error": UnknownIds},
                             given={"train": {"u": ["a", "x"]}}),
    # b is not in the catalogue
    "unknown_items": Example({"u": ["a"]}, {"u": ["a", "b"]}, "recall",
                             {"keep": 1 / 2, "drop": 1 / 1, "error": UnknownIds},
                             given={"items": ["a", "x"]}),
    # no choice but "score" puts a first; without a rank column "rank" is an error
    "order": Example({"user": ["u"] * 3, "item": ["x", "y", "a"], "rank": [1, 3, 2],
                      "score": [1.0, 2.0, 3.0]}, {"u": ["a"]}, "mrr",
                     {"rank": 1 / 2, "given": 1 / 3, "score": 1 / 1}),
    # b, c (grade 2), d stand as equals, after e; ids and rows in different order
    "ties": Example({"u": {"e": 2.0, "b": 1.0, "d": 1.0, "c": 1.0, "f": 1.0, "a": 1.0}},
                    {"u": {"c": 1}}, "mrr",
                    {"pessimistic": 1 / 6, "optimistic": 1 / 2, "given": 1 / 4, "error": TiedItems,
                     "item_ascending": 1 / 4, "item_descending": 1 / 4, "average": TiedItems}),
    # 1 + 2^-40 is above 1, but not in float32
    "score_precision": Example({"u": {"a": 1 + 2**-40, "x": 1.0}}, {"u": ["a"]}, "mrr",
                               {"float64": 1 / 1, "float32": 1 / 2}),
    # x x a: a at rank 3 of 3, or 2 of 2
    "duplicates": Example({"u": ["x", "x", "a"]}, {"u": ["a"]}, "mrr",
                          {"error": DuplicateItems, "first": 1 / 2, "counted": 1 / 3}),
    # item 0 has the highest of three scores, is relevant, and was met in training
    "seen": Example(rt.Scores([[3.0, 2.0, 1.0]]), {0: [0]}, "mrr",
                    {"removed": 0, "last": 1 / 3, "kept": 1 / 1}, given={"train": {0: [0]}}),
    # item 2 has the lowest of three scores, and is no candidate
    "candidates": Example(rt.Scores([[3.0, 2.0, 1.0]]), {0: [2]}, "mrr",
                          {"given": 0, "with_truth": 1 / 3}, given={"candidates": {0: [0, 1]}}),
    # a stands at rank 2, after the last cutoff that was asked for
    "list_end": Example({"u": ["x", "a"]}, {"u": ["a"]}, "mrr hit@1",
                        {"none": 1 / 2, "cutoff": 1 / 2, "last_cutoff": 0}),
    # a has the highest score, which is below 0; b is missed either way
    "hit_scores": Example({"u": {"a": -1.0, "x": -2.0}}, {"u": ["a", "b"]}, "recall",
                          {"any": 1 / 2, "positive": 0 / 2}),
    "unjudged": Example({"u": ["x", "a"]}, {"u": ["a"]}, "mrr", {"kept": 1 / 2, "dropped": 1 / 1}),
    "gain": Example({"u": ["a"]}, {"u": {"a": 2}}, "dcg", {"binary": 1, "linear": 2, "exp2": 3}),
    "gain_from": Example({"u": ["a", "b"]}, {"u": {"a": 1, "b": 2}}, "dcg",
                         {"relevant": 1 / log2(3), "positive": 1 + 1 / log2(3)},
                         {"relevant_from": 2}),
    "discount": Example({"u": ["x", "a"]}, {"u": ["a"]}, "dcg",
                        {"log": 1 / log2(3), "log_from_second": 1}),
    "discount_by": Example({"u": ["x", "a"]}, {"u": ["a"]}, "dcg",
                           {"rank": 1 / log2(3), "place": 1}),
    # a at rank 2 of 2 is the only hit; 3 are relevant, 4 asked for
    "ideal": Example({"u": ["x", "a"]}, {"u": ["a", "b", "c"]}, "ndcg@4",
                     {"reachable": SECOND / (1 + SECOND + THIRD),
                      "reachable_returned": SECOND / (1 + SECOND),
                      "k": SECOND / (1 + SECOND + THIRD + FOURTH),
                      "returned": SECOND / (1 + SECOND),
                      "found": SECOND / 1, "listed": SECOND / 1}),
    "precision_over": Example({"u": ["a", "x"]}, {"u": ["a"]}, "precision@4",
                              {"k": 1 / 4, "returned": 1 / 2, "reachable": 1 / 1}),
    "recall_over": Example({"u": ["a"]}, {"u": ["a", "b"]}, "recall@1",
                           {"relevant": 1 / 2, "reachable": 1 / 1}),
    "ap_over": Example({"u": ["a", "x", "y"]}, {"u": ["a", "b", "c", "d", "e"]}, "map@3",
                       {"relevant": 1 / 5, "reachable": 1 / 3, "found": 1 / 1}),
    "reciprocal_rank": Example({"u": ["a", "b"]}, {"u": ["a", "b"]}, "mrr",
                               {"first": 1, "sum": 1 + 1 / 2}),
    "hit_as": Example({"u": ["a", "b"]}, {"u": ["a", "b"]}, "hit", {"any": 1, "count": 2}),
    "f1_without_hits": Example({"u": ["x"]}, {"u": ["a"]}, "f1",
                               {"zero": 0, "undefined": UndefinedValue}),
    # classes 0, 1, 2: both targets are 0, the predictions 0 and 1, and 2 does not occur
    "class_average": Example(rt.Logits([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), [0, 0], "macro_recall",
                             {"present": (1 / 2 + 0) / 2, "all": (1 / 2 + 0 + 0) / 3}),
    # u has a hit, v only a judgement, w only a list
    "truth_needed": Example({"u": ["a"], "w": ["a"]}, {"u": {"a": 1}, "v": {"a": 0}}, "hit",
                            {"relevant": 1 / 1, "judged": 1 / 2, "none": 1 / 3}),
    # t hits, u misses, v was handed an empty list, w none
    "list_needed": Example(rt.Lists({"t": ["a"], "u": ["x"]}, users=["t", "u", "v"]),
                           {"t": ["a"], "u": ["a"], "v": ["a"], "w": ["a"]}, "hit",
                           {"none": 1 / 4, "handed": 1 / 3, "items": 1 / 2, "hit": 1 / 1}),
    # nothing is relevant: no hit, or 0/0, which is worth 1
    "without_relevant": Example({"u": ["a"]}, {"u": {"a": 0}}, "hit",
                                {"computed": 0, "undefined": 1},
                                {"truth_needed": "judged", "undefined": "one"}),
    # recall of u is 1/2, of v 0/0
    "undefined": Example({"u": ["a"], "v": ["a"]}, {"u": {"a": 1, "b": 1}, "v": {"a": 0}}, "recall",
                         {"error": UndefinedValue, "zero": (1 / 2 + 0) / 2,
                          "one": (1 / 2 + 1) / 2, "skip": 1 / 2}, {"truth_needed": "judged"}),
    # user 1: hit and miss; user 2: miss
    "unit": Example(TWO_SESSIONS, SESSION_TRUTH, "hit", {"list": 1 / 3, "user": (1 / 2 + 0) / 2},
                    given={"list_key": "session"}),
    "average": Example({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a", "b", "c"]}, "recall",
                       {"macro": (1 / 1 + 0 / 3) / 2, "micro": (1 + 0) / (1 + 3)}),
    "scale": Example({"u": ["x", "a"]}, {"u": ["a"]}, "mrr", {"fraction": 1 / 2, "percent": 50}),
    "decimals": Example({"u": ["x", "y", "a"]}, {"u": ["a"]}, "mrr",
                        {None: 1 / 3, 2: 0.33, 0: 0.0}),
}  # fmt: skip
# Choices that differ from some other only in an example of their own.
MORE = {
    "order": [
        Example(COLUMNS, {"u": ["a"]}, "mrr", {"auto": 1 / 2, "given": 1 / 1}),
        Example({"user": ["u", "u"], "item": ["x", "a"], "score": [1.0, 2.0]}, {"u": ["a"]}, "mrr",
                {"auto": 1 / 1, "rank": BadTable, "given": 1 / 2}),
    ],
    "ties": [
        Example({"u": {"b": 1.0, "x": 1.0, "c": 1.0, "a": 1.0}}, {"u": ["b"]}, "mrr",
                {"given": 1 / 1, "item_ascending": 1 / 2, "item_descending": 1 / 3,
                 "pessimistic": 1 / 4}),
        Example({"u": {"b": 1.0, "x": 1.0, "c": 1.0, "a": 1.0}}, {"u": ["b"]}, "recall@2",
                {"given": 1, "item_ascending": 1, "item_descending": 0, "pessimistic": 0,
                 "optimistic": 1, "average": 2 / 4, "error": TiedItems}),
    ],
    "score_precision": [
        # far above 0 the logistic function is 1 in float32
        Example(rt.Scores([[20.0, 18.0]]), {0: [0]}, "mrr",
                {"float64": 1 / 1, "float32": 1 / 1, "logistic": 1 / 2}),
        Example(rt.Scores([[1 + 2**-40, 1.0]]), {0: [0]}, "recall@1",
                {"float64": 1, "logistic": 0}),
    ],
    "list_end": [
        # a and x are equals, a is given first: ended at rank 1, the list holds a
        Example({"u": {"a": 1.0, "x": 1.0}}, {"u": ["a"]}, "recall@1",
                {"none": 1 / 2, "cutoff": 1}, {"ties": "average"}),
    ],
    "ideal": [
        # a and b are hits, at ranks 2 and 3
        Example({"u": ["x", "a", "b"]}, {"u": ["a", "b"]}, "ndcg@2",
                {"found": SECOND / 1, "listed": SECOND / (1 + SECOND)}),
        Example({"u": ["x", "a"]}, {"u": ["a"]}, "ndcg@2",
                {"reachable_returned": SECOND / 1, "returned": SECOND / (1 + SECOND)}),
    ],
    "ap_over": [
        Example({"u": ["a"]}, {"u": ["a", "b"]}, "map@3",
                {"relevant": 1 / 2, "k": 1 / 3, "found": 1 / 1}),
        Example({"u": ["a"]}, {"u": ["a", "b"]}, "map@3", {"reachable": 1 / 2, "k": 1 / 3}),
    ],
}  # fmt: skip
CASES = list(EXAMPLES.items())
CASES += [(switch, example) for switch, examples in MORE.items() for example in examples]


def outcome(example: Example, switch: str, choice: Any) -> Any:
    """The number, or the class of the error, whether raised at once or by the metric alone."""
    convention = {**example.also, switch: choice}
    try:
        evaluation = rt.evaluate(
            example.lists, example.truth, example.metric, convention, **example.given
        )
        return evaluation[example.metric.split()[0]]
    except RectitudeError as error:
        return type(error)


@pytest.mark.parametrize(("switch", "example"), CASES, ids=[switch for switch, _ in CASES])
def test_a_choice_gives_its_own_outcome(switch: str, example: Example) -> None:
    for choice, expected in example.outcomes.items():
        found = outcome(example, switch, choice)
        assert found == (
            expected if isinstance(expected, type) else pytest.approx(expected, rel=1e-15)
        )


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_two_choices_of_a_switch_differ_in_some_example(switch: str) -> None:
    examples = [example for name, example in CASES if name == switch]
    shown = {choice for example in examples for choice in example.outcomes}
    choices = list(SWITCHES[switch].choices) or list(shown)
    if switch == "undefined":
        choices.remove("nan")  # NaN equals nothing: see test_population
    assert set(choices) <= shown, f"no example shows {set(choices) - shown}"
    for one, other in combinations(choices, 2):
        assert (
            any(
                one in e.outcomes and other in e.outcomes and e.outcomes[one] != e.outcomes[other]
                for e in examples
            )
            or (switch, {one, other}) in SAME
        ), f"{one} and {other} are never told apart"


# "auto" is one of the other three by its nature.
SAME = [("order", {"auto", "score"}), ("order", {"auto", "rank"})]


def test_an_example_exists_for_every_switch() -> None:
    assert set(EXAMPLES) == set(SWITCHES)


@pytest.mark.parametrize(
    "switch", [s for s in SWITCHES.values() if s.choices], ids=lambda s: s.name
)
def test_types_sentences_and_functions_name_the_same_choices(switch: Any) -> None:
    assert literals(switch.name) == tuple(switch.choices)
    assert switch.default in switch.choices
    assert switch.about.endswith(".") and all(switch.choices.values())
    if switch.stage == "metrics":
        assert tuple(CHOICES[switch.name]) == tuple(switch.choices)


def test_functions_exist_for_the_switches_of_metrics_and_no_others() -> None:
    assert set(CHOICES) == {s.name for s in SWITCHES.values() if s.stage == "metrics"}


def test_every_switch_of_the_metrics_is_obeyed_by_a_metric() -> None:
    obeyed = {switch for metric in rt.METRICS.values() for switch in metric.switches}
    assert obeyed == set(CHOICES)


def test_the_ideal_of_k_hits_is_a_hit_at_every_rank_also_above_a_threshold() -> None:
    # From grade 2 on: a is a hit at rank 1 of 2; the ideal has hits at ranks 1 and 2.
    convention = {"ideal": "k", "relevant_from": 2}
    evaluation = rt.evaluate({"u": ["a", "x"]}, {"u": {"a": 2}}, "ndcg@2", convention)
    assert evaluation["ndcg@2"] == pytest.approx(1 / (1 + 1 / log2(3)), rel=1e-15)


def test_a_convention_can_be_changed_and_compared() -> None:
    changed = Convention().replace(ties="error", decimals=3)
    assert Convention().differences(changed) == {
        "ties": ("pessimistic", "error"), "decimals": (None, 3),
    }  # fmt: skip
    assert Convention(**changed.as_dict()) == changed
    assert list(changed.as_dict()) == list(SWITCHES)


@pytest.mark.parametrize("wrong", ["pesimistic", None, 3, ["given"], {"given"}])
def test_a_choice_that_does_not_exist_is_refused_with_the_nearest(wrong: Any) -> None:
    with pytest.raises(UnknownName, match="switch 'ties' has no choice") as caught:
        Convention(ties=wrong)
    if wrong == "pesimistic":
        assert "did you mean 'pessimistic'" in str(caught.value)


@pytest.mark.parametrize(("switch", "wrong"), [
    ("decimals", -1), ("decimals", 2.5), ("decimals", float("inf")), ("decimals", True),
    ("relevant_from", "2"), ("relevant_from", float("nan")), ("relevant_from", float("inf")),
])  # fmt: skip
def test_a_number_that_a_switch_cannot_be_is_refused(switch: str, wrong: Any) -> None:
    with pytest.raises(BadName, match=f"switch '{switch}' cannot be"):
        Convention(**{switch: wrong})


def test_numbers_of_numpy_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    assert Convention(relevant_from=np.int64(2)) == Convention(relevant_from=2)
    assert Convention(relevant_from=np.float32(2)).relevant_from == 2.0
    assert Convention(decimals=np.int64(2)).decimals == 2

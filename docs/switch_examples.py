"""Every choice of every switch, in a minimal example in which it changes the outcome.

tests/test_convention.py runs them, and docs/generate.py prints them in docs/conventions.md: a
choice without an example is noticed by both.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import log2
from typing import Any, NamedTuple

import rectitude as rt
from rectitude.errors import (
    BadGrades,
    BadTable,
    DuplicateItems,
    DuplicateTruth,
    RectitudeError,
    TiedItems,
    UndefinedValue,
    UnknownIds,
)


class Example(NamedTuple):
    """An input, a metric, and the outcome of each choice: a number or an error."""

    lists: Any
    truth: Any
    metric: str  # the first of several counts
    outcomes: dict[Any, Any]
    also: dict[str, Any] = {}  # noqa: RUF012
    given: dict[str, Any] = {}  # noqa: RUF012
    says: str = ""  # what there is to see, one sentence without its full stop


TWO_SESSIONS = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "x", "x"]}
SESSION_TRUTH = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "a", "a"]}
COLUMNS = {"user": ["u", "u"], "item": ["a", "x"], "rank": [2, 1], "score": [2.0, 1.0]}
SECOND, THIRD, FOURTH = 1 / log2(3), 1 / log2(4), 1 / log2(5)

EXAMPLES = {
    "relevant_from": Example({"u": ["a"]}, {"u": {"a": 1, "b": 2, "c": 0}}, "recall",
                             {None: 1 / 2, 2.0: 0 / 1, "any": 1 / 3},
                             says="a (grade 1) is listed; b (grade 2) and c (grade 0) are not"),
    "negative_grades": Example({"u": ["n", "a"]}, {"u": {"a": 1, "n": -1}}, "bpref",
                               {"nonrelevant": 0.0, "unjudged": 1.0, "sampled": 0.0},
                               says="n ranks above a, which costs something if n was judged"),
    "duplicate_truth": Example({"u": ["a"]}, {"user": ["u"] * 3, "item": ["a", "a", "b"]}, "recall",
                               {"error": DuplicateTruth, "once": 1 / 2, "counted": 2 / 3,
                                "one_hit": 1 / 3},
                               says="a is in the truth twice, b is missed: 1 of 2, 2 or 1 of 3"),
    "unknown_users": Example({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a"]}, "hit",
                             {"keep": 1 / 2, "drop": 1 / 1, "tied": 1 / 2, "error": UnknownIds},
                             given={"train": {"u": ["a", "x"]}},
                             says="u is in the training data and has a hit; v is not and has none"),
    "unknown_items": Example({"u": ["a"]}, {"u": ["a", "b"]}, "recall",
                             {"keep": 1 / 2, "drop": 1 / 1, "lowest": 1 / 2, "error": UnknownIds},
                             given={"items": ["a", "x"]},
                             says="b is not in the catalogue"),
    "order": Example({"user": ["u"] * 3, "item": ["x", "y", "a"], "rank": [1, 3, 2],
                      "score": [1.0, 2.0, 3.0]}, {"u": ["a"]}, "mrr",
                     {"rank": 1 / 2, "given": 1 / 3, "score": 1 / 1},
                     says="a has the highest score, rank 2, and is given third"),
    "ranks": Example({"user": ["u"] * 2, "item": ["x", "a"], "rank": [1, 4]}, {"u": ["a"]}, "mrr",
                     {"renumbered": 1 / 2, "kept": 1 / 4},
                     says="x has rank 1, and a has rank 4"),
    "ties": Example({"u": {"e": 2.0, "b": 1.0, "d": 1.0, "c": 1.0, "f": 1.0, "a": 1.0}},
                    {"u": {"c": 1}}, "mrr",
                    {"pessimistic": 1 / 6, "optimistic": 1 / 2, "given": 1 / 4, "error": TiedItems,
                     "item_ascending": 1 / 4, "item_descending": 1 / 4, "average": TiedItems},
                    says="c is relevant; it comes after e and ties with four other items"),
    "score_precision": Example({"u": {"a": 1 + 2**-40, "x": 1.0}}, {"u": ["a"]}, "mrr",
                               {"float64": 1 / 1, "float32": 1 / 2},
                               says="1 + 2^-40 is above 1, but not in float32"),
    "duplicates": Example({"u": ["x", "x", "a"]}, {"u": ["a"]}, "mrr",
                          {"error": DuplicateItems, "first": 1 / 2, "counted": 1 / 3,
                           "one_hit": 1 / 3, "joined": 1 / 3},
                          says="x x a: a at rank 3 of 3, or 2 of 2"),
    "seen": Example(rt.Scores([[3.0, 2.0, 1.0]]), {0: [0]}, "mrr",
                    {"removed": 0, "last": 1 / 3, "kept": 1 / 1},
                    given={"train": {0: [0]}},
                    says="item 0 has the highest score and is in the training data"),
    "seen_items": Example(rt.Scores([[4.0, 3.0, 2.0, 1.0]]), {0: {1: 2, 3: 2}}, "map",
                          {"all": 1 / 4, "outside_truth": (1 / 1 + 2 / 3) / 2,
                           "relevant_outside_truth": (1 / 2 + 2 / 4) / 2},
                          {"relevant_from": 2}, {"train": {0: {0: 1, 1: 2}}},
                          says="0 (low grade) and 1 are training items; 1 and 3 are relevant"),
    "candidates": Example(rt.Scores([[3.0, 2.0, 1.0]]), {0: [2]}, "mrr",
                          {"given": 0, "with_truth": 1 / 3}, given={"candidates": {0: [0, 1]}},
                          says="item 2 has the lowest of three scores and is not a candidate"),
    "list_end": Example({"u": ["x", "a"]}, {"u": ["a"]}, "mrr hit@1",
                        {"none": 1 / 2, "cutoff": 1 / 2, "last_cutoff": 0},
                        says="a is at rank 2, below the last cutoff, which is 1"),
    "hit_scores": Example({"u": {"a": -1.0, "x": -2.0}}, {"u": ["a", "b"]}, "recall",
                          {"any": 1 / 2, "positive": 0 / 2},
                          says="a has the highest score, which is below 0; b is missed either way"),
    "unjudged": Example({"u": ["x", "a"]}, {"u": ["a"]}, "mrr", {"kept": 1 / 2, "dropped": 1 / 1}),
    "own_item": Example({"u": ["u", "a"]}, {"u": ["a"]}, "mrr", {"kept": 1 / 2, "removed": 1 / 1}),
    "scores_from": Example({"u": {"a": 4.0, "x": 3.0}}, {"u": ["a"]},
                           "precision[precision_over=returned]@2", {None: 1 / 2, 3.5: 1 / 1},
                           says="a has score 4 and x score 3: two items are recommended, or one"),
    "gain": Example({"u": ["a"]}, {"u": {"a": 2}}, "dcg",
                    {"binary": 1, "linear": 2, "signed": 2, "exp2": 3, "exp2_above": 7}),
    "gain_from": Example({"u": ["a", "b"]}, {"u": {"a": 1, "b": 2}}, "dcg",
                         {"relevant": 1 / log2(3), "positive": 1 + 1 / log2(3)},
                         {"relevant_from": 2}),
    "discount": Example({"u": ["x", "a"]}, {"u": ["a"]}, "dcg",
                        {"log": 1 / log2(3), "log_from_second": 1, "position": 1 / 2}),
    "discount_by": Example({"u": ["x", "a"]}, {"u": ["a"]}, "dcg",
                           {"rank": 1 / log2(3), "place": 1}),
    "ideal": Example({"u": ["x", "a"]}, {"u": ["a", "b", "c"]}, "ndcg@4",
                     {"reachable": SECOND / (1 + SECOND + THIRD),
                      "reachable_returned": SECOND / (1 + SECOND),
                      "k": SECOND / (1 + SECOND + THIRD + FOURTH),
                      "returned": SECOND / (1 + SECOND),
                      "found": SECOND / 1, "listed": SECOND / 1},
                     says="a at rank 2 of 2 is the only hit; 3 items are relevant, k is 4"),
    "precision_over": Example({"u": ["a", "x"]}, {"u": ["a"]}, "precision@4",
                              {"k": 1 / 4, "returned": 1 / 2, "reachable": 1 / 1,
                               "reachable_returned": 1 / 1}),
    "recall_over": Example({"u": ["a"]}, {"u": ["a", "b"]}, "recall@1",
                           {"relevant": 1 / 2, "reachable": 1 / 1}),
    "ap_over": Example({"u": ["a", "x", "y"]}, {"u": ["a", "b", "c", "d", "e"]}, "map@3",
                       {"relevant": 1 / 5, "reachable": 1 / 3, "reachable_returned": 1 / 3,
                        "found": 1 / 1}),
    "reciprocal_rank": Example({"u": ["a", "b"]}, {"u": ["a", "b"]}, "mrr",
                               {"first": 1, "sum": 1 + 1 / 2}),
    "hit_as": Example({"u": ["a", "b"]}, {"u": ["a", "b"]}, "hit", {"any": 1, "count": 2}),
    "f1_without_hits": Example({"u": ["x"]}, {"u": ["a"]}, "f1",
                               {"zero": 0, "undefined": UndefinedValue}),
    "class_average": Example(rt.Logits([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), [0, 0], "macro_recall",
                             {"present": (1 / 2 + 0) / 2, "all": (1 / 2 + 0 + 0) / 3},
                             says="targets 0 and 0, predictions 0 and 1; class 2 does not occur"),
    "truth_needed": Example(rt.Lists({"u": ["a"], "w": ["a"]}, users=["u", "w", "x"]),
                            {"u": {"a": 1}, "v": {"a": 0}}, "hit",
                            {"relevant": 1 / 1, "judged": 1 / 2, "judged_or_listed": 1 / 3,
                             "none": 1 / 4},
                            says="u has a hit, v only a judgement, w only a list, x an empty list"),
    "list_needed": Example(rt.Lists({"t": ["a"], "u": ["x"]}, users=["t", "u", "v"]),
                           {"t": ["a"], "u": ["a"], "v": ["a"], "w": ["a"]}, "hit",
                           {"none": 1 / 4, "handed": 1 / 3, "items": 1 / 2, "hit": 1 / 1},
                           says="t has a hit, u has none, v has an empty list, w has no list"),
    "without_relevant": Example({"u": ["a"]}, {"u": {"a": 0}}, "hit",
                                {"computed": 0, "undefined": 1},
                                {"truth_needed": "judged", "undefined": "one"},
                                says="nothing is relevant: no hit, or 0/0, which counts as 1"),
    "undefined": Example({"u": ["a"], "v": ["a"]}, {"u": {"a": 1, "b": 1}, "v": {"a": 0}}, "recall",
                         {"error": UndefinedValue, "zero": (1 / 2 + 0) / 2,
                          "one": (1 / 2 + 1) / 2, "skip": 1 / 2}, {"truth_needed": "judged"},
                         says="recall of u is 1/2, of v 0/0"),
    "unit": Example(TWO_SESSIONS, SESSION_TRUTH, "hit", {"list": 1 / 3, "user": (1 / 2 + 0) / 2},
                    given={"list_key": "session"},
                    says="user 1: hit and miss; user 2: miss"),
    "average": Example({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["a", "b", "c"]}, "recall",
                       {"macro": (1 / 1 + 0 / 3) / 2, "micro": (1 + 0) / (1 + 3)}),
    "weighting": Example({"u": ["b", "a"], "v": ["a"], "w": ["a"]},
                         {"u": {"a": 1}, "v": {"a": 1}, "w": {"a": 0}}, "map",
                         {"all": (4 / 2 + 1 + 2) / (4 + 1 + 2),
                          "defined": (4 / 2 + 1 + 1) / (4 + 1 + 2),
                          "average": (4 / 2 + 1 + 2.5) / (4 + 1 + 2.5),
                          "none": (1 / 2 + 1 + 1) / 3},
                         {"truth_needed": "none", "undefined": "one"},
                         given={"weights": {"u": 4.0, "v": 1.0, "w": 2.0}},
                         says="u has 1/2 and weight 4, v has 1 and weight 1; w has 0/0, which "
                         "counts as 1, and weight 2"),
    "scale": Example({"u": ["x", "y", "a"]}, {"u": ["a"]}, "mrr",
                     {"fraction": 1 / 3, "percent": 100 / 3, "float32": 11184811 / 2**25},
                     says="the float32 nearest to 1/3 is 11184811 / 2^25"),
    "decimals": Example({"u": ["x", "y", "a"]}, {"u": ["a"]}, "mrr",
                        {None: 1 / 3, 2: 0.33, 0: 0.0}),
}  # fmt: skip
# Choices that differ from some other only in an example of their own.
MORE = {
    "duplicates": [
        Example({"u": ["a", "x", "a"]}, {"u": ["a", "b"]}, "recall@2",
                {"counted": 1 / 2, "joined": 1 / 3, "first": 1 / 2, "one_hit": 1 / 2},
                says="a is in the list twice, at ranks 1 and 3; b is missed"),
        Example({"u": ["a", "a"]}, {"u": ["a", "b"]}, "recall",
                {"first": 1 / 2, "counted": 2 / 2, "one_hit": 1 / 2}),
    ],
    "gain": [
        Example({"u": ["a"]}, {"u": {"a": -1}}, "dcg", {"linear": BadGrades, "signed": -1},
                {"relevant_from": -1}),
    ],
    "negative_grades": [
        Example({"u": ["n", "a"]}, {"u": {"a": 1, "n": -1}}, "mrr",
                {"nonrelevant": 1 / 2, "unjudged": 1 / 1, "sampled": 1 / 1},
                also={"unjudged": "dropped"}),
    ],
    "precision_over": [
        Example({"u": ["a"]}, {"u": ["a", "b"]}, "precision@4",
                {"reachable": 1 / 2, "reachable_returned": 1 / 1}),
    ],
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
        Example(rt.Scores([[20.0, 18.0]]), {0: [0]}, "mrr",
                {"float64": 1 / 1, "float32": 1 / 1, "logistic": 1 / 2},
                says="far above 0 the logistic function is 1 in float32"),
        Example(rt.Scores([[1 + 2**-40, 1.0]]), {0: [0]}, "recall@1",
                {"float64": 1, "logistic": 0}),
    ],
    "list_end": [
        Example({"u": {"a": 1.0, "x": 1.0}}, {"u": ["a"]}, "recall@1",
                {"none": 1 / 2, "cutoff": 1}, {"ties": "average"},
                says="a and x tie, and a is given first: cut at rank 1, the list contains a"),
    ],
    "ideal": [
        Example({"u": ["x", "a", "b"]}, {"u": ["a", "b"]}, "ndcg@2",
                {"found": SECOND / 1, "listed": SECOND / (1 + SECOND)},
                says="a and b are hits, at ranks 2 and 3"),
        Example({"u": ["x", "a"]}, {"u": ["a"]}, "ndcg@2",
                {"reachable_returned": SECOND / 1, "returned": SECOND / (1 + SECOND)}),
    ],
    "ap_over": [
        Example({"u": ["a"]}, {"u": ["a", "b"]}, "map@3",
                {"relevant": 1 / 2, "k": 1 / 3, "found": 1 / 1}),
        Example({"u": ["a"]}, {"u": ["a", "b"]}, "map@3", {"reachable": 1 / 2, "k": 1 / 3}),
        Example({"u": ["x", "a"]}, {"u": ["a", "b", "c"]}, "map@4",
                {"relevant": 1 / 6, "reachable": 1 / 6, "reachable_returned": 1 / 4, "k": 1 / 8,
                 "found": 1 / 2}, says="a at rank 2 of 2; 3 items are relevant, k is 4"),
    ],
    "unknown_users": [
        Example(rt.Scores([[3.0, 2.0, 1.0]]), {0: [0]}, "mrr",
                {"keep": 1 / 1, "tied": 1 / 3}, given={"train": {1: [0, 1, 2]}},
                says="user 0 is not in the training data: their scores say nothing"),
    ],
    "unknown_items": [
        Example(rt.Scores([[3.0, 2.0]], items=[0, 1]), {0: [2]}, "mrr",
                {"keep": 0, "lowest": 1 / 3},
                says="item 2 has no score; under lowest it ties with item 1 and ranks last"),
    ],
}  # fmt: skip


def outcome(example: Example, switch: str, choice: Any) -> Any:
    """Return the value, or the class of the error that the evaluation or the metric raised."""
    convention = {**example.also, switch: choice}
    try:
        evaluation = rt.evaluate(
            example.lists, example.truth, example.metric, convention, **example.given
        )
        return evaluation[example.metric.split()[0]]
    except RectitudeError as error:
        return type(error)


def outcomes_of(example: Example, switch: str) -> dict[Any, str]:
    """Run an example with each choice and write down the outcomes: with four digits, or more if
    two outcomes would look the same."""
    found = {choice: outcome(example, switch, choice) for choice in example.outcomes}
    numbers = {value for value in found.values() if not isinstance(value, type)}
    digits = next(d for d in (4, 8, 17) if len({f"{n:.{d}g}" for n in numbers}) == len(numbers))
    return {
        choice: f"`{value.__name__}`" if isinstance(value, type) else f"{value:.{digits}g}"
        for choice, value in found.items()
    }


def example_in_words(example: Example) -> str:
    """Describe the input of an example."""
    also = {**example.also, **example.given}
    settings = "".join(f", {key} = `{written(value)}`" for key, value in also.items())
    first, *others = [f"`{name}`" for name in example.metric.split()]
    metrics = first + "".join(f", requested together with {name}," for name in others)
    says = f" ({example.says})" if example.says else ""
    lists, truth = written(example.lists), written(example.truth)
    return f"{metrics} of `{lists}` against `{truth}`{settings}{says}"


def written(value: Any) -> str:
    """Write a value the way a user would."""
    if not is_dataclass(value):
        return repr(value).replace("'", '"')
    source, *more = [(f.name, getattr(value, f.name)) for f in fields(value)]
    given = [f"{name}={written(one)}" for name, one in more if one is not None and one is not False]
    return f"rt.{type(value).__name__}({', '.join([written(source[1]), *given])})"

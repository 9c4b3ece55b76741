"""`trace`: the steps add up, and the value is that of `per_list`."""

from __future__ import annotations

import json
import math
from math import log2
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, RectitudeError, UnknownIds
from rectitude.explanation.trace import trace
from rectitude.explanation.trace.result import Trace

CHANCE = np.random.default_rng(5)
ITEMS = 14
LISTS = {
    f"u{user}": {f"i{item}": float(np.round(CHANCE.random(), 1)) for item in
                 CHANCE.permutation(ITEMS)[: 3 + 2 * user]}
    for user in range(5)
}  # fmt: skip
TRUTH = {
    f"u{user}": {f"i{item}": int(CHANCE.integers(-1, 4)) for item in
                 CHANCE.permutation(ITEMS)[: 3 + user]}
    for user in range(1, 6)
}  # fmt: skip
SCORES = rt.Scores(np.round(CHANCE.random((3, ITEMS)), 1))
WANTED = {user: CHANCE.permutation(ITEMS)[: 1 + user].tolist() for user in range(3)}
TRAIN = {user: CHANCE.permutation(ITEMS)[:4].tolist() for user in range(3)}
LOGITS = rt.Logits(np.round(CHANCE.standard_normal((3, 5)), 1))
TARGETS = [0, 1, 4]
CATALOGUE = {
    "item": [f"i{item}" for item in range(ITEMS)],
    "category": [item % 3 for item in range(ITEMS)],
}
ATTRIBUTES = {
    "items": {
        **CATALOGUE,
        "price": [0.5 * item for item in range(ITEMS)],
        "embedding": [[1.0, float(item), item % 3 - 1.0] for item in range(ITEMS)],
        "previous": [0.1 + 0.3 * (item % 4) for item in range(ITEMS)],
    },
    "users": {"user": [f"u{user}" for user in range(6)], "group": list("ababab")},
    "train": {
        f"u{user}": {f"i{item}": 0.3 + item % 3 for item in (user, 2 * user)} for user in range(5)
    },
}
BY_TOPIC = [
    {"user": user, "item": item, "subtopic": topic, "grade": (n + topic) % 3}
    for user, items in TRUTH.items()
    for n, item in enumerate(items)
    for topic in (1, 2)
]
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "lists": (LISTS, TRUTH, {"items": CATALOGUE}),
    "attributes": (LISTS, TRUTH, ATTRIBUTES),
    "scores": (SCORES, WANTED, {"train": TRAIN}),
    "logits": (LOGITS, TARGETS, {}),
    "subtopics": (LISTS, BY_TOPIC, {}),
}
LENIENT = {"truth_needed": "none", "undefined": "zero"}
PER_LIST = [name for name, metric in rt.METRICS.items() if metric.kind == "list"]


def names_of(name: str) -> list[str]:
    kind = rt.METRICS[name].cutoff
    if "parts" in rt.METRICS[name].needs:
        return [f"{name}[precision,recall]@3"]
    return {"none": [name], "level": [f"{name}@0.2"]}.get(kind, [name, f"{name}@3"])


def values_of(case: str, name: str) -> dict[Any, float | None]:
    """The values per list; empty if the metric needs other inputs."""
    predictions, truth, more = CASES[case]
    evaluation = rt.evaluate(predictions, truth, name, LENIENT, **more)
    if name in evaluation.failures:
        return {}
    return dict(evaluation.per_list().select("user", name).iter_rows())


@pytest.mark.parametrize("name", PER_LIST)
def test_the_value_is_that_of_the_evaluation(name: str) -> None:
    compared = 0
    for case, (predictions, truth, more) in CASES.items():
        for asked in names_of(name):
            for user, value in values_of(case, asked).items():
                traced = trace(predictions, truth, asked, user, LENIENT, **more)
                assert traced.value == value, (case, asked, user)
                compared += 1
    assert compared


@pytest.mark.parametrize("convention", [
    {}, {"ties": "optimistic"}, {"ties": "item_descending"}, {"ties": "average"},
    {"unjudged": "dropped"}, {"list_end": "cutoff"}, {"hit_scores": "positive"},
    {"gain": "linear", "ideal": "k"}, {"ideal": "found"}, {"discount_by": "place"},
    {"truth_needed": "relevant", "undefined": "error"}, {"list_needed": "hit"},
    {"relevant_from": 2},
], ids=str)  # fmt: skip
def test_the_value_is_that_of_the_evaluation_under_any_convention(
    convention: dict[str, Any],
) -> None:
    under = {**LENIENT, **convention}
    for name in ("ndcg@3", "map@5", "recall", "mrr@4"):
        evaluation = rt.evaluate(LISTS, TRUTH, name, under)
        if name in evaluation.failures:
            continue
        for user, value in evaluation.per_list().select("user", name).iter_rows():
            assert trace(LISTS, TRUTH, name, user, under).value == value, (name, user)


@pytest.mark.parametrize("name", [
    name for name in PER_LIST
    if not rt.METRICS[name].requires and rt.METRICS[name].best == "high"
])  # fmt: skip
def test_what_the_rows_add_is_the_numerator(name: str) -> None:
    for asked in names_of(name):
        for user in LISTS:
            traced = trace(LISTS, TRUTH, asked, user, LENIENT)
            terms = [line.adds for line in traced.lines]
            if all(term is None for term in terms):
                continue
            total = math.fsum(term for term in terms if term)
            assert total == pytest.approx(traced.above, abs=1e-12), (asked, user)


@pytest.mark.parametrize("name", ["ndcg", "dcg", "map", "mrr", "precision", "recall", "hit", "rbp"])
def test_the_main_metrics_are_added_up_row_by_row(name: str) -> None:
    traced = trace(LISTS, TRUTH, f"{name}@9", "u4", LENIENT)
    assert [line.adds is not None for line in traced.lines] == [
        line.grade is not None for line in traced.lines
    ]
    assert traced.above


def example(metric: str = "ndcg@4", **convention: Any) -> Trace:
    """b of grade 2 at rank 2, d of grade 1 at rank 4, z of grade 3 missed."""
    lists = {"ann": ["a", "b", "c", "d"], "bob": ["x"], "cat": ["b"]}
    truth = {"ann": {"b": 2, "d": 1, "z": 3, "c": 0}, "bob": {"x": 1}, "dan": {"x": 1}}
    return trace(lists, truth, metric, "ann", {"gain": "linear", **convention})


def test_rows_hold_item_grade_gain_discount_and_sum() -> None:
    second, fourth = 1 / log2(3), 1 / log2(5)
    rows = [(line.rank, line.item, line.grade, line.adds) for line in example().lines]
    assert rows == [
        (1, "a", None, None), (2, "b", 2.0, 2 * second), (3, "c", 0.0, 0.0), (4, "d", 1.0, fourth),
    ]  # fmt: skip
    assert [line.total for line in example().lines if line.total] == pytest.approx(
        [2 * second, 2 * second, 2 * second + fourth]
    )


def test_the_ideal_list_is_written_out_and_adds_up_to_the_denominator() -> None:
    ideal = example().ideal
    assert [(one.rank, one.gain) for one in ideal] == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert math.fsum(one.adds for one in ideal) == pytest.approx(example().below, abs=1e-15)
    assert [one.gain for one in example(ideal="k", gain="binary").ideal] == [1.0] * 4
    assert [one.gain for one in example(ideal="found").ideal] == [2.0, 1.0]


def test_missed_items_and_counts_are_shown() -> None:
    traced = example()
    assert (traced.returned, traced.relevant, traced.reachable, traced.hits) == (4, 3, 3, 2.0)
    assert [one.item for one in traced.wanted if one.rank is None] == ["z"]
    assert "Relevant, but not in the list: z (grade 3)." in str(traced)
    assert example("recall@2").reachable == 2


def test_text_has_the_steps() -> None:
    said = str(example())
    for words in (
        "ndcg@4 of 'ann' = 0.355", "gain: linear (the grade)", "1. The list: 4 items.",
        "2. The list counts:", "3. Numerator: 1.26186 + 0.430677 = 1.6925", "5. Value: 1.692",
        "0 (not relevant)",
    ):  # fmt: skip
        assert words in said


def test_the_trace_says_why_a_list_does_not_count() -> None:
    lists, truth = {"ann": ["a"], "bob": ["x"]}, {"ann": ["b"], "dan": ["x"]}
    without_truth = trace(lists, truth, "hit", "bob")
    assert (without_truth.counts, without_truth.value) == (False, None)
    assert "truth_needed: relevant (at least one relevant item): no" in without_truth.reasons
    without_list = trace(lists, truth, "hit", "dan", {"list_needed": "items"})
    assert (without_list.counts, without_list.lines) == (False, ())
    assert "The list does not count" in str(without_list)
    assert trace(lists, truth, "hit", "dan").value == 0.0
    without_hit = trace(lists, truth, "ndcg", "ann", {"list_needed": "hit"})
    assert "list_needed: hit (a list with at least one hit up to the cutoff): no" in str(
        without_hit
    )


def test_an_undefined_value_does_not_raise_an_error() -> None:
    under = {"truth_needed": "judged"}
    traced = trace({"u": ["a"]}, {"u": {"a": 0}}, "recall", "u", under)
    assert (traced.above, traced.below, traced.value) == (0.0, 0.0, None)
    assert "0/0, which is undefined under this convention" in str(traced)
    assert trace({"u": ["a"]}, {"u": {"a": 0}}, "recall", "u", {**under, "undefined": "one"}).value


def test_errors_in_other_lists_do_not_matter() -> None:
    lists, truth = {"ann": ["a"], "bob": ["x", "x"]}, {"ann": ["a"], "bob": ["x"]}
    assert trace(lists, truth, "mrr", "ann").value == 1.0
    with pytest.raises(RectitudeError, match="twice"):
        trace(lists, truth, "mrr", "bob")


def test_traces_of_scores_show_items_and_scores_but_no_seen_items() -> None:
    scores = rt.Scores([[0.1, 0.9, 0.5, 0.7]], items=["a", "b", "c", "d"])
    traced = trace(scores, {0: ["c"]}, "ndcg@2", 0, train={0: ["b"]})
    assert [(line.item, line.score) for line in traced.lines] == [("d", 0.7), ("c", 0.5)]
    assert traced.returned == 3


def test_a_deep_list_shows_its_first_ranks_and_every_judged_item() -> None:
    traced = trace(rt.Scores(np.arange(500.0)[None]), {0: [3, 499]}, "mrr", 0)
    ranks = [line.rank for line in traced.lines]
    assert ranks == [*range(1, 21), 497]
    assert "Ranks that are not shown" in str(traced)


def test_tied_items_show_the_ranks_they_may_have() -> None:
    lists = {"u": {"a": 1.0, "b": 1.0, "c": 0.5}}
    traced = trace(lists, {"u": ["b"]}, "ndcg@3", "u", {"ties": "average"})
    (line,) = [line for line in traced.lines if line.grade]
    assert (line.item, line.tied) == ("b", (1, 2))
    assert line.adds == pytest.approx((1 + 1 / log2(3)) / 2)
    assert "1 to 2" in str(traced)
    assert [one.rank for one in traced.lines] == [1, 2, 3]


def test_one_of_several_lists_of_a_user_is_named_by_its_key() -> None:
    lists = {"user": [1, 1, 2], "session": [10, 11, 12], "item": ["a", "x", "x"]}
    truth = {"user": [1, 1, 2], "session": [10, 11, 12], "item": ["a", "a", "x"]}
    assert trace(lists, truth, "hit", 10, list_key="session").value == 1.0
    assert trace(lists, truth, "hit", 2, list_key="session").user == 12
    with pytest.raises(BadArgument, match="user '1' has 2 lists"):
        trace(lists, truth, "hit", 1, list_key="session")


def test_the_error_about_an_unknown_user_suggests_similar_ids() -> None:
    with pytest.raises(UnknownIds, match="have a list 'u12'") as caught:
        trace(LISTS, TRUTH, "ndcg@3", "u12")
    assert "did you mean 'u2' or 'u1'?" in str(caught.value)


def test_ids_are_found_as_text_too() -> None:
    assert trace(SCORES, WANTED, "recall@5", "2").user == 2


def test_the_error_about_a_metric_of_means_names_traceable_metrics() -> None:
    with pytest.raises(BadName, match=r"precision@5, recall@5"):
        trace(LISTS, TRUTH, "f1_of_means@5", "u1")
    with pytest.raises(BadName, match="names 2 metrics"):
        trace(LISTS, TRUTH, "ndcg@{1,2}", "u1")


def test_a_metric_of_counts_shows_what_the_list_adds() -> None:
    traced = trace(rt.Scores([[3.0, 2.0, 1.0]]), {0: [1]}, "median_rank", 0)
    assert traced.value is None
    assert traced.counted == {"ranks": {2: 1}}
    assert "ranks[2] + 1" in str(traced)


def test_a_trace_can_be_written_as_json() -> None:
    stored = json.loads(json.dumps(example().as_dict(), allow_nan=False))
    assert stored["value"] == example().value
    assert stored["lines"][1]["item"] == "b"


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "given", "item_descending"])
def test_every_item_appears_once_at_its_judged_rank(ties: str) -> None:
    for user, items in LISTS.items():
        traced = trace(LISTS, TRUTH, "recall", user, {**LENIENT, "ties": ties})
        assert [line.rank for line in traced.lines] == list(range(1, len(items) + 1))
        assert {line.item: line.score for line in traced.lines} == items
        scores = [line.score or 0.0 for line in traced.lines]
        assert scores == sorted(scores, reverse=True)
        ranks = {line.item: line.rank for line in traced.lines}
        assert all(one.rank == ranks.get(one.item) for one in traced.wanted)


@pytest.mark.parametrize("seen", ["removed", "last", "kept"])
def test_every_column_appears_once_at_its_rank(seen: str) -> None:
    for user, had in TRAIN.items():
        traced = trace(SCORES, WANTED, "recall", user, {"seen": seen}, train=TRAIN)
        shown = [line.item for line in traced.lines]
        hidden = set(had) if seen == "removed" else set()
        assert sorted(shown) == sorted(set(range(ITEMS)) - hidden)
        assert seen != "last" or set(shown[-4:]) == set(had)


def test_duplicate_items_are_shown_as_the_convention_treats_them() -> None:
    lists, truth = {"u": ["x", "a", "x", "a"]}, {"u": ["a"]}
    first = trace(lists, truth, "precision@4", "u", {"duplicates": "first"})
    assert [(line.rank, line.item) for line in first.lines] == [(1, "x"), (2, "a")]
    counted = trace(lists, truth, "precision@4", "u", {"duplicates": "counted"})
    assert [(line.item, line.adds) for line in counted.lines] == [
        ("x", None), ("a", 1.0), ("x", None), ("a", 1.0),
    ]  # fmt: skip


def test_items_dropped_before_ranking_are_not_shown() -> None:
    lists, truth = {"u": ["x", "b", "y", "a"]}, {"u": {"a": 1, "b": 0}}
    traced = trace(lists, truth, "mrr", "u", {"unjudged": "dropped"})
    assert [(line.rank, line.item) for line in traced.lines] == [(1, "b"), (2, "a")]

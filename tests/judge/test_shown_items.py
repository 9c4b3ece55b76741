"""The items at the top ranks, for metrics that look at the items themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases
from rectitude.errors import BadName, NothingToEvaluate, TiedItems
from rectitude.metrics import Ratio

Places = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def places() -> Iterator[None]:
    """Register a metric that stores the items it was shown."""

    def seen_places(lists: Any, k: int | None) -> Ratio:
        """Return 1 for every list."""
        KEPT.append(lists.shown)
        return Ratio.of(np.ones(lists.size))

    rt.metric("Places", needs=("shown",), name="places")(seen_places)
    yield
    rt.METRICS.remove("places")


KEPT: list[Places] = []


def shown(evaluate: Callable[[str], rt.Evaluation], k: int) -> Places:
    """Return the items that the metric saw at a cutoff."""
    KEPT.clear()
    failures = evaluate(f"places@{k}").failures
    assert not failures, failures
    return KEPT[0]


def rows_of(case: DenseCase) -> dict[Any, int]:
    """Return the number of each list: its index among the sorted users of lists and truth."""
    users = {*case.users, *(user for user, _, _ in case.truth)}
    return {user: n for n, user in enumerate(sorted(users))}


def filled(columns: list[int], k: int) -> list[int]:
    """Return the first k columns, with -1 at empty ranks."""
    return (columns + [-1] * k)[:k]


SWITCHES = st.fixed_dictionaries(
    {"ties": st.sampled_from(TIES), "truth_needed": st.just("none")},
    optional={
        "seen": st.sampled_from(("removed", "last", "kept")),
        "score_precision": st.sampled_from(("float64", "float32")),
        "negative_grades": st.sampled_from(("nonrelevant", "unjudged")),
    },
)


@settings(max_examples=150)
@given(dense_cases(), SWITCHES, st.sampled_from((1, 2, 3, 9, 1000)))
def test_scores_show_the_columns_that_a_plain_sort_puts_first(
    case: DenseCase, switches: dict[str, Any], k: int
) -> None:
    case = case.replace(candidates=None)
    found = shown(lambda name: case.evaluate(name, switches), k)
    number = rows_of(case)
    assert found.shape == (len(number), k)
    for row, user in enumerate(case.users):
        expected = filled(case.order(row, switches), k)
        assert found[number[user]].tolist() == expected, (user, switches)
    for user in set(number) - set(case.users):
        assert (found[number[user]] == -1).all()


@settings(max_examples=150)
@given(dense_cases(), SWITCHES, st.sampled_from((1, 2, 3, 9, 1000)))
def test_lists_show_the_items_that_a_plain_sort_puts_first(
    case: DenseCase, switches: dict[str, Any], k: int
) -> None:
    case = case.replace(candidates=None, train=None, padding=None)
    scores = np.clip(case.best().astype(np.float64), -1e308, 1e308)
    table = pl.DataFrame(
        {
            "user": np.repeat(case.users, len(case.items)),
            "item": np.tile(case.items, len(case.users)),
            "score": scores.ravel(),
        }
    )
    found = shown(lambda name: rt.evaluate(table, case.truth_table(), name, switches), k)
    number = rows_of(case)
    name = sorted(case.items)  # lists number their items by id
    for row, user in enumerate(case.users):
        expected = [name.index(case.items[c]) for c in case.order(row, switches)]
        assert found[number[user]].tolist() == filled(expected, k), (user, switches)


@pytest.mark.parametrize("k", [1, 100, 999, 1000, 1500])
@pytest.mark.parametrize("ties", ["pessimistic", "item_ascending", "item_descending"])
def test_a_thousand_ranks_and_more_than_the_catalogue_has(k: int, ties: str, kernels: str) -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 200, (7, 1200)).astype(np.float32)
    truth = tuple(
        (user, int(item), 1.0) for user in range(7) for item in rng.choice(1200, 5, False)
    )
    train = tuple((user, int(item)) for user in range(7) for item in rng.choice(1200, 300, False))
    case = DenseCase(scores, list(range(7)), list(range(1200)), truth, train)
    switches = {"ties": ties}
    found = shown(lambda name: case.evaluate(name, switches), k)
    for row in range(7):
        assert found[row].tolist() == filled(case.order(row, switches), k)


def test_recommended_items_are_shown_for_users_without_truth() -> None:
    found = shown(
        lambda name: rt.evaluate(
            rt.Scores([[1.0, 2.0], [4.0, 3.0]]), {0: [0]}, name, {"truth_needed": "none"}
        ),
        2,
    )
    assert found.tolist() == [[1, 0], [0, 1]]


def test_candidates_and_recorded_orders_show_items_by_number() -> None:
    scores = rt.Scores([[5.0, 4.0, 3.0, 2.0]], items=["d", "c", "b", "a"])
    offered = shown(
        lambda name: rt.evaluate(scores, {0: ["a"]}, name, candidates={0: ["c", "a", "b"]}), 3
    )
    # the numbers of a, b and c among the items of the lists: c is best, then b, then a
    assert offered.tolist() == [[2, 1, 0]]
    recorded = shown(
        lambda name: rt.evaluate(scores, {0: ["a"]}, name, ranking=np.array([[3, 0, -1]])), 3
    )
    assert recorded.tolist() == [[0, 1, -1]]


def test_the_top_ranks_of_logits_are_shown() -> None:
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]])
    found = shown(lambda name: rt.evaluate(rt.Logits(logits), [1, 0], name), 2)
    assert found.tolist() == [
        [1, 2],
        [1, 0],
    ]  # pessimistic: the target comes after the class it ties with


def test_a_recorded_order_of_logits_is_shown_as_it_was_recorded() -> None:
    logits, recorded = np.eye(3), np.array([[2, 0, 1], [0, 1, 2], [1, 2, -1]])
    for k in (1, 2, 3, 5):
        found = shown(
            lambda name: rt.evaluate(rt.Logits(logits), [0, 1, 2], name, ranking=recorded), k
        )
        assert found.tolist() == [filled(row, k) for row in recorded.tolist()]


def test_a_metric_that_looks_at_items_needs_a_cutoff_in_dense_scores() -> None:
    evaluation = rt.evaluate(rt.Scores([[1.0, 2.0]]), {0: [0]}, "places")
    with pytest.raises(BadName, match="dense scores rank all items"):
        evaluation.result("places")


def test_a_metric_that_looks_at_items_sees_the_whole_list_without_a_cutoff() -> None:
    lists, truth = {"u": ["a", "b", "c"], "v": ["a"]}, {"u": ["a"], "v": ["b"]}
    found = rt.evaluate(lists, truth, ["distinct_items", "distinct_items@2", "unrepeated_share"])
    assert found.values() == {"distinct_items": 3, "distinct_items@2": 2, "unrepeated_share": 1}


def test_a_metric_that_divides_by_the_cutoff_needs_one() -> None:
    evaluation = rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "surprisal", train={"u": ["b"]})
    with pytest.raises(BadName, match=r"has no cutoff, but the metric divides by it"):
        evaluation.result("surprisal")


def test_different_cutoffs_are_shown_in_one_evaluation() -> None:
    KEPT.clear()
    scores = rt.Scores([[1.0, 2.0, 3.0]])
    rt.evaluate(scores, {0: [0]}, ["places@1", "places@3", "places@2"])
    assert sorted(tuple(kept[0]) for kept in KEPT) == [(2,), (2, 1), (2, 1, 0)]


def test_empty_predictions_show_nothing() -> None:
    with pytest.raises(NothingToEvaluate):
        rt.evaluate({"user": [], "item": []}, {0: [0]}, "places@2")


TRAIN = {"x": ["a"], "y": ["a"], "z": ["b"]}
TIED = pl.DataFrame({"user": ["u"] * 3, "item": ["b", "a", "c"], "score": [1.0, 1.0, 0.5]})
POPULARITY = ["average_popularity@1", "average_popularity@2"]


@pytest.mark.parametrize("rule", ["pessimistic", "optimistic"])
def test_among_equal_scores_and_grades_the_lower_id_is_shown_in_any_order_of_rows(
    rule: str,
) -> None:
    for rows in (TIED, TIED[[1, 0, 2]], TIED[::-1]):
        evaluation = rt.evaluate(rows, {"u": ["c"]}, POPULARITY, {"ties": rule}, train=TRAIN)
        # a is in two training rows and b in one; only the first is shown at 1
        assert evaluation.values() == {"average_popularity@1": 2, "average_popularity@2": 3 / 2}
        entry = evaluation.ledger.entries["shown_by_id"]
        assert (entry.count, entry.of, entry.weight) == (1, 1, "notice")
        assert "at a cutoff (1, 2): their ids decide which of them are shown" in entry.about


def test_given_alone_follows_the_rows() -> None:
    values = [
        rt.evaluate(rows, {"u": ["c"]}, POPULARITY[0], {"ties": "given"}, train=TRAIN)
        for rows in (TIED, TIED[[1, 0, 2]])
    ]
    assert [evaluation[POPULARITY[0]] for evaluation in values] == [1, 2]
    assert all("shown_by_id" not in evaluation.ledger for evaluation in values)


KINDS = [(9, 10), ("10", "9"), ("B", "a"), (-1, 0), (2**63, 2**64 - 1), ((1, "x"), (2, "x"))]


@pytest.mark.parametrize(("low", "high"), KINDS)
def test_integers_sort_as_numbers_and_text_as_text(low: Any, high: Any) -> None:
    train, other = {"x": [low]}, (3, "x") if isinstance(low, tuple) else type(low)(12345)
    for items in ([low, high], [high, low]):
        lists = {"u": dict.fromkeys(items, 1.0)}
        dense = rt.Scores([[1.0, 1.0]], users=["u"], items=items)
        for predictions in (lists, dense):
            # neither is judged, so the lower one is shown, which is in one training row
            name = "average_popularity@1"
            assert rt.evaluate(predictions, {"u": [other]}, name, train=train)[name] == 1


@pytest.mark.parametrize("ids", [
    [(1, "x"), ("x", "y"), (None, "z")], [frozenset("ab"), frozenset("c"), frozenset("a")],
])  # fmt: skip
def test_ids_that_cannot_be_compared_are_sorted_by_how_they_are_written(ids: list[Any]) -> None:
    train, truth, name = {"x": [ids[1]]}, {"u": [ids[0]]}, "average_popularity@1"
    for ties in ("pessimistic", "optimistic"):
        seen = set()
        for order in permutations(ids):
            lists = {"u": dict.fromkeys(order, 1.0)}
            seen.add(rt.evaluate(lists, truth, name, {"ties": ties}, train=train)[name])
        assert len(seen) == 1


def test_no_line_is_written_if_grades_or_scores_decide() -> None:
    apart = {"u": {"a": 3.0, "b": 2.0, "c": 1.0}}
    graded = {"u": {"a": 1.0, "b": 1.0}}  # b is relevant, so a comes first
    for predictions, truth in ((apart, {"u": ["c"]}), (graded, {"u": ["b"]})):
        evaluation = rt.evaluate(predictions, truth, POPULARITY[0], train=TRAIN)
        assert evaluation.ledger["shown_by_id"] == 0


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("rule", ["error", "average"])
def test_ties_are_refused_only_where_they_change_what_a_metric_sees(rule: str, dense: bool) -> None:
    scores = rt.Scores([[1.0, 1.0, 0.5]], users=["u"], items=["b", "a", "c"])
    predictions: Any = scores if dense else TIED
    names = ["average_popularity@1", "average_popularity@2", "average_popularity@3",
             "exposure_gini@2", "category_entropy@2", "mean_score@1"]  # fmt: skip
    items = pl.DataFrame({"item": ["a", "b", "c"], "category": ["x", "y", "y"]})
    given = {"train": TRAIN, "items": items}
    evaluation = rt.evaluate(predictions, {"u": ["c"]}, names, {"ties": rule}, **given)
    # the tie crosses the cutoff 1; at 2 only the order within it is open
    assert set(evaluation.failures) == {"average_popularity@1", "exposure_gini@2"}
    with pytest.raises(TiedItems):
        evaluation[names[0]]


def test_the_definition_says_the_rule_and_only_definitions_that_follow_it_have_a_new_hash() -> None:
    predictions, truth = {"u": {"a": 1.0}}, {"u": ["a"]}
    evaluation = rt.evaluate(predictions, truth, ["ndcg@1", "distinct_items@1"])
    rule = "equal scores and grades: by item id, ascending"
    assert rule in evaluation.definition("distinct_items@1")
    assert rule not in evaluation.definition("ndcg@1")
    given = rt.evaluate(predictions, truth, "distinct_items@1", {"ties": "given"})
    assert rule not in given.definition("distinct_items@1")

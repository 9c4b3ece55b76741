"""The items in the first places, for metrics that look at the items themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.metrics import Ratio

Places = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def places() -> Iterator[None]:
    """A metric that keeps what it was shown."""

    def seen_places(lists: Any, k: int | None) -> Ratio:
        """Always 1."""
        KEPT.append(lists.shown)
        return Ratio.of(np.ones(lists.size))

    rt.metric("Places", needs=("shown",), name="places")(seen_places)
    yield
    rt.METRICS.remove("places")


KEPT: list[Places] = []


def shown(evaluate: Callable[[str], rt.Evaluation], k: int) -> Places:
    """What the metric saw at a cutoff."""
    KEPT.clear()
    failures = evaluate(f"places@{k}").failures
    assert not failures, failures
    return KEPT[0]


def rows_of(case: DenseCase) -> dict[Any, int]:
    """The number of each list: its place among the sorted users of both sides."""
    users = {*case.users, *(user for user, _, _ in case.truth)}
    return {user: n for n, user in enumerate(sorted(users))}


def filled(columns: list[int], k: int) -> list[int]:
    """The first k columns, -1 in empty places."""
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
    name = sorted(case.items)  # lists number the items they hold by their ids
    for row, user in enumerate(case.users):
        expected = [name.index(case.items[c]) for c in case.order(row, switches)]
        assert found[number[user]].tolist() == filled(expected, k), (user, switches)


@pytest.mark.parametrize("k", [1, 100, 999, 1000, 1500])
@pytest.mark.parametrize("ties", ["pessimistic", "item_ascending", "item_descending"])
def test_a_thousand_places_and_more_than_the_catalogue_holds(
    k: int, ties: str, kernels: str
) -> None:
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


def test_the_first_places_of_logits_are_shown() -> None:
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]])
    found = shown(lambda name: rt.evaluate(rt.Logits(logits), [1, 0], name), 2)
    assert found.tolist() == [[1, 2], [1, 0]]  # pessimistic: the target after its equal


def test_a_recorded_order_of_logits_is_shown_as_it_was_recorded() -> None:
    logits, recorded = np.eye(3), np.array([[2, 0, 1], [0, 1, 2], [1, 2, -1]])
    for k in (1, 2, 3, 5):
        found = shown(
            lambda name: rt.evaluate(rt.Logits(logits), [0, 1, 2], name, ranking=recorded), k
        )
        assert found.tolist() == [filled(row, k) for row in recorded.tolist()]


def test_a_metric_that_looks_at_places_needs_a_cutoff() -> None:
    evaluation = rt.evaluate(rt.Scores([[1.0, 2.0]]), {0: [0]}, "places")
    with pytest.raises(BadName, match="a cutoff: places@10"):
        evaluation.result("places")


def test_different_cutoffs_are_shown_in_one_evaluation() -> None:
    KEPT.clear()
    scores = rt.Scores([[1.0, 2.0, 3.0]])
    rt.evaluate(scores, {0: [0]}, ["places@1", "places@3", "places@2"])
    assert sorted(tuple(kept[0]) for kept in KEPT) == [(2,), (2, 1), (2, 1, 0)]


def test_empty_predictions_show_nothing() -> None:
    with pytest.raises(NothingToEvaluate):
        rt.evaluate({"user": [], "item": []}, {0: [0]}, "places@2")

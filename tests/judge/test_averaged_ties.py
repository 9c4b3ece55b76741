"""Averaged ties: the value is the mean over all orders that are consistent with the scores."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, groupby, permutations, product
from math import fsum, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.errors import BadArgument, TiedItems

AVERAGE = {"ties": "average", "undefined": "zero"}
SUMS = [
    "precision@2", "precision[precision_over=returned]@3", "recall@1", "recall", "f1@2", "f1@4",
    "dcg", "dcg@2", "dcg[gain=linear]@3", "dcg[discount_by=place]@2", "ndcg", "ndcg@1", "ndcg@3",
    "ndcg[gain=linear]@2", "ndcg[gain=exp2]@3", "ndcg[ideal=k]@3", "ndcg[ideal=returned]@9",
    "ndcg[ideal=reachable_returned]@3", "ndcg[discount=log_from_second]@3", "rbp", "rbp@2",
]  # fmt: skip

rows = st.lists(
    st.tuples(st.sampled_from((1.0, 2.0)), st.sampled_from((None, 0, 1, 2))), min_size=1, max_size=6
)


def orders(scores: dict[str, float]) -> list[list[str]]:
    """Return every order of the items that is consistent with the scores."""
    ranked = sorted(scores, key=lambda item: -scores[item])
    ties = [list(tie) for _, tie in groupby(ranked, key=lambda item: scores[item])]
    return [list(chain(*chosen)) for chosen in product(*(permutations(tie) for tie in ties))]


@settings(max_examples=60)
@given(rows)
def test_the_value_is_the_mean_over_all_orders(drawn: list[tuple[float, int | None]]) -> None:
    scores = {f"i{n}": score for n, (score, _) in enumerate(drawn)}
    grades = {f"i{n}": grade for n, (_, grade) in enumerate(drawn) if grade is not None}
    truth = {**grades, "missed": 1}
    every = dict(enumerate(orders(scores)))
    alone = rt.evaluate(every, dict.fromkeys(every, truth), SUMS, {"undefined": "zero"})
    averaged = rt.evaluate({"u": scores}, {"u": truth}, SUMS, AVERAGE)
    for name in SUMS:
        assert averaged[name] == pytest.approx(alone[name], rel=1e-14, abs=1e-15), name


@given(rows)
def test_rows_of_scores_and_lists_of_scores_agree(drawn: list[tuple[float, int | None]]) -> None:
    scores = {n: score for n, (score, _) in enumerate(drawn)}
    truth = {0: {**{n: g for n, (_, g) in enumerate(drawn) if g is not None}, 99: 1}}
    listed = rt.evaluate({0: scores}, truth, SUMS, AVERAGE)
    dense = rt.evaluate(
        rt.Scores([[*scores.values()]], items=range(len(scores))), truth, SUMS, AVERAGE
    )
    assert dense.values() == listed.values()


@given(st.lists(st.sampled_from((None, 0, 1, 2)), min_size=1, max_size=6))
def test_without_ties_the_value_is_identical(grades: list[int | None]) -> None:
    scores = {f"i{n}": -float(n) for n in range(len(grades))}
    truth = {"u": {**{f"i{n}": g for n, g in enumerate(grades) if g is not None}, "missed": 1}}
    averaged = rt.evaluate({"u": scores}, truth, SUMS, AVERAGE)
    ordered = rt.evaluate({"u": scores}, truth, SUMS, {"undefined": "zero"})
    assert averaged.values() == ordered.values()


def test_a_tie_across_the_cutoff_counts_partially() -> None:
    # a and x share ranks 2 and 3; b is first
    scores, truth = {"u": {"b": 2.0, "a": 1.0, "x": 1.0}}, {"u": ["a", "b"]}
    evaluation = rt.evaluate(scores, truth, ["recall@2", "precision@2", "dcg@2", "dcg"], AVERAGE)
    assert evaluation["recall@2"] == evaluation["precision@2"] == (1 + 1 / 2) / 2
    assert evaluation["dcg@2"] == pytest.approx(1 + (1 / log2(3) + 0) / 2, rel=1e-15)
    assert evaluation["dcg"] == pytest.approx(1 + (1 / log2(3) + 1 / log2(4)) / 2, rel=1e-15)


def test_deep_ties_lose_no_precision() -> None:
    # Two equal scores after 200,000 others; both orders put the target at one of the last ranks.
    size = 200_000
    scores = np.append(np.arange(size, 0.0, -1.0), [0.0, 0.0])[None]
    value = rt.evaluate(rt.Scores(scores), {0: [size]}, "dcg", AVERAGE)["dcg"]
    assert value == pytest.approx((1 / log2(size + 2) + 1 / log2(size + 3)) / 2, rel=1e-15)


def test_a_constant_row_gives_the_mean_of_all_weights() -> None:
    size = 10_000
    value = rt.evaluate(rt.Scores(np.ones((1, size))), {0: [7]}, "dcg", AVERAGE)["dcg"]
    assert value == pytest.approx(fsum(1 / log2(r + 1) for r in range(1, size + 1)) / size, 1e-15)
    ten = rt.evaluate(rt.Scores(np.ones((1, size))), {0: [7]}, "recall@10", AVERAGE)
    assert ten["recall@10"] == float(Fraction(10, size))


@pytest.mark.parametrize("name", ["mrr", "map", "hit@1", "rprec", "err", "bpref", "rmrr"])
def test_a_metric_that_is_not_a_sum_over_ranks_is_refused_if_there_are_ties(name: str) -> None:
    tied = rt.evaluate({"u": {"a": 1.0, "x": 1.0}}, {"u": ["a"]}, [name, "recall@1"], AVERAGE)
    assert isinstance(tied.failures[name], TiedItems)
    assert tied["recall@1"] == 1 / 2
    apart = rt.evaluate({"u": {"a": 2.0, "x": 1.0}}, {"u": ["a"]}, name, AVERAGE)
    assert apart[name] == rt.evaluate({"u": ["a", "x"]}, {"u": ["a"]}, name, AVERAGE)[name]


@pytest.mark.parametrize(
    "name", ["ndcg[ideal=found]@1", "ndcg[ideal=listed]@1", "f1[f1_without_hits=undefined]@1"]
)
def test_a_switch_that_makes_the_value_no_longer_a_sum_is_refused(name: str) -> None:
    evaluation = rt.evaluate({"u": {"a": 1.0, "x": 1.0}}, {"u": ["a"]}, [name, "recall@1"], AVERAGE)
    error: Any = evaluation.failures[name]
    assert isinstance(error, BadArgument)
    assert "ties='average' has no closed form here" in str(error)

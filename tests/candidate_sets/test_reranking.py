"""Pools of candidates, and reranking that varies categories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rectitude as rt
from rectitude.candidate_sets.reranking import Pool, merge_searches, pool_interests, rerank
from rectitude.errors import BadArgument, BadScores

# Two interests of one user over items 0 to 4.
SCORES = np.array([[[0.1, 0.9, 0.8, 0.2, 0.0], [0.7, 0.1, 0.85, 0.0, 0.3]]])


def greedy(pool: Pool, categories: list[int], k: int, coefficient: float) -> list[list[int]]:
    """Choose items one by one, as the definition says."""
    lists = []
    for items, scores in zip(pool.items.tolist(), pool.scores.tolist(), strict=True):
        left = [(i, s) for i, s in zip(items, scores, strict=True) if i >= 0 <= categories[i]]
        chosen: list[int] = []
        while left and len(chosen) < k:
            taken = [categories[item] for item in chosen]
            values = [s - coefficient * taken.count(categories[i]) for i, s in left]
            chosen.append(left.pop(values.index(max(values)))[0])
        lists.append((chosen + [-1] * k)[:k])
    return lists


def test_a_pool_holds_the_best_of_every_interest_once_with_its_best_score() -> None:
    pool = pool_interests(SCORES, 2)
    assert pool.items.tolist() == [[1, 2, 0, -1]]
    assert pool.scores.tolist() == [[0.9, 0.85, 0.7, -np.inf]]


def test_padding_is_in_no_pool_and_does_not_count_for_an_interest() -> None:
    assert pool_interests(SCORES, 2, padding=2).items.tolist() == [[1, 0, 4, 3]]
    assert pool_interests(SCORES[:, 0], 6, padding=0).items.tolist() == [[1, 2, 3, 4, -1, -1]]


def test_results_of_an_index_are_merged_and_empty_positions_are_left_out() -> None:
    pool = merge_searches([[3, -1, 5, 3]], [[0.5, 9.0, 0.6, 0.7]])
    assert pool.items.tolist() == [[3, 5, -1, -1]]
    assert pool.scores.tolist()[0][:2] == [0.7, 0.6]


def test_without_a_coefficient_the_order_is_that_of_the_best_interest() -> None:
    lists = rerank(pool_interests(SCORES, 3), [0] * 5, 3)
    assert lists.tolist() == rt.Scores(SCORES).top(3).tolist() == [[1, 2, 0]]


def test_a_second_item_of_a_category_pays_the_coefficient_and_a_third_pays_it_twice() -> None:
    pool = pool_interests(np.array([[0.9, 0.8, 0.75, 0.4, 0.1]]), 5)
    categories = [0, 0, 0, 1, 1]
    assert rerank(pool, categories, 5, 0.1).tolist() == [[0, 1, 2, 3, 4]]
    # after item 0: 0.8 - 0.3 and 0.75 - 0.3 against 0.4; after item 1: 0.75 - 0.6 against 0.4
    assert rerank(pool, categories, 4, 0.3).tolist() == [[0, 1, 3, 2]]
    assert rerank(pool, categories, 4, 1.0).tolist() == [[0, 3, 1, 4]]


def test_items_without_a_category_are_not_chosen_and_lists_may_end_early() -> None:
    lists = rerank(pool_interests(SCORES, 5), [0, -1, 1, 1, -1], 4, 0.5)
    assert lists.tolist() == [[2, 0, 3, -1]]


def test_ties_go_by_score_and_then_by_position_in_the_pool() -> None:
    lists = rerank(pool_interests(np.array([[3.0, 2.0, 1.0, 1.0]]), 4), [0, 0, 1, 2], 4, 1.0)
    assert lists.tolist() == [[0, 1, 2, 3]]


@given(st.data())
def test_every_list_is_that_of_the_definition(data: st.DataObject) -> None:
    rows, interests, columns = (data.draw(st.integers(1, n)) for n in (3, 3, 7))
    k = data.draw(st.integers(1, 8))
    numbers = st.sampled_from((-1.0, 0.0, 0.25, 0.5, 1.0))
    size = rows * interests * columns
    values = data.draw(st.lists(numbers, min_size=size, max_size=size))
    categories = data.draw(st.lists(st.integers(-1, 2), min_size=columns, max_size=columns))
    coefficient = data.draw(st.sampled_from((0.0, 0.25, 0.5, 3.0)))
    pool = pool_interests(np.reshape(values, (rows, interests, columns)), k)
    lists = rerank(pool, categories, k, coefficient)
    assert lists.tolist() == greedy(pool, categories, k, coefficient)
    for row in pool.items.tolist():
        items = [item for item in row if item >= 0]
        assert len(set(items)) == len(items) >= min(k, columns)


def test_what_cannot_be_ranked_is_refused() -> None:
    pool = pool_interests(SCORES, 2)
    with pytest.raises(BadArgument, match="coefficient is -1"):
        rerank(pool, [0] * 5, 2, -1)
    with pytest.raises(BadArgument, match="there are 2 categories, but a candidate is column 2"):
        rerank(pool, [0, 0], 2)
    with pytest.raises(BadArgument, match="k is 0"):
        pool_interests(SCORES, 0)
    with pytest.raises(BadScores, match="1 of 2 scores are NaN"):
        pool_interests(np.array([[np.nan, 1.0]]), 2)
    with pytest.raises(BadScores, match="the same shape"):
        merge_searches([[1, 2]], [[1.0]])

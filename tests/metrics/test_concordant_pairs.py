"""The fraction of concordant pairs: by hand, over batches, and as Surprise divides two means."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.metrics.predicted import count_comparable, count_concordant

# u: a > b > c in the truth; scores put a above b and c, but c above b: 2 of 3 pairs.
# v: a > b, with equal scores: 0 of 1 pair. w: equal grades: no pair.
LISTS = {"u": {"a": 9.0, "b": 1.0, "c": 2.0}, "v": {"a": 3.0, "b": 3.0}, "w": {"a": 1.0, "b": 2.0}}
TRUTH = {"u": {"a": 5, "b": 3, "c": 1}, "v": {"a": 4, "b": 0}, "w": {"a": 2, "b": 2}}


def test_pairs_of_all_lists_are_pooled() -> None:
    assert rt.evaluate(LISTS, TRUTH, "fcp")["fcp"] == 2 / (3 + 1)


def test_means_are_over_the_lists_that_have_such_pairs() -> None:
    # concordant: 2 pairs in 1 list; discordant: 1 + 1 pairs in 2 lists
    assert rt.evaluate(LISTS, TRUTH, "fcp_of_means")["fcp_of_means"] == 2 / (2 + 1)


def test_lists_without_pairs_do_not_count() -> None:
    values = rt.evaluate(LISTS, TRUTH, "fcp").per_list()
    assert dict(values.select("user", "fcp").iter_rows()) == {"u": 2 / 3, "v": 0 / 1, "w": None}


def test_without_any_pair_there_is_no_value() -> None:
    evaluation = rt.evaluate({"w": LISTS["w"]}, {"w": TRUTH["w"]}, ["fcp", "fcp_of_means"])
    assert isinstance(evaluation.failures["fcp"], NothingToEvaluate)
    assert isinstance(evaluation.failures["fcp_of_means"], UndefinedValue)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_counted_as_if_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    lists = np.sort(random.integers(0, 6, 200))
    grade, score = random.integers(-2, 4, (2, 200)).astype(float)
    pairs = [(i, j) for i, j in combinations(range(200), 2) if lists[i] == lists[j]]
    differ = [(i, j) if grade[i] > grade[j] else (j, i) for i, j in pairs if grade[i] != grade[j]]
    right = [i for i, j in differ if score[i] > score[j]]
    shuffled = random.permutation(200)
    rows = lists[shuffled], 6, grade[shuffled]
    assert (
        count_comparable(*rows).tolist()
        == np.bincount(lists[[i for i, _ in differ]], minlength=6).tolist()
    )
    assert (
        count_concordant(*rows, score[shuffled]).tolist()
        == np.bincount(lists[right], minlength=6).tolist()
    )

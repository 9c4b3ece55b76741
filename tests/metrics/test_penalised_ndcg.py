"""NDCG in which grades below 0 are losses."""

from __future__ import annotations

from math import log2

import pytest

import rectitude as rt

ITEMS = ["tea", "rye", "jam", "oil"]


def test_a_grade_below_0_is_a_loss() -> None:
    lists, truth = {"ann": ["tea", "rye", "jam"]}, {"ann": {"tea": -2, "jam": 1, "oil": 2}}
    # -2 at rank 1 and 2^2 - 1 at rank 3; at best 2^3 - 1 at rank 1 and 2^2 - 1 at rank 2.
    found = rt.evaluate(lists, truth, "penalised_ndcg@3", items=ITEMS)["penalised_ndcg@3"]
    assert found == pytest.approx((-2 + 3 / 2) / (7 + 3 / log2(3)))


def test_without_grades_below_0_it_is_ndcg() -> None:
    lists, truth = {"ann": ["tea", "rye", "jam"]}, {"ann": {"tea": 1, "jam": 3, "oil": 2}}
    names = ["penalised_ndcg@3", "ndcg[gain=exp2_above]@3"]
    found = rt.evaluate(lists, truth, names, items=ITEMS).values()
    assert len({*found.values()}) == 1


def test_a_loss_is_in_the_ideal_list_if_the_catalogue_has_nothing_better() -> None:
    # All 4 items: 7, 3 and 0 at ranks 1 to 3, -2 at rank 4.
    lists, truth = {"ann": ["tea", "rye", "jam"]}, {"ann": {"tea": -2, "jam": 1, "oil": 2}}
    found = rt.evaluate(lists, truth, "penalised_ndcg@4", items=ITEMS)["penalised_ndcg@4"]
    assert found == pytest.approx((-2 + 3 / 2) / (7 + 3 / log2(3) - 2 / log2(5)))

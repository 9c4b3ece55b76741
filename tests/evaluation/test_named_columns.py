"""`columns=` of evaluate names columns for all tables: a name applies to each table that has it."""

from __future__ import annotations

import pytest

import rectitude as rt
from rectitude.errors import BadTable

LISTS = {"visitor": [1, 1], "sku": ["x", "a"], "p": [0.9, 0.8]}
TRUTH = {"user": [1], "item": ["a"]}
NAMES = {"user": "visitor", "item": "sku", "score": "p"}


def test_a_name_that_only_one_table_has_is_used_there() -> None:
    assert rt.evaluate(LISTS, TRUTH, "mrr", columns=NAMES)["mrr"] == 1 / 2


def test_a_name_that_both_tables_have_is_used_in_both() -> None:
    truth = {"visitor": [1], "sku": ["a"]}
    assert rt.evaluate(LISTS, truth, "mrr", columns=NAMES)["mrr"] == 1 / 2


def test_a_name_that_no_table_has_is_an_error_with_the_nearest_name() -> None:
    lists = {"user": [1], "item": ["a"], "score": [1.0]}
    with pytest.raises(BadTable, match="did you mean 'score'") as caught:
        rt.evaluate(lists, TRUTH, "mrr", columns={"score": "scroe"})
    assert "no column 'scroe', which was named as the score column" in str(caught.value)


def test_names_of_a_wrapper_are_binding() -> None:
    with pytest.raises(BadTable, match="no column 'visitor'"):
        rt.evaluate(LISTS, rt.Interactions(TRUTH, user="visitor"), "mrr", columns=NAMES)

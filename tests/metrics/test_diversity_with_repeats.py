"""Diversity of lists that have an item twice."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt

TWICE = {"user": ["ann"] * 3, "item": ["tea", "tea", "rye"], "score": [3.0, 2.0, 1.0]}
COUNTED = {"duplicates": "counted"}


def test_the_pair_of_an_item_with_itself_says_nothing_about_co_occurrence() -> None:
    # bob has tea and rye, cid only tea: 1 - 1 / sqrt(2 * 1), for both pairs of tea and rye.
    train = {"bob": ["tea", "rye"], "cid": ["tea"]}
    name = "cooccurrence_diversity@3"
    found = rt.evaluate(TWICE, {"ann": ["tea"]}, name, COUNTED, train=train)[name]
    assert found == pytest.approx(1 - 1 / 2**0.5)


@pytest.mark.parametrize(("pairs", "expected"), [("all", 2 / 3), ("different", 1.0)])
@pytest.mark.parametrize("tea", [[1.0, 0.0], [0.0, 0.0]])
def test_the_pair_of_an_item_with_itself_can_be_left_out(
    pairs: str, expected: float, tea: list[float]
) -> None:
    # tea and rye have nothing in common; a vector of zeros is at distance 1 even from itself.
    items = pl.DataFrame({"item": ["tea", "rye"], "embedding": [tea, [0.0, 1.0]]})
    name = f"ild[pairs={pairs}]@3"
    found = rt.evaluate(TWICE, {"ann": ["tea"]}, name, COUNTED, items=items)
    assert [*found.values().values()] == [expected if any(tea) else 1.0]

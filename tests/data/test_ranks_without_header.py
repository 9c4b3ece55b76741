"""A third column without a name: it may be the score or the rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadTable

TRUTH = {1: ["a"], 2: ["c"]}
RANKS = "1,a,1\n1,b,2\n1,c,3\n2,a,1\n2,c,2\n"


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "lists.csv"
        path.write_text(text)
        return path

    return write


def mrr(predictions: Any, **options: Any) -> float:
    return float(rt.evaluate(predictions, TRUTH, "mrr", **options)["mrr"])


@pytest.mark.parametrize("text", [RANKS, "1,a,0\n1,b,1\n1,c,2\n2,a,0\n2,c,1\n"])
def test_a_column_that_counts_up_in_every_list_is_the_rank(written: Any, text: str) -> None:
    evaluation = rt.evaluate(written(text), TRUTH, "mrr")
    assert evaluation["mrr"] == (1 / 1 + 1 / 2) / 2
    assert "rank = 'column 3'" in evaluation.ledger.notes["predictions"]


def test_it_can_be_overruled(written: Any) -> None:
    as_scores = (1 / 3 + 1 / 1) / 2
    assert mrr(rt.Lists(written(RANKS), score="column 3")) == as_scores
    assert mrr(written(RANKS), columns={"score": "column 3"}) == as_scores


@pytest.mark.parametrize(
    "text",
    [
        "1,a,3\n1,b,2\n1,c,1\n2,a,2\n2,c,1\n",  # falls, as scores do
        "1,a,3.5\n1,b,2\n1,c,1\n2,a,2\n2,c,1\n",
        "1,a,9\n1,b,2\n1,c,1\n2,a,2\n2,c,1\n",
    ],
)
def test_falling_numbers_and_numbers_with_gaps_are_scores(written: Any, text: str) -> None:
    assert mrr(written(text)) == (1 / 1 + 1 / 2) / 2


def test_numbers_in_another_order_are_asked_about(written: Any) -> None:
    mixed = "1,a,2\n1,b,1\n1,c,3\n2,a,1\n2,c,2\n"
    with pytest.raises(BadTable, match="it may be the rank or the score"):
        mrr(written(mixed))
    assert mrr(rt.Lists(written(mixed), rank="column 3")) == (1 / 2 + 1 / 2) / 2
    assert mrr(written(mixed), columns={"predictions.score": "column 3"}) == (1 / 2 + 1 / 1) / 2


def test_two_rows_say_too_little(written: Any) -> None:
    assert mrr(written("1,a,1\n1,b,2\n2,a,1\n2,c,2\n")) == (1 / 2 + 1 / 1) / 2


def test_the_hint_for_ids_without_a_header_works(tmp_path: Path, written: Any) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("[PAD]\na\nb\nc\n")
    with pytest.raises(BadTable, match=r"headerless:ids\.txt on the command line"):
        rt.evaluate(written(RANKS), TRUTH, "item_coverage@1", items=ids)
    named = rt.Interactions(ids, format="headerless")
    evaluation = rt.evaluate(written(RANKS), TRUTH, "item_coverage@1", items=named)
    assert evaluation["item_coverage@1"] == 1 / 4

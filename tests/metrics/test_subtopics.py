"""Queries with subtopics: one example by hand, and what a truth with subtopics means elsewhere."""

from __future__ import annotations

from math import log2
from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import DuplicateTruth, MissingNeed

LISTS = {"q": ["a", "b", "c"]}
JUDGED = [("q", "1", "a"), ("q", "1", "b"), ("q", "2", "b"), ("q", "3", "d")]
TRUTH = pl.DataFrame(JUDGED, ["user", "subtopic", "item"], orient="row").with_columns(grade=1)
# a gains 1; b gains 1/2 for subtopic 1, which a serves, and 1 for subtopic 2; c gains nothing.
SECOND, THIRD = 1 / log2(3), 1 / 2
# The ideal list takes b (2), then d (1; a would gain 1/2), then a (1/2).
BY_HAND = {
    "alpha_dcg[over=none]@3": 1 + 1.5 * SECOND,
    "alpha_dcg[over=subtopics]@3": (1 + 1.5 * SECOND) / 3,
    "alpha_dcg@3": (1 + 1.5 * SECOND) / (3 * (1 + 0.5 * SECOND + 0.25 * THIRD)),
    "alpha_ndcg@3": (1 + 1.5 * SECOND) / (2 + 1 * SECOND + 0.5 * THIRD),
    "alpha_ndcg@1": 1 / 2,
    "alpha_ndcg[alpha=0]@3": (1 + 2 * SECOND) / (2 + 1 * SECOND + 1 * THIRD),
    "err_ia@3": (1 + 1.5 / 2) / (3 * (1 + 0.5 / 2 + 0.25 / 3)),
    "nerr_ia@3": (1 + 1.5 / 2) / (2 + 1 / 2 + 0.5 / 3),
    "nrbp": (1 - 0.5 * 0.5) * (1 + 1.5 * 0.5) / 3,
    "nnrbp": (1 + 1.5 * 0.5) / (2 + 1 * 0.5 + 0.5 * 0.25),
    "ap_ia": ((1 / 1 + 2 / 2) / 2 + (1 / 2) / 1 + 0) / 3,
    "precision_ia@3": 3 / (3 * 3),
    "subtopic_recall@1": 1 / 3,
    "subtopic_recall@3": 2 / 3,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_metric_has_the_value_computed_by_hand(name: str) -> None:
    assert rt.evaluate(LISTS, TRUTH, name)[name] == pytest.approx(BY_HAND[name], rel=1e-15)


def test_a_subtopic_without_a_relevant_item_does_not_count() -> None:
    more = pl.concat([TRUTH, TRUTH.head(1).with_columns(subtopic=pl.lit("9"), grade=0)])
    for name in ("alpha_ndcg@3", "subtopic_recall@3"):
        assert rt.evaluate(LISTS, more, name)[name] == rt.evaluate(LISTS, TRUTH, name)[name]


def test_the_threshold_counts_for_each_subtopic() -> None:
    graded = TRUTH.with_columns(grade=pl.Series([2, 1, 2, 1]))  # a serves 1, b serves 2
    found = rt.evaluate(LISTS, graded, "alpha_dcg[over=none]", {"relevant_from": 2})
    assert found["alpha_dcg[over=none]"] == pytest.approx(1 + SECOND, rel=1e-15)


def test_other_metrics_use_the_highest_grade_of_an_item() -> None:
    graded = TRUTH.with_columns(grade=pl.Series([1, 0, 3, 1]))
    found = rt.evaluate(LISTS, graded, ["recall", "dcg[gain=linear]"])
    assert found["recall"] == 2 / 3  # a and b of a, b and d
    assert found["dcg[gain=linear]"] == pytest.approx(1 + 3 * SECOND, rel=1e-15)
    assert found.ledger["truth_subtopics"] == 4 and found.ledger["truth_rows"] == 3


def test_qrels_name_the_subtopic_in_the_second_field(tmp_path: Path) -> None:
    path = tmp_path / "diversity.qrels"
    path.write_text("".join(f"{query} {topic} {item} 1\n" for query, topic, item in JUDGED))
    names = list(BY_HAND)
    assert rt.evaluate(LISTS, path, names).values() == pytest.approx(BY_HAND, rel=1e-15)


def test_qrels_with_0_in_the_second_field_have_no_subtopics(tmp_path: Path) -> None:
    path = tmp_path / "plain.qrels"
    path.write_text("q 0 a 1\nq 0 d 1\n")
    with pytest.raises(MissingNeed, match="judgements by subtopic"):
        _ = rt.evaluate(LISTS, path, "alpha_ndcg")["alpha_ndcg"]
    assert rt.evaluate(LISTS, path, "recall")["recall"] == 1 / 2


def test_the_same_judgement_twice_is_an_error() -> None:
    with pytest.raises(DuplicateTruth, match="repeat a list, an item and a subtopic"):
        rt.evaluate(LISTS, pl.concat([TRUTH, TRUTH.head(1)]), "alpha_ndcg")


def test_the_order_of_rows_does_not_matter() -> None:
    values = rt.evaluate(LISTS, TRUTH, list(BY_HAND)).values()
    assert rt.evaluate(LISTS, TRUTH.reverse(), list(BY_HAND)).values() == values


def test_truths_with_other_subtopics_have_other_fingerprints() -> None:
    other = TRUTH.with_columns(subtopic=pl.lit("1")).unique()
    marks = [
        rt.evaluate(LISTS, truth, "recall").manifest["inputs"]["truth"]["fingerprint"]
        for truth in (TRUTH, TRUTH.reverse(), other)
    ]
    assert marks[0] == marks[1] != marks[2]

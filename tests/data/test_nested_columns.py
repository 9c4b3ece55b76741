"""Columns that hold whole lists under names of their own: Spark's ALS and sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadTable, UnknownName

# user 1: 11 at rank 2; user 2: 12 at rank 1
ALS = pl.DataFrame(
    {
        "userId": [1, 2],
        "recommendations": [
            [{"movieId": 10, "rating": 4.5}, {"movieId": 11, "rating": 3.0}],
            [{"movieId": 12, "rating": 1.0}],
        ],
    }
)
TRUTH = pl.DataFrame({"userId": [1, 2], "movieId": [11, 12], "rating": [5.0, 4.0]})
MRR = (1 / 2 + 1 / 1) / 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ALS.write_parquet(tmp_path / "als.parquet")
    TRUTH.write_csv(tmp_path / "truth.csv")
    return tmp_path


def mrr(predictions: Any, truth: Any, **options: Any) -> float:
    return float(rt.evaluate(predictions, truth, "mrr", **options)["mrr"])


def test_recommendations_of_spark_are_found(folder: Path) -> None:
    assert mrr(ALS, TRUTH) == MRR
    assert mrr(folder / "als.parquet", folder / "truth.csv") == MRR
    assert mrr(ALS.to_arrow(), TRUTH.to_pandas()) == MRR


def test_the_item_of_one_table_can_be_named(folder: Path) -> None:
    paths = folder / "als.parquet", folder / "truth.csv"
    assert mrr(*paths, columns={"predictions.item": "recommendations"}) == MRR
    assert mrr(*paths, columns={"item": "recommendations"}) == MRR
    named = {"truth.user": "userId", "truth.item": "movieId", "predictions.user": "userId"}
    assert mrr(*paths, columns=named) == MRR


def test_a_column_named_for_one_table_overrules_the_name_for_all() -> None:
    lists = pl.DataFrame({"u": [1, 1], "i": ["b", "a"], "score": [2.0, 1.0]})
    truth = pl.DataFrame({"u": [1], "i": ["x"], "bought": ["a"]})
    columns = {"user": "u", "item": "i"}
    assert mrr(lists, truth, columns={**columns, "truth.item": "bought"}) == 1 / 2
    assert mrr(lists, truth, columns=columns) == 0


def test_a_column_that_its_table_lacks_is_an_error() -> None:
    with pytest.raises(BadTable, match=r"truth .* has no column 'recommendations'") as raised:
        mrr(ALS, TRUTH, columns={"truth.item": "recommendations"})
    assert "--columns predictions.item=recommendations" in str(raised.value)
    with pytest.raises(UnknownName, match="has no table 'lists'"):
        mrr(ALS, TRUTH, columns={"lists.item": "recommendations"})


def test_two_nested_columns_are_not_guessed_between() -> None:
    with pytest.raises(BadTable, match="has no item column"):
        mrr(ALS.with_columns(others="recommendations"), TRUTH)


def test_predictions_of_sentence_transformers_are_found(tmp_path: Path) -> None:
    # q1: d1 and d2 have equal scores, and d1 comes first by id
    rows = [
        {"query_id": "q1", "query": "what?", "results": [
            {"corpus_id": "d2", "score": 0.9}, {"corpus_id": "d1", "score": 0.9}]},
        {"query_id": "q2", "query": "who?", "results": [{"corpus_id": "d3", "score": 0.5}]},
    ]  # fmt: skip
    path, truth = tmp_path / "predictions_cosine.jsonl", tmp_path / "qrels.tsv"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    truth.write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td3\t1\n")
    assert mrr(path, truth, convention="sentence-transformers") == MRR


def test_the_label_is_the_grade_of_a_truth_that_has_scores_too() -> None:
    both = pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "label": [0, 1], "score": [0.3, 0.2]})
    assert mrr(both, both) == 1 / 2

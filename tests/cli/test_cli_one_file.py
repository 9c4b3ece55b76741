"""Columns of one file, and formats of folders, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from cli_files import Run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lists of Spark's ALS, their truth, lists of LensKit in a folder, and ranks without a
    header."""
    monkeypatch.chdir(tmp_path)
    lists = [[{"movieId": 10, "rating": 4.5}, {"movieId": 11, "rating": 3.0}]]
    pl.DataFrame({"userId": [1], "recommendations": lists}).write_parquet("als.parquet")
    pl.DataFrame({"userId": [1], "movieId": [11], "rating": [5.0]}).write_csv("truth.csv")
    Path("recs.parquet").mkdir()
    items = [[{"item_id": 10, "score": 4.5}, {"item_id": 11, "score": 3.0}]]
    nested = pl.DataFrame({"user_id": [1], "items": items})
    nested.write_parquet("recs.parquet/part-0.parquet")
    Path("ranks.csv").write_text("1,10,1\n1,11,2\n1,12,3\n")
    return tmp_path


def mrr(run: Run, *arguments: str) -> float:
    said = run("evaluate", "--truth", "truth.csv", "--metrics", "mrr", "--json", *arguments)
    assert said.code == 0, said.err
    return float(json.loads(said.out)["results"]["mrr"]["value"])


@pytest.mark.usefixtures("files")
def test_columns_of_one_file_can_be_named(run: Run) -> None:
    assert mrr(run, "--predictions", "als.parquet") == 1 / 2
    named = ["predictions.item=recommendations", "truth.item=movieId"]
    assert mrr(run, "--predictions", "als.parquet", "--columns", *named) == 1 / 2


@pytest.mark.usefixtures("files")
def test_the_format_of_a_folder_is_obeyed(run: Run) -> None:
    assert mrr(run, "--predictions", "lenskit:recs.parquet") == 1 / 2
    said = run("evaluate", "trec:recs.parquet", "--truth", "truth.csv", "--metrics", "mrr")
    assert said.code == 2
    assert "part-0.parquet is a Parquet file" in said.err


@pytest.mark.usefixtures("files")
def test_a_rank_without_a_name_is_found_and_can_be_overruled(run: Run) -> None:
    assert mrr(run, "--predictions", "ranks.csv") == 1 / 2
    assert mrr(run, "--predictions", "ranks.csv", "--columns", "rank=column 3") == 1 / 2
    as_score = ["--columns", "predictions.score=column 3"]
    assert mrr(run, "--predictions", "ranks.csv", *as_score) == 1 / 2

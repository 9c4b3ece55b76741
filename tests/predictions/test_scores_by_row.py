"""Scores without ids, one for each row of a LETOR file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import rectitude as rt
from rectitude.data.read import read
from rectitude.errors import BadTable

SCORES = "0.1\n0.3\n0.5\n0.2\n"
ROWS = "2 qid:a 1:0.3 # d7\n0 qid:a 1:2 # d8\n1 qid:b 1:0.1 # d7\n0 qid:b 1:0.1 # d9\n"
BARE = "2 1:0.3 # d7\n0 1:2 # d8\n1 1:0.1 # d7\n0 1:0.1 # d9\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.txt").write_text(SCORES)
    (tmp_path / "test.txt").write_text(ROWS)
    (tmp_path / "rank.test").write_text(BARE)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("truth", ["test.txt", rt.Interactions("test.txt", format="letor")])
@pytest.mark.parametrize(
    "scores", ["scores.txt", Path("scores.txt"), np.array([0.1, 0.3, 0.5, 0.2])]
)
def test_a_score_belongs_to_the_row_on_its_line(scores: object, truth: object) -> None:
    # Query a has its relevant row at rank 2, query b at rank 1: (1/2 + 1) / 2.
    evaluation = rt.evaluate(scores, truth, "mrr")
    assert evaluation["mrr"] == 0.75
    assert evaluation.per_list()["mrr"].to_list() == [0.5, 1.0]
    read_as = evaluation.manifest["inputs"]["predictions"]["format"]
    assert read_as == "scores (one number for each row of test.txt, in their order)"


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_the_sizes_of_queries_are_found_beside_the_rows(folder: Path, ending: str) -> None:
    (folder / f"rank.test{ending}").write_text("2\n2\n")
    evaluation = rt.evaluate("scores.txt", "rank.test", "mrr")
    assert evaluation["mrr"] == 0.75
    assert f"the sizes in rank.test{ending}" in evaluation.manifest["inputs"]["truth"]["format"]


def test_the_sizes_belong_to_the_compressed_rows_too(folder: Path) -> None:
    (folder / "rank.txt.gz").write_bytes(gzip.compress(BARE.encode()))
    (folder / "rank.txt.query").write_text("1\n0\n3\n")
    assert read("rank.txt.gz", "truth").frame["list"].to_list() == ["0", "2", "2", "2"]


def test_another_number_of_scores_than_rows_is_refused(folder: Path) -> None:
    (folder / "short.txt").write_text("0.1\n0.3\n0.5\n")
    with pytest.raises(BadTable, match=r"have 3 scores, but the truth \(test.txt\) has 4 rows"):
        rt.evaluate("short.txt", "test.txt", "mrr")


def test_a_line_without_a_number_is_named(folder: Path) -> None:
    (folder / "long.txt").write_text("0.1\n" * 2000 + "x\n")
    with pytest.raises(BadTable, match=r"long\.txt, line 2001 is not a number: 'x'"):
        rt.evaluate("long.txt", "test.txt", "mrr")


@pytest.mark.usefixtures("folder")
def test_scores_by_row_need_a_truth_whose_rows_have_queries() -> None:
    Path("truth.csv").write_text("user,item\na,d7\n")
    with pytest.raises(BadTable, match=r"scores\.txt"):
        rt.evaluate("scores.txt", "truth.csv", "mrr")

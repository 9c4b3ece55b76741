"""`rectitude audit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run

TRAIN = "user,item\nann,x\nann,a\nbob,y\ncid,z\n"


@pytest.fixture
def parts(shop: Path) -> tuple[str, ...]:
    """Training data in which ann has an item of her truth."""
    (shop / "train.csv").write_text(TRAIN)
    return ("audit", "--train", "train.csv", "--truth", "truth.csv")


def test_something_serious_is_told_and_exits_1(run: Run, parts: tuple[str, ...]) -> None:
    said = run(*parts, "--predictions", "good.csv", "--metrics", "ndcg@2", "recall@2")
    assert said.code == 1
    assert "truth_in_train (serious)" in said.out
    assert "1 of 4 truth rows are in train as well (first: user 'ann', item 'a')" in said.out
    assert "Effect: ndcg@2" in said.out


def test_a_split_without_faults_exits_0(run: Run, shop: Path) -> None:
    (shop / "train.csv").write_text("user,item\nann,c\nbob,d\ncid,a\ncid,b\n")
    said = run("audit", "--train", "train.csv", "--truth", "truth.csv")
    assert said.code == 0
    assert "most popular items of train" in said.out


def test_json_has_every_finding(run: Run, parts: tuple[str, ...]) -> None:
    said = run(*parts, "--predictions", "good.csv", "--json")
    stored = json.loads(said.out)
    assert said.code == 1
    found = {finding["name"]: finding for finding in stored["findings"]}
    assert found["truth_in_train"]["count"] == 1
    assert set(found["truth_in_train"]["effect"]) == {"ndcg@10", "recall@10"}
    assert found["missing_lists"]["example"] == "user 'cid'"


def test_validation_and_folds_are_looked_at(run: Run, parts: tuple[str, ...], shop: Path) -> None:
    (shop / "valid.csv").write_text("user,item\nbob,y\n")
    (shop / "u2.csv").write_text("user,item\nbob,c\n")
    said = run(
        *parts, "--validation", "valid.csv", "--folds", "truth.csv", "u2.csv", "--json"
    )  # fmt: skip
    found = {finding["name"]: finding for finding in json.loads(said.out)["findings"]}
    assert found["validation_in_train"]["severity"] == "serious"
    assert found["pairs_in_folds"]["count"] == 1
    assert found["users_in_folds"]["example"] == "user 'bob'"


def test_dense_scores_and_output_files(run: Run, parts: tuple[str, ...], shop: Path) -> None:
    users, items = np.array(["ann", "bob", "cid"]), np.array(list("abcdxyz"))
    scores = np.arange(21.0).reshape(3, 7)
    scores[1, 2] = np.nan
    np.savez(shop / "scores.npz", scores=scores, users=users, items=items)
    said = run(*parts, "--scores", "scores.npz", "--output", "audit.txt")
    assert (said.code, said.out) == (1, "")
    assert "1 of 21 scores are missing, NaN or infinite" in (shop / "audit.txt").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to audit"),
        (("--train", "gone.csv"), "gone.csv"),
        (("--predictions", "good.csv", "poor.csv"), "predictions were named"),
        (("--truth", "truth.csv", "--metrics", "ndgc@10"), "ndcg"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_bad_use_exits_2_and_prints_nothing(run: Run, words: tuple[str, ...], message: str) -> None:
    said = run("audit", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err

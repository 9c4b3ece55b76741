"""`rectitude audit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli_files import Run

TRAIN = "user,item\nann,x\nann,a\nbob,y\ncid,z\n"


@pytest.fixture
def parts(shop: Path) -> tuple[str, ...]:
    """Training data that contains an item of ann's truth."""
    (shop / "train.csv").write_text(TRAIN)
    return ("audit", "--train", "train.csv", "--truth", "truth.csv")


def test_something_serious_is_reported_and_exits_1(run: Run, parts: tuple[str, ...]) -> None:
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


def test_validation_and_folds_are_checked(run: Run, parts: tuple[str, ...], shop: Path) -> None:
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


def test_a_folder_of_parts_is_audited_as_it_was_written(run: Run, shop: Path) -> None:
    pairs = [(user, 2 * user + item) for user in (1, 2) for item in range(5)]
    rows = "".join(f"{user},{item},{10 * user + item}\n" for user, item in pairs)
    (shop / "log.csv").write_text(f"user,item,timestamp\n{rows}")
    for form in ("parquet", "csv", "recbole", "elliot", "warprec", "recpack"):
        words = ("--validate", "how=leave_last", "--output", form, "--format", form)
        written = run("split", "log.csv", *words)
        assert written.code == 0
        assert ("note: grades were created" in written.out) == (form == "elliot")
        said = run("audit", "--split", form, "--json")
        assert said.code == 0
        assert json.loads(said.out)["sizes"] == {"train": 6, "validation": 2, "truth": 2}


def test_a_validation_inside_train_is_found_under_another_name(run: Run, shop: Path) -> None:
    parts = {"train": "1,7\n1,8\n2,7\n", "test": "1,9\n2,8\n", "valid_id": "1,7\n2,7\n"}
    (shop / "parts").mkdir()
    for name, rows in {**parts, "pairs": "7,8\n"}.items():
        (shop / "parts" / f"{name}.csv").write_text(f"user,item\n{rows}")
    said = run("audit", "--split", "parts")
    assert said.code == 1
    assert "2 of 2 validation rows are in train as well" in said.out
    assert "files of the folder that were not audited: pairs.csv" in said.out


def test_logits_are_audited_with_their_targets(run: Run, shop: Path) -> None:
    np.save(shop / "logits.npy", np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
    np.save(shop / "targets.npy", np.array([0, 1, 1]))
    np.save(shop / "known.npy", np.array([0, 0]))
    files = ("--logits", "logits.npy", "--targets", "targets.npy", "--train", "known.npy")
    said = run("audit", *files)
    assert said.code == 1
    assert "1 of 3 lists have one score for all items (first: row 1)" in said.out
    assert "2 of 3 truth rows have classes that are not in train" in said.out


def test_sessions_and_weights_are_options(run: Run, shop: Path) -> None:
    (shop / "lists.csv").write_text("session,item,score\n1,a,2\n2,b,1\n2,b,3\n")
    (shop / "asked.csv").write_text("session,item\n1,a\n2,b\n3,a\n")
    (shop / "weights.csv").write_text("session,weight\n1,1\n2,1\n")
    files = ("--truth", "asked.csv", "--predictions", "lists.csv", "--list-key", "session")
    said = run("audit", *files, "--weights", "weights.csv", "--metrics", "recall@1", "--json")
    found = {finding["name"]: finding for finding in json.loads(said.out)["findings"]}
    assert found["missing_lists"]["example"] == "session 3"
    assert found["bad_weights"]["example"] == "session 3"
    assert found["duplicate_items"]["count"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to audit"),
        (("--split", ".", "--train", "truth.csv"), "--split and --train"),
        (("--split", "."), "does not contain a train and a test file"),
        (("--logits", "good.csv"), "without --targets"),
        (("--train", "gone.csv"), "gone.csv"),
        (("--predictions", "good.csv", "poor.csv"), "prediction files were given"),
        (("--truth", "truth.csv", "--metrics", "ndgc@10"), "ndcg"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_bad_use_exits_2_and_prints_nothing(run: Run, words: tuple[str, ...], message: str) -> None:
    said = run("audit", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_a_split_that_has_changed_is_refused(run: Run, shop: Path) -> None:
    (shop / "log.csv").write_text(
        "user,item,timestamp\n" + "".join(f"{u},{i},{i}\n" for u in range(4) for i in range(3))
    )
    assert run("split", "log.csv", "--how", "leave_last", "--output", "parts").code == 0
    assert "truth 4" in run("audit", "--split", "parts").out
    path = shop / "parts" / "truth.parquet"
    pl.read_parquet(path).head(3).write_parquet(path)
    for command in (("audit", "--split", "parts"), ("candidates", "parts")):
        said = run(*command)
        assert said.code == 2
        assert "but split.json says" in said.err
    (shop / "parts" / "split.json").write_text("[]")
    said = run("audit", "--split", "parts")
    assert said.code == 2
    assert "split.json contains 'list'" in said.err
    (shop / "parts" / "split.json").unlink()
    assert "truth 3" in run("audit", "--split", "parts").out


def test_a_named_column_that_no_part_has_is_refused(run: Run, parts: tuple[str, ...]) -> None:
    said = run(*parts, "--columns", "user=nope")
    assert said.code == 2
    assert "has no column 'nope', which was named as the user column" in said.err


@pytest.mark.parametrize(
    ("option", "value"), [("--list-key", "session"), ("--columns", "user=reader")]
)
def test_an_option_for_tables_beside_logits_is_refused(
    run: Run, shop: Path, option: str, value: str
) -> None:
    np.save(shop / "logits.npy", np.eye(3))
    np.save(shop / "targets.npy", np.arange(3))
    said = run("audit", "--logits", "logits.npy", "--targets", "targets.npy", option, value)
    assert said.code == 2
    assert f"{option[2:].replace('-', '_')} was given together with logits" in said.err

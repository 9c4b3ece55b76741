"""`rt.sample`: small files to try things with."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from rectitude.data.sample import FILES
from rectitude.errors import UnwritableFile


def test_the_files_can_be_evaluated(tmp_path: Path) -> None:
    folder = rt.sample(tmp_path / "new")
    assert folder == tmp_path / "new"
    assert {path.name for path in folder.iterdir()} == {*FILES}
    assert rt.evaluate(folder / "nearest.csv", folder / "test.csv", "ndcg@10")["ndcg@10"] > 0.3
    scores = rt.Scores(folder / "scores.npz")
    assert len(rt.evaluate(scores, folder / "test.csv", train=folder / "train.csv"))
    assert len(rt.evaluate(rt.Logits(folder / "long.npy"), folder / "targets.npy"))


def test_without_a_folder_they_go_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rt.sample()
    assert (tmp_path / "nearest.csv").is_file()


def test_writing_them_again_changes_nothing(tmp_path: Path) -> None:
    rt.sample(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "test.csv").unlink()
    rt.sample(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_of_yours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("user,item\n1,2\n")
    with pytest.raises(UnwritableFile, match=r"test\.csv exists and is not the file of the sample"):
        rt.sample(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test.csv"]

"""One table in several files: a list of paths, a pattern, a partitioned folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, BadTable, UnreadableFile

RECS = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 7, 8], "score": [0.9, 0.8, 0.7, 0.6]})
TRUTH = {1: [6], 2: [8]}


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the lists in pieces: one per user, and an empty one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, rows in {"a": RECS[:2], "b": RECS[2:], "c": RECS.clear()}.items():
        rows.write_parquet(folder / f"{name}.parquet")
        rows.write_csv(folder / f"{name}.csv")
    return folder


def mrr(predictions: object, truth: object = TRUTH) -> float:
    return rt.evaluate(predictions, truth, "mrr")["mrr"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pattern_is_one_table(parts: Path, ending: str) -> None:
    assert mrr(f"parts/*.{ending}") == mrr(parts / f"[ab].{ending}") == 1 / 2
    assert mrr(RECS, f"{parts}/*.{ending}") == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_list_or_tuple_of_paths_is_one_table(parts: Path, ending: str) -> None:
    names = [f"parts/{name}.{ending}" for name in "abc"]
    assert mrr(names) == mrr(tuple(map(Path, names))) == 1 / 2
    assert mrr(RECS, names) == 1


def test_the_ledger_and_the_manifest_name_the_files(parts: Path) -> None:
    evaluation = rt.evaluate("parts/*.csv", TRUTH, "mrr")
    table = evaluation.manifest["inputs"]["predictions"]
    assert table["source"] == "parts/*.csv"
    assert table["format"].startswith("csv (3 files; ")


def test_the_users_of_a_split_may_lie_in_several_files(parts: Path) -> None:
    split = rt.split(["parts/a.csv", "parts/b.csv"], "leave_random")
    assert not isinstance(split, list)
    assert split.truth.frame.height == 2


def test_partitions_are_columns(parts: Path) -> None:
    for name, keys in {"one": ["user"], "two": ["day", "user"]}.items():
        RECS.with_columns(day=pl.lit("a b")).write_parquet(name, partition_by=keys, mkdir=True)
        assert mrr(name) == 1 / 2
        assert mrr(RECS, name) == 1
    assert mrr("one/**/*.parquet") == 1 / 2
    assert rt.compare({"a": "one", "b": RECS}, TRUTH, "mrr").values["mrr"]["a"] == 1 / 2


def test_partitions_of_text_are_columns(parts: Path) -> None:
    for user in ("ann", "bob"):
        folder = parts / f"user={user}"
        folder.mkdir()
        (folder / "part-0.csv").write_text("item,score\nx,0.5\n")
    for file in parts.glob("*.*"):
        file.unlink()
    assert mrr(parts, {"ann": ["x"], "bob": ["y"]}) == 1 / 2


def test_folds_are_no_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "fold=1"
    folder.mkdir()
    for name in ("train", "test"):
        (folder / f"{name}.csv").write_text("user,item\n1,5\n")
    with pytest.raises(UnreadableFile, match="is a folder"):
        mrr(RECS, tmp_path)


def test_text_ids_in_one_file_and_numbers_in_another_are_text(parts: Path) -> None:
    (parts / "d.csv").write_text("user,item,score\n007,5,0.1\n")
    truth = {"1": ["6"], "2": ["8"], "007": ["5"]}
    assert mrr("parts/*.csv", truth) == pytest.approx(2 / 3)


def test_ids_of_different_types_are_an_error(parts: Path) -> None:
    RECS.with_columns(pl.col("user").cast(pl.String)).write_parquet(parts / "d.parquet")
    with pytest.raises(BadTable, match=r"'user' of parts/.*parquet has the types Int64, String"):
        mrr("parts/*.parquet")


def test_files_with_different_columns_are_an_error(parts: Path) -> None:
    (parts / "d.csv").write_text("user,item,rank\n7,5,1\n")
    with pytest.raises(BadTable, match=r"d.csv has the columns .*'rank', but a.csv has"):
        mrr("parts/*.csv")


def test_files_of_different_formats_are_an_error(parts: Path) -> None:
    with pytest.raises(BadTable, match="have different formats"):
        mrr("parts/a.*")


def test_files_whose_users_are_row_numbers_are_an_error(parts: Path) -> None:
    for name in ("x.npy", "y.npy"):
        np.save(name, np.array([[5, 6]]))
    with pytest.raises(BadTable, match="number their users by row"):
        mrr(["x.npy", "y.npy"])


def test_a_file_listed_twice_is_an_error(parts: Path) -> None:
    with pytest.raises(BadArgument, match=r"a\.csv is listed twice"):
        mrr(["parts/a.csv", "parts/a.csv"])


def test_a_pattern_without_a_match_is_an_error(parts: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"no file matches 'parts/\*\.json'"):
        mrr("parts/*.json")


def test_a_list_of_ids_is_no_list_of_files() -> None:
    with pytest.raises(BadTable, match="row 1 is of type str"):
        mrr(["a", "b"])
    items = rt.evaluate({1: ["a.x"]}, {1: ["a.x"]}, "item_coverage@1", items=["a.x", "b.x"])
    assert items["item_coverage@1"] == 1 / 2


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run[1].csv"
    RECS.write_csv(file)
    assert mrr(file) == 1 / 2


def test_the_command_line_takes_patterns(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (parts / "truth.tsv").write_text("user\titem\n1\t6\n2\t8\n")
    call = ["evaluate", "--predictions", "parts/*.csv", "--truth", "parts/truth.tsv"]
    assert main([*call, "--metrics", "mrr"]) == 0
    assert "0.5000" in capsys.readouterr().out

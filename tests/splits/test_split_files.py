"""Splits on disk and on the command line: all parts or none, and what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import UnknownName, UnwritableFile
from rectitude.splits.files import write
from rectitude.splits.split import Split, digest

TABLE = {
    "user": ["a"] * 4 + ["b"] * 4,
    "item": [1, 2, 3, 4, 4, 3, 2, 9],
    "timestamp": [1, 2, 3, 4, 1, 2, 3, 4],
}


@pytest.fixture
def csv(tmp_path: Path) -> str:
    path = tmp_path / "log.csv"
    pl.DataFrame(TABLE).write_csv(path)
    return str(path)


def test_parts_ledger_and_fingerprint_are_written(tmp_path: Path) -> None:
    split = rt.split(TABLE, "leave_last", validation={"how": "leave_last"})
    assert isinstance(split, Split)
    write(split, tmp_path / "parts")
    stored = json.loads((tmp_path / "parts" / "split.json").read_text())
    assert stored["fingerprint"] == split.fingerprint
    assert stored["ledger"] == split.ledger.as_dict()
    assert set(stored["parts"]) == {"train", "truth", "validation_train", "validation_truth"}
    for name, part in split.parts():
        assert pl.read_parquet(tmp_path / "parts" / stored["parts"][name]["file"]).equals(
            part.frame
        )


def test_a_series_has_a_folder_for_each_split(tmp_path: Path) -> None:
    write(rt.split(TABLE, "k_fold", folds=2), tmp_path / "folds", "csv")
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    assert found == [
        f"folds/fold-{nth}/{name}"
        for nth in (1, 2)
        for name in ("split.json", "train.csv", "truth.csv")
    ]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    split = rt.split(TABLE, "leave_last")
    with pytest.raises(UnwritableFile, match="contains files"):
        write(split, tmp_path)
    with pytest.raises(UnwritableFile, match="is a file"):
        write(split, tmp_path / "mine.txt")
    with pytest.raises(UnwritableFile, match="does not exist"):
        write(split, tmp_path / "no" / "where")
    with pytest.raises(UnknownName, match="file format"):
        write(split, tmp_path / "new", "xls")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rectitude.splits.files.json.dumps", full)
    with pytest.raises(UnwritableFile, match="No space left"):
        write(rt.split(TABLE, "leave_last"), tmp_path / "parts")
    assert list(tmp_path.iterdir()) == []


def test_the_command_splits_and_says_where_rows_went(
    csv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "parts")
    words = ["split", csv, "--set", "n=1", "--validate", "how=leave_last", "n=1", "--output", out]
    assert main([*words, "--unknown", "items=drop"]) == 0
    said = capsys.readouterr().out
    assert "1 of 2 truth rows have an unknown item: dropped (first: user b" in said
    assert pl.read_parquet(f"{out}/truth.parquet")["user"].to_list() == ["a"]
    assert len(list(Path(out).iterdir())) == 5


def test_the_command_speaks_the_words_of_a_framework(
    csv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--protocol", "elliot", "--set", "strategy=temporal_hold_out", "leave_n_out=1"]
    assert main(["split", csv, *words, "--json"]) == 0
    stored = json.loads(capsys.readouterr().out)
    assert stored["parts"]["truth"] == {"rows": 2, "users": 2, "items": 2}
    assert stored["how"].startswith("leave_last(")


def test_tables_and_shares_can_be_given_as_words(
    csv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    within = 'within={how="leave_last", keep=0, short="all"}'
    assert main(["split", csv, "--how", "strong_generalisation", "--set", "ratio=0.5", within]) == 0
    assert "fold_in" in capsys.readouterr().out
    assert main(["split", csv, "--how", "random_ratio", "--validate", "0.3", "--seed", "2"]) == 0
    assert "validation_truth" in capsys.readouterr().out


def test_bad_use_writes_nothing(
    csv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["--set", "n=99"],
        ["--how", "random_ratio", "--set", "ratio=2"],
        ["--how", "lost"],
    ):
        assert main(["split", csv, *words, "--output", str(tmp_path / "parts")]) == 2
        assert "error:" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()


def test_the_hash_of_a_table_follows_its_rows_and_not_their_order() -> None:
    table = pl.DataFrame({"user": ["a", "b", "b"], "item": [1, 2, 2], "grade": [0.5, 1.0, None]})
    assert digest(table) == digest(table.reverse())
    assert digest(table) == digest(table.with_columns(pl.col("item").cast(pl.Int16)))
    others = [
        table.head(2), table.vstack(table[:1]), table.with_columns(item=pl.Series([2, 1, 2])),
        table.with_columns(user=pl.Series(["b", "a", "b"])), table.rename({"grade": "rating"}),
        table.with_columns(grade=pl.Series([0.5, 1.0, 1.0])),
    ]  # fmt: skip
    assert len({digest(other) for other in [table, *others]}) == 7

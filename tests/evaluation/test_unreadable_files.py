"""Damaged and missing files among the many of a table: an error that names file and row group, or
left out and counted, whatever the limit on memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, UnreadableFile
from rectitude.evaluation import inputs

NUMBERS = range(5)


@pytest.fixture(params=[None, 50_000], ids=["in memory", "part by part"])
def limit(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> int | None:
    """Lists in five files, of which the fourth has a damaged row group."""
    monkeypatch.setattr(inputs, "LEAST_MEMORY", 1)
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    lists = pl.DataFrame({"user": [n // 4 for n in range(4000)], "item": [0, 1, 2, 3] * 1000})
    lists = lists.with_columns(score=pl.col("item").cast(float))
    for number in NUMBERS:
        some = lists.filter(pl.col("user") % 5 == number)
        some.write_parquet(f"parts/part-{number}.parquet", row_group_size=200)
        some.write_csv(f"some-{number}.csv")
    lists.filter(item=1).select("user", "item").write_parquet("truth.parquet")
    damage(Path("parts/part-3.parquet"))
    return None if request.param is None else int(request.param)


def damage(path: Path) -> None:
    """Overwrite the middle of a file."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle - 400 : middle] = b"\xff" * 400
    path.write_bytes(content)


def readable() -> list[str]:
    """The files without the damaged one."""
    return [f"parts/part-{number}.parquet" for number in NUMBERS if number != 3]


SOURCES = {
    "folder": "parts",
    "pattern": "parts/*.parquet",
    "list": [f"parts/part-{number}.parquet" for number in NUMBERS],
    "wrapped": rt.Lists("parts", score="score"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_an_error_names_the_file_and_the_row_group(source: str, limit: int | None) -> None:
    named = r"part-3\.parquet, row group [1-4] of 4, is truncated or damaged"
    with pytest.raises(UnreadableFile, match=named):
        rt.evaluate(SOURCES[source], "truth.parquet", "mrr", memory=limit)


@pytest.mark.parametrize("source", SOURCES)
def test_a_damaged_file_is_left_out_and_counted(source: str, limit: int | None) -> None:
    given: Any = SOURCES[source]
    found = rt.evaluate(given, "truth.parquet", "mrr", memory=limit, unreadable="left_out")
    wanted = rt.evaluate(readable(), "truth.parquet", "mrr")
    assert found.values() == wanted.values()
    entry = found.ledger.entries["predictions_files_left_out"]
    assert (entry.count, entry.of, entry.example) == (1, 5, "part-3.parquet")
    assert entry.weight == "warning"
    assert found.ledger.notes["predictions without"] == "part-3.parquet"


def test_missing_files_are_left_out_too(limit: int | None) -> None:
    files = [*readable(), "parts/part-9.parquet"]
    with pytest.raises(UnreadableFile, match=r"part-9\.parquet does not exist"):
        rt.evaluate(files, "truth.parquet", "mrr", memory=limit)
    found = rt.evaluate(files, "truth.parquet", "mrr", memory=limit, unreadable="left_out")
    assert found.values() == rt.evaluate(readable(), "truth.parquet", "mrr").values()
    assert found.ledger["predictions_files_left_out"] == 1


def test_truth_in_many_files_can_lack_some(limit: int | None) -> None:
    Path("wanted").mkdir()
    truth = pl.read_parquet("truth.parquet")
    for number in range(2):
        truth.filter(pl.col("user") % 2 == number).write_parquet(f"wanted/part-{number}.parquet")
    Path("wanted/part-1.parquet").write_bytes(b"PAR1")
    found = rt.evaluate(readable(), "wanted", "mrr", memory=limit, unreadable="left_out")
    assert found.ledger["truth_rows"] == 500
    assert found.ledger.notes["truth without"] == "part-1.parquet"


def test_files_of_text_are_checked_too(limit: int | None) -> None:
    Path("some-2.csv").write_bytes(b"")
    found = rt.evaluate(
        "some-*.csv", "truth.parquet", "mrr", memory=limit, unreadable="left_out"
    )  # fmt: skip
    assert found.ledger.notes["predictions without"] == "some-2.csv"
    assert found.ledger["prediction_rows"] == 3200


def test_a_table_without_any_readable_file_is_an_error(limit: int | None) -> None:
    for path in Path("parts").iterdir():
        path.write_bytes(b"PAR1")
    with pytest.raises(UnreadableFile, match="none of the 5 files of predictions= can be read"):
        rt.evaluate("parts", "truth.parquet", "mrr", memory=limit, unreadable="left_out")


def test_a_single_file_is_not_left_out(limit: int | None) -> None:
    with pytest.raises(UnreadableFile, match="row group"):
        rt.evaluate(
            "parts/part-3.parquet", "truth.parquet", "mrr", memory=limit, unreadable="left_out"
        )


def test_the_policy_is_checked(limit: int | None) -> None:
    with pytest.raises(BadArgument, match="unreadable is 'ignored'"):
        rt.evaluate("parts", "truth.parquet", "mrr", unreadable="ignored")  # type: ignore[call-overload]
    with pytest.raises(BadArgument, match="unreadable='left_out' and engine='spark'"):
        rt.evaluate("parts", "truth.parquet", "mrr", unreadable="left_out", engine="spark")


def test_the_command_line_says_what_was_left_out(
    limit: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "evaluate parts --truth truth.parquet --metrics mrr --unreadable left_out"
    assert main(command.split()) == 0
    assert "1 of 5 files of predictions cannot be read" in capsys.readouterr().out

"""Bad input of the data layer: every mistake has a clear error, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.cli import main
from rectitude.errors import BadArgument, RectitudeError
from rectitude.splits.split import Split

GOOD = "user,item,rating,timestamp\n" + "".join(
    f"{user},{item},{1 + item % 5},{100 * user + item}\n" for user in (1, 2, 3) for item in range(4)
)
HEAD, *LINES = GOOD.splitlines()


def changed(line: int, text: str, head: str = HEAD) -> str:
    lines = [*LINES]
    lines[line - 1] = text
    return "\n".join([head, *lines]) + "\n"


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Runs `rectitude split` on a text and returns the error, if nothing was written."""

    def run(text: str | bytes, *words: str, name: str = "log.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        before = sorted(tmp_path.iterdir())
        code = main(["split", str(path), *words, "--output", str(tmp_path / "parts")])
        said = capsys.readouterr()
        assert code == 2
        assert said.out == ""
        assert sorted(tmp_path.iterdir()) == before
        return said.err

    return run


BAD = {
    "a missing column": (
        GOOD.replace("item,rating", "itme,rating"), (),
        ["has no item column", "did you mean 'itme'?"],
    ),
    "a timestamp that cannot be read": (
        changed(3, "1,2,3,yesterday"), (),
        ["1 of 12 timestamps cannot be", "row 3, 'yesterday'"],
    ),
    "a missing timestamp": (changed(5, "2,0,1,"), (), ["1 of 12 timestamps are missing", "row 5"]),
    "a missing user": (changed(2, ",1,2,101"), (), ["have no user", "row 2"]),
    "a missing item": (changed(12, "3,,4,303"), (), ["have no item", "row 12"]),
    "counts below zero": (
        changed(4, "1,3,-2,103", HEAD.replace("rating", "quantity")),
        ("--columns", "grade=quantity"),
        ["1 of 12 numbers in 'quantity' are negative", "row 4, -2"],
    ),
    "a ratio of 0": (GOOD, ("--how", "random_ratio", "--set", "ratio=0"), ["ratio"]),
    "a ratio of 1": (GOOD, ("--how", "random_ratio", "--set", "ratio=1"), ["ratio"]),
    "a ratio above 1": (GOOD, ("--how", "time_ratio", "--set", "ratio=1.5"), ["ratio", "1.5"]),
    "more to leave out than any user has": (
        GOOD, ("--how", "leave_last", "--set", "n=99"),
        ["n is 99", "the longest profile of log.csv has 4 rows"],
    ),
    "a moment before the data": (
        GOOD, ("--how", "at_time", "--set", "t=1"), ["t is 1", "go from 100 to 303"],
    ),
    "a moment after the data": (
        GOOD, ("--how", "at_time", "--set", "t=9999"), ["t is 9999", "go from 100 to 303"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_told_and_nothing_written(name: str, told) -> None:  # type: ignore[no-untyped-def]
    text, words, said = BAD[name]
    error = told(text, *words)
    assert [part for part in said if part not in error] == []


def test_a_filter_that_leaves_nothing_names_its_step(told, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        '[[steps]]\nstep = "deduplicate"\n\n[[steps]]\nstep = "k_core"\nusers = 50\nitems = 50\n'
    )
    error = told(GOOD, "--recipe", str(recipe))
    assert "k_core" in error
    assert "recipe.toml, line 5" in error


@pytest.mark.parametrize("keep", [8, 100, -10])
def test_parquet_that_is_cut_short_is_told(keep: int, told, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    frame = pl.DataFrame({"user": [1, 2] * 50, "item": range(100), "timestamp": range(100)})
    frame.write_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert "truncated or damaged" in told(whole[:keep], name="log.parquet")


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("role", ["user", "item"])
def test_ids_that_are_missing_in_a_frame_are_an_error(role: str, value: float | None) -> None:
    table = {"user": [1.0, 2.0], "item": [1.0, 2.0], role: [1.0, value]}
    with pytest.raises(RectitudeError, match=rf"1 of 2 rows have no {role} \(first: row 2\)"):
        rt.split(pl.DataFrame(table, strict=False), "random_ratio")


def test_more_candidates_than_the_catalogue_holds_are_an_error() -> None:
    split = rt.split(
        {"user": [1, 1, 2, 2], "item": [1, 2, 3, 4], "timestamp": [1, 2, 3, 4]}, "leave_last"
    )
    assert isinstance(split, Split)
    with pytest.raises(RectitudeError, match="99"):
        sample_negatives(split, 99)


def test_a_folder_of_parts_with_a_broken_part_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(GOOD)
    (tmp_path / "test.csv").write_text(changed(3, "1,2,3,yesterday"))
    with pytest.raises(RectitudeError, match="row 3, 'yesterday'"):
        rt.audit(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.csv", "train.csv"]


def test_splits_and_folds_that_contradict_each_other_are_an_error() -> None:
    with pytest.raises(BadArgument, match="folds"):
        rt.split(pl.DataFrame({"user": [1, 2], "item": [1, 2]}), "k_fold", folds=1)

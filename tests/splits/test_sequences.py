"""Sequences: the items before each row of a split, in memory and as RecBole reads them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli.app import main
from rectitude.errors import BadTable, UnwritableFile
from rectitude.splits.files import open_parts, write
from rectitude.splits.sequences import sequences_of

LOG = pl.DataFrame(
    {
        "user": ["a"] * 4 + ["b"] * 2 + ["c"],
        "item": ["w", "x", "y", "z", "x", "w", "x"],
        "timestamp": [4, 2, 2, 1, 7, 8, 9],  # a: z, x, y, w; x is before y in the file
    }
)


def histories(part: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    return {(user, item): items for user, item, items in part.select(
        "user", "item", "history").iter_rows()}  # fmt: skip


def split(**options: object) -> rt.Split:
    words = {"LS": "valid_and_test", "order": "TO", "model_type": "sequential", **options}
    found = rt.split(LOG, protocol="recbole", **words)
    assert isinstance(found, rt.Split)
    return found


def test_each_row_follows_the_earlier_items_of_its_user_in_any_part() -> None:
    parts = sequences_of(split())
    assert histories(parts["train"]) == {("a", "x"): ["z"], ("b", "w"): ["x"]}
    assert histories(parts["validation_truth"]) == {("a", "y"): ["z", "x"]}
    assert histories(parts["truth"]) == {("a", "w"): ["z", "x", "y"]}


def test_a_sequence_has_the_latest_items() -> None:
    parts = sequences_of(split(), longest=2)
    assert histories(parts["truth"]) == {("a", "w"): ["x", "y"]}


def test_rows_that_a_model_is_only_shown_are_no_targets() -> None:
    shown = rt.split(LOG, "next_after", t=3)
    parts = sequences_of(shown)
    assert [*parts] == ["train", "truth"]
    assert histories(parts["truth"]) == {("a", "w"): ["z", "x", "y"], ("b", "w"): ["x"]}


def test_sequences_need_times() -> None:
    untimed = rt.split(LOG.drop("timestamp"), "random_ratio", ratio=0.5)
    with pytest.raises(BadTable, match="a sequence needs one"):
        sequences_of(untimed)


def test_recbole_reads_sequences_beside_their_targets(tmp_path: Path) -> None:
    notes = write(split(), tmp_path / "shop", "recbole-sequences")
    assert notes == ("not kept: 3 rows before which their users have no other row",)
    header = "user_id:token\titem_id:token\ttimestamp:float\titem_id_list:token_seq\n"
    texts = {file.name: file.read_text() for file in (tmp_path / "shop").glob("*.inter")}
    assert texts == {
        "shop.train.inter": f"{header}a\tx\t2\tz\nb\tw\t8\tx\n",
        "shop.valid.inter": f"{header}a\ty\t2\tz x\n",
        "shop.test.inter": f"{header}a\tw\t4\tz x y\n",
    }


def test_what_was_written_as_sequences_is_read_as_a_split_again(tmp_path: Path) -> None:
    write(split(), tmp_path / "shop", "recbole-sequences")
    again = open_parts(tmp_path / "shop")
    assert isinstance(again, rt.Split)
    assert again.truth.frame.select("user", "item").rows() == [("a", "w")]


def test_items_with_spaces_cannot_be_in_a_sequence(tmp_path: Path) -> None:
    spaced = rt.split(LOG.with_columns(item=pl.col("item").replace("x", "x 1")), "leave_last")
    assert isinstance(spaced, rt.Split)
    with pytest.raises(UnwritableFile, match="'x 1'"):
        write(spaced, tmp_path / "shop", "recbole-sequences")
    assert not (tmp_path / "shop").exists()


def test_the_command_writes_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.write_csv(tmp_path / "log.csv")
    words = ["split", str(tmp_path / "log.csv"), "--protocol", "recbole", "--set", "LS=test_only",
             "order=TO", "model_type=sequential", "--format", "recbole-sequences",
             "--output", str(tmp_path / "shop")]  # fmt: skip
    assert main(words) == 0
    assert "not kept: 3 rows" in capsys.readouterr().out
    assert (tmp_path / "shop" / "shop.test.inter").is_file()

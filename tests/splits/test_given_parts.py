"""Splits of given parts: ids in common types, and what parts share is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadIds, NothingToEvaluate
from rectitude.splits.files import open_parts, write
from rectitude.splits.split import Split

TRAIN = pl.DataFrame({"user": [1, 1, 2, 3], "item": [10, 11, 10, 12]})
TRUTH = pl.DataFrame({"user": [1, 2, 3], "item": [12, 11, 12]})


def fixed(train: pl.DataFrame = TRAIN, **parts: Any) -> Split:
    found = rt.split(train, "fixed", **{"truth": TRUTH, **parts})
    assert isinstance(found, Split)
    return found


def told(split: Split) -> dict[str, str]:
    return {entry.name: str(entry) for entry in split.ledger.warnings()}


def test_pairs_of_truth_are_counted_in_train_and_in_fold_in() -> None:
    assert told(fixed(fold_in=TRUTH)) == {
        "pairs_in_train": "1 of 3 rows of truth repeat a user-item pair of train"
        " (first: user 3, item 12)",
        "pairs_in_fold_in": "3 of 3 rows of truth repeat a user-item pair of fold-in"
        " (first: user 1, item 12)",
    }
    apart = fixed(truth=TRUTH.head(2), fold_in=TRAIN.head(2))
    assert told(apart) == {}
    assert apart.ledger["pairs_in_fold_in"] == 0


def test_pairs_of_validation_are_counted_in_train_and_in_truth() -> None:
    validation = pl.concat([TRAIN.head(2), TRUTH.tail(1), TRUTH.head(1)])
    said = told(fixed(validation=validation))
    assert said["validation_pairs_in_train"] == (
        "3 of 4 rows of validation repeat a user-item pair of train (first: user 1, item 10)"
    )
    assert said["validation_pairs_in_truth"] == (
        "2 of 4 rows of validation repeat a user-item pair of truth (first: user 3, item 12)"
    )


def test_validation_is_compared_with_what_a_model_is_tuned_on(tmp_path: Path) -> None:
    log = pl.DataFrame(
        {"user": [1] * 4 + [2] * 4, "item": [*range(4)] * 2, "timestamp": [*range(8)]}
    )
    write(rt.split(log, "leave_last", validation={"how": "leave_last"}), tmp_path / "parts")
    split = open_parts(tmp_path / "parts")
    assert isinstance(split, Split)
    assert told(split).keys() == {"rows_of_unknown_items"}  # 3 comes last for both users
    assert split.ledger["validation_pairs_in_train"] == 0
    assert split.ledger["validation_train_rows"] == 4


TEXT = (pl.String, pl.Categorical, pl.Enum(["1", "2", "3", "10", "11", "12"]))


@pytest.mark.parametrize("train", TEXT, ids=str)
@pytest.mark.parametrize("truth", TEXT, ids=str)
def test_categories_are_the_text_they_stand_for(train: Any, truth: Any) -> None:
    texts = [frame.cast(pl.String) for frame in (TRAIN, TRUTH)]
    split = fixed(
        texts[0].cast(train), truth=texts[1].cast(truth), fold_in=texts[1], validation=texts[1]
    )
    assert split.ledger["pairs_in_train"] == 1
    kinds = {part.frame[side].dtype for _, part in split.parts() for side in ("user", "item")}
    assert len(kinds) == 1
    assert split.fingerprint == fixed(
        texts[0], truth=texts[1], fold_in=texts[1], validation=texts[1]
    ).fingerprint  # fmt: skip


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int32, pl.UInt8, pl.UInt64, pl.Int128])
@pytest.mark.parametrize("own", [pl.Int64, pl.Int16, pl.UInt32])
def test_integers_come_out_in_the_type_of_train(own: Any, kind: Any) -> None:
    other = TRUTH.cast(kind)
    split = fixed(TRAIN.cast(own), truth=other, fold_in=other, validation=other)
    assert split.ledger["pairs_in_train"] == 1
    assert {part.frame["user"].dtype for _, part in split.parts()} == {own()}


@pytest.mark.parametrize(
    ("own", "user", "kind", "expected"),
    [
        (pl.Int8, 300, pl.Int32, pl.Int64),
        (pl.Int8, 2**63, pl.UInt64, pl.Int128),
        (pl.UInt8, 2**63, pl.UInt64, pl.UInt64),
        (pl.UInt8, -1, pl.Int8, pl.Int64),
    ],
)
def test_ids_that_train_has_no_room_for_widen_all_parts(
    own: Any, user: int, kind: Any, expected: Any
) -> None:
    train = TRAIN.cast(own)
    if expected is pl.Int128:
        train = train.with_columns(user=-pl.col("user"))
    truth = pl.DataFrame({"user": [user], "item": [10]}, schema={"user": kind, "item": own})
    split = fixed(train, truth=truth)
    assert split.train.frame["user"].dtype == split.truth.frame["user"].dtype == expected
    assert split.truth.frame["user"].to_list() == [user]
    assert split.train.frame["item"].dtype == own


def test_floats_are_widened_and_never_rounded() -> None:
    train, truth = TRAIN.cast(pl.Float32), (TRUTH + 0.1).cast(pl.Float64)
    split = fixed(train, truth=truth)
    assert split.train.frame["user"].dtype == pl.Float64
    assert split.truth.frame["user"].to_list() == truth["user"].to_list()


@pytest.mark.parametrize("name", ["truth", "fold_in", "validation"])
def test_texts_are_no_numbers_in_any_part(name: str) -> None:
    with pytest.raises(BadIds, match=rf"user ids are integer .* but text in {name}.*first: '1'"):
        fixed(**{name: TRUTH.cast(pl.String)})
    with pytest.raises(BadIds, match="but float in"):
        fixed(**{name: TRUTH.cast(pl.Float64)})


def test_parts_without_rows_are_refused_or_of_the_type_of_train(tmp_path: Path) -> None:
    with pytest.raises(NothingToEvaluate, match="truth is empty"):
        fixed(truth=TRUTH.cast(pl.String).clear())
    split = fixed(fold_in=TRUTH.cast(pl.String).clear())
    assert split.fold_in is not None and split.fold_in.frame["user"].dtype == pl.Int64
    TRAIN.clear().write_csv(tmp_path / "train.csv")
    TRUTH.write_csv(tmp_path / "test.csv")
    with pytest.raises(NothingToEvaluate, match="train is empty"):
        open_parts(tmp_path)


def test_integers_of_a_text_file_are_text_where_another_part_has_text(tmp_path: Path) -> None:
    paths = {"train": "user,item\n1,B7\n1,9\n2,9\n", "truth": "user,item\n1,12\n2,12\n"}
    for name, content in paths.items():
        (tmp_path / f"{name}.csv").write_text(content)
    split = rt.split(tmp_path / "train.csv", "fixed", truth=tmp_path / "truth.csv")
    assert split.train.frame["item"].to_list() == ["B7", "9", "9"]
    assert split.truth.frame["item"].to_list() == ["12", "12"]
    assert split.truth.frame["user"].dtype == split.train.frame["user"].dtype == pl.Int64
    with pytest.raises(BadIds, match="are different ids"):
        rt.split(tmp_path / "train.csv", "fixed", truth=pl.DataFrame({"user": [1], "item": [12]}))

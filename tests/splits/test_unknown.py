"""Users and items that train does not know: counted always, and kept, dropped or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, NothingToEvaluate, UnknownIds
from rectitude.splits.files import open_parts
from rectitude.splits.unknown import slices, treat_unknown

#         row: 0    1    2    3    4    5    6    7    8    9
LOG = {
    "user": ["a", "a", "a", "a", "a", "b", "b", "b", "c", "d"],
    "item": [1, 2, 3, 4, 5, 1, 2, 6, 1, 7],
    "timestamp": [10, 20, 30, 40, 50, 15, 25, 60, 35, 70],
}
AT_50 = "1 of 3 truth rows have an unknown user: kept (first: user d, item 7)"
"""what a split at 50 says: the truth is (a, 5), (b, 6), (d, 7); 5, 6, 7 and d are unknown"""
DAISY: dict[str, Any] = {"protocol": "daisyrec", "method": "tsbr", "test_size": 0.3}


def log(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({**LOG, **columns})


def split_log(how: str | None = None, table: pl.DataFrame | None = None, **options: Any) -> Any:
    return rt.split(log() if table is None else table, how, **options)


def rows(part: Any) -> list[int]:
    return sorted(part.frame["row"].to_list())


def test_a_plain_split_counts_unknown_users_and_items_and_says_so() -> None:
    split = split_log("at_time", t=50)
    assert (split.ledger["rows_of_unknown_users"], split.ledger["rows_of_unknown_items"]) == (1, 3)
    assert f"- {AT_50}" in str(split).splitlines()


def test_the_plain_command_says_so_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log().write_csv(tmp_path / "log.csv")
    command = ["split", str(tmp_path / "log.csv"), "--how", "at_time", "--set", "t=50"]
    assert main([*command, "--output", str(tmp_path / "parts")]) == 0
    assert AT_50 in capsys.readouterr().out
    opened: Any = open_parts(tmp_path / "parts")
    assert opened.ledger["rows_of_unknown_items"] == 3


def test_every_split_of_a_series_counts_its_own() -> None:
    counted = [fold.ledger["rows_of_unknown_users"] for fold in split_log("k_fold", folds=10)]
    assert sum(counted) == 2  # c and d have one row each


def test_users_shown_as_fold_in_are_known() -> None:
    within = {"how": "leave_last"}
    split = split_log("strong_generalisation", ratio=0.5, within=within, seed=1)
    assert split.fold_in is not None
    assert split.ledger["rows_of_unknown_users"] == 0


def test_unknown_users_and_items_are_kept_dropped_or_refused() -> None:
    split = split_log("at_time", t=50)
    kept = treat_unknown(split)
    assert (kept.ledger["rows_of_unknown_users"], kept.ledger["rows_of_unknown_items"]) == (1, 3)
    assert rows(treat_unknown(split, users="drop").truth) == [4, 7]
    with pytest.raises(UnknownIds, match="3 of 3 truth rows have an unknown item"):
        split_log("at_time", t=50, unknown={"items": "error"})
    with pytest.raises(NothingToEvaluate, match="no truth row is left"):
        split_log("at_time", t=50, unknown={"items": "drop"})


def test_daisyrec_keeps_and_counts_what_its_numbering_makes_known() -> None:
    split = split_log(**DAISY)
    assert rows(split.truth) == [4, 7, 9]
    assert split.ledger["rows_of_unknown_users"] == 1


def test_under_daisyrec_too_a_policy_treats_what_train_does_not_know() -> None:
    assert rows(split_log(**DAISY, unknown={"users": "drop"}).truth) == [4, 7]
    with pytest.raises(UnknownIds, match="1 of 3 truth rows have an unknown user"):
        split_log(**DAISY, unknown={"users": "error"})


def test_a_policy_that_could_never_apply_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"known is 'all', so no id .* users='drop' has no effec"):
        split_log(**DAISY, unknown={"users": "drop", "known": "all"})
    assert split_log(**DAISY, unknown={"known": "all"}).ledger["rows_of_unknown_users"] == 0


def test_known_and_least_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["split", "--help"]) == 0
    assert {"known=train", "least=N"} <= set(capsys.readouterr().out.split())


def test_pairs_seen_in_train_can_be_dropped() -> None:
    table = log(item=[1, 2, 3, 4, 1, 1, 2, 6, 1, 7])  # a meets 1 again
    split = split_log("leave_last", table, unknown={"seen": "drop"})
    assert rows(split.truth) == [7]
    assert split.ledger["rows_of_seen_pairs"] == 1


def test_slices_say_what_a_model_can_know() -> None:
    split = split_log("at_time", log(item=[1, 2, 3, 4, 1, 1, 2, 6, 1, 7]), t=50)
    table = slices(split)
    assert table.rows() == [
        ("warm", 1, 1, 1, 1 / 3),
        ("unknown user", 0, 0, 0, 0.0),
        ("unknown item", 1, 1, 1, 1 / 3),
        ("both", 1, 1, 1, 1 / 3),
    ]


def test_unknown_users_of_the_validation_part_are_counted_too() -> None:
    rows = [("ann", "tea", 1), ("bob", "tea", 2), ("cem", "rye", 3), ("ann", "rye", 4)]
    log = pl.DataFrame(rows, ["user", "item", "timestamp"], orient="row")
    split = rt.split(log, "at_time", t=4, validation={"how": "at_time", "t": 3})
    assert "- 1 of 1 validation rows have an unknown user: kept (first: user cem" in str(split)

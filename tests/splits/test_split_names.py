"""Names of splits and parameters as users of other libraries type them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, BadTable, UnknownName
from rectitude.splits.run import SPLITTERS
from rectitude.splits.split import parameters
from rectitude.splits.synonyms import PARAMETERS, SPLITS

LOG = pl.DataFrame({"user": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 2], "timestamp": range(5)})


@pytest.mark.parametrize(
    ("how", "meant"),
    [
        ("loo", "'leave_last' or 'leave_random'"),
        ("leave_one_out", "'leave_last' or 'leave_random'"),
        ("Leave-One-Out", "'leave_last' or 'leave_random'"),
        ("temporal", "'at_time' or 'time_ratio'"),
        ("LeaveOneOut", "'leave_last' or 'leave_random'"),
        ("last", "'leave_last'"),
        ("RS", "'random_ratio'"),
        ("leave_lats", "'leave_last'.*"),
    ],
)
def test_a_split_is_suggested_by_what_it_means(how: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=rf"(?s)no split '{how}'.*did you mean {meant}\?"):
        rt.split(LOG, how)


@pytest.mark.parametrize(
    ("how", "parameter", "meant"),
    [
        ("random_ratio", "test_size", "'ratio'"),
        ("leave_last", "k", "'n'"),
        ("at_time", "timestamp", "'t'"),
        ("k_fold", "n_splits", "'folds'"),
        ("random_ratio", "random_state", "'seed'"),
    ],
)
def test_a_parameter_is_suggested_by_what_it_means(how: str, parameter: str, meant: str) -> None:
    options: dict[str, Any] = {parameter: 1}
    with pytest.raises(UnknownName, match=rf"(?s)'{parameter}'.*did you mean {meant}\?"):
        rt.split(LOG, how, **options)


def test_a_parameter_of_other_splits_names_those() -> None:
    with pytest.raises(
        UnknownName, match="'ratio' is a parameter of random_ratio, random_rows, last_ratio"
    ):
        rt.split(LOG, test_size=0.2)


def test_suggested_names_exist() -> None:
    known = {name for how in SPLITTERS for name in parameters(how)}
    assert {ours for names in SPLITS.values() for ours in names} <= SPLITTERS.keys()
    assert {ours for names in PARAMETERS.values() for ours in names} <= known
    assert not SPLITS.keys() & SPLITTERS.keys()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("--ratio 0.2", "--set ratio=0.2"),
        ("--test-size=0.2", "--set ratio=0.2"),
        ("--time 3", "--set t=3"),
        ("--random-state 3", "write --seed 3"),
        ("--val-size 0.1", "write --validate 0.1"),
        (
            "--how at_time",
            "--set t=... on the command line.\n  timestamps of log.csv go from 0 to 4",
        ),
    ],
)
def test_the_command_says_how_parameters_are_set(
    typed: str,
    answer: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    LOG.write_csv("log.csv")
    assert main(["split", "log.csv", *typed.split()]) == 2
    error = capsys.readouterr().err
    assert answer in error
    assert "did you mean" not in error


def test_a_split_in_time_without_a_time_says_what_it_is() -> None:
    with pytest.raises(BadArgument, match=r"(?s)in the unit of the timestamps: t=.*from 0 to 4"):
        rt.split(LOG, "at_time")


def test_the_command_suggests_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.write_csv(tmp_path / "log.csv")
    assert main(["split", str(tmp_path / "log.csv"), "--how", "loo"]) == 2
    assert "did you mean 'leave_last' or 'leave_random'?" in capsys.readouterr().err


def test_sequences_without_times_can_be_split_in_the_order_of_the_file() -> None:
    with pytest.raises(BadTable, match="rows are in the order of time: order='file', with leave_l"):
        rt.split(LOG.drop("timestamp"), "leave_last")
    split: Any = rt.split(LOG.drop("timestamp"), "leave_last", order="file")
    assert split.truth.frame["item"].to_list() == [3, 2]


def test_given_parts_without_a_truth_are_refused() -> None:
    with pytest.raises(BadArgument, match="truth of split 'fixed' is None"):
        rt.split(LOG, "fixed", truth=None)

"""Ids of text files: integers if all of them are plain integers, otherwise text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rectitude as rt
from rectitude.candidate_sets.sets import take_given as given_sets
from rectitude.data.formats import separated as text
from rectitude.data.log import open_log
from rectitude.errors import RectitudeError

ODD = ["07", "+7", "-0", "-07", " 7", '"7"', "00"]
FIELDS = st.sampled_from([*ODD, "0", "7", "-7", "-0.5", "0.5", "", "x", "7 ", "NaN", "2024-05-31"])


def is_odd(line: str, separator: str) -> bool:
    begins = re.compile(r'[+" \t]|-0(?!\.)|0\d')
    return any(begins.match(field) for field in line.split(separator))


def bytes_of(lines: str) -> np.ndarray:
    return np.frombuffer(lines.encode(), np.uint8)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_id_that_is_not_plain_keeps_the_whole_column_as_text(
    odd: str, position: int, tmp_path: Path
) -> None:
    users = ["7", "8", "9"]
    users[position] = odd
    path = tmp_path / "log.csv"
    path.write_text("item,user\n" + "".join(f"5,{user}\n" for user in users))
    log = open_log(path)
    assert log.frame["user"].to_list() == [user.strip('"') for user in users] or odd == '"7"'
    assert log.frame["item"].to_list() == [5, 5, 5]


def test_other_numbers_may_be_negative_fractions(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("user,item,score\n1,0,-0.5\n1,10,0.25\n")
    assert text.is_plain(bytes_of("1,0,-0.5\n1,10,0.25\n"), ",")
    assert text.parse(
        text.Text(path, None, ["user", "item", "score"], skip=1), {"list": "user", "item": "item"}
    ).dtypes == [pl.Int64, pl.Int64]


@given(
    rows=st.lists(st.lists(FIELDS, min_size=2, max_size=2), min_size=1, max_size=12),
    separator=st.sampled_from([",", ";", "|"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    block=st.integers(1, 9),
)
def test_odd_fields_are_found_for_any_bounds_of_blocks(
    rows: list[list[str]], separator: str, ending: str, last: bool, block: int
) -> None:
    lines = [separator.join(row) for row in rows]
    content = ending.join(lines) + (ending if last else "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        assert text.is_plain(bytes_of(content), separator) == (
            not any(is_odd(line, separator) for line in lines)
        )


def test_a_carriage_return_inside_a_line_and_a_byte_order_mark_are_odd() -> None:
    assert text.is_plain(bytes_of("7,5\r\n8,5\r\n"), ",")
    assert not text.is_plain(bytes_of("7\r,5\n8,5\n"), ",")
    assert not text.is_plain(bytes_of("\ufeff07,5\n8,5\n"), ",")


@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS, st.sampled_from(["1", "-0.5", "x"])), max_size=8),
    header=st.booleans(),
    mark=st.booleans(),
)
def test_a_log_is_the_same_as_if_all_ids_had_been_read_as_text(
    rows: list[tuple[str, ...]], header: bool, mark: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    lines = [*(["user,item,grade"] if header else []), *map(",".join, rows)]
    path.write_text(("\ufeff" if mark else "") + "\n".join(lines) + "\n")

    def read_log() -> tuple[object, ...]:
        try:
            log = open_log(path)
        except RectitudeError as error:
            return type(error), str(error)
        return log.frame.schema, log.frame.rows(), log.ledger

    quickly = read_log()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_find_integer_columns", lambda *_: {})
        assert quickly == read_log()


def test_plain_ids_of_one_file_and_ids_with_leading_zeros_of_another(tmp_path: Path) -> None:
    lists, truth = tmp_path / "lists.csv", tmp_path / "truth.csv"
    lists.write_text("user,item,rank\n1,7,1\n1,8,2\n")
    truth.write_text("user,item\n1,07\n1,8\n")
    assert rt.evaluate(lists, truth, ["precision@2"]).results["precision@2"].value == 0.5


def test_candidates_with_leading_zeros_do_not_fit_a_log_of_integers(tmp_path: Path) -> None:
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]})
    path = tmp_path / "candidates.csv"
    path.write_text("user,item\n1,07\n")
    with pytest.raises(RectitudeError, match="ids of the same type"):
        given_sets(rt.split(log, "leave_random", n=1, seed=1), path)

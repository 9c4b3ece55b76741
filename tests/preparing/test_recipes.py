"""Recipes: steps as data, checked before they run, with an account of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rectitude.data.log import Log, open_log
from rectitude.errors import (
    BadArgument,
    BadSetting,
    BadTable,
    NothingToEvaluate,
    UnknownName,
    UnreadableFile,
)
from rectitude.preparing import prepare, read_recipe

TABLE = {
    "user": ["a", "a", "a", "b", "b", "c"],
    "item": ["x", "y", "x", "x", "z", "y"],
    "rating": [5, 3, 1, 4, 4, 2],
    "timestamp": [10, 20, 30, 15, 15, 40],
}


def written(folder: Path, text: str) -> Path:
    file = folder / "recipe.toml"
    file.write_text(text)
    return file


def test_steps_run_in_order_and_each_says_what_it_left() -> None:
    log = prepare(TABLE, [{"step": "deduplicate"}, {"step": "threshold", "at": 2}])
    assert log.frame["row"].to_list() == [1, 3, 4, 5]
    ledger = log.ledger
    assert (ledger["step 1: rows"], ledger.entries["step 1: rows"].of) == (5, 6)
    assert (ledger["step 1: users"], ledger.entries["step 1: users"].of) == (3, 3)
    assert (ledger["step 2: items"], ledger.entries["step 2: items"].of) == (3, 3)
    assert ledger["step 2: removed"] == 1
    assert ledger.entries["step 2: removed"].example == "row 3, user 'a', item 'x'"
    assert ledger.notes["step 2"] == "threshold(at = 2)"


def test_a_second_recipe_goes_on_counting_and_leaves_the_first_log_alone() -> None:
    first = prepare(TABLE, [{"step": "deduplicate"}])
    second = prepare(first, [{"step": "threshold", "at": 2}])
    assert "step 2: rows" in second.ledger
    assert "step 2: rows" not in first.ledger
    assert prepare(first, []).frame.equals(first.frame)


@pytest.mark.parametrize(
    "text",
    [
        '[[steps]]\nstep = "deduplicate"\n\n[[steps]]\nstep = "n_filter"\nusers = 2\n',
        'steps = [\n  { step = "deduplicate" },\n  { step = "n_filter", users = 2 },\n]\n',
    ],
)
def test_a_recipe_file_means_the_same_as_dicts(tmp_path: Path, text: str) -> None:
    steps = [{"step": "deduplicate"}, {"step": "n_filter", "users": 2}]
    from_file = prepare(TABLE, written(tmp_path, text))
    assert from_file.frame.equals(prepare(TABLE, steps).frame)
    assert from_file.ledger == prepare(TABLE, steps).ledger


def test_one_step_needs_no_list() -> None:
    assert [step.name for step in read_recipe({"step": "deduplicate"})] == ["deduplicate"]
    assert [step.name for step in read_recipe({"steps": [{"step": "latest", "n": 1}]})] == [
        "latest"
    ]


WRONG = [
    ("k_cor", "users = 5", UnknownName, "line 5: .* no step 'k_cor'", "'k_core'"),
    ("k_core", "user = 5", UnknownName, "line 6: .* no parameter 'user'", "'users'"),
    ("k_core", 'users = "5"', BadArgument, "line 6: users of k_core is '5'", "a whole number"),
    ("k_core", "users = 5.5", BadArgument, "line 6: users of k_core is 5.5", "a whole number"),
    ("k_core", "users = true", BadArgument, "line 6: users of k_core is True", "a whole number"),
    ("k_core", 'users = 5\nrounds = "stable"', BadArgument, "line 7: rounds", "'until_stable'"),
    ("k_core", "users = -5", BadArgument, "line 5: k_core: users is -5", "none negative"),
    ("deduplicate", 'keep = "lst"', BadArgument, "line 6: keep", "did you mean 'last'"),
    ("threshold", "", BadSetting, "line 5: step threshold lacks 'at'", "'user_mean'"),
    ("latest", "n = 1979-05-27", BadArgument, "line 6: n of latest", "a whole number"),
]


@pytest.mark.parametrize(("step", "rest", "error", "found", "advice"), WRONG)
def test_mistakes_are_named_with_file_and_line(
    tmp_path: Path, step: str, rest: str, error: type[Exception], found: str, advice: str
) -> None:
    head = '# [[steps]]\n[[steps]]\nstep = "deduplicate"\n[[steps]]\n'
    file = written(tmp_path, f'{head}step = "{step}"\n{rest}\n')
    with pytest.raises(error, match=f"recipe.toml, {found}") as caught:
        prepare(TABLE, file)
    assert advice in str(caught.value)


def test_inline_steps_have_lines_too(tmp_path: Path) -> None:
    text = 'steps = [\n  { step = "latest", n = 2 },\n  { step = "latest", m = 2 },\n]\n'
    with pytest.raises(UnknownName, match=r"line 3: step latest has no parameter 'm'"):
        prepare(TABLE, written(tmp_path, text))


def test_a_recipe_file_holds_steps_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"line 2 has no key 'stps'"):
        read_recipe(written(tmp_path, 'about = "mine"\n[[stps]]\nstep = "latest"\n'))
    with pytest.raises(BadSetting, match="has no steps"):
        read_recipe(written(tmp_path, 'about = "mine"\n'))
    with pytest.raises(BadSetting, match=r"line 1: .* does not name a step"):
        read_recipe(written(tmp_path, "[[steps]]\nn = 2\n"))
    with pytest.raises(UnreadableFile, match="line 1, column 9"):
        read_recipe(written(tmp_path, "steps = latest\n"))
    with pytest.raises(UnreadableFile, match="No such file"):
        read_recipe(tmp_path / "none.toml")


def test_mistakes_in_python_name_the_step() -> None:
    with pytest.raises(UnknownName, match="step 2: step latest has no parameter 'm'"):
        prepare(TABLE, [{"step": "deduplicate"}, {"step": "latest", "m": 2}])
    with pytest.raises(BadSetting, match="step 1: 'latest' does not name a step"):
        prepare(TABLE, ["latest"])
    with pytest.raises(BadSetting, match="recipe is of type int"):
        prepare(TABLE, 5)


def test_numbers_of_numpy_and_none_are_values_too() -> None:
    steps = [{"step": "items_per_user", "at_least": np.int64(2), "at_most": None}]
    assert prepare(TABLE, steps).size == (5, 2, 3)
    assert prepare(TABLE, [{"step": "threshold", "at": np.float32(4)}]).frame.height == 3


def test_all_steps_are_checked_before_the_first_runs() -> None:
    with pytest.raises(UnknownName, match="no step 'nothing'"):
        prepare(TABLE, [{"step": "threshold", "at": 9}, {"step": "nothing"}])


def test_the_step_that_left_nothing_is_named() -> None:
    with pytest.raises(NothingToEvaluate, match=r"step 2: threshold\(at = 9\) removed all 5 rows"):
        prepare(TABLE, [{"step": "deduplicate"}, {"step": "threshold", "at": 9}])


def test_an_empty_table_is_not_blamed_on_a_step() -> None:
    empty = Log(open_log(TABLE).frame.clear(), "nothing.csv")
    with pytest.raises(NothingToEvaluate, match=r"nothing\.csv has no rows"):
        prepare(empty, [{"step": "deduplicate"}])


def test_a_step_that_fails_says_where_it_stands() -> None:
    with pytest.raises(BadTable, match=r"step 1: deduplicate: .* repeat a pair"):
        prepare(TABLE, [{"step": "deduplicate", "keep": "error"}])

"""The result: JSON and back, frames, definitions, tables, intervals, failures."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rectitude as rt
from rectitude.aggregate.definition import definition, fingerprint
from rectitude.convention import SWITCHES
from rectitude.errors import (
    MissingExtra,
    MissingNeed,
    UnknownName,
    UnreadableFile,
    UnwritableFile,
)
from rectitude.metrics.names import parse
from rectitude.profiles import profile_of

LISTS = {"u": {"a": 3.0, "x": 2.0, "b": 2.0}, "v": {"x": 2.0, "a": 1.0}, "w": {"y": 1.0}}
TRUTH = {"u": {"a": 2, "b": 1}, "v": {"a": 1}, "w": {"a": 1}, "z": {"a": 1, "c": 1}}
METRICS = [
    "ndcg@{1,2}",
    "recall@{1,2}",
    "mrr",
    "f1_of_means@2",
    "rbp[persistence=0.5]",
    "err[max_grade=2]@1",
]


@pytest.fixture
def evaluation() -> rt.Evaluation:
    return rt.evaluate(LISTS, TRUTH, METRICS, intervals=True)


def test_an_evaluation_survives_saving(evaluation: rt.Evaluation, tmp_path: Path) -> None:
    evaluation.save(tmp_path / "e.json")
    again = rt.Evaluation.load(tmp_path / "e.json")
    assert {n: v.hex() for n, v in again.values().items()} == {
        n: v.hex() for n, v in evaluation.values().items()
    }
    for name, result in evaluation.results.items():
        other = again.result(name)
        for field in ("state", "ties", "interval", "definition", "fingerprint", "convention",
                      "numbers", "metric", "name"):  # fmt: skip
            assert getattr(other, field) == getattr(result, field), field
    assert again.ledger.as_dict() == evaluation.ledger.as_dict()
    assert again.manifest == json.loads(json.dumps(evaluation.manifest))
    assert again.to_json() == evaluation.to_json()
    assert str(again) == str(evaluation)
    assert again.table().equals(evaluation.table())


def test_a_loaded_evaluation_without_values_per_list_says_so(
    evaluation: rt.Evaluation, tmp_path: Path
) -> None:
    evaluation.save(tmp_path / "e.json")
    for frame in (
        rt.Evaluation.load(tmp_path / "e.json").per_list,
        rt.Evaluation.load(tmp_path / "e.json").per_user,
    ):
        with pytest.raises(MissingNeed, match="without values per list"):
            frame()


@pytest.mark.parametrize("content", [
    "", "{", "[1]", "null", "3", "{}", '{"format": "rectitude.evaluation"}',
    '{"format": "rectitude.evaluation", "version": 1}',
    '{"format": "rectitude.evaluation", "version": "x"}',
    '{"format": "something else", "version": 1}',
])  # fmt: skip
def test_a_file_that_is_not_an_evaluation_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(content)
    with pytest.raises(UnreadableFile, match=r"e\.json"):
        rt.Evaluation.load(tmp_path / "e.json")


def test_a_file_of_a_newer_version_is_refused(evaluation: rt.Evaluation, tmp_path: Path) -> None:
    stored = json.loads(evaluation.to_json())
    stored["version"] += 1
    (tmp_path / "e.json").write_text(json.dumps(stored))
    with pytest.raises(UnreadableFile, match="newer version of rectitude"):
        rt.Evaluation.load(tmp_path / "e.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"nowhere\.json"):
        rt.Evaluation.load(tmp_path / "nowhere.json")


def test_a_file_is_written_completely_or_not_at_all(
    evaluation: rt.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation.save(tmp_path / "e.json")
    before = (tmp_path / "e.json").read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        rt.evaluate(LISTS, TRUTH, "hit").save(tmp_path / "e.json")
    assert (tmp_path / "e.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["e.json"]


def test_a_requested_nan_survives_saving(tmp_path: Path) -> None:
    truth = {"u": {"a": 1}, "v": {"a": 0}}
    convention = {"truth_needed": "judged", "undefined": "nan"}
    evaluation = rt.evaluate(
        {"u": {"a": 1.0, "x": 1.0}, "v": {"a": 1.0}}, truth, "recall@1", convention
    )
    assert evaluation.result("recall@1").ties is None or not any(
        map(math.isnan, evaluation.result("recall@1").ties)
    )
    evaluation.save(tmp_path / "e.json")
    assert math.isnan(rt.Evaluation.load(tmp_path / "e.json")["recall@1"])


def test_arrays_contain_the_values_by_cutoff_in_the_requested_order() -> None:
    evaluation = rt.evaluate(
        LISTS, TRUTH, ["recall@{2,1}", "mrr", "recall[recall_over=reachable]@1"]
    )
    arrays = evaluation.arrays()
    assert list(arrays) == ["recall", "mrr", "recall[recall_over=reachable]"]
    assert arrays["recall"].tolist() == [evaluation["recall@2"], evaluation["recall@1"]]
    assert arrays["mrr"].tolist() == [evaluation["mrr"]]
    assert all(array.dtype == np.float64 for array in arrays.values())


def test_frames_contain_the_values_behind_the_number(evaluation: rt.Evaluation) -> None:
    frame = evaluation.per_list()
    assert frame.columns == ["user", "ndcg@1", "ndcg@2", "recall@1", "recall@2", "mrr",
                             "rbp[persistence=0.5]", "err[max_grade=2]@1"]  # fmt: skip
    # recall@2, ties against b: u 1/2, v 1, w 0, z 0 (no list)
    assert frame.select("user", "recall@2").rows() == [
        ("u", 1 / 2),
        ("v", 1.0),
        ("w", 0.0),
        ("z", 0.0),
    ]
    assert frame["recall@2"].mean() == evaluation["recall@2"] == (1 / 2 + 1 + 0 + 0) / 4
    assert evaluation.per_user().equals(frame)


def test_lists_that_do_not_count_are_null_in_the_frame() -> None:
    frame = rt.evaluate(LISTS, TRUTH, "hit", {"list_needed": "items"}).per_list()
    assert frame.rows() == [("u", 1.0), ("v", 1.0), ("w", 0.0), ("z", None)]


def test_the_table_has_a_row_for_each_number(evaluation: rt.Evaluation) -> None:
    table = evaluation.table()
    assert table["metric"].to_list() == list(evaluation)
    assert table["value"].to_list() == list(evaluation.values().values())
    assert table.columns == ["metric", "value", "lists", "low", "high", "ties_worst", "ties_best"]
    assert rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "mrr").table().rows() == [("mrr", 1.0, 1)]


def test_csv_gives_every_digit(evaluation: rt.Evaluation) -> None:
    rows = list(csv.DictReader(io.StringIO(evaluation.to_csv())))
    assert {row["metric"]: float(row["value"]) for row in rows} == evaluation.values()


def test_markdown_and_latex_are_tables() -> None:
    evaluation = rt.evaluate({"u": ["x", "a"]}, {"u": ["a"]}, ["mrr", "f1_of_means@2"])
    assert evaluation.to_markdown() == (
        "| metric        |  value | lists |\n"
        "| ------------- | -----: | ----: |\n"
        "| mrr           | 0.5000 |     1 |\n"
        "| f1_of_means@2 | 0.6667 |       |\n"
    )
    latex = evaluation.to_latex()
    assert latex.startswith("\\begin{tabular}{lrr}\n\\toprule\nmetric & value & lists \\\\\n")
    assert "f1\\_of\\_means@2 & 0.6667 &" in latex
    assert latex.rstrip().endswith("\\bottomrule\n\\end{tabular}")


def test_printing_shows_the_convention_the_table_and_the_ledger(
    evaluation: rt.Evaluation,
) -> None:
    text = str(evaluation)
    assert "convention: default" in text and "| ndcg@1" in text
    missing = evaluation.ledger.entries["users_without_list"]
    assert (missing.count, missing.of, missing.weight) == (1, 4, "warning")
    assert f"! {missing}" in text and "'z'" in str(missing)


@pytest.mark.parametrize("name", sorted(rt.METRICS))
def test_a_definition_names_the_current_choices(name: str) -> None:
    choices = {
        switch.name: list(switch.choices)[-1] for switch in SWITCHES.values() if switch.choices
    } | {"order": "score", "ties": "item_descending", "undefined": "zero", "unknown_users": "keep",
         "unknown_items": "keep", "list_needed": "none", "average": "macro",
         "unit": "list"}  # fmt: skip
    metric = rt.METRICS[name]
    at = "@3" if metric.cutoff == "optional" else ""
    chosen = profile_of(choices).resolve(parse(name + at)[0])
    words = definition(chosen)
    assert words.startswith(f"{name}{at}: {metric.title}")
    assert "{" not in words, "a place in the formula was not filled"
    added_up = metric.kind == "counts" or metric.overall == "sum"
    of_means = () if added_up else ("undefined", "unit", "average")
    for switch in (*metric.switches, "ties", "truth_needed", "list_needed", *of_means):
        choice = {**choices, **metric.fixed}[switch]
        assert f"{switch}: {choice}" in words
        assert SWITCHES[switch].choices[choice] in words
    others = [profile_of(None).resolve(asked) for asked in {*parse(name + at), *parse(name)}]
    assert len({fingerprint(asked) for asked in [chosen, *others]}) == 1 + len(others)
    assert not [asked for asked in others if "None" in definition(asked)]


def test_a_result_has_its_definition_and_fingerprint(evaluation: rt.Evaluation) -> None:
    asked = profile_of(None).resolve(parse("recall@2")[0])
    assert evaluation.definition("recall@2") == definition(asked)
    assert evaluation.result("recall@2").fingerprint == fingerprint(asked)


def test_a_definition_names_the_current_numbers() -> None:
    evaluation = rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "rbp[persistence=0.35]")
    assert "p = 0.35" in evaluation.definition("rbp[persistence=0.35]")


def test_a_number_that_was_not_requested_is_an_error_with_the_nearest_name(
    evaluation: rt.Evaluation,
) -> None:
    with pytest.raises(UnknownName, match=r"ndcg@1"):
        evaluation["ndcg@3"]
    assert "ndcg@1" in evaluation and "ndcg@3" not in evaluation and "???" not in evaluation
    assert len(evaluation) == 8


hits = st.lists(st.integers(1, 6), min_size=2, max_size=12)


@given(hits, st.sampled_from(("mrr", "ndcg", "recall@2", "hit@1", "map", "precision@2")))
def test_intervals_are_by_students_t(ranks: list[int], metric: str) -> None:
    lists = {user: [f"x{n}" for n in range(1, rank)] + ["a"] for user, rank in enumerate(ranks)}
    truth = {user: ["a"] for user in lists}
    evaluation = rt.evaluate(lists, truth, metric, intervals=True)
    values = evaluation.per_list()[metric].to_numpy()
    low, high = evaluation.result(metric).interval
    spread = values.std(ddof=1) / math.sqrt(len(values))
    if spread < 1e-7:
        expected = (values[0], values[0])
        assert (low, high) == pytest.approx(expected, abs=1e-6)
    else:
        expected = stats.t.interval(0.95, len(values) - 1, values.mean(), spread)
        expected = tuple(np.clip(expected, 0, 1))
        assert (low, high) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert 0 <= low <= evaluation[metric] <= high <= 1


def test_intervals_of_users_are_over_users() -> None:
    rows = {"user": [1, 1, 2, 3], "session": [1, 2, 3, 4], "item": ["a", "x", "a", "x"]}
    truth = {"user": [1, 2, 3], "item": ["a", "a", "a"]}
    evaluation = rt.evaluate(
        rows, truth, "hit", {"unit": "user"}, list_key="session", intervals=True
    )
    values = np.array([1 / 2, 1, 0])
    expected = stats.t.interval(0.95, 2, values.mean(), values.std(ddof=1) / math.sqrt(3))
    assert evaluation.result("hit").interval == pytest.approx(np.clip(expected, 0, 1), rel=1e-12)


def test_one_list_has_no_interval() -> None:
    evaluation = rt.evaluate({"u": ["x", "a"]}, {"u": ["a"]}, "mrr", intervals=True)
    assert evaluation.result("mrr").interval is None
    assert json.loads(evaluation.to_json())["results"]["mrr"]["interval"] is None


def test_frames_keep_the_type_of_ids() -> None:
    frame = pl.DataFrame(
        {"user": [7, 8], "item": [1, 2]}, schema={"user": pl.Int32, "item": pl.Int64}
    )
    evaluation = rt.evaluate(frame, frame, "hit")
    assert evaluation.per_list()["user"].to_list() == [7, 8]
    assert evaluation.per_list()["user"].dtype.is_integer()


def test_an_evaluation_shows_its_numbers_at_a_prompt() -> None:
    evaluation = rt.evaluate({1: ["a"]}, {1: ["a"]}, "mrr")
    assert repr(evaluation) == str(evaluation)


def test_an_evaluation_becomes_a_dict(evaluation: rt.Evaluation) -> None:
    assert dict(evaluation) == {**evaluation} == evaluation.values()
    assert [*evaluation.keys()] == [*evaluation]
    assert [*evaluation.items()] == [(name, evaluation[name]) for name in evaluation]


def test_evaluations_are_compared_by_value(evaluation: rt.Evaluation, tmp_path: Path) -> None:
    same = rt.evaluate(LISTS, TRUTH, METRICS, intervals=True)
    evaluation.save(tmp_path / "e.json")
    for other in (same, rt.Evaluation.load(tmp_path / "e.json")):
        assert evaluation == other
        assert hash(evaluation) == hash(other)
        assert evaluation in [None, other]
        assert evaluation.result("mrr") == other.result("mrr")
    other = rt.evaluate({"u": ["x", "a"]}, TRUTH, METRICS, intervals=True)
    assert evaluation != other
    assert evaluation.result("mrr") != other.result("mrr")
    assert evaluation != "an evaluation"
    assert evaluation.result("mrr") != 0.5


@pytest.mark.parametrize("table", ["numbers", "per_list", "per_user"])
def test_tables_of_an_evaluation_become_frames(evaluation: rt.Evaluation, table: Any) -> None:
    frame = evaluation.to_polars(table)
    pandas = evaluation.to_pandas(table)
    assert [*pandas.columns] == frame.columns
    assert len(pandas) == frame.height
    assert pandas.iloc[:, 0].to_list() == frame.to_series(0).to_list()
    values = frame.to_series(1).to_numpy()
    assert np.array_equal(pandas.iloc[:, 1].to_numpy(), values, equal_nan=True)


def test_a_table_that_does_not_exist_is_named(evaluation: rt.Evaluation) -> None:
    with pytest.raises(UnknownName, match=r"no table 'per_lists'[^?]*did you mean 'per_list'"):
        evaluation.to_pandas("per_lists")  # type: ignore[arg-type]


def test_a_missing_pandas_is_named(
    evaluation: rt.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pandas is not installed[^.]*\.[\s\S]*to_polars"):
        evaluation.to_pandas()


def test_pandas_frames_do_not_need_pyarrow(
    evaluation: rt.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert evaluation.to_pandas()["metric"][0] == "ndcg@1"


@pytest.mark.parametrize(
    ("name", "found"), [("e.parquet", "ends in '.parquet'"), ("e.csv", "ends in '.csv'"),
                        ("e", "has no ending")],
)  # fmt: skip
def test_a_name_that_promises_another_format_is_refused(
    name: str, found: str, evaluation: rt.Evaluation, tmp_path: Path
) -> None:
    with pytest.raises(UnwritableFile, match=found) as error:
        evaluation.save(tmp_path / name)
    assert "a name that ends in .json or .zip" in str(error.value)
    assert "to_polars('per_list')" in str(error.value)
    assert not any(tmp_path.iterdir())

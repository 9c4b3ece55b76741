"""`rt.load`: whatever was saved comes back, recognised by what the file holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from rectitude.errors import UnreadableFile, UnwritableFile

TRUTH = {user: ["b"] for user in range(5)}
LISTS = {user: ["a", "b"] if user % 2 else ["b"] for user in range(5)}


def evaluation() -> rt.Evaluation:
    return rt.evaluate(LISTS, TRUTH, ["mrr", "ndcg@2"])


@pytest.mark.parametrize("name", ["e.json", "e.zip"])
def test_an_evaluation_is_loaded(name: str, tmp_path: Path) -> None:
    evaluation().save(tmp_path / name)
    assert rt.load(tmp_path / name) == evaluation()


def test_a_comparison_is_loaded(tmp_path: Path) -> None:
    models = {"a": LISTS, "b": {user: ["x", "b"] for user in range(5)}}
    before = rt.compare(models, TRUTH, ["mrr", "ndcg@2"], baseline="a", margin=0.1)
    before.save(tmp_path / "c.json")
    after = rt.load(tmp_path / "c.json")
    assert after == before
    assert str(after) == str(before)


def test_a_comparison_with_slices_and_runs_is_loaded(tmp_path: Path) -> None:
    other = {user: ["x", "b"] for user in range(5)}
    runs = {"a": [LISTS, LISTS], "b": [other, LISTS]}
    users = {"user": [*range(5)], "town": [*"xxyyy"]}
    before = rt.compare(runs, TRUTH, "mrr", by="town", users=users)
    before.save(tmp_path / "c.json")
    after = rt.Comparison.load(tmp_path / "c.json")
    assert after.to_json() == before.to_json()
    assert after.slices.keys() == before.slices.keys()
    assert str(after) == str(before)


def test_a_history_and_candidates_are_loaded(tmp_path: Path) -> None:
    history = rt.History()
    history.add(1, evaluation())
    history.save(tmp_path / "h.json")
    assert str(rt.load(tmp_path / "h.json")) == str(history)
    log = {"user": [1, 1, 2, 2], "item": [*"abab"], "timestamp": [1, 2, 3, 4]}
    candidates = rt.candidates(rt.split(log, "leave_last"), "full")
    candidates.save(tmp_path / "c.parquet")
    assert str(rt.load(tmp_path / "c.parquet")) == str(candidates)


@pytest.mark.parametrize(
    ("content", "found"),
    [("user,item\n1,2\n", "is not JSON"), ("{}", "contains 'a JSON dict'"),
     ('{"format": "rectitude.trace"}', "contains 'rectitude.trace'")],
)  # fmt: skip
def test_another_file_is_refused(content: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(UnreadableFile, match=found) as error:
        rt.load(tmp_path / "x.json")
    assert "Evaluation, Comparison, Explanation, History or Candidates" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"nothing\.json cannot be read: No such file"):
        rt.load(tmp_path / "nothing.json")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="the folder of a finished run"):
        rt.load(tmp_path)


def test_evaluations_under_several_conventions_are_loaded(tmp_path: Path) -> None:
    before = rt.evaluate(LISTS, TRUTH, ["mrr", "ndcg@2"], convention=["default", "rectools"])
    before.save(tmp_path / "several.json")
    after = rt.load(tmp_path / "several.json")
    assert isinstance(after, dict)
    assert {name: one.values() for name, one in after.items()} == {
        name: one.values() for name, one in before.items()
    }
    with pytest.raises(UnwritableFile, match="save each evaluation as a zip"):
        before.save(tmp_path / "several.zip")


def test_an_explanation_is_loaded(tmp_path: Path) -> None:
    before = rt.explain(LISTS, {**TRUTH, 9: ["a"]}, "ndcg@2", "default", "rectools")
    before.save(tmp_path / "x.json")
    after = rt.load(tmp_path / "x.json")
    assert after == before
    assert str(after) == str(before)
    (tmp_path / "x.json").write_text('{"format": "rectitude.explanation", "version": 1}')
    with pytest.raises(UnreadableFile, match="metric is missing"):
        rt.load(tmp_path / "x.json")

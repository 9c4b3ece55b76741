"""No foreign file is removed, no forbidden code runs, and no model is trained on the test set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from experiments import SMALL, Steady, contents, write
from test_shapes import with_split

import rectitude as rt
from rectitude.errors import BadExtension, BadName, BadSetting, UnwritableFile
from rectitude.experiment.run import plan
from rectitude.metrics import METRICS

WINDOWS = """how = "windows"
span = "40D"
folds = 3
validation = { how = "time_ratio", ratio = 0.3 }
"""
UPDATED = """
[models.mine]
python = "test_care:Growing"
learning = "update"

[models.mine.tune]
trials = 3
space = { first = [0, 5, 9] }
"""


class Growing(Steady):
    """A model with update() that records its parameters and the rows it was trained on."""

    learnt: ClassVar[list[tuple[int, set[int]]]] = []

    def fit(self, train: Any) -> Steady:
        self.rows_seen = set(train.frame["row"])
        self.learnt.append((self.first, set(self.rows_seen)))
        return super().fit(train)

    def update(self, train: Any) -> Growing:
        self.rows_seen |= set(train.frame["row"])
        self.learnt.append((self.first, set(self.rows_seen)))
        return self


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "a\n"])
def test_a_model_passed_in_python_needs_a_valid_file_name(name: str, small: Path) -> None:
    with pytest.raises(BadSetting, match="the name of a model is"):
        rt.run(small, models={name: Steady()})
    assert not (small.parent / "runs").exists()


def test_a_model_passed_in_python_needs_a_unique_name(tmp_path: Path) -> None:
    config = {"data": {"shop": {}}, "models": {"popularity": {}}}
    with pytest.raises(BadSetting, match="would share a file"):
        rt.run(config, models={"popularity": Steady()}, folder=tmp_path / "run")


@pytest.mark.parametrize("name", ["predictions", "values", "stages"])
def test_a_folder_with_other_content_is_left_unchanged(name: str, small: Path) -> None:
    own = small.parent / name / "mine"
    own.mkdir(parents=True)
    (own / "lists.csv").write_text("user,item\n")
    before = contents(small.parent)
    with pytest.raises(UnwritableFile, match=f"contains {name}, but is not the folder of a run"):
        rt.run(small, folder=small.parent)
    assert contents(small.parent) == before


def test_only_the_folders_of_a_run_are_tidied(small: Path) -> None:
    near = small.parent / "downloads" / ".part-of-a-film"
    near.parent.mkdir()
    near.write_bytes(b"half")
    assert rt.run(small, folder=small.parent).exit_code == 0
    assert rt.run(small, folder=small.parent).exit_code == 0
    assert near.read_bytes() == b"half"


def test_no_code_runs_if_the_environment_turns_plugins_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model_that_writes.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    )
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "model_that_writes:Model"\n')
    monkeypatch.setenv("RECTITUDE_PLUGINS", "off")
    for asked in (rt.run, plan):
        with pytest.raises(BadExtension, match="is custom code, which"):
            asked(path)
    assert not (tmp_path / "ran").exists()


def test_without_plugins_metrics_of_other_packages_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METRICS, "_plugins_loaded", False)
    path = write(tmp_path, SMALL.replace('"ndcg@10"', '"no_such_metric@10"'))
    for asked in (rt.run, plan):
        with pytest.raises(LookupError, match="no_such_metric"):
            asked(path, plugins="off")
    assert METRICS._plugins_loaded is False


@pytest.mark.usefixtures("plugins")
def test_an_updated_model_is_tuned_only_on_the_validation_part(tmp_path: Path) -> None:
    import test_care  # as the experiment imports it

    learnt = test_care.Growing.learnt
    learnt.clear()
    run = rt.run(write(tmp_path, with_split(WINDOWS) + UPDATED))
    assert run.exit_code == 0, run.failures
    manifest = json.loads((run.folder / "manifest.json").read_text())
    key = next(one["key"] for one in manifest["stages"] if one["stage"] == "split")
    parts = {
        path.stem: set(pl.read_parquet(path)["row"])
        for path in (run.folder / "stages" / key).glob("*.parquet")
    }
    trials = [rows for _, rows in learnt if rows not in (parts[f"{n}-train"] for n in range(3))]
    inner = [parts[f"{number}-validation_train"] for number in range(3)]
    assert {frozenset(rows) for rows in trials} == {frozenset(rows) for rows in inner}
    chosen = [one["parameters"]["first"] for one in run.results["models"]["mine"]["runs"]]
    last = {frozenset(rows): first for first, rows in learnt}
    assert [last[frozenset(parts[f"{number}-train"])] for number in range(3)] == chosen


def test_invalid_slices_are_reported_with_their_line(tmp_path: Path) -> None:
    path = write(
        tmp_path, SMALL.replace("[explain]", 'slices = ["known", "activity:0"]\n\n[explain]')
    )
    with pytest.raises(BadName, match=r"line \d+: .*activity:0"):
        rt.run(path)
    assert not (tmp_path / "runs").exists()


def test_impossible_slices_are_reported_and_cost_no_other_result(tmp_path: Path) -> None:
    text = SMALL.replace("[explain]", 'slices = ["known", "grade"]\n\n[explain]')
    run = rt.run(write(tmp_path, text))  # purchases have no grades
    assert run.exit_code == 0, run.failures
    plain = rt.run(write(tmp_path, SMALL), folder=tmp_path / "plain")
    assert run.results["headline"] == plain.results["headline"]
    told = run.results["models"]["popularity"]["runs"][0]["evaluation"]
    assert {one["by"] for one in told["slices"]["numbers"]} == {"all", "known"}
    left_out = told["ledger"]["counts"]["slices_left_out"]
    assert left_out["count"] == 1
    assert "grade" in left_out["example"]
    assert "! slices left out: grade: this evaluation has no attribute 'grade'." in str(run)

"""Nothing of somebody else's is removed or run, and nothing is learnt from what is to be found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from experiments import SMALL, Steady, contents, write
from test_shapes import with_split

import rectitude as rt
from rectitude.errors import BadName, UnwritableFile
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
    """A model that is updated, and remembers with which parameters and from which rows."""

    learnt: ClassVar[list[tuple[int, set[int]]]] = []

    def fit(self, train: Any) -> Steady:
        self.rows_met = set(train.frame["row"])
        self.learnt.append((self.first, set(self.rows_met)))
        return super().fit(train)

    def update(self, train: Any) -> Growing:
        self.rows_met |= set(train.frame["row"])
        self.learnt.append((self.first, set(self.rows_met)))
        return self


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "a\n"])
def test_a_model_that_is_handed_over_needs_a_name_that_a_file_can_have(
    name: str, small: Path
) -> None:
    with pytest.raises(BadName, match="a model is named"):
        rt.run(small, models={name: Steady()})
    assert not (small.parent / "runs").exists()


def test_a_model_that_is_handed_over_needs_a_name_of_its_own(tmp_path: Path) -> None:
    config = {"data": {"shop": {}}, "models": {"popularity": {}}}
    with pytest.raises(BadName, match="name one file"):
        rt.run(config, models={"popularity": Steady()}, folder=tmp_path / "run")


@pytest.mark.parametrize("name", ["predictions", "values", "stages"])
def test_a_folder_of_somebody_else_s_is_left_as_it_is(name: str, small: Path) -> None:
    own = small.parent / name / "mine"
    own.mkdir(parents=True)
    (own / "lists.csv").write_text("user,item\n")
    before = contents(small.parent)
    with pytest.raises(UnwritableFile, match=f"holds {name}, and no run has written there"):
        rt.run(small, folder=small.parent)
    assert contents(small.parent) == before


def test_only_a_run_s_own_folders_are_tidied(small: Path) -> None:
    near = small.parent / "downloads" / ".part-of-a-film"
    near.parent.mkdir()
    near.write_bytes(b"half")
    assert rt.run(small, folder=small.parent).exit_code == 0
    assert rt.run(small, folder=small.parent).exit_code == 0
    assert near.read_bytes() == b"half"


def test_where_the_environment_forbids_plugins_no_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model_that_writes.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    )
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "model_that_writes:Model"\n')
    monkeypatch.setenv("RECTITUDE_PLUGINS", "off")
    for asked in (rt.run, plan):
        with pytest.raises(BadName, match="would run code of its own"):
            asked(path)
    assert not (tmp_path / "ran").exists()


def test_without_plugins_metrics_of_other_packages_are_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METRICS, "_plugins_loaded", False)
    path = write(tmp_path, SMALL.replace('"ndcg@10"', '"no_such_metric@10"'))
    for asked in (rt.run, plan):
        with pytest.raises(LookupError, match="no_such_metric"):
            asked(path, plugins="off")
    assert METRICS._plugins_loaded is False


@pytest.mark.usefixtures("plugins")
def test_a_model_that_is_updated_is_tuned_on_the_validation_part_alone(tmp_path: Path) -> None:
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


def test_slices_that_cannot_be_read_are_told_with_their_line(tmp_path: Path) -> None:
    path = write(
        tmp_path, SMALL.replace("[explain]", 'slices = ["known", "activity:0"]\n\n[explain]')
    )
    with pytest.raises(BadName, match=r"line \d+: .*activity:0"):
        rt.run(path)
    assert not (tmp_path / "runs").exists()


def test_slices_that_cannot_be_made_cost_no_number_and_are_told(tmp_path: Path) -> None:
    text = SMALL.replace("[explain]", 'slices = ["known", "colour"]\n\n[explain]')
    run = rt.run(write(tmp_path, text))
    assert run.exit_code == 0, run.failures
    plain = rt.run(write(tmp_path, SMALL), folder=tmp_path / "plain")
    assert run.results["headline"] == plain.results["headline"]
    told = run.results["models"]["popularity"]["runs"][0]["evaluation"]
    assert {one["by"] for one in told["slices"]["numbers"]} == {"all", "known"}
    left_out = told["ledger"]["counts"]["slices_left_out"]
    assert left_out["count"] == 1
    assert "colour" in left_out["example"]

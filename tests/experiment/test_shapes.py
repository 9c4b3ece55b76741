"""Folds, seeds, windows, candidates, existing splits, lists from files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from experiments import SMALL, contents, write

import rectitude as rt
from rectitude.experiment.results import Run

SPLIT = """how = "time_ratio"
ratio = 0.2
validation = { how = "time_ratio", ratio = 0.2 }
"""


def with_split(text: str) -> str:
    assert SPLIT in SMALL
    return SMALL.replace(SPLIT, text)


def test_folds_are_evaluated_one_by_one_and_compared_together(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, with_split('how = "k_fold"\nfolds = 3\n')))
    assert run.exit_code == 0, run.failures
    folds = [one["name"] for one in run.results["splits"]]
    assert len(folds) == 3
    assert sorted(path.name for path in (run.folder / "values").iterdir()) == sorted(folds)
    told = run.results["headline"]["item-knn"]["ndcg@10"]
    values = [one["ndcg@10"] for one in run.evaluations["item-knn"]]
    assert told["value"] == pytest.approx(sum(values) / 3)
    assert told["deviation"] > 0
    assert run.results["comparison"]["runs"] == 3
    assert contents(rt.run(tmp_path / "experiment.toml", folder=tmp_path / "b").folder) == contents(
        run.folder
    )


def test_seeds_repeat_what_is_random_and_nothing_else(tmp_path: Path) -> None:
    text = "seed = [1, 2]\n" + SMALL + "\n[models.random]\n"
    run = rt.run(write(tmp_path, text))
    chance = [one["ndcg@10"] for one in run.evaluations["random"]]
    steady = [one["ndcg@10"] for one in run.evaluations["popularity"]]
    assert chance[0] != chance[1]
    assert steady[0] == steady[1]
    keys = {
        one["stage"]: one["key"]
        for one in json.loads((run.folder / "manifest.json").read_text())["stages"]
    }
    assert keys["models/popularity/seed-1"] == keys["models/popularity/seed-2"]
    assert keys["models/random/seed-1"] != keys["models/random/seed-2"]


def test_windows_are_a_series_of_splits(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, with_split('how = "windows"\nspan = "30D"\nfolds = 2\n')))
    assert run.exit_code == 0, run.failures
    assert [one["name"] for one in run.results["splits"]] == ["window-1", "window-2"]


def test_times_can_be_toml_dates(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, with_split('how = "at_time"\nt = 2022-08-01\n')))
    assert run.exit_code == 0, run.failures
    assert run.results["config"]["split"]["t"] == "2022-08-01"


def test_a_framework_protocol_uses_its_own_parameter_names(tmp_path: Path) -> None:
    text = 'protocol = "elliot"\nstrategy = "temporal_hold_out"\ntest_ratio = 0.2\n'
    run = rt.run(write(tmp_path, with_split(text)))
    assert run.exit_code == 0, run.failures
    assert run.results["splits"][0]["how"].startswith("last_ratio")


def test_windows_have_a_mean_of_windows_a_mean_of_lists_and_a_curve(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, with_split('how = "windows"\nspan = "40D"\nfolds = 3\n')))
    told = run.results["windows"]["popularity"]["recall@10"]
    every = run.evaluations["popularity"]
    lists = pl.concat([one.per_list()["recall@10"] for one in every])
    assert told["macro"] == pytest.approx(sum(one["recall@10"] for one in every) / 3)
    assert told["micro"] == pytest.approx(lists.mean())
    assert list(told["running"].values())[-1] == told["micro"]
    facts = [one["facts"] for one in run.results["splits"]]
    assert all(one["new_items"] <= one["items"] for one in facts)


def test_a_stream_is_tested_and_trained_on_step_by_step(tmp_path: Path) -> None:
    text = with_split('how = "prequential"\nstart = 0.5\nevery = 30\nsteps = 3\n')
    run = rt.run(write(tmp_path, text))
    assert run.exit_code == 0, run.failures
    assert [one["name"] for one in run.results["splits"]] == ["step-1", "step-2", "step-3"]
    rows = [one["parts"]["train"]["rows"] for one in run.results["splits"]]
    assert [two - one for one, two in pairwise(rows)] == [30, 30]


def test_updating_equals_refitting_and_resumes_after_an_interruption(tmp_path: Path) -> None:
    text = with_split('how = "windows"\nspan = "40D"\nfolds = 3\n')
    text += '\n[models.updated]\nmodel = "item-knn"\nneighbours = 20\nlearning = "update"\n'
    path = write(tmp_path, text)
    whole = rt.run(path, folder=tmp_path / "whole")
    assert whole.exit_code == 0, whole.failures
    both = whole.results["headline"]
    assert both["updated"] == both["item-knn"]

    class Stop(BaseException):
        pass

    def stop(event: Any) -> None:
        if event["event"] == "done" and event["stage"] == "models/updated/window-2":
            raise Stop

    with pytest.raises(Stop):
        rt.run(path, watchers=[stop])
    assert contents(rt.run(path).folder) == contents(whole.folder)


def test_sampled_candidates_are_the_same_for_all_models(tmp_path: Path) -> None:
    text = SMALL + '\n[candidates]\nkind = "sampled"\ncount = 20\nshort = "fewer"\n'
    run = rt.run(write(tmp_path, text))
    assert run.exit_code == 0, run.failures
    hashes = {
        one["runs"][0]["evaluation"]["manifest"]["inputs"]["candidates"]["hash"]
        for one in run.results["models"].values()
    }
    assert len(hashes) == 1


def test_an_existing_split_is_used_unchanged(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 2, 3]}).write_csv(parts / "train.csv")
    pl.DataFrame({"user": [1, 2], "item": [3, 1]}).write_csv(parts / "test.csv")
    text = '[split]\nparts = "parts"\n[models.popularity]\n[evaluate]\nmetrics = ["hit@1"]\n'
    run = rt.run(write(tmp_path, text))
    assert run.exit_code == 0, run.failures
    assert run.results["headline"]["popularity"]["hit@1"]["value"] == 1.0


def test_lists_from_a_file_are_a_model(tmp_path: Path, small: Path) -> None:
    first = rt.run(small)
    made = pl.read_parquet(first.folder / "predictions" / "item-knn.parquet")
    made.select("user", "item", "score").write_csv(tmp_path / "lists.csv")
    run = rt.run(write(tmp_path, SMALL + '\n[models.file]\npredictions = "lists.csv"\n'))
    assert run.exit_code == 0, run.failures
    both = run.results["headline"]
    assert both["file"]["recall@10"]["value"] == both["item-knn"]["recall@10"]["value"]


def test_a_run_can_be_opened_again_with_its_values_per_user(small: Path) -> None:
    run = rt.run(small)
    again = Run.open(run.folder)
    assert str(again) == str(run)
    values = again.evaluations["popularity"][0].per_user()
    assert values.equals(pl.read_parquet(run.folder / "values" / "popularity.parquet"))
    compared = rt.compare({name: every[0] for name, every in again.evaluations.items()})
    assert compared.as_dict()["values"] == run.results["comparison"]["values"]


def test_a_serious_finding_can_stop_the_run(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 2, 3]}).write_csv(parts / "train.csv")
    pl.DataFrame({"user": [1, 2], "item": [1, 2]}).write_csv(parts / "test.csv")
    text = '[split]\nparts = "parts"\n[audit]\nmode = "stop"\n[models.popularity]\n'
    run = rt.run(write(tmp_path, text))
    assert run.exit_code == 1
    assert "truth_in_train" in run.results["stopped"]
    assert run.results["headline"] == {}
    assert run.results["splits"][0]["audit"]["serious"] > 0

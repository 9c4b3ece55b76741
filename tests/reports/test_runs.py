"""Reports of runs: the page shows the content of their folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.reports.figures import figures
from rectitude.reports.page import report
from rectitude.reports.runs import content_of_run, side_by_side

EXPERIMENT: dict[str, Any] = {
    "name": "small",
    "about": "Two models of a small shop.",
    "data": {"shop": {"rows": 4_000}},
    "prepare": [{"step": "deduplicate", "keep": "first"}],
    "split": {"how": "time_ratio", "ratio": 0.2},
    "models": {"popularity": {}, "item-knn": {}},
    "evaluate": {"metrics": ["ndcg@{5,10}", "mrr"], "slices": ["known"]},
    "compare": {"baseline": "popularity"},
    "report": {"title": "A small shop"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs") / "small"
    assert rt.run(EXPERIMENT, folder=where).exit_code == 0
    return where


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs") / "windows"
    split = {"how": "k_fold", "folds": 3}
    changed = {**EXPERIMENT, "split": split, "explain": {"mode": "off"}}
    assert rt.run(changed, folder=where).exit_code == 0
    return where


def test_a_run_writes_its_report_and_the_page_has_its_numbers(folder: Path) -> None:
    results = rt.run(EXPERIMENT, folder=folder).results
    content = content_of_run(folder)
    for metric, of in content.values.items():
        for model, value in of.items():
            assert value.value == results["headline"][model][metric]["value"]
    text = (folder / "report.html").read_text("utf-8")
    assert "<title>A small shop</title>" in text
    assert "Two models of a small shop." in text


def test_a_run_with_calibration_has_a_reliability_diagram(folder: Path, tmp_path: Path) -> None:
    assert "calibration" not in figures(content_of_run(folder))
    scores = {"u": {"a": 0.75, "b": 0.25}}
    name, truth = "relevance_calibration_error", {"u": {"a": 1, "b": 0}}
    result = rt.evaluate(scores, truth, [name]).as_dict()["results"][name]
    changed = shutil.copytree(folder, tmp_path / "run")
    stored = json.loads((changed / "results.json").read_text("utf-8"))
    stored["best"][name] = "low"
    for label, model in stored["models"].items():
        model["runs"][0]["evaluation"]["results"][name] = result
        stored["headline"][label][name] = stored["headline"][label]["mrr"]
    (changed / "results.json").write_text(json.dumps(stored), "utf-8")
    (figure,) = figures(content_of_run(changed))["calibration"]
    assert {(row["model"], row["share_correct"]) for row in figure.data} == {
        ("popularity", 0.0), ("popularity", 1.0), ("item-knn", 0.0), ("item-knn", 1.0),
    }  # fmt: skip


def test_the_flow_begins_with_the_log_and_ends_with_the_parts(folder: Path) -> None:
    flow = {stage.label: stage for stage in content_of_run(folder).flow}
    assert list(flow) == ["the log", "deduplicate", "train", "truth"]
    assert flow["the log"].rows == 4_000
    assert flow["deduplicate"].rows + flow["deduplicate"].dropped == 4_000
    assert flow["train"].rows + flow["truth"].rows == flow["deduplicate"].rows


def test_slices_and_other_conventions_of_a_run_are_shown(folder: Path) -> None:
    content = content_of_run(folder)
    assert {one.slice for one in content.slices} >= {"warm", "unknown user"}
    assert {one.model for one in content.slices} == {"popularity", "item-knn"}
    assert content.robustness is not None
    assert content.robustness["metric"] == content.main == "ndcg@5"
    assert content.explanation is not None


def test_several_splits_are_windows_and_the_numbers_their_mean(windows: Path) -> None:
    content = content_of_run(windows)
    assert len(content.windows) == 3
    values = [window.values["mrr"]["popularity"] or 0.0 for window in content.windows]
    assert content.values["mrr"]["popularity"].value == pytest.approx(sum(values) / 3, rel=1e-12)
    assert content.values["mrr"]["popularity"].deviation is not None


def test_runs_side_by_side_keep_their_models_apart(
    folder: Path, windows: Path, tmp_path: Path
) -> None:
    content = side_by_side([folder, windows])
    assert content.models == [
        "small: popularity", "small: item-knn", "windows: popularity", "windows: item-knn",
    ]  # fmt: skip
    one = content_of_run(windows).values["mrr"]["item-knn"]
    assert content.values["mrr"]["windows: item-knn"] == one
    target = tmp_path / "both.html"
    assert main(["report", str(folder), str(windows), "--output", str(target)]) == 0
    assert "windows: item-knn" in target.read_text("utf-8")


def test_runs_of_the_same_name_are_distinguished_by_their_folders(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copytree(folder, tmp_path / "other" / folder.name))
    names = {model.partition(": ")[0] for model in side_by_side([folder, other]).models}
    assert names == {f"{folder.parent.name}/{folder.name}", f"other/{folder.name}"}
    target = tmp_path / "twice.html"
    assert main(["report", str(folder), str(folder), "--output", str(target)]) == 2
    assert "was given twice" in capsys.readouterr().err
    assert not target.exists()


def test_sections_about_the_first_split_only_say_so(folder: Path, windows: Path) -> None:
    assert content_of_run(windows).part == content_of_run(windows).windows[0].label
    words = "Only for the first split"
    assert words in (windows / "report.html").read_text("utf-8")
    assert words not in (folder / "report.html").read_text("utf-8")


def test_the_report_keeps_the_title_of_the_experiment(folder: Path) -> None:
    assert content_of_run(folder).title == "A small shop"


def test_the_report_of_a_run_can_be_written_again(folder: Path, tmp_path: Path) -> None:
    """Its own page leaves out what stages took, which differs between equal runs."""
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    before = (copy / "report.html").read_bytes()
    report(copy, tmp_path / "measured.html", title="A small shop")
    assert b'id="resources"' in (tmp_path / "measured.html").read_bytes()
    (copy / "resources.json").unlink()
    report(copy, copy / "report.html", title="A small shop")
    assert (copy / "report.html").read_bytes() == before

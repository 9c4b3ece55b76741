"""`rectitude metrics` and `rectitude demo`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import Run

import rectitude as rt


def test_every_metric_is_listed(run: Run) -> None:
    said = run("metrics")
    assert said.code == 0
    first = [line.split()[0] for line in said.out.splitlines() if line]
    assert set(rt.METRICS) <= set(first)


def test_a_metric_is_explained_under_the_default(run: Run) -> None:
    said = run("metrics", "ndcg@10")
    assert said.code == 0
    for words in ("ndcg@10: Normalised", "How to read it:", "When to use it:", "0 to 1; higher"):
        assert words in said.out
    assert "* binary:" in said.out
    assert "  exp2: 2^grade - 1" in said.out
    assert "source: jarvelin2002cumulated" in said.out


def test_a_metric_is_explained_under_another_convention(run: Run) -> None:
    said = run("metrics", "ndcg@10", "--convention", "rectools", "gain=exp2")
    assert "* k: a hit at every rank" in said.out
    assert "* exp2:" in said.out
    assert run("metrics", "--convention", "ranx", "--", "hits@5").code == 0


def test_an_unknown_metric_is_answered_with_the_nearest(run: Run) -> None:
    said = run("metrics", "recal")
    assert (said.code, said.out) == (2, "")
    assert "did you mean 'recall'" in said.err


def test_metrics_as_json_hold_the_definition(run: Run) -> None:
    every = json.loads(run("metrics", "--json").out)["metrics"]
    assert {one["name"] for one in every} == set(rt.METRICS)
    (one,) = json.loads(run("metrics", "dcg@5", "--json").out)["metrics"]
    assert one["metric"] == "dcg"
    assert one["bounds"] == [0.0, None]
    assert one["definition"].startswith("dcg@5: ")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("here") / "demo"
    command = [sys.executable, "-m", "rectitude", "demo", "--folder", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    return said.stdout, folder


def test_the_demo_shows_models_differences_audit_and_an_explanation(
    demo: tuple[str, Path],
) -> None:
    text, folder = demo
    assert len(re.findall(r"^\| [\w-]+ +\| +0\.\d+", text, re.MULTILINE)) == 6
    for words in (
        "users of the truth are not in train",
        "truth rows have items that are not in train",
        "corrected p",
        "under daisyrec. The difference comes from",
    ):
        assert words in text
    assert f"{folder}/run/report.html" in text
    assert (folder / "run" / "report.html").stat().st_size > 100_000
    assert max(map(len, text.splitlines())) <= 120


def test_the_demo_has_models_that_beat_popularity_and_chance(demo: tuple[str, Path]) -> None:
    results = json.loads((demo[1] / "run" / "results.json").read_text("utf-8"))
    values = {name: of["ndcg@10"]["value"] for name, of in results["headline"].items()}
    assert values["ease"] > values["popularity"] > 2 * values["random"]


def test_the_commands_that_the_demo_names_work(
    demo: tuple[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = re.findall(r"^cd (.+)$", demo[0], re.MULTILINE)
    monkeypatch.chdir(shlex.split(folder)[0])
    commands = re.findall(r"^rectitude (.+)$", demo[0], re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert run(*shlex.split(command)).code == 0

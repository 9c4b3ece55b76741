"""`rectitude metrics` and `rectitude demo`."""

from __future__ import annotations

import json
import re
import shlex
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


@pytest.fixture
def demo(run: Run, tmp_path: Path) -> tuple[str, Path]:
    said = run("demo", "--folder", str(tmp_path / "demo"))
    assert (said.code, said.err) == (0, "")
    return said.out, tmp_path / "demo"


def test_the_demo_shows_table_ledger_definitions_and_conventions(demo: tuple[str, Path]) -> None:
    text, folder = demo
    assert re.search(r"\| ndcg@10 +\| +0\.\d+ +\| +0\.\d+\* \|", text)
    for words in (
        "equal scores",
        "have no predictions",
        "not in train",
        "recall@10: Recall",
    ):
        assert words in text
    values = re.findall(r"^(?:default|ranx|rectools) +(0\.\d+)", text, re.MULTILINE)
    assert len(set(values)) == 3
    names = {path.name for path in folder.iterdir()}
    assert names == {"train.csv", "truth.csv", "popularity.csv", "neighbours.csv"}
    assert max(map(len, text.partition("Try it")[0].splitlines())) <= 100


def test_the_commands_that_the_demo_names_work(
    demo: tuple[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = re.findall(r"^cd (.+)$", demo[0], re.MULTILINE)
    monkeypatch.chdir(shlex.split(folder)[0])
    commands = re.findall(r"^rectitude (.+)$", demo[0], re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert run(*shlex.split(command)).code == 0


def test_the_demo_is_the_same_for_the_same_seed(run: Run, tmp_path: Path) -> None:
    here = ("demo", "--folder", str(tmp_path / "d"), "--seed")
    assert run(*here, "1").out == run(*here, "1").out != run(*here, "2").out

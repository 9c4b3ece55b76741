"""The studies of docs/reproductions.md run, and give the numbers that the page prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rectitude as rt

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "examples" / "reproductions"
PAGE = (ROOT / "docs" / "reproductions.md").read_text("utf-8")


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script)],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def test_the_numbers_of_one_model_are_those_of_the_page(real_data: Path) -> None:
    done = run("conventions.py", RECTITUDE_DATA=str(real_data))
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len(rows) == 19  # 6 of DaisyRec, 11 values of NDCG@10, and the heads of two tables
    assert [row for row in rows if row not in PAGE] == []


def test_a_study_of_any_interactions_gives_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from orders import HEAD, row
    from studies import inputs, study

    rt.sample(tmp_path)
    models = {"popularity": {}, "item-knn": {}}
    lists, truth, train = inputs(study(tmp_path / "train.csv", "sample", tmp_path, models))
    found = rt.robustness(lists, str(truth), "ndcg@10", train=train)
    assert row("sample", found).count("|") == HEAD.splitlines()[1].count("|")
    assert row("sample", found).startswith("| sample | `ndcg@10` | ")


def test_a_missing_data_set_is_named(tmp_path: Path) -> None:
    done = run("orders.py", RECTITUDE_DATA=str(tmp_path))
    assert done.returncode == 1
    assert "ml-100k/ml-100k.inter is not in the folder that RECTITUDE_DATA names" in done.stderr

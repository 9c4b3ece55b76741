"""Golden report cases: the lines that training scripts print, character by character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.conformance.cases import load
from rectitude.conformance.run import conformance, report_checks

GIVEN = {
    "epoch": 9, "elapsed": [1.25, 2.25], "losses": {"loss": 3.0, "mf_loss": 2.0, "emb_loss": 1.0},
    "epoch_line_of": 1, "total_seconds": 9.0, "time": "2026-01-01 00:00:00",
}  # fmt: skip
LINE = (
    "Epoch 9 [1.2s + 2.2s]: train==[3.00000=2.00000 + 1.00000 ]\n"
    " recall=[1.00000, 1.00000], precision=[1.00000, 0.50000],  ndcg=[1.00000, 1.00000]"
)
BEST = "Best Iter=[1]@[9.0]\trecall=[1.00000\t1.00000], precision=[1.00000\t0.50000],  "
BEST += "ndcg=[1.00000\t1.00000]"


def tree(folder: Path, profile: str = "smgcn-icde", **keys: Any) -> Path:
    """Write a golden tree with one report of two epochs; the relevant item is at rank 2, then 1."""
    for name, scores in (("scores-a", [2.0, 1.0]), ("scores-b", [1.0, 2.0])):
        inputs = folder / "inputs" / name
        inputs.mkdir(parents=True)
        np.save(inputs / "scores.npy", np.array([scores], np.float32))
        pl.DataFrame({"user": [7]}).write_parquet(inputs / "rows.parquet")
        truth = {"user": [7], "item": [1], "grade": [1.0]}
        pl.DataFrame(truth).write_parquet(inputs / "truth.parquet")
    cases = folder / "cases" / profile
    cases.mkdir(parents=True)
    case = {
        "profile": profile, "kind": "report", "input": "scores-a", "cutoffs": [1, 2],
        "epochs": ["scores-a", "scores-b"], "options": {"users": "with_truth"}, "given": GIVEN,
        "expected_best_index": 1, "expected_lines": {"perf_str": LINE, "final_perf": BEST}, **keys,
    }  # fmt: skip
    (cases / "scores-a--report.json").write_text(json.dumps(case))
    return folder


def test_identical_lines_agree(tmp_path: Path) -> None:
    (tally,) = conformance(tree(tmp_path))
    assert (tally.compared, tally.agree, tally.wrong) == (3, 3, [])


def test_extra_character_is_counted_as_wrong(tmp_path: Path) -> None:
    lines = {"perf_str": LINE, "final_perf": BEST + " "}
    (tally,) = conformance(tree(tmp_path, expected_lines=lines, expected_best_index=0))
    assert [value.name for value in tally.wrong] == ["best_index", "final_perf"]
    assert (tally.compared, tally.agree) == (3, 1)


def test_unknown_lines_and_frameworks_are_not_compared(tmp_path: Path) -> None:
    lines = {"perf_str": LINE, "picture": "(:"}
    (tally,) = conformance(tree(tmp_path / "a", expected_lines=lines))
    assert (tally.compared, tally.unsupported) == (2, 1)
    (tally,) = conformance(tree(tmp_path / "b", "ranx"))
    assert (tally.compared, tally.unsupported) == (0, 3)
    (tally,) = conformance(tree(tmp_path / "c", "nobody"))
    assert (tally.compared, tally.unsupported) == (0, 3)
    (tally,) = conformance(tree(tmp_path / "d", options={"windows": [1]}))
    assert (tally.compared, tally.unsupported) == (0, 3)


def test_all_report_cases_agree(golden: Path) -> None:
    cases = [case for case in load(golden) if case.kind == "report"]
    assert {case.profile for case in cases} == {"smgcn", "smgcn-f1", "smgcn-icde"}
    for case in cases:
        checked = report_checks(case, rt.PROFILES[case.profile])
        assert [check.wrong for check in checked] == [0] * len(checked), case.path.stem


@pytest.mark.parametrize(("profile", "lines"), [("smgcn", 7), ("smgcn-f1", 3), ("smgcn-icde", 4)])
def test_report_cases_are_counted(profile: str, lines: int, golden: Path) -> None:
    (tally,) = conformance(golden, [profile])
    reports = [case for case in load(golden, [profile]) if case.kind == "report"]
    checks = sum(len(report_checks(case, rt.PROFILES[profile])) for case in reports)
    assert checks == lines
    values = sum(case.size for case in load(golden, [profile]) if case.kind != "report")
    assert tally.compared == tally.agree == values + lines

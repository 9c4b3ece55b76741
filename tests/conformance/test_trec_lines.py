"""The lines that trec_eval 9 and 10 print for small files: preferences, groups and z-scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rectitude.cli import main

LINES = Path(__file__).parent / "golden" / "trec_lines"
LEFT_OUT = ("rbp ", "Znum_rel ")  # memory that is not initialised; a known difference with -c
CASES: list[dict[str, Any]] = json.loads((LINES / "cases.json").read_text("utf-8"))["cases"]


def name_case(case: dict[str, Any]) -> str:
    return f"{case['release']} {' '.join(case['flags'])}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
def test_the_lines_of_both_releases_are_printed(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    judged, run = (str(LINES / name) for name in (case["judgements"], "run.txt"))
    flags = [str(LINES / flag) if flag == "zscores.txt" else flag for flag in case["flags"]]
    words = ["evaluate", f"trec:{run}", "--truth", f"trec:{judged}", "--format", "trec_eval"]
    assert main([*words, "--convention", f"trec_eval-{case['release']}", *flags]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith(LEFT_OUT)] == case["lines"]

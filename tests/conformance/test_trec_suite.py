"""The commands of trec_eval's test suite: the output must be the same, line by line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rectitude.cli import main

SUITE = Path(os.environ.get("RECTITUDE_GOLDEN", ""), "suite", "trec_eval")
AVAILABLE = bool(os.environ.get("RECTITUDE_GOLDEN")) and SUITE.is_dir()
pytestmark = pytest.mark.skipif(
    not AVAILABLE, reason="set RECTITUDE_GOLDEN to the full golden tree"
)
CASES: list[dict[str, Any]] = (
    json.loads((SUITE / "cases.json").read_text("utf-8"))["cases"] if AVAILABLE else []
)


def ids(case: dict[str, Any]) -> str:
    return f"{case['judgements']} {' '.join(case['flags'])}".strip()


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_lines_of_trec_eval_are_printed(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    files = (SUITE / f"{case[side]}.xz" for side in ("judgements", "results"))
    qrels, run = (str(file) for file in files)
    flags = [
        str(SUITE / f"{flag}.xz") if flag == "zscores_file" else flag for flag in case["flags"]
    ]
    words = ["evaluate", "--truth", qrels, "--predictions", run, "--format", "trec_eval"]
    assert main([*words, *flags]) == 0
    expected = [
        f"{pad(measure)}\t{query}\t{value}"
        for query, values in case["expected"].items()
        for measure, value in values.items()
    ]
    assert len(expected) == case["lines"]
    assert capsys.readouterr().out.splitlines() == expected


def pad(measure: str) -> str:
    """Return a label with the spaces that trec_eval adds; the Z of z-scores comes in addition."""
    return f"Z{measure[1:]:<22}" if measure.startswith("Z") else f"{measure:<22}"


def test_the_whole_suite_is_here() -> None:
    assert len(CASES) == 15

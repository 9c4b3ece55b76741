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
UNSUPPORTED = {
    "prefs": "preferences between documents (-R prefs) are not supported as truth",
    "qrels_prefs": "preference measures (-m all_prefs) use pairs of documents",
    "qrels_jg": "judgement groups (-R qrels_jg) are several truths for one query",
    "-Z": "z-scores compare with the means of other systems",
}


def reason(case: dict[str, Any]) -> str:
    """Return why a case is not supported; empty if it is."""
    return next((why for flag, why in UNSUPPORTED.items() if flag in case["flags"]), "")


def ids(case: dict[str, Any]) -> str:
    return f"{case['judgements']} {' '.join(case['flags'])}".strip()


@pytest.mark.parametrize("case", [c for c in CASES if not reason(c)], ids=ids)
def test_the_lines_of_trec_eval_are_printed(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    files = (SUITE / f"{case[side]}.xz" for side in ("judgements", "results"))
    qrels, run = (str(file) for file in files)
    words = ["evaluate", "--truth", qrels, "--predictions", run, "--format", "trec_eval"]
    assert main([*words, *case["flags"]]) == 0
    expected = [
        f"{measure:<22}\t{query}\t{value}"
        for query, values in case["expected"].items()
        for measure, value in values.items()
    ]
    assert len(expected) == case["lines"]
    assert capsys.readouterr().out.splitlines() == expected


def test_only_cases_that_need_more_than_judged_documents_are_left_out() -> None:
    left_out = [ids(case) for case in CASES if reason(case)]
    assert left_out == [
        "prefs.test -m all_prefs -q -R prefs",
        "prefs.comment.test -m all_prefs -q -R prefs",
        "qrels.test -m all_prefs -q -R qrels_prefs",
        "qrels.123 -m qrels_jg -q -R qrels_jg",
        "qrels.comments.123 -m qrels_jg -q -R qrels_jg",
        "qrels.test -q -m all_trec -Z zscores_file",
    ]
    assert len(CASES) == 15

"""Golden significance cases: the same statistics and verdicts as other frameworks' tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from rectitude.conformance.run import conformance


def tree(folder: Path, name: str = "paired_t_test", **changes: Any) -> Path:
    """Write a golden tree with one test of two models; one user has no value for one of them."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.6, 0.2, 30), rng.normal(0.2, 0.2, 30)
    expected = stats.ttest_rel(first[1:], second[1:])
    second[0] = np.nan
    inputs, cases = folder / "inputs" / "significance", folder / "cases" / "warprec"
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    values = {"user": range(30), "A:ndcg@5": first, "B:ndcg@5": second}
    pl.DataFrame(values).write_parquet(inputs / "per_user.parquet")
    row = {
        "a": "A", "b": "B", "metric": "ndcg@5", "statistic": expected.statistic,
        "p": expected.pvalue, "significant": bool(expected.pvalue < 0.05), **changes,
    }  # fmt: skip
    case = {
        "profile": "warprec", "kind": "significance", "input": "significance", "tolerance": 1e-4,
        "operation": {"name": name, "alpha": 0.05, "family": 24}, "expected_rows": [row],
    }  # fmt: skip
    (cases / "significance--test.json").write_text(json.dumps(case))
    return folder


def test_the_same_statistics_and_verdicts_agree(tmp_path: Path) -> None:
    (tally,) = conformance(tree(tmp_path))
    assert (tally.compared, tally.agree, tally.unsupported) == (3, 3, 0)


def test_different_p_value_and_verdict_are_counted_as_wrong(tmp_path: Path) -> None:
    (tally,) = conformance(tree(tmp_path, p=0.9, significant=False))
    assert [(value.name, value.user) for value in tally.wrong] == [
        ("ndcg@5", "p of A and B"),
        ("ndcg@5", "significant of A and B"),
    ]


def test_unknown_test_is_unsupported(tmp_path: Path) -> None:
    (tally,) = conformance(tree(tmp_path, "welch_test"))
    assert (tally.compared, tally.unsupported) == (0, 3)


def test_warprec_tests_give_the_same_results(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs").symlink_to(golden / "inputs")
    cases = tmp_path / "cases" / "warprec"
    cases.mkdir(parents=True)
    for path in (golden / "cases" / "warprec").glob("significance--*.json"):
        (cases / path.name).write_bytes(path.read_bytes())
    (tally,) = conformance(tmp_path)
    assert tally.cases == 4
    assert tally.compared == tally.agree > 300

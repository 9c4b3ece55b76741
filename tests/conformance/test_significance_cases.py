"""Golden significance cases: another framework's tests, to the same numbers and verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from rectitude.conformance.run import conformance


def tree(folder: Path, name: str = "paired_t_test", **said: Any) -> Path:
    """A golden tree with one test of two models; one user has no value in one of them."""
    chance = np.random.default_rng(0)
    one, other = chance.normal(0.6, 0.2, 30), chance.normal(0.2, 0.2, 30)
    expected = stats.ttest_rel(one[1:], other[1:])
    other[0] = np.nan
    inputs, cases = folder / "inputs" / "significance", folder / "cases" / "warprec"
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    values = {"user": range(30), "A:ndcg@5": one, "B:ndcg@5": other}
    pl.DataFrame(values).write_parquet(inputs / "per_user.parquet")
    row = {
        "a": "A", "b": "B", "metric": "ndcg@5", "statistic": expected.statistic,
        "p": expected.pvalue, "significant": bool(expected.pvalue < 0.05), **said,
    }  # fmt: skip
    case = {
        "profile": "warprec", "kind": "significance", "input": "significance", "tolerance": 1e-4,
        "operation": {"name": name, "alpha": 0.05, "family": 24}, "expected_rows": [row],
    }  # fmt: skip
    (cases / "significance--test.json").write_text(json.dumps(case))
    return folder


def test_the_same_statistics_and_verdicts_agree(tmp_path: Path) -> None:
    (standing,) = conformance(tree(tmp_path))
    assert (standing.compared, standing.agree, standing.unsupported) == (3, 3, 0)


def test_another_p_and_another_verdict_are_counted_as_wrong(tmp_path: Path) -> None:
    (standing,) = conformance(tree(tmp_path, p=0.9, significant=False))
    assert [(one.name, one.user) for one in standing.wrong] == [
        ("ndcg@5", "p of A and B"),
        ("ndcg@5", "significant of A and B"),
    ]


def test_a_test_that_is_not_known_is_unsupported(tmp_path: Path) -> None:
    (standing,) = conformance(tree(tmp_path, "welch_test"))
    assert (standing.compared, standing.unsupported) == (0, 3)


def test_warprec_tests_come_to_the_same(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "inputs").symlink_to(golden / "inputs")
    cases = tmp_path / "cases" / "warprec"
    cases.mkdir(parents=True)
    for path in (golden / "cases" / "warprec").glob("significance--*.json"):
        (cases / path.name).write_bytes(path.read_bytes())
    (standing,) = conformance(tmp_path)
    assert standing.cases == 4
    assert standing.compared == standing.agree > 300

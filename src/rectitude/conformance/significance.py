"""Golden significance cases: another framework's tests of values per user, done here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rectitude.comparing.significance import TESTS
from rectitude.conformance.cases import Case

_TESTS = {
    "paired_t_test": "t",
    "wilcoxon_test": "wilcoxon",
    "whitney_u_test": "mann_whitney",
    "kruskal_test": "kruskal",
}


class Tested(NamedTuple):
    """One number of a test of two models, theirs and ours."""

    metric: str
    what: str
    expected: float
    got: float | None
    """None if there is no such test here"""
    tolerance: float


def significance_values(case: Case) -> Iterator[Tested]:
    """Every statistic, p-value and verdict of a case; verdicts are 1 or 0 and must be equal."""
    import polars as pl

    stored = json.loads(case.path.read_text("utf-8"))
    operation = stored["operation"]
    limits = {"significant": operation["alpha"]}
    limits["significant_bonferroni"] = operation["alpha"] / operation["family"]
    frame = pl.read_parquet(case.inputs / "per_user.parquet").cast(pl.Float64)
    for row in stored["expected_rows"]:
        names = [f"{row[side]}:{row['metric']}" for side in ("a", "b")]
        one, other = (frame[name].to_numpy() for name in names)
        there = np.isfinite(one) & np.isfinite(other)
        found: dict[str, float] = {}
        if operation["name"] in _TESTS:
            outcome = TESTS[_TESTS[operation["name"]]](one[there], other[there])
            found = {"statistic": outcome.statistic, "p": outcome.p}
            found |= {name: float(outcome.p < limit) for name, limit in limits.items()}
        for what in [what for what in ("statistic", "p", *limits) if what in row]:
            tolerance = 0.0 if what in limits else case.tolerance
            told = f"{what} of {row['a']} and {row['b']}"
            yield Tested(row["metric"], told, float(row[what]), found.get(what), tolerance)

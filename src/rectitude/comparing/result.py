"""`Comparison`: models side by side, and what each difference is worth."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rectitude import tables
from rectitude.comparing import text
from rectitude.comparing.runs import Components

FORMAT = "rectitude.comparison"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric of a model less that of a baseline, as means over the users that both have."""

    metric: str
    model: str
    baseline: str
    unit: str
    """"pp" for metrics from 0 to 1, which are shown in percentage points; empty for others"""
    users: int
    difference: float
    low: float
    high: float
    """the ends of the interval of the difference"""
    relative: float | None
    """in percent of the baseline; None where that is 0"""
    statistic: float | None
    """what the test computes; None where it has none"""
    p: float
    corrected: float
    """p with regard to all tests of the comparison"""
    effect: float
    """Cohen's dz: the mean difference in standard deviations of the differences"""
    rank_biserial: float
    superiority: float
    """the share of users for whom the model is better, equal ones counting half"""
    better: int
    """users for whom the model is better"""
    worse: int
    detectable: float
    """the difference that a t-test of so many users finds four times out of five"""
    equivalence: float | None = None
    """p of being farther apart than the margin, corrected; None without a margin"""
    spread: Components | None = None
    """the variance of the differences by source, where there are several runs"""

    def as_dict(self) -> dict[str, Any]:
        """The difference for JSON; null where a number is infinite."""
        return {name: _finite(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """The numbers of several models, and tests of their differences."""

    values: Mapping[str, Mapping[str, float]]
    """by metric and model; of several runs, the mean"""
    deviations: Mapping[str, Mapping[str, float]]
    """the standard deviation over runs, where there are several"""
    best: Mapping[str, str]
    """which values of each metric are better: high or low"""
    differences: tuple[Difference, ...]
    baseline: str | None
    test: str
    correction: str
    interval: str
    alpha: float
    resamples: int
    seed: int
    runs: int = 1
    margin: float | None = None
    notes: tuple[str, ...] = ()

    def of(self, metric: str, model: str, baseline: str | None = None) -> Difference:
        """The difference of a metric between two models; the baseline need not be named twice."""
        return text.found(self, metric, model, baseline or self.baseline)

    def significant(self, one: Difference) -> bool:
        """Whether the corrected p of a difference is below alpha."""
        return one.corrected < self.alpha

    def rows(self) -> list[dict[str, Any]]:
        """One row per difference, for tables."""
        kept = [one.as_dict() | {"significant": self.significant(one)} for one in self.differences]
        return [{name: v for name, v in row.items() if name != "spread"} for row in kept]

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "values": {metric: _all_finite(of) for metric, of in self.values.items()},
            "deviations": {metric: _all_finite(of) for metric, of in self.deviations.items()},
            "best": dict(self.best),
            "differences": [
                one.as_dict() | {"significant": self.significant(one)} for one in self.differences
            ],
            "baseline": self.baseline,
            "test": self.test,
            "correction": self.correction,
            "interval": self.interval,
            "alpha": self.alpha,
            "resamples": self.resamples,
            "seed": self.seed,
            "runs": self.runs,
            "margin": self.margin,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The comparison as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def to_csv(self) -> str:
        """One row per difference, with full precision."""
        return tables.csv(self.rows())

    def to_markdown(self) -> str:
        """The models, then the differences, as Markdown tables."""
        return "\n\n".join(tables.aligned(cells) for cells in text.both(self)) + "\n"

    def to_latex(self) -> str:
        """The models, best bold and second best underlined, then the differences, in the style of
        booktabs."""
        models, differences = text.both(self)
        return tables.latex(text.in_latex(models), str) + "\n" + tables.latex(differences)

    def to_html(self) -> str:
        """The models, best bold and second best underlined, then the differences, as HTML."""
        models, differences = text.both(self)
        return tables.html(text.in_html(models), str) + tables.html(differences)

    def __str__(self) -> str:
        return text.whole(self)

    __repr__ = __str__


def _all_finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Comparisons as people read them: a table of models, a table of differences, and what was done."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rectitude.comparing.runs import Components
from rectitude.errors import unknown_name
from rectitude.metrics.names import parse
from rectitude.tables import aligned, escaped, number

if TYPE_CHECKING:
    from rectitude.comparing.result import Comparison, Difference

Cells = list[list[str]]
TESTS = {
    "t": "paired t-tests",
    "wilcoxon": "Wilcoxon signed rank tests",
    "mann_whitney": "Mann-Whitney tests, which know of no pairs",
    "kruskal": "Kruskal-Wallis tests, which know of no pairs",
    "sign_flip": "sign flips",
}
_CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "corrected by Bonferroni",
    "holm": "corrected by Holm",
    "benjamini_hochberg": "corrected by Benjamini-Hochberg",
    "benjamini_yekutieli": "corrected by Benjamini-Yekutieli",
}
_INTERVALS = {"t": "by Student's t", "percentile": "by bootstrap", "bca": "by bootstrap (BCa)"}
BEST, SECOND, APART = "*", "+", "†"


def found(comparison: Comparison, metric: str, model: str, baseline: str | None) -> Difference:
    """The one difference of these names."""
    wanted = str(parse(metric)[0])
    for one in comparison.differences:
        if (one.metric, one.model) == (wanted, model) and baseline in (None, one.baseline):
            return one
    known = [f"{one.metric} {one.model} {one.baseline}" for one in comparison.differences]
    asked = " ".join([wanted, model, *([baseline] if baseline else [])])
    raise unknown_name("difference", asked, known, where="this comparison")


def whole(comparison: Comparison) -> str:
    """Both tables with their legends, and notes."""
    models, differences = map(aligned, both(comparison))
    lines = [models, *_legend(comparison), "", differences, _method(comparison)]
    lines += [_sources(one, one.spread) for one in comparison.differences if one.spread]
    return "\n".join([*lines, *(f"! {note}" for note in comparison.notes)])


def both(comparison: Comparison) -> tuple[Cells, Cells]:
    """The tables of models and of differences, heading first."""
    metrics, models = [*comparison.values], [*next(iter(comparison.values.values()))]
    body = [[model, *(_value(comparison, metric, model) for metric in metrics)] for model in models]
    return [["model", *metrics], *body], _differences(comparison)


def _value(comparison: Comparison, metric: str, model: str) -> str:
    """A number with its spread over runs and its marks; marks are padded so that digits align."""
    deviation = comparison.deviations.get(metric, {}).get(model, math.nan)
    shown = number(comparison.values[metric][model])
    shown += "" if math.isnan(deviation) else f" ± {deviation:.4f}"
    marks = _marks(comparison, metric)
    widest = max(map(len, marks.values()))
    return shown + marks[model].ljust(widest)


def _marks(comparison: Comparison, metric: str) -> dict[str, str]:
    """Best, second best of three or more, and significantly apart from the baseline."""
    values = {m: v for m, v in comparison.values[metric].items() if not math.isnan(v)}
    levels = sorted(set(values.values()), reverse=comparison.best[metric] == "high")
    kept = levels[: 2 if len(values) > 2 else 1] if len(levels) > 1 else []
    by_value = dict(zip(kept, (BEST, SECOND), strict=False))
    apart = {
        one.model
        for one in comparison.differences
        if comparison.baseline and one.metric == metric and comparison.significant(one)
    }
    named = comparison.values[metric]
    return {
        model: by_value.get(named[model], "") + (APART if model in apart else "") for model in named
    }


def in_latex(models: Cells) -> Cells:
    """The table of models with its marks as LaTeX sets them."""
    return _set(models, escaped, (r"\textbf{{{}}}", r"\underline{{{}}}", r"{}$^{{\dagger}}$"))


def in_html(models: Cells) -> Cells:
    """The table of models with its marks as HTML sets them."""
    return _set(models, html.escape, ("<strong>{}</strong>", "<u>{}</u>", "{}<sup>†</sup>"))


def _set(models: Cells, written: Callable[[str], str], forms: tuple[str, str, str]) -> Cells:
    """The table with other forms of best, second best and apart; names are no marks."""
    heading, *body = [[written(cell) for cell in row] for row in models]
    return [heading, *([model, *(_marked(cell, forms) for cell in row)] for model, *row in body)]


def _marked(cell: str, forms: tuple[str, str, str]) -> str:
    shown = cell.rstrip(f" {BEST}{SECOND}{APART}")
    marks = cell[len(shown) :]
    for mark, form in zip((BEST, SECOND, APART), forms, strict=True):
        shown = form.format(shown) if mark in marks else shown
    return shown


def _legend(comparison: Comparison) -> list[str]:
    told = {
        BEST: "best", SECOND: "second best", APART: "apart from the baseline, by the corrected p",
    }  # fmt: skip
    marks = {mark for metric in comparison.values for mark in _marks(comparison, metric).values()}
    shown = [f"{mark} {words}" for mark, words in told.items() if any(mark in m for m in marks)]
    return ["; ".join(shown)] if shown else []


def _differences(comparison: Comparison) -> Cells:
    level = f"{100 * (1 - comparison.alpha):g}%"
    heading = ["difference", "metric", "mean", f"{level} from", "to", "relative", "p", "corrected"]
    heading += ["dz", "better", "worse", "detectable"]
    heading += [] if comparison.margin is None else ["equivalence"]
    return [heading, *([*_row(one)] for one in comparison.differences)]


def _row(one: Difference) -> list[str]:
    """A difference: shares in percentage points, other metrics in their own unit."""
    form, scale = ("{:+.2f} pp", 100) if one.unit == "pp" else ("{:+.4f}", 1)
    ends = [form.format(scale * value) for value in (one.difference, one.low, one.high)]
    relative = "" if one.relative is None else f"{one.relative:+.1f}%"
    row = [f"{one.model} - {one.baseline}", one.metric, *ends, relative, _p(one.p)]
    row += [_p(one.corrected), f"{one.effect:+.2f}", f"{one.better:,}", f"{one.worse:,}"]
    row.append(form.format(scale * one.detectable).removeprefix("+"))
    return row if one.equivalence is None else [*row, _p(one.equivalence)]


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def _method(comparison: Comparison) -> str:
    users = sorted({one.users for one in comparison.differences})
    many = f"{users[0]:,}" if len(users) == 1 else f"{users[0]:,} to {users[-1]:,}"
    tests = len(comparison.differences)
    family = f"{tests} {'test' if tests == 1 else 'tests'}"
    parts = [
        f"{many} users",
        f"{TESTS[comparison.test]}, {_CORRECTIONS[comparison.correction]} ({family})",
        f"intervals {_INTERVALS[comparison.interval]}, each for itself",
    ]
    if comparison.interval != "t" or comparison.test == "sign_flip":
        parts.append(f"{comparison.resamples:,} draws from seed {comparison.seed}")
    if comparison.runs > 1:
        parts.append(f"means of {comparison.runs} runs; p speaks of other users, not other runs")
    return "; ".join(parts)


def _sources(one: Difference, spread: Components) -> str:
    whole = (spread.users + spread.runs + spread.rest) or 1.0
    shares = [f"{100 * part / whole:.0f}%" for part in (spread.users, spread.runs, spread.rest)]
    return (
        f"{one.metric}, {one.model} - {one.baseline}: of the variance {shares[0]} is users, "
        f"{shares[1]} runs, {shares[2]} both together; error over users and runs {spread.error:.4f}"
    )

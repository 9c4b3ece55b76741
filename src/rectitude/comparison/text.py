"""Comparisons in words: what was done, what marks mean, and what each difference says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rectitude.comparison.effects import Components
from rectitude.comparison.table import (
    Cell,
    Extra,
    MetricColumn,
    chance,
    change,
    columns,
    marks,
    percent,
    shown,
    written,
)
from rectitude.errors import unknown_name
from rectitude.metrics.names import parse
from rectitude.render import aligned

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference

Cells = list[list[str]]
TESTS = {
    "t": "paired t-tests",
    "wilcoxon": "Wilcoxon signed rank tests",
    "mann_whitney": "Mann-Whitney tests, which know of no pairs",
    "kruskal": "Kruskal-Wallis tests, which know of no pairs",
    "sign_flip": "sign flips",
}
CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "corrected by Bonferroni",
    "holm": "corrected by Holm",
    "benjamini_hochberg": "corrected by Benjamini-Hochberg",
    "benjamini_yekutieli": "corrected by Benjamini-Yekutieli",
}
INTERVALS = {"t": "by Student's t", "percentile": "by bootstrap", "bca": "by bootstrap (BCa)"}
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


def whole(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables asked for, with their legends, and notes."""
    lines = [comparison.slice] if comparison.slice else []
    if "models" in parts:
        lines += [aligned(models(comparison, show)), *_legend(comparison)]
    if "differences" in parts:
        lines += [""] if "models" in parts else []
        lines.append(aligned(differences(comparison)))
    lines.append(method(comparison))
    if "differences" in parts:
        lines += [sources(one, one.spread) for one in comparison.differences if one.spread]
    return "\n".join([*lines, *(f"! {note}" for note in comparison.notes)])


def models(comparison: Comparison, show: Collection[Extra]) -> Cells:
    """The table of models for a terminal, heading first."""
    every = columns(comparison, show)
    headings = ["model", *(" ".join(filter(None, (one.metric, one.what))) for one in every)]
    body = zip(_names(comparison), *map(_padded, every), strict=True)
    return [headings, *([*row] for row in body)]


def _names(comparison: Comparison) -> Sequence[str]:
    return [*next(iter(comparison.values.values()))]


def _padded(column: MetricColumn) -> list[str]:
    """Numbers with marks as letters and signs, padded so that digits align."""
    told = [_signs(cell) for cell in column.cells]
    widest = max(map(len, told))
    return [cell.text + signs.ljust(widest) for cell, signs in zip(column.cells, told, strict=True)]


def _signs(cell: Cell) -> str:
    place = {"best": BEST, "second": SECOND, "": ""}[cell.mark.place]
    signs = place + (APART if cell.mark.apart else "")
    return f"{signs or ' '} {cell.mark.letters}" if cell.mark.letters else signs


def _legend(comparison: Comparison) -> list[str]:
    """What the marks in use mean."""
    used = [mark for metric in comparison.values for mark in marks(comparison, metric).values()]
    told = []
    told += [f"{BEST} best"] if any(mark.place == "best" for mark in used) else []
    told += [f"{SECOND} second best"] if any(mark.place == "second" for mark in used) else []
    apart = apart_words(comparison)
    told += [f"{APART} {apart}"] if any(mark.apart for mark in used) else []
    told += [apart] if any(mark.letters for mark in used) else []
    low = [metric for metric, best in comparison.best.items() if best == "low"]
    told += [f"lower is better: {', '.join(low)}"] if low else []
    return ["; ".join(told)] if told else []


def apart_words(comparison: Comparison) -> str:
    """What a dagger or a letter says."""
    if comparison.baseline:
        return f"apart from {comparison.baseline}, by the corrected p"
    return "models without a common letter are apart, by the corrected p"


def differences(comparison: Comparison) -> Cells:
    """The table of differences, heading first."""
    level = f"{100 * (1 - comparison.alpha):g}%"
    heading = ["difference", "metric", "mean", f"{level} from", "to", "relative", "p", "corrected"]
    heading += ["dz", "better", "worse", "detectable"]
    heading += [] if comparison.margin is None else ["equivalence"]
    return [heading, *([*_row(one)] for one in comparison.differences)]


def _row(one: Difference) -> list[str]:
    ends = [change(one, value) for value in (one.difference, one.low, one.high)]
    row = [f"{one.model} - {one.baseline}", one.metric, *ends, percent(one.relative)]
    row += [chance(one.p), chance(one.corrected), written(one.effect, "{:+.2f}")]
    row += [f"{one.better:,}", f"{one.worse:,}", change(one, one.detectable).removeprefix("+")]
    return row if one.equivalence is None else [*row, chance(one.equivalence)]


def method(comparison: Comparison) -> str:
    """What was done, in one line."""
    parts = [f"{_users(comparison)} users", tests(comparison)]
    parts.append(f"intervals {INTERVALS[comparison.interval]}, each for itself")
    if comparison.interval != "t" or comparison.test == "sign_flip":
        parts.append(f"{comparison.resamples:,} draws from seed {comparison.seed}")
    if comparison.runs > 1:
        parts.append(f"means of {comparison.runs} runs; p speaks of other users, not other runs")
    return "; ".join(parts)


def _users(comparison: Comparison) -> str:
    users = sorted({one.users for one in comparison.differences})
    return f"{users[0]:,}" if len(users) == 1 else f"{users[0]:,} to {users[-1]:,}"


def tests(comparison: Comparison) -> str:
    """Test, correction and alpha."""
    count = comparison.tests
    family = f"{count} {'test' if count == 1 else 'tests'}"
    told = f"{TESTS[comparison.test]}, {CORRECTIONS[comparison.correction]} for {family}"
    return f"{told}, alpha {comparison.alpha:g}"


def sources(one: Difference, spread: Components) -> str:
    """Which part of the variance is users, which is runs."""
    whole = (spread.users + spread.runs + spread.rest) or 1.0
    shares = [f"{100 * part / whole:.0f}%" for part in (spread.users, spread.runs, spread.rest)]
    return (
        f"{one.metric}, {one.model} - {one.baseline}: of the variance {shares[0]} is users, "
        f"{shares[1]} runs, {shares[2]} both together; error over users and runs {spread.error:.4f}"
    )


def caption(comparison: Comparison, show: Collection[Extra]) -> str:
    """What stands above the table of models in a paper."""
    runs = comparison.runs
    over = f" and {runs} runs, ± the standard deviation over runs" if runs > 1 else ""
    which = f"{comparison.slice[:1].upper()}{comparison.slice[1:]}. " if comparison.slice else ""
    told = [f"{which}Means over {_users(comparison)} users{over}."]
    used = [mark for metric in comparison.values for mark in marks(comparison, metric).values()]
    look = {"best": "best bold", "second": "second best underlined"}
    signs = [words for place, words in look.items() if any(mark.place == place for mark in used)]
    told += [f"{', '.join(signs).capitalize()}."] if signs else []
    if comparison.baseline and any(mark.apart for mark in used):
        told.append(f"{APART}: differs from {comparison.baseline} ({tests(comparison)}).")
    elif comparison.baseline:
        told.append(f"No model differs from {comparison.baseline} ({tests(comparison)}).")
    else:
        told.append(f"Models without a common letter differ ({tests(comparison)}).")
    if "interval" in show:
        level = f"{100 * (1 - comparison.alpha):g}%"
        told.append(f"Intervals: {level}, {INTERVALS[comparison.interval]}, not corrected.")
    if comparison.baseline and {"points", "relative"} & {*show}:
        told.append(f"Changes are from {comparison.baseline}.")
    low = [metric for metric, best in comparison.best.items() if best == "low"]
    told += [f"Lower is better for {', '.join(low)}."] if low else []
    return " ".join(filter(None, told))


def differences_caption(comparison: Comparison) -> str:
    """What stands above the table of differences in a paper."""
    level = f"{100 * (1 - comparison.alpha):g}%"
    how = INTERVALS[comparison.interval]
    which = f"{comparison.slice[:1].upper()}{comparison.slice[1:]}. " if comparison.slice else ""
    over = f"over {_users(comparison)} users with {level} intervals {how}, not corrected"
    told = [
        f"{which}Mean differences {over}; p by {tests(comparison)}.",
        "dz: mean over standard deviation of the differences.",
        "Detectable: what a t-test finds with a power of 80%.",
    ]
    if comparison.margin is not None:
        margin = f"{comparison.margin:g}"
        told.append(f"Equivalence: corrected p of being {margin} or more apart (TOST).")
    return " ".join(told)


def sentences(comparison: Comparison) -> list[str]:
    """Each difference in words, for those who do not read tables of tests every day."""
    return [_sentence(comparison, one) for one in comparison.differences]


def _sentence(comparison: Comparison, one: Difference) -> str:
    level = f"{100 * (1 - comparison.alpha):g}%"
    size, *ends = (change(one, abs(one.difference)).lstrip("+"), change(one, one.low),
                   change(one, one.high))  # fmt: skip
    where = f"{comparison.slice}, " if comparison.slice else ""
    who = f"{where}{one.metric}: {one.model}"
    if not one.better and not one.worse:
        return f"{who} and {one.baseline} are the same for each of {one.users:,} users."
    good = (one.difference > 0) == (comparison.best[one.metric] == "high")
    verdict = "equal to" if not one.difference else "better than" if good else "worse than"
    by = f" by {size}" if one.difference else " in the mean"
    told = f"{who} is {verdict} {one.baseline}{by} ({level} interval {ends[0]} to {ends[1]}); "
    told += f"better for {one.better:,} and worse for {one.worse:,} of {one.users:,} users. "
    p = f"corrected p {chance(one.corrected)}".replace("p <", "p < ")
    if comparison.significant(one):
        told += f"Chance alone would hardly do this ({p}, below {comparison.alpha:g})."
    else:
        least = change(one, one.detectable).lstrip("+")
        missed = f"; a difference below {least} would often be missed" if one.deviation else ""
        told += f"It may be chance ({p}){missed}."
    if one.equivalence is not None:
        same = one.equivalence < comparison.alpha
        close = "are closer than" if same else "were not shown to be closer than"
        told += f" They {close} the margin of {comparison.margin:g} (p {shown(one.equivalence)})."
    return told

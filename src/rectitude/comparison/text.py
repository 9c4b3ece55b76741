"""Comparisons as people read them: tables with captions in every form, and sentences."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from rectitude.comparison.effects import Components
from rectitude.comparison.table import (
    Extra,
    Mark,
    chance,
    change,
    differences,
    level,
    marks,
    models,
)
from rectitude.render import (
    DAGGER,
    LATEX,
    SIGNS,
    Cell,
    Grid,
    Place,
    escape_latex,
    format_number,
    text_of,
)

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference

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
_SYMBOLS = {"p": "$p$", "corrected": "corrected $p$", "dz": "$d_z$"}


def text(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables for a terminal, what their marks mean, how models were tested, and notes."""
    lines = [comparison.slice] if comparison.slice else []
    if "models" in parts:
        lines += [models(comparison, show).text(), *_legend(comparison)]
    if "differences" in parts:
        lines += [""] if "models" in parts else []
        lines.append(differences(comparison).text())
    lines.append(method(comparison))
    if "differences" in parts:
        lines += [sources(one, one.spread) for one in comparison.differences if one.spread]
    return "\n".join([*lines, *(f"! {note}" for note in comparison.notes)])


def markdown(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as Markdown, with captions below."""
    blocks = [f"### {comparison.slice}"] if comparison.slice else []
    for table in _tables(comparison, parts, show).values():
        blocks += [table.markdown(), table.caption]
    notes = "\n".join(f"- {note}" for note in comparison.notes)
    return "\n\n".join([*blocks, *([notes] if notes else [])]) + "\n"


def latex(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as LaTeX, in the style of booktabs, with captions."""
    blocks = [f"% {note}" for note in comparison.notes]
    for name, table in _tables(comparison, parts, show).items():
        label = f"{name}{_label(comparison.slice)}"
        if name == "differences":
            form = LATEX._replace(words=_latex_words)
            blocks.append(_merged(table).latex(label, form))
        else:
            blocks.append(table.latex(label))
    return "\n".join(blocks)


def html(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as HTML, with captions."""
    blocks = [table.html() for table in _tables(comparison, parts, show).values()]
    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    return "".join([*blocks, *([f"<ul>{notes}</ul>\n"] if notes else [])])


def _tables(
    comparison: Comparison, parts: Collection[str], show: Collection[Extra]
) -> dict[str, Grid]:
    """The tables asked for, with captions."""
    found = {}
    if "models" in parts:
        table = models(comparison, show)
        found["models"] = replace(table, caption=models_caption(comparison, show))
    if "differences" in parts:
        table = differences(comparison)
        found["differences"] = replace(table, caption=differences_caption(comparison))
    return found


def _label(words: str) -> str:
    """What tells the labels of slices apart; those below and above an edge, too."""
    told = words.replace(">=", " from ").replace("<", " below ")
    return "".join(f"-{word}" for word in re.findall(r"\w+", told))


def _latex_words(words: str) -> str:
    """Headings as symbols, and "one - other" with a minus."""
    return _SYMBOLS.get(words) or escape_latex(words).replace(" - ", " $-$ ")


def _merged(table: Grid) -> Grid:
    """The differences as a sheet has room for them: an interval in one column, users in another."""
    heading = [*table.heading[:3], table.heading[3].replace(" from", " interval")]
    heading += [*table.heading[5:9], "better/worse", *table.heading[11:]]
    return replace(
        table, heading=heading, rows=[_merged_row(*row) for row in table.rows], left=(0, 1)
    )


def _merged_row(*row: str | Cell) -> list[str | Cell]:
    low, high, better, worse = (text_of(cell) for cell in (*row[3:5], *row[9:11]))
    ends = Cell(f"[{low.removesuffix(' pp')}, {high.removesuffix(' pp')}]")
    return [*row[:3], ends, *row[5:9], Cell(f"{better}/{worse}"), *row[11:]]


def _legend(comparison: Comparison) -> list[str]:
    """What the marks in use mean."""
    used = _used_marks(comparison)
    words: dict[Place, str] = {"best": "best", "second": "second best"}
    there = {mark.place for mark in used}
    told = [f"{SIGNS[place]} {said}" for place, said in words.items() if place in there]
    apart = _apart_words(comparison)
    told += [f"{DAGGER} {apart}"] if any(mark.apart for mark in used) else []
    told += [apart] if any(mark.letters for mark in used) else []
    low = _low_ones(comparison)
    told += [f"lower is better: {', '.join(low)}"] if low else []
    return ["; ".join(told)] if told else []


def _used_marks(comparison: Comparison) -> list[Mark]:
    return [mark for metric in comparison.values for mark in marks(comparison, metric).values()]


def _low_ones(comparison: Comparison) -> list[str]:
    """The metrics of which low values are better."""
    return [metric for metric, best in comparison.best.items() if best == "low"]


def _apart_words(comparison: Comparison) -> str:
    """What a dagger or a letter says."""
    if comparison.baseline:
        return f"apart from {comparison.baseline}, by the corrected p"
    return "models without a common letter are apart, by the corrected p"


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


def models_caption(comparison: Comparison, show: Collection[Extra]) -> str:
    """What stands above the table of models in a paper."""
    runs = comparison.runs
    over = f" and {runs} runs, ± the standard deviation over runs" if runs > 1 else ""
    which = _slice_sentence(comparison)
    told = [f"{which}Means over {_users(comparison)} users{over}."]
    used = _used_marks(comparison)
    look = {"best": "best bold", "second": "second best underlined"}
    signs = [words for place, words in look.items() if any(mark.place == place for mark in used)]
    told += [f"{', '.join(signs).capitalize()}."] if signs else []
    if comparison.baseline and any(mark.apart for mark in used):
        told.append(f"{DAGGER}: differs from {comparison.baseline} ({tests(comparison)}).")
    elif comparison.baseline:
        told.append(f"No model differs from {comparison.baseline} ({tests(comparison)}).")
    else:
        told.append(f"Models without a common letter differ ({tests(comparison)}).")
    if "interval" in show:
        how = INTERVALS[comparison.interval]
        told.append(f"Intervals: {level(comparison)}, {how}, not corrected.")
    if comparison.baseline and {"points", "relative"} & {*show}:
        told.append(f"Changes are from {comparison.baseline}.")
    low = _low_ones(comparison)
    told += [f"Lower is better for {', '.join(low)}."] if low else []
    return " ".join(filter(None, told))


def _slice_sentence(comparison: Comparison) -> str:
    name = comparison.slice
    return f"{name[:1].upper()}{name[1:]}. " if name else ""


def differences_caption(comparison: Comparison) -> str:
    """What stands above the table of differences in a paper."""
    how = INTERVALS[comparison.interval]
    which = _slice_sentence(comparison)
    over = (
        f"over {_users(comparison)} users with {level(comparison)} intervals {how}, not corrected"
    )
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
    size, *ends = (change(one, abs(one.difference)).lstrip("+"), change(one, one.low),
                   change(one, one.high))  # fmt: skip
    where = f"{comparison.slice}, " if comparison.slice else ""
    who = f"{where}{one.metric}: {one.model}"
    if not one.better and not one.worse:
        return f"{who} and {one.baseline} are the same for each of {one.users:,} users."
    good = (one.difference > 0) == (comparison.best[one.metric] == "high")
    verdict = "equal to" if not one.difference else "better than" if good else "worse than"
    by = f" by {size}" if one.difference else " in the mean"
    told = f"{who} is {verdict} {one.baseline}{by} "
    told += f"({level(comparison)} interval {ends[0]} to {ends[1]}); "
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
        p = format_number(one.equivalence)
        told += f" They {close} the margin of {comparison.margin:g} (p {p})."
    return told

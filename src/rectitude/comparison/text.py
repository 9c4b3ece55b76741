"""Comparisons for readers: tables with captions in several formats, and sentences."""

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
    differences,
    format_change,
    format_p,
    level,
    marks,
    models,
)
from rectitude.errors import make_visible
from rectitude.render import (
    DAGGER,
    LATEX,
    SIGNS,
    Cell,
    Grid,
    Highlight,
    comment_latex,
    escape_latex,
    escape_markdown,
    format_number,
    text_of,
)

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference

TESTS = {
    "t": "paired t-tests",
    "wilcoxon": "Wilcoxon signed-rank tests",
    "mann_whitney": "Mann-Whitney U tests (unpaired)",
    "kruskal": "Kruskal-Wallis tests (unpaired)",
    "sign_flip": "sign-flip permutation tests",
}
CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "Bonferroni-corrected",
    "holm": "Holm-corrected",
    "benjamini_hochberg": "Benjamini-Hochberg-corrected",
    "benjamini_yekutieli": "Benjamini-Yekutieli-corrected",
}
INTERVALS = {
    "t": "Student's t",
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
    "poisson": "Poisson bootstrap",
}
METHODS = {"test": TESTS, "correction": CORRECTIONS, "interval": INTERVALS}
"""What the choices of a comparison are called in text."""
_SYMBOLS = {"p": "$p$", "corrected p": "corrected $p$", "dz": "$d_z$"}


def text(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """Return the tables for a terminal, a legend, how models were tested, and notes."""
    lines = [comparison.slice] if comparison.slice else []
    if "models" in parts:
        lines += [models(comparison, show).text(), *_write_legend(comparison)]
    if "differences" in parts:
        lines += [""] if "models" in parts else []
        lines.append(differences(comparison).text())
    lines.append(method(comparison))
    if "differences" in parts:
        lines += [sources(row, row.spread) for row in comparison.differences if row.spread]
    return make_visible("\n".join([*lines, *(f"! {note}" for note in comparison.notes)]))


def markdown(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """Return the tables as Markdown, with captions below."""
    blocks = [f"### {escape_markdown(comparison.slice)}"] if comparison.slice else []
    for table in _build_tables(comparison, parts, show).values():
        blocks += [table.markdown(), escape_markdown(table.caption)]
    notes = "\n".join(f"- {escape_markdown(note)}" for note in comparison.notes)
    return "\n\n".join([*blocks, *([notes] if notes else [])]) + "\n"


def latex(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """Return the tables as LaTeX with booktabs rules and captions."""
    blocks = [comment_latex(note) for note in comparison.notes]
    for name, table in _build_tables(comparison, parts, show).items():
        label = f"{name}{_label_slice(comparison.slice)}"
        if name == "differences":
            form = LATEX._replace(words=_latex_words)
            blocks.append(_merge_columns(table).latex(label, form))
        else:
            blocks.append(table.latex(label))
    return "\n".join(blocks)


def html(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """Return the tables as HTML with captions."""
    blocks = [table.html() for table in _build_tables(comparison, parts, show).values()]
    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    return "".join([*blocks, *([f"<ul>{notes}</ul>\n"] if notes else [])])


def _build_tables(
    comparison: Comparison, parts: Collection[str], show: Collection[Extra]
) -> dict[str, Grid]:
    """Return the requested tables with captions."""
    tables = {}
    if "models" in parts:
        table = models(comparison, show)
        tables["models"] = replace(table, caption=models_caption(comparison, show))
    if "differences" in parts:
        table = differences(comparison)
        tables["differences"] = replace(table, caption=differences_caption(comparison))
    return tables


def _label_slice(name: str) -> str:
    """Return a suffix that is unique to a slice; "<" and ">=" become words."""
    spelled = name.replace(">=", " from ").replace("<", " below ")
    return "".join(f"-{word}" for word in re.findall(r"\w+", spelled))


def _latex_words(heading: str) -> str:
    """Write headings as symbols, and "model - baseline" with a minus sign."""
    return _SYMBOLS.get(heading) or escape_latex(heading).replace(" - ", " $-$ ")


def _merge_columns(table: Grid) -> Grid:
    """Merge columns to fit a page: both interval ends in one, and better/worse in another."""
    heading = [*table.heading[:3], table.heading[3].replace(" from", " interval")]
    heading += [*table.heading[5:9], "better/worse", *table.heading[11:]]
    return replace(
        table, heading=heading, rows=[_merge_row(*row) for row in table.rows], left=(0, 1)
    )


def _merge_row(*row: str | Cell) -> list[str | Cell]:
    low, high, better, worse = (text_of(cell) for cell in (*row[3:5], *row[9:11]))
    ends = Cell(f"[{low.removesuffix(' pp')}, {high.removesuffix(' pp')}]")
    return [*row[:3], ends, *row[5:9], Cell(f"{better}/{worse}"), *row[11:]]


def _write_legend(comparison: Comparison) -> list[str]:
    """Explain the marks that the table uses."""
    used = _find_used_marks(comparison)
    words: dict[Highlight, str] = {"best": "best", "second": "second best"}
    present = {mark.place for mark in used}
    entries = [f"{SIGNS[place]} {word}" for place, word in words.items() if place in present]
    significance = _explain_significance(comparison)
    entries += [f"{DAGGER} {significance}"] if any(mark.significant for mark in used) else []
    entries += [significance] if any(mark.letters for mark in used) else []
    low = _find_low_metrics(comparison)
    entries += [f"lower is better: {', '.join(low)}"] if low else []
    return ["; ".join(entries)] if entries else []


def _find_used_marks(comparison: Comparison) -> list[Mark]:
    return [mark for metric in comparison.values for mark in marks(comparison, metric).values()]


def _find_low_metrics(comparison: Comparison) -> list[str]:
    """Return the metrics for which lower values are better."""
    return [metric for metric, best in comparison.best.items() if best == "low"]


def _explain_significance(comparison: Comparison) -> str:
    """Say what a dagger or a letter means."""
    alpha = f"{comparison.alpha:g}"
    if comparison.baseline:
        return f"significantly different from {comparison.baseline} (corrected p < {alpha})"
    return f"models that share no letter differ significantly (corrected p < {alpha})"


def method(comparison: Comparison) -> str:
    """Summarise tests and intervals in one line."""
    parts = [f"{_count_users(comparison)} users", tests(comparison)]
    parts.append(f"confidence intervals by {INTERVALS[comparison.interval]}, not corrected")
    if comparison.interval != "t" or comparison.test == "sign_flip":
        parts.append(f"{comparison.resamples:,} resamples, seed {comparison.seed}")
    if comparison.runs > 1:
        parts.append(
            f"means of {comparison.runs} runs; p-values generalise over users, not over runs"
        )
    return "; ".join(parts)


def _count_users(comparison: Comparison) -> str:
    users = sorted({difference.users for difference in comparison.differences})
    return " to ".join(f"{count:,}" for count in dict.fromkeys([*users[:1], *users[-1:]])) or "0"


def tests(comparison: Comparison) -> str:
    """Name the test, the correction and alpha."""
    count = comparison.tests
    family = f"{count} {'test' if count == 1 else 'tests'}"
    tested = f"{TESTS[comparison.test]}, {CORRECTIONS[comparison.correction]} for {family}"
    return f"{tested}, alpha {comparison.alpha:g}"


def sources(row: Difference, spread: Components) -> str:
    """Say how much of the variance comes from users and how much from runs."""
    total = (spread.users + spread.runs + spread.rest) or 1.0
    shares = [
        f"{100 * component / total:.0f}%" for component in (spread.users, spread.runs, spread.rest)
    ]
    return (
        f"{row.metric}, {row.model} - {row.baseline}: {shares[0]} of the variance is between "
        f"users, {shares[1]} between runs and {shares[2]} their interaction; "
        f"standard error over users and runs {spread.error:.4f}"
    )


def models_caption(comparison: Comparison, show: Collection[Extra]) -> str:
    """Return the caption of the table of models."""
    runs = comparison.runs
    over = f" and {runs} runs, ± standard deviation over runs" if runs > 1 else ""
    prefix = _name_slice(comparison)
    caption = [f"{prefix}Means over {_count_users(comparison)} users{over}."]
    used = _find_used_marks(comparison)
    styles = {"best": "best bold", "second": "second best underlined"}
    signs = [words for place, words in styles.items() if any(mark.place == place for mark in used)]
    caption += [f"{', '.join(signs).capitalize()}."] if signs else []
    if comparison.baseline and any(mark.significant for mark in used):
        caption.append(
            f"{DAGGER}: significantly different from {comparison.baseline} ({tests(comparison)})."
        )
    elif comparison.baseline:
        caption.append(
            f"No model differs significantly from {comparison.baseline} ({tests(comparison)})."
        )
    else:
        caption.append(f"Models that share no letter differ significantly ({tests(comparison)}).")
    if "interval" in show:
        how = INTERVALS[comparison.interval]
        caption.append(f"{level(comparison)} confidence intervals by {how}, not corrected.")
    if comparison.baseline and {"points", "relative"} & {*show}:
        caption.append(f"Changes are measured from {comparison.baseline}.")
    low = _find_low_metrics(comparison)
    caption += [f"Lower is better for {', '.join(low)}."] if low else []
    return " ".join(filter(None, caption))


def _name_slice(comparison: Comparison) -> str:
    name = comparison.slice
    return f"{name[:1].upper()}{name[1:]}. " if name else ""


def differences_caption(comparison: Comparison) -> str:
    """Return the caption of the table of differences."""
    how = INTERVALS[comparison.interval]
    prefix = _name_slice(comparison)
    users = _count_users(comparison)
    over = f"over {users} users with {level(comparison)} confidence intervals by {how}"
    caption = [
        f"{prefix}Mean differences {over}, not corrected; p from {tests(comparison)}.",
        "dz: mean divided by the standard deviation of the differences.",
        "Detectable: smallest difference that a t-test detects with a power of 80%.",
    ]
    if comparison.margin is not None:
        margin = f"{comparison.margin:g}"
        caption.append(f"Equivalence: corrected p of a TOST with margin {margin}.")
    return " ".join(caption)


def sentences(comparison: Comparison) -> list[str]:
    """Describe each difference in words, for readers who rarely see tables of tests."""
    return [make_visible(_describe_difference(comparison, row)) for row in comparison.differences]


def _describe_difference(comparison: Comparison, row: Difference) -> str:
    size, *ends = (format_change(row, abs(row.difference)).lstrip("+"), format_change(row, row.low),
                   format_change(row, row.high))  # fmt: skip
    prefix = f"{comparison.slice}, " if comparison.slice else ""
    subject = f"{prefix}{row.metric}: {row.model}"
    if not row.better and not row.worse:
        return f"{subject} and {row.baseline} have the same value for each of {row.users:,} users."
    better = (row.difference > 0) == (comparison.best[row.metric] == "high")
    verdict = "equal to" if not row.difference else "better than" if better else "worse than"
    by = f" by {size}" if row.difference else " on average"
    words = f"{subject} is {verdict} {row.baseline}{by} "
    words += f"({level(comparison)} confidence interval {ends[0]} to {ends[1]}); "
    words += f"better for {row.better:,} and worse for {row.worse:,} of {row.users:,} users. "
    p = f"corrected p {format_p(row.corrected)}".replace("p <", "p < ")
    if comparison.significant(row):
        words += f"The difference is statistically significant ({p}, below {comparison.alpha:g})."
    else:
        smallest = format_change(row, row.detectable).lstrip("+")
        power = (
            f"; a true difference below {smallest} would often be missed" if row.deviation else ""
        )
        words += f"The difference is not statistically significant ({p}){power}."
    if row.equivalence is not None:
        equivalent = row.equivalence < comparison.alpha
        verb = "are equivalent within" if equivalent else "were not shown to be equivalent within"
        p = format_number(row.equivalence)
        words += f" The models {verb} the margin of {comparison.margin:g} (p {p})."
    return words

"""Comparisons as papers and pages take them: Markdown, LaTeX (booktabs) and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rectitude.comparison import text
from rectitude.comparison.table import Cell, Extra, MetricColumn, columns
from rectitude.render import aligned, escaped

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison

Cells = list[list[str]]


class Form(NamedTuple):
    """How a form writes names, numbers and marks."""

    name: Callable[[str], str]
    number: Callable[[str], str]
    best: str
    second: str
    above: str
    """what stands raised after a number"""


_LATEX_SIGNS = {"-": "$-$", "<": "$<$", "±": r"$\pm$", "%": r"\%", "†": r"$^{\dagger}$"}
_SYMBOLS = {"p": "$p$", "corrected": "corrected $p$", "dz": "$d_z$"}
_WIDE = 7
"""tables of more columns are set small"""


def _latex_number(cell: str) -> str:
    """A number with signs that are no hyphens."""
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in cell)


def _latex_text(words: str) -> str:
    """Words that may hold the signs of a caption."""
    for sign in ("±", "†"):
        words = words.replace(sign, f"\0{ord(sign)}\0")
    told = escaped(words)
    for sign in ("±", "†"):
        told = told.replace(f"\0{ord(sign)}\0", _LATEX_SIGNS[sign])
    return told


MARKDOWN = Form(
    lambda name: name.replace("|", r"\|"), str, "**{}**", "<ins>{}</ins>", "<sup>{}</sup>"
)
LATEX = Form(escaped, _latex_number, r"\textbf{{{}}}", r"\underline{{{}}}", "$^{{{}}}$")
HTML = Form(html.escape, html.escape, "<strong>{}</strong>", "<u>{}</u>", "<sup>{}</sup>")


def _marked(cell: Cell, form: Form) -> str:
    """A number, bold or underlined; its raised mark follows later."""
    told = form.number(cell.text)
    return {"best": form.best, "second": form.second, "": "{}"}[cell.mark.place].format(told)


def _raised(cell: Cell) -> str:
    return cell.mark.letters or (text.APART if cell.mark.apart else "")


def _body(comparison: Comparison, every: Sequence[MetricColumn], form: Form) -> Cells:
    names = [form.name(model) for model in next(iter(comparison.values.values()))]
    written = [[_whole(cell, form) for cell in column.cells] for column in every]
    return [[*row] for row in zip(names, *written, strict=True)]


def _whole(cell: Cell, form: Form) -> str:
    raised = _raised(cell)
    return _marked(cell, form) + (form.above.format(raised) if raised else "")


def markdown(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as Markdown; numbers are bold and underlined where it is shown as a page."""
    blocks = [f"### {comparison.slice}"] if comparison.slice else []
    if "models" in parts:
        every = columns(comparison, show)
        heading = ["model", *(" ".join(filter(None, (one.metric, one.what))) for one in every)]
        blocks.append(aligned([heading, *_body(comparison, every, MARKDOWN)]))
        blocks.append(text.caption(comparison, show))
    if "differences" in parts:
        cells = text.differences(comparison)
        blocks.append(aligned([[MARKDOWN.name(cell) for cell in row] for row in cells]))
        blocks.append(text.differences_caption(comparison))
    notes = "\n".join(f"- {note}" for note in comparison.notes)
    return "\n\n".join([*blocks, *([notes] if notes else [])]) + "\n"


def latex(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as LaTeX, in the style of booktabs, with captions."""
    blocks = [f"% {note}" for note in comparison.notes]
    of = _label(comparison.slice)
    if "models" in parts:
        told = text.caption(comparison, show)
        every = columns(comparison, show)
        body = _aligned_body(comparison, every)
        blocks.append(_floating(told, f"models{of}", _latex_heading(every), body))
    if "differences" in parts:
        heading, *body = _merged(text.differences(comparison))
        told = text.differences_caption(comparison)
        rows = [[_latex_difference(row[0]), *map(_latex_cell, row[1:])] for row in body]
        above = [" & ".join(_SYMBOLS.get(word, escaped(word)) for word in heading) + r" \\"]
        blocks.append(_floating(told, f"differences{of}", above, rows, "ll"))
    return "\n".join(blocks)


def _label(words: str) -> str:
    """What tells the labels of slices apart; those below and above an edge, too."""
    told = words.replace(">=", " from ").replace("<", " below ")
    return "".join(f"-{word}" for word in re.findall(r"\w+", told))


def _latex_difference(words: str) -> str:
    return escaped(words).replace(" - ", " $-$ ")


def _latex_cell(cell: str) -> str:
    """A number; anything with letters other than pp is a name."""
    words = cell.removesuffix(" pp")
    named = any(letter.isalpha() for letter in words.replace(" pp", ""))
    return escaped(cell) if named else _latex_number(cell)


def _merged(cells: Cells) -> Cells:
    """The table of differences for a page: an interval in one column, users in another."""
    level = cells[0][3].removesuffix(" from")
    heading = [*cells[0][:3], f"{level} interval", *cells[0][5:9], "better/worse", *cells[0][11:]]
    body = [
        [*row[:3], f"[{row[3].removesuffix(' pp')}, {row[4].removesuffix(' pp')}]", *row[5:9],
         f"{row[9]}/{row[10]}", *row[11:]]
        for row in cells[1:]
    ]  # fmt: skip
    return [heading, *body]


def _latex_heading(every: Sequence[MetricColumn]) -> list[str]:
    """One row of metrics; with columns beside the numbers, a second row says what they are."""
    if all(not column.what for column in every):
        return [" & ".join(["model", *(escaped(column.metric) for column in every)]) + r" \\"]
    spans = [(metric, len([*group])) for metric, group in groupby(every, lambda one: one.metric)]
    above = [rf"\multicolumn{{{width}}}{{c}}{{{escaped(metric)}}}" for metric, width in spans]
    rules, first = [], 2
    for _, width in spans:
        rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    below = ["model", *(escaped(column.what) or "mean" for column in every)]
    return [" & ".join(["", *above]) + r" \\", "".join(rules), " & ".join(below) + r" \\"]


def _aligned_body(comparison: Comparison, every: Sequence[MetricColumn]) -> Cells:
    """The body with room for the widest raised mark in every cell, so that digits align."""
    body = _body(comparison, every, LATEX)
    for place, column in enumerate(every, 1):
        raised = [_raised(cell) for cell in column.cells]
        widest = max(raised, key=len)
        for row, cell, mark in zip(body, column.cells, raised, strict=True):
            row[place] = _marked(cell, LATEX) + _room(mark, widest)
    return body


def _room(mark: str, widest: str) -> str:
    if not widest:
        return ""
    missing = widest[len(mark) :]
    told = LATEX.above.format(_above(mark)) if mark else ""
    return told + (rf"\phantom{{$^{{{_above(missing)}}}$}}" if missing else "")


def _above(mark: str) -> str:
    return mark.replace(text.APART, r"\dagger") if text.APART in mark else rf"\mathrm{{{mark}}}"


def _floating(
    caption: str, label: str, heading: Sequence[str], body: Cells, left: str = "l"
) -> str:
    """A table with its caption above, as most styles want it; wide ones are set small."""
    spec = left + "r" * (len(body[0]) - len(left))
    small = [r"\footnotesize"] if len(spec) > _WIDE else []
    lines = [r"\begin{table}[t]", r"\centering", rf"\caption{{{_latex_text(caption)}}}"]
    lines += [rf"\label{{tab:{label}}}", *small, rf"\begin{{tabular}}{{{spec}}}", r"\toprule"]
    lines += [*heading, r"\midrule", *(" & ".join(row) + r" \\" for row in body), r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}", r"\end{table}", ""])


def page(comparison: Comparison, parts: Collection[str], show: Collection[Extra]) -> str:
    """The tables as HTML, with captions."""
    blocks = []
    if "models" in parts:
        told = text.caption(comparison, show)
        every = columns(comparison, show)
        heading = ["model", *(" ".join(filter(None, (one.metric, one.what))) for one in every)]
        blocks.append(_html_table(told, heading, _body(comparison, every, HTML)))
    if "differences" in parts:
        heading, *body = text.differences(comparison)
        told = text.differences_caption(comparison)
        blocks.append(_html_table(told, heading, [[*map(html.escape, row)] for row in body]))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in comparison.notes)
    return "".join([*blocks, *([f"<ul>{notes}</ul>\n"] if notes else [])])


def _html_table(caption: str, heading: Sequence[str], body: Cells) -> str:
    above = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in heading)
    right = '<td style="text-align: right">{}</td>'
    rows = [
        f'<tr><th scope="row" style="text-align: left">{name}</th>'
        + "".join(right.format(cell) for cell in cells)
        + "</tr>"
        for name, *cells in body
    ]
    lines = ["<table>", f"<caption>{html.escape(caption)}</caption>"]
    lines += [f"<thead><tr>{above}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>", ""]
    return "\n".join(lines)

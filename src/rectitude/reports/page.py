"""The report: one self-contained HTML file, with styles, script and figures inside."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from rectitude._version import __version__
from rectitude.reports.charts import SERIES
from rectitude.reports.content import TRACEBACK, Content, content_of
from rectitude.reports.figures import figures, in_time, notes
from rectitude.reports.headline import digits, headline, summary
from rectitude.reports.papers import Picture, write_figures
from rectitude.reports.runs import content_of_files
from rectitude.storage import write_all, write_text

__all__ = ["Content", "content_of", "page", "report"]
_FILES = Path(__file__).parent / "files"
SECTIONS = {
    "headline": "Results",
    "curves": "By cutoff",
    "differences": "Differences",
    "slices": "Slices",
    "windows": "Over time",
    "calibration": "Calibration",
    "audit": "Audit",
    "flow": "Data flow",
    "explorer": "Other conventions",
    "explain": "Why numbers differ",
    "conventions": "Definitions",
    "resources": "Time and memory",
    "details": "Run details",
}
"""The sections of the page and their headings, in order."""


def report(
    results: object,
    path: str | PathLike[str] = "report.html",
    *,
    title: str = "",
    figures: str | PathLike[str] | None = None,
    pictures: Picture = "svg",
) -> Path:
    """Write a report on results as one self-contained HTML file, and return its path.

    `results` is an evaluation, evaluations by name, a comparison, the folder of a run, the file of
    an evaluation or a comparison, or a list of folders or files to show side by side.

    `figures` is a folder for the charts, their data as CSV, and the table of results as LaTeX and
    CSV. Charts are written as SVG, and with `pictures="png"` also as PNG.
    """
    content = _read_content(results, title)
    if figures is None:
        return write(content, path)
    folder = figures

    def write_both(temporary: Path) -> None:
        """Write the page under a temporary name: it appears once the figures are there."""
        temporary.write_text(page(content), encoding="utf-8")
        write_figures(content, folder, pictures)

    write_all({Path(path): write_both})
    return Path(path)


def _read_content(results: object, title: str) -> Content:
    if isinstance(results, str | PathLike):
        return content_of_files([results], title)
    if isinstance(results, list | tuple) and results:
        return content_of_files(results, title)
    return content_of(results, title)


def write(content: Content, path: str | PathLike[str]) -> Path:
    """Write the report, whole or not at all."""
    write_text(path, page(content))
    return Path(path)


def page(content: Content) -> str:
    """Return the report as HTML."""
    drawn = figures(content)
    html: str = page_template("page.html").render(
        content=content,
        version=__version__,
        headings=_choose_sections(content, drawn),
        figures=drawn,
        headline=headline(content),
        summary=summary(content),
        audit=_findings(content),
        standings=_standings(content),
        notes=notes(content),
        failures=_failures(content),
        ledger=_ledgers(content),
        style=read_asset("page.css"),
        palette=SERIES,
        script=read_asset("page.js"),
        data=embed_json(content.as_dict()),
        figure_data=embed_json({f.name: f.data for group in drawn.values() for f in group}),
    )
    return html


def _choose_sections(content: Content, drawn: Mapping[str, Any]) -> dict[str, str]:
    """Return the sections that have content, with their headings."""
    has_content = {
        "headline": True,
        "audit": content.audit is not None,
        "explorer": content.robustness is not None,
        "flow": bool(content.flow or content.ledgers),
        "conventions": bool(content.definitions),
        "resources": bool(content.resources),
        "details": bool(content.details or content.reproduce or content.failures),
    }
    titles = SECTIONS if in_time(content) else SECTIONS | {"windows": "By split"}
    return {name: title for name, title in titles.items() if has_content.get(name, name in drawn)}


def _findings(content: Content) -> list[dict[str, Any]]:
    """Return the findings of the audit, worst first, without the checks that passed."""
    if content.audit is None:
        return []
    return [finding for finding in content.audit["findings"] if finding["severity"] != "fine"]


def _failures(content: Content) -> list[tuple[str, str, str]]:
    """Return what failed, the reason in words, and the traceback if there is one."""
    split = ((name, text.partition(TRACEBACK)) for name, text in content.failures.items())
    return [(name, reason.strip(), start + rest) for name, (reason, start, rest) in split]


def _standings(content: Content) -> dict[str, Any]:
    """Return the conventions that change a value, beginning with those that change the order, and
    the names of those that change nothing."""
    robustness = content.robustness
    if robustness is None:
        return {}
    base = robustness["base"]["values"]
    numbered = list(enumerate(robustness["standings"], 1))
    moving = [(nth, standing) for nth, standing in numbered if standing["values"] != base]
    still = [standing["label"] for _, standing in numbered if standing["values"] == base]
    return {"moving": sorted(moving, key=lambda pair: not pair[1]["changed"]), "still": still}


def _ledgers(content: Content) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the ledger entries of each model that are not 0."""
    return [
        (model, [{"name": name, **entry} for name, entry in ledger["counts"].items()
                 if entry["count"]])
        for model, ledger in content.ledgers.items()
    ]  # fmt: skip


def embed_json(value: object) -> str:
    """Return JSON that is safe inside a script element, for any text in it."""
    text = json.dumps(_replace_nonfinite(value), allow_nan=False, default=str)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _replace_nonfinite(value: Any) -> Any:
    """Replace infinite and undefined numbers by None, because JSON cannot write them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _replace_nonfinite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_nonfinite(entry) for entry in value]
    return value


def read_asset(name: str) -> str:
    """Return the text of a file that belongs to the pages."""
    return (_FILES / name).read_text("utf-8")


@cache
def page_template(name: str) -> Any:
    """Return a page to fill in; everything that is filled in is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FILES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["digits"] = _format_value
    environment.filters["seconds"] = format_seconds
    environment.filters["bytes"] = format_bytes
    environment.filters["energy"] = format_energy
    return environment.get_template(name)


def _format_value(value: object) -> str:
    """Format a value of any type for a table."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return digits(value)


def format_seconds(seconds: float) -> str:
    """Format a time for readers."""
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes // 60} h {minutes % 60:02} min"
        if minutes >= 60
        else f"{minutes} min {rest:02} s"
    )


def format_bytes(size: int | None) -> str:
    """Format an amount of memory for readers."""
    if size is None:
        return "–"
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def format_energy(energy: float | None) -> str:
    """Format an amount of energy in kWh for readers."""
    if energy is None:
        return "–"
    return f"{energy:.3f} kWh" if energy >= 0.1 else f"{1000 * energy:.3g} Wh"

"""The report: one HTML file with styles, script and figures inside, which needs only a browser."""

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
from rectitude.storage import write_text

__all__ = ["Content", "content_of", "page", "report"]
_FILES = Path(__file__).parent / "files"
SECTIONS = {
    "headline": "Results",
    "curves": "By cutoff",
    "differences": "Differences",
    "slices": "Slices",
    "windows": "Over time",
    "audit": "Audit",
    "flow": "Data flow",
    "explorer": "Other conventions",
    "explain": "Why numbers differ",
    "conventions": "Definitions",
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
    """Write a report of results as one HTML file that can be opened anywhere.

    `results` is an evaluation, evaluations by name, a comparison, the folder of a run, a file of
    one of the former, or a list of folders or files, which are shown side by side. `figures` names
    a folder for the charts, as SVG or with `pictures="png"` as PNG too, with their data as CSV, and
    for the table of results as LaTeX and CSV.
    """
    content = _content(results, title)
    if figures is not None:
        write_figures(content, figures, pictures)
    return write(content, path)


def _content(results: object, title: str) -> Content:
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
    """The report as HTML."""
    drawn = figures(content)
    made: str = _template().render(
        content=content,
        version=__version__,
        headings=_present(content, drawn),
        figures=drawn,
        headline=headline(content),
        summary=summary(content),
        audit=_findings(content),
        standings=_standings(content),
        notes=notes(content),
        failures=_failures(content),
        ledger=_ledgers(content),
        style=_file("page.css"),
        palette=SERIES,
        script=_file("page.js"),
        data=_inside(content.as_dict()),
        figure_data=_inside({f.name: f.data for own in drawn.values() for f in own}),
    )
    return made


def _present(content: Content, drawn: Mapping[str, Any]) -> dict[str, str]:
    """The sections that have something to show."""
    there = {
        "headline": True,
        "audit": content.audit is not None,
        "explorer": content.robustness is not None,
        "flow": bool(content.flow or content.ledgers),
        "conventions": bool(content.definitions),
        "details": bool(content.details or content.reproduce or content.failures),
    }
    titles = SECTIONS if in_time(content) else SECTIONS | {"windows": "By split"}
    return {name: title for name, title in titles.items() if there.get(name, name in drawn)}


def _findings(content: Content) -> list[dict[str, Any]]:
    """What the audit found, worst first; what is fine is only counted."""
    if content.audit is None:
        return []
    return [one for one in content.audit["findings"] if one["severity"] != "fine"]


def _failures(content: Content) -> list[tuple[str, str, str]]:
    """What failed, why in words, and the traceback if there is one."""
    split = ((what, why.partition(TRACEBACK)) for what, why in content.failures.items())
    return [(what, said.strip(), sign + rest) for what, (said, sign, rest) in split]


def _standings(content: Content) -> dict[str, Any]:
    """Other conventions: those that move a number, the ones that change the order first, and the
    names of those that move nothing."""
    found = content.robustness
    if found is None:
        return {}
    base = found["base"]["values"]
    numbered = list(enumerate(found["standings"], 1))
    moving = [(nth, one) for nth, one in numbered if one["values"] != base]
    still = [one["label"] for _, one in numbered if one["values"] == base]
    return {"moving": sorted(moving, key=lambda pair: not pair[1]["changed"]), "still": still}


def _ledgers(content: Content) -> list[tuple[str, list[dict[str, Any]]]]:
    """The counts of each model's ledger that counted something."""
    return [
        (model, [{"name": name, **entry} for name, entry in ledger["counts"].items()
                 if entry["count"]])
        for model, ledger in content.ledgers.items()
    ]  # fmt: skip


def _inside(value: object) -> str:
    """JSON that can stand inside a script element, whatever texts it holds."""
    text = json.dumps(_finite(value), allow_nan=False, default=str)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _finite(value: Any) -> Any:
    """JSON has no word for infinite and undefined numbers: null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _file(name: str) -> str:
    return (_FILES / name).read_text("utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FILES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["digits"] = _digits
    return environment.get_template("page.html")


def _digits(value: object) -> str:
    """A value in a table, whatever it is."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return digits(value)

"""The report: one HTML file that needs nothing but a browser, and its figures and tables."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from rectitude.page.content import Content, content_of
from rectitude.page.html import page, write
from rectitude.page.papers import Picture, write_figures
from rectitude.page.stored import content_of_files

__all__ = ["Content", "content_of", "page", "report"]


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

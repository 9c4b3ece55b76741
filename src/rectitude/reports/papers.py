"""Figures and tables for papers: SVG and PNG, CSV with full precision, LaTeX."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from rectitude.errors import MissingExtra
from rectitude.render import csv, escaped, latex
from rectitude.reports.charts import standalone
from rectitude.reports.content import Content
from rectitude.reports.figures import every, figures
from rectitude.reports.headline import headline
from rectitude.storage import make_folder, write_all

Picture = Literal["svg", "png"]
"""Charts as SVG alone, or as PNG too."""
SCALE = 3.0
"""Pixels of a PNG for each unit of a chart."""


def write_figures(
    content: Content, folder: str | PathLike[str], pictures: Picture = "svg"
) -> list[Path]:
    """Write every chart with its data, and the table of results; all of them or none."""
    where = make_folder(folder)
    texts = {
        "results.csv": csv(_rows(content)),
        "results.tex": latex(_cells(content), str),
    }
    for figure in every(figures(content)):
        texts[f"{figure.name}.svg"] = standalone(figure.chart)
        texts[f"{figure.name}.csv"] = csv(figure.data)
    files: dict[Path, Any] = {
        where / name: partial(_text, text=text) for name, text in texts.items()
    }
    if pictures == "png":
        files |= {
            where / name.replace(".svg", ".png"): partial(_png, text=text)
            for name, text in texts.items()
            if name.endswith(".svg")
        }
    write_all(files)
    return list(files)


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _png(path: Path, text: str) -> None:
    try:
        from cairosvg import svg2png  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtra(
            "PNG files need cairosvg, which is not installed.",
            "",
            "pip install 'rectitude[figures]'",
        ) from error
    path.write_bytes(svg2png(bytestring=text.encode(), scale=SCALE))


def _rows(content: Content) -> list[dict[str, Any]]:
    return [
        {"model": model, "metric": metric, **asdict(value)}
        for metric, of in content.values.items()
        for model, value in of.items()
    ]


def _cells(content: Content) -> list[list[str]]:
    """The table of results in LaTeX: best bold, second best underlined."""
    table = headline(content)
    marked = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
    rows = [
        [
            escaped(row["model"]),
            *(_marked(marked[cell.mark] % cell.text, cell) for cell in row["cells"]),
        ]
        for row in table["rows"]
    ]
    return [["model", *map(escaped, table["metrics"])], *rows]


def _marked(text: str, cell: Any) -> str:
    return text + (r"$^\dagger$" if cell.apart else "")

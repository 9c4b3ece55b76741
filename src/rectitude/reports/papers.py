"""Figures and tables for papers: SVG and PNG, CSV with full precision, LaTeX."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from rectitude.errors import MissingExtra
from rectitude.render import DAGGER, LATEX, Cell, Grid, csv
from rectitude.reports.charts import standalone
from rectitude.reports.content import Content
from rectitude.reports.figures import every, figures
from rectitude.reports.headline import headline
from rectitude.storage import made_folder, write_all

Picture = Literal["svg", "png"]
"""Charts as SVG alone, or as PNG too."""
SCALE = 3.0
"""Pixels of a PNG per unit of a chart."""
_PLAIN = LATEX._replace(number=str, raised=lambda _: r"$^\dagger$", room=None)
"""LaTeX in which numbers keep their hyphens, and only marked cells make room for a mark."""


def write_figures(
    content: Content, folder: str | PathLike[str], pictures: Picture = "svg"
) -> list[Path]:
    """Write every chart with its data, and the table of results; all files or none."""
    target = Path(folder)
    texts = {
        "results.csv": csv(_rows(content)),
        "results.tex": _table(content).latex(form=_PLAIN),
    }
    for figure in every(figures(content)):
        texts[f"{figure.name}.svg"] = standalone(figure.chart)
        texts[f"{figure.name}.csv"] = csv(figure.data)
    files: dict[Path, Any] = {
        target / name: partial(_write_text, text=text) for name, text in texts.items()
    }
    if pictures == "png":
        files |= {
            target / name.replace(".svg", ".png"): partial(_write_png, text=text)
            for name, text in texts.items()
            if name.endswith(".svg")
        }
    with made_folder(target):
        write_all(files)
    return list(files)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_png(path: Path, text: str) -> None:
    try:
        from cairosvg import svg2png  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingExtra(
            "PNG files need the package cairosvg, which is not installed.",
            "",
            "pip install 'rectitude[figures]'",
        ) from error
    path.write_bytes(svg2png(bytestring=text.encode(), scale=SCALE))


def _rows(content: Content) -> list[dict[str, Any]]:
    return [
        {"model": model, "metric": metric, **asdict(value)}
        for metric, row in content.values.items()
        for model, value in row.items()
    ]


def _table(content: Content) -> Grid:
    """Return the table of results."""
    table = headline(content)
    rows = [
        [row["model"], *(Cell(c.text, c.mark, DAGGER if c.apart else "") for c in row["cells"])]
        for row in table["rows"]
    ]
    return Grid(["model", *table["metrics"]], rows)

"""Training histories as a table and as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rectitude.reports.epoch import Epoch, one_name

if TYPE_CHECKING:
    import polars as pl


def names_of(epochs: Sequence[Epoch]) -> tuple[list[str], list[str]]:
    """The losses and the metrics of any of the epochs, each once, in order."""
    losses = dict.fromkeys(name for epoch in epochs for name in epoch.losses)
    metrics = dict.fromkeys(name for epoch in epochs for name in epoch.evaluation.results)
    return [*losses], [*metrics]


def curves(epochs: Sequence[Epoch]) -> pl.DataFrame:
    """One row per evaluated epoch: its number, losses and metrics; null where there is none."""
    import polars as pl

    losses, metrics = names_of(epochs)
    columns: dict[str, Any] = {"epoch": pl.Series([one.number for one in epochs], dtype=pl.Int64)}
    for name in [*losses, *metrics]:
        columns[name] = pl.Series([one.value(name) for one in epochs], dtype=pl.Float64)
    return pl.DataFrame(columns)


def figure(epochs: Sequence[Epoch], names: Sequence[str], best: Epoch | None) -> Any:
    """A Plotly chart: metrics above, losses below if there are any, the best epoch marked."""
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    losses, metrics = names_of(epochs)
    asked = [one_name(name) for name in names] or [*metrics, *losses]
    rows = [panel for panel in (metrics, losses) if set(panel) & set(asked)]
    chart: Figure = make_subplots(rows=max(len(rows), 1), cols=1, shared_xaxes=True)
    when = [one.number for one in epochs]
    for row, panel in enumerate(rows, 1):
        for name in [name for name in asked if name in panel]:
            line = Scatter(x=when, y=[one.value(name) for one in epochs], name=name)
            chart.add_trace(line.update(mode="lines+markers"), row=row, col=1)
    if best is not None:
        chart.add_vline(best.number, line_dash="dot", line_color="gray")
    chart.update_xaxes(title_text="epoch", row=len(rows) or 1, col=1)
    return chart.update_layout(template="plotly_white", height=360 * max(len(rows), 1))

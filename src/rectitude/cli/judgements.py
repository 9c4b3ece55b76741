"""The forms of judgements that trec_eval reads besides qrels: preferences between documents, the
judgements of several groups, and the means of other systems for z-scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.cli.options import split_format

if TYPE_CHECKING:
    import polars as pl

    from rectitude.evaluation.opinions import Counted
    from rectitude.reports.trec import Form, TrecLine, TrecValues

Scores = Mapping[tuple[str, str], tuple[float, float]]
"""The mean and the standard deviation by query and measure."""


def read_judgements(truth: str, form: Form) -> pl.DataFrame:
    """Return judgements with their groups."""
    import polars as pl

    from rectitude.data.formats import trec

    path = Path(split_format(truth)[1]).expanduser()
    if form == "prefs":
        roles = {"list": "qid", "group": "group", "part": "subgroup", "item": "docno"}
        return trec.read_fields(path, trec.PREFS, {**roles, "grade": "level"})
    roles = {"list": "qid", "group": "iter", "item": "docno", "grade": "rel"}
    return trec.read_fields(path, trec.QRELS, roles).with_columns(part=pl.lit("0"))


def read_scores(path: str) -> Scores:
    """Return the means and standard deviations of a file of z-scores."""
    from rectitude.data.formats import trec

    roles = {"list": "qid", "measure": "measure", "score": "mean", "weight": "deviation"}
    rows = trec.read_fields(Path(path).expanduser(), trec.ZSCORES, roles)
    return {(query, measure): (mean, width) for query, measure, mean, width in rows.iter_rows()}


def read_run(run: Any, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows of a run: list, item and score, with ids as text."""
    import polars as pl

    from rectitude.data.read import read
    from rectitude.predictions.lists import order_of

    table = read(run, "predictions", hints=settings["columns"], list_key=settings["list_key"])
    order_of(table, "score")
    return table.frame.select(pl.col("list", "item").cast(pl.String), "score")


def measure_lines(
    lines: Sequence[TrecLine],
    rows: pl.DataFrame,
    judgements: pl.DataFrame,
    counted: Counted,
    most: int | None = None,
) -> dict[str, dict[str, float]]:
    """Return the values of preference measures by label and query, for queries that have a list, or
    for all that are judged; equal scores are ordered by document, ascending, and lists are cut at
    `most`."""
    from rectitude.evaluation.opinions import measure_preferences
    from rectitude.metrics.preferences import PREFERENCE_MEASURES

    ranked = rows.sort("score", "item", descending=[True, False], maintain_order=True)
    names = [line.label for line in lines if line.label in PREFERENCE_MEASURES]
    found = measure_preferences(["prefs_simp", *names], ranked, judgements, counted, most)
    queries = {name: {str(q): value for q, value in row.items()} for name, row in found.items()}
    return {
        "num_q": dict.fromkeys(queries["prefs_simp"], 1.0),
        **{name: queries[name] for name in names},
    }


def average_lines(
    values: TrecValues, owners: Mapping[Hashable, Hashable]
) -> dict[str, dict[str, float]]:
    """Return the mean over the groups of each query, by label and query; `owners` has the query of
    each group."""
    from rectitude.evaluation.opinions import average_groups

    groups = {str(number): query for number, query in owners.items()}
    averaged = average_groups(values.queries, groups)
    return {label: {str(q): value for q, value in row.items()} for label, row in averaged.items()}

"""The forms of judgements that trec_eval reads besides qrels: preferences between documents, the
judgements of several groups, and the means of other systems for z-scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rectitude.cli.options import split_format
from rectitude.errors import NothingToEvaluate

if TYPE_CHECKING:
    import polars as pl

    from rectitude.reports.trec import Form, TrecLine, TrecValues

Counted = Literal["judged", "handed"]
"""The queries that count: all that are judged, or those among them that have a list."""
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


def measure_preferences(
    lines: Sequence[TrecLine],
    rows: pl.DataFrame,
    judgements: pl.DataFrame,
    counted: Counted,
    most: int | None = None,
) -> dict[str, dict[str, float]]:
    """Return the values of preference measures by label and query, for queries that have a list, or
    for all that are judged; equal scores are ordered by document, ascending, and lists are cut at
    `most`."""
    from rectitude.judge.preferences import judge_preferences
    from rectitude.metrics.preferences import PREFERENCE_MEASURES

    ranked = rows.sort("score", "item", descending=[True, False], maintain_order=True)
    ranked = ranked if most is None else ranked.group_by("list", maintain_order=True).head(most)
    handed = set(rows["list"])
    opinions = judge_preferences(ranked, judgements.rename({"grade": "level"}))
    chosen = {q: found for q, found in opinions.items() if counted == "judged" or q in handed}
    _require_queries(chosen)
    names = [line.label for line in lines if line.label in PREFERENCE_MEASURES]
    queries = {
        name: {query: PREFERENCE_MEASURES[name](found) for query, found in chosen.items()}
        for name in names
    }
    return {"num_q": dict.fromkeys(chosen, 1.0), **queries}


def split_groups(
    rows: pl.DataFrame, judgements: pl.DataFrame, list_key: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a run and judgements in which every group of a query is a query of its own."""
    import polars as pl

    name = pl.concat_str("list", "group", separator=" ").alias(list_key)
    pairs = judgements.select("list", "group").unique(maintain_order=True)
    lists = rows.join(pairs, on="list", maintain_order="left")
    _require_queries(lists["list"])
    return (
        lists.select(name, "item", "score"),
        judgements.select(name, "item", "grade"),
    )


def average_groups(values: TrecValues) -> dict[str, dict[str, float]]:
    """Return the mean over the groups of each query, by label and query."""
    from math import fsum

    averaged: dict[str, dict[str, float]] = {}
    for label, row in values.queries.items():
        groups: dict[str, list[float]] = {}
        for name, value in row.items():
            groups.setdefault(name.partition(" ")[0], []).append(value)
        averaged[label] = {query: fsum(found) / len(found) for query, found in groups.items()}
    return averaged


def _require_queries(found: Any) -> None:
    if not len(found):
        raise NothingToEvaluate(
            "no query of the run is judged.", "a run and judgements of the same queries."
        )

"""`rectitude robustness`: does the order of models depend on the convention?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, opened, source
from rectitude.cli.options import Json, convention_of, pairs

NAME = "robustness"
EXAMPLE = """\b
Examples:
  rectitude robustness a.csv b.csv c.csv --truth test.csv --metric ndcg@10
  rectitude robustness a.csv b.csv --truth test.csv --metric map --base undefined=zero
  rectitude robustness --scores a.npz b.npz --truth test.csv --metric recall@20 --json"""


def run(  # noqa: PLR0913  one parameter per option
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Ranked lists of one model each."),
    ] = None,
    *,
    metric: files.MetricName,
    truth: files.Truth = None,
    scores: files.Scores = None,
    logits: files.Logits = None,
    targets: files.Targets = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME ...", help="Only these profiles, not all with the metric."),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE|SWITCH=VALUE ...", help="The convention that the others are held to."
        ),
    ] = None,
    train: files.Train = None,
    candidates: files.Candidates = None,
    ranking: files.Ranking = None,
    score_users: files.ScoreUsers = None,
    score_items: files.ScoreItems = None,
    padding: files.Padding = None,
    items: files.Items = None,
    users: files.Users = None,
    weights: files.Weights = None,
    list_key: files.ListKey = "user",
    columns: files.Columns = None,
    as_json: Json = False,
    output: files.Output = None,
) -> int:
    """Say under which conventions the order of models changes.

    The models are ordered under a base convention, under every profile that defines the metric, and
    under every convention that differs from the base in one switch.
    """
    from rectitude.explanation.robustness import robustness

    files.require_writable(output)
    given: dict[str, Any] = {
        "train": source(train), "items": items, "users": users, "weights": weights,
        "list_key": list_key, "columns": pairs(columns or (), "--columns", "user=visitor"),
        "candidates": source(candidates), "ranking": source(ranking),
    }  # fmt: skip
    inputs = Inputs(
        named or (), scores or (), logits or (), truth, targets, score_users, score_items,
        padding=padding,
    )  # fmt: skip
    models, answers = opened(inputs)
    found = robustness(models, answers, metric, profile, convention_of(base or ()), **given)
    files.deliver(found.to_json() if as_json else str(found), output)
    return 0

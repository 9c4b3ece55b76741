"""`rectitude trace`: how does the value of one list come about?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, one_opened, source
from rectitude.cli.options import Conventions, Json, convention_of, pairs

NAME = "trace"
EXAMPLE = """\b
Examples:
  rectitude trace recs.csv --truth test.csv --metric ndcg@10 --user u17
  rectitude trace recs.csv --truth test.csv --metric map@10 --user u17 --convention rectools
  rectitude trace --scores scores.npz --truth test.csv --train train.csv --metric mrr --user u17"""


def run(  # noqa: PLR0913  one parameter per option
    predictions: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Ranked lists: user, item, score.")
    ] = None,
    *,
    truth: files.Truth = None,
    metric: files.MetricName,
    user: Annotated[
        str, typer.Option(metavar="ID", help="The user, or with --list-key the key of the list.")
    ],
    convention: Conventions = None,
    scores: files.Scores = None,
    logits: files.Logits = None,
    targets: files.Targets = None,
    train: files.Train = None,
    candidates: files.Candidates = None,
    ranking: files.Ranking = None,
    score_users: files.ScoreUsers = None,
    score_items: files.ScoreItems = None,
    padding: files.Padding = None,
    items: files.Items = None,
    users: files.Users = None,
    list_key: files.ListKey = "user",
    columns: files.Columns = None,
    as_json: Json = False,
) -> int:
    """Follow one metric through one list, step by step.

    The list with what every rank adds, whether the list counts, what is divided by what. The value
    is the one that `rectitude evaluate --per-list` writes.
    """
    from rectitude.explanation.trace import trace

    inputs = Inputs(
        [predictions] if predictions else (), scores or (), logits or (), truth, targets,
        score_users, score_items, padding=padding,
    )  # fmt: skip
    found, relevant = one_opened(inputs)
    traced = trace(
        found, relevant, metric, user, convention_of(convention or ()), train=source(train),
        items=items, users=users, candidates=source(candidates), ranking=source(ranking),
        list_key=list_key, columns=pairs(columns or (), "--columns", "user=visitor"),
    )  # fmt: skip
    typer.echo(traced.to_json() if as_json else str(traced))
    return 0

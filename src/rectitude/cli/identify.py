"""`rectitude identify`: under which definition do my predictions give a reported value?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, one_opened, source
from rectitude.cli.options import Json, pairs

NAME = "identify"
EXAMPLE = """\b
Examples:
  rectitude identify recs.csv --truth test.csv --metric ndcg@10 --value 0.0612
  rectitude identify recs.csv --truth test.csv --metric recall@20 --value 12.5%
  rectitude identify recs.csv --truth test.csv --metric map@10 --value 0.06 --tolerance 1e-3 \\
      --profiles recbole,elliot"""


def run(  # noqa: PLR0913  one parameter per option
    predictions: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Ranked lists: user, item, score.")
    ] = None,
    *,
    truth: files.Truth = None,
    scores: files.Scores = None,
    logits: files.Logits = None,
    targets: files.Targets = None,
    metric: files.MetricName,
    value: Annotated[
        str, typer.Option(metavar="NUMBER", help="The reported value, with the decimals printed.")
    ],
    decimals: Annotated[
        int | None, typer.Option(metavar="N", help="How many decimals count, if not those.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How far a value may be off instead.")
    ] = None,
    profiles: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these profiles; all otherwise.")
    ] = None,
    most: Annotated[int, typer.Option(help="How many assignments to try.")] = 10_000,
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
    output: files.Output = None,
) -> int:
    """Find the definitions under which predictions give a reported value.

    Every profile is tried, then profiles with one switch changed, with two, and so on. How many
    values would fit by chance is said too. Exit code 1 if nothing fits.
    """
    from rectitude.explanation.identify import identify

    files.require_writable(output)
    given: dict[str, Any] = {
        "decimals": decimals, "tolerance": tolerance, "train": source(train), "items": items,
        "users": users, "candidates": source(candidates), "ranking": source(ranking),
        "list_key": list_key, "columns": pairs(columns or (), "--columns", "user=visitor"),
        "profiles": None if profiles is None else profiles.replace(",", " ").split(),
        "most": most,
    }  # fmt: skip
    lists = () if predictions is None else (predictions,)
    found, known = one_opened(
        Inputs(
            lists, scores or (), logits or (), truth, targets, score_users, score_items,
            padding=padding,
        )
    )  # fmt: skip
    identification = identify(found, known, metric, value, **given)
    text = identification.to_json() if as_json else str(identification)
    files.deliver(text, output)
    return 0 if identification else 1

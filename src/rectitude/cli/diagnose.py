"""`rectitude diagnose`: why is my NDCG what it is, and can it be compared with that one?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, one_opened, source
from rectitude.cli.options import Conventions, Json, convention_of, pairs

NAME = "diagnose"
EXAMPLE = """\b
Examples:
  rectitude diagnose recs.csv --truth test.csv
  rectitude diagnose recs.csv --truth test.csv --at 20 --reference 0.09185
  rectitude diagnose recs.csv --truth test.csv --at 20 --reference 9.185% \\
      --reference-convention comirec-paper
  rectitude diagnose --logits logits.npy --targets targets.npy --json"""


def run(  # noqa: PLR0913  one parameter per option
    predictions: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Ranked lists: user, item, score.")
    ] = None,
    *,
    truth: files.Truth = None,
    at: Annotated[int, typer.Option(metavar="K", help="The cutoff.")] = 10,
    reference: Annotated[
        str | None, typer.Option(metavar="VALUE", help="A published value to compare with.")
    ] = None,
    reference_convention: Annotated[
        list[str] | None,
        typer.Option(metavar="PROFILE|SWITCH=VALUE ...", help="How that value was computed."),
    ] = None,
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
    """Take NDCG apart, and compare it with a published value.

    The hit rate, NDCG over all lists and over those with a hit, with the ideal from the truth and
    from the hits, where hits stand, and what follows from it in words.
    """
    from rectitude.explanation.diagnose import diagnose

    inputs = Inputs(
        [predictions] if predictions else (), scores or (), logits or (), truth, targets,
        score_users, score_items, padding=padding,
    )  # fmt: skip
    found, relevant = one_opened(inputs)
    theirs = convention_of(reference_convention) if reference_convention else None
    diagnosis = diagnose(
        found, relevant, at, convention_of(convention or ()), reference,
        reference_convention=theirs, train=source(train), items=items, users=users,
        candidates=source(candidates), ranking=source(ranking), list_key=list_key,
        columns=pairs(columns or (), "--columns", "user=visitor"),
    )  # fmt: skip
    typer.echo(diagnosis.to_json() if as_json else str(diagnosis))
    return 0

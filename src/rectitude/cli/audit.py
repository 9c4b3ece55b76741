"""`rectitude audit`: what is wrong with a split and predictions, and what does it do?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, one_opened, source
from rectitude.cli.options import Conventions, Json, convention_of, labelled, pairs
from rectitude.errors import BadName

NAME = "audit"
EXAMPLE = """\b
Examples:
  rectitude audit --train train.csv --truth test.csv
  rectitude audit --train train.csv --truth test.csv --predictions recs.csv
  rectitude audit --train train.csv --validation valid.csv --truth test.csv --json
  rectitude audit --train u1.base --truth u1.test --folds u1.test u2.test u3.test"""


def run(  # noqa: PLR0913  one parameter per option
    *,
    train: files.Train = None,
    truth: files.Truth = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Ranked lists: user, item, score."),
    ] = None,
    scores: files.Scores = None,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the model was chosen by.")
    ] = None,
    folds: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE ...", help="The truths of several folds."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME ...", help="What effects are measured by."),
    ] = None,
    convention: Conventions = None,
    score_users: files.ScoreUsers = None,
    score_items: files.ScoreItems = None,
    padding: files.Padding = None,
    items: files.Items = None,
    users: files.Users = None,
    columns: files.Columns = None,
    as_json: Json = False,
    output: files.Output = None,
) -> int:
    """Check a split and predictions, and measure what each finding does to the metrics.

    Exits 1 if something serious was found. Without predictions, effects are measured on the most
    popular items of the training data.
    """
    from rectitude.auditing import METRICS, audit

    files.require_writable(output)
    inputs = Inputs(
        predictions or (), scores or (), truth=truth, score_users=score_users,
        score_items=score_items, padding=padding,
    )  # fmt: skip
    found = audit(
        source(train), source(truth), _predictions(inputs), validation=source(validation),
        items=items, users=users, metrics=metrics or METRICS,
        convention=convention_of(convention or ()), folds=dict(labelled(folds or ())),
        columns=pairs(columns or (), "--columns", "user=visitor"),
    )  # fmt: skip
    files.deliver(found.to_json() if as_json else str(found), output)
    return found.exit_code


def _predictions(inputs: Inputs) -> Any:
    """The predictions that were named; None if there are none."""
    if not inputs.predictions and not inputs.scores:
        return None
    if inputs.truth is None and inputs.predictions:
        if len(inputs.predictions) > 1:
            raise BadName(f"{len(inputs.predictions)} predictions were named.", "one.")
        return inputs.predictions[0]
    return one_opened(inputs)[0]

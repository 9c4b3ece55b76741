"""`rectitude audit`: what is wrong with a split and predictions, and what does it do?"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from rectitude.cli.files import Files, with_files
from rectitude.cli.inputs import source
from rectitude.cli.options import Conventions, convention_of, labelled
from rectitude.errors import BadName

NAME = "audit"
EXAMPLE = """\b
Examples:
  rectitude audit --train train.csv --truth test.csv
  rectitude audit --train train.csv --truth test.csv --predictions recs.csv
  rectitude audit --train train.csv --validation valid.csv --truth test.csv --json
  rectitude audit --train u1.base --truth u1.test --folds u1.test u2.test u3.test"""


_WITHOUT = ("logits", "targets", "candidates", "ranking", "weights", "list_key")


@partial(with_files, without=_WITHOUT)
def run(
    *,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the model was chosen by.")
    ] = None,
    folds: Annotated[
        list[str] | None, typer.Option(metavar="FILE ...", help="The truths of several folds.")
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="NAME ...", help="What effects are measured by.")
    ] = None,
    convention: Conventions = None,
    files: Files,
) -> int:
    """Check a split and predictions, and measure what each finding does to the metrics.

    Exits 1 if something serious was found. Without predictions, effects are measured on the most
    popular items of the training data.
    """
    from rectitude.auditing import METRICS, audit

    given = files.given()
    found = audit(
        given["train"], source(files.truth), _predictions(files, predictions or []),
        validation=source(validation), items=files.items, users=files.users,
        metrics=metrics or METRICS, convention=convention_of(convention or ()),
        folds=dict(labelled(folds or ())), columns=given["columns"],
    )  # fmt: skip
    files.deliver(found)
    return found.exit_code


def _predictions(files: Files, lists: list[str]) -> Any:
    """The predictions that were named; None if there are none."""
    if len(lists) > 1:
        raise BadName(f"{len(lists)} predictions were named.", "one.")
    if not lists and not files.scores:
        return None
    if files.truth is None and lists:
        return lists[0]
    return files.one_opened(lists[0] if lists else None)[0]

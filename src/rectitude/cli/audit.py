"""`rectitude audit`: what is wrong with a split and predictions, and what does it do?"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from rectitude.cli.inputs import Files, ranked_lists, source, with_files
from rectitude.cli.options import Conventions, convention_of, labelled
from rectitude.errors import BadName

NAME = "audit"
EXAMPLE = """\b
Examples:
  rectitude audit --train train.csv --truth test.csv
  rectitude audit --train train.csv --truth test.csv --predictions recs.csv
  rectitude audit --train train.csv --validation valid.csv --truth test.csv --json
  rectitude audit --split parts
  rectitude audit --train u1.base --truth u1.test --folds u1.test u2.test u3.test
  rectitude audit --logits logits.npy --targets targets.npy"""


_WITHOUT = ("candidates", "ranking")


@partial(with_files, without=_WITHOUT)
def run(
    *,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder of parts, of ours or of another framework."),
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

    Exits 1 if something serious was found, or a metric has no value. Without predictions, effects
    are measured on the most popular items of the training data.
    """
    from rectitude.auditing import audit

    given = files.given()
    if split is not None and files.train is not None:
        raise BadName("--split and --train were given.", "one of them.")
    lists, truth = _predictions(files, predictions or [])
    found = audit(
        split or given["train"], truth, lists, validation=source(validation),
        items=given["items"], users=given["users"], weights=given["weights"],
        list_key=files.list_key,
        metrics=metrics, convention=convention_of(convention or ()),
        folds=_folds(folds), columns=given["columns"],
    )  # fmt: skip
    files.deliver(found)
    return found.exit_code


def _folds(words: list[str] | None) -> dict[str, Any] | None:
    """The truths of the folds by their labels."""
    return {label: source(file) for label, file in labelled(words).items()} if words else None


def _predictions(files: Files, lists: list[str]) -> tuple[Any, Any]:
    """The predictions that were named, None if there are none, and the truth."""
    if len(lists) > 1:
        raise BadName(f"{len(lists)} predictions were named.", "one.")
    dense = files.scores or files.logits
    if not dense and (not lists or files.truth is None):
        return (ranked_lists(lists[0]) if lists else None), source(files.truth)
    return files.one_opened(lists[0] if lists else None)

"""`rectitude audit`: find faults in a split and predictions, and measure their effect."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from rectitude.cli.inputs import Files, open_lists, refuse_dense_options, source, with_files
from rectitude.cli.options import Conventions, convention_of, label_paths
from rectitude.errors import BadArgument

NAME = "audit"
EXAMPLE = """\b
Examples:
  rectitude audit --train train.csv --truth test.csv
  rectitude audit --train train.csv --truth test.csv --predictions recs.csv
  rectitude audit --train train.csv --validation valid.csv --truth test.csv --json
  rectitude audit --split parts
  rectitude audit --train u1.base --truth u1.test --folds u1.test u2.test u3.test
  rectitude audit --logits logits.npy --targets targets.npy"""


_UNUSED_FILES = ("seen", "candidates", "ranking")
"""Options for files that an audit does not use."""


@partial(with_files, without=_UNUSED_FILES)
def run(
    *,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="A folder with a split, from rectitude or another framework."
        ),
    ] = None,
    validation: Annotated[
        str | None, typer.Option(metavar="FILE", help="Validation data, used to choose the model.")
    ] = None,
    folds: Annotated[
        list[str] | None, typer.Option(metavar="FILE ...", help="The ground truth of each fold.")
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="NAME ...", help="Metrics that measure the effects.")
    ] = None,
    convention: Conventions = None,
    files: Files,
) -> int:
    """Check a split and predictions, and measure how each finding affects the metrics.

    Exit code 1 if the audit finds something serious or a metric has no value. Without predictions,
    effects are measured on lists of the most popular items in the training data.
    """
    from rectitude.auditing import audit

    arguments = files.as_arguments()
    if split is not None and files.train is not None:
        raise BadArgument("--split and --train were both given.", "only one of them.")
    lists, truth = _predictions(files, predictions or [])
    result = audit(
        split or arguments["train"], truth, lists, validation=source(validation),
        items=arguments["items"], users=arguments["users"], weights=arguments["weights"],
        list_key=files.list_key,
        metrics=metrics, convention=convention_of(convention or ()),
        folds=_folds(folds), columns=arguments["columns"],
    )  # fmt: skip
    files.deliver(result)
    return result.exit_code


def _folds(paths: list[str] | None) -> dict[str, Any] | None:
    """Return the truth of each fold by label."""
    return {label: source(file) for label, file in label_paths(paths).items()} if paths else None


def _predictions(files: Files, lists: list[str]) -> tuple[Any, Any]:
    """Return the predictions, or None if there are none, and the truth."""
    if len(lists) > 1:
        raise BadArgument(
            f"{len(lists)} prediction files were given: {', '.join(lists)}.", "one file."
        )
    dense = files.scores or files.logits
    if not dense and (not lists or files.truth is None):
        refuse_dense_options(files)
        return (open_lists(lists[0]) if lists else None), source(files.truth)
    return files.open_one(lists[0] if lists else None)

"""`rectitude trace`: how does the value of one list come about?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli.inputs import Files, MetricName, OneFile, with_files
from rectitude.cli.options import Conventions, convention_of

NAME = "trace"
EXAMPLE = """\b
Examples:
  rectitude trace recs.csv --truth test.csv --metric ndcg@10 --user u17
  rectitude trace recs.csv --truth test.csv --metric map@10 --user u17 --convention rectools
  rectitude trace --scores scores.npz --truth test.csv --train train.csv --metric mrr --user u17"""


@with_files
def run(
    predictions: OneFile = None,
    *,
    metric: MetricName,
    user: Annotated[
        str, typer.Option(metavar="ID", help="The user, or with --list-key the key of the list.")
    ],
    convention: Conventions = None,
    files: Files,
) -> int:
    """Follow one metric through one list, step by step.

    The list with what every rank adds, whether the list counts, what is divided by what. The value
    is the one that `rectitude evaluate --per-list` writes.
    """
    from rectitude.explanation.trace import trace

    found, truth = files.one_opened(predictions)
    under = convention_of(convention or ())
    files.deliver(trace(found, truth, metric, user, under, **files.given()))
    return 0

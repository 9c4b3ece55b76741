"""`rectitude trace`: how is the value of one list computed?"""

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
        str, typer.Option(metavar="ID", help="The user, or the key of the list with --list-key.")
    ],
    convention: Conventions = None,
    files: Files,
) -> int:
    """Follow one metric through one list, step by step.

    Shows the list, what every rank adds, whether the list counts, and the final division. The value
    is the one that `rectitude evaluate --per-list` writes.
    """
    from rectitude.explanation.trace import trace

    lists, truth = files.open_one(predictions)
    switches = convention_of(convention or ())
    files.deliver(trace(lists, truth, metric, user, switches, **files.as_arguments()))
    return 0

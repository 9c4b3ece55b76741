"""`rectitude robustness`: does the order of models depend on the convention?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli.inputs import Files, MetricName, Profiles, profiles_of, with_files
from rectitude.cli.options import convention_of

NAME = "robustness"
EXAMPLE = """\b
Examples:
  rectitude robustness a.csv b.csv c.csv --truth test.csv --metric ndcg@10
  rectitude robustness a.csv b.csv --truth test.csv --metric map --base undefined=zero
  rectitude robustness --scores a.npz b.npz --truth test.csv --metric recall@20 --json"""


@with_files
def run(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Ranked lists, one file per model."),
    ] = None,
    *,
    metric: MetricName,
    profiles: Profiles = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE|SWITCH=VALUE ...", help="The convention to compare the others with."
        ),
    ] = None,
    files: Files,
) -> int:
    """Show under which conventions the order of models changes.

    Orders the models under a base convention, under every profile that defines the metric, and
    under every convention that differs from the base in one switch.
    """
    from rectitude.explanation.robustness import robustness

    models, truth = files.open(named or ())
    convention = convention_of(base or (), "--base")
    result = robustness(
        models, truth, metric, profiles_of(profiles), convention, **files.as_arguments()
    )
    files.deliver(result)
    return 0

"""`rectitude identify`: which definition of a metric gives a reported value?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli.inputs import Files, MetricName, OneFile, Profiles, profiles_of, with_files

NAME = "identify"
EXAMPLE = """\b
Examples:
  rectitude identify recs.csv --truth test.csv --metric ndcg@10 --value 0.0612
  rectitude identify recs.csv --truth test.csv --metric recall@20 --value 12.5%
  rectitude identify recs.csv --truth test.csv --metric map@10 --value 0.06 --tolerance 1e-3 \\
      --profiles recbole elliot"""


@with_files
def run(
    predictions: OneFile = None,
    *,
    metric: MetricName,
    value: Annotated[
        str, typer.Option(metavar="NUMBER", help="The reported value, with all its decimals.")
    ],
    decimals: Annotated[
        int | None, typer.Option(metavar="N", help="How many decimals must match; all by default.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How far a value may be off, instead.")
    ] = None,
    profiles: Profiles = None,
    most: Annotated[int, typer.Option(help="The largest number of definitions to try.")] = 10_000,
    files: Files,
) -> int:
    """Find the definitions under which predictions give a reported value.

    Tries every profile, then profiles with one switch changed, with two, and so on. Also reports
    how many values would match by chance. Exit code 1 if nothing matches.
    """
    from rectitude.explanation.identify import identify

    lists, truth = files.open_one(predictions)
    identification = identify(
        lists, truth, metric, value, decimals=decimals, tolerance=tolerance, most=most,
        profiles=profiles_of(profiles), **files.as_arguments(),
    )  # fmt: skip
    files.deliver(identification)
    return 0 if identification else 1

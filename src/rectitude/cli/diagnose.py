"""`rectitude diagnose`: what makes up my NDCG, and can I compare it with a published one?"""

from __future__ import annotations

from typing import Annotated

import typer

from rectitude.cli.inputs import Files, OneFile, with_files
from rectitude.cli.options import Conventions, convention_of

NAME = "diagnose"
EXAMPLE = """\b
Examples:
  rectitude diagnose recs.csv --truth test.csv
  rectitude diagnose recs.csv --truth test.csv --at 20 --reference 0.09185
  rectitude diagnose recs.csv --truth test.csv --at 20 --reference 9.185% \\
      --reference-convention comirec-paper
  rectitude diagnose --logits logits.npy --targets targets.npy --json"""


@with_files
def run(
    predictions: OneFile = None,
    *,
    at: Annotated[int, typer.Option(metavar="K", help="The cutoff.")] = 10,
    reference: Annotated[
        str | None, typer.Option(metavar="VALUE", help="A published value to compare with.")
    ] = None,
    reference_convention: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE|SWITCH=VALUE ...", help="The convention of the published value."
        ),
    ] = None,
    convention: Conventions = None,
    files: Files,
) -> int:
    """Break NDCG down, and compare it with a published value.

    Shows the hit rate, NDCG over all lists and over the lists with a hit, with the ideal from the
    truth and from the hits, the ranks of the hits, and a verdict in words.
    """
    from rectitude.explanation.diagnose import diagnose

    lists, truth = files.open_one(predictions)
    ours, published = convention_of(convention or ()), None
    if reference_convention:
        published = convention_of(reference_convention, "--reference-convention")
    diagnosis = diagnose(
        lists, truth, at, ours, reference, reference_convention=published, **files.as_arguments()
    )
    files.deliver(diagnosis)
    return 0

"""`rectitude diagnose`: why is my NDCG what it is, and can it be compared with that one?"""

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
        typer.Option(metavar="PROFILE|SWITCH=VALUE ...", help="How that value was computed."),
    ] = None,
    convention: Conventions = None,
    files: Files,
) -> int:
    """Take NDCG apart, and compare it with a published value.

    The hit rate, NDCG over all lists and over those with a hit, with the ideal from the truth and
    from the hits, where hits stand, and what follows from it in words.
    """
    from rectitude.explanation.diagnose import diagnose

    found, truth = files.one_opened(predictions)
    under, theirs = convention_of(convention or ()), None
    if reference_convention:
        theirs = convention_of(reference_convention, "--reference-convention")
    files.deliver(
        diagnose(found, truth, at, under, reference, reference_convention=theirs, **files.given())
    )
    return 0

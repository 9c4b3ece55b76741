"""`rectitude verify`: do stored results still hold?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.cli.options import Json, flag
from rectitude.cli.output import say

NAME = "verify"
EXAMPLE = """\b
Examples:
  rectitude verify runs/shop                     the folder of a run
  rectitude verify shop.zip                      a zip of it
  rectitude verify nearest.zip --inputs data     a stored evaluation, and where its files are"""


def run(
    source: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, a zip of it, or an evaluation.")
    ],
    *,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the files behind an evaluation."),
    ] = None,
    no_plugins: Annotated[
        bool, flag("--no-plugins", "Do not run code that a run names, such as metrics.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Evaluate stored predictions again, and say whether everything still holds.

    Compares files, settings, numbers with their exact sums, values per list, definitions,
    fingerprints and ledgers with what was stored, and names everything that changed. Exit code 0
    if all holds, 1 if something changed.
    """
    from rectitude.experiment.verification import verify

    plugins: Any = "off" if no_plugins else "on"
    found = verify(source, inputs=inputs, plugins=plugins)
    say(found.to_json() if as_json else str(found))
    return 0 if found.holds else 1

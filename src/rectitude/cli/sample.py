"""`rectitude sample`: write the small files that the documentation uses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from rectitude.cli.options import Json
from rectitude.cli.output import say

NAME = "sample"
EXAMPLE = """\b
Example:
  rectitude sample
  rectitude evaluate nearest.csv popular.csv --truth test.csv"""
_TRY = (
    "rectitude evaluate nearest.csv popular.csv --truth test.csv",
    "rectitude evaluate --scores scores.npz --truth test.csv --train train.csv",
    "rectitude evaluate --logits short.npy long.npy --targets targets.npy",
)


def run(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder to write to.", show_default=False)
    ] = Path(),
    as_json: Json = False,
) -> int:
    """Write the small files that the documentation uses."""
    from rectitude.data.sample import FILES, sample

    written = sample(folder)
    if as_json:
        say(json.dumps({"folder": str(written.resolve()), "files": dict(FILES)}, indent=1))
        return 0
    width = max(map(len, FILES))
    lines = [f"Files in {written.resolve()}:"]
    lines += [f"  {name:{width}}  {about}" for name, about in FILES.items()]
    lines += ["", "Try next:"]
    lines += [] if folder == Path() else [f"  cd {shlex.quote(str(folder))}"]
    say("\n".join([*lines, *(f"  {line}" for line in _TRY)]))
    return 0

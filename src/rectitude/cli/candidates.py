"""`rectitude candidates`: which items models choose among, kept in a file for all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns, source
from rectitude.cli.options import Json, file_option, named_format, roles, valued, values
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.candidates.value import Candidates
    from rectitude.data.log import Log
    from rectitude.splits.split import Split

NAME = "candidates"
EXAMPLE = """\b
Examples:
  rectitude candidates parts --set count=100 --seed 7 --output c.parquet
  rectitude candidates --train train.csv --truth test.csv --how train_items --output c.parquet
  rectitude candidates parts --set count=99 weight=popularity exponent=0.75 per=positive
  rectitude candidates parts --protocol daisyrec --set cand_num=1000 --output c.parquet
  rectitude evaluate --truth test.csv --predictions a.csv b.csv --candidates c.parquet"""


def run(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="What rectitude split wrote.", show_default=False),
    ] = None,
    *,
    train: Annotated[str | None, file_option("What was learnt from, in place of a folder.")] = None,
    truth: Annotated[str | None, file_option("What is to be found.")] = None,
    fold_in: Annotated[str | None, file_option("What is shown of the evaluated users.")] = None,
    how: Annotated[
        str | None, valued("NAME", "full, train_items, given or sampled (the default).")
    ] = None,
    protocol: Annotated[str | None, valued("NAME", "As this framework draws them.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE ...", help="Settings, such as count=100."),
    ] = None,
    items: Annotated[
        str | None, file_option("The catalogue, if it is more than the split.")
    ] = None,
    given: Annotated[str | None, file_option("The candidates of --how given: user, item.")] = None,
    seed: Annotated[int, valued("N", "For what is random.")] = 0,
    columns: Columns = None,
    output: Annotated[
        Path | None, file_option("Write them there (.parquet), for evaluate.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Choose the items that compete, once for all models that are compared.

    Prints how many there are, their hash, and what was met on the way. The file that is written
    holds all of it: `rectitude evaluate --candidates` repeats the hash, and what sampling does.
    """
    from rectitude.candidates.protocols import candidates_of

    kind = _kind(how, protocol)
    options = _options(kind, settings or [], {"source": source(given), "items": source(items)})
    options |= {} if kind in _TAKES else {"seed": seed}
    named = roles(columns or ())
    made = candidates_of(_split(folder, train, truth, fold_in, named), kind, **options)
    if output is not None:
        made.save(output)
    typer.echo(json.dumps(_described(made), indent=1) if as_json else f"{made}\n{made.ledger}")
    return 0


def _kind(how: str | None, protocol: str | None) -> str:
    from rectitude.candidates.protocols import PROTOCOLS
    from rectitude.errors import unknown_name

    if protocol is None:
        return how or "sampled"
    if how is not None:
        raise BadName("--how and --protocol were both given.", "one of them.")
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return protocol


_TAKES = {"full": ("items",), "train_items": (), "given": ("source",)}
"""What kinds that draw nothing look at."""


def _options(kind: str, settings: list[str], files: dict[str, Any]) -> dict[str, Any]:
    """The settings of a kind; an error for those that it does not look at."""
    given = {name: file for name, file in files.items() if file is not None}
    options = values(settings, "--set", "count=100") | given
    if kind == "given" and "source" not in options:
        raise BadName("--how given was given without --given.", "the file of the candidates.")
    takes = _TAKES.get(kind, [name for name in options if name != "source"])
    for name in [name for name in options if name not in takes]:
        option = {"source": "--given", "items": "--items"}.get(name, f"--set {name}")
        raise BadName(f"{option} was given, and {kind} candidates do not look at it.")
    return options


def _split(
    folder: Path | None,
    train: str | None,
    truth: str | None,
    fold_in: str | None,
    columns: dict[str, str],
) -> Split:
    from rectitude.splits.files import open_parts
    from rectitude.splits.folds import of_parts

    if (folder is None) == (train is None and truth is None):
        raise BadName("candidates need a split.", "a folder, or --train and --truth, not both.")
    if folder is not None:
        found = open_parts(folder)
        if isinstance(found, list):
            raise BadName(f"{folder} holds {len(found)} splits.", "the folder of one of them.")
        return found
    if train is None or truth is None:
        raise BadName("one part of the split was given.", "both --train and --truth.")
    files = {"train": train, "truth": truth, "fold_in": fold_in}
    return of_parts({part: _log(file, columns) for part, file in files.items() if file})


def _log(word: str, columns: dict[str, str]) -> Log:
    from rectitude.data.log import open_log
    from rectitude.data.table import Interactions

    form, file = named_format(word)
    return open_log(Interactions(file, **columns, format=form or None))


def _described(made: Candidates) -> dict[str, Any]:
    return {
        "settings": dict(made.settings), "seed": made.seed, "hash": made.hash,
        "rows": made.frame.height, "users": len(made.owners), "ledger": made.ledger.as_dict(),
    }  # fmt: skip

"""`rectitude candidates`: choose the candidate items and save them for all models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns, refuse, source
from rectitude.cli.options import Json, file_option, roles, split_format, value_option, values
from rectitude.cli.output import say
from rectitude.errors import BadArgument

if TYPE_CHECKING:
    from rectitude.candidate_sets.value import Candidates
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
        typer.Argument(
            metavar="DIR", help="A folder that rectitude split wrote.", show_default=False
        ),
    ] = None,
    *,
    train: Annotated[str | None, file_option("Training data, instead of a folder.")] = None,
    truth: Annotated[str | None, file_option("The ground truth.")] = None,
    fold_in: Annotated[str | None, file_option("Known interactions of the test users.")] = None,
    how: Annotated[
        str | None, value_option("NAME", "Kind: full, train_items, given or sampled (the default).")
    ] = None,
    protocol: Annotated[
        str | None, value_option("NAME", "Draw them as this framework does.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE ...", help="Settings, such as count=100."),
    ] = None,
    items: Annotated[
        str | None, file_option("The catalogue, if it has more items than the split.")
    ] = None,
    given: Annotated[str | None, file_option("The candidates for --how given: user, item.")] = None,
    seed: Annotated[int, value_option("N", "The random seed.")] = 0,
    columns: Columns = None,
    output: Annotated[
        Path | None, file_option("Save them to this file (.parquet), for evaluate.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Choose the candidate items once, for all models to be compared.

    Prints how many there are, their hash, and the ledger. The output file contains all of this:
    `rectitude evaluate --candidates` reports the same hash, and says if candidates were sampled.
    """
    from rectitude.candidate_sets.protocols import candidates as make_candidates

    kind = _choose_kind(how, protocol)
    options = _settings(kind, settings or [], {"source": source(given), "items": source(items)})
    if kind in _SETTINGS:
        refuse({"--seed": seed or None}, f"{kind} candidates, which are not drawn")
    options |= {} if kind in _SETTINGS else {"seed": seed}
    column_names = roles(columns or ())
    split = _split(folder, train, truth, fold_in, column_names)
    candidates = make_candidates(split, kind, **options)
    if output is not None:
        candidates.save(output)
    if as_json:
        say(json.dumps(_describe(candidates), indent=1))
    else:
        say(f"{candidates}\n{candidates.ledger}")
    return 0


def _choose_kind(how: str | None, protocol: str | None) -> str:
    """Return the kind of candidates: a protocol, or a way to choose them."""
    from rectitude.candidate_sets.protocols import PROTOCOLS
    from rectitude.errors import unknown_name

    if protocol is None:
        return how or "sampled"
    if how is not None:
        raise BadArgument("--how and --protocol were both given.", "only one of them.")
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return protocol


_SETTINGS = {"full": ("items",), "train_items": (), "given": ("source",)}
"""The settings that kinds without random draws use."""


def _settings(kind: str, settings: list[str], files: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a kind; refuse those that it does not use."""
    tables = {name: file for name, file in files.items() if file is not None}
    options = values(settings, "--set", "count=100") | tables
    if kind == "given" and "source" not in options:
        raise BadArgument(
            "--how given was used without --given.", "the file of the candidates: --given FILE."
        )
    used = _SETTINGS.get(kind, [name for name in options if name != "source"])
    for name in [name for name in options if name not in used]:
        option = {"source": "--given", "items": "--items"}.get(name, f"--set {name}")
        raise BadArgument(
            f"{option} was given, but {kind} candidates do not use it.", "", f"leave out {option}."
        )
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
        found = "no split was given." if folder is None else "two splits were given."
        raise BadArgument(found, "a folder, or --train and --truth, not both.")
    if folder is not None:
        refuse({"--fold-in": fold_in, "--columns": columns or None}, "a folder with a split")
        split = open_parts(folder)
        if isinstance(split, list):
            raise BadArgument(
                f"{folder} contains {len(split)} splits.", "the folder of one of them."
            )
        return split
    if train is None or truth is None:
        option = "--truth" if train is None else "--train"
        raise BadArgument(f"only {option} was given.", "both --train and --truth.")
    files = {"train": train, "truth": truth, "fold_in": fold_in}
    return of_parts({part: _log(file, columns) for part, file in files.items() if file})


def _log(file_argument: str, columns: dict[str, str]) -> Log:
    from rectitude.data.log import open_log
    from rectitude.data.table import Interactions

    form, file = split_format(file_argument)
    return open_log(Interactions(file, **columns, format=form or None))


def _describe(candidates: Candidates) -> dict[str, Any]:
    return {
        "settings": dict(candidates.settings), "seed": candidates.seed, "hash": candidates.hash,
        "rows": candidates.frame.height, "users": len(candidates.owners),
        "ledger": candidates.ledger.as_dict(),
    }  # fmt: skip

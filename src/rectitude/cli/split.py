"""`rectitude split`: interactions into train, truth and what goes with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns
from rectitude.cli.options import Json, named_format, roles, value, values

if TYPE_CHECKING:
    from rectitude.splits.split import Split

NAME = "split"
EXAMPLE = """\b
Examples:
  rectitude split interactions.csv --how leave_last --set n=1 --output parts
  rectitude split interactions.csv --how time_ratio --set ratio=0.2 --unknown users=drop
  rectitude split interactions.csv --protocol elliot --set strategy=temporal_hold_out test_ratio=0.2
  rectitude split interactions.csv --how k_fold --set folds=5 --output folds --format csv"""


def run(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Interactions: user, item, time.")],
    *,
    how: Annotated[
        str | None, typer.Option(metavar="NAME", help="A way of splitting; leave_last by default.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME", help="As this framework does, in its own words.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE ...", help="Parameters of the split."),
    ] = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(
            "--validate",
            metavar="SHARE|NAME=VALUE ...",
            help="Split train again: how=leave_last n=1.",
        ),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE ...", help="users, items, seen: keep, drop or error."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="FILE", help="Steps that prepare the log first (.toml).")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For what is random.")] = 0,
    columns: Columns = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write parts, ledger and fingerprint there.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Of the parts: parquet, csv, or as recbole, elliot, warprec, recpack read them.",
        ),
    ] = "parquet",
    as_json: Json = False,
) -> int:
    """Split interactions into what is learnt from and what is to be found.

    Prints where every row went. With --output the parts are written there too, all or none.
    """
    from rectitude.data.table import Interactions
    from rectitude.splits.files import described, write
    from rectitude.splits.run import split

    named = roles(columns or ())
    options: dict[str, Any] = {
        "protocol": protocol, "recipe": recipe, "seed": seed,
        "validation": _validation(validation or ()),
        "unknown": values(unknown or (), "--unknown", "users=drop") or None,
    }  # fmt: skip
    options |= values(settings or (), "--set", "n=1")
    taken, file = named_format(source)
    log = Interactions(file, **named, format=taken) if named or taken else source
    found = split(log, how, **options)
    notes = () if output is None else write(found, output, form)  # type: ignore[arg-type]
    several = found if isinstance(found, list) else [found]
    facts = [described(one) for one in several]
    shown = facts if isinstance(found, list) else facts[0]
    texts = [_text(one, fact) for one, fact in zip(several, facts, strict=True)]
    texts += ["\n".join(f"note: {note}" for note in notes)] if notes else []
    typer.echo(json.dumps(shown, indent=1) if as_json else "\n\n".join(texts))
    return 0


def _text(split: Split, facts: Mapping[str, Any]) -> str:
    said = [f"{entry}" for entry in split.ledger.warnings()]
    how = f"{facts['how']}, fingerprint {facts['fingerprint']}"
    return "\n".join([how, str(split), *said])


def _validation(words: Sequence[str]) -> float | Mapping[str, Any] | None:
    if len(words) == 1 and "=" not in words[0]:
        return float(value(words[0]))
    return values(words, "--validate", "how=leave_last") or None

"""`rectitude split`: split interactions into training data, validation and truth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Columns
from rectitude.cli.options import Json, roles, split_format, value, value_after, values
from rectitude.cli.output import say
from rectitude.errors import BadArgument

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
        str | None, typer.Option(metavar="NAME", help="How to split; leave_last by default.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Split as this framework does, with its settings."),
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
            help="Split off validation data, such as how=leave_last n=1.",
        ),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE ...",
            help="What to do with truth rows of unknown users=, unknown items= and seen= pairs: "
            "keep, drop or error. known=train (default) or all; least=N training rows of a known "
            "user.",
        ),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="FILE", help="Preparation steps to apply first (.toml).")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The random seed.")] = 0,
    columns: Columns = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write parts, ledger and fingerprint to this folder."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="File format: parquet (default), csv, recbole, recbole-sequences, elliot, "
            "warprec or recpack.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Split interactions into training data and ground truth.

    Prints how many rows went to each part. With --output, also writes the parts, all or none.
    """
    from rectitude.data.table import Interactions
    from rectitude.splits.files import describe_split, write
    from rectitude.splits.run import split

    if form is not None and output is None:
        raise BadArgument(
            f"--format {form} was given without --output.", "a folder to write to: --output DIR."
        )
    column_names = roles(columns or ())
    options: dict[str, Any] = {
        "protocol": protocol, "recipe": recipe, "seed": seed,
        "validation": _parse_validation(validation or ()),
        "unknown": values(unknown or (), "--unknown", "users=drop") or None,
    }  # fmt: skip
    options |= values(settings or (), "--set", "n=1")
    source_form, file = split_format(source)
    log: Any = source
    if column_names or source_form:
        log = Interactions(file, **column_names, format=source_form)
    result = split(log, how, **options)
    notes = () if output is None else write(result, output, form or "parquet")  # type: ignore[arg-type]
    splits = result if isinstance(result, list) else [result]
    facts = [describe_split(single) for single in splits]
    stored = facts if isinstance(result, list) else facts[0]
    texts = [_render(single, fact) for single, fact in zip(splits, facts, strict=True)]
    texts += ["\n".join(f"note: {note}" for note in notes)] if notes else []
    say(json.dumps(stored, indent=1) if as_json else "\n\n".join(texts))
    return 0


def hint_at_parameter(option: str, words: Sequence[str]) -> str:
    """Return how a parameter of a split is set that was typed as an option; empty if it is none."""
    from rectitude.splits.run import SPLITTERS
    from rectitude.splits.split import parameters
    from rectitude.splits.synonyms import PARAMETERS

    name = option.strip("-").replace("-", "_")
    known = {parameter for how in SPLITTERS for parameter in parameters(how)}
    ours = name if name in known else next(iter(PARAMETERS.get(name, ())), "")
    given = value_after(option, words)
    if not ours or ours == "validation":
        return f"write --validate {given}" if ours else ""
    if ours == "seed":
        return f"write --seed {given}"
    return f"parameters of a split go to --set: --set {ours}={given}"


def _render(split: Split, facts: Mapping[str, Any]) -> str:
    return f"{facts['how']}, fingerprint {facts['fingerprint']}\n{split}"


def _parse_validation(words: Sequence[str]) -> Any:
    if len(words) == 1 and "=" not in words[0]:
        return value(words[0])
    return values(words, "--validate", "how=leave_last") or None

"""`rectitude conformance`: do the profiles give the numbers of the frameworks they name?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rectitude.cli.options import Json
from rectitude.errors import unknown_name

if TYPE_CHECKING:
    from rectitude.conformance.run import Agreement, Tallied

NAME = "conformance"
EXAMPLE = """\b
Examples:
  rectitude conformance tests/conformance/golden
  rectitude conformance tests/conformance/golden --profile ranx rectools --json"""
LISTED = 10


def run(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A golden tree: cases/ and inputs/.")
    ],
    profile: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME ...", help="Only these profiles; files of your own (.toml)."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare profiles with their frameworks.

    Every value that a framework computed is compared with the one its profile gives here. Exit
    code 1 if a value neither agrees nor is declared as a known difference.
    """
    names = _chosen(folder, profile or ())
    standings = list(_standings(folder, _watched(names)))
    if as_json:
        facts = {"profiles": [standing.as_dict() for standing in standings]}
        typer.echo(json.dumps(facts, indent=1))
    else:
        typer.echo("\n".join([_table(standings), *_disagreements(standings)]))
    return 1 if any(standing.wrong for standing in standings) else 0


def _chosen(folder: str, asked: Sequence[str]) -> list[str]:
    """The profiles of the tree, or those asked for."""
    there = sorted({path.parent.name for path in Path(folder).glob("cases/*/*.json")})
    for name in asked if there else ():
        if name not in there and Path(name).stem not in there:
            raise unknown_name("profile", name, there, where=folder)
    return list(dict.fromkeys(asked)) or there


def _standings(folder: str, names: Iterable[str]) -> Iterator[Tallied]:
    from rectitude.conformance.run import conformance

    none = True
    for name in names:
        none = False
        yield from conformance(folder, [name])
    if none:
        # A folder without cases: the runner says what it expected.
        yield from conformance(folder)


def _watched(names: Sequence[str]) -> Iterable[str]:
    """The names, with progress shown where somebody watches."""
    if not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, "Comparing profiles", console=Console(stderr=True), transient=True)


def _table(standings: Sequence[Tallied]) -> str:
    from rectitude.render import Grid

    heading = ["profile", "cases", "compared", "agree", "declared", "unsupported", "largest error"]
    rows = [
        [
            one.profile, f"{one.cases:,}", f"{one.compared:,}", f"{one.agree:,}",
            f"{one.declared:,}", f"{one.unsupported:,}",
            f"{one.largest_error:.1e}" if one.compared else "",
        ]
        for one in standings
    ]  # fmt: skip
    return Grid(heading, rows).text()


def _disagreements(standings: Sequence[Tallied]) -> list[str]:
    """The first values of each profile that neither agree nor are declared."""
    lines = []
    for standing in standings:
        wrong = standing.wrong
        lines += ["", f"{standing.profile}: {len(wrong):,} values disagree"] if wrong else []
        lines += [f"  {_said(one)}" for one in wrong[:LISTED]]
        lines += [f"  ... and {len(wrong) - LISTED:,} more"] if len(wrong) > LISTED else []
    return lines


def _said(one: Agreement) -> str:
    who = f" of {one.user}" if one.user else ""
    return f"{one.case}: {one.name}{who} is {_value(one.expected)}, here {_value(one.got)}"


def _value(value: float | None) -> str:
    return "undefined" if value is None else repr(value)

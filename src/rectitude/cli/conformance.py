"""`rectitude conformance`: do the profiles reproduce the numbers of their frameworks?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rectitude.cli.options import Json
from rectitude.cli.output import say
from rectitude.errors import unknown_name

if TYPE_CHECKING:
    from rectitude.conformance.run import Agreement, ProfileTally

NAME = "conformance"
EXAMPLE = """\b
Examples:
  rectitude conformance tests/conformance/golden
  rectitude conformance tests/conformance/golden --profile ranx rectools --json"""
LISTED = 10


def run(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A golden tree, with cases/ and inputs/.")
    ],
    profile: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME ...", help="Only these profiles, by name or .toml file."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare profiles with their frameworks.

    Compares every value computed by a framework with the value that its profile gives. Exit code 1
    if a value disagrees and is not declared as a known difference.
    """
    names = _choose_profiles(folder, profile or ())
    tallies = list(_tally_profiles(folder, _show_progress(names)))
    if as_json:
        facts = {"profiles": [tally.as_dict() for tally in tallies]}
        say(json.dumps(facts, indent=1))
    else:
        say("\n".join([_table(tallies), *_list_disagreements(tallies)]))
    return 1 if any(tally.wrong for tally in tallies) else 0


def _choose_profiles(folder: str, names: Sequence[str]) -> list[str]:
    """Return the named profiles, or all profiles of the tree if none is named."""
    available = sorted({path.parent.name for path in Path(folder).glob("cases/*/*.json")})
    for name in names if available else ():
        if name not in available and Path(name).stem not in available:
            raise unknown_name("profile", name, available, where=folder)
    return list(dict.fromkeys(names)) or available


def _tally_profiles(folder: str, names: Iterable[str]) -> Iterator[ProfileTally]:
    """Yield how many values of each profile agree."""
    from rectitude.conformance.run import conformance

    empty = True
    for name in names:
        empty = False
        yield from conformance(folder, [name])
    if empty:
        # The folder has no cases; this call raises an error that says what was expected.
        yield from conformance(folder)


def _show_progress(names: Sequence[str]) -> Iterable[str]:
    """Return the names, with a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, "Comparing profiles", console=Console(stderr=True), transient=True)


def _table(tallies: Sequence[ProfileTally]) -> str:
    from rectitude.render import Grid

    heading = ["profile", "cases", "compared", "agree", "declared", "unsupported", "largest error"]
    rows = [
        [
            tally.profile, f"{tally.cases:,}", f"{tally.compared:,}", f"{tally.agree:,}",
            f"{tally.declared:,}", f"{tally.unsupported:,}",
            f"{tally.largest_error:.1e}" if tally.compared else "",
        ]
        for tally in tallies
    ]  # fmt: skip
    return Grid(heading, rows).text()


def _list_disagreements(tallies: Sequence[ProfileTally]) -> list[str]:
    """Return lines for the first undeclared disagreements of each profile."""
    lines = []
    for tally in tallies:
        wrong = tally.wrong
        lines += ["", f"{tally.profile}: {len(wrong):,} values disagree"] if wrong else []
        lines += [f"  {_describe_disagreement(pair)}" for pair in wrong[:LISTED]]
        lines += [f"  ... and {len(wrong) - LISTED:,} more"] if len(wrong) > LISTED else []
    return lines


def _describe_disagreement(pair: Agreement) -> str:
    user = f" of user {pair.user}" if pair.user else ""
    values = f"{_format_value(pair.expected)} in the framework, {_format_value(pair.got)} here"
    return f"{pair.case}: {pair.name}{user} is {values}"


def _format_value(value: float | None) -> str:
    return "undefined" if value is None else repr(value)

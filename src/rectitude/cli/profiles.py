"""`rectitude profiles`: whose conventions there are, and what one of them sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, listing

if TYPE_CHECKING:
    from rectitude.profiles import Profile

NAME = "profiles"
EXAMPLE = """\b
Examples:
  rectitude profiles
  rectitude profiles rectools"""


def run(
    name: Annotated[str | None, typer.Argument(help="A profile, such as rectools.")] = None,
    as_json: Json = False,
) -> int:
    """List the profiles, or show what one of them sets."""
    from rectitude.profiles import PROFILES

    shown = [PROFILES[one] for one in (PROFILES if name is None else [name])]
    if as_json:
        typer.echo(json.dumps({"profiles": [_facts(one) for one in shown]}, indent=1))
    elif name is None:
        typer.echo(_table(shown))
    else:
        typer.echo(_explained(shown[0]))
    return 0


def _table(profiles: list[Profile]) -> str:
    rows = [
        [one.name, one.framework, ", ".join(one.versions), str(len(_changed(one)))]
        for one in profiles
    ]
    table = listing([["profile", "framework", "releases", "switches set"], *rows])
    return f"{table}\n\nrectitude profiles NAME shows what one sets."


def _changed(profile: Profile) -> dict[str, Any]:
    """The switches that a profile sets otherwise than the default."""
    from rectitude.convention import Convention

    differences = Convention().differences(profile.convention)
    return {switch: theirs for switch, (_, theirs) in differences.items()}


def _explained(profile: Profile) -> str:
    from rectitude.aggregate.definition import choice_in_words

    lines = [" ".join([f"{profile.name}:", profile.framework, ", ".join(profile.versions)])]
    lines += [f"  {profile.about}"] if profile.about else []
    changed = _changed(profile)
    lines += ["", "Switches that differ from the default:"] if changed else []
    lines += [f"  {one}: {choice_in_words(one, profile.convention)}" for one in changed]
    lines += _section("Single metrics:", profile.metrics)
    lines += _section("In brackets, as in ndcg[name]@10:", profile.variants)
    lines += _section("Names with another meaning there, refused here:", profile.absent)
    lines += _section("Known differences:", profile.known_differences)
    return "\n".join(line.rstrip() for line in lines)


def _section(title: str, entries: Mapping[str, str | Mapping[str, Any]]) -> list[str]:
    return ["", title, *(f"  {name}: {_said(one)}" for name, one in entries.items())] * bool(
        entries
    )


def _said(entry: str | Mapping[str, Any]) -> str:
    if isinstance(entry, str):
        return entry
    return ", ".join(f"{name} = {value}" for name, value in entry.items()) or "as usual"


def _facts(profile: Profile) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "framework": profile.framework,
        "versions": list(profile.versions),
        "about": profile.about,
        "convention": profile.convention.as_dict(),
        "differs": sorted(_changed(profile)),
        "metrics": {name: dict(own) for name, own in profile.metrics.items()},
        "variants": dict(profile.variants),
        "absent": dict(profile.absent),
        "known_differences": dict(profile.known_differences),
    }

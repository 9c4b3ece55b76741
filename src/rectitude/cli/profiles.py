"""`rectitude profiles`: whose conventions there are, what one sets, and how two differ."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, listing
from rectitude.errors import BadName, unknown_name

if TYPE_CHECKING:
    from rectitude.profiles import Profile
    from rectitude.profiles.profile import ProfileDifference

NAME = "profiles"
EXAMPLE = """\b
Examples:
  rectitude profiles
  rectitude profiles show rectools
  rectitude profiles diff rectools comirec
  rectitude profiles diff rectools mine.toml --metric ndcg@10"""
ACTIONS = {"list": 0, "show": 1, "diff": 2}
"""what can be asked, and of how many profiles"""


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[show PROFILE | diff PROFILE PROFILE]", show_default=False),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="diff: only this metric.")
    ] = None,
    as_json: Json = False,
) -> int:
    """List the profiles, show what one of them sets, or say how two differ.

    A profile is named, or is a file of your own that ends in .toml.
    """
    from rectitude.profiles import PROFILES, named
    from rectitude.profiles.profile import compared

    action, names = _asked(words or ["list"])
    _require_diff(metric, action)
    shown = [named(name) for name in (names or PROFILES)]
    if action == "diff":
        differences = compared(shown[0], shown[1], metric)
        typer.echo(_json_of(shown, differences) if as_json else _compared(shown, differences))
    elif as_json:
        typer.echo(json.dumps({"profiles": [_facts(one) for one in shown]}, indent=1))
    else:
        typer.echo(_table(shown) if action == "list" else _explained(shown[0]))
    return 0


def _asked(words: Sequence[str]) -> tuple[str, list[str]]:
    """The action and the profiles it is about."""
    action, *names = words
    if action not in ACTIONS:
        note = f"to see one profile: rectitude profiles show {action}"
        raise unknown_name("action", action, ACTIONS, where="'rectitude profiles'", note=note)
    wanted = ACTIONS[action]
    if len(names) != wanted:
        raise BadName(
            f"profiles {action} was given {', '.join(names) or 'no profile'}.",
            f"rectitude profiles {action}{' NAME' * wanted}.",
        )
    return action, names


def _require_diff(metric: Sequence[str] | None, action: str) -> None:
    if metric and action != "diff":
        raise BadName(f"--metric does not go with profiles {action}.", "profiles diff.")


def _table(profiles: list[Profile]) -> str:
    rows = [
        [one.name, one.framework, ", ".join(one.versions), str(len(_changed(one)))]
        for one in profiles
    ]
    table = listing([["profile", "framework", "releases", "switches set"], *rows])
    return (
        f"{table}\n\nrectitude profiles show NAME says what one sets, rectitude profiles diff NAME "
        "NAME how two differ."
    )


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
    if profile.padding is not None:
        lines += ["", f"Never recommended from dense scores: item {profile.padding}"]
    lines += _section("Single metrics:", profile.metrics)
    lines += _section("In brackets, as in ndcg[name]@10:", profile.variants)
    lines += _section("Names with another meaning there, refused here:", profile.absent)
    lines += _section("Known differences:", profile.known_differences)
    return "\n".join(line.rstrip() for line in lines)


def _section(title: str, entries: Mapping[str, str | Mapping[str, Any]]) -> list[str]:
    if not entries:
        return []
    return ["", title, *(line for name, one in entries.items() for line in _said(name, one))]


def _said(name: str, entry: str | Mapping[str, Any]) -> list[str]:
    """What a profile says of a name, with the sentence of every switch it sets."""
    from rectitude.convention import SWITCHES

    if isinstance(entry, str):
        return [f"  {name}: {entry}"]
    settings = ", ".join(f"{key} = {value}" for key, value in entry.items()) or "as usual"
    choices = [(SWITCHES[key].choices, value) for key, value in entry.items() if key in SWITCHES]
    sentences = [f"      {value}: {known[value]}" for known, value in choices if value in known]
    return [f"  {name}: {settings}", *sentences]


def _compared(profiles: Sequence[Profile], differences: Sequence[ProfileDifference]) -> str:
    """What differs for most metrics, then what is otherwise for single ones."""
    one, other = (profile.name for profile in profiles)
    if all(difference.same for difference in differences):
        return f"{one} and {other} mean the same by every metric name that both have."
    common = _common(differences)
    lines = [f"{one} and {other}"]
    if common:
        lines += ["", f"Of {len(differences)} metrics that both have, where nothing else is said:"]
        lines += _pairs(common)
    plain = []
    for difference in differences:
        own = [*_renamed(difference), *_pairs(_own(difference, common))]
        own += [f"  {s}: the same in both" for s in common if s not in difference.switches]
        lines += ["", f"{difference.name}:", *own] if own else []
        plain += [] if own else [difference.name]
    rest = "Nothing else differs for" if common else "The same in both:"
    closing = textwrap.fill(f"{rest} {', '.join(plain)}.", 100)
    return "\n".join([*lines, *(["", closing] if plain else [])])


def _common(differences: Sequence[ProfileDifference]) -> dict[str, Any]:
    """The switches in which most metrics differ, and in the same way; none of a single metric."""
    times = Counter(pair for difference in differences for pair in difference.switches.items())
    several = len(differences) > 1
    return {s: pair for (s, pair), many in times.items() if several and 2 * many > len(differences)}


def _own(difference: ProfileDifference, common: Mapping[str, Any]) -> dict[str, Any]:
    pairs = difference.switches
    own = {switch: pair for switch, pair in pairs.items() if common.get(switch) != pair}
    return {**own, **difference.numbers}


def _renamed(difference: ProfileDifference) -> list[str]:
    one, other = difference.metric
    return [] if one == other else [f"  another metric: {one} | {other}"]


def _pairs(pairs: Mapping[str, Any]) -> list[str]:
    """Each switch with both choices and their sentences."""
    from rectitude.convention import SWITCHES
    from rectitude.explanation.explain.result import shown

    lines = []
    for name, both in pairs.items():
        lines.append(f"  {name}: {' | '.join(map(shown, both))}")
        known = SWITCHES[name].choices if name in SWITCHES else {}
        lines += [f"      {value}: {known[value]}" for value in both if value in known]
    return lines


def _json_of(profiles: Sequence[Profile], differences: Sequence[ProfileDifference]) -> str:
    facts = {
        "profiles": [profile.name for profile in profiles],
        "metrics": [difference.as_dict() for difference in differences],
    }
    return json.dumps(facts, indent=1)


def _facts(profile: Profile) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "framework": profile.framework,
        "versions": list(profile.versions),
        "about": profile.about,
        "convention": profile.convention.as_dict(),
        "differs": sorted(_changed(profile)),
        "padding": profile.padding,
        "metrics": {name: dict(own) for name, own in profile.metrics.items()},
        "variants": dict(profile.variants),
        "absent": dict(profile.absent),
        "known_differences": dict(profile.known_differences),
    }

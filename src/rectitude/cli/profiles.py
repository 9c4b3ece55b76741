"""`rectitude profiles`: list the profiles, show what one sets, or compare two."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, listing
from rectitude.cli.output import say
from rectitude.errors import BadArgument, unknown_name

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
"""the actions, and how many profiles each takes"""


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
    """List the profiles, show what one sets, or show how two differ.

    PROFILE is the name of a profile, or your own .toml file.
    """
    from rectitude.profiles import PROFILES, find_profile
    from rectitude.profiles.profile import compare_profiles

    action, names = _parse_action(words or ["list"])
    _require_diff(metric, action)
    profiles = [find_profile(name) for name in (names or PROFILES)]
    if action == "diff":
        differences = compare_profiles(profiles[0], profiles[1], metric)
        render = _differences_as_json if as_json else _describe_differences
        say(render(profiles, differences))
    elif as_json:
        say(json.dumps({"profiles": [_facts(profile) for profile in profiles]}, indent=1))
    else:
        say(_table(profiles) if action == "list" else _explain_profile(profiles[0]))
    return 0


def _parse_action(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the action and the names of its profiles."""
    action, *names = words
    if action not in ACTIONS:
        note = f"to see one profile: rectitude profiles show {action}"
        raise unknown_name("action", action, ACTIONS, where="'rectitude profiles'", note=note)
    count = ACTIONS[action]
    if len(names) != count:
        raise BadArgument(
            f"profiles {action} was given {', '.join(names) or 'no profile'}.",
            f"rectitude profiles {action}{' NAME' * count}.",
        )
    return action, names


def _require_diff(metric: Sequence[str] | None, action: str) -> None:
    if metric and action != "diff":
        raise BadArgument(
            f"--metric does not apply to profiles {action}.", "--metric only with profiles diff."
        )


def _table(profiles: list[Profile]) -> str:
    rows = [
        [
            profile.name, profile.framework, ", ".join(profile.versions),
            str(len(_find_changes(profile))),
        ]
        for profile in profiles
    ]  # fmt: skip
    table = listing([["profile", "framework", "releases", "switches set"], *rows])
    return (
        f"{table}\n\nrectitude profiles show NAME shows what a profile sets;\n"
        "rectitude profiles diff NAME NAME shows how two differ."
    )


def _find_changes(profile: Profile) -> dict[str, Any]:
    """Return the switches that a profile sets differently from the default."""
    from rectitude.convention import Convention

    differences = Convention().differences(profile.convention)
    return {switch: choice for switch, (_, choice) in differences.items()}


def _explain_profile(profile: Profile) -> str:
    from rectitude.aggregate.definition import choice_in_words

    lines = [" ".join([f"{profile.name}:", profile.framework, ", ".join(profile.versions)])]
    lines += [f"  {profile.about}"] if profile.about else []
    lines += [f"  not proven by values: {profile.unproven}"] if profile.unproven else []
    changed = _find_changes(profile)
    lines += ["", "Switches that differ from the default:"] if changed else []
    lines += [f"  {switch}: {choice_in_words(switch, profile.convention)}" for switch in changed]
    if profile.padding is not None:
        lines += ["", f"Padding item, never recommended from dense scores: {profile.padding}"]
    lines += _section("Settings of individual metrics:", profile.metrics)
    lines += _section("Names of the framework, and the name used here:", profile.names)
    lines += _section("Variants, in brackets as in ndcg[name]@10:", profile.variants)
    lines += _section("Names refused, because they mean something else there:", profile.absent)
    lines += _section("Known differences:", profile.known_differences)
    return "\n".join(line.rstrip() for line in lines)


def _section(title: str, entries: Mapping[str, str | Mapping[str, Any]]) -> list[str]:
    if not entries:
        return []
    return [
        "",
        title,
        *(line for name, entry in entries.items() for line in _describe_entry(name, entry)),
    ]


def _describe_entry(name: str, entry: str | Mapping[str, Any]) -> list[str]:
    """Return lines for the settings of a name, with a description of every choice."""
    from rectitude.convention import SWITCHES

    if isinstance(entry, str):
        return [f"  {name}: {entry}"]
    settings = ", ".join(f"{key} = {value}" for key, value in entry.items()) or "default settings"
    choices = [(SWITCHES[key].choices, value) for key, value in entry.items() if key in SWITCHES]
    descriptions = [
        _describe_choice(value, texts[value]) for texts, value in choices if value in texts
    ]
    return [f"  {name}: {settings}", *descriptions]


def _describe_differences(
    profiles: Sequence[Profile], differences: Sequence[ProfileDifference]
) -> str:
    """Describe what differs for most metrics, then what differs for individual metrics."""
    first, second = (profile.name for profile in profiles)
    if all(difference.same for difference in differences):
        return f"{first} and {second} define all metrics that they share identically."
    common = _find_common(differences)
    lines = [f"{first} and {second}"]
    if common:
        lines += ["", f"For the {len(differences)} metrics that they share, unless listed below:"]
        lines += _describe_pairs(common)
    plain = []
    for difference in differences:
        special = [*_describe_rename(difference)]
        special += _describe_pairs(_find_special(difference, common))
        special += [f"  {s}: the same in both" for s in common if s not in difference.switches]
        lines += ["", f"{difference.name}:", *special] if special else []
        plain += [] if special else [difference.name]
    rest = "Nothing else differs for" if common else "The same in both:"
    closing = textwrap.fill(f"{rest} {', '.join(plain)}.", 100)
    return "\n".join([*lines, *(["", closing] if plain else [])])


def _find_common(differences: Sequence[ProfileDifference]) -> dict[str, Any]:
    """Return the switches that differ in the same way for most of several metrics."""
    counts = Counter(pair for difference in differences for pair in difference.switches.items())
    size = len(differences)
    return {s: pair for (s, pair), count in counts.items() if size > 1 and 2 * count > size}


def _find_special(difference: ProfileDifference, common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the switches and parameters of a metric that differ, but not as in most metrics."""
    pairs = difference.switches
    special = {switch: pair for switch, pair in pairs.items() if common.get(switch) != pair}
    return {**special, **difference.numbers}


def _describe_rename(difference: ProfileDifference) -> list[str]:
    first, second = difference.metric
    return [] if first == second else [f"  different metrics: {first} | {second}"]


def _describe_pairs(pairs: Mapping[str, Any]) -> list[str]:
    """Return lines for each switch, with both choices and their descriptions."""
    from rectitude.convention import SWITCHES
    from rectitude.explanation.explain.result import format_choice

    lines = []
    for name, both in pairs.items():
        lines.append(f"  {name}: {' | '.join(map(format_choice, both))}")
        texts = SWITCHES[name].choices if name in SWITCHES else {}
        lines += [_describe_choice(value, texts[value]) for value in both if value in texts]
    return lines


def _describe_choice(choice: Any, text: str) -> str:
    """Return a choice and its description, wrapped and indented below its switch."""
    return textwrap.fill(
        f"{choice}: {text}", 100, initial_indent=" " * 6, subsequent_indent=" " * 8
    )


def _differences_as_json(
    profiles: Sequence[Profile], differences: Sequence[ProfileDifference]
) -> str:
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
        "differs": sorted(_find_changes(profile)),
        "padding": profile.padding,
        "metrics": {name: dict(settings) for name, settings in profile.metrics.items()},
        "variants": dict(profile.variants),
        "absent": dict(profile.absent),
        "known_differences": dict(profile.known_differences),
    }

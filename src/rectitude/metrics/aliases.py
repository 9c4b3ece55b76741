"""The names that people type for metrics, and the families of metrics.

Both are tables in TOML files next to this module, read when they are first needed: `aliases.toml`
has the names that papers and other frameworks use, `families.toml` the metrics of each family. A
profile adds the names of its framework. A name that means different quantities in different
frameworks is an error that lists them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from rectitude.errors import BadName, UnknownName
from rectitude.metrics.names import Name, parse, write_variant

OWN = "own"
"""The family of metrics that are not ours and name no family."""
_PLAIN_WORDS = frozenset(
    ["average", "first", "item", "items", "list", "lists", "mean", "score", "share", "user"]
)
"""words that say nothing about which metric is meant"""
_PLACES = {
    "name": r"(?P<name>[^@]+)",
    "word": r"(?P<name>[^@]*[A-Za-z])",
    "k": r"(?P<k>\d+(\.\d+)?)",
    "l": r"(?P<l>\d+)",
}


@cache
def _read(file: str) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  (names that rectitude knows itself need no table)

    text = resources.files("rectitude.metrics").joinpath(file).read_text("utf-8")
    return tomllib.loads(text)


@cache
def families() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return every family: what it asks, and its metrics, the most used first."""
    tables = _read("families.toml").items()
    return {name: (table["about"], tuple(table["metrics"])) for name, table in tables}


@cache
def _families_by_metric() -> Mapping[str, str]:
    return {metric: name for name, (_, metrics) in families().items() for metric in metrics}


def family_of(metric: str) -> str:
    """Return the family of a metric."""
    return _families_by_metric().get(metric, OWN)


def by_family(names: Iterable[str]) -> dict[str, list[str]]:
    """Return names of metrics by family, both in the order of the tables."""
    order = {name: place for place, name in enumerate(_families_by_metric())}
    grouped: dict[str, list[str]] = {family: [] for family in (*families(), OWN)}
    for name in sorted(names, key=lambda name: (order.get(name, len(order)), name)):
        grouped[family_of(name)].append(name)
    return {family: members for family, members in grouped.items() if members}


def fold(text: str) -> str:
    """Return a name without case and without the signs that people put between words."""
    return re.sub(r"[\s_'\"-]", "", text.lower())


@cache
def _other_names() -> Mapping[str, str]:
    names = _read("aliases.toml")["names"]
    return {fold(other): ours for ours, others in names.items() for other in others}


def other_names(metric: str) -> tuple[str, ...]:
    """Return other names of a metric, as people and frameworks write them."""
    return tuple(_read("aliases.toml")["names"].get(metric, ()))


@cache
def _ambiguous() -> Mapping[str, Mapping[str, str]]:
    return {fold(name): choices for name, choices in _read("aliases.toml")["ambiguous"].items()}


@cache
def _defined_by() -> Mapping[str, str]:
    return {fold(name): profile for name, profile in _read("aliases.toml")["defined_by"].items()}


def for_classes(metric: str) -> str:
    """Return the metric of classes that people mean by a metric of lists; empty if there is none.

    >>> for_classes("f1")
    'weighted_f1'
    """
    return str(_read("aliases.toml")["of_classes"].get(metric, ""))


def translate(
    name: Name, known: Collection[str], entries: Collection[str], names: Mapping[str, str]
) -> Name | None:
    """Return our name for a name as people type it; None if it means nothing.

    `known` are our metrics, `entries` the names that a profile defines, and `names` those that its
    framework uses for them.
    """
    if not name.has_plain_end:
        respelled = _respell(name, known, entries, names)
        return respelled or (name if name.base in known else None)
    ours = _look_up(name, {fold(str(parse(key)[0])): names[key] for key in names})
    if ours is None and (name.base in entries or name.base in known):
        return name
    ours = ours or _look_up(name, {fold(key.partition("@")[0]): key for key in entries})
    if ours is None:
        _require_one_meaning(name)
        ours = _look_up(name, {**_other_names(), **{fold(key): key for key in known}})
    return ours or _respell(name, known, entries, names)


def _look_up(name: Name, table: Mapping[str, str]) -> Name | None:
    """Return what a table of folded names has for a name: for as many of its variants as it has,
    together or one by one, and else without them."""
    left = {fold(write_variant(variant)): variant for variant in name.variants}
    keys = {key: _inside(key) for key in table if key.partition("[")[0] == fold(name.base)}
    found: list[Name] = []
    for key in sorted(keys, key=lambda key: -len(keys[key])):
        head, _, usual = table[key].partition("@")
        at = usual if name.at is None and usual.isdecimal() else name.at
        ours = replace(parse(head)[0], at=at)
        fits = keys[key] <= left.keys() and (not found or ours.base == found[0].base)
        if fits and (keys[key] or not found):
            found.append(ours)
            left = {text: variant for text, variant in left.items() if text not in keys[key]}
    if not found:
        return None
    variants = [variant for ours in found for variant in ours.variants]
    return Name(found[0].base, (*variants, *left.values()), found[0].at)


def _inside(key: str) -> set[str]:
    """Return the variants in the brackets of a folded name."""
    return set(filter(None, key.partition("[")[2].removesuffix("]").split(",")))


def _require_one_meaning(name: Name) -> None:
    choices = _ambiguous().get(fold(name.base))
    if choices is not None:
        at = "" if name.at is None else f"@{name.at}"
        lines = [f"{choice}{at} ({words})" for choice, words in choices.items()]
        profile = _defined_by().get(fold(name.base))
        advice = (
            "or choose the profile of the framework that you mean, such as "
            f"convention={profile!r}: its own names are valid there."
        )
        raise BadName(
            f"{str(name)!r} means different things in different frameworks.",
            f"one of {', '.join(lines[:-1])} or {lines[-1]}.",
            advice if profile else "",
        )


def _respell(
    name: Name, known: Collection[str], entries: Collection[str], names: Mapping[str, str]
) -> Name | None:
    """Return our name for one with the cutoff written in another way, such as `ndcg_cut_10`."""
    for places, shape in _match_templates(str(name), _read("aliases.toml")["spellings"]):
        if "name" not in places:
            return shape
        inner = translate(parse(places["name"])[0], known, entries, names)
        if inner is not None:
            return Name(inner.base, (*inner.variants, *shape.variants), shape.at or inner.at)
    return None


def _match_templates(
    text: str, templates: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], Name]]:
    """Yield what stands at the places of each template that fits, and the name that it means."""
    for template, target in templates.items():
        pattern = re.sub(r"\\{(\w+)\\}", lambda m: _PLACES[m[1]], re.escape(template))
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is not None:
            places = match.groupdict()
            yield places, parse(target.format(**{**places, "name": "name"}))[0]


def unknown_metric(name: Name, titles: Mapping[str, str], where: str = "") -> UnknownName:
    """Return the error for a metric that does not exist, with those that may be meant."""
    found = f"{where or 'rectitude'} has no metric {name.base!r}."
    meant = [repr(near) for near in suggest(name, titles)]
    if meant:
        lines = [f"did you mean {' or '.join(meant)}?"]
    else:
        lines = ["known, by family:"]
        grouped = by_family(titles).items()
        lines += [f"  {family}: {', '.join(members)}" for family, members in grouped]
    return UnknownName(
        found, "", "\n  ".join([*lines, "`rectitude metrics` explains them, by family."])
    )


def suggest(name: Name, titles: Mapping[str, str]) -> list[str]:
    """Return up to three names that may be meant: by what the name means, then by its letters."""
    meant = _read("aliases.toml")["meant"]
    at = "" if name.at is None else f"@{name.at}"
    if name.base.lower() in meant:
        return [f"{meant[name.base.lower()]}{at}"]
    for places, shape in _match_templates(name.base, meant):
        inner = places.get("name", "")
        if inner and fold(inner) in {**_other_names(), **{fold(key): key for key in titles}}:
            ours = _other_names().get(fold(inner), inner.lower())
            return [f"{ours}@{shape.at}"]
    bases = _find_close(name.base, titles) or _find_by_words(name.base, titles)
    return [f"{base}{at}" for base in list(dict.fromkeys(bases))[:3]]


def _find_close(base: str, titles: Mapping[str, str]) -> list[str]:
    """Return the metrics whose names, or other names, are spelled similarly."""
    spelled: dict[str, list[str]] = {key: list(choices) for key, choices in _ambiguous().items()}
    spelled |= {other: [ours] for other, ours in _other_names().items() if len(other) > 2}
    spelled |= {fold(key): [key] for key in titles}
    close = difflib.get_close_matches(fold(base), list(spelled), n=4, cutoff=0.66)
    likeness = [difflib.SequenceMatcher(None, match, fold(base)).ratio() for match in close]
    nearly = [m for m, like in zip(close, likeness, strict=True) if like > likeness[0] - 0.1]
    return [ours for match in nearly for ours in spelled[match]]


def _find_by_words(base: str, titles: Mapping[str, str]) -> list[str]:
    """Return the metrics that share a word with the name, in their own name or title."""
    words = {word for word in _words(base) if len(word) > 3} - _PLAIN_WORDS
    shared = {key: len(words & _words(f"{key} {title}")) for key, title in titles.items()}
    best = max(shared.values(), default=0)
    ordered = [key for members in by_family(shared).values() for key in members]
    return [key for key in ordered if 0 < shared[key] == best]


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", text)}

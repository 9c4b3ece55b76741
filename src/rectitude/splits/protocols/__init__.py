"""Named protocols: how other frameworks split, in their own words, as data.

A file says for each of a framework's ways of splitting which of ours it is and where the values of
our parameters come from. `resolve` turns a framework's words into a `SplitPlan`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib.resources import files
from typing import Any

from rectitude.errors import BadName, unknown_name


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """One of our ways of splitting with its parameters, and what is done after it."""

    how: str
    options: Mapping[str, Any]
    unknown: Mapping[str, Any] = field(default_factory=dict)
    validation: Mapping[str, Any] = field(default_factory=dict)
    """a split of train, or nothing"""
    seed: int | None = None
    fold: int | None = None
    """which one of a series, from 0"""


@cache
def protocols() -> Mapping[str, Mapping[str, Any]]:
    """All protocols by name; a framework's releases share one file under several names, or one
    file is `like` another and says what is otherwise."""
    stored = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in sorted(files(__name__).iterdir(), key=lambda one: one.name)
        if file.name.endswith(".toml")
    }
    found: dict[str, Mapping[str, Any]] = {}
    for name, one in stored.items():
        other = stored.get(one.get("like", ""), {})
        whole = {**other, **one, "split": [*one["split"], *other.get("split", ())]}
        found |= dict.fromkeys([name, *one["also"]], whole)
    return found


def protocol(name: str) -> Mapping[str, Any]:
    """A protocol by name."""
    if name not in protocols():
        raise unknown_name("protocol", name, protocols())
    return protocols()[name]


def resolve(name: str, words: Mapping[str, Any]) -> SplitPlan:
    """What a framework's words for a split mean here."""
    return _plan(protocol(name), name, words)


def _plan(stored: Mapping[str, Any], name: str, words: Mapping[str, Any]) -> SplitPlan:
    words = _given(words)
    entry = entry_of(stored["split"], name, words)
    given = {**entry.get("defaults", {}), **words}
    require_known(entry, name, given)
    options: dict[str, Any] = deepcopy(dict(entry.get("set", {})))
    options["unknown"] = {**stored.get("unknown", {}), **options.get("unknown", {})}
    require_given(entry, name, given)
    for target, source in entry.get("take", {}).items():
        found = _present(source, given)
        if found is not None:
            _put(options, target.split("."), taken(stored, name, found, given))
    unknown, seed, fold = (options.pop(key, None) for key in ("unknown", "seed", "fold"))
    validation: Mapping[str, Any] = {}
    if isinstance(options.get("validation"), dict):
        found = options.pop("validation")
        validation = {} if None in found.values() else found
    return SplitPlan(entry["how"], options, unknown or {}, validation, seed, fold)


def _given(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words that say something: None is how frameworks write that nothing was given."""
    return {key: value for key, value in words.items() if value is not None}


def _present(source: str | list[str], given: Mapping[str, Any]) -> str | None:
    """The first of the words for a value that is given, with its converters."""
    names = [source] if isinstance(source, str) else source
    return next((one for one in names if one.partition("|")[0] in given), None)


def require_given(entry: Mapping[str, Any], name: str, given: Mapping[str, Any]) -> None:
    """Refuse words that lack one of the values that the framework has no default for (`must`), or
    give one that is not `allowed`."""
    for target in entry.get("must", ()):
        source = entry["take"][target]
        if _present(source, given) is None:
            words = [source] if isinstance(source, str) else source
            asked = " or ".join(one.partition("|")[0] for one in words)
            raise BadName(
                f"protocol {name!r}, {_shown(entry)}, was given no {asked}.", "a value for it."
            )
    for word, allowed in entry.get("allowed", {}).items():
        if word in given and not any(_same(given[word], one) for one in allowed):
            raise BadName(f"{word} is {given[word]!r}.", f"one of: {', '.join(map(str, allowed))}.")


def _put(tree: dict[str, Any], path: list[str], value: object) -> None:
    """Set a value inside nested tables: ["validation", "t"]."""
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def entry_of(
    entries: list[Mapping[str, Any]], name: str, words: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The first entry whose `match`, `needs` and `kinds` fit a framework's words."""
    for entry in entries:
        given = {**entry.get("defaults", {}), **words}
        if _fits(entry, given, words):
            return entry
    ways = sorted({_shown(entry) for entry in entries})
    raise BadName(
        f"protocol {name!r} has nothing for {dict(words)!r}.", f"one of: {'; '.join(ways)}."
    )


def _fits(entry: Mapping[str, Any], given: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    same = all(_same(given.get(key), value) for key, value in entry.get("match", {}).items())
    needed = all(key in words for key in entry.get("needs", ()))
    needed = needed and not any(key in words for key in entry.get("lacks", ()))
    kinds = entry.get("kinds", {}).items()
    return same and needed and all(type(given.get(key)).__name__ == kind for key, kind in kinds)


def _same(given: object, pattern: object) -> bool:
    if isinstance(given, str) and isinstance(pattern, str):
        return fnmatchcase(given, pattern)
    return given == pattern


def _shown(entry: Mapping[str, Any]) -> str:
    words = [*(f"{key}={value!r}" for key, value in entry.get("match", {}).items())]
    return ", ".join([*words, *entry.get("needs", ())])


def require_known(entry: Mapping[str, Any], name: str, given: Mapping[str, Any]) -> None:
    """Refuse words that the entry does not know: nothing is ignored silently."""
    sources = [
        one for s in entry.get("take", {}).values() for one in ([s] if isinstance(s, str) else s)
    ]
    known = {*entry.get("match", {}), *entry.get("defaults", {}), *entry.get("ignore", ())}
    known |= {one.partition("|")[0] for one in sources} | set(entry.get("needs", ()))
    known |= set(protocol(name).get("ignore", ()))
    for key in given:
        if key not in known:
            raise unknown_name(
                "parameter", key, known, where=f"protocol {name!r}, {_shown(entry)},"
            )


def taken(stored: Mapping[str, Any], name: str, source: str, given: Mapping[str, Any]) -> Any:
    """The value of `parameter|converter|converter` among a framework's words."""
    key, *converters = source.split("|")
    value = given[key]
    for converter in converters:
        if converter == "split":
            plan = _plan(stored, name, _as_table(key, value))
            seeded = {} if plan.seed is None else {"seed": plan.seed}
            value = {"how": plan.how, **plan.options, **seeded}
        elif converter in CONVERTERS:
            value = _converted(converter, key, value)
        else:
            value = _word(stored, name, converter, value)
    return value


def _as_table(key: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadName(f"{key} is {value!r}.", "a table of words that names a way of splitting.")
    return value


def _converted(converter: str, key: str, value: Any) -> Any:
    """A word's value by one of the converters, or an error that names the word."""
    try:
        return CONVERTERS[converter](value)
    except BadName:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadName(f"{key} is {value!r}.", "a value as the framework takes it.") from error


def steps(name: str, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a framework's words for a filter mean here: a recipe of steps.

    Each entry lists steps; a step is taken where its `match` and `needs` fit the words.
    """
    stored = protocol(name)
    if "steps" in words:  # a chain of filters
        return [step for one in words["steps"] for step in steps(name, one)]
    words = _given(words)
    entry = entry_of(stored.get("filter", []), name, words)
    given = {**entry.get("defaults", {}), **words}
    fitting = [step for step in entry["steps"] if _fits(step, given, words)]
    takes = {key: one for step in entry["steps"] for key, one in _takes(step).items()}
    matched = {key: "" for step in entry["steps"] for key in step.get("match", {})}
    known = {**entry, "take": takes, "match": {**matched, **entry.get("match", {})}}
    require_known(known, name, given)
    require_given(entry, name, given)
    return [_step(stored, name, step, given) for step in fitting]


def _step(
    stored: Mapping[str, Any], name: str, step: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    require_given(step, name, given)
    found: dict[str, Any] = {"step": step["step"], **step.get("set", {})}
    for key, source in step.get("take", {}).items():
        word = _present(source, given)
        if word is not None:
            found[key] = taken(stored, name, word, given)
    return found


def _takes(step: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{step['step']}.{key}": one for key, one in step.get("take", {}).items()}


def _word(stored: Mapping[str, Any], name: str, table: str, value: object) -> Any:
    words = stored["words"][table]
    value = str(value).lower() if isinstance(value, bool) else value
    if value not in words:
        raise unknown_name(table, str(value), words, where=f"protocol {name!r}")
    return words[value]


def _ratios(method: str) -> list[float]:
    """The shares in a name such as RS_811_user or RS_80_10_10_user."""
    parts = [part for part in method.split("_") if part.isdigit()]
    numbers = [int(one) for one in (parts[0] if len(parts) == 1 else parts)]
    if len(numbers) != len(("train", "validation", "test")):
        raise BadName(f"method is {method!r}.", "three shares, as in RS_811_user.")
    shares = [one / sum(numbers) for one in numbers]
    # The framework is given shares, and divides them by their sum, which may not be 1.
    return [one / sum(shares) for one in shares]


def _first_of_rest(ratios: list[float]) -> float | None:
    """The first share among the first two; None if the second is empty."""
    share = ratios[0] / (1 - ratios[2])
    return share if share < 1 else None


def _values(intervals: Mapping[str, Any], column: str) -> Any:
    """The intervals of the values of a column, where there are some."""
    for other in intervals:
        if other not in ("rating", "timestamp"):
            raise BadName(f"intervals are given for {other!r}.", "some for rating or timestamp.")
    return intervals.get(column)


CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "complement": lambda share: 1 - share,
    "drop": lambda chosen: "drop" if chosen else "keep",
    "ratios": _ratios,
    "third": lambda ratios: ratios[2],
    "second": lambda ratios: ratios[1],
    "first_of_rest": _first_of_rest,
    "latest": lambda n: None if n < 0 else n,
    "earliest": lambda n: max(-n, 0),
    "whole": int,
    "number": lambda text: int("".join(one for one in text if one.isdigit())),
    "text": str,
    **{column: partial(_values, column=column) for column in ("rating", "timestamp")},
}

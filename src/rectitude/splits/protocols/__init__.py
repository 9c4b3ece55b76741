"""Protocols: how other frameworks split and filter, as data.

A TOML file maps each way in which a framework splits to one of ours, and its parameters to ours.
`resolve` turns the parameters of a framework into a `SplitPlan`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal

from rectitude.errors import BadArgument, nearest, unknown_name
from rectitude.splits.eval_args import read_eval_args


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """One of our ways to split with its parameters, and what happens afterwards."""

    how: str
    options: Mapping[str, Any]
    unknown: Mapping[str, Any] = field(default_factory=dict)
    validation: Mapping[str, Any] = field(default_factory=dict)
    """how to split train again; empty for no validation"""
    seed: int | None = None
    fold: int | None = None
    """the number of one split in a series, from 0"""
    recipe: Sequence[Mapping[str, Any]] = ()
    """the steps that filter the log before it is split"""
    train: Literal["kept", "left_out", "left_out_of_samples"] = "kept"
    """whether the training data is wanted, or the truth alone; or the truth alone unless samples
    would take everything, so that they become folds"""


@cache
def protocols() -> Mapping[str, Mapping[str, Any]]:
    """Return all protocols by name.

    One file may serve several releases under several names (`also`), or extend another (`like`).
    """
    stored = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in sorted(files(__name__).iterdir(), key=lambda path: path.name)
        if file.name.endswith(".toml")
    }
    by_name: dict[str, Mapping[str, Any]] = {}
    for name, content in stored.items():
        base = stored.get(content.get("like", ""), {})
        whole = {**base, **content, "split": [*content["split"], *base.get("split", ())]}
        by_name |= dict.fromkeys([name, *content["also"]], whole)
    return by_name


def protocol(name: str) -> Mapping[str, Any]:
    """Return a protocol by name."""
    if name not in protocols():
        raise unknown_name("protocol", name, protocols())
    return protocols()[name]


def resolve(name: str, words: Mapping[str, Any]) -> SplitPlan:
    """Translate the parameters that a framework takes for a split."""
    return _plan(protocol(name), name, read_words(name, words))


def read_words(name: str, words: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters as the entries of a protocol name them, from the spelling of the
    framework's own configuration files if it has one (`spelling`)."""
    spelling = protocol(name).get("spelling")
    return SPELLINGS[spelling](words) if spelling else words


def _plan(stored: Mapping[str, Any], name: str, words: Mapping[str, Any]) -> SplitPlan:
    words = _drop_none(words)
    entry = entry_of(stored["split"], name, words)
    given = {**entry.get("defaults", {}), **words}
    require_known(entry, name, given)
    options: dict[str, Any] = deepcopy(dict(entry.get("set", {})))
    require_given(entry, name, given)
    for target, source in entry.get("take", {}).items():
        found = _present(source, given)
        if found is not None:
            _put(options, target.split("."), take_parameter(stored, name, found, given))
    unknown, seed, fold = (options.pop(key, None) for key in ("unknown", "seed", "fold"))
    train = options.pop("train", "kept")
    validation = _pop_validation(options)
    if "within" in options and (nested := _pop_validation(options["within"])):
        options["within"]["validation"] = nested
    recipe = [_step(stored, name, step, given) for step in entry.get("steps", ())
              if _fits(step, given, words)]  # fmt: skip
    return SplitPlan(entry["how"], options, unknown or {}, validation, seed, fold, recipe, train)


def _pop_validation(options: dict[str, Any]) -> Mapping[str, Any]:
    """Take out how train is split again; nothing if a framework's parameters ask for no rows."""
    if not isinstance(options.get("validation"), dict):
        return {}
    found: dict[str, Any] = options.pop("validation")
    return {} if None in found.values() else found


def _drop_none(words: Mapping[str, Any]) -> dict[str, Any]:
    """Drop parameters that are None, which frameworks use for "not given"."""
    return {key: value for key, value in words.items() if value is not None}


def _present(source: str | list[str], given: Mapping[str, Any]) -> str | None:
    """Return the first source of a value that was given, with its converters."""
    names = [source] if isinstance(source, str) else source
    return next((name for name in names if name.partition("|")[0] in given), None)


def require_given(entry: Mapping[str, Any], name: str, given: Mapping[str, Any]) -> None:
    """Raise an error if a parameter without a default (`must`) is missing, or a value is not
    `allowed`."""
    for target in entry.get("must", ()):
        source = entry["take"][target]
        if _present(source, given) is None:
            words = [source] if isinstance(source, str) else source
            missing = " or ".join(word.partition("|")[0] for word in words)
            raise BadArgument(
                f"protocol {name!r}, {_show_entry(entry)}, has no value for {missing}.", "a value."
            )
    for word, allowed in entry.get("allowed", {}).items():
        if word in given and not any(_same(given[word], choice) for choice in allowed):
            raise BadArgument(
                f"{word} is {given[word]!r}.", f"one of: {', '.join(map(str, allowed))}."
            )


def _put(tree: dict[str, Any], path: list[str], value: object) -> None:
    """Set a value inside nested tables: ["validation", "t"]."""
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def entry_of(
    entries: list[Mapping[str, Any]], name: str, words: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the first entry whose `match`, `needs` and `kinds` fit the given parameters."""
    for entry in entries:
        given = {**entry.get("defaults", {}), **words}
        if _fits(entry, given, words):
            return entry
    ways = sorted({_show_entry(entry) for entry in entries})
    asked = ", ".join(f"{key}={value!r}" for key, value in words.items())
    known = {key for entry in entries for key in {*entry.get("match", {}), *entry.get("needs", ())}}
    near = {key: nearest(key, known) for key in words if key not in known}
    hints = [f"did you mean {meant} instead of {key!r}?" for key, meant in near.items() if meant]
    raise BadArgument(
        f"protocol {name!r} does not support {asked}."
        if asked
        else f"protocol {name!r} was given without parameters.",
        f"one of: {'; '.join(ways)}.",
        " ".join(hints),
    )


def _fits(entry: Mapping[str, Any], given: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    same = all(_same(given.get(key), value) for key, value in entry.get("match", {}).items())
    needed = all(key in words for key in entry.get("needs", ()))
    needed = needed and not any(key in words for key in entry.get("lacks", ()))
    kinds = entry.get("kinds", {}).items()
    return same and needed and all(type(given.get(key)).__name__ == kind for key, kind in kinds)


def _same(given: object, pattern: object) -> bool:
    """Whether a value is this one, or fits this pattern or one of several."""
    if isinstance(pattern, list):
        return any(_same(given, one) for one in pattern)
    if isinstance(given, str) and isinstance(pattern, str):
        return fnmatchcase(given, pattern)
    return given == pattern


def _show_entry(entry: Mapping[str, Any]) -> str:
    words = [*(f"{key}={_show_pattern(value)}" for key, value in entry.get("match", {}).items())]
    return ", ".join([*words, *entry.get("needs", ())])


def _show_pattern(pattern: object) -> str:
    return " or ".join(map(repr, pattern)) if isinstance(pattern, list) else repr(pattern)


def require_known(entry: Mapping[str, Any], name: str, given: Mapping[str, Any]) -> None:
    """Raise an error for unknown parameters: nothing is ignored silently."""
    takes = [*entry.get("take", {}).values()]
    takes += [take for step in entry.get("steps", ()) for take in step.get("take", {}).values()]
    sources = [name for take in takes for name in ([take] if isinstance(take, str) else take)]
    known = {*entry.get("match", {}), *entry.get("defaults", {}), *entry.get("ignore", ())}
    known |= {source.partition("|")[0] for source in sources} | set(entry.get("needs", ()))
    known |= set(protocol(name).get("ignore", ()))
    for key in given:
        if key not in known:
            raise unknown_name(
                "parameter", key, known, where=f"protocol {name!r}, {_show_entry(entry)},"
            )


def take_parameter(
    stored: Mapping[str, Any], name: str, source: str, given: Mapping[str, Any]
) -> Any:
    """Return the value of a source such as `parameter|converter|converter`."""
    key, *converters = source.split("|")
    value = given[key]
    for converter in converters:
        if converter == "split":
            plan = _plan(stored, name, _as_table(key, value))
            seeded = {} if plan.seed is None else {"seed": plan.seed}
            value = {"how": plan.how, **plan.options, **seeded}
        elif converter in CONVERTERS:
            value = _convert(converter, key, value)
        else:
            value = _word(stored, name, converter, value)
    return value


def _as_table(key: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadArgument(f"{key} is {value!r}.", "a dict that names a way to split.")
    return value


def _convert(converter: str, key: str, value: Any) -> Any:
    """Convert the value of a parameter; an error names the parameter."""
    try:
        return CONVERTERS[converter](value)
    except BadArgument:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadArgument(f"{key} is {value!r}.", "a value that the framework accepts.") from error


def steps(name: str, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Translate the parameters that a framework takes for a filter into a recipe.

    Each entry lists steps; a step applies if its `match` and `needs` fit the parameters.
    """
    stored = protocol(name)
    if "steps" in words:  # a chain of filters
        return [step for part in words["steps"] for step in steps(name, part)]
    words = _drop_none(words)
    entry = entry_of(stored.get("filter", []), name, words)
    given = {**entry.get("defaults", {}), **words}
    fitting = [step for step in entry["steps"] if _fits(step, given, words)]
    takes = {key: take for step in entry["steps"] for key, take in _takes(step).items()}
    matched = {key: "" for step in entry["steps"] for key in step.get("match", {})}
    known = {**entry, "take": takes, "match": {**matched, **entry.get("match", {})}}
    require_known(known, name, given)
    require_given(entry, name, given)
    return [_step(stored, name, step, given) for step in fitting]


def _step(
    stored: Mapping[str, Any], name: str, step: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    require_given(step, name, given)
    recipe_step: dict[str, Any] = {"step": step["step"], **step.get("set", {})}
    for key, source in step.get("take", {}).items():
        word = _present(source, given)
        if word is not None:
            recipe_step[key] = take_parameter(stored, name, word, given)
    return recipe_step


def _takes(step: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{step['step']}.{key}": source for key, source in step.get("take", {}).items()}


def _word(stored: Mapping[str, Any], name: str, table: str, value: object) -> Any:
    words = stored["words"][table]
    value = str(value).lower() if isinstance(value, bool) else value
    if value not in words:
        raise unknown_name(table, str(value), words, where=f"protocol {name!r}")
    return words[value]


def _ratios(method: str) -> list[float]:
    """Read the shares from a name such as RS_811_user, RS_80_10_10_user or RS_0.8_0.1_0.1_user."""
    parts = [part for part in method.split("_") if part[:1].isdigit()]
    numbers = [*map(float, parts[0] if len(parts) == 1 else parts)]
    if len(numbers) != len(("train", "validation", "test")):
        raise BadArgument(f"method is {method!r}.", "three shares, as in RS_811_user.")
    shares = numbers
    if all(part.isdigit() for part in parts):  # the framework is given tenths or percent as shares
        shares = [number / sum(numbers) for number in numbers]
    # The framework divides these shares by their sum again, which may not be exactly 1.
    return [share / sum(shares) for share in shares]


def _first_of_rest(ratios: list[float]) -> float | None:
    """Return the first share relative to the first two; None if the second is 0."""
    share = ratios[0] / (1 - ratios[2])
    return share if share < 1 else None


def _train_shares(ratio: float | list[float]) -> list[float]:
    """Return the share of train, and if there are three shares, that of train and validation."""
    if not isinstance(ratio, list):
        return [ratio]
    if len(ratio) not in (2, 3):
        raise BadArgument(
            f"ratio is {ratio!r}.", "the share of the training data, or two or three shares."
        )
    shares = [share / math.fsum(ratio) for share in ratio]
    return [shares[0], shares[0] + shares[1]][: len(ratio) - 1]


def _values(intervals: Mapping[str, Any], column: str) -> Any:
    """Return the intervals given for a column, if any."""
    for other in intervals:
        if other not in ("rating", "timestamp"):
            raise BadArgument(
                f"there are intervals for {other!r}.", "intervals for rating or timestamp."
            )
    return intervals.get(column)


SPELLINGS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "eval_args": read_eval_args,
}
CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "complement": lambda share: 1 - share,
    "drop": lambda chosen: "drop" if chosen else "keep",
    "ratios": _ratios,
    "first": lambda ratios: ratios[0],
    "third": lambda ratios: ratios[2],
    "held_out": lambda ratios: ratios[2] or ratios[1],
    "second_of_three": lambda ratios: ratios[1] if ratios[2] else 0.0,
    "first_of_rest": _first_of_rest,
    "train_shares": _train_shares,
    "last": lambda shares: shares[-1],
    "first_of_several": lambda shares: shares[0] if len(shares) > 1 else 0.0,
    "number_or_share": lambda size: int(size) if size >= 1 else size,
    "left_out": lambda chosen: "left_out" if chosen else "kept",
    "left_out_of_samples": lambda chosen: "left_out_of_samples" if chosen else "kept",
    "percent_left": lambda share: int((1 - share) * 100) / 100,
    "latest": lambda n: None if n < 0 else n,
    "earliest": lambda n: max(-n, 0),
    "whole": int,
    "number": lambda text: int("".join(filter(str.isdigit, text))),
    "text": str,
    **{column: partial(_values, column=column) for column in ("rating", "timestamp")},
}

"""What a table says about a number without words: best, second best, apart from others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rectitude.comparing.result import Comparison


class Mark(NamedTuple):
    """The marks of one number."""

    place: Literal["best", "second", ""] = ""
    apart: bool = False
    """whether it differs significantly from the baseline"""
    letters: str = ""
    """models that share a letter do not differ significantly; empty where there is a baseline"""


def marks(comparison: Comparison, metric: str) -> dict[str, Mark]:
    """The marks of each model."""
    standing = places(comparison.values[metric], comparison.best[metric])
    words: dict[int, Literal["best", "second"]] = {1: "best"}
    if len(standing) > 2:
        words[2] = "second"
    all_equal = len({*standing.values()}) < 2
    found = [one for one in comparison.differences if one.metric == metric]
    apart = {(one.model, one.baseline) for one in found if comparison.significant(one)}
    named = [*comparison.values[metric]]
    shared = letters(sorted(named, key=lambda model: standing.get(model, len(named) + 1)), apart)
    return {
        model: Mark(
            "" if all_equal else words.get(standing.get(model, 0), ""),
            (model, comparison.baseline) in apart,
            "" if comparison.baseline else shared[model],
        )
        for model in named
    }


def places(values: Mapping[str, float], best: str) -> dict[str, int]:
    """The place of each model that has a number: 1 is the best, and equal ones share a place."""
    known = {model: value for model, value in values.items() if not math.isnan(value)}
    levels = sorted(set(known.values()), reverse=best == "high")
    return {model: levels.index(value) + 1 for model, value in known.items()}


def letters(models: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """A compact letter display: models share a letter unless they are apart.

    A letter stands for a largest group of models of which no two are apart (Piepho 2004). Letters
    go to groups in the order of the models.

    >>> letters(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    near = {
        one: {m for m in models if m != one and not {(one, m), (m, one)} & {*apart}}
        for one in models
    }
    groups: list[frozenset[str]] = []
    _grow(frozenset(), {*models}, set(), near, groups)
    ordered = sorted(groups, key=lambda group: [model not in group for model in models])
    names = [_letter(number) for number in range(len(ordered))]
    return {m: "".join(n for n, g in zip(names, ordered, strict=True) if m in g) for m in models}


def _grow(
    chosen: frozenset[str],
    possible: set[str],
    done: set[str],
    near: Mapping[str, set[str]],
    groups: list[frozenset[str]],
) -> None:
    """Add the largest groups that hold the chosen and only possible models (Bron and Kerbosch)."""
    if not possible:
        groups += [] if done else [chosen]
        return
    pivot = max(possible | done, key=lambda model: len(near[model] & possible))
    for model in possible - near[pivot]:
        _grow(chosen | {model}, possible & near[model], done & near[model], near, groups)
        possible = possible - {model}
        done = done | {model}


def _letter(number: int) -> str:
    """a to Z, then a1, b1 and so on."""
    turns, letter = divmod(number, len(ascii_letters))
    return ascii_letters[letter] + (str(turns) if turns else "")

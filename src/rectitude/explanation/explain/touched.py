"""Whom a change touches: the lists whose value is another after it, and the one most changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rectitude.aggregate.evaluation import Keys
from rectitude.arrays import Floats
from rectitude.explanation.explain.game import Coalition, Game
from rectitude.explanation.trials import close


@dataclass(frozen=True, slots=True)
class Example:
    """A list before and after a change; None where it does not count."""

    list: Any
    user: Any
    before: float | None
    after: float | None
    of: str
    """the metric whose value it is: that explained, or a part of it if lists have no values of
    their own"""


@dataclass(frozen=True, slots=True)
class Flip:
    """What happens when one part alone is changed to the other end's choice."""

    value: float
    effect: float
    """the new value less the old one"""
    lists: int | None
    """how many lists have another value; None if they have none of their own"""
    users: int | None
    """how many users have such a list"""
    example: Example | None


class _Lists(NamedTuple):
    """The lists of one side: keys, users, and a row of values for each metric."""

    keys: list[Any]
    users: list[Any]
    values: Floats


def flip(game: Game, before: Coalition, after: Coalition) -> Flip:
    """Compare two coalitions, list by list."""
    old, new = game.result(before).value, game.result(after).value
    ours, theirs = game.values(before), game.values(after)
    names = [name for name in ours if name in theirs]
    if not names:
        return Flip(new, new - old, None, None, None)
    here, there = game.keys(before), game.keys(after)
    one = _lists(here, np.array([ours[name] for name in names]))
    two = one._replace(values=np.array([theirs[name] for name in names]))
    if here.keys is not there.keys:
        one, two = _aligned(one, _lists(there, two.values))
    changed = ~close(one.values, two.values)
    touched = np.flatnonzero(changed.any(axis=0))
    users = len({one.users[n] for n in touched})
    return Flip(new, new - old, len(touched), users, _example(one, two, changed, names))


def _lists(keys: Keys, values: Floats) -> _Lists:
    users = keys.keys if keys.by_user else keys.users.gather(keys.owners)
    return _Lists(keys.keys.to_list(), users.to_list(), values)


def _aligned(one: _Lists, two: _Lists) -> tuple[_Lists, _Lists]:
    """Both sides over the lists of either, in the order of the first."""
    users = dict(zip(two.keys, two.users, strict=True)) | dict(
        zip(one.keys, one.users, strict=True)
    )
    everyone = list(dict.fromkeys([*one.keys, *two.keys]))
    place = {key: n for n, key in enumerate(everyone)}
    filled = []
    for keys, _, values in (one, two):
        rows = np.full((len(values), len(everyone)), np.nan)
        rows[:, [place[key] for key in keys]] = values
        filled.append(_Lists(everyone, [users[key] for key in everyone], rows))
    return filled[0], filled[1]


def _example(one: _Lists, two: _Lists, changed: Any, names: Sequence[str]) -> Example | None:
    """The list with the largest change, the first of them; one that does not count is as 0."""
    if not changed.any():
        return None
    size = np.abs(np.nan_to_num(two.values) - np.nan_to_num(one.values))
    size = np.where(changed, size, -1.0)
    number = int(np.argmax(size.max(axis=0)))
    name = int(np.argmax(size[:, number]))
    before, after = (_there(side.values[name, number]) for side in (one, two))
    return Example(one.keys[number], one.users[number], before, after, names[name])


def _there(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

"""Which lists a change affects, and the list that it changes most."""

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
    """The value of a list before and after a change; None if the list does not count."""

    list: Any
    user: Any
    before: float | None
    after: float | None
    of: str
    """the metric of these values; for a derived metric, one of those it is computed from"""


@dataclass(frozen=True, slots=True)
class Flip:
    """What happens if only one part is changed to the choice of the other end."""

    value: float
    effect: float
    """the new value minus the old one"""
    lists: int | None
    """how many lists change their value; None if single lists have no value"""
    users: int | None
    """how many users own such a list"""
    example: Example | None


class _Lists(NamedTuple):
    """The lists of one side: keys, users, and one row of values per metric."""

    keys: list[Any]
    users: list[Any]
    values: Floats


def flip(game: Game, before: Coalition, after: Coalition) -> Flip:
    """Compare two coalitions, list by list."""
    old, new = game.result(before).value, game.result(after).value
    old_values, new_values = game.values(before), game.values(after)
    names = [name for name in old_values if name in new_values]
    if not names:
        return Flip(new, new - old, None, None, None)
    old_keys, new_keys = game.keys(before), game.keys(after)
    old_lists = _lists(old_keys, np.array([old_values[name] for name in names]))
    new_lists = old_lists._replace(values=np.array([new_values[name] for name in names]))
    if old_keys.keys is not new_keys.keys:
        old_lists, new_lists = _align_lists(old_lists, _lists(new_keys, new_lists.values))
    changed = ~close(old_lists.values, new_lists.values)
    touched = np.flatnonzero(changed.any(axis=0))
    users = len({old_lists.users[n] for n in touched})
    example = _example(old_lists, new_lists, changed, names)
    return Flip(new, new - old, len(touched), users, example)


def _lists(keys: Keys, values: Floats) -> _Lists:
    users = keys.keys if keys.by_user else keys.users.gather(keys.owners)
    return _Lists(keys.keys.to_list(), users.to_list(), values)


def _align_lists(old: _Lists, new: _Lists) -> tuple[_Lists, _Lists]:
    """Extend both sides to all lists of either, in the order of the first; gaps are NaN."""
    users = dict(zip(new.keys, new.users, strict=True)) | dict(
        zip(old.keys, old.users, strict=True)
    )
    all_keys = list(dict.fromkeys([*old.keys, *new.keys]))
    column = {key: n for n, key in enumerate(all_keys)}
    filled = []
    for keys, _, values in (old, new):
        rows = np.full((len(values), len(all_keys)), np.nan)
        rows[:, [column[key] for key in keys]] = values
        filled.append(_Lists(all_keys, [users[key] for key in all_keys], rows))
    return filled[0], filled[1]


def _example(old: _Lists, new: _Lists, changed: Any, names: Sequence[str]) -> Example | None:
    """Return the first list with the largest change; a list that does not count is taken as 0."""
    if not changed.any():
        return None
    size = np.abs(np.nan_to_num(new.values) - np.nan_to_num(old.values))
    size = np.where(changed, size, -1.0)
    number = int(np.argmax(size.max(axis=0)))
    name = int(np.argmax(size[:, number]))
    before, after = (_number_or_none(side.values[name, number]) for side in (old, new))
    return Example(old.keys[number], old.users[number], before, after, names[name])


def _number_or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

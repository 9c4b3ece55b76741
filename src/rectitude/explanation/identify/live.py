"""Which choices can matter on the inputs at hand: each is tried alone, and the lists compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from rectitude.convention import SWITCHES, Convention
from rectitude.engines.compute import verdict_of
from rectitude.errors import RectitudeError
from rectitude.explanation.identify.assignments import JUDGING, Flip, Space
from rectitude.explanation.trials import Trials
from rectitude.explanation.variants import thresholds
from rectitude.judge.judged import Judged
from rectitude.profiles import Asked
from rectitude.threads import Once

_ALONE = ("negative_grades", "duplicate_truth", "unknown_users", "unknown_items", "duplicates")
"""switches that say what becomes of certain rows, and nothing where there are none"""
_MAKE_TIES = ("order", "score_precision", "seen", "candidates")


def space_of(trials: Trials, asked: Asked) -> Space:
    """What can be changed: the choices under which some list is judged otherwise, thresholds
    between the grades, and the end of lists at the cutoff."""
    base = _tolerant(asked.convention)
    lists = judged_alone(trials, replace(asked, convention=base))
    marks = _marks(trials, asked, base, signature(lists))
    live: dict[str, Sequence[Any]] = {name: _live(name, base, marks) for name in JUDGING}
    if any(live[name] for name in _MAKE_TIES):
        live["ties"] = [c for c in SWITCHES["ties"].choices if marks["ties", c] is not None]
    grades = thresholds(lists.truth.values)
    live["relevant_from"] = [None, *grades] if grades else ()
    live["list_end"] = ("none", "cutoff") if asked.cutoff is not None else ()
    equal = {flip: getattr(base, flip[0]) for flip in _equal(base, marks)}
    equal["list_end", "last_cutoff"] = "cutoff"  # there is no other cutoff than the metric's
    keys = trials.keys(asked)
    return Space(live, equal, unit_matters=len(keys.users) < len(keys.keys))


def judged_alone(trials: Trials, asked: Asked) -> Judged:
    """The lists as judged, not kept for others."""
    run = trials.run(asked)._replace(verdicts={}, views=Once())
    return verdict_of(run, asked).judged


def signature(lists: Judged) -> bytes:
    """A hash of everything that metrics see of judged lists."""
    mark = hashlib.blake2b(digest_size=16)
    _add(mark, lists)
    return mark.digest()


def _add(mark: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        mark.update(f"{value.dtype}{value.shape}".encode())
        mark.update(np.ascontiguousarray(value).data)
    elif is_dataclass(value):
        for one in fields(value):
            if one.name not in ("kept", "relevant_from"):  # shared results; put on afterwards
                _add(mark, getattr(value, one.name))
    elif isinstance(value, tuple):
        for part in value:
            _add(mark, part)
    else:
        mark.update(repr(value).encode())


def _tolerant(convention: Convention) -> Convention:
    """The convention with the first choice that is no error wherever one stands."""
    changes = {
        name: next(choice for choice in SWITCHES[name].choices if choice != "error")
        for name in JUDGING
        if getattr(convention, name) == "error"
    }
    return convention.replace(**changes)


def _marks(trials: Trials, asked: Asked, base: Convention, own: bytes) -> dict[Flip, bytes | None]:
    """The lists under every single choice, as signatures; None where there is an error."""
    marks: dict[Flip, bytes | None] = {}
    for name in JUDGING:
        for choice in SWITCHES[name].choices:
            if choice == getattr(base, name):
                marks[name, choice] = own
                continue
            flipped = replace(asked, convention=base.replace(**{name: choice}))
            try:
                marks[name, choice] = signature(judged_alone(trials, flipped))
            except RectitudeError:
                marks[name, choice] = None
    return marks


def _live(name: str, base: Convention, marks: Mapping[Flip, bytes | None]) -> Sequence[str]:
    """The choices of a switch of which one makes a difference: those that do, and the one in
    force."""
    own = getattr(base, name)
    other = [
        choice
        for choice in SWITCHES[name].choices
        if choice != "error" and marks[name, choice] not in (None, marks[name, own])
    ]
    return [own, *other] if other else ()


def _equal(base: Convention, marks: Mapping[Flip, bytes | None]) -> list[Flip]:
    """The choices that cannot make a difference, whatever other switches say."""
    found: list[Flip] = []
    for name in _ALONE:
        own = marks[name, getattr(base, name)]
        choices = [c for c in SWITCHES[name].choices if marks[name, c] == own]
        moot = "error" in choices or "error" not in SWITCHES[name].choices
        if moot and not _live(name, base, marks):
            found += [(name, choice) for choice in choices]
    return found

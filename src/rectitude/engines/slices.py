"""Evaluations of slices: one for each part of the lists, or of the rows of the truth.

A slice by users or lists is a part of the lists. A slice by items, or by anything else that rows of
the truth have for themselves, is a part of these rows: its evaluation knows no other relevant items
and no other users. What a list holds of another slice counts as not relevant, and takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Integers
from rectitude.data.ledger import Ledger
from rectitude.data.slicing import Axis, Slicing, kept_columns, parse
from rectitude.data.sources import Sources
from rectitude.engines.axes import require_axes, slicing_of
from rectitude.engines.local import asked_of
from rectitude.engines.opening import Inputs, given_of, opened
from rectitude.engines.part import Part, computed, part_of, results_of
from rectitude.engines.sliced import Asking, only, within
from rectitude.errors import NothingToEvaluate
from rectitude.profiles import profile_of


def slices(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    by: object = "known",
    intervals: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **inputs: Unpack[Inputs],
) -> dict[str, Evaluation]:
    """The evaluation of all lists, and one of every slice that has any, by name.

    `by` is a column of `users=`, `items=`, the truth or the predictions, or one of these: "known"
    (what `train=` holds: warm, unknown user, unknown item, both), "activity" (rows of train of the
    user), "popularity" (rows of train with the item), "time" (of the rows of the truth). Numbers
    are cut into parts of equal size ("activity:4") or at edges ("price:10,50,100"); several of them
    are crossed (["gender", "activity:2"]). The other arguments are those of `evaluate`. How much
    each slice has, and why one could not be evaluated, stands in the ledger of "all".

    >>> lists, truth = {1: ["a"], 2: ["x", "b"]}, {1: ["a"], 2: ["b"]}
    >>> found = slices(lists, truth, "mrr", by="sex", users={"user": [1, 2], "sex": ["f", "m"]})
    >>> {name: one["mrr"] for name, one in found.items()}
    {'all': 0.75, 'f': 1.0, 'm': 0.5}
    """
    axes = parse(by)
    profile = profile_of(convention)
    asked = asked_of(metrics, profile, predictions)
    given = given_of(predictions, truth, inputs, profile.padding)
    given = replace(given, progress=progress, keep=kept_columns([axes]))
    asking = Asking(asked, profile, computed(asked, profile))
    sources = opened(given, list(asking.wanted.values()), profile.convention)
    return _evaluations(axes, sources, asking, intervals)


def _evaluations(
    axes: Sequence[Axis], sources: Sources, asking: Asking, intervals: bool
) -> dict[str, Evaluation]:
    require_axes([axes], sources)
    part = part_of(sources, asking.asked, asking.profile, asking.wanted, intervals)
    if part.run is None:
        raise NothingToEvaluate("there is nothing to be parted.")
    slicing = slicing_of(axes, sources, part.run.sides)
    found = {"all": _evaluation(part, asking, intervals)}
    ledger = found["all"].ledger
    _account(slicing, _size(slicing, part, sources), ledger)
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        if not len(members):
            continue
        try:
            mine = _part(slicing, members, part, sources, asking, intervals)
        except NothingToEvaluate as error:
            ledger.note(name, f"not evaluated: {error.found}")
            continue
        own = f"{slicing.name}: {name}" if name == "all" else name
        found[own] = _evaluation(mine, asking, intervals)
    return found


def _evaluation(part: Part, asking: Asking, intervals: bool) -> Evaluation:
    results, failures = results_of(asking.asked, asking.profile, part, intervals)
    return Evaluation(results, part.ledger, part.manifest, failures, part.keys)


def _part(
    slicing: Slicing,
    members: Integers,
    part: Part,
    sources: Sources,
    asking: Asking,
    intervals: bool,
) -> Part:
    if slicing.of == "lists":
        return within(part, members, asking)
    rows = np.zeros(sources.truth.frame.height, bool)
    rows[members] = True
    return part_of(only(sources, rows), asking.asked, asking.profile, asking.wanted, intervals)


def _size(slicing: Slicing, part: Part, sources: Sources) -> int:
    """How many lists, or rows of the truth, are parted."""
    lists = 0 if part.keys is None else len(part.keys.keys)
    return lists if slicing.of == "lists" else sources.truth.frame.height


def _account(slicing: Slicing, size: int, ledger: Ledger) -> None:
    what = "lists" if slicing.of == "lists" else "rows of the truth"
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        about = f"{what} are in the slice {name!r}"
        ledger.count(f"slice_{name.replace(' ', '_')}", len(members), about, of=size)

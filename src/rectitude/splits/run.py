"""`split`: a log into parts, by one of our ways of splitting or as another framework does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np

from rectitude.data.log import Log, open_log
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.options import options_of, require_options
from rectitude.prepare import prepare
from rectitude.splits import folds, holdout, timeline, users
from rectitude.splits.protocols import SplitPlan, resolve
from rectitude.splits.split import (
    SPLITTERS,
    Split,
    account_parts,
    apply,
    holds_rows,
    parameters,
    require_rows,
    single,
)
from rectitude.splits.unknown import unknown as with_policy

__all__ = ["MODULES", "SPLITTERS", "planned", "split"]
MODULES = (holdout, timeline, users, folds)
"""Where the ways of splitting are: importing a module registers its own."""


def split(
    source: object,
    how: str | None = None,
    *,
    protocol: str | None = None,
    recipe: object = None,
    validation: object = None,
    unknown: Mapping[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> Split | list[Split]:
    """Split interactions into what is learnt from and what is to be found.

    `how` names a way of splitting, whose parameters are `options`: split(log, "leave_last", n=1).
    `protocol` names a framework instead, and then the options are its own words. `validation`
    splits train again, as {"how": ...}, or is what the way of splitting takes: a share, a table.
    `unknown` says what happens to unknown users and items. `recipe` prepares the log first.
    """
    log = open_log(source)
    if recipe is not None:
        log = prepare(log, recipe)
    if log.frame.is_empty():
        raise NothingToEvaluate(f"{log.source} has no rows.", "interactions to split.")
    if protocol is not None:
        if how is not None:
            raise BadName("how and protocol were both given.", "one of them.")
        if isinstance(validation, bool):  # a word of the framework's own
            validation, options = None, {**options, "validation": validation}
        plan = resolve(protocol, options)
    else:
        plan = SplitPlan(how or "leave_last", options)
    return planned(log, _changed(plan, validation, unknown), seed)


def _changed(plan: SplitPlan, validation: object, unknown: Mapping[str, Any] | None) -> SplitPlan:
    """The plan with what was asked for beside it."""
    if not isinstance(unknown, Mapping | None):
        raise BadName(f"unknown is {unknown!r}.", "a policy for each side: {'users': 'drop'}.")
    plan = replace(plan, unknown={**plan.unknown, **(unknown or {})})
    if validation is None:
        return plan
    if isinstance(validation, Mapping) and "how" in validation:
        return replace(plan, validation=validation)
    if "validation" not in parameters(plan.how):
        raise BadName(
            f"validation is {validation!r}, and split {plan.how!r} has no validation of its own.",
            "how its train is to be split again.",
            f"say for example: validation={{'how': {plan.how!r}}}.",
        )
    return replace(plan, options={**plan.options, "validation": validation})


def planned(
    log: Log, plan: SplitPlan, seed: int = 0, empty: Literal["error", "kept"] = "error"
) -> Split | list[Split]:
    """Split a log as a plan says; empty parts are an error unless they are to be `kept`.

    Of a series, splits without anything to learn from or to find are left out, which its ledgers
    say; it is an error if none is left.
    """
    chosen = seed if plan.seed is None else plan.seed
    found = apply(plan.how, log, plan.options, chosen)
    if isinstance(found, list) and plan.fold is not None:
        found = _one(found, plan.fold)
    if not isinstance(found, list):
        made = _finished(found, plan, chosen)
        return made if empty == "kept" else _whole(log, found, made)
    series = [_finished(one, plan, chosen) for one in found]
    if empty == "kept":
        return series
    held = [one for one in series if holds_rows(one)]
    if not series:
        raise NothingToEvaluate(f"no split of the series holds a row of {log.source}.", "some.")
    if not held:
        _whole(log, found[-1], series[-1])
    about = "splits of the series hold nothing to learn from or to find and are left out"
    for one in held:
        one.ledger.count("empty_splits", len(series) - len(held), about, len(series), "", "notice")
    return held


def _one(series: list[Split], number: int) -> Split:
    """One of a series by its number, from 0."""
    if not 0 <= number < len(series):
        raise BadName(
            f"fold is {number}, and there are {len(series)} folds.",
            f"a whole number from 0 to {len(series) - 1}.",
        )
    return series[number]


def _whole(log: Log, found: Split, made: Split) -> Split:
    """A split with rows in every part, before and after unknown users and items were dealt with."""
    require_rows(log, found)
    require_rows(found.truth, made)
    if made.validation is not None:
        require_rows(made.train, made.validation)
    return made


def _finished(made: Split, plan: SplitPlan, seed: int) -> Split:
    """One split with its validation, its policy and how it was made."""
    if plan.validation and not made.train.frame.is_empty():
        made = replace(made, validation=single(plan.validation, made.train, seed))
        account_parts(made)
    if plan.unknown:
        require_options(plan.unknown, options_of(with_policy), "unknown")
        made = with_policy(made, **plan.unknown)
    words = dict(plan.options)
    if "seed" in parameters(plan.how):
        words["seed"] = seed
    if plan.validation:
        words["validation"] = dict(plan.validation)
    shown = ", ".join(f"{name}={_said(value)}" for name, value in words.items())
    made.ledger.note("how", f"{plan.how}({shown})")
    return made


def _said(value: object) -> str:
    """A parameter so that it can be given again; a table by its kind alone."""
    if isinstance(value, date | timedelta | np.generic):
        return repr(str(value)) if isinstance(value, date | timedelta) else str(value)
    plain = isinstance(value, str | int | float | bool | dict | list | tuple)
    return repr(value) if plain or value is None else type(value).__name__

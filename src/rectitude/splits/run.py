"""`split`: divide interactions into training data and truth, in our ways or like a framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Literal, overload

import numpy as np

from rectitude.data.log import Log, open_log
from rectitude.errors import BadArgument, NothingToEvaluate
from rectitude.preparing import prepare
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
from rectitude.splits.unknown import (
    count_unknown,
    count_unknown_in_validation,
    require_policies,
    treat_unknown,
)

__all__ = ["MODULES", "SPLITTERS", "carry_out", "split"]
MODULES = (holdout, timeline, users, folds)
"""The modules that define ways to split; importing them registers these."""


Series = Literal["k_fold", "k_fold_users", "windows"]
"""Ways to split that return a list of splits."""
Single = Literal[
    "after_first", "cold_users", "fixed", "last_ratio", "last_sessions", "last_span",
    "late_sessions", "late_share_in_file_order", "late_users", "leave_last",
    "leave_random", "named_users",
    "new_users", "next_after", "random_next", "random_ratio", "random_rows",
    "strong_generalisation", "time_ratio",
]  # fmt: skip
"""Ways to split that return one split, unless `repeats` or `folds` asks for several."""


@overload
def split(
    source: object,
    how: Series,
    *,
    recipe: object = None,
    validation: object = None,
    unknown: Mapping[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> list[Split]: ...
@overload
def split(source: object, how: str, *, repeats: int, **options: Any) -> Split | list[Split]: ...
@overload
def split(source: object, how: str, *, folds: int, **options: Any) -> Split | list[Split]: ...
@overload
def split(source: object, *, protocol: str, **options: Any) -> Split | list[Split]: ...
@overload
def split(
    source: object,
    how: Single = "leave_last",
    *,
    recipe: object = None,
    validation: object = None,
    unknown: Mapping[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> Split: ...
@overload
def split(source: object, how: str | None = None, **options: Any) -> Split | list[Split]: ...
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
    """Split interactions into training data and truth (the test set).

    `how` names a way to split, with its parameters as `options`: split(log, "leave_last", n=1).
    `protocol` names a framework instead; the options are then that framework's own. `validation`
    splits train again: {"how": ...}, or whatever the way to split accepts, such as a share or a
    table. `unknown` says what to do with truth rows of users and items that are not in train:
    {"users": "drop"}; without it they are kept, and the ledger counts them. `recipe` filters the
    log first.
    """
    log = open_log(source)
    if recipe is not None:
        log = prepare(log, recipe)
    if log.frame.is_empty():
        raise NothingToEvaluate(f"{log.source} has no rows.", "interactions to split.")
    if protocol is not None:
        if how is not None:
            raise BadArgument("how= and protocol= were both given.", "one of them.")
        if isinstance(validation, bool):  # an option of the framework itself
            validation, options = None, {**options, "validation": validation}
        plan = resolve(protocol, options)
    else:
        plan = SplitPlan(how or "leave_last", options)
    return carry_out(log, _change_plan(plan, validation, unknown), seed)


def _change_plan(
    plan: SplitPlan, validation: object, unknown: Mapping[str, Any] | None
) -> SplitPlan:
    """Add the requested validation and policy to a plan."""
    if not isinstance(unknown, Mapping | None):
        raise BadArgument(
            f"unknown= is {unknown!r}.", "a policy for each side, such as {'users': 'drop'}."
        )
    plan = replace(plan, unknown={**plan.unknown, **(unknown or {})})
    require_policies(plan.unknown)
    if validation is None:
        return plan
    if isinstance(validation, Mapping) and "how" in validation:
        return replace(plan, validation=validation)
    if "validation" not in parameters(plan.how):
        raise BadArgument(
            f"validation= is {validation!r}, and split {plan.how!r} has no such parameter.",
            "how to split train again.",
            f"for example: validation={{'how': {plan.how!r}}}.",
        )
    return replace(plan, options={**plan.options, "validation": validation})


def carry_out(
    log: Log, plan: SplitPlan, seed: int = 0, empty: Literal["error", "kept"] = "error"
) -> Split | list[Split]:
    """Split a log according to a plan. Empty parts are an error unless `empty` is "kept".

    In a series, splits with an empty train or truth are left out, and the ledgers say so; it is
    an error if none remains.
    """
    if plan.recipe:
        log = prepare(log, plan.recipe)
    result = _split_rows(log, plan, seed, empty)
    if not _leaves_out_train(log, plan):
        return result
    if isinstance(result, list):
        return [_leave_out_train(split) for split in result]
    return _leave_out_train(result)


def _leaves_out_train(log: Log, plan: SplitPlan) -> bool:
    """Return whether only the truth is wanted; see `SplitPlan.train`."""
    if plan.train != "left_out_of_samples":
        return plan.train == "left_out"
    users = log.frame["user"].n_unique()
    units = users if plan.how == "k_fold_users" else log.frame.height
    return bool(plan.options["size"] * plan.options["folds"] < units)


def _split_rows(
    log: Log, plan: SplitPlan, seed: int, empty: Literal["error", "kept"]
) -> Split | list[Split]:
    chosen_seed = seed if plan.seed is None else plan.seed
    raw = apply(plan.how, log, plan.options, chosen_seed)
    if isinstance(raw, list) and plan.fold is not None:
        raw = _choose_fold(raw, plan.fold)
    if not isinstance(raw, list):
        finished = _finish_split(raw, plan, chosen_seed)
        return finished if empty == "kept" else _require_whole(log, raw, finished)
    series = [_finish_split(split, plan, chosen_seed) for split in raw]
    if empty == "kept":
        return series
    whole = [split for split in series if holds_rows(split)]
    if not series:
        raise NothingToEvaluate(
            f"no split of the series contains rows of {log.source}.",
            "at least one split with rows.",
        )
    if not whole:
        _require_whole(log, raw[-1], series[-1])
    about = "splits of the series have an empty train or truth and are left out"
    empty_splits = len(series) - len(whole)
    for split in whole:
        split.ledger.count("empty_splits", empty_splits, about, len(series), "", "notice")
    return whole


def _leave_out_train(split: Split) -> Split:
    """Return the truth alone; the ledger counts the training rows, which are in no part."""
    rows = split.train.frame.height
    about = "training rows are left out: only the truth was asked for"
    split.ledger.count("train_rows_left_out", rows, about, weight="notice")
    train = split.train.with_frame(split.train.frame.clear())
    alone = replace(split, train=train, fold_in=None, validation=None)
    account_parts(alone)
    return alone


def _choose_fold(series: list[Split], number: int) -> Split:
    """Return one split of a series by its number, from 0."""
    if not 0 <= number < len(series):
        raise BadArgument(
            f"fold is {number}, but there are {len(series)} folds.",
            f"a whole number from 0 to {len(series) - 1}.",
        )
    return series[number]


def _require_whole(log: Log, raw: Split, finished: Split) -> Split:
    """Return the finished split; raise an error if a part is empty, before or after the policy for
    unknown users and items was applied."""
    require_rows(log, raw)
    if finished.truth.frame.is_empty():
        raise NothingToEvaluate(
            f"no truth row is left: all {raw.truth.frame.height:,} have unknown users or items, "
            "which unknown= or the protocol drops.",
            "at least one truth row whose user and item are in the training data.",
            "keep unknown users and items, or split in another way.",
        )
    require_rows(raw.truth, finished)
    if finished.validation is not None:
        require_rows(finished.train, finished.validation)
    return finished


def _finish_split(split: Split, plan: SplitPlan, seed: int) -> Split:
    """Add the validation, apply the policy for unknown users and items, and record the call."""
    if plan.validation and not split.train.frame.is_empty():
        split = replace(split, validation=single(plan.validation, split.train, seed))
        account_parts(split)
    if plan.unknown:
        split = treat_unknown(split, **plan.unknown)
    else:
        count_unknown(split)
    count_unknown_in_validation(split)
    options = dict(plan.options)
    if "seed" in parameters(plan.how):
        options["seed"] = seed
    if plan.validation:
        options["validation"] = dict(plan.validation)
    call = ", ".join(f"{name}={_format_parameter(value)}" for name, value in options.items())
    split.ledger.note("how", f"{plan.how}({call})")
    return split


def _format_parameter(value: object) -> str:
    """Format a parameter as it would be passed again; of a table, only the type."""
    if isinstance(value, date | timedelta | np.generic):
        return repr(str(value)) if isinstance(value, date | timedelta) else str(value)
    plain = isinstance(value, str | int | float | bool | dict | list | tuple)
    return repr(value) if plain or value is None else type(value).__name__

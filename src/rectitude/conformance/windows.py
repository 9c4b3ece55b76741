"""Golden cases of windows: the users of the truth in groups, one evaluation each, and together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from rectitude.aggregate.evaluation import Evaluation
from rectitude.conformance.cases import Case, changes
from rectitude.conformance.inputs import arguments
from rectitude.engines.local import evaluate
from rectitude.errors import NothingToEvaluate
from rectitude.experiment.windows import Windows
from rectitude.profiles import Profile

_NAME = re.compile(
    r"(?P<metric>\w+)\[(?:(?P<mean>macro|micro)|window=(?P<window>\d+))\](?P<at>@\d+)?"
)
_USERS = "num_user"


class Windowed(NamedTuple):
    """One number of a case of windows, theirs and ours."""

    name: str
    user: str
    expected: float | None
    got: float | None
    """None if there is no such number here"""
    tolerance: float


def window_values(case: Case, profile: Profile | None) -> Iterator[Windowed]:
    """Every number of a case of windows: of each window, their mean, and the mean over lists."""
    found = {name: _NAME.fullmatch(name) for name in case.expected}
    plain = replace(case, options={n: v for n, v in case.options.items() if n != "windows"})
    switches = changes(replace(plain, expected={}))
    asked = {one["metric"] + (one["at"] or "") for one in found.values() if one} - {_USERS}
    windows = None
    if profile is not None and switches is not None:
        known = sorted(name for name in asked if profile.has(name))
        windows = _evaluated(case, plain, {"profile": profile, **switches}, known)
    for name, expected in case.expected.items():
        got = None if windows is None else _got(windows, found[name])
        yield Windowed(name, "", expected, got, case.tolerance_of(name))


def _evaluated(case: Case, plain: Case, convention: Mapping[str, Any], names: list[str]) -> Windows:
    """An evaluation of each window; in the mean, one without users is worth 0."""
    recorded = case.options.get("ranking", "")
    cut = names[0].rpartition("@")[2] if names else ""
    ranking = recorded.get(f"@{cut}", "") if isinstance(recorded, Mapping) else recorded
    given = arguments(plain, ranking)
    truth = given.pop("truth")
    windows: dict[str, Evaluation | None] = {}
    for number, (low, high) in enumerate(pairwise(case.options["windows"]), 1):
        part = truth.filter(truth["user"].is_between(low, high, closed="left"))
        try:
            windows[str(number)] = evaluate(
                **given, truth=part, metrics=names, convention=convention
            )
        except NothingToEvaluate:
            windows[str(number)] = None
    return Windows(windows, empty="zero")


def _got(windows: Windows, name: re.Match[str] | None) -> float | None:
    if name is None:
        return None
    metric = f"{name['metric']}{name['at'] or ''}"
    if name["metric"] != _USERS and metric not in windows.names:
        return None
    if name["window"] is None:
        return (windows.macro if name["mean"] == "macro" else windows.micro)(metric)
    evaluation = windows.evaluations.get(name["window"])
    if name["metric"] == _USERS:
        first = None if evaluation is None else evaluation.result(windows.names[0])
        return 0.0 if first is None else float(first.counted or 0)
    return windows.values(metric)[name["window"]]

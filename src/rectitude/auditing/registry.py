"""The checks by name, the run through all of them, and what their findings do.

What a finding does is measured: the metrics of the same predictions with and without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.auditing.dense import ScoreRows
from rectitude.auditing.parts import USER, AuditCase, Compared, Parts
from rectitude.auditing.ranked import sound_weights
from rectitude.auditing.result import SEVERITIES, Finding, Found, Pair
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.predictions.lists import Lists

Look = Callable[[Parts], Found]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it needs, the function that looks, and what to do about what it finds."""

    name: str
    needs: tuple[str, ...]
    advice: str
    look: Look


CHECKS: dict[str, Check] = {}
OF = {"truth's users": "truth", "validation's users": "validation", "lists' users": "lists"}
"""Needs that ask for more of a part."""


def check(*needs: str, advice: str) -> Callable[[Look], Look]:
    """Register a function as the check of its name."""

    def register(look: Look) -> Look:
        name = look.__name__
        CHECKS[name] = Check(name, needs, advice, look)
        return look

    return register


def checked(parts: Parts, base: Measured) -> tuple[tuple[Finding, ...], Mapping[str, str]]:
    """The findings of all checks, worst first, and what was not checked with the reason."""
    findings: list[Finding] = []
    skipped: dict[str, str] = {}
    for one in CHECKS.values():
        missing = [need for need in one.needs if not parts.has(need)]
        if missing:
            skipped[one.name] = f"needs {_listed(missing)}"
        else:
            findings.append(_finding(one, parts, base))
    findings.sort(key=lambda found: (SEVERITIES.index(found.severity), -found.change))
    return tuple(findings), skipped


def _finding(one: Check, parts: Parts, base: Measured) -> Finding:
    found = one.look(parts)
    severity = found.severity if found.count else "fine"
    bad = severity != "fine"
    effect, lists = effect_of(parts, found.compare if bad else None, base)
    return Finding(
        one.name, severity, found.count, found.of, found.about, found.example if bad else "",
        effect, lists, found.bounds, one.advice if bad else "",
    )  # fmt: skip


def _listed(needs: list[str]) -> str:
    """What is missing, in words; of a part that is missing nothing more is said."""
    words = {"timestamps": "timestamps in train and truth", "catalogue": "items=",
             "lists": "predictions", "handed": "rt.Lists(..., users=)",
             "scored": "dense scores", "targets": "logits", "learnt": "train",
             "truth's users": "the users of the truth", "lists' users": "the users of lists",
             "validation's users": "the users of validation"}  # fmt: skip
    told = [need for need in needs if OF.get(need) not in needs]
    return " and ".join(words.get(need, need) for need in told)


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of one evaluation; a metric without a value says why."""

    values: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    lists: int = 0
    """how many lists count, for the metric for which most do"""


def effect_of(
    parts: Parts, compare: Compared, base: Measured
) -> tuple[dict[str, Pair], tuple[int, int] | None]:
    """Each metric as it is and without what was found, None where it has no value; and over how
    many lists. `base` are the numbers of what most is compared with, known already."""
    if compare is None:
        return {}, None
    one, two = (base if case is parts.base else measured(parts, case) for case in compare)
    pairs = {name: (one.values.get(name), two.values.get(name)) for name in parts.metrics}
    return pairs, (one.lists, two.lists)


def measured(parts: Parts, case: AuditCase | None) -> Measured:
    """The metrics of a case; none where there is nothing that could be evaluated."""
    if case is None:
        return Measured()
    profile = parts.profile.replace(**case.switches)
    weights = parts.weights if case.weights == "given" else None
    try:
        found = evaluate(
            _predictions(parts, case), _truth(parts, case), parts.metrics, profile,
            train=_train(parts), items=parts.catalogue, users=parts.evaluated,
            weights=None if weights is None else _keyed(parts, sound_weights(weights)),
            list_key=USER if parts.key == USER or isinstance(case.lists, ScoreRows) else "list",
        )  # fmt: skip
    except NothingToEvaluate:  # its words name codes
        about = f"no {parts.key} of the predictions has truth, or no row is left of one of them."
        return Measured(failures=dict.fromkeys(parts.metrics, about))
    except RectitudeError as error:
        return Measured(failures=dict.fromkeys(parts.metrics, error.found))
    return _numbers(found)


def _predictions(parts: Parts, case: AuditCase) -> object:
    """Ranked lists with what has ordered them so far, the scores, or some rows of logits."""
    lists: Any = case.lists
    if isinstance(lists, ScoreRows):
        return lists.chosen(parts.keys.labels(case.truth["list"].to_numpy()).to_numpy())
    if not isinstance(lists, pl.DataFrame):
        return lists
    keyed = _keyed(parts, lists)
    columns = [name for name in ("list", USER, "item", "rank", "score") if name in keyed.columns]
    given = parts.lists is not None and parts.order == "given"
    return Lists(keyed.select(columns), ordered=given, users=case.handed)


def _truth(parts: Parts, case: AuditCase) -> object:
    if isinstance(case.lists, ScoreRows):
        return parts.items.labels(case.truth["item"].to_numpy()).to_numpy()
    return _keyed(parts, case.truth)


def _keyed(parts: Parts, frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the key of lists, and with their users, where all of them are known."""
    if parts.key == USER:
        return frame.rename({"list": USER}) if USER not in frame.columns else frame.drop("list")
    return frame if parts.owned else frame.drop(USER, strict=False)


def _train(parts: Parts) -> pl.DataFrame | None:
    """Training data, unless it is unknown whose lists there are; of items without a column dense
    scores cannot say anything."""
    if parts.train is None or not parts.owned:
        return None
    return parts.trained()


def _numbers(found: Evaluation) -> Measured:
    results = found.results
    return Measured(
        {name: one.value for name, one in results.items() if math.isfinite(one.value)},
        {name: one.ties for name, one in results.items() if one.ties is not None},
        {name: error.found for name, error in found.failures.items()},
        max((one.counted or 0 for one in results.values()), default=0),
    )

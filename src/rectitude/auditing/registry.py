"""Register checks, run them, and measure the effects of their findings.

The effect of a finding is the change of the metrics between the same predictions with and without
it.
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
from rectitude.auditing.result import SEVERITIES, CheckResult, Finding, Pair, lists_needed
from rectitude.data.ledger import cut_example
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.predictions.lists import Lists

Look = Callable[[Parts], CheckResult]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it needs, its function, and the advice for its findings."""

    name: str
    needs: tuple[str, ...]
    advice: str
    look: Look


CHECKS: dict[str, Check] = {}
OF = {"truth's users": "truth", "validation's users": "validation", "lists' users": "lists"}
"""Needs that are a column of a part."""


def check(*needs: str, advice: str) -> Callable[[Look], Look]:
    """Register a function as a check under its name."""

    def register(look: Look) -> Look:
        name = look.__name__
        CHECKS[name] = Check(name, needs, advice, look)
        return look

    return register


def run_checks(parts: Parts, base: Measured) -> tuple[tuple[Finding, ...], Mapping[str, str]]:
    """Return the findings of all checks, worst first, and the skipped checks with the reason."""
    findings: list[Finding] = []
    skipped: dict[str, str] = {}
    for check in CHECKS.values():
        missing = [need for need in check.needs if not parts.has(need)]
        if missing:
            skipped[check.name] = f"needs {_list_missing(missing)}"
        else:
            findings.append(_run_check(check, parts, base))
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), -finding.change))
    return tuple(findings), skipped


def _run_check(check: Check, parts: Parts, base: Measured) -> Finding:
    found = check.look(parts)
    severity = found.severity if found.count else "fine"
    bad = severity != "fine"
    effect, lists = effect_of(parts, found.compare if bad else None, base)
    return Finding(
        check.name, severity, found.count, found.of, found.about,
        cut_example(found.example) if bad else "", effect, lists, found.bounds,
        check.advice if bad else "",
    )  # fmt: skip


def _list_missing(needs: list[str]) -> str:
    """Describe what is missing; the columns of a missing part are not mentioned."""
    words = {"timestamps": "timestamps in train and truth", "catalogue": "items=",
             "lists": "predictions", "handed": "rt.Lists(..., users=)",
             "scored": "dense scores", "targets": "logits", "learnt": "train",
             "truth's users": "the users of the truth", "lists' users": "the users of lists",
             "validation's users": "the users of validation"}  # fmt: skip
    reported = [need for need in needs if OF.get(need) not in needs]
    return " and ".join(words.get(need, need) for need in reported)


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of one evaluation, and the reasons for missing values."""

    values: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    lists: int = 0
    """how many lists count, for the metric with the most"""


def effect_of(
    parts: Parts, compare: Compared, base: Measured
) -> tuple[dict[str, Pair], tuple[int, int] | None]:
    """Return each metric as is and without the finding, and the number of lists of both.

    A missing value is None. There is no effect if too few lists are left, see `lists_needed`.
    `base` has the values of the unchanged case, so they are computed once.
    """
    if compare is None:
        return {}, None
    as_is, without = (base if case is parts.base else measure_case(parts, case) for case in compare)
    lists = (as_is.lists, without.lists)
    if without.lists < lists_needed(as_is.lists):
        return {}, lists
    pairs = {name: (as_is.values.get(name), without.values.get(name)) for name in parts.metrics}
    return pairs, lists


def measure_case(parts: Parts, case: AuditCase | None) -> Measured:
    """Evaluate a case; without a case there are no values."""
    if case is None:
        return Measured()
    profile = parts.profile.replace(**case.switches)
    weights = parts.weights if case.weights == "given" else None
    try:
        evaluation = evaluate(
            _predictions(parts, case), _truth(parts, case), parts.metrics, profile,
            train=_train(parts), items=parts.catalogue, users=parts.evaluated,
            weights=None if weights is None else _add_keys(parts, sound_weights(weights)),
            list_key=USER if parts.key == USER or isinstance(case.lists, ScoreRows) else "list",
        )  # fmt: skip
    except NothingToEvaluate:  # its message would name codes instead of ids
        about = f"no {parts.key} of the predictions has truth, or one of the two has no rows left."
        return Measured(failures=dict.fromkeys(parts.metrics, about))
    except RectitudeError as error:
        return Measured(failures=dict.fromkeys(parts.metrics, error.found))
    return _measured(evaluation)


def _predictions(parts: Parts, case: AuditCase) -> object:
    """Return the predictions of a case: ranked lists, scores, or some rows of logits."""
    lists: Any = case.lists
    if isinstance(lists, ScoreRows):
        return lists.choose(parts.keys.labels(case.truth["list"].to_numpy()).to_numpy())
    if not isinstance(lists, pl.DataFrame):
        return lists
    keyed = _add_keys(parts, lists)
    columns = [name for name in ("list", USER, "item", "rank", "score") if name in keyed.columns]
    in_given_order = parts.lists is not None and parts.order == "given"
    return Lists(keyed.select(columns), ordered=in_given_order, users=case.handed)


def _truth(parts: Parts, case: AuditCase) -> object:
    if isinstance(case.lists, ScoreRows):
        return parts.items.labels(case.truth["item"].to_numpy()).to_numpy()
    return _add_keys(parts, case.truth)


def _add_keys(parts: Parts, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the list key, and with users if all of them are known."""
    if parts.key == USER:
        return frame.rename({"list": USER}) if USER not in frame.columns else frame.drop("list")
    return frame if parts.owned else frame.drop(USER, strict=False)


def _train(parts: Parts) -> pl.DataFrame | None:
    """Return the training data, or None if the users of some lists are unknown.

    With dense scores, only items with a column are kept.
    """
    if parts.train is None or not parts.owned:
        return None
    return parts.scored_train()


def _measured(evaluation: Evaluation) -> Measured:
    results = evaluation.results
    return Measured(
        {name: result.value for name, result in results.items() if math.isfinite(result.value)},
        {name: result.ties for name, result in results.items() if result.ties is not None},
        {name: error.found for name, error in evaluation.failures.items()},
        max((result.counted or 0 for result in results.values()), default=0),
    )

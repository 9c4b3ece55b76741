"""`audit`: checks a split and predictions, and measures what each finding does to the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rectitude.auditing import in_lists, in_scores, in_split  # noqa: F401
from rectitude.auditing.inputs import Handed, open_parts, unpacked
from rectitude.auditing.parts import Parts
from rectitude.auditing.registry import CHECKS, Check, checked, measured
from rectitude.auditing.result import Audit, Finding

__all__ = ["CHECKS", "Audit", "Check", "Finding", "audit"]


def audit(
    train: object = None,
    truth: object = None,
    predictions: object = None,
    *,
    validation: object = None,
    items: object = None,
    users: object = None,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    folds: object = None,
    weights: object = None,
    list_key: str = "user",
    columns: Mapping[str, str] | None = None,
) -> Audit:
    """Check a split and, if there are any, predictions.

    Each part is anything that `evaluate` takes; `predictions` may be ranked lists, `Scores`,
    `Embeddings`, or `Logits` with targets as truth and the targets of training as train. `train`
    may be a whole `Split`, a series of them, or a folder with the parts; of a series every split is
    audited. `folds` are the truths of several folds: a dict by name, or a list. `list_key` tells
    lists apart, by default the user.
    What a finding does is measured by evaluating with and without the rows or users that it names.
    Without predictions, the most popular items of train stand in for them.

    >>> found = audit({"ann": ["a", "b"]}, {"ann": ["b", "c"]}, {"ann": ["c", "b"]})
    >>> found["truth_in_train"].count
    1
    """
    handed = Handed(
        train, truth, predictions, validation, items, users, folds, weights, list_key, columns
    )
    given = unpacked(handed)
    audits = {name: _audited(one, metrics, convention) for name, one in given.items()}
    first = next(iter(audits))
    others = {name: one for name, one in audits.items() if name != first}
    return replace(audits[first], name=first if others else "", others=others)


def _audited(handed: Handed, metrics: str | Iterable[str] | None, convention: object) -> Audit:
    parts = open_parts(handed, metrics, convention)
    base = measured(parts, parts.base)
    findings, skipped = checked(replace(parts, bounds=base.ties), base)
    return Audit(
        findings=findings,
        skipped=skipped,
        values=base.values,
        failures=base.failures,
        profile=parts.asked.label,
        relaxed=parts.relaxed,
        sizes=parts.sizes(),
        measured_on=_measured_on(parts),
        left_out=handed.left_out,
    )


def _measured_on(parts: Parts) -> str:
    """What the effects were measured on, in words."""
    if parts.base is None:
        return "nothing: that takes a truth, and predictions or train"
    if parts.lists is None:
        return "the most popular items of train, as no predictions were given"
    return "the predictions"

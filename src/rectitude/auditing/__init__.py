"""`audit`: check a split and predictions, and measure the effect of each finding on the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rectitude.auditing import in_lists, in_scores, in_split  # noqa: F401
from rectitude.auditing.inputs import AuditArguments, open_parts, unpack
from rectitude.auditing.parts import Parts
from rectitude.auditing.registry import CHECKS, Check, measure_case, run_checks
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
    """Check a split and, if given, predictions.

    Each part is anything that `evaluate` accepts. `predictions` may be ranked lists, `Scores`,
    `Embeddings`, or `Logits`; with logits, pass the targets as truth and the training targets as
    train. `train` may also be a whole `Split`, a list of splits, or a folder with the parts; then
    every split is audited. `folds` are the truths of several folds: a dict by name, or a list.
    `list_key` is the column that identifies lists, by default the user.
    The effect of a finding is measured by evaluating with and without the rows or users that it
    names. Without predictions, the most popular items of train are used instead.

    >>> found = audit({"ann": ["a", "b"]}, {"ann": ["b", "c"]}, {"ann": ["c", "b"]})
    >>> found["truth_in_train"].count
    1
    """
    handed = AuditArguments(
        train, truth, predictions, validation, items, users, folds, weights, list_key, columns
    )
    audits = {
        name: _run_audit(split, metrics, convention) for name, split in unpack(handed).items()
    }
    first = next(iter(audits))
    others = {name: result for name, result in audits.items() if name != first}
    return replace(audits[first], name=first if others else "", others=others)


def _run_audit(
    handed: AuditArguments, metrics: str | Iterable[str] | None, convention: object
) -> Audit:
    parts = open_parts(handed, metrics, convention)
    base = measure_case(parts, parts.base)
    findings, skipped = run_checks(replace(parts, bounds=base.ties), base)
    return Audit(
        findings=findings,
        skipped=skipped,
        values=base.values,
        failures=base.failures,
        profile=parts.asked.label,
        relaxed=parts.relaxed,
        sizes=parts.sizes(),
        measured_on=_describe_basis(parts),
        left_out=handed.left_out,
    )


def _describe_basis(parts: Parts) -> str:
    """Describe what the effects were measured on."""
    if parts.base is None:
        return "nothing, because that needs a truth and either predictions or train"
    if parts.lists is None:
        return "the most popular items of train, because no predictions were given"
    return "the predictions"

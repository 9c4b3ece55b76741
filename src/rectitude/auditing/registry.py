"""The checks by name, and the run through all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rectitude.auditing.measure import Measured, effect_of
from rectitude.auditing.parts import Parts
from rectitude.auditing.result import SEVERITIES, Finding, Found

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

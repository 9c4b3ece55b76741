"""The checks by name, and the run through all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rectitude.auditing.finding import SEVERITIES, Finding, Found
from rectitude.auditing.measure import Measured, effect_of
from rectitude.auditing.parts import Parts

Look = Callable[[Parts], Found]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it needs, the function that looks, and what to do about what it finds."""

    name: str
    needs: tuple[str, ...]
    advice: str
    look: Look


CHECKS: dict[str, Check] = {}


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
    words = {"timestamps": "timestamps in train and truth", "catalogue": "items=",
             "lists": "predictions", "handed": "rt.Lists(..., users=)",
             "scored": "dense scores"}  # fmt: skip
    return " and ".join(words.get(need, need) for need in needs)

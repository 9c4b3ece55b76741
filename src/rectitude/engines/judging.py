"""Judging once for all metrics of an evaluation."""

from __future__ import annotations

from typing import Any

from rectitude.convention import Convention
from rectitude.data.ledger import Ledger
from rectitude.engines.compute import judged_by_ids, judging
from rectitude.errors import RectitudeError
from rectitude.judge.join import Verdict
from rectitude.judge.sides import Sides


def judged_for_all(
    sides: Sides, convention: Convention, shared: tuple[int | None, tuple[str, ...]]
) -> tuple[Sides, dict[tuple[Any, ...], Verdict], Ledger]:
    """The lists judged once for all metrics; where what some of them need cannot be had, without
    it, so that the others are computed."""
    ledger = Ledger()
    try:
        sides, verdict = judged_by_ids(sides, convention, ledger, *shared)
    except RectitudeError:
        ledger = Ledger()
        sides, verdict = judged_by_ids(sides, convention, ledger)
    known = {judging(convention): verdict}
    if verdict.judged.stock is not None:
        known[judging(convention, *shared)] = verdict
    return sides, known, ledger

"""Golden report cases: the lines that a framework's training prints, printed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rectitude.conformance.cases import Case, changes
from rectitude.conformance.data import Check
from rectitude.conformance.inputs import arguments
from rectitude.engines.local import evaluate
from rectitude.profiles import Profile
from rectitude.reports.epoch_lines import STYLES, Style, chosen_by
from rectitude.reports.history import History


def report_checks(case: Case, profile: Profile | None) -> list[Check]:
    """Everything that a report case says: 0 where the same is printed or chosen here, 1 if not."""
    stored = json.loads(case.path.read_text("utf-8"))
    form = case.profile + case.path.stem.partition("--report")[2]
    said = {"best_index": stored["expected_best_index"], **stored["expected_lines"]}
    scored = replace(case, kind="scores")
    switches = changes(scored)
    if profile is None or form not in STYLES or switches is None:
        return [Check(name, None) for name in said]
    history = _history(scored, stored, {"profile": profile, **switches}, STYLES[form])
    found = _printed(history, stored["given"], form)
    return [Check(name, int(found[name] != said[name]) if name in found else None) for name in said]


def _history(
    case: Case, stored: Mapping[str, Any], convention: Mapping[str, Any], style: Style
) -> History:
    """The evaluations that stand for epochs; the one whose line is printed has what was given."""
    given, history = stored["given"], History()
    metrics = [f"{metric}@{k}" for metric in style.epoch for k in case.cutoffs]
    for index, fixture in enumerate(stored["epochs"]):
        given_there = arguments(replace(case, inputs=case.inputs.parent / fixture), "")
        evaluation = evaluate(**given_there, metrics=metrics, convention=convention)
        number = given["epoch"] + index - given["epoch_line_of"]
        history.add(number, evaluation, given["losses"], given["elapsed"])
    return history


def _printed(history: History, given: Mapping[str, Any], form: Any) -> dict[str, object]:
    seconds, first = given["total_seconds"], history[0].evaluation
    return {
        "best_index": history.best(chosen_by(first, STYLES[form])).index,
        "perf_str": history.line(form, given["epoch_line_of"]),
        "final_perf": history.best_line(form, seconds=seconds),
        "result_file_text": history.record(
            STYLES[form].arguments, form, seconds=seconds, time=given["time"]
        ),
    }

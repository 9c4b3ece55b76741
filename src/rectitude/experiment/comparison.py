"""The models side by side: compared with each other, and under other conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rectitude.candidates.value import Candidates
from rectitude.comparison.compare import compare
from rectitude.errors import BadName
from rectitude.experiment.events import Report
from rectitude.experiment.pipeline import Entries, ModelEntry, Work
from rectitude.experiment.stages import (
    Stage,
    StagePart,
    against_facts,
    against_of,
    asked_of,
    convention_facts,
    convention_of,
    table_facts,
    tables_of,
)
from rectitude.experiment.store import Output, json_file, known_of, read_json
from rectitude.explanation.explain import explain
from rectitude.explanation.robustness import Robustness, robustness
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse, parse_all
from rectitude.profiles import PROFILES


def compared(work: Work, entries: Entries, parts: Sequence[StagePart]) -> Mapping[str, Any] | None:
    """The models that have numbers for every split, side by side; None for fewer than two."""
    chosen = work.loaded.config.compare
    whole = {name: every for name, every in entries.items() if len(every) == len(parts)}
    if len(whole) < 2:
        return None
    if chosen.baseline and chosen.baseline not in whole:
        raise BadName(f"the baseline {chosen.baseline!r} has no numbers.", "a model that ran.")
    folder = work.obtain(_compare_stage(work, whole))
    return None if folder is None else read_json(folder / "comparison.json")


def _compare_stage(work: Work, entries: Entries) -> Stage:
    chosen, seed = work.loaded.config.compare, work.loaded.config.seeds[0]
    keys = {name: [entry.stage.key for entry in every] for name, every in entries.items()}
    facts = {"evaluations": keys, "order": list(keys), **chosen.model_dump(), "seed": seed}

    def make(report: Report) -> Output:
        options: dict[str, Any] = chosen.model_dump(exclude={"baseline"})
        runs = {name: [entry.numbers() for entry in every] for name, every in entries.items()}
        found = compare(runs, baseline=chosen.baseline or None, seed=seed, **options)
        return {"comparison.json": json_file(found.as_dict())}

    return Stage("compare", facts, make)


def explained(work: Work, entries: Entries) -> Mapping[str, Any]:
    """The models of the first split under every other convention; nothing for fewer than two."""
    first = {name: every[0] for name, every in entries.items() if every}
    if work.loaded.config.explain.mode == "off" or len(first) < 2:
        return {}
    folder = work.obtain(_explain_stage(work, first))
    found: Mapping[str, Any] = {} if folder is None else read_json(folder / "explain.json")
    return found


def metric_of(work: Work) -> str:
    """The metric that is looked at."""
    chosen = work.loaded.config.explain.metric
    return chosen or str(parse_all(asked_of(work.loaded)["metrics"])[0])


def _explain_stage(work: Work, entries: Mapping[str, ModelEntry]) -> Stage:
    loaded, metric = work.loaded, metric_of(work)
    against = against_of(loaded)
    facts = {
        "lists": {name: entry.stage.facts["lists"] for name, entry in entries.items()},
        "split": next(iter(entries.values())).part.mark,
        "metric": metric, "against": against_facts(loaded), "order": list(entries),
        **convention_facts(loaded, [metric]), **table_facts(loaded),
    }  # fmt: skip

    def make(report: Report) -> Output:
        lists = {
            name: pl.read_parquet(entry.lists / "predictions.parquet")
            for name, entry in entries.items()
        }
        split = next(iter(entries.values())).part.read()
        given: dict[str, Any] = {"train": known_of(split), **tables_of(loaded)}
        offered = next(iter(entries.values())).candidates
        if offered is not None:
            given["candidates"] = Candidates.load(offered)
        base = convention_of(loaded)
        found = robustness(lists, split.truth, metric, base=base, **given)
        report(1, 2)
        told: dict[str, Any] = {"robustness": found.as_dict(), "explanation": None}
        best = _best(found, metric)
        other = against or _widest(found, best)
        if other:
            gap = explain(lists[best], split.truth, metric, base, other, **given)
            told["explanation"] = {"model": best, **gap.as_dict()}
        report(2, 2)
        return {"explain.json": json_file(told)}

    return Stage("explain", facts, make)


def _best(found: Robustness, metric: str) -> str:
    sign = -1 if METRICS[parse(metric)[0].base].best == "low" else 1
    values = found.base.values
    return max(values, key=lambda name: sign * values[name])


def _widest(found: Robustness, model: str) -> str:
    """The profile under which the number of a model differs most; empty if it differs in none.

    Profiles in percent are left out: they always differ most, and say least.
    """
    gaps = {
        one.label: abs(one.values[model] - found.base.values[model])
        for one in found.standings
        if one.kind == "profile" and one.label in PROFILES and model in one.values
        and PROFILES[one.label].convention.scale != "percent"
    }  # fmt: skip
    widest = max(gaps, key=lambda label: gaps[label], default="")
    return widest if widest and gaps[widest] > 0 else ""

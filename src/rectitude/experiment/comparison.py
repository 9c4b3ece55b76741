"""Compare the models of an experiment with each other, and under other conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from rectitude.candidate_sets.value import Candidates
from rectitude.comparison.compare import compare
from rectitude.errors import BadSetting
from rectitude.experiment.events import Report
from rectitude.experiment.pipeline import Entries, ModelEntry, Work
from rectitude.experiment.stages import (
    Stage,
    StagePart,
    against_key_inputs,
    against_of,
    convention_key_inputs,
    convention_of,
    metrics_of,
    table_key_inputs,
    tables_of,
)
from rectitude.experiment.store import Output, json_file, read_json, rows_known
from rectitude.explanation.explain import explain
from rectitude.explanation.robustness import Robustness, robustness
from rectitude.metrics.names import parse_all
from rectitude.profiles import PROFILES, profile_of


def compare_models(
    work: Work, entries: Entries, parts: Sequence[StagePart]
) -> Mapping[str, Any] | None:
    """Compare the models that have results for every split; None for fewer than two."""
    chosen = work.loaded.config.compare
    complete = {name: runs for name, runs in entries.items() if len(runs) == len(parts)}
    if len(complete) < 2:
        return None
    if chosen.baseline and chosen.baseline not in complete:
        raise BadSetting(
            f"the baseline {chosen.baseline!r} has no results.",
            "a baseline that ran on every split.",
        )
    folder = work.obtain(_compare_stage(work, complete))
    return None if folder is None else read_json(folder / "comparison.json")


def _compare_stage(work: Work, entries: Entries) -> Stage:
    chosen, seed = work.loaded.config.compare, work.loaded.config.seeds[0]
    keys = {
        name: [entry.stage.key for entry in model_entries]
        for name, model_entries in entries.items()
    }
    key_inputs = {"evaluations": keys, "order": list(keys), **chosen.model_dump(), "seed": seed}

    def make(report: Report) -> Output:
        options: dict[str, Any] = chosen.model_dump(exclude={"baseline"})
        runs = {
            name: [entry.numbers() for entry in model_entries]
            for name, model_entries in entries.items()
        }
        comparison = compare(runs, baseline=chosen.baseline or None, seed=seed, **options)
        return {"comparison.json": json_file(comparison.as_dict())}

    return Stage("compare", key_inputs, make)


def explain_conventions(work: Work, entries: Entries) -> Mapping[str, Any]:
    """Evaluate the models of the first split under other conventions; empty for fewer than two."""
    first = {name: runs[0] for name, runs in entries.items() if runs}
    if work.loaded.config.explain.mode == "off" or len(first) < 2:
        return {}
    folder = work.obtain(_explain_stage(work, first))
    result: Mapping[str, Any] = {} if folder is None else read_json(folder / "explain.json")
    return result


def metric_of(work: Work) -> str:
    """Return the metric to explain."""
    chosen = work.loaded.config.explain.metric or metrics_of(work.loaded)
    profile = profile_of(convention_of(work.loaded))
    return str(profile.resolve(parse_all(chosen)[0]).name)


def _explain_stage(work: Work, entries: Mapping[str, ModelEntry]) -> Stage:
    loaded, metric = work.loaded, metric_of(work)
    against = against_of(loaded)
    key_inputs = {
        "lists": {name: entry.stage.key_inputs["lists"] for name, entry in entries.items()},
        "split": next(iter(entries.values())).part.fingerprint,
        "metric": metric, "against": against_key_inputs(loaded), "order": list(entries),
        **convention_key_inputs(loaded, [metric]), **table_key_inputs(loaded),
    }  # fmt: skip

    def make(report: Report) -> Output:
        lists = {
            name: pl.read_parquet(entry.lists / "predictions.parquet")
            for name, entry in entries.items()
        }
        split = next(iter(entries.values())).part.read()
        arguments: dict[str, Any] = {"train": rows_known(split), **tables_of(loaded)}
        candidates = next(iter(entries.values())).candidates
        if candidates is not None:
            arguments["candidates"] = Candidates.load(candidates)
        base = convention_of(loaded)
        result = robustness(lists, split.truth, metric, base=base, **arguments)
        report(1, 2)
        output: dict[str, Any] = {"robustness": result.as_dict(), "explanation": None}
        best = _find_best(result, profile_of(base).resolve(parse_all(metric)[0]).metric.best)
        other = against or _find_widest_gap(result, best)
        if other:
            gap = explain(lists[best], split.truth, metric, base, other, **arguments)
            output["explanation"] = {"model": best, **gap.as_dict()}
        report(2, 2)
        return {"explain.json": json_file(output)}

    return Stage("explain", key_inputs, make)


def _find_best(result: Robustness, direction: Literal["high", "low"]) -> str:
    sign = -1 if direction == "low" else 1
    values = result.base.values
    return max(values, key=lambda name: sign * values[name])


def _find_widest_gap(result: Robustness, model: str) -> str:
    """Return the profile under which the value of a model changes most; empty if none changes it.

    Profiles in percent are skipped: their values always differ most, but only in scale.
    """
    gaps = {
        standing.label: abs(standing.values[model] - result.base.values[model])
        for standing in result.standings
        if standing.kind == "profile" and standing.label in PROFILES and model in standing.values
        and PROFILES[standing.label].convention.scale != "percent"
    }  # fmt: skip
    widest = max(gaps, key=lambda label: gaps[label], default="")
    return widest if widest and gaps[widest] > 0 else ""

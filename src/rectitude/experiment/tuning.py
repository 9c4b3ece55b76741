"""Tuning: settings are tried on the validation part, and the best is taken.

Every trial is a stage of its own. The search is replayed from its seed and the trials that are
there, so that a run that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from rectitude.errors import (
    MissingExtra,
    MissingNeed,
    NothingToEvaluate,
    UndefinedValue,
    UnwritableFile,
)
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment.config import SearchRange, Tuning
from rectitude.experiment.events import Report
from rectitude.experiment.models import Fielded, Task
from rectitude.experiment.stages import (
    Stage,
    StagePart,
    convention_facts,
    convention_of,
    table_facts,
    tables_of,
)
from rectitude.experiment.store import Output, json_file, known_of
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.splits.split import Split

Settings = Mapping[str, Any]
Tried = Callable[[Settings, int], float]
"""The value of a setting, tried now or before, by its number."""


def validation_of(split: Split) -> Split:
    """The split that models are tuned on."""
    if split.validation is None:
        raise MissingNeed(
            "a model is to be tuned, and the split has no validation part.",
            'a split of train: [split] validation = { how = "leave_last", n = 1 }.',
        )
    return split.validation


def trial_stage(
    fielded: Fielded, part: StagePart, facts: Settings, task: Callable[[], Task], setting: Settings,
    number: int,
) -> Stage:  # fmt: skip
    """One setting: the value of the metric on the validation part."""
    metric = tuning_of(fielded).metric
    parameters = {**fielded.parameters(part.seed), **setting}

    def make(report: Report) -> Output:
        asked = task()
        found = fielded.answer(parameters, part, asked, report)
        scored = evaluate(
            found.table, asked.split.truth, [metric], convention_of(fielded.loaded),
            train=known_of(asked.split), candidates=asked.candidates, **tables_of(fielded.loaded),
        )  # fmt: skip
        value = scored[metric]
        if not math.isfinite(value):
            raise UndefinedValue(f"{metric} has no value on the validation part.")
        return {"trial.json": json_file({"value": value})}

    own = {**facts, **fielded.facts(parameters, part), "trial": metric}
    own |= _meaning(fielded)
    where = f"{part.name}/trial-{number}".removeprefix("/")
    return Stage("tune", own, make, fielded.name, where)


def tune_stage(fielded: Fielded, part: StagePart, facts: Settings, tried: Tried) -> Stage:
    """The search: the best parameters, and every trial."""
    tuning, own = tuning_of(fielded), fielded.parameters(part.seed)

    def make(report: Report) -> Output:
        trials = searched(tuning, part.seed, tried, report)
        done = [one for one in trials if one["value"] is not None]
        if not done:
            raise NothingToEvaluate(
                f"all {len(trials)} trials failed (first: {trials[0]['error']}).",
                "a setting that works.",
            )
        best = _best(done, tuning.metric)
        told = {"metric": tuning.metric, "best": best["number"], "trials": trials}
        return {"tune.json": json_file({"parameters": best["parameters"], **told})}

    all_facts = {**facts, **fielded.facts(own, part), "tune": tuning.model_dump()}
    all_facts |= {"seed": part.seed, **_meaning(fielded)}
    return Stage("tune", all_facts, make, fielded.name, part.name)


def _meaning(fielded: Fielded) -> dict[str, Any]:
    """What decides the value of a setting, beside its lists."""
    meant = convention_facts(fielded.loaded, [tuning_of(fielded).metric])
    return {**meant, **table_facts(fielded.loaded)}


def tuning_of(fielded: Fielded) -> Tuning:
    """The search of a model that has one."""
    if fielded.entrant.tune is None:
        raise RuntimeError("a model without a search was to be tuned")
    return fielded.entrant.tune


def _best(trials: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    """The first of the best trials."""
    sign = 1 if _direction(metric) == "maximize" else -1
    return max(trials, key=lambda one: (sign * one["value"], -one["number"]))


def _direction(metric: str) -> str:
    known = METRICS[parse(metric)[0].base]
    return "maximize" if known.best == "high" else "minimize"


def searched(tuning: Tuning, seed: int, tried: Tried, report: Report) -> list[dict[str, Any]]:
    """All trials in order. What a trial tries depends on the seed, on its number, and on the values
    of those before it, so that it is the same in a search that goes on later."""
    optuna = _optuna()
    study = optuna.create_study(direction=_direction(tuning.metric))
    found: list[dict[str, Any]] = []
    for number in range(tuning.trials):
        study.sampler = _sampler(optuna, tuning, seed, number)
        trial = study.ask()
        setting = {name: _suggested(trial, name, one) for name, one in tuning.space.items()}
        value, error = _value(tried, setting, number)
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)
        found.append({"number": number, "parameters": setting, "value": value, "error": error})
        report(number + 1, tuning.trials)
    return found


def _value(tried: Tried, setting: Settings, number: int) -> tuple[float | None, str]:
    """The value of a setting, or why there is none."""
    try:
        return tried(setting, number), ""
    except UnwritableFile:
        raise
    except Exception as error:  # whatever a model raises
        return None, f"{type(error).__name__}: {error}"


def _sampler(optuna: Any, tuning: Tuning, seed: int, number: int) -> Any:
    said = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=4).digest()
    own = int.from_bytes(said, "big")
    if tuning.sampler == "random":
        return optuna.samplers.RandomSampler(seed=own)
    startup = min(10, max(2, tuning.trials // 3))
    return optuna.samplers.TPESampler(seed=own, n_startup_trials=startup)


def _suggested(trial: Any, name: str, space: list[Any] | SearchRange) -> Any:
    """What a trial takes for a parameter."""
    if isinstance(space, list):
        return space[trial.suggest_categorical(name, list(range(len(space))))]
    log, ends = space.scale == "log", (space.low, space.high)
    if all(isinstance(one, int) for one in (*ends, space.step or 1)):
        return trial.suggest_int(name, *ends, step=space.step or 1, log=log)
    return trial.suggest_float(name, *ends, step=space.step, log=log)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra(
            "tuning needs optuna, which is not installed.", "", "pip install 'rectitude[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

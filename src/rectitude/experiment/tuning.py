"""Tuning: try parameter settings on the validation part, and choose the best.

Every trial is a separate stage. After an interruption, the search is replayed from its seed and the
cached trials, so it continues as if it had never been interrupted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

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
from rectitude.experiment.models import ExperimentModel, Task
from rectitude.experiment.stages import (
    Stage,
    StagePart,
    convention_key_inputs,
    convention_of,
    table_key_inputs,
    tables_of,
)
from rectitude.experiment.store import Output, json_file, rows_known
from rectitude.metrics.names import parse
from rectitude.profiles import profile_of
from rectitude.splits.split import Split

Settings = Mapping[str, Any]
Direction = Literal["maximize", "minimize"]
Tried = Callable[[Settings, int], float]
"""Returns the value of a setting, given the setting and the number of the trial."""


def validation_of(split: Split) -> Split:
    """Return the split that models are tuned on."""
    if split.validation is None:
        raise MissingNeed(
            "a model is to be tuned, but the split has no validation part.",
            'a validation part, such as [split] validation = { how = "leave_last", n = 1 }.',
        )
    return split.validation


def trial_stage(
    fielded: ExperimentModel, part: StagePart, key_inputs: Settings, task: Callable[[], Task],
    setting: Settings, number: int,
) -> Stage:  # fmt: skip
    """Return the stage of one trial: the value of the metric on the validation part."""
    metric = tuning_of(fielded).metric
    parameters = {**fielded.parameters(part.seed), **setting}

    def make(report: Report) -> Output:
        work = task()
        predicted = fielded.predict(parameters, part, work, report)
        evaluation = evaluate(
            predicted.table, work.split.truth, [metric], convention_of(fielded.loaded),
            train=rows_known(work.split), candidates=work.candidates, **tables_of(fielded.loaded),
        )  # fmt: skip
        value = evaluation[metric]
        if not math.isfinite(value):
            raise UndefinedValue(
                f"{metric} is undefined on the validation part.", "a finite value."
            )
        return {"trial.json": json_file({"value": value})}

    all_key_inputs = {**key_inputs, **fielded.key_inputs(parameters, part), "trial": metric}
    all_key_inputs |= _metric_key_inputs(fielded)
    split = f"{part.name}/trial-{number}".removeprefix("/")
    return Stage("tune", all_key_inputs, make, fielded.name, split)


def tune_stage(
    fielded: ExperimentModel, part: StagePart, key_inputs: Settings, tried: Tried
) -> Stage:
    """Return the stage of the search: the best parameters, and every trial."""
    tuning, parameters = tuning_of(fielded), fielded.parameters(part.seed)
    direction = _direction_of(fielded)

    def make(report: Report) -> Output:
        trials = search(tuning, direction, part.seed, tried, report)
        done = [trial for trial in trials if trial["value"] is not None]
        if not done:
            raise NothingToEvaluate(
                f"all {len(trials)} trials failed (first: {trials[0]['error']}).",
                "a setting in tune.space that works.",
            )
        best = _find_best(done, direction)
        summary = {"metric": tuning.metric, "best": best["number"], "trials": trials}
        return {"tune.json": json_file({"parameters": best["parameters"], **summary})}

    all_key_inputs = {
        **key_inputs,
        **fielded.key_inputs(parameters, part),
        "tune": tuning.model_dump(),
    }
    all_key_inputs |= {"seed": part.seed, **_metric_key_inputs(fielded)}
    return Stage("tune", all_key_inputs, make, fielded.name, part.name)


def _metric_key_inputs(fielded: ExperimentModel) -> dict[str, Any]:
    """Return what the value of a trial depends on, besides its lists."""
    key_inputs = convention_key_inputs(fielded.loaded, [tuning_of(fielded).metric])
    return {**key_inputs, **table_key_inputs(fielded.loaded)}


def tuning_of(fielded: ExperimentModel) -> Tuning:
    """Return the search settings of a model that is tuned."""
    if fielded.entrant.tune is None:
        raise RuntimeError("a model without tune cannot be tuned")
    return fielded.entrant.tune


def _find_best(trials: list[dict[str, Any]], direction: Direction) -> dict[str, Any]:
    """Return the best trial; the first of several."""
    sign = 1 if direction == "maximize" else -1
    return max(trials, key=lambda trial: (sign * trial["value"], -trial["number"]))


def _direction_of(fielded: ExperimentModel) -> Direction:
    profile = profile_of(convention_of(fielded.loaded))
    metric = profile.resolve(parse(tuning_of(fielded).metric)[0]).metric
    return "maximize" if metric.best == "high" else "minimize"


def search(
    tuning: Tuning, direction: Direction, seed: int, tried: Tried, report: Report
) -> list[dict[str, Any]]:
    """Run all trials in order. The setting of a trial depends only on the seed, its number and the
    values of earlier trials, so a resumed search tries the same settings."""
    optuna = _import_optuna()
    study = optuna.create_study(direction=direction)
    trials: list[dict[str, Any]] = []
    for number in range(tuning.trials):
        study.sampler = _build_sampler(optuna, tuning, seed, number)
        trial = study.ask()
        setting = {name: _suggest(trial, name, space) for name, space in tuning.space.items()}
        value, error = _try_setting(tried, setting, number)
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)
        trials.append({"number": number, "parameters": setting, "value": value, "error": error})
        report(number + 1, tuning.trials)
    return trials


def _try_setting(tried: Tried, setting: Settings, number: int) -> tuple[float | None, str]:
    """Return the value of a setting, or None and the error."""
    try:
        return tried(setting, number), ""
    except UnwritableFile:
        raise
    except Exception as error:  # models may raise anything
        return None, f"{type(error).__name__}: {error}"


def _build_sampler(optuna: Any, tuning: Tuning, seed: int, number: int) -> Any:
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=4).digest()
    trial_seed = int.from_bytes(digest, "big")
    if tuning.sampler == "random":
        return optuna.samplers.RandomSampler(seed=trial_seed)
    startup = min(10, max(2, tuning.trials // 3))
    return optuna.samplers.TPESampler(seed=trial_seed, n_startup_trials=startup)


def _suggest(trial: Any, name: str, space: list[Any] | SearchRange) -> Any:
    """Suggest a value of a parameter for a trial."""
    if isinstance(space, list):
        return space[trial.suggest_categorical(name, list(range(len(space))))]
    log, ends = space.scale == "log", (space.low, space.high)
    if all(isinstance(number, int) for number in (*ends, space.step or 1)):
        return trial.suggest_int(name, *ends, step=space.step or 1, log=log)
    return trial.suggest_float(name, *ends, step=space.step, log=log)


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra(
            "tuning needs optuna, which is not installed.", "", "pip install 'rectitude[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

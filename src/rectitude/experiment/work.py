"""The work of a run: each stage is taken from before or done, and a model that fails is noted.

Tuning: settings are tried on the validation part, and the best is taken.

Every trial is a stage of its own. The search is replayed from its seed and the trials that are
there, so that a run that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import math
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rectitude.candidates.value import Candidates
from rectitude.errors import (
    BadName,
    MissingExtra,
    MissingNeed,
    NothingToEvaluate,
    UndefinedValue,
    UnwritableFile,
)
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment import stages
from rectitude.experiment.config import SearchRange, Tuning
from rectitude.experiment.models import Fielded, Task, depth_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.stages import (
    Stage,
    StagePart,
    convention_facts,
    convention_of,
    table_facts,
    tables_of,
)
from rectitude.experiment.store import Output, Store, facts_of, json_file, known_of, read_json
from rectitude.experiment.watching import Report, Watch
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


Made = TypeVar("Made")


@dataclass
class Work:
    """What a run works with, and what it has met so far."""

    loaded: Loaded
    store: Store
    watch: Watch
    fielded: Sequence[Fielded]
    chosen: Callable[[Stage], bool]
    """whether a stage that is not there may be done"""
    data: object = None
    """interactions that were handed over in Python"""
    failures: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    """every stage, and whether it was there: cached, done, or to do"""
    failed_at: str = ""
    """the stage that an error is on its way from"""

    def obtain(self, stage: Stage) -> Path | None:
        """The folder of a stage: from before, or made now; None if it was not to be done."""
        found = self.store.find(stage.name, stage.key)
        if found is not None:
            self.watch.tell("cached", stage.name, key=stage.key)
            self.told.append((stage.name, "cached"))
            return found
        if not self.chosen(stage):
            self.leave_out(stage.name)
            return None
        try:
            with self.watch.working(stage.name, key=stage.key) as report:
                made = self.store.keep(stage.name, stage.key, stage.make(report))
        except (Exception, SystemExit):
            self.failed_at = stage.name
            raise
        self.failed_at = ""  # what failed on the way was got over
        self.told.append((stage.name, "done"))
        return made

    def leave_out(self, name: str) -> None:
        """Note that a stage is not done."""
        self.left_out.append(name)
        self.told.append((name, "to do"))

    def attempt(self, stage: str, action: Callable[[], Made]) -> Made | None:
        """Do something whose failure others need not suffer from."""
        try:
            return action()
        except UnwritableFile:  # a full disk is nobody's failure but the run's
            raise
        except (Exception, SystemExit) as error:  # a model that ends the program ends itself alone
            self.failures.append(failure_of(self.failed_at or stage, error))
            self.failed_at = ""
            return None


def failure_of(stage: str, error: BaseException) -> dict[str, Any]:
    """What failed and where, without what differs from one run to the next."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "stage": stage,
        "kind": type(error).__name__,
        "message": _settled(str(error)),
        "traceback": _settled("".join(lines)),
    }


def _settled(text: str) -> str:
    return re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x...", text)


def log_of(work: Work) -> tuple[Stage | None, Path | None]:
    """The log, prepared."""
    if work.loaded.config.split.parts:
        return None, None
    stage = stages.data_stage(work.loaded, work.data)
    folder = work.obtain(stage)
    if not work.loaded.config.prepare:
        return stage, folder
    prepared = stages.prepare_stage(work.loaded, stage, folder)
    return prepared, work.obtain(prepared)


def parts_of(work: Work, stage: Stage | None, folder: Path | None) -> list[StagePart] | None:
    """All splits, of every seed; None if they are not there."""
    found: list[StagePart] = []
    seeds = work.loaded.config.seeds
    for seed in seeds:
        split = stages.split_stage(work.loaded, stage, folder, seed)
        place = work.obtain(split)
        if place is None:
            return None
        facts = facts_of(place)
        for number, one in enumerate(facts):
            series = (one["name"] or f"split-{number + 1}") if len(facts) > 1 else ""
            words = [f"seed-{seed}"] * (len(seeds) > 1) + [series] * bool(series)
            found.append(StagePart(place, number, "-".join(words), seed, split.key))
    return found


@dataclass(frozen=True)
class ModelEntry:
    """One model on one split: where its lists and its numbers are."""

    model: str
    part: StagePart
    parameters: Mapping[str, Any]
    lists: Path
    evaluation: Path
    stage: Stage
    tuned: Mapping[str, Any] | None
    candidates: Path | None = None


def entries_of(work: Work, part: StagePart) -> Iterator[ModelEntry]:
    """Every model on one split; those that fail are noted and passed over."""
    candidates, mark = None, None
    if work.loaded.config.candidates.kind:
        stage = stages.candidates_stage(work.loaded, part)
        folder = work.obtain(stage)
        if folder is None:
            return
        candidates, mark = folder / "candidates.parquet", stage.key
    for fielded in work.fielded:
        name = "/".join(word for word in ("models", fielded.name, part.name) if word)
        entry = work.attempt(name, partial(_entry, work, part, fielded, candidates, mark))
        if entry is not None:
            yield entry


def _entry(
    work: Work, part: StagePart, fielded: Fielded, candidates: Path | None, mark: str | None
) -> ModelEntry | None:
    parameters = fielded.parameters(part.seed)
    chosen = work.loaded.config.evaluate
    depth = depth_of(work.loaded)
    facts = {"split": part.mark, "candidates": mark, "depth": depth, "seen": chosen.seen}
    tuned = None
    if fielded.entrant.tune is not None:
        tuned = _tuned(work, part, fielded, facts)
        if tuned is None:
            return None
        parameters = {**parameters, **tuned["parameters"]}

    def task() -> Task:
        offered = None if candidates is None else Candidates.load(candidates)
        return Task(part.read(), depth, offered, chosen.seen, fielded.entrant.learning)

    lists = stages.lists_stage(
        {**facts, **fielded.facts(parameters, part)},
        lambda report: fielded.answer(parameters, part, task(), report), fielded.name, part,
    )  # fmt: skip
    made = work.obtain(lists)
    stage = stages.evaluate_stage(work.loaded, part, lists, made, candidates)
    folder = work.obtain(stage)
    if made is None or folder is None:
        return None
    return ModelEntry(fielded.name, part, parameters, made, folder, stage, tuned, candidates)


def _tuned(
    work: Work, part: StagePart, fielded: Fielded, facts: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The best parameters that a search found on the validation part."""
    tried: list[str] = []

    def task() -> Task:
        inner, offered = validation_of(part.read()), _inner_candidates(work, part)
        # Trials never go on from a split before: they learn from the validation's train alone.
        return Task(inner, depth_of(work.loaded), offered, facts["seen"], "refit")

    def value(setting: Mapping[str, Any], number: int) -> float:
        stage = trial_stage(fielded, part, facts, task, setting, number)
        folder = work.obtain(stage)
        if folder is None:
            raise BadName(f"{stage.name} was left out.")
        tried.append(stage.name)
        return float(read_json(folder / "trial.json")["value"])

    folder = work.obtain(tune_stage(fielded, part, facts, value))
    for name in tried:  # the search itself is kept: its trials need not be
        work.store.used.pop(name, None)
    return None if folder is None else read_json(folder / "tune.json")


def _inner_candidates(work: Work, part: StagePart) -> Candidates | None:
    """Candidates as they are made for the truth, for what is to be found while tuning."""
    if not work.loaded.config.candidates.kind:
        return None
    return stages.drawn(work.loaded, part, validation_of(part.read()))

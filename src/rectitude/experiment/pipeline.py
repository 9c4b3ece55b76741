"""The stages of a run, one after the other, from the log to the numbers of every model.

Each stage is taken from before or done now; a model that fails is noted, and the others go on.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rectitude.aggregate.evaluation import Evaluation
from rectitude.candidates.value import Candidates
from rectitude.errors import BadName, UnwritableFile
from rectitude.experiment import stages
from rectitude.experiment.events import Watch
from rectitude.experiment.models import Fielded, Task, depth_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.results import restored
from rectitude.experiment.stages import Stage, StagePart
from rectitude.experiment.store import Store, facts_of, read_json
from rectitude.experiment.tuning import trial_stage, tune_stage, validation_of

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

    def numbers(self) -> Evaluation:
        """Its evaluation, with the values per user."""
        stored = read_json(self.evaluation / "evaluation.json")
        return restored(stored, self.evaluation / "values.parquet")


Entries = Mapping[str, Sequence[ModelEntry]]
"""The entries of each model, one for each split."""


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

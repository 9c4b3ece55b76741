"""Run the stages one after the other, from the log to the evaluation of every model.

Each stage is reused from the cache or run now. A model that fails is recorded, and the others
continue.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from sys import version_info
from typing import Any, TypeVar

from rectitude.aggregate.evaluation import Evaluation
from rectitude.candidate_sets.value import Candidates
from rectitude.errors import BadSetting, RectitudeError, UnwritableFile
from rectitude.experiment import stages
from rectitude.experiment.events import Watch
from rectitude.experiment.models import ExperimentModel, Task, depth_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.resources import FILE, Meter, as_document, read_records
from rectitude.experiment.results import restore_evaluation
from rectitude.experiment.stages import Stage, StagePart
from rectitude.experiment.store import Store, facts_of, read_json
from rectitude.experiment.tuning import trial_stage, tune_stage, validation_of

Made = TypeVar("Made")
_PACKAGE = Path(__file__).parents[1]
_INSTALLED = {"site-packages", "dist-packages", f"python{version_info.major}.{version_info.minor}"}
"""Folders of code that a model calls, but that is not its own."""


@dataclass
class Work:
    """The inputs of a run, and what has happened so far."""

    loaded: Loaded
    store: Store
    watch: Watch
    fielded: Sequence[ExperimentModel]
    chosen: Callable[[Stage], bool]
    """whether a stage that is not cached may run"""
    data: object = None
    """interactions passed in Python"""
    failures: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    statuses: list[tuple[str, str]] = field(default_factory=list)
    """every stage and its status: cached, done or to do"""
    failed_at: str = ""
    """the stage whose error is being raised"""
    meter: Meter = field(default_factory=Meter)
    used: dict[str, dict[str, Any]] = field(default_factory=dict)
    """what each stage took, now or when it was cached"""

    def obtain(self, stage: Stage) -> Path | None:
        """Return the folder of a stage, cached or run now; None if it may not run."""
        cached = self.store.find(stage.name, stage.key)
        if cached is not None:
            self.watch.tell("cached", stage.name, key=stage.key)
            self.recall(stage)
            self.statuses.append((stage.name, "cached"))
            return cached
        if not self.chosen(stage):
            self.leave_out(stage.name)
            return None
        try:
            with (
                self.watch.working(stage.name, key=stage.key) as report,
                self.meter.measuring() as usage,
            ):
                folder = self.store.keep(stage.name, stage.key, stage.make(report))
        except (Exception, SystemExit):
            self.failed_at = stage.name
            raise
        self.failed_at = ""  # earlier errors were handled
        self.statuses.append((stage.name, "done"))
        self.used[stage.name] = {"key": stage.key, **usage.facts}
        self.store.write_json(FILE, as_document({**self._recorded, **self.used}))
        return folder

    @cached_property
    def _recorded(self) -> dict[str, dict[str, Any]]:
        """What earlier runs in this folder recorded; nothing if that is damaged."""
        with suppress(RectitudeError):
            return read_records(self.store.folder)
        return {}

    def recall(self, stage: Stage) -> None:
        """Take over what a cached stage took when it was made."""
        record = self._recorded.get(stage.name, {})
        if record.get("key") == stage.key:
            self.used[stage.name] = record

    def leave_out(self, name: str) -> None:
        """Record that a stage is left out."""
        self.left_out.append(name)
        self.statuses.append((name, "to do"))

    def attempt(self, stage: str, action: Callable[[], Made]) -> Made | None:
        """Run an action; record its failure and let the run continue."""
        try:
            return action()
        except UnwritableFile:  # a full disk stops the whole run
            raise
        except (Exception, SystemExit) as error:  # a model that calls sys.exit() only ends itself
            self.failures.append(failure_of(self.failed_at or stage, error))
            self.failed_at = ""
            return None


def failure_of(stage: str, error: BaseException) -> dict[str, Any]:
    """Describe a failure without details that differ between runs, such as addresses."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "stage": stage,
        "kind": type(error).__name__,
        "message": _mask_addresses(str(error)),
        "at": _find_last_frame(error),
        "traceback": _mask_addresses("".join(lines)),
    }


def _find_last_frame(error: BaseException) -> str:
    """Return where a model's own code failed: its last frame. An error of rectitude that has
    another as its cause says what happened to that one."""
    if isinstance(error, RectitudeError):
        return _find_last_frame(error.__cause__) if error.__cause__ else ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_PACKAGE)]
    outside = [frame for frame in own if _INSTALLED.isdisjoint(Path(frame.filename).parts)]
    for frame in reversed(outside or own):
        source = f": {frame.line}" if frame.line else ""
        return f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}{source}"
    return ""


def _mask_addresses(text: str) -> str:
    return re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x...", text)


def log_of(work: Work) -> tuple[Stage | None, Path | None]:
    """Return the stage and folder of the prepared log."""
    if work.loaded.config.split.parts:
        return None, None
    stage = stages.data_stage(work.loaded, work.data)
    folder = work.obtain(stage)
    if not work.loaded.config.prepare:
        return stage, folder
    prepared = stages.prepare_stage(work.loaded, stage, folder)
    return prepared, work.obtain(prepared)


def parts_of(work: Work, stage: Stage | None, folder: Path | None) -> list[StagePart] | None:
    """Return all splits of every seed; None if they are left out."""
    parts: list[StagePart] = []
    seeds = work.loaded.config.seeds
    for seed in seeds:
        split = stages.split_stage(work.loaded, stage, folder, seed)
        split_folder = work.obtain(split)
        if split_folder is None:
            return None
        facts = facts_of(split_folder)
        for number, split_facts in enumerate(facts):
            series = (split_facts["name"] or f"split-{number + 1}") if len(facts) > 1 else ""
            labels = [f"seed-{seed}"] * (len(seeds) > 1) + [series] * bool(series)
            parts.append(StagePart(split_folder, number, "-".join(labels), seed, split.key))
    return parts


@dataclass(frozen=True)
class ModelEntry:
    """One model on one split: the folders of its lists and its evaluation."""

    model: str
    part: StagePart
    parameters: Mapping[str, Any]
    lists: Path
    evaluation: Path
    stage: Stage
    tuned: Mapping[str, Any] | None
    candidates: Path | None = None

    def numbers(self) -> Evaluation:
        """Read the evaluation, with values per user."""
        stored = read_json(self.evaluation / "evaluation.json")
        return restore_evaluation(stored, self.evaluation / "values.parquet")


Entries = Mapping[str, Sequence[ModelEntry]]
"""The entries of each model, one per split."""


def entries_of(work: Work, part: StagePart) -> Iterator[ModelEntry]:
    """Yield every model on one split; models that fail are recorded and skipped."""
    candidates, candidates_key = None, None
    if work.loaded.config.candidates.kind:
        stage = stages.candidates_stage(work.loaded, part)
        folder = work.obtain(stage)
        if folder is None:
            return
        candidates, candidates_key = folder / "candidates.parquet", stage.key
    for fielded in work.fielded:
        name = "/".join(word for word in ("models", fielded.name, part.name) if word)
        entry = work.attempt(
            name, partial(_run_model, work, part, fielded, candidates, candidates_key)
        )
        if entry is not None:
            yield entry


def _run_model(
    work: Work,
    part: StagePart,
    fielded: ExperimentModel,
    candidates: Path | None,
    candidates_key: str | None,
) -> ModelEntry | None:
    parameters = fielded.parameters(part.seed)
    chosen = work.loaded.config.evaluate
    depth = depth_of(work.loaded)
    key_inputs = {
        "split": part.fingerprint,
        "candidates": candidates_key,
        "depth": depth,
        "seen": chosen.seen,
    }
    tuned = None
    if fielded.entrant.tune is not None:
        tuned = _tune(work, part, fielded, key_inputs)
        if tuned is None:
            return None
        parameters = {**parameters, **tuned["parameters"]}

    def task() -> Task:
        items = None if candidates is None else Candidates.load(candidates)
        return Task(part.read(), depth, items, chosen.seen, fielded.entrant.learning)

    lists = stages.lists_stage(
        {**key_inputs, **fielded.key_inputs(parameters, part)},
        lambda report: fielded.predict(parameters, part, task(), report), fielded.name, part,
    )  # fmt: skip
    lists_folder = work.obtain(lists)
    stage = stages.evaluate_stage(work.loaded, part, lists, lists_folder, candidates)
    folder = work.obtain(stage)
    if lists_folder is None or folder is None:
        return None
    return ModelEntry(
        fielded.name, part, parameters, lists_folder, folder, stage, tuned, candidates
    )


def _tune(
    work: Work, part: StagePart, fielded: ExperimentModel, key_inputs: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the best parameters that the search finds on the validation part."""
    tried: list[str] = []

    def task() -> Task:
        inner, candidates = validation_of(part.read()), _inner_candidates(work, part)
        # Trials never continue from an earlier split: they only use the validation split.
        return Task(inner, depth_of(work.loaded), candidates, key_inputs["seen"], "refit")

    def value(setting: Mapping[str, Any], number: int) -> float:
        stage = trial_stage(fielded, part, key_inputs, task, setting, number)
        folder = work.obtain(stage)
        if folder is None:
            raise BadSetting(f"{stage.name} is left out.", "every trial of a search.")
        tried.append(stage.name)
        return float(read_json(folder / "trial.json")["value"])

    folder = work.obtain(tune_stage(fielded, part, key_inputs, value))
    for name in tried:  # the search is cached: its trials are no longer needed
        work.store.used.pop(name, None)
    return None if folder is None else read_json(folder / "tune.json")


def _inner_candidates(work: Work, part: StagePart) -> Candidates | None:
    """Draw candidates for the validation split, in the same way as for the test."""
    if not work.loaded.config.candidates.kind:
        return None
    return stages.draw_candidates(work.loaded, part, validation_of(part.read()))

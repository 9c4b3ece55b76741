"""`run`: carry out an experiment, from its file to its results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rectitude.errors import unknown_name
from rectitude.experiment import stages
from rectitude.experiment.bars import Shown, watch
from rectitude.experiment.checks import require_sound
from rectitude.experiment.comparison import compare_models, explain_conventions
from rectitude.experiment.config import Entrant
from rectitude.experiment.events import Watch, Watcher, log_events
from rectitude.experiment.models import ExperimentModel
from rectitude.experiment.outputs import Published, publish
from rectitude.experiment.pipeline import Work, entries_of, log_of, parts_of
from rectitude.experiment.reading import Loaded, load
from rectitude.experiment.results import Run
from rectitude.experiment.stages import KINDS, Stage, StagePart, bare, convention_of
from rectitude.experiment.store import Store, hold_folder, read_json, require_pairs_once
from rectitude.extensions import Plugins, allow_plugins, is_path
from rectitude.profiles import profile_of

Start = Literal["resume", "fresh"]
_BEFORE: Mapping[str, tuple[str, ...]] = {
    kind: ("data", "prepare", "split", *more)
    for kind, more in {
        "data": (), "prepare": (), "split": (), "audit": (), "candidates": (),
        "tune": ("candidates",), "models": ("candidates", "tune"),
        "evaluate": ("candidates", "tune", "models"),
    }.items()
}  # fmt: skip
"""The stages that each stage needs; stages after evaluation need all of them."""


def run(
    config: object,
    *,
    folder: str | os.PathLike[str] | None = None,
    data: object = None,
    models: Mapping[str, Any] | None = None,
    only: Collection[str] = (),
    start: Start = "resume",
    plugins: Plugins = "on",
    watchers: Sequence[Watcher] = (),
    progress: Shown = "auto",
) -> Run:
    """Run an experiment: a TOML or YAML file, or a dict with the same keys.

    All results are written to `folder`. Stages whose inputs have not changed are reused from there,
    unless `start` is "fresh". A run that was killed resumes where it stopped, and gives identical
    results. `data` replaces the interactions of the file. `models` adds models by name: objects
    with fit and recommend, or functions or classes that create them. `only` limits the run to some
    stages or models and the stages they need; all others are reused if cached, else left out.
    With `plugins` "off", no code named in the file is executed. Terminals and notebooks show a
    progress bar, unless `progress` is "quiet"; "json" writes events as lines to stderr.
    """
    with allow_plugins(plugins) as permitted:
        loaded = load(config)
        fielded = field_models(loaded, models or {}, permitted)
        require_sound(loaded, fielded, data is not None, permitted)
        store = Store(Path(folder) if folder is not None else loaded.folder)
        chosen = chooser(only, [model.name for model in fielded])
        with watch(progress) as shown:
            watching = Watch((*watchers, shown))
            return _run(Work(loaded, store, watching, fielded, chosen, data), start, permitted)


def _run(work: Work, start: Start, plugins: Plugins) -> Run:
    """Run all stages while holding the lock of the folder."""
    store, loaded = work.store, work.loaded
    store.make()
    with hold_folder(store.folder), log_events(store.folder / "log.jsonl") as log:
        store.tidy()
        if start == "fresh":
            store.forget()
        work.watch = Watch((log, *work.watch.watchers))
        began = datetime.now(UTC).isoformat(timespec="seconds")
        with work.watch.working("run", name=loaded.name, plugins=plugins, start=start):
            published = run_stages(work)
            return publish(work, published, {"began": began, "file": loaded.file})


def plan(
    config: object,
    *,
    folder: str | os.PathLike[str] | None = None,
    only: Collection[str] = (),
    plugins: Plugins = "on",
) -> list[tuple[str, str]]:
    """Return every stage of an experiment and its status: cached, to do or left out.

    Nothing is written. If the splits do not exist yet, a stage is listed once for all splits.
    """
    with allow_plugins(plugins) as permitted:
        loaded = load(config)
        fielded = field_models(loaded, {}, permitted)
        require_sound(loaded, fielded, False, permitted)
        allowed = chooser(only, [model.name for model in fielded])
        store = Store(Path(folder) if folder is not None else loaded.folder)
        work = Work(loaded, store, Watch(), fielded, lambda _: False)
        published = run_stages(work)
    statuses = dict(work.statuses)
    for stage in _plan_stages(loaded, fielded, bool(published.parts)):
        statuses.setdefault(stage.name, "to do")
    stages_by_name = {name: bare(name) for name in statuses}
    return [
        (name, "left out" if status == "to do" and not allowed(stages_by_name[name]) else status)
        for name, status in statuses.items()
    ]


def _plan_stages(
    loaded: Loaded, fielded: Sequence[ExperimentModel], has_splits: bool
) -> Iterator[Stage]:
    """Yield the stages that are known before the splits exist."""
    config = loaded.config
    if not has_splits:
        if config.audit.mode != "off":
            yield bare("audit")
        if config.candidates.kind:
            yield bare("candidates")
        for model in fielded:
            tuned = ("tune",) if model.entrant.tune else ()
            yield from (bare(f"{kind}/{model.name}") for kind in (*tuned, "models", "evaluate"))
    if len(fielded) > 1:
        yield bare("compare")
        if config.explain.mode == "report":
            yield bare("explain")
    if config.report.mode == "write":
        yield bare("report")
    if config.mlflow is not None:
        yield bare("mlflow")


def field_models(
    loaded: Loaded, objects: Mapping[str, Any], plugins: Plugins
) -> list[ExperimentModel]:
    """Return the models of the file, then those passed to `run`."""
    fielded = [
        ExperimentModel(loaded, name, entrant, plugins)
        for name, entrant in loaded.config.models.items()
    ]
    entrants = loaded.config.models.values()
    named = [entrant.python for entrant in entrants]
    named += [entrant.tune.metric for entrant in entrants if entrant.tune]
    named += [*loaded.config.evaluate.metrics, loaded.config.explain.metric]
    if plugins == "on" and any(map(is_path, named)) and str(loaded.home) not in sys.path:
        sys.path.append(str(loaded.home))  # modules next to the file can be imported
    return fielded + [
        ExperimentModel(loaded, name, Entrant(), plugins, model) for name, model in objects.items()
    ]


def chooser(only: Collection[str], models: Sequence[str]) -> Callable[[Stage], bool]:
    """Return which stages may run: all, or the named ones and the stages they need."""
    for word in only:
        if word not in (*KINDS, *models):
            raise unknown_name("stage or model", word, [*KINDS, *models], where="this experiment")
    kinds = [kind for kind in KINDS if kind in only]
    named = {name for name in models if name in only}
    needed = {name for kind in kinds for name in (kind, *_BEFORE.get(kind, KINDS))}

    def is_chosen(stage: Stage) -> bool:
        if needed and stage.kind not in needed:
            return False
        return not (named and stage.model and stage.model not in named)

    return is_chosen


def run_stages(work: Work) -> Published:
    """Run every stage, or reuse it if it is cached."""
    published = Published()
    parts = parts_of(work, *log_of(work))
    if parts is None:
        return published
    published.parts = parts
    convention = profile_of(convention_of(work.loaded)).convention
    for part in parts if convention.duplicate_truth == "error" else ():
        require_pairs_once(part.folder, part.number)
    for part in parts:
        _audit(work, part, published)
    published.stopped = _reason_to_stop(work, published)
    if published.stopped:
        return published
    for part in parts:
        for entry in entries_of(work, part):
            published.entries.setdefault(entry.model, []).append(entry)
    order = [model.name for model in work.fielded if model.name in published.entries]
    published.entries = {name: published.entries[name] for name in order}
    published.comparison = work.attempt(
        "compare", lambda: compare_models(work, published.entries, parts)
    )
    published.explained = (
        work.attempt("explain", lambda: explain_conventions(work, published.entries)) or {}
    )
    return published


def _audit(work: Work, part: StagePart, published: Published) -> None:
    if work.loaded.config.audit.mode == "off":
        return
    stage = stages.audit_stage(work.loaded, part)
    folder = work.attempt(stage.name, lambda: work.obtain(stage))
    if folder is not None:
        published.audits[part.name] = read_json(folder / "audit.json")


def _reason_to_stop(work: Work, published: Published) -> str:
    """Return why the audit stops the run before any model; empty if it does not."""
    serious = {
        name: [finding["name"] for finding in audit["findings"] if finding["severity"] == "serious"]
        for name, audit in published.audits.items()
    }
    if work.loaded.config.audit.mode != "stop" or not any(serious.values()):
        return ""
    findings = [
        f"{name or 'the split'}: {', '.join(names)}" for name, names in serious.items() if names
    ]
    return f"the audit has serious findings, which make results invalid ({'; '.join(findings)})"

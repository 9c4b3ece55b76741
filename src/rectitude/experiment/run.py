"""`run`: an experiment from its file to its results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rectitude.errors import unknown_name
from rectitude.experiment import stages
from rectitude.experiment.checks import require_sound
from rectitude.experiment.comparison import compared, explained
from rectitude.experiment.config import Entrant
from rectitude.experiment.events import Watch, Watcher, logged
from rectitude.experiment.models import Fielded
from rectitude.experiment.outputs import Published, published
from rectitude.experiment.pipeline import Work, entries_of, log_of, parts_of
from rectitude.experiment.reading import Loaded, load
from rectitude.experiment.results import Run
from rectitude.experiment.stages import KINDS, Stage, StagePart, bare, convention_of
from rectitude.experiment.store import Store, held, read_json, require_pairs_once
from rectitude.models.protocol import Plugins
from rectitude.profiles import profile_of

Start = Literal["resume", "fresh"]
SWITCH = "RECTITUDE_PLUGINS"
_BEFORE: Mapping[str, tuple[str, ...]] = {
    kind: ("data", "prepare", "split", *more)
    for kind, more in {
        "data": (), "prepare": (), "split": (), "audit": (), "candidates": (),
        "tune": ("candidates",), "models": ("candidates", "tune"),
        "evaluate": ("candidates", "tune", "models"),
    }.items()
}  # fmt: skip
"""What a stage needs; those after evaluation need all of them."""


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
) -> Run:
    """Run an experiment: a TOML or YAML file, or a dict of the same shape.

    Everything is written to `folder`. What is there already and depends on nothing that has changed
    is taken from there, unless `start` is "fresh"; a run that was killed goes on where it was, and
    ends with the same bits. `data` are interactions in place of the file's, `models` further ones
    by name: objects with fit and recommend, or what makes them. `only` names stages or models that
    may be done; what they need is done too, and all others are taken from before or left out.
    `plugins` "off" runs no code that the file names.
    """
    with allowed(plugins) as permitted:
        loaded = load(config)
        fielded = fielded_of(loaded, models or {}, permitted)
        require_sound(loaded, fielded, data is not None, permitted)
        store = Store(Path(folder) if folder is not None else loaded.folder)
        chosen = chooser(only, [one.name for one in fielded])
        work = Work(loaded, store, Watch(tuple(watchers)), fielded, chosen, data)
        return _run(work, start, permitted)


def _run(work: Work, start: Start, plugins: Plugins) -> Run:
    """Do the work, as the only writer of its folder."""
    store, loaded = work.store, work.loaded
    store.make()
    with held(store.folder), logged(store.folder / "log.jsonl") as log:
        store.tidy()
        if start == "fresh":
            store.forget()
        work.watch = Watch((log, *work.watch.watchers))
        began = datetime.now(UTC).isoformat(timespec="seconds")
        with work.watch.working("run", name=loaded.name, plugins=plugins, start=start):
            found = found_by(work)
            return published(work, found, {"began": began, "file": loaded.file})


def plan(
    config: object,
    *,
    folder: str | os.PathLike[str] | None = None,
    only: Collection[str] = (),
    plugins: Plugins = "on",
) -> list[tuple[str, str]]:
    """Every stage of an experiment, and whether it is there already or to be done; writes nothing.

    Stages of splits that are not there yet stand for one for each split.
    """
    with allowed(plugins) as permitted:
        loaded = load(config)
        fielded = fielded_of(loaded, {}, permitted)
        require_sound(loaded, fielded, False, permitted)
        may = chooser(only, [one.name for one in fielded])
        store = Store(Path(folder) if folder is not None else loaded.folder)
        work = Work(loaded, store, Watch(), fielded, lambda _: False)
        found = found_by(work)
    listed = dict(work.told)
    for stage in _expected(loaded, fielded, bool(found.parts)):
        listed.setdefault(stage.name, "to do")
    kept = {name: bare(name) for name in listed}
    return [
        (name, "left out" if said == "to do" and not may(kept[name]) else said)
        for name, said in listed.items()
    ]


def _expected(loaded: Loaded, fielded: Sequence[Fielded], parted: bool) -> Iterator[Stage]:
    """The stages that a run has in any case, whatever it finds."""
    config = loaded.config
    if not parted:
        if config.audit.mode != "off":
            yield bare("audit")
        if config.candidates.kind:
            yield bare("candidates")
        for one in fielded:
            tuned = ("tune",) if one.entrant.tune else ()
            yield from (bare(f"{kind}/{one.name}") for kind in (*tuned, "models", "evaluate"))
    if len(fielded) > 1:
        yield bare("compare")
        if config.explain.mode == "report":
            yield bare("explain")
    if config.report.mode == "write":
        yield bare("report")
    if config.mlflow is not None:
        yield bare("mlflow")


@contextmanager
def allowed(plugins: Plugins) -> Iterator[Plugins]:
    """Whether plugins are wanted, here and in the environment; where they are not, there are none
    of any kind, nor metrics of other packages."""
    before = os.environ.get(SWITCH)
    plugins = "off" if before == "off" else plugins
    if plugins == "off":
        os.environ[SWITCH] = "off"
    try:
        yield plugins
    finally:
        if before is not None:
            os.environ[SWITCH] = before
        elif plugins == "off":
            os.environ.pop(SWITCH, None)


def fielded_of(loaded: Loaded, given: Mapping[str, Any], plugins: Plugins) -> list[Fielded]:
    """The models of the file, then those that were handed over."""
    found = [
        Fielded(loaded, name, entrant, plugins) for name, entrant in loaded.config.models.items()
    ]
    own = any(one.entrant.python for one in found) and plugins == "on"
    if own and str(loaded.home) not in sys.path:
        sys.path.append(str(loaded.home))  # modules that lie beside the file are found
    return found + [Fielded(loaded, name, Entrant(), plugins, one) for name, one in given.items()]


def chooser(only: Collection[str], models: Sequence[str]) -> Callable[[Stage], bool]:
    """Which stages may be done: all, or those that are named and what they need."""
    for word in only:
        if word not in (*KINDS, *models):
            raise unknown_name("stage or model", word, [*KINDS, *models], where="this experiment")
    kinds = [kind for kind in KINDS if kind in only]
    named = {name for name in models if name in only}
    needed = {one for kind in kinds for one in (kind, *_BEFORE.get(kind, KINDS))}

    def chosen(stage: Stage) -> bool:
        if needed and stage.kind not in needed:
            return False
        return not (named and stage.model and stage.model not in named)

    return chosen


def found_by(work: Work) -> Published:
    """Do every stage, or take it from before."""
    found = Published()
    parts = parts_of(work, *log_of(work))
    if parts is None:
        return found
    found.parts = parts
    convention = profile_of(convention_of(work.loaded)).convention
    for part in parts if convention.duplicate_truth == "error" else ():
        require_pairs_once(part.folder, part.number)
    for part in parts:
        _audited(work, part, found)
    found.stopped = _stopped(work, found)
    if found.stopped:
        return found
    for part in parts:
        for entry in entries_of(work, part):
            found.entries.setdefault(entry.model, []).append(entry)
    order = [one.name for one in work.fielded if one.name in found.entries]
    found.entries = {name: found.entries[name] for name in order}
    found.comparison = work.attempt("compare", lambda: compared(work, found.entries, parts))
    found.explained = work.attempt("explain", lambda: explained(work, found.entries)) or {}
    return found


def _audited(work: Work, part: StagePart, found: Published) -> None:
    if work.loaded.config.audit.mode == "off":
        return
    stage = stages.audit_stage(work.loaded, part)
    folder = work.attempt(stage.name, lambda: work.obtain(stage))
    if folder is not None:
        found.audits[part.name] = read_json(folder / "audit.json")


def _stopped(work: Work, found: Published) -> str:
    """Why no model is to be run, if the audit forbids it."""
    serious = {
        name: [one["name"] for one in audit["findings"] if one["severity"] == "serious"]
        for name, audit in found.audits.items()
    }
    if work.loaded.config.audit.mode != "stop" or not any(serious.values()):
        return ""
    told = [f"{name or 'the split'}: {', '.join(of)}" for name, of in serious.items() if of]
    return f"the audit found what makes results void ({'; '.join(told)})"

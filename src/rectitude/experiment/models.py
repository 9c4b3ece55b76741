"""The models of an experiment: how each is made, and what its lists depend on.

A model of one's own depends on the files that it comes from, so that editing any of them counts.
"""

from __future__ import annotations

import ast
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rectitude.candidates.value import Candidates
from rectitude.experiment.config import Entrant, Learning
from rectitude.experiment.events import Report
from rectitude.experiment.fingerprints import file_digest, input_digest, key_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.stages import StagePart
from rectitude.experiment.store import read_split
from rectitude.experiment.windows import updated
from rectitude.metrics.names import parse_all
from rectitude.models import MODELS, Model, Predicted, Served, learnt_from, model_of, predicted
from rectitude.models.predict import Seen
from rectitude.models.protocol import Plugins, imported, required, takes
from rectitude.predictions.lists import Lists
from rectitude.splits.split import Split

WHOLE = 100
"""How long lists are for metrics that look at the whole list."""
_INSTALLED = ("site-packages", "dist-packages")
_REMEMBERED: dict[int, tuple[Any, dict[str, str]]] = {}
"""What modules came from when they were first asked for: Python goes on with the code that it has
loaded, whatever becomes of the file. A module that is loaded again has another spec."""


@dataclass(frozen=True)
class Task:
    """What a model has to do."""

    split: Split
    depth: int
    candidates: Candidates | None
    seen: Seen
    learning: Learning
    """"update" if the model goes on from the split before"""


@dataclass(frozen=True)
class Fielded:
    """One model of an experiment, ready to be run on any split."""

    loaded: Loaded
    name: str
    entrant: Entrant
    plugins: Plugins = "on"
    given: Any = None
    """a model, or what makes one, that was handed over in Python"""
    live: dict[str, tuple[int, Model]] = field(default_factory=dict)
    """of a model that is updated, by splits and parameters: the number of the split that it has
    learnt last, and itself"""

    @property
    def kind(self) -> str:
        """The name of the model that ships, if it is one."""
        return self.entrant.model or self.name

    def parameters(self, seed: int) -> dict[str, Any]:
        """The parameters from the file; the seed of the run, if the model takes one."""
        own = self.entrant.parameters
        return {"seed": seed, **own} if self._takes_seed() else own

    def _takes_seed(self) -> bool:
        if self.given is not None:
            return callable(self.given) and takes(self.given, "seed")
        if self.entrant.python:
            return self.plugins == "on" and takes(_object(self.entrant.python), "seed")
        return not self.entrant.predictions and "seed" in MODELS[self.kind].parameters

    def made(self, parameters: Mapping[str, Any], part: StagePart) -> Any:
        """A new model with these parameters."""
        if self.given is not None:
            return self.given(**parameters) if callable(self.given) else self.given
        if self.entrant.predictions:
            return Served(Lists(self.file(part), format=self.entrant.format or None))
        files = {name: str(path) for name, path in self._files(parameters).items()}
        if self.entrant.python:
            return imported(self.entrant.python, {**parameters, **files}, self.plugins)
        return model_of(self.kind, **{**parameters, **files})

    def answer(
        self, parameters: Mapping[str, Any], part: StagePart, task: Task, report: Report
    ) -> Predicted:
        """What the model recommends, after it was fitted."""
        if task.learning == "update" and part.number:
            fitted = self._updated(parameters, part, report)
        else:
            model = required(self.made(parameters, part), self.name)
            fitted = learnt_from(model, task.split.train, report)
        if task.learning == "update":
            self.live.clear()  # one at a time is held
            self.live[_same(part, parameters)] = (part.number, fitted)
        return predicted(
            fitted, task.split, task.depth, candidates=task.candidates, seen=task.seen,
            name=self.name, progress=report,
        )  # fmt: skip

    def _updated(self, parameters: Mapping[str, Any], part: StagePart, report: Report) -> Model:
        """The model after all splits up to one: the model of the split before, if there is one, or
        what it learnt is learnt again in the same order."""
        number, model = self.live.pop(_same(part, parameters), (-1, None))
        if model is None or number >= part.number:
            number, made = 0, required(self.made(parameters, part), self.name)
            model = learnt_from(made, read_split(part.folder, 0).train, report)
        before = read_split(part.folder, number).train
        for later in range(number + 1, part.number + 1):
            train = read_split(part.folder, later).train
            model, before = updated(self.name, model, train, before), train
        return model

    def facts(self, parameters: Mapping[str, Any], part: StagePart) -> dict[str, Any]:
        """What the lists depend on, beside the split and what is asked for."""
        if self.entrant.predictions:
            return {"predictions": input_digest(self.file(part)), "format": self.entrant.format}
        digests = {name: input_digest(path) for name, path in self._files(parameters).items()}
        facts: dict[str, Any] = {"parameters": dict(parameters), "files": digests}
        facts["learning"] = self.entrant.learning
        if self.given is not None:
            return {**facts, "object": secrets.token_hex(8)}  # always done anew
        if self.entrant.python:
            own = self.entrant.python
            return {**facts, "python": own, "sources": sources_of(own)}
        return {**facts, "model": self.kind}

    def file(self, part: StagePart) -> Path:
        """The file with the lists for a split."""
        name = self.entrant.predictions.replace("{split}", part.name)
        return self.loaded.path(name, ("models", self.name, "predictions"))

    def _files(self, parameters: Mapping[str, Any]) -> dict[str, Path]:
        """The parameters that lead to files from where the experiment lies."""
        found: dict[str, Path] = {}
        for name, value in parameters.items():
            if isinstance(value, str) and any(mark in value for mark in "/.$"):
                path = self.loaded.path(value, ("models", self.name, name))
                found |= {name: path} if path.is_file() else {}
        return found


def _same(part: StagePart, parameters: Mapping[str, Any]) -> str:
    """What a model that is updated must share with the one before."""
    return key_of(part.key, parameters)


def _object(path: str) -> Any:
    """The object at an import path; None if there is none, which is said when it is needed."""
    module, _, name = path.partition(":")
    try:
        return reduce(getattr, name.split("."), import_module(module))
    except Exception:  # whatever a module of somebody else's raises
        return None


def depth_of(loaded: Loaded) -> int:
    """How long lists are: as asked for, else the largest cutoff, and 100 if a metric has none."""
    chosen = loaded.config.evaluate
    if chosen.depth is not None:
        return chosen.depth
    tuned = [one.tune.metric for one in loaded.config.models.values() if one.tune]
    metrics = [chosen.metrics] if isinstance(chosen.metrics, str) else chosen.metrics
    said = [name.at or "" for name in parse_all([*metrics, *tuned])]
    return max(int(at) if at.isdecimal() else WHOLE for at in said)


def sources_of(path: str) -> dict[str, str]:
    """The hashes of the files of an object at an import path: its package, or its module and what
    that imports from beside it; none if it cannot be imported, which is said when it is made."""
    try:
        module = import_module(path.partition(":")[0])
    except Exception:  # whatever a module of somebody else's raises
        return {}
    loaded = module.__spec__ or module
    if id(loaded) not in _REMEMBERED:
        _REMEMBERED[id(loaded)] = (loaded, _digests(module))
    return _REMEMBERED[id(loaded)][1]


def _digests(module: ModuleType) -> dict[str, str]:
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    roots = [Path(place) for place in getattr(top, "__path__", ())]
    files = [(root.parent, file) for root in roots for file in root.rglob("*.py")]
    if not roots and getattr(module, "__file__", None):
        own = Path(str(module.__file__))
        files = [(own.parent, file) for file in _with_neighbours(own)]
    return {file.relative_to(root).as_posix(): file_digest(file) for root, file in sorted(files)}


def _with_neighbours(own: Path) -> set[Path]:
    """A module, and what it imports of its own folder, itself or through others."""
    found, waiting = {own}, [own]
    while waiting and own.parent.name not in _INSTALLED:
        names = _imported(waiting.pop())
        near = [one for name in names for one in _named(own.parent, name)]
        fresh = [one for one in near if one not in found]
        found.update(fresh)
        waiting += fresh
    return found


def _named(folder: Path, name: str) -> list[Path]:
    """The files of a module or package of a folder."""
    file = folder / f"{name}.py"
    return [*([file] if file.is_file() else []), *(folder / name).rglob("*.py")]


def _imported(file: Path) -> set[str]:
    """The first words of all that a file imports."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # no Python, or not of this release
        return set()
    names = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}

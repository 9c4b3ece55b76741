"""The models of an experiment: how each is created, and what its lists depend on.

A custom model depends on its source files: editing any of them invalidates its cached lists.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from rectitude.candidate_sets.value import Candidates
from rectitude.experiment.config import Entrant, Learning
from rectitude.experiment.events import Report
from rectitude.experiment.fingerprints import input_digest, key_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.sources import sources_of
from rectitude.experiment.stages import StagePart, convention_of, metrics_of
from rectitude.experiment.store import read_split
from rectitude.experiment.windows import update_model
from rectitude.extensions import Plugins
from rectitude.metrics.names import parse_all
from rectitude.models import MODELS, Model, Predicted, Served, fit_model, model_of, predict_split
from rectitude.models.predict import Seen
from rectitude.models.protocol import import_model, require_model, takes
from rectitude.predictions.lists import Lists
from rectitude.profiles import profile_of
from rectitude.splits.split import Split

WHOLE = 100
"""The length of lists for metrics without a cutoff."""


@dataclass(frozen=True)
class Task:
    """What a model is asked to do: recommend items for one split."""

    split: Split
    depth: int
    candidates: Candidates | None
    seen: Seen
    learning: Learning
    """"update" if the model continues from the previous split"""


@dataclass(frozen=True)
class ExperimentModel:
    """One model of an experiment, ready to run on any split."""

    loaded: Loaded
    name: str
    entrant: Entrant
    plugins: Plugins = "on"
    source: Any = None
    """a model passed in Python, or a function or class that creates one"""
    live: dict[str, tuple[int, Model]] = field(default_factory=dict)
    """for learning = "update", by splits and parameters: the number of the last split that the
    model has learnt from, and the model"""

    @property
    def kind(self) -> str:
        """The name of the built-in model, if it is one."""
        return self.entrant.model or self.name

    def parameters(self, seed: int) -> dict[str, Any]:
        """Return the parameters of the file, and the seed of the run if the model takes one."""
        parameters = self.entrant.parameters
        return {"seed": seed, **parameters} if self._takes_seed() else parameters

    def _takes_seed(self) -> bool:
        if self.source is not None:
            return callable(self.source) and takes(self.source, "seed")
        if self.entrant.python:
            return self.plugins == "on" and takes(_import_object(self.entrant.python), "seed")
        return not self.entrant.predictions and "seed" in MODELS[self.kind].parameters

    def make(self, parameters: Mapping[str, Any], part: StagePart) -> Any:
        """Create a new model with these parameters."""
        if self.source is not None:
            return self.source(**parameters) if callable(self.source) else self.source
        if self.entrant.predictions:
            return Served(Lists(self.file(part), format=self.entrant.format or None))
        files = {name: str(path) for name, path in self._find_files(parameters).items()}
        if self.entrant.python:
            return import_model(self.entrant.python, {**parameters, **files}, self.plugins)
        return model_of(self.kind, **{**parameters, **files})

    def predict(
        self, parameters: Mapping[str, Any], part: StagePart, task: Task, report: Report
    ) -> Predicted:
        """Train the model and return its recommendations."""
        if task.learning == "update" and part.number:
            fitted = self._update(parameters, part, report)
        else:
            model = require_model(self.make(parameters, part), self.name)
            fitted = fit_model(model, task.split.train, report)
        if task.learning == "update":
            self.live.clear()  # keep only one model in memory
            self.live[_series_key(part, parameters)] = (part.number, fitted)
        return predict_split(
            fitted, task.split, task.depth, candidates=task.candidates, seen=task.seen,
            name=self.name, progress=report,
        )  # fmt: skip

    def _update(self, parameters: Mapping[str, Any], part: StagePart, report: Report) -> Model:
        """Return the model updated with all splits up to this one. It continues from the live model
        if there is one; otherwise all earlier splits are learnt again in the same order."""
        number, model = self.live.pop(_series_key(part, parameters), (-1, None))
        if model is None or number >= part.number:
            number, fresh = 0, require_model(self.make(parameters, part), self.name)
            model = fit_model(fresh, read_split(part.folder, 0).train, report)
        before = read_split(part.folder, number).train
        for later in range(number + 1, part.number + 1):
            train = read_split(part.folder, later).train
            model, before = update_model(self.name, model, train, before), train
        return model

    def key_inputs(self, parameters: Mapping[str, Any], part: StagePart) -> dict[str, Any]:
        """Return what the lists depend on, besides the split and the task."""
        if self.entrant.predictions:
            return {"predictions": input_digest(self.file(part)), "format": self.entrant.format}
        digests = {name: input_digest(path) for name, path in self._find_files(parameters).items()}
        key_inputs: dict[str, Any] = {"parameters": dict(parameters), "files": digests}
        key_inputs["learning"] = self.entrant.learning
        if self.source is not None:
            return {**key_inputs, "object": secrets.token_hex(8)}  # never reused
        if self.entrant.python:
            path = self.entrant.python
            return {**key_inputs, "python": path, "sources": sources_of(path)}
        return {**key_inputs, "model": self.kind}

    def file(self, part: StagePart) -> Path:
        """Return the file with the lists for a split."""
        name = self.entrant.predictions.replace("{split}", part.name)
        return self.loaded.path(name, ("models", self.name, "predictions"))

    def _find_files(self, parameters: Mapping[str, Any]) -> dict[str, Path]:
        """Return the parameters that are paths of existing files, relative to the experiment."""
        files: dict[str, Path] = {}
        for name, value in parameters.items():
            if isinstance(value, str) and any(mark in value for mark in "/.$"):
                path = self.loaded.path(value, ("models", self.name, name))
                files |= {name: path} if path.is_file() else {}
        return files


def _series_key(part: StagePart, parameters: Mapping[str, Any]) -> str:
    """Return a key that is the same for all splits of a series that one model is updated on."""
    return key_of(part.key, parameters)


def _import_object(path: str) -> Any:
    """Return the object at an import path; None if it fails, which is reported when it is used."""
    module, _, name = path.partition(":")
    try:
        return reduce(getattr, name.split("."), import_module(module))
    except Exception:  # user code may raise anything
        return None


def depth_of(loaded: Loaded) -> int:
    """Return the length of lists: `depth`, else the largest cutoff, or 100 for a metric without."""
    chosen = loaded.config.evaluate
    if chosen.depth is not None:
        return chosen.depth
    tuned = [entrant.tune.metric for entrant in loaded.config.models.values() if entrant.tune]
    profile = profile_of(convention_of(loaded))
    names = parse_all([*metrics_of(loaded), *tuned])
    return max(profile.resolve(name).cutoff or WHOLE for name in names)

"""What is compared: evaluations, files that hold them, or predictions to evaluate first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rectitude.aggregate.evaluation import EXPECTED, FORMAT, Evaluation, from_dict
from rectitude.comparing.pairing import Runs
from rectitude.comparing.parting import ALL, parted
from rectitude.data import kept
from rectitude.engines.local import evaluate
from rectitude.engines.slices import slices
from rectitude.errors import (
    BadName,
    MissingNeed,
    NothingToEvaluate,
    UnreadableFile,
    nearest,
    unknown_name,
)
from rectitude.metrics.names import parse
from rectitude.reports.runs import FORMAT as EVALUATIONS

Sliced = Mapping[str, Evaluation]
"""One run: the evaluation of all users, and of each slice."""


@dataclass(frozen=True, slots=True)
class Making:
    """How predictions are evaluated, and parted into slices."""

    truth: object
    metrics: str | Iterable[str] | None
    convention: object
    by: Any
    given: Mapping[str, Any]

    def made(self, model: str, one: object) -> Sliced:
        """A run of a model."""
        if isinstance(one, Evaluation):
            kept_ones = _chosen(one, self.metrics, model)
            return parted(kept_ones, self.by, self.given, model) if self.by else {ALL: kept_ones}
        if self.truth is None:
            _require_file(one)
            raise MissingNeed(
                f"{model} is no evaluation, and there is no truth to evaluate it by.",
                "evaluations, or predictions with truth= (--truth).",
            )
        asked: tuple[Any, ...] = (one, self.truth, self.metrics, self.convention)
        if self.by:
            return slices(*asked, by=self.by, **self.given)
        return {ALL: evaluate(*asked, **self.given)}


def runs_of(models: Any, making: Making) -> tuple[dict[str, Runs], list[str]]:
    """The evaluations of each model, as many for each, by slice; and notes on slices left out."""
    every = _named(models)
    _require_same_number({name: len(of) for name, of in every.items()})
    if making.convention is not None:
        _require_predictions(every)
    made = {name: [making.made(name, one) for one in of] for name, of in every.items()}
    labels = dict.fromkeys(label for of in made.values() for run in of for label in run)
    found: dict[str, Runs] = {}
    notes = []
    for label in labels:
        lacking = [name for name, of in made.items() if any(label not in run for run in of)]
        if lacking:
            notes.append(f"slice {label} is left out: {', '.join(lacking)} cannot be evaluated.")
            continue
        found[label] = {name: [run[label] for run in of] for name, of in made.items()}
    return found, notes


def _named(models: Any) -> dict[str, list[object]]:
    """What each model is given as, run by run."""
    if isinstance(models, str | os.PathLike):
        models = [models]
    if not isinstance(models, Mapping):
        models = {str(place): one for place, one in enumerate(models, 1)}
    found = {str(name): _several(given) for name, given in models.items()}
    if len(found) == 1:  # one file may hold several models
        ((name, given),) = models.items()
        inside = None if isinstance(given, list | tuple) else stored(given)
        found = {name: found[name]} if inside is None else {n: [e] for n, e in inside.items()}
    if len(found) < 2:
        raise NothingToEvaluate(f"there is {len(found)} model.", "at least two to compare.")
    return found


def _several(given: object) -> list[object]:
    """The runs that one model is given as: a list, a folder, a file that holds several, or one."""
    if isinstance(given, list | tuple):
        return [one for each in given for one in _several(each)]
    inside = stored(given)
    if inside is not None:
        return [*inside.values()]
    if isinstance(given, str | os.PathLike) and Path(given).is_dir():
        return _in_folder(Path(given))
    return [given]


def stored(given: object) -> dict[str, Evaluation] | None:
    """The evaluations that a file or folder holds, by name; None if it holds none."""
    if not isinstance(given, str | os.PathLike):
        return None
    path = Path(given)
    if path.is_dir():
        inside = [(one, stored(one)) for one in sorted(path.iterdir()) if one.name[0] != "."]
        return _flat([(one, held) for one, held in inside if held]) or None
    if not path.is_file():
        return None
    reader = {".json": _from_json, ".zip": _from_zip}.get(path.suffix.lower())
    return None if reader is None else reader(path)


def _from_json(path: Path) -> dict[str, Evaluation] | None:
    try:
        document = json.loads(path.read_text("utf-8"))
    except ValueError:
        return None
    form = document.get("format") if isinstance(document, Mapping) else None
    if form == EVALUATIONS:
        return {name: from_dict(one, str(path)) for name, one in document["evaluations"].items()}
    return {path.stem: Evaluation.load(path)} if form == FORMAT else None


def _flat(inside: Sequence[tuple[Path, Mapping[str, Evaluation]]]) -> dict[str, Evaluation]:
    """Evaluations of several files, by file, and by name where a file holds several."""
    return {
        f"{path.name}/{name}" if len(held) > 1 else path.name: one
        for path, held in inside
        for name, one in held.items()
    }


def _from_zip(path: Path) -> dict[str, Evaluation] | None:
    from zipfile import ZipFile, is_zipfile

    if not is_zipfile(path):
        return None
    with ZipFile(path) as archive:
        if not any(name.endswith(kept.DOCUMENT) for name in archive.namelist()):
            return None
    return {
        name or path.stem: from_dict(document, str(path), lists)
        for name, (document, lists) in kept.read_zip(path, EXPECTED).items()
    }


def _in_folder(folder: Path) -> list[object]:
    """The files of predictions in a folder, by name: one for each seed or fold."""
    files = [one for one in sorted(folder.iterdir()) if one.is_file() and one.name[0] != "."]
    if not files:
        raise NothingToEvaluate(
            f"{folder} holds no file.", "stored evaluations or predictions, one for each run."
        )
    return [str(one) for one in files]


def _require_file(given: object) -> None:
    """Say that a file does not exist rather than that it is no evaluation."""
    if isinstance(given, str | os.PathLike) and not Path(given).exists():
        folder = Path(given).parent
        close = nearest(Path(given).name, [one.name for one in folder.glob("*")])
        advice = f"did you mean {close}?" if close else "check the name and the current folder."
        raise UnreadableFile(f"{given} does not exist.", advice=advice)


def _require_same_number(counts: Mapping[str, int]) -> None:
    if len(set(counts.values())) > 1 or not min(counts.values()):
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BadName(f"models have different numbers of runs: {told}.", "as many runs of each.")


def _require_predictions(every: Mapping[str, Sequence[object]]) -> None:
    """A convention is of no use where nothing is evaluated."""
    if all(isinstance(one, Evaluation) for of in every.values() for one in of):
        raise BadName(
            "a convention was given, and all models are evaluated already.",
            "predictions to evaluate under it, or no convention.",
        )


def _chosen(evaluation: Evaluation, metrics: str | Iterable[str] | None, model: str) -> Evaluation:
    """The evaluation with the metrics asked for only."""
    if metrics is None:
        return evaluation
    words = [metrics] if isinstance(metrics, str) else metrics
    names = [str(name) for word in words for name in parse(word)]
    for name in names:
        if name not in evaluation.results and name not in evaluation.failures:
            raise unknown_name("value", name, evaluation.results, where=f"the evaluation {model}")
    results, failed = evaluation.results, evaluation.failures
    return replace(
        evaluation,
        results={name: results[name] for name in names if name in results},
        failures={name: failed[name] for name in names if name in failed},
    )

"""What is compared: evaluations, files that hold them, or predictions to evaluate first; and slices
of evaluations that exist already, by columns of the users' table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np

from rectitude.aggregate.evaluation import (
    EXPECTED,
    FORMAT,
    FORMAT_OF_SEVERAL,
    Evaluation,
    Result,
    from_dict,
)
from rectitude.aggregate.stored import DOCUMENT, read_zip
from rectitude.arrays import Integers
from rectitude.comparison.pairing import Runs
from rectitude.data.ids import Column
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.errors import (
    BadName,
    MissingNeed,
    NothingToEvaluate,
    UnreadableFile,
    nearest,
    unknown_name,
)
from rectitude.evaluation.axes import (
    OWN,
    Axis,
    CodedAxis,
    Slicing,
    crossed,
    entries,
    labelled,
    named,
    parse_slicing,
)
from rectitude.evaluation.evaluate import evaluate
from rectitude.evaluation.slices import slices
from rectitude.judge.attributes import Attributes
from rectitude.metrics.names import parse

ALL = "all"


def parted(
    evaluation: Evaluation, by: Any, given: Mapping[str, Any], model: str
) -> dict[str, Evaluation]:
    """The evaluation, and one of each slice of its users, whose numbers are means of lists."""
    slicing = _slicing(evaluation, parse_slicing(by), given, model)
    found = {ALL: evaluation}
    for label, members in zip(slicing.labels, slicing.members, strict=True):
        if len(members):
            own = f"{slicing.name}: {label}" if label == ALL else label
            found[own] = _only(evaluation, members)
    return found


def _slicing(
    evaluation: Evaluation, axes: tuple[Axis, ...], given: Mapping[str, Any], model: str
) -> Slicing:
    """Which lists belong to which slice, as `evaluate` has it of users."""
    users, table = given.get("users"), None
    if users is not None:
        table = read(users, "users", hints=given.get("columns"))
    owners = Column(evaluation.per_list()["user"], f"the evaluation {model}")
    coded = [_coded(axis, owners, table, model) for axis in axes]
    return crossed(named(axes), "lists", coded)


def _coded(axis: Axis, owners: Column, table: Table | None, model: str) -> CodedAxis:
    column = axis.name.removeprefix("users.")
    known = [] if table is None else [name for name in table.frame.columns if name != "list"]
    if table is None or column not in known or axis.name in OWN:
        there = f": {', '.join(known)}" if known else ""
        raise MissingNeed(
            f"{model} is evaluated already, and slices by {axis} need what it was made of.",
            f"a column of users= (--users){there}; or predictions and truth.",
        )
    entry, row, size = entries(owners, Column.of(table, "list"), "user")
    return labelled(axis, Attributes("user", table, row, size), column, entry)


def _only(evaluation: Evaluation, members: Integers) -> Evaluation:
    """The evaluation of some lists."""
    results, failures = {}, dict(evaluation.failures)
    for name, result in evaluation.results.items():
        if result.values is not None and result.convention.get("average") == "micro":
            told = "values of lists do not tell a micro average of some of them"
            failures[name] = MissingNeed(f"{told}.", "predictions and truth.")
        elif result.values is not None:
            values = np.full(len(result.values), np.nan)
            values[members] = result.values[members]
            results[name] = replace(result, values=values, interval=None, ties=None)
        else:
            results[name] = result
    part = replace(evaluation, results=results, failures=failures)
    return replace(part, results={name: _numbered(part, name) for name in results})


def _numbered(part: Evaluation, name: str) -> Result:
    """The mean of the lists that are left, or of their users, in place of the number of all."""
    result = part.results[name]
    if result.values is None:
        return result
    values, weights = result.values, None if part.lists is None else part.lists.weights
    if result.convention.get("unit") == "user":
        alone = replace(part, results={name: result})
        values, weights = alone.per_user()[name].fill_null(np.nan).to_numpy(), None
    there = np.isfinite(values)
    share = np.ones(len(there)) if weights is None else weights
    whole = float(share[there].sum())
    scale = 100.0 if result.convention.get("scale") == "percent" else 1.0
    value = scale * float(values[there] @ share[there]) / whole if whole else float("nan")
    return replace(result, value=value, counted=int(there.sum()))


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
    if form == FORMAT_OF_SEVERAL:
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
    if not is_zipfile(path):
        return None
    with ZipFile(path) as archive:
        if not any(name.endswith(DOCUMENT) for name in archive.namelist()):
            return None
    return {
        name or path.stem: from_dict(document, str(path), lists)
        for name, (document, lists) in read_zip(path, EXPECTED).items()
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

"""Open what is compared: evaluations, files that contain them, or predictions to evaluate first.

Stored evaluations can be sliced by columns of the users' table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from rectitude.aggregate.evaluation import (
    EXPECTED,
    FORMAT,
    FORMAT_OF_SEVERAL,
    Evaluation,
    Result,
    from_dict,
)
from rectitude.aggregate.evaluations import FORMAT_VERSION
from rectitude.aggregate.stored import holds_documents, read_zip
from rectitude.arrays import Integers
from rectitude.comparison.pairing import Runs
from rectitude.data.formats.folders import find_partitions
from rectitude.data.ids import Column
from rectitude.data.ledger import list_warnings
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.errors import (
    BadArgument,
    MissingNeed,
    NotComparable,
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
    cross_axes,
    entries,
    label_units,
    name_axes,
    parse_slicing,
)
from rectitude.evaluation.evaluate import evaluate
from rectitude.evaluation.slices import slices
from rectitude.evaluation.swapped import side_of
from rectitude.judge.attributes import Attributes
from rectitude.metrics.names import Names, parse_all, read_cutoffs
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import profile_of
from rectitude.storage import (
    read_stored,
    real_path,
    require_format,
    require_readable,
    short_name,
)

ALL = "all"


def slice_evaluation(
    evaluation: Evaluation, by: Any, arguments: Mapping[str, Any], model: str
) -> dict[str, Evaluation]:
    """Return the evaluation and that of each slice of its users, with means over their lists."""
    slicing = _assign_slices(evaluation, parse_slicing(by), arguments, model)
    evaluations = {ALL: evaluation}
    for label, members in zip(slicing.labels, slicing.members, strict=True):
        if len(members):
            name = f"{slicing.name}: {label}" if label == ALL else label
            evaluations[name] = _select_lists(evaluation, members)
    return evaluations


def _assign_slices(
    evaluation: Evaluation, axes: tuple[Axis, ...], arguments: Mapping[str, Any], model: str
) -> Slicing:
    """Assign lists to slices, in the same way as `evaluate` does for slices of users."""
    users, table = arguments.get("users"), None
    if users is not None:
        table = read(users, "users", hints=arguments.get("columns"))
    owners = Column(evaluation.per_list()["user"], f"the evaluation {model}")
    coded = [_code_axis(axis, owners, table, model) for axis in axes]
    return cross_axes(name_axes(axes), "lists", coded)


def _code_axis(axis: Axis, owners: Column, table: Table | None, model: str) -> CodedAxis:
    column = axis.name.removeprefix("users.")
    columns = [] if table is None else [name for name in table.frame.columns if name != "list"]
    if table is None or column not in columns or axis.name in OWN:
        choices = f": {', '.join(columns)}" if columns else ""
        raise MissingNeed(
            f"{model} is a stored evaluation, which cannot be sliced by {axis}.",
            f"a column of users= (--users){choices}; or predictions and truth.",
        )
    entry, row, size = entries(owners, Column.of(table, "list"), "user")
    return label_units(axis, Attributes("user", table, row, size), column, entry)


def _select_lists(evaluation: Evaluation, members: Integers) -> Evaluation:
    """Return the evaluation restricted to some lists."""
    results, failures = {}, dict(evaluation.failures)
    for name, result in evaluation.results.items():
        if result.values is not None and result.convention.get("average") == "micro":
            reason = "a micro average of some lists cannot be computed from values per list"
            failures[name] = MissingNeed(f"{reason}.", "predictions and truth.")
        elif result.values is not None:
            values = np.full(len(result.values), np.nan)
            values[members] = result.values[members]
            results[name] = replace(result, values=values, interval=None, ties=None)
        else:
            results[name] = result
    subset = replace(evaluation, results=results, failures=failures)
    return replace(subset, results={name: _renumber(subset, name) for name in results})


def _renumber(subset: Evaluation, name: str) -> Result:
    """Replace the value of a result by the mean of the remaining lists, or of their users."""
    result = subset.results[name]
    if result.values is None:
        return result
    values, weights = result.values, None if subset.lists is None else subset.lists.weights
    if result.convention.get("unit") == "user":
        single = replace(subset, results={name: result})
        values, weights = single.per_user()[name].fill_null(np.nan).to_numpy(), None
    finite = np.isfinite(values)
    weight = np.ones(len(finite)) if weights is None else weights
    total = float(weight[finite].sum())
    scale = 100.0 if result.convention.get("scale") == "percent" else 1.0
    value = scale * float(values[finite] @ weight[finite]) / total if total else float("nan")
    return replace(result, value=value, counted=int(finite.sum()))


Sliced = Mapping[str, Evaluation]
"""One run: the evaluation of all users, and of each slice."""


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How predictions are evaluated and sliced."""

    truth: object
    metrics: Names | None
    convention: object
    by: Any
    arguments: Mapping[str, Any]
    cutoffs: object = None

    def make(self, model: str, source: object) -> Sliced:
        """Evaluate one run of a model, or take its evaluation."""
        if isinstance(source, Evaluation):
            evaluation = choose_metrics(source, self.metrics, self.cutoffs, model)
            return (
                slice_evaluation(evaluation, self.by, self.arguments, model)
                if self.by
                else {ALL: evaluation}
            )
        if self.truth is None:
            _require_file(source)
            raise MissingNeed(
                f"{model} is not an evaluation, and there is no truth to evaluate it against.",
                "evaluations, or predictions together with truth= (--truth).",
            )
        profile = profile_of(self.convention)
        inputs: tuple[Any, ...] = (source, self.truth, self.metrics, profile)
        if self.by:
            return slices(*inputs, by=self.by, cutoffs=self.cutoffs, **self.arguments)
        return {ALL: evaluate(*inputs, cutoffs=self.cutoffs, **self.arguments)}


def open_runs(models: Any, making: EvaluationSettings) -> tuple[dict[str, Runs], list[str]]:
    """Return the evaluations of each model by slice, notes on slices that are left out, and the
    warnings of the evaluations."""
    _require_models(models, making.truth)
    sources = _name_models(models)
    _require_same_number({name: len(runs) for name, runs in sources.items()})
    if all(isinstance(run, Evaluation) for runs in sources.values() for run in runs):
        _refuse_unused(making)
    sliced = {name: [making.make(name, run) for run in runs] for name, runs in sources.items()}
    labels = dict.fromkeys(label for runs in sliced.values() for run in runs for label in run)
    by_slice: dict[str, Runs] = {}
    notes = []
    for label in labels:
        missing = [n for n, runs in sliced.items() if any(label not in run for run in runs)]
        if missing:
            notes.append(f"slice {label} is left out: {', '.join(missing)} cannot be evaluated.")
            continue
        by_slice[label] = {name: [run[label] for run in runs] for name, runs in sliced.items()}
    ledgers = {name: [run.ledger for run in runs] for name, runs in by_slice[ALL].items()}
    return by_slice, [*notes, *list_warnings(ledgers)]


def _require_models(models: object, truth: object) -> None:
    """Raise an error for a table in place of the models, as in `compare(truth, [a, b])`."""
    alone = _is_table(models)
    one_file = isinstance(models, str | os.PathLike)
    several = _are_tables(truth) or ((alone or one_file) and _are_paths(truth))
    if several:
        found, advice = "truth contains several tables.", "swap the two: rt.compare([a, b], truth)."
    elif alone:
        found = f"models is a single table ({type(models).__name__})."
        advice = "for the numbers of one model, use rt.evaluate(predictions, truth)."
    elif _is_one_model(models):
        found = f"models is the predictions of one model ({type(models).__name__})."
        advice = "for the numbers of one model, use rt.evaluate(predictions, truth)."
    else:
        return
    expected = "several models first, {name: predictions} or a list, and then one truth."
    raise BadArgument(found, expected, advice)


def _is_table(source: object) -> bool:
    """Return whether a source is a single table or its wrapper, and no dict, list or path."""
    named = hasattr(source, "columns") or hasattr(source, "tocsr") or side_of(source) is not None
    return named or isinstance(source, Scores | Logits | Embeddings)


def _is_one_model(source: object) -> bool:
    """Return whether a source is a matrix, or lists of ids or numbers by item for each user."""
    if isinstance(source, np.ndarray):
        return source.ndim < 3 and source.dtype != object
    if not isinstance(source, Mapping | list | tuple) or not source:
        return False
    lists = [*source.values()] if isinstance(source, Mapping) else [*source]
    return any(map(_has_size, lists)) and all(map(_is_list_of_one_user, lists))


def _has_size(source: object) -> bool:
    return isinstance(source, Sized) and len(source) > 0


def _is_list_of_one_user(source: object) -> bool:
    """Return whether a source is ids, or numbers by item; text may also be the path of a run."""
    if isinstance(source, Mapping):
        return all(isinstance(number, Real) for number in source.values())
    if isinstance(source, np.ndarray):
        return source.ndim == 1 and source.dtype != object
    if not isinstance(source, list | tuple | set | frozenset):
        return False
    return all(isinstance(item, Real) or _is_plain_word(item) for item in source)


def _is_plain_word(item: object) -> bool:
    return isinstance(item, str) and not {*item} & {*"./\\*"} and not Path(item).exists()


def _are_tables(source: object) -> bool:
    """Return whether a source is a list or dict of tables, or a list of dicts by user."""
    if not isinstance(source, Mapping | list | tuple) or not source:
        return False
    if isinstance(source, Mapping):
        return all(map(_is_table, source.values()))
    return all(map(_is_by_user, source)) or all(map(_is_table, source))


def _is_by_user(source: object) -> bool:
    """Return whether a source is a dict of lists or dicts, one for each user."""
    if not isinstance(source, Mapping) or not source:
        return False
    return all(isinstance(value, Mapping | list | tuple) for value in source.values())


def _are_paths(source: object) -> bool:
    """Return whether a source is a list or dict of paths."""
    if not isinstance(source, Mapping | list | tuple) or not source:
        return False
    paths = source.values() if isinstance(source, Mapping) else source
    return all(isinstance(path, str | os.PathLike) for path in paths)


def _name_models(models: Any) -> dict[str, list[object]]:
    """Return the sources of each model by name, one per run."""
    if isinstance(models, str | os.PathLike):
        models = [models]
    if not isinstance(models, Mapping):
        models = dict(zip(label_models([*models]), models, strict=True))
    sources = {str(name): _list_runs(source) for name, source in models.items()}
    if len(sources) == 1:  # one file may contain several models
        ((name, source),) = models.items()
        evaluations = None if isinstance(source, list | tuple) else load_evaluations(source)
        sources = (
            {name: sources[name]}
            if evaluations is None
            else {n: [e] for n, e in evaluations.items()}
        )
    if len(sources) < 2:
        raise NothingToEvaluate(f"models to compare: {len(sources)}.", "at least two.")
    return sources


def label_models(models: Sequence[object]) -> list[str]:
    """Name models after their file or their own name; by number if they have none of their own."""
    names = [_find_name(model) for model in models]
    taken = Counter(names)
    return [
        name if name and taken[name] == 1 else str(number) for number, name in enumerate(names, 1)
    ]


def _find_name(model: object) -> str:
    """Return the name of a file, a folder or a run of ranx; empty if there is none."""
    if isinstance(model, str | os.PathLike):
        return "" if "*" in os.fspath(model) else short_name(model)
    is_run = hasattr(model, "run") and hasattr(model, "to_dict")
    return str(getattr(model, "name", None) or "") if is_run else ""


def _list_runs(source: object) -> list[object]:
    """Return the runs of a model, given as a list, a folder, a file with several, or just one."""
    if isinstance(source, list | tuple) and not _holds_rows(source):
        return [run for entry in source for run in _list_runs(entry)]
    evaluations = load_evaluations(source)
    if evaluations is not None:
        return [*evaluations.values()]
    if isinstance(source, str | os.PathLike) and Path(source).is_dir():
        folder = Path(source)
        return [source] if find_partitions(folder) else _list_predictions(folder)
    return [source]


def _holds_rows(source: Sequence[object]) -> bool:
    """Whether a list is the predictions of one run: named tuples, or rows or lists with numbers."""
    return bool(source) and all(
        isinstance(row, list | tuple)
        and (hasattr(row, "_fields") or any(isinstance(value, Real) for value in row))
        for row in source
    )


def load_evaluations(source: object) -> dict[str, Evaluation] | None:
    """Load the evaluations in a file or folder, by name; None if there are none."""
    if not isinstance(source, str | os.PathLike):
        return None
    return _load_evaluations(Path(source), frozenset())


def _load_evaluations(path: Path, inside: frozenset[Path]) -> dict[str, Evaluation] | None:
    """Load the evaluations in a file or folder; `inside` are the folders that it lies in, which a
    link may lead back to."""
    if path.is_dir():
        folders = inside | {real_path(path)}
        loaded = [
            (entry, _load_evaluations(entry, folders))
            for entry in sorted(path.iterdir())
            if entry.name[0] != "." and real_path(entry) not in folders
        ]
        return (
            _name_evaluations(
                [(entry, evaluations) for entry, evaluations in loaded if evaluations]
            )
            or None
        )
    if not path.is_file():
        return None
    reader = {".json": _load_json, ".zip": _load_zip}.get(path.suffix.lower())
    if reader is None:
        return None
    require_readable(path)
    return reader(path)


def _load_json(path: Path) -> dict[str, Evaluation] | None:
    try:
        document = read_stored(path, "evaluation", EXPECTED)
    except UnreadableFile:  # reading it as predictions will raise a better error
        return None
    kind = document.get("format") if isinstance(document, Mapping) else None
    if kind == FORMAT_OF_SEVERAL:
        stored = require_format(document, str(path), "evaluations", FORMAT_VERSION)["evaluations"]
        return {name: from_dict(one, f"{path}: {name}") for name, one in stored.items()}
    return {path.stem: Evaluation.load(path)} if kind == FORMAT else None


def _name_evaluations(
    loaded: Sequence[tuple[Path, Mapping[str, Evaluation]]],
) -> dict[str, Evaluation]:
    """Name the evaluations of several files by file, or by file and name if a file has several."""
    return {
        f"{path.name}/{name}" if len(evaluations) > 1 else path.name: evaluation
        for path, evaluations in loaded
        for name, evaluation in evaluations.items()
    }


def _load_zip(path: Path) -> dict[str, Evaluation] | None:
    if not holds_documents(path):
        return None
    return {
        name or path.stem: from_dict(document, str(path), lists)
        for name, (document, lists) in read_zip(path, EXPECTED).items()
    }


def _list_predictions(folder: Path) -> list[object]:
    """Return the prediction files in a folder, sorted by name: one per seed or fold."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."]
    if not files:
        raise NothingToEvaluate(
            f"{folder} contains no file.", "stored evaluations or predictions, one file per run."
        )
    return [str(path) for path in files]


def _require_file(source: object) -> None:
    """Raise an error if a path does not exist, which is clearer than "not an evaluation"."""
    if isinstance(source, str | os.PathLike) and not Path(source).exists():
        folder = Path(source).parent
        close = nearest(Path(source).name, [path.name for path in folder.glob("*")])
        advice = f"did you mean {close}?" if close else "check the name and the current folder."
        raise UnreadableFile(f"{source} does not exist.", advice=advice)


def _require_same_number(counts: Mapping[str, int]) -> None:
    if len(set(counts.values())) > 1 or not min(counts.values()):
        numbers = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise NotComparable(
            f"models have different numbers of runs: {numbers}.",
            "the same number of runs, at least 1.",
        )


def _refuse_unused(making: EvaluationSettings) -> None:
    """Raise an error for arguments that would not be used: nothing is left to evaluate."""
    used = ("users", "columns") if making.by else ()
    given = {"convention": making.convention, "truth": making.truth}
    given |= {name: value for name, value in making.arguments.items() if name not in used}
    given["cutoffs"] = making.cutoffs if making.metrics is None else None
    for name, value in given.items():
        if value is not None and not is_default(name, value):
            raise BadArgument(
                f"{name} was given, but all models have already been evaluated.",
                f"predictions to evaluate with it, or no {name}.",
            )


def is_default(name: str, value: object) -> bool:
    """Return whether an argument has the value that the command line gives it."""
    return (name == "list_key" and value == "user") or (name == "columns" and value == {})


def choose_metrics(
    evaluation: Evaluation, metrics: Names | None, cutoffs: object, model: str
) -> Evaluation:
    """Return the evaluation with only the requested metrics."""
    if metrics is None:
        return evaluation
    numbers = read_cutoffs(cutoffs)
    asked = [
        str(name) if name.at is not None or not numbers else f"{name}@{number}"
        for name in parse_all(metrics)
        for number in numbers or (0,)
    ]
    names = list(dict.fromkeys(evaluation.find_name(name) for name in asked))
    for name in names:
        if name not in evaluation.results and name not in evaluation.failures:
            raise unknown_name("value", name, evaluation.results, where=f"the evaluation {model}")
    results, failures = evaluation.results, evaluation.failures
    return replace(
        evaluation,
        results={name: results[name] for name in names if name in results},
        failures={name: failures[name] for name in names if name in failures},
    )

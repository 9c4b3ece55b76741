"""What a run found, put together from its stages, and read again from its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation, Keys, from_dict
from rectitude.errors import UnreadableFile
from rectitude.experiment.store import read_json
from rectitude.render import Grid, number
from rectitude.storage import require_format

FORMAT, FORMAT_VERSION = "rectitude.run", 1
Failure = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A run of an experiment: printing shows the headline, `folder` holds everything."""

    folder: Path
    results: Mapping[str, Any]
    """what results.json holds"""

    @staticmethod
    def open(folder: str | Path) -> Run:
        """A run as it lies in its folder."""
        path = Path(folder) / "results.json"
        try:
            stored = read_json(path)
        except (OSError, ValueError) as error:
            raise UnreadableFile(
                f"{path} cannot be read: {error}.", "the folder of a run that has ended."
            ) from error
        return Run(Path(folder), require_format(stored, str(path), "run", FORMAT_VERSION))

    @cached_property
    def evaluations(self) -> dict[str, list[Evaluation]]:
        """The evaluations of each model, one for each split, with the values per user."""
        return {
            name: [
                restored(one["evaluation"], self.folder / one["values"]) for one in model["runs"]
            ]
            for name, model in self.results["models"].items()
        }

    @property
    def failures(self) -> list[Failure]:
        """What failed, with tracebacks."""
        return list(self.results["failures"])

    @property
    def exit_code(self) -> int:
        """1 if a model or metric failed or the run was stopped, else 0."""
        return int(bool(self.results["failures"] or self.results["stopped"]))

    def __str__(self) -> str:
        return text(self)


def restored(stored: Mapping[str, Any], values: Path | pl.DataFrame) -> Evaluation:
    """An evaluation from JSON, with the values per user that lie beside it."""
    frame = values if isinstance(values, pl.DataFrame) else pl.read_parquet(values)
    evaluation = from_dict(stored)
    results = {
        name: replace(one, values=_floats(frame, name)) for name, one in evaluation.results.items()
    }
    keys = frame["user"]
    return replace(
        evaluation, results=results, lists=Keys(keys, np.arange(len(keys)), keys, by_user=True)
    )


def _floats(frame: pl.DataFrame, name: str) -> Any:
    if name not in frame.columns:
        return None
    return frame[name].fill_null(float("nan")).to_numpy()


def headline(evaluations: Mapping[str, Sequence[Evaluation]]) -> dict[str, dict[str, Any]]:
    """Each metric of each model: the mean over splits, and how far these lie apart."""
    found: dict[str, dict[str, Any]] = {}
    for model, every in evaluations.items():
        names = dict.fromkeys(name for one in every for name in one.results)
        found[model] = {name: _over(every, name) for name in names}
    return found


def _over(every: Sequence[Evaluation], name: str) -> dict[str, Any]:
    having = [one.results[name] for one in every if name in one.results]
    values = np.array([one.value for one in having])
    spread = finite(float(values.std(ddof=1))) if len(values) > 1 else None
    told = {"value": finite(float(values.mean())), "deviation": spread, "splits": len(values)}
    interval = having[0].interval if len(having) == 1 else None
    return told | {"interval": None if interval is None else list(interval)}


def finite(value: float) -> float | None:
    """A number as JSON can hold it; None for one that is not finite."""
    return value if np.isfinite(value) else None


def text(run: Run) -> str:
    """The numbers of all models, what failed, and where everything is."""
    results = run.results
    metrics = list(dict.fromkeys(name for of in results["headline"].values() for name in of))
    best = {name: _best(results["headline"], name, results["best"]) for name in metrics}
    rows = [
        [model, *(_cell(values.get(name), best[name]) for name in metrics)]
        for model, values in results["headline"].items()
    ]
    table = Grid(["model", *metrics], rows)
    lines = [f"{results['name']}: {results['summary']}"]
    lines += ["", table.text(), "* best of the column"] if results["headline"] else []
    lines += [f"! {_failed(one)}" for one in results["failures"]]
    lines += [f"! stopped: {results['stopped']}"] if results["stopped"] else []
    lines += [f"- left out: {', '.join(results['left_out'])}"] if results["left_out"] else []
    return "\n".join(lines)


def _failed(failure: Failure) -> str:
    return f"{failure['stage']} failed: {failure['kind']}: {failure['message'].splitlines()[0]}"


def _best(headline: Mapping[str, Any], name: str, best: Mapping[str, str]) -> float | None:
    values = [of[name]["value"] for of in headline.values() if name in of]
    there = [value for value in values if value is not None]
    if len(there) < 2:
        return None
    found: float = min(there) if best.get(name) == "low" else max(there)
    return found


def _cell(told: Mapping[str, Any] | None, best: float | None) -> str:
    if told is None or told["value"] is None:
        return ""
    spread = "" if told["deviation"] is None else f" ± {number(told['deviation'])}"
    return f"{number(told['value'])}{spread}{' *' if told['value'] == best else ''}"

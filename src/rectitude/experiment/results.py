"""The results of a run, and how they are read from its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation, Keys, from_dict
from rectitude.aggregate.stored import read_values
from rectitude.render import Grid, Printable, number
from rectitude.storage import read_stored, require_format

FORMAT, FORMAT_VERSION = "rectitude.run", 1
Failure = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Run(Printable):
    """A run of an experiment: printing it shows the main results; `folder` has all files."""

    folder: Path
    results: Mapping[str, Any]
    """the content of results.json"""

    @staticmethod
    def open(folder: str | Path) -> Run:
        """Open a run from its folder."""
        path = Path(folder) / "results.json"
        stored = read_stored(path, "run", "the folder of a finished run.")
        return Run(Path(folder), require_format(stored, str(path), "run", FORMAT_VERSION))

    @cached_property
    def evaluations(self) -> dict[str, list[Evaluation]]:
        """The evaluations of each model, one per split, with values per user."""
        return {
            name: [
                restore_evaluation(run["evaluation"], self.folder / run["values"])
                for run in model["runs"]
            ]
            for name, model in self.results["models"].items()
        }

    @property
    def failures(self) -> list[Failure]:
        """What failed, with tracebacks."""
        return list(self.results["failures"])

    @property
    def exit_code(self) -> int:
        """1 if a model or metric failed or the audit stopped the run, else 0."""
        return int(bool(self.results["failures"] or self.results["stopped"]))

    def _shown(self) -> Iterator[str | Grid]:
        return _shown(self)


def restore_evaluation(stored: Mapping[str, Any], values: Path | pl.DataFrame) -> Evaluation:
    """Restore an evaluation from JSON, with the per-user values from a Parquet file."""
    frame = values if isinstance(values, pl.DataFrame) else read_values(values, str(values))
    evaluation = from_dict(stored)
    results = {
        name: replace(result, values=_read_values(frame, name))
        for name, result in evaluation.results.items()
    }
    keys = frame["user"]
    return replace(
        evaluation, results=results, lists=Keys(keys, np.arange(len(keys)), keys, by_user=True)
    )


def _read_values(frame: pl.DataFrame, name: str) -> Any:
    if name not in frame.columns:
        return None
    return frame[name].fill_null(float("nan")).to_numpy()


def headline(evaluations: Mapping[str, Sequence[Evaluation]]) -> dict[str, dict[str, Any]]:
    """Return each metric of each model: the mean and standard deviation over splits."""
    summaries: dict[str, dict[str, Any]] = {}
    for model, runs in evaluations.items():
        names = dict.fromkeys(name for evaluation in runs for name in evaluation.results)
        summaries[model] = {name: _summarise(runs, name) for name in names}
    return summaries


def _summarise(evaluations: Sequence[Evaluation], name: str) -> dict[str, Any]:
    results = [run.results[name] for run in evaluations if name in run.results]
    values = np.array([result.value for result in results])
    spread = finite(float(values.std(ddof=1))) if len(values) > 1 else None
    summary = {"value": finite(float(values.mean())), "deviation": spread, "splits": len(values)}
    interval = results[0].interval if len(results) == 1 else None
    return summary | {"interval": None if interval is None else list(interval)}


def finite(value: float) -> float | None:
    """Return a number for JSON; None if it is not finite."""
    return value if np.isfinite(value) else None


def _shown(run: Run) -> Iterator[str | Grid]:
    """Yield a table of all models, and what failed, stopped or was left out."""
    results = run.results
    metrics = list(dict.fromkeys(name for row in results["headline"].values() for name in row))
    best = {name: _find_best(results["headline"], name, results["best"]) for name in metrics}
    rows = [
        [model, *(_show_cell(values.get(name), best[name]) for name in metrics)]
        for model, values in results["headline"].items()
    ]
    yield f"{results['name']}: {results['summary']}"
    if results["headline"]:
        yield from ("", Grid(["model", *metrics], rows))
        yield from [] if set(best.values()) <= {None} else ["* best in its column"]
    yield from (f"! {_describe_failure(failure)}" for failure in results["failures"])
    yield from [f"! stopped: {results['stopped']}"] if results["stopped"] else []
    yield from (f"! slices left out: {reason}" for reason in _find_slices_left_out(results))
    yield from [f"- left out: {', '.join(results['left_out'])}"] if results["left_out"] else []


def _find_slices_left_out(results: Mapping[str, Any]) -> list[str]:
    """Return why slices could not be formed, each reason once."""
    runs = [run for model in results["models"].values() for run in model["runs"]]
    counts = [run["evaluation"]["ledger"]["counts"] for run in runs]
    entries = [count["slices_left_out"] for count in counts if "slices_left_out" in count]
    return list(dict.fromkeys(entry["example"] for entry in entries))


def _describe_failure(failure: Failure) -> str:
    message = failure["message"].splitlines() or [""]
    at = f"\n    {failure['at']}" if failure.get("at") else ""
    return f"{failure['stage']} failed: {failure['kind']}: {message[0]}{at}"


def _find_best(headline: Mapping[str, Any], name: str, best: Mapping[str, str]) -> float | None:
    values = [row[name]["value"] for row in headline.values() if name in row]
    defined = [value for value in values if value is not None]
    if len(defined) < 2:
        return None
    result: float = min(defined) if best.get(name) == "low" else max(defined)
    return result


def _show_cell(summary: Mapping[str, Any] | None, best: float | None) -> str:
    if summary is None or summary["value"] is None:
        return ""
    spread = "" if summary["deviation"] is None else f" ± {number(summary['deviation'])}"
    return f"{number(summary['value'])}{spread}{' *' if summary['value'] == best else ''}"

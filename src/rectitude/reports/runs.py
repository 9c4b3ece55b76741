"""Reports from files: folders of runs, saved evaluations and comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from rectitude.aggregate.evaluation import Evaluation, from_dict
from rectitude.comparison.opening import load_evaluations
from rectitude.errors import BadArgument, UnreadableFile
from rectitude.reports.content import (
    Content,
    ModelUsage,
    ReportStage,
    Value,
    Window,
    calibration_of,
    content_of,
    content_of_comparison,
    slices_of,
    usage_of,
)
from rectitude.storage import read_stored, require_format, require_keys
from rectitude.texts import require_regular

Stored = Mapping[str, Any]
Paths = Sequence[str | PathLike[str]]
_STEP = re.compile(r"step \d+: rows")
_RESOURCES = "resources.json"
_ALL = ("train", "truth", "fold_in")
_EXPECTED_FILE = "the folder of a run, or a JSON or zip file of evaluations or of a comparison."
_EXPECTED_RUN = "the folder of a finished run, written by rectitude run."


def content_of_files(paths: Paths, title: str = "") -> Content:
    """Return the content of folders or files: several runs or evaluations side by side, or one
    comparison."""
    folders = [path for path in paths if Path(path).is_dir()]
    if folders and len(folders) < len(paths):
        raise BadArgument(
            f"{len(folders)} of {len(paths)} arguments are folders.", "only folders or only files."
        )
    if folders:
        return content_of_run(paths[0], title) if len(paths) == 1 else side_by_side(paths, title)
    archives = [path for path in paths if is_zipfile(require_regular(path))]
    others = [path for path in paths if path not in archives]
    stored = {fspath(path): read_stored(path, "result", _EXPECTED_FILE) for path in others}
    kinds = {path: _find_kind(result, path) for path, result in stored.items()}
    if len(paths) == 1 and set(kinds.values()) == {"comparison"}:
        ((path, result),) = stored.items()
        return content_of_comparison(require_format(result, path, "comparison", 1), title)
    evaluations: dict[str, Evaluation] = {}
    for label, file in zip(distinguish_paths(paths), paths, strict=True):
        evaluations |= _evaluations_in(file, _drop_extensions(label), kinds.get(fspath(file)))
    return content_of(evaluations, title)


def _evaluations_in(
    path: str | PathLike[str], label: str, kind: str | None
) -> dict[str, Evaluation]:
    """Return the evaluations of a file by name; several also have the label of their file."""
    if kind == "evaluation":
        return {label: from_dict(read_stored(path, "result", _EXPECTED_FILE), fspath(path))}
    evaluations = load_evaluations(path) or {}
    if not evaluations:
        raise UnreadableFile(f"{fspath(path)} contains no evaluation.", _EXPECTED_FILE)
    return {label if len(evaluations) == 1 else name: run for name, run in evaluations.items()}


def _find_kind(stored: object, path: str) -> str:
    form: Any = stored.get("format") if isinstance(stored, Mapping) else None
    kind = str(form).removeprefix("rectitude.")
    if kind not in ("evaluation", "evaluations", "comparison"):
        raise UnreadableFile(f"{path} has the format {form!r}.", _EXPECTED_FILE)
    return kind


def _drop_extensions(path: str) -> str:
    return path.removesuffix(".json").removesuffix(".zip").removesuffix(".evaluation")


def content_of_run(folder: str | PathLike[str], title: str = "") -> Content:
    """Return the content of a report on a run."""
    results = read_run(folder)
    models = {name: model["runs"] for name, model in results["models"].items() if model["runs"]}
    first = {name: runs[0]["evaluation"] for name, runs in models.items()}
    metrics = dict.fromkeys(name for evaluation in first.values() for name in evaluation["results"])
    facts = {name: _find_result(first, name) for name in metrics}
    return Content(
        title=title or _title(results),
        values=_values(results["headline"], metrics),
        best=results["best"],
        definitions={name: result["definition"] for name, result in facts.items()},
        conventions={name: result["convention"] for name, result in facts.items()},
        about=results["about"],
        main=(results.get("robustness") or {}).get("metric", ""),
        comparison=results["comparison"],
        slices=[row for name, run in first.items() for row in slices_of(name, run.get("slices"))],
        windows=_windows(results, models),
        calibration=calibration_of({name: _breakdowns(run) for name, run in first.items()}),
        audit=_merge_audits(results["splits"]),
        flow=_read_flow(fspath(folder), results["splits"]),
        ledgers={name: evaluation["ledger"] for name, evaluation in first.items()},
        robustness=results.get("robustness"),
        explanation=results.get("explanation"),
        failures={failure["stage"]: _describe(failure) for failure in results["failures"]},
        details=_details(results),
        reproduce=_reproduce(_find_config(folder)),
        part=results["splits"][0]["name"] if len(results["splits"]) > 1 else "",
        resources=read_usage(folder),
    )


def read_run(folder: str | PathLike[str]) -> Stored:
    """Return the results of a run."""
    return _read(folder, "results.json", "run")


def read_usage(folder: str | PathLike[str]) -> list[ModelUsage]:
    """Return what the models of a run took; nothing if it was not measured."""
    if not (Path(folder) / _RESOURCES).is_file():
        return []
    return usage_of(_read(folder, _RESOURCES, "resources"))


def _breakdowns(evaluation: Stored) -> dict[str, Any]:
    """Return the breakdown of each metric that has one."""
    results = evaluation["results"].items()
    return {name: result["breakdown"] for name, result in results if "breakdown" in result}


def side_by_side(folders: Sequence[str | PathLike[str]], title: str = "") -> Content:
    """Return the content of several runs on one page; model names begin with the run."""
    contents = {
        name: content_of_run(folder)
        for name, folder in zip(distinguish_paths(folders), folders, strict=True)
    }
    metrics = dict.fromkeys(name for content in contents.values() for name in content.values)
    values = {
        name: {
            f"{run}: {model}": value
            for run, content in contents.items()
            for model, value in content.values.get(name, {}).items()
        }
        for name in metrics
    }
    all_contents = [*contents.values()]
    return replace(
        all_contents[0],
        title=title or " and ".join(contents),
        values=values,
        best={name: best for content in all_contents for name, best in content.best.items()},
        definitions=_merge_metrics(contents, "definitions"),
        conventions=_merge_metrics(contents, "conventions"),
        comparison=None, slices=(), windows=(), calibration={}, robustness=None, explanation=None,
        flow=(), audit=None, part="",
        resources=[
            replace(usage, model=f"{run}: {usage.model}".removesuffix(": "))
            for run, content in contents.items()
            for usage in content.resources
        ],
        ledgers=_prefix_runs(contents, "ledgers"),
        failures=_prefix_runs(contents, "failures"),
        details={run: content.details for run, content in contents.items()},
        reproduce="\n".join(content.reproduce for content in all_contents),
        side_by_side=list(contents),
    )  # fmt: skip


def distinguish_paths(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """Return short names of files or folders: the shortest ends of their paths that all differ."""
    parts = [Path(path).resolve().parts for path in paths]
    for size in range(1, max(map(len, parts)) + 1):
        names = ["/".join(steps[-size:]) for steps in parts]
        if len(set(names)) == len(names):
            return names
    twice = next(path for path, steps in zip(paths, parts, strict=True) if parts.count(steps) > 1)
    raise BadArgument(f"{fspath(twice)} was given twice.", "each run or file once.")


def _prefix_runs(contents: Mapping[str, Content], field: str) -> dict[str, Any]:
    """Merge a field of all runs; its names begin with the run."""
    return {
        f"{run}: {name}": value
        for run, content in contents.items()
        for name, value in getattr(content, field).items()
    }


def _merge_metrics(contents: Mapping[str, Content], field: str) -> dict[str, Any]:
    """Merge a field by metric; if runs differ, the name of the metric includes the run."""
    merged: dict[str, Any] = {}
    for run, content in contents.items():
        for name, value in getattr(content, field).items():
            if merged.get(name, value) == value:
                merged[name] = value
            else:
                merged[f"{name} in {run}"] = value
    return merged


def _read(folder: str | PathLike[str], name: str, kind: str) -> Stored:
    path = Path(folder) / name
    return require_format(read_stored(path, kind, _EXPECTED_RUN), str(path), kind, 1)


def _find_result(models: Mapping[str, Stored], name: str) -> Stored:
    """Return the result of a metric from the first model that has it."""
    results = (evaluation["results"] for evaluation in models.values())
    found: Stored = next(of_model[name] for of_model in results if name in of_model)
    return found


def _values(headline: Stored, metrics: Mapping[str, None]) -> dict[str, dict[str, Value]]:
    return {
        name: {model: _value(row[name]) for model, row in headline.items() if name in row}
        for name in metrics
    }


def _value(stored: Stored) -> Value:
    low, high = stored["interval"] or (None, None)
    return Value(value=stored["value"], low=low, high=high, deviation=stored["deviation"])


def _windows(results: Stored, models: Mapping[str, Sequence[Stored]]) -> list[Window]:
    """Return the values on every split of a series; nothing for a run with one split."""
    names = [split["name"] for split in results["splits"]]
    if len(names) < 2:
        return []
    return [_window(name, models, results["splits"][nth]) for nth, name in enumerate(names)]


def _window(name: str, models: Mapping[str, Sequence[Stored]], split: Stored) -> Window:
    values: dict[str, dict[str, float | None]] = {}
    for model, runs in models.items():
        for run in (run for run in runs if run["split"] == name):
            for metric, result in run["evaluation"]["results"].items():
                values.setdefault(metric, {})[model] = result["value"]
    truth = split["parts"].get("truth", {})
    facts = {
        f"{size} in truth": truth[size] for size in ("rows", "users", "items") if size in truth
    }
    return Window(label=name, values=values, facts=facts)


def _merge_audits(splits: Sequence[Stored]) -> Stored | None:
    """Return the findings in all splits; if several splits have the same finding, the most serious
    one."""
    audits = [split["audit"] for split in splits if split["audit"]]
    if not audits:
        return None
    worst = ("serious", "notice", "fine")
    findings = [finding for audit in audits for finding in audit["findings"]]
    findings.sort(key=lambda finding: worst.index(finding["severity"]))
    merged: dict[str, Any] = {}
    for finding in findings:
        merged.setdefault(finding["name"], finding)
    return {**audits[0], "findings": list(merged.values())}


def _read_flow(folder: str, splits: Sequence[Stored]) -> list[ReportStage]:
    """Return the rows after every preparation step, and in the parts of the first split."""
    path = Path(folder) / "ledger.json"
    ledger = read_stored(path, "ledger", _EXPECTED_RUN)
    require_keys(ledger, str(path), "ledger")
    counts = ledger.get("prepare", {}).get("counts", {})
    counted = [entry for name, entry in counts.items() if _STEP.fullmatch(name)]
    steps = [entry for entry in counted if entry["of"] is not None]
    parts = splits[0]["parts"] if splits else {}
    whole = [parts[name]["rows"] for name in parts if name in _ALL] if len(splits) == 1 else []
    first = steps[0]["of"] if steps else sum(whole)  # a time window does not cover the whole log
    stages = [ReportStage(label="the log", rows=first)] if first else []
    for entry in steps:
        label = entry["about"].split(", ", 1)[-1]
        dropped = entry["of"] - entry["count"]
        about = f"{entry['count']:,} of {entry['of']:,} rows kept"
        stages.append(ReportStage(label=label, rows=entry["count"], dropped=dropped, about=about))
    return [*stages, *(_part(name, size) for name, size in parts.items())]


def _part(name: str, size: Stored) -> ReportStage:
    words = f"{size['users']:,} users, {size['items']:,} items"
    label = name.replace("_", " ")
    return ReportStage(
        label=label, rows=size["rows"], users=size["users"], items=size["items"], about=words
    )


def _details(results: Stored) -> dict[str, Any]:
    """Return how the numbers were computed, beginning with the tuning trials of each model."""
    models = results["models"].items()
    tuned = {name: model["trials"] for name, model in models if model["trials"]}
    parameters = {name: [run["parameters"] for run in model["runs"]] for name, model in models}
    details = {"tuning trials": tuned, "parameters": parameters, "settings": results["config"]}
    splits = [{k: v for k, v in split.items() if k != "audit"} for split in results["splits"]]
    details |= {"splits": splits, "version": results["rectitude"]}
    return {name: value for name, value in details.items() if value}


def _describe(failure: Stored) -> str:
    """Describe a failure in words, followed by its traceback."""
    return "\n".join([f"{failure['kind']}: {failure['message']}", failure["traceback"] or ""])


def _title(results: Stored) -> str:
    return str((results["config"].get("report") or {}).get("title") or results["name"])


def _reproduce(config: str) -> str:
    return (
        f"# {config} in the run's folder is a copy of the experiment. Put it in the folder of the\n"
        f"# original, because its paths are relative to that folder.\nrectitude run {config}"
    )


def _find_config(folder: str | PathLike[str]) -> str:
    files = sorted(Path(folder).glob("config.*"))
    return str(files[0].name) if files else "config.toml"

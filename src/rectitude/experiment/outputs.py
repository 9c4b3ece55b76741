"""The files for readers, written at the end of a run: results, ledger, manifest, values and lists.

These files contain no times, so equal runs give equal bytes; times are in log.jsonl,
environment.json and resources.json. If configured, the same results are logged to MLflow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rectitude._version import __version__
from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import MissingExtra
from rectitude.experiment.fingerprints import environment, file_digest
from rectitude.experiment.pipeline import Entries, ModelEntry, Work
from rectitude.experiment.resources import FILE, as_document
from rectitude.experiment.results import FORMAT, FORMAT_VERSION, Run, finite, headline
from rectitude.experiment.stages import StagePart, bare
from rectitude.experiment.store import SPLIT_FILES, Store, facts_of, read_json
from rectitude.experiment.windows import Windows
from rectitude.metrics import METRICS
from rectitude.reports.page import report
from rectitude.reports.runs import content_of_files
from rectitude.storage import write_all

Evaluations = Mapping[str, Sequence[Evaluation]]
"""The evaluations of each model, one per split."""
STAGE_FILES = {"values": "values.parquet", "predictions": "predictions.parquet"}
"""The files of stages that readers find in the folder of each kind."""


@dataclass
class Published:
    """The outputs of all stages."""

    parts: Sequence[StagePart] = ()
    entries: dict[str, list[ModelEntry]] = field(default_factory=dict)
    audits: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """by the name of the split"""
    comparison: Mapping[str, Any] | None = None
    explained: Mapping[str, Any] = field(default_factory=dict)
    """the results under other conventions"""
    stopped: str = ""
    """why the audit stopped the run; empty if it did not"""


def publish(work: Work, published: Published, times: Mapping[str, str]) -> Run:
    """Write the files for readers, and return the run."""
    store, loaded = work.store, work.loaded
    text = loaded.text
    store.write(f"config{loaded.suffix}", lambda path: path.write_text(text, encoding="utf-8"))
    store.write_json("environment.json", {**environment(), **times})
    (store.folder / "report.html").unlink(missing_ok=True)  # it belongs to earlier results
    files = find_files(published)
    for name, source in files.items():
        store.show(name, source)
    store.write_json("ledger.json", ledger_of(work, published))
    results = results_of(work, published)
    store.write_json("results.json", results)
    store.write_json("manifest.json", manifest_of(work))
    used = {name: facts for name, facts in work.used.items() if name in store.used}
    store.write_json(FILE, as_document(used))
    failed_before = len(work.failures)
    if published.entries:
        work.attempt("report", lambda: _write_report(work))
    work.attempt("mlflow", lambda: _track(work, results))
    if work.failures[failed_before:]:
        results["failures"] += work.failures[failed_before:]
        store.write_json("results.json", results)
    if results["complete"]:
        store.clean(files)
        store.sweep()
    return Run(store.folder, results)


def manifest_of(work: Work) -> dict[str, Any]:
    """Return every stage with its fingerprint and the hashes of its files."""
    return {
        "format": "rectitude.manifest",
        "version": 1,
        "rectitude": __version__,
        "stages": [{"stage": name, **facts} for name, facts in work.store.used.items()],
    }


def _write_report(work: Work) -> None:
    """Write the HTML report, if one is wanted."""
    chosen, folder = work.loaded.config.report, work.store.folder
    stage = bare("report")
    if chosen.mode == "off" or not work.chosen(stage):
        return
    with work.watch.working("report"):
        title = chosen.title or work.loaded.name
        content = replace(
            content_of_files([folder], title), resources=()
        )  # equal runs, equal bytes
        work.store.write("report.html", lambda path: report(content, path))


def _track(work: Work, results: Mapping[str, Any]) -> None:
    """Log the run to MLflow, if configured."""
    chosen, stage = work.loaded.config.mlflow, bare("mlflow")
    if chosen is None or not work.chosen(stage):
        return
    with work.watch.working("mlflow"):
        track_in_mlflow(work.store, results, chosen.uri, chosen.experiment or work.loaded.name)


def find_files(published: Published) -> dict[str, Path]:
    """Return the files for readers, each with the file of a stage that it shows."""
    files: dict[str, Path] = {}
    for part in published.parts:
        for name in split_files(part):
            files[name] = part.folder / f"{part.number}-{Path(name).name}"
    for entry in [entry for runs in published.entries.values() for entry in runs]:
        folders = {"values": entry.evaluation, "predictions": entry.lists}
        for kind, name in list_files(entry).items():
            files[name] = folders[kind] / STAGE_FILES[kind]
    return files


def split_files(part: StagePart) -> list[str]:
    """Return the paths for readers of the parts of a split."""
    stored = facts_of(part.folder)[part.number]["parts"]
    inside = f"splits/{part.name}/" if part.name else ""
    return [f"{inside}{name}" for name in SPLIT_FILES if name.removesuffix(".parquet") in stored]


def list_files(entry: ModelEntry) -> dict[str, str]:
    """Return the paths for readers of the values and lists of an entry."""
    inside = f"{entry.part.name}/" if entry.part.name else ""
    return {kind: f"{kind}/{inside}{entry.model}.parquet" for kind in STAGE_FILES}


def results_of(work: Work, published: Published) -> dict[str, Any]:
    """Return the content of results.json."""
    config, entries = work.loaded.config, published.entries
    evaluations = {name: [entry.numbers() for entry in runs] for name, runs in entries.items()}
    failures = [*work.failures, *_list_metric_failures(entries)]
    metrics = {
        name: METRICS[result.metric].best
        for runs in evaluations.values()
        for evaluation in runs
        for name, result in evaluation.results.items()
    }
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "rectitude": __version__,
        "name": work.loaded.name,
        "about": config.about,
        "summary": _summarise(published, evaluations),
        "config": config.model_dump(mode="json", exclude_defaults=True),
        "complete": not work.left_out and not published.stopped,
        "left_out": list(dict.fromkeys(work.left_out)),
        "stopped": published.stopped,
        "splits": [_describe_split(part, published) for part in published.parts],
        "models": {
            model.name: _describe_model(model, entries.get(model.name, ()))
            for model in work.fielded
        },
        "headline": headline(evaluations),
        "windows": _summarise_windows(published.parts, evaluations),
        "best": metrics,
        "comparison": published.comparison,
        "robustness": published.explained.get("robustness"),
        "explanation": published.explained.get("explanation"),
        "failures": failures,
    }


def _summarise_windows(parts: Sequence[StagePart], evaluations: Evaluations) -> dict[str, Any]:
    """Return each model's metrics over a series of splits: the mean of splits (macro), the mean of
    all lists (micro), and the running micro mean after each split."""
    names = [part.name for part in parts]
    if len(parts) < 2 or len({part.seed for part in parts}) > 1:
        return {}
    summaries: dict[str, Any] = {}
    for model, runs in evaluations.items():
        if len(runs) == len(names):
            windows = Windows(dict(zip(names, runs, strict=True)))
            summaries[model] = {
                name: {"macro": finite(windows.macro(name)), "micro": finite(windows.micro(name)),
                       "running": {k: finite(v) for k, v in windows.running(name).items()}}
                for name in windows.names
                if all(name in evaluation and evaluation.result(name).state for evaluation in runs)
            }  # fmt: skip
    return summaries


def _summarise(published: Published, evaluations: Evaluations) -> str:
    """Say how many models there are, and over how many users the values are means."""
    models, splits = len(published.entries), len(published.parts)
    truth_users = sum(
        facts_of(part.folder)[part.number]["parts"]["truth"]["users"] for part in published.parts
    )
    # The same user may be in several splits, with a list in each.
    unit, ends = ("users", "") if splits == 1 else ("lists", f" in {splits} splits")
    words = _describe_users(_count_users(evaluations), truth_users, unit)
    return f"{models} model{'s' * (models != 1)}, {words}{ends}"


def _count_users(evaluations: Evaluations) -> set[int]:
    """Return the numbers of lists that count in the mean of a metric, over all splits."""
    counts: dict[tuple[str, str], int] = {}
    for model, runs in evaluations.items():
        for name, result in (pair for run in runs for pair in run.results.items()):
            if result.counted is not None:
                counts[model, name] = counts.get((model, name), 0) + result.counted
    return set(counts.values())


def _describe_users(counts: set[int], truth_users: int, unit: str) -> str:
    if not counts or counts == {truth_users}:
        return f"{truth_users:,} {unit}"
    low, high = min(counts), max(counts)
    if low == high:
        return f"{low:,} of {truth_users:,} {unit} count"
    return f"{low:,} to {high:,} of {truth_users:,} {unit} count, by metric and model"


def _describe_split(part: StagePart, published: Published) -> dict[str, Any]:
    """Describe a split: sizes, how it was made, its files for readers, and its audit."""
    stored = facts_of(part.folder)[part.number]
    kept = {name: stored[name] for name in ("how", "source", "fingerprint", "parts", "facts")}
    audit = published.audits.get(part.name)
    files = {Path(name).stem: name for name in split_files(part)}
    return {"name": part.name, "seed": part.seed, **kept, "files": files, "audit": audit}


def _describe_model(fielded: Any, entries: Sequence[ModelEntry]) -> dict[str, Any]:
    entrant = fielded.entrant
    sources = {"python": entrant.python, "predictions": entrant.predictions}
    source = {name: value for name, value in sources.items() if value}
    runs = [
        {
            "split": entry.part.name,
            "seed": entry.part.seed,
            "parameters": dict(entry.parameters),
            "tuning": entry.tuned,
            **list_files(entry),
            "evaluation": read_json(entry.evaluation / "evaluation.json"),
            "ledger": read_json(entry.lists / "model.json")["ledger"],
        }
        for entry in entries
    ]
    trials = sum(len(entry.tuned["trials"]) for entry in entries if entry.tuned)
    return {**(source or {"model": fielded.kind}), "trials": trials, "runs": runs}


def _list_metric_failures(entries: Entries) -> list[dict[str, Any]]:
    """Return the metrics that failed, once per model and split."""
    return [
        {"stage": entry.stage.name, "kind": "MetricFailed", "message": f"{metric}: {reason}",
         "at": "", "traceback": ""}
        for runs in entries.values()
        for entry in runs
        for metric, reason in read_json(entry.evaluation / "evaluation.json")["failures"].items()
    ]  # fmt: skip


def ledger_of(work: Work, published: Published) -> dict[str, Any]:
    """Return the ledger of each stage, in the order in which stages ran."""
    ledger: dict[str, Any] = {}
    for kind in ("data", "prepare"):
        if kind in work.store.used:
            folder = work.store.folder / "stages" / work.store.used[kind]["key"]
            ledger[kind] = read_json(folder / "log.json")["ledger"]
    for part in published.parts:
        ledger[f"split/{part.name}".rstrip("/")] = facts_of(part.folder)[part.number]["ledger"]
    for runs in published.entries.values():
        for entry in runs:
            ledger[entry.stage.name.replace("evaluate", "models", 1)] = read_json(
                entry.lists / "model.json"
            )["ledger"]
            ledger[entry.stage.name] = read_json(entry.evaluation / "evaluation.json")["ledger"]
    return ledger


TRACKED = "mlflow.json"
ARTIFACTS = ("config.*", "environment.json", "manifest.json", "ledger.json", "results.json",
             "report.html")  # fmt: skip
_PARENT = "mlflow.parentRunId"
_LONGEST_TAG = 4_900


def track_in_mlflow(store: Store, results: Mapping[str, Any], uri: str, experiment: str) -> None:
    """Log a run to MLflow, with a child run per model, unless it has been logged already.

    Definitions of metrics become tags. MLflow does not accept `@`, so it becomes `_at_`.
    """
    record = {"uri": uri, "experiment": experiment}
    record["results"] = file_digest(store.folder / "results.json")
    path = store.folder / TRACKED
    if _read_record(path, [*record]) == record:
        return
    client = _open_client(uri)
    existing = client.get_experiment_by_name(experiment)
    experiment_id = (
        client.create_experiment(experiment) if existing is None else existing.experiment_id
    )
    tags = {"rectitude": results["rectitude"], "about": results["about"]}
    parent = client.create_run(experiment_id, run_name=results["name"], tags=tags).info.run_id
    for file in sorted(file for name in ARTIFACTS for file in store.folder.glob(name)):
        client.log_artifact(parent, str(file))
    for model, facts in results["models"].items():
        _log_model(client, experiment_id, parent, model, facts, results)
    client.set_terminated(parent, "FAILED" if results["failures"] else "FINISHED")
    store.write_json(TRACKED, {**record, "run": parent})


def _read_record(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return what was logged before; nothing if there is no readable record of it."""
    try:
        before = read_json(path)
        return {name: before[name] for name in names}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _log_model(
    client: Any, experiment_id: str, parent: str, model: str, facts: Mapping[str, Any],
    results: Mapping[str, Any],
) -> None:  # fmt: skip
    """Log one model: its parameters, its metrics and their definitions."""
    run_id = client.create_run(experiment_id, run_name=model, tags={_PARENT: parent}).info.run_id
    first = facts["runs"][0] if facts["runs"] else {}
    for name, value in first.get("parameters", {}).items():
        client.log_param(run_id, _mlflow_name(name), str(value)[:_LONGEST_TAG])
    client.log_param(run_id, "trials", facts["trials"])
    for step, run in enumerate(facts["runs"] if len(facts["runs"]) > 1 else ()):
        for name, result in run["evaluation"]["results"].items():
            if result["value"] is not None:
                client.log_metric(run_id, f"split/{_mlflow_name(name)}", result["value"], step=step)
    for name, result in results["headline"].get(model, {}).items():
        if result["value"] is not None:
            client.log_metric(run_id, _mlflow_name(name), result["value"])
        definition = first["evaluation"]["results"].get(name, {}).get("definition", "")
        client.set_tag(run_id, f"definition.{_mlflow_name(name)}", definition[:_LONGEST_TAG])
    ledger = [run["ledger"] for run in facts["runs"]]
    client.log_text(run_id, json.dumps(ledger, indent=1), "ledger.json")
    client.set_terminated(run_id, "FINISHED" if facts["runs"] else "FAILED")


def _mlflow_name(name: str) -> str:
    """Return a name that MLflow accepts."""
    return re.sub(r"[^\w\-. /:]", "_", name.replace("@", "_at_"))


def _open_client(uri: str) -> Any:
    try:
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise MissingExtra(
            "logging to MLflow needs mlflow, which is not installed.", "",
            "pip install 'rectitude[mlflow]'",
        ) from error  # fmt: skip
    _create_database(MlflowClient, uri)
    return MlflowClient(tracking_uri=uri or None)


_SQLITE = "sqlite:///"


def _create_database(client: Any, uri: str) -> None:
    """Create MLflow's database under a temporary name, if it is a file that does not exist: MLflow
    cannot use one whose tables were only partly created, for example because the run was killed."""
    path = Path(uri.removeprefix(_SQLITE))
    if not uri.startswith(_SQLITE) or uri == _SQLITE or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)

    def create(temporary: Path) -> None:
        client(tracking_uri=f"{_SQLITE}{temporary}").search_experiments(max_results=1)

    write_all({path: create})

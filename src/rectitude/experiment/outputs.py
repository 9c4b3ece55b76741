"""What people look at: results, ledger, manifest, values and lists, put together at the end.

Nothing in these files says when or how fast they were made, so that equal runs give equal bytes;
times are in log.jsonl and environment.json. If asked for, MLflow is told the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rectitude._version import __version__
from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import MissingExtra
from rectitude.experiment.fingerprints import environment, file_digest
from rectitude.experiment.pipeline import Entries, ModelEntry, Work
from rectitude.experiment.results import FORMAT, FORMAT_VERSION, Run, finite, headline
from rectitude.experiment.stages import StagePart, bare
from rectitude.experiment.store import Store, facts_of, read_json
from rectitude.experiment.windows import Windows
from rectitude.metrics import METRICS
from rectitude.reports.page import report

SHOWN = {"values": "values.parquet", "predictions": "predictions.parquet"}


@dataclass
class Published:
    """What the stages gave."""

    parts: Sequence[StagePart] = ()
    entries: dict[str, list[ModelEntry]] = field(default_factory=dict)
    audits: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """by the name of the split"""
    comparison: Mapping[str, Any] | None = None
    explained: Mapping[str, Any] = field(default_factory=dict)
    """the models under other conventions"""
    stopped: str = ""
    """why the run ended before its models; empty if it did not"""


def published(work: Work, found: Published, times: Mapping[str, str]) -> Run:
    """Write what people look at, and give the run."""
    store, loaded = work.store, work.loaded
    text = loaded.text
    store.write(f"config{loaded.suffix}", lambda path: path.write_text(text, encoding="utf-8"))
    store.write_json("environment.json", {**environment(), **times})
    (store.folder / "report.html").unlink(missing_ok=True)  # it is of results that were before
    wanted = set()
    for entry in [one for every in found.entries.values() for one in every]:
        places = {"values": entry.evaluation, "predictions": entry.lists}
        for kind, name in shown_files(entry).items():
            store.show(name, places[kind] / SHOWN[kind])
            wanted.add(name)
    store.write_json("ledger.json", ledger_of(work, found))
    results = results_of(work, found)
    store.write_json("results.json", results)
    store.write_json("manifest.json", manifest_of(work))
    late = len(work.failures)
    if found.entries:
        work.attempt("report", lambda: _reported(work))
    work.attempt("mlflow", lambda: _tracked(work, results))
    if work.failures[late:]:
        results["failures"] += work.failures[late:]
        store.write_json("results.json", results)
    if results["complete"]:
        store.clean(SHOWN, wanted)
        store.sweep()
    return Run(store.folder, results)


def manifest_of(work: Work) -> dict[str, Any]:
    """Every stage with its fingerprint and the hashes of its files."""
    return {
        "format": "rectitude.manifest",
        "version": 1,
        "rectitude": __version__,
        "stages": [{"stage": name, **told} for name, told in work.store.used.items()],
    }


def _reported(work: Work) -> None:
    """The page, if there is one to be written."""
    chosen, folder = work.loaded.config.report, work.store.folder
    stage = bare("report")
    if chosen.mode == "off" or not work.chosen(stage):
        return
    with work.watch.working("report"):
        title = chosen.title or work.loaded.name
        work.store.write("report.html", lambda path: report(folder, path, title=title))


def _tracked(work: Work, results: Mapping[str, Any]) -> None:
    """The log in MLflow, if one is asked for."""
    chosen, stage = work.loaded.config.mlflow, bare("mlflow")
    if chosen is None or not work.chosen(stage):
        return
    with work.watch.working("mlflow"):
        tracked(work.store, results, chosen.uri, chosen.experiment or work.loaded.name)


def shown_files(entry: ModelEntry) -> dict[str, str]:
    """Where the values and the lists of an entry are shown."""
    inside = f"{entry.part.name}/" if entry.part.name else ""
    return {kind: f"{kind}/{inside}{entry.model}.parquet" for kind in SHOWN}


def results_of(work: Work, found: Published) -> dict[str, Any]:
    """Everything that was found, for results.json."""
    config, entries = work.loaded.config, found.entries
    evaluations = {name: [entry.numbers() for entry in every] for name, every in entries.items()}
    failures = [*work.failures, *_metric_failures(entries)]
    metrics = {
        name: METRICS[one.metric].best
        for every in evaluations.values()
        for evaluation in every
        for name, one in evaluation.results.items()
    }
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "rectitude": __version__,
        "name": work.loaded.name,
        "about": config.about,
        "summary": _summary(found),
        "config": config.model_dump(mode="json", exclude_defaults=True),
        "complete": not work.left_out and not found.stopped,
        "left_out": list(dict.fromkeys(work.left_out)),
        "stopped": found.stopped,
        "splits": [_split(part, found) for part in found.parts],
        "models": {one.name: _model(one, entries.get(one.name, ())) for one in work.fielded},
        "headline": headline(evaluations),
        "windows": _windows(found.parts, evaluations),
        "best": metrics,
        "comparison": found.comparison,
        "robustness": found.explained.get("robustness"),
        "explanation": found.explained.get("explanation"),
        "failures": failures,
    }


def _windows(
    parts: Sequence[StagePart], evaluations: Mapping[str, Sequence[Evaluation]]
) -> dict[str, Any]:
    """Of a series of splits, each model's metrics over all of them: the mean of splits, the mean of
    all lists, and the latter after each split."""
    names = [part.name for part in parts]
    if len(parts) < 2 or len({part.seed for part in parts}) > 1:
        return {}
    found: dict[str, Any] = {}
    for model, every in evaluations.items():
        if len(every) == len(names):
            whole = Windows(dict(zip(names, every, strict=True)))
            found[model] = {
                name: {"macro": finite(whole.macro(name)), "micro": finite(whole.micro(name)),
                       "running": {k: finite(v) for k, v in whole.running(name).items()}}
                for name in whole.names
                if all(name in one and one.result(name).state for one in every)
            }  # fmt: skip
    return found


def _summary(found: Published) -> str:
    models = len(found.entries)
    users = sum(
        facts_of(part.folder)[part.number]["parts"]["truth"]["users"] for part in found.parts
    )
    splits = "" if len(found.parts) == 1 else f" in {len(found.parts)} splits"
    return f"{models} model{'s' * (models != 1)}, {users:,} users{splits}"


def _split(part: StagePart, found: Published) -> dict[str, Any]:
    """What a split is: sizes, how it was made, what the audit says of it."""
    told = facts_of(part.folder)[part.number]
    kept = {name: told[name] for name in ("how", "source", "fingerprint", "parts", "facts")}
    audit = found.audits.get(part.name)
    return {"name": part.name, "seed": part.seed, **kept, "audit": audit}


def _model(fielded: Any, entries: Sequence[ModelEntry]) -> dict[str, Any]:
    entrant = fielded.entrant
    from_where = {"python": entrant.python, "predictions": entrant.predictions}
    told = {name: value for name, value in from_where.items() if value}
    runs = [
        {
            "split": entry.part.name,
            "seed": entry.part.seed,
            "parameters": dict(entry.parameters),
            "tuning": entry.tuned,
            **shown_files(entry),
            "evaluation": read_json(entry.evaluation / "evaluation.json"),
            "ledger": read_json(entry.lists / "model.json")["ledger"],
        }
        for entry in entries
    ]
    trials = sum(len(entry.tuned["trials"]) for entry in entries if entry.tuned)
    return {**(told or {"model": fielded.kind}), "trials": trials, "runs": runs}


def _metric_failures(entries: Entries) -> list[dict[str, Any]]:
    """Metrics that have no value, each once for a model and split."""
    return [
        {"stage": entry.stage.name, "kind": "MetricFailed", "message": f"{metric}: {why}",
         "traceback": ""}
        for every in entries.values()
        for entry in every
        for metric, why in read_json(entry.evaluation / "evaluation.json")["failures"].items()
    ]  # fmt: skip


def ledger_of(work: Work, found: Published) -> dict[str, Any]:
    """What each stage met and did, in the order in which they worked."""
    ledger: dict[str, Any] = {}
    for kind in ("data", "prepare"):
        if kind in work.store.used:
            place = work.store.folder / "stages" / work.store.used[kind]["key"]
            ledger[kind] = read_json(place / "log.json")["ledger"]
    for part in found.parts:
        ledger[f"split/{part.name}".rstrip("/")] = facts_of(part.folder)[part.number]["ledger"]
    for every in found.entries.values():
        for entry in every:
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


def tracked(store: Store, results: Mapping[str, Any], uri: str, experiment: str) -> None:
    """Log a run in MLflow, with one below it for each model, unless it was logged there before.

    Metrics carry their definitions as tags; `@`, which MLflow does not take, becomes `_at_`.
    """
    told = {"uri": uri, "experiment": experiment}
    told["results"] = file_digest(store.folder / "results.json")
    known = store.folder / TRACKED
    before = read_json(known) if known.is_file() else {}
    if {name: before.get(name) for name in told} == told:
        return
    client = _client(uri)
    found = client.get_experiment_by_name(experiment)
    place = client.create_experiment(experiment) if found is None else found.experiment_id
    tags = {"rectitude": results["rectitude"], "about": results["about"]}
    parent = client.create_run(place, run_name=results["name"], tags=tags).info.run_id
    for path in sorted(one for name in ARTIFACTS for one in store.folder.glob(name)):
        client.log_artifact(parent, str(path))
    for model, facts in results["models"].items():
        _log_model(client, place, parent, model, facts, results)
    client.set_terminated(parent, "FAILED" if results["failures"] else "FINISHED")
    store.write_json(TRACKED, {**told, "run": parent})


def _log_model(
    client: Any, place: str, parent: str, model: str, facts: Mapping[str, Any],
    results: Mapping[str, Any],
) -> None:  # fmt: skip
    """One model: its parameters, its numbers and what they mean."""
    own = client.create_run(place, run_name=model, tags={_PARENT: parent}).info.run_id
    first = facts["runs"][0] if facts["runs"] else {}
    for name, value in first.get("parameters", {}).items():
        client.log_param(own, _plain(name), str(value)[:_LONGEST_TAG])
    client.log_param(own, "trials", facts["trials"])
    for step, run in enumerate(facts["runs"] if len(facts["runs"]) > 1 else ()):
        for name, one in run["evaluation"]["results"].items():
            if one["value"] is not None:
                client.log_metric(own, f"split/{_plain(name)}", one["value"], step=step)
    for name, one in results["headline"].get(model, {}).items():
        if one["value"] is not None:
            client.log_metric(own, _plain(name), one["value"])
        said = first["evaluation"]["results"].get(name, {}).get("definition", "")
        client.set_tag(own, f"definition.{_plain(name)}", said[:_LONGEST_TAG])
    ledger = [run["ledger"] for run in facts["runs"]]
    client.log_text(own, json.dumps(ledger, indent=1), "ledger.json")
    client.set_terminated(own, "FINISHED" if facts["runs"] else "FAILED")


def _plain(name: str) -> str:
    """A name as MLflow takes it."""
    return re.sub(r"[^\w\-. /:]", "_", name.replace("@", "_at_"))


def _client(uri: str) -> Any:
    try:
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise MissingExtra(
            "logging to MLflow needs mlflow, which is not installed.", "",
            "pip install 'rectitude[mlflow]'",
        ) from error  # fmt: skip
    return MlflowClient(tracking_uri=uri or None)

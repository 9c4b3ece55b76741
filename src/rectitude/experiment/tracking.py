"""A run in MLflow: one run for the experiment, and below it one for each model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rectitude.errors import MissingExtra
from rectitude.experiment.fingerprints import file_digest
from rectitude.experiment.store import Store, read_json

NAME = "mlflow.json"
ARTIFACTS = ("config.*", "environment.json", "manifest.json", "ledger.json", "results.json",
             "report.html")  # fmt: skip
_PARENT = "mlflow.parentRunId"
_LONGEST_TAG = 4_900


def tracked(store: Store, results: Mapping[str, Any], uri: str, experiment: str) -> None:
    """Log a run, unless the same results were logged there before.

    Metrics carry their definitions as tags; `@`, which MLflow does not take, becomes `_at_`.
    """
    told = {"uri": uri, "experiment": experiment}
    told["results"] = file_digest(store.folder / "results.json")
    known = store.folder / NAME
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
    store.write_json(NAME, {**told, "run": parent})


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

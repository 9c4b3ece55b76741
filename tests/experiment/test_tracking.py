"""A run in MLflow, read back from a real local store."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import SMALL, TUNED, write

import rectitude as rt

pytestmark = [
    # the store's own packages warn of each other
    pytest.mark.filterwarnings("ignore"),
]


def test_a_run_is_logged_once_with_definitions_and_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: pip install sqlalchemy")
    tracking = pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)  # artifacts go below the folder one is in
    uri = f"sqlite:///{tmp_path}/store.db"
    path = write(tmp_path, SMALL + TUNED + f'\n[mlflow]\nuri = "{uri}"\nexperiment = "shop"\n')
    run = rt.run(path)
    assert run.exit_code == 0, run.failures
    client = tracking.MlflowClient(tracking_uri=uri)
    place = client.get_experiment_by_name("shop").experiment_id
    logged = {one.info.run_name: one for one in client.search_runs([place])}
    assert set(logged) == {"experiment", "popularity", "item-knn", "tuned"}
    told = logged["item-knn"].data
    assert told.metrics["ndcg_at_10"] == run.results["headline"]["item-knn"]["ndcg@10"]["value"]
    definition = run.evaluations["item-knn"][0].definition("ndcg@10")
    assert told.tags["definition.ndcg_at_10"] == definition[:4900]
    assert told.params["neighbours"] == "20"
    assert logged["tuned"].data.params["trials"] == "4"
    parent = logged["experiment"].info.run_id
    assert told.tags["mlflow.parentRunId"] == parent
    artifacts = {one.path for one in client.list_artifacts(parent)}
    assert {"results.json", "ledger.json", "manifest.json", "config.toml"} <= artifacts
    assert rt.run(path).exit_code == 0
    assert len(client.search_runs([place])) == 4, "the same results are logged once"
    write(tmp_path, path.read_text().replace("neighbours = 20", "neighbours = 10"))
    rt.run(path)
    assert len(client.search_runs([place])) == 8


def test_a_store_that_cannot_be_reached_is_a_failure_of_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    run = rt.run(write(tmp_path, SMALL + '\n[mlflow]\nuri = "nowhere://at.all"\n'))
    assert run.exit_code == 1
    assert [one["stage"] for one in run.failures] == ["mlflow"]
    assert run.results["headline"]["popularity"]

"""A run in MLflow, read back from a real local store."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import SMALL, TUNED, write

import rectitude as rt

pytestmark = [
    # the packages of the store warn about each other
    pytest.mark.filterwarnings("ignore"),
]


def test_a_run_is_logged_once_with_definitions_and_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: pip install sqlalchemy")
    tracking = pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)  # artifacts are written below the current folder
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


def test_an_unreachable_store_fails_only_the_mlflow_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    run = rt.run(write(tmp_path, SMALL + '\n[mlflow]\nuri = "nowhere://at.all"\n'))
    assert run.exit_code == 1
    assert [one["stage"] for one in run.failures] == ["mlflow"]
    assert run.results["headline"]["popularity"]


def test_a_database_of_mlflow_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)  # MLflow writes artifacts to the current folder
    database = tmp_path / "mlflow" / "store.db"
    path = write(tmp_path, SMALL + f'\n[mlflow]\nuri = "sqlite:///{database}"\n')

    def stop(*_: object, **__: object) -> None:
        raise RuntimeError("stopped while the tables were created")

    with monkeypatch.context() as patched:
        patched.setattr(tracking.MlflowClient, "search_experiments", stop)
        assert [failure["stage"] for failure in rt.run(path).failures] == ["mlflow"]
    assert not database.exists()
    assert rt.run(path).failures == []
    assert database.exists()
    assert [entry.name for entry in database.parent.iterdir()] == ["store.db"]

"""What is Ray's own: clusters with any number of workers, and those that are started for one
evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from engines.cases import METRICS, compare_roads, draw_case, draw_tables
from engines.conftest import RAY, ray_of

pytestmark = [RAY, pytest.mark.filterwarnings("ignore")]


def test_one_worker_gives_what_memory_gives() -> None:
    pytest.importorskip("ray", reason="missing: pip install 'rectitude[ray]'")
    with ray_of(1) as ray:
        import ray.data

        for seed in (2, 5):
            frames, options = draw_case(seed)
            compare_roads(frames, lambda frame: ray.data.from_arrow(frame.to_arrow()), **options)


def test_ray_is_started_for_paths_and_ended_again(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="missing: pip install 'rectitude[ray]'")
    tables = draw_tables(4)
    tables["predictions"].write_csv(tmp_path / "lists.csv")
    tables["truth"].write_parquet(tmp_path / "truth.parquet")
    sides = (tmp_path / "lists.csv", tmp_path / "truth.parquet")
    moved = rt.evaluate(*sides, METRICS, engine="ray")
    assert not ray.is_initialized()
    assert moved.values() == rt.evaluate(*sides, METRICS).values()

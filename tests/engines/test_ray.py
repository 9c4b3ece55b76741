"""What is Ray's own: clusters with any number of workers, and those that are started for one
evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import rectitude as rt
from engines.cases import METRICS, Frames, cases, compare_roads, draw_tables
from engines.conftest import RAY, Move, ray_of

pytestmark = [RAY, pytest.mark.filterwarnings("ignore")]


def test_ray_is_started_for_paths_and_ended_again(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="missing: pip install 'rectitude[ray]'")
    tables = draw_tables(4)
    tables["predictions"].write_csv(tmp_path / "lists.csv")
    tables["truth"].write_parquet(tmp_path / "truth.parquet")
    sides = (tmp_path / "lists.csv", tmp_path / "truth.parquet")
    moved = rt.evaluate(*sides, METRICS, engine="ray")
    assert not ray.is_initialized()
    assert moved.values() == rt.evaluate(*sides, METRICS).values()


@pytest.fixture(scope="module")
def move_alone() -> Iterator[Move]:
    """Make datasets of a Ray with one worker."""
    pytest.importorskip("ray", reason="missing: pip install 'rectitude[ray]'")
    with ray_of(1) as ray:
        import ray.data

        yield lambda frame: ray.data.from_arrow(frame.to_arrow())


@settings(max_examples=4)
@given(case=cases())
def test_one_worker_gives_what_memory_gives(
    move_alone: Move, case: tuple[Frames, dict[str, Any]]
) -> None:
    frames, options = case
    compare_roads(frames, move_alone, **options)

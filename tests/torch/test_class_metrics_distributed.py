"""The accumulators of several processes, reduced by their sum, equal those of one process."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from class_samples import AbsoluteError, Found, GuidePrecision, batch
from torch import distributed, multiprocessing

from rectitude.torch.metrics import MetricSet

PROCESSES = 2
USERS = 30
SHARES = ("uneven", "one has nothing")


def make_metrics() -> MetricSet:
    return MetricSet([GuidePrecision, Found, AbsoluteError], cutoffs=(3, 10), num_users=USERS)


def rows_of(process: int, shares: str) -> torch.Tensor:
    """Return the rows of a process: users occur up to twice, in one process or in both."""
    rows = torch.arange(2 * USERS)
    if shares == "one has nothing":
        return rows if process == 0 else rows[:0]
    return rows[:13] if process == 0 else rows[13:]


def add_rows(metrics: MetricSet, rows: torch.Tensor) -> None:
    data = batch(users=2 * USERS)
    data = data._replace(user_indices=data.user_indices % USERS)
    for block in rows.split(7):
        data.add_to(metrics, block)


def state_of(metrics: MetricSet) -> dict[str, Any]:
    values = {name: value.nan_to_num(-1).tolist() for name, value in metrics.compute().items()}
    by_list = metrics.members["Found@3"]
    by_list.unit = "list"
    return {"values": values, "overall": metrics.overall(), "by list": by_list.overall()}


def work(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=process, world_size=PROCESSES,
        timeout=timedelta(seconds=60),
    )  # fmt: skip
    results = {}
    for shares in SHARES:
        metrics = make_metrics()
        add_rows(metrics, rows_of(process, shares))
        results[shares] = state_of(metrics)
    torch.save(results, f"{folder}/{process}.pt")
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
def test_processes_add_up_to_exactly_the_result_of_one(tmp_path: Path) -> None:
    alone = make_metrics()
    add_rows(alone, torch.arange(2 * USERS))
    multiprocessing.spawn(work, (str(tmp_path),), nprocs=PROCESSES)
    expected = state_of(alone)
    for process in range(PROCESSES):
        assert torch.load(tmp_path / f"{process}.pt") == dict.fromkeys(SHARES, expected)

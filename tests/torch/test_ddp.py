"""Several processes give exactly the result of one, in any distribution of lists."""

from __future__ import annotations

import pickle
from typing import Any

import ddp_cases
import pytest
import torch
from ddp_cases import CASES, SHARES, alone, content, make_evaluator

from rectitude.torch import Evaluator

Results = list[dict[str, Any]]


@pytest.fixture(scope="module", params=[2, 3])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of each process of a group."""
    folder = tmp_path_factory.mktemp("processes")
    arguments = (request.param, str(folder / "meeting"), str(folder))
    torch.multiprocessing.spawn(ddp_cases.process, arguments, nprocs=request.param)
    return [pickle.loads((folder / f"{n}").read_bytes()) for n in range(request.param)]  # noqa: S301


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", SHARES)
def test_all_processes_give_exactly_the_result_of_one(
    results: Results, case: str, share: str
) -> None:
    expected = content(make_evaluator(case, alone, 0, 1).compute())
    for process in results:
        assert process[f"{case}, {share}"] == expected


@pytest.mark.parametrize("case", CASES)
def test_repeated_lists_are_reported(results: Results, case: str) -> None:
    world = len(results)
    extra = -ddp_cases.ROWS % world
    assert extra > 0
    for process in results:
        entry = process[f"{case}, padded, repeated"]
        assert entry.startswith(f"{extra} lists occurred more than once and were counted once (")
        assert process[f"{case}, uneven, repeated"] is None


def test_batches_that_are_still_pending_are_compared_too(results: Results) -> None:
    metrics = [metric for metric in ddp_cases.CLASSES if metric != "cross_entropy"]
    whole = Evaluator(metrics, repeats="once")
    ddp_cases.logits(whole, list(range(ddp_cases.ROWS)))
    for process in results:
        assert process["pending"]["results"] == content(whole.compute())["results"]


def test_a_metric_gathers_and_then_continues_alone(results: Results) -> None:
    whole = make_evaluator("logits", alone, 0, 1).compute()
    values = {name: value.hex() for name, value in whole.values().items()}
    for rank, process in enumerate(results):
        metric = process["metric"]
        assert metric["values"] == values
        assert metric["own"] == sum(map(len, ddp_cases.padded(rank, len(results))))
        assert metric["steps"] == len(ddp_cases.padded(rank, len(results)))
        of_metric = metric["content"]["results"]
        assert {name: result[0] for name, result in of_metric.items()} == values


def test_lists_without_ids_count_again_and_are_reported(results: Results) -> None:
    rows = sum(sum(map(len, ddp_cases.padded(rank, len(results)))) for rank in range(len(results)))
    for process in results:
        lists, entry = process["nameless"]
        assert lists == rows > ddp_cases.ROWS
        about = "lists have no ids: repeats by a distributed sampler count as further lists"
        assert entry == f"{rows} {about}"


def test_an_error_in_one_process_is_raised_in_all(results: Results) -> None:
    for rank, process in enumerate(results):
        name, message = process["errors"]["broken"]
        assert name == "BadScores"
        assert "batch 0: 2 of 2 rows of logits (2 x 4, float32) contain NaN" in message
        assert message.startswith("process 0: ") == (rank > 0)
        name, message = process["errors"]["contradicting"]
        assert (name, message) == (
            "BadTruth",
            "1 lists occur more than once with different truth (first: 107).",
        )
        assert process["errors"]["mixed"][0] == "BadIds"

"""Several processes find what one finds, to the last bit, however lists are shared out."""

from __future__ import annotations

import pickle
from typing import Any

import ddp_cases
import pytest
import torch
from ddp_cases import CASES, SHARES, alone, content, made

Found = list[dict[str, Any]]


@pytest.fixture(scope="module", params=[2, 3])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What each process of a group found."""
    folder = tmp_path_factory.mktemp("processes")
    given = (request.param, str(folder / "meeting"), str(folder))
    torch.multiprocessing.spawn(ddp_cases.process, given, nprocs=request.param)
    return [pickle.loads((folder / f"{n}").read_bytes()) for n in range(request.param)]  # noqa: S301


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", SHARES)
def test_all_processes_find_the_bits_of_one(found: Found, case: str, share: str) -> None:
    expected = content(made(case, alone, 0, 1).compute())
    for process in found:
        assert process[f"{case}, {share}"] == expected


@pytest.mark.parametrize("case", CASES)
def test_repeated_lists_are_said(found: Found, case: str) -> None:
    world = len(found)
    extra = -ddp_cases.ROWS % world
    assert extra > 0
    for process in found:
        said = process[f"{case}, padded, repeated"]
        assert said.startswith(f"{extra} lists were handed over again: counted once (first: ")
        assert process[f"{case}, uneven, repeated"] is None


def test_a_metric_gathers_and_goes_on_alone(found: Found) -> None:
    whole = made("logits", alone, 0, 1).compute()
    values = {name: value.hex() for name, value in whole.values().items()}
    for rank, process in enumerate(found):
        metric = process["metric"]
        assert metric["values"] == values
        assert metric["own"] == sum(map(len, ddp_cases.padded(rank, len(found))))
        assert metric["steps"] == len(ddp_cases.padded(rank, len(found)))
        results = metric["content"]["results"]
        assert {name: one[0] for name, one in results.items()} == values


def test_lists_without_ids_count_again_and_that_is_said(found: Found) -> None:
    rows = sum(sum(map(len, ddp_cases.padded(rank, len(found)))) for rank in range(len(found)))
    for process in found:
        lists, said = process["nameless"]
        assert lists == rows > ddp_cases.ROWS
        assert said == f"{rows} lists have no ids: one that a sampler repeats counts again"


def test_what_is_wrong_in_one_process_is_raised_in_all(found: Found) -> None:
    for rank, process in enumerate(found):
        name, said = process["errors"]["broken"]
        assert name == "BadScores"
        assert "batch 0: 2 of 2 rows of logits (2 x 4, float32) hold NaN" in said
        assert said.startswith("process 0: ") == (rank > 0)
        name, said = process["errors"]["contradicting"]
        assert (name, said) == (
            "BadTruth",
            "1 lists were handed over twice with different truth (first: 107).",
        )
        assert process["errors"]["mixed"][0] == "BadIds"

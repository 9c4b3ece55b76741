"""A GPU gives the evaluation of the CPU, `update` never waits for it, and errors are the same.

Where there is no CUDA device, the tests run with tensors on the CPU that are counted in torch, and
those of CUDA alone are skipped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ddp_cases
import pytest
import torch
from torch import distributed as dist
from torch_ways import OnDevice, content

import rectitude as rt
from rectitude.errors import BadScores, BadTruth
from rectitude.torch import Evaluator, Ranked

HAS_CUDA = torch.cuda.is_available()
NEEDS_CUDA = pytest.mark.skipif(not HAS_CUDA, reason="this machine has no CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)]
METRICS = ["ndcg@{5,10}", "recall@5", "map@10", "mrr", "hit@3"]
ALL_RANKS = ["auc", "mean_rank", "ndcg"]
CLASSES = ["accuracy@{1,3}", "mrr", "ndcg@2", "weighted_f1", "macro_f1@2", "mcc"]
ROWS, COLUMNS = 40, 90


def make_evaluator(device: str, *arguments: Any, **more: Any) -> Any:
    """Return an evaluator that counts where the tensors are."""
    return (OnDevice if device == "cpu" else Evaluator)(*arguments, **more)


def draw(seed: int, *shape: int, most: int = 0) -> torch.Tensor:
    """Return few different scores, so that many are equal; or integers up to `most`."""
    generator = torch.Generator().manual_seed(seed)
    if most:
        return torch.randint(0, most, shape, generator=generator)
    return torch.randn(shape, generator=generator).round(decimals=1)


def list_columns(seed: int, width: int) -> torch.Tensor:
    order = torch.rand(ROWS, COLUMNS, generator=torch.Generator().manual_seed(seed))
    chosen = order.topk(width).indices
    chosen[::3, width // 2 :] = -1
    return chosen


def padded(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    truth, seen = list_columns(1, 4), list_columns(2, 8)
    return rt.Scores(move(draw(0, ROWS, COLUMNS))), move(truth), {"train": move(seen)}


def marked(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    truth = (draw(3, ROWS, COLUMNS, most=20) == 0).float()
    return rt.Scores(move(draw(0, ROWS, COLUMNS))), move(truth), {}


def sparse(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    truth = (draw(3, ROWS, COLUMNS, most=20) == 0).double().to_sparse()
    return rt.Scores(move(draw(0, ROWS, COLUMNS).half())), move(truth), {}


def named(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    scores = rt.Scores(move(draw(0, ROWS, COLUMNS)), users=move(torch.arange(ROWS) + 7))
    table = {"user": [7, 7, 20, 46], "item": [1, 5, 89, 0]}
    return scores, table, {"train": {"user": [7, 20], "item": [2, 3]}}


def interests(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return rt.Scores(move(draw(0, ROWS, 3, COLUMNS).bfloat16())), move(list_columns(1, 4)), {}


def vectors(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Return vectors whose products are exact in any order of addition."""
    users, items = draw(4, ROWS, 8, most=5), draw(5, COLUMNS, 8, most=5)
    both = (move(side.to(torch.bfloat16)) for side in (users, items))
    return rt.Embeddings(*both), move(list_columns(1, 4)), {"train": move(list_columns(2, 8))}


def candidates(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    lists = {"candidates": move(list_columns(6, 30))}
    return rt.Scores(move(draw(0, ROWS, COLUMNS))), move(list_columns(1, 4)), lists


def ranked(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return Ranked(move(list_columns(6, 12)), users=move(torch.arange(ROWS))), move(
        list_columns(1, 4)
    ), {}  # fmt: skip


def logits(move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return move(draw(0, ROWS, COLUMNS)), move(draw(7, ROWS, most=COLUMNS)), {}


WAYS = [padded, marked, sparse, named, interests, vectors, candidates, ranked]


def everything(evaluation: rt.Evaluation) -> dict[str, Any]:
    """Return what an evaluation says, but for what counted it."""
    found = content(evaluation)
    found["manifest"].pop("kernels", None)
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("metrics", [METRICS, [*METRICS, *ALL_RANKS]], ids=["cut", "all"])
@pytest.mark.parametrize("repeats", ["once", "counted"])
def test_every_way_gives_the_evaluation_of_the_cpu(
    device: str, way: Any, metrics: list[str], repeats: Any
) -> None:
    if way is ranked and metrics is not METRICS:
        metrics = METRICS  # lists are cut off, so not all items have ranks
    expected = Evaluator(metrics, {"undefined": "zero"}, repeats=repeats)
    found = make_evaluator(device, metrics, {"undefined": "zero"}, repeats=repeats)
    for evaluator, move in ((expected, torch.clone), (found, lambda t: t.to(device))):
        predictions, truth, more = way(move)
        evaluator.update(predictions, truth, **more)
    assert everything(found.compute()) == everything(expected.compute())


@pytest.mark.parametrize("device", DEVICES)
def test_logits_give_the_evaluation_of_the_cpu(device: str) -> None:
    expected, found = Evaluator(CLASSES), make_evaluator(device, CLASSES)
    for evaluator, move in ((expected, torch.clone), (found, lambda t: t.to(device))):
        predictions, truth, _ = logits(move)
        evaluator.update(predictions, truth)
    assert everything(found.compute()) == everything(expected.compute())


@contextmanager
def nothing_waits() -> Iterator[None]:
    """Raise an error where the host waits for the device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # says that this mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@NEEDS_CUDA
@pytest.mark.parametrize("way", [padded, interests, vectors, logits])
def test_update_does_not_wait_for_the_device(way: Any) -> None:
    evaluator = Evaluator(CLASSES if way is logits else METRICS)
    batches = [way(lambda tensor: tensor.cuda()) for _ in range(3)]
    with nothing_waits():
        for predictions, truth, more in batches:
            evaluator.update(predictions, truth, **more)
    assert evaluator.compute().manifest["batches"] == 3


@NEEDS_CUDA
def test_the_manifest_names_what_counted_on_the_device() -> None:
    evaluator = Evaluator(METRICS)
    predictions, truth, more = padded(lambda tensor: tensor.cuda())
    evaluator.update(predictions, truth, **more)
    assert evaluator.compute().manifest["kernels"].endswith(" on cuda")


def nan_in(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scores[3, 5] = float("nan")
    return scores, list_columns(1, 4)


def outside_of(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    truth = list_columns(1, 4)
    truth[2, 0] = COLUMNS
    return scores, truth


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (nan_in, BadScores, "batch 1: 1 of 40 rows .* contain NaN"),
        (outside_of, BadTruth, r"batch 1: 1 of 160 numbers in truth .* \(first: row 2, 90\)"),
    ],
)
def test_a_bad_batch_is_named_and_left_out(device: str, spoil: Any, error: Any, words: str) -> None:
    found, expected = make_evaluator(device, METRICS), Evaluator(METRICS)
    good, truth, _ = padded(lambda tensor: tensor.to(device))
    scores, wrong = spoil(draw(0, ROWS, COLUMNS))
    found.update(good, truth)
    found.update(rt.Scores(scores.to(device)), wrong.to(device))
    found.update(good, truth)
    with pytest.raises(error, match=words):
        found.compute()
    for _ in range(2):
        predictions, wanted, _ = padded(torch.clone)
        expected.update(predictions, wanted)
    assert everything(found.compute()) == everything(expected.compute())


@pytest.mark.parametrize("device", DEVICES)
def test_shapes_that_do_not_match_change_nothing(device: str) -> None:
    evaluator = make_evaluator(device, METRICS)
    scores, truth, more = padded(lambda tensor: tensor.to(device))
    evaluator.update(scores, truth, **more)
    before = everything(evaluator.compute())
    for wrong in (truth[:-1], truth.float()):
        with pytest.raises(BadScores, match="truth is a tensor of shape"):
            evaluator.update(scores, wrong, **more)
    with pytest.raises(BadScores, match=r"needs|dimensions|shape"):
        evaluator.update(rt.Scores(draw(0, 3).to(device)), truth)
    assert everything(evaluator.compute()) == before


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_on_two_devices_are_refused(device: str) -> None:
    evaluator = make_evaluator(device, METRICS)
    scores, truth, _ = padded(lambda tensor: tensor.to(device))
    with pytest.raises(BadScores, match="'meta'"):
        evaluator.update(scores, truth.to("meta"))
    assert evaluator.batches == 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_list_that_comes_again_with_another_truth_is_refused(device: str) -> None:
    evaluator = make_evaluator(device, METRICS, repeats="once")
    scores, truth = draw(0, 1, COLUMNS).to(device), list_columns(1, 4)[1:2].to(device)
    evaluator.update(rt.Scores(scores), truth, ids=[5])
    evaluator.update(rt.Scores(scores), (truth + 1) % COLUMNS, ids=[5])
    with pytest.raises(BadTruth, match=r"with different truth \(first: 5\)"):
        evaluator.compute()


def take_part(rank: int, world: int, backend: str, meeting: str) -> None:
    """Evaluate the own share of the lists on a GPU, and compare with all lists in one process."""
    dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=world)
    for name in ("scores", "logits"):
        feed, metrics, chosen = ddp_cases.CASES[name]
        metrics = [metric for metric in metrics if metric != "cross_entropy"]  # to 1e-6 only
        shares = [ddp_cases.padded(rank, world), ddp_cases.alone(0, 1)]
        evaluators = [Evaluator(metrics, chosen, repeats="once") for _ in shares]
        for evaluator, share in zip(evaluators, shares, strict=True):
            for rows in share:
                feed(OnGpu(evaluator), rows)
        gathered = evaluators[0].gathered().compute()
        assert ddp_cases.content(gathered) == ddp_cases.content(evaluators[1].settled().compute())
    dist.destroy_process_group()


class OnGpu:
    """Moves what an evaluator is given to the GPU, where there is one."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def update(self, predictions: Any, truth: Any, **more: Any) -> None:
        if isinstance(predictions, rt.Scores):
            predictions = rt.Scores(_move(predictions.source), users=predictions.users)
        else:
            predictions = _move(predictions)
        moved = {name: _move(value) for name, value in more.items()}
        self.evaluator.update(predictions, _move(truth), **moved)


def _move(value: Any) -> Any:
    return value.cuda() if HAS_CUDA and isinstance(value, torch.Tensor) else value


def test_two_processes_with_gloo_give_the_result_of_one(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(take_part, (2, "gloo", str(tmp_path / "meeting")), nprocs=2)


@NEEDS_CUDA
def test_one_process_with_nccl_gives_the_result_of_one(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(take_part, (1, "nccl", str(tmp_path / "meeting")), nprocs=1)

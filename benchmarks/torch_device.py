"""Updates with tensors on a CUDA device: the bits of arrays, no waiting, and how long they take.

    python benchmarks/torch_device.py [--json FILE]

Prints one line per check and per time; exits 1 if a check fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

import rectitude as rt
from rectitude.errors import BadScores
from rectitude.torch import Evaluator, Ranked

CUDA = torch.device("cuda")
RANKED = [f"{name}@{k}" for name in ("precision", "recall", "ndcg", "map", "mrr", "hit")
          for k in (5, 20)] + ["auc", "mean_rank"]  # fmt: skip
CLASSES = ["accuracy@{1,5}", "mrr", "ndcg@10", "weighted_f1", "macro_f1", "mcc"]
TIMED = [f"{name}@{k}" for name in ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
         for k in (10, 20, 50, 100)]  # fmt: skip
KINDS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
CONVENTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "optimistic ties": {"ties": "optimistic"},
    "ties in order": {"ties": "given"},
    "seen last": {"seen": "last"},
    "seen kept": {"seen": "kept"},
    "in float32": {"score_precision": "float32"},
    "hits above 0": {"hit_scores": "positive"},
}
ZERO = {"undefined": "zero"}  # where all of a list's truth is masked
LOSS = 1e-6


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="check and time updates on a device")
    parser.add_argument("--json", metavar="FILE", help="also write every line there")
    arguments = parser.parse_args()
    lines: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    wrong = 0
    for name, check in checks():
        found = check()
        lines[name] = found
        wrong += found is not True
        print(f"{name}: {'equal' if found is True else f'WRONG: {found}'}", flush=True)
    for name, seconds in times().items():
        lines[name] = seconds
        print(f"{name}: {seconds}", flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(lines, indent=1))
    return int(wrong > 0)


def checks() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every check by name."""
    for kind in KINDS:
        for name, chosen in CONVENTIONS.items():
            words = f"scores, {kind}, {name}"
            yield words, lambda k=kind, c=chosen: same_scores(k, c)  # type: ignore[misc]
        yield f"logits, {kind}", lambda k=kind: same_logits(k)  # type: ignore[misc]
        yield f"interests, {kind}", lambda k=kind: same_scores(k, {}, 3)  # type: ignore[misc]
    yield "lists", same_lists
    yield "embeddings of whole numbers", same_embeddings
    yield "autocast and inference mode", under_modes
    yield "NaN is refused when computed", refused
    yield "nothing waits for the device", nothing_waits


def content(evaluation: rt.Evaluation) -> dict[str, Any]:
    """All that two evaluations of equal scores have in common."""
    results = {
        name: (result.value.hex(), result.state, result.ties, result.counted)
        for name, result in evaluation.results.items()
    }
    prints = [evaluation.manifest["inputs"][s]["fingerprint"] for s in ("predictions", "truth")]
    counts = {entry.name: (entry.count, entry.of, entry.example) for entry in evaluation.ledger}
    return {"results": results, "prints": prints, "counts": counts}


def compared(ours: rt.Evaluation, arrays: rt.Evaluation) -> Any:
    """True, or the parts that differ."""
    mine, theirs = content(ours), content(arrays)
    if mine == theirs:
        return True
    return {part: (mine[part], theirs[part]) for part in mine if mine[part] != theirs[part]}


def tied(rows: int, columns: int, kind: torch.dtype, interests: int = 0) -> Tensor:
    """Scores of which some are equal, and some infinite."""
    generator = torch.Generator(CUDA).manual_seed(rows + columns)
    shape = (rows, interests, columns) if interests else (rows, columns)
    scores = torch.randn(shape, generator=generator, device=CUDA).mul(8).round().div(8)
    scores[..., ::97] = float("-inf")
    scores[::5, ..., 3] = float("inf")
    return scores.to(kind)


def columns_of(rows: int, columns: int, size: int, seed: int) -> Tensor:
    """(rows, size) different columns, some places empty."""
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.rand(rows, columns, generator=generator).topk(size).indices
    chosen[::3, size // 2 :] = -1
    return chosen


def matrix(padded: Tensor, columns: int) -> Any:
    """The same cells as a sparse matrix."""
    array = padded.cpu().numpy()
    row, place = np.nonzero(array >= 0)
    start = np.concatenate(([0], np.cumsum((array >= 0).sum(axis=1))))
    shape = (len(array), columns)
    return csr_array((np.ones(len(row)), array[row, place], start), shape=shape)


def wide(scores: Tensor) -> Any:
    """The scores as an array that holds them exactly."""
    narrow = scores.dtype in (torch.float16, torch.bfloat16)
    return (scores.float() if narrow else scores).cpu().numpy()


def same_scores(kind: torch.dtype, chosen: dict[str, Any], interests: int = 0) -> Any:
    """Scores with masks against arrays, in two batches."""
    switches = {**ZERO, **chosen}
    ours, arrays = Evaluator(RANKED, switches), rt.Evaluator(RANKED, switches)
    for rows in (64, 33):
        scores = tied(rows, 3_000, kind, interests)
        truth, train = columns_of(rows, 3_000, 9, 1), columns_of(rows, 3_000, 40, 2)
        ours.update(rt.Scores(scores), truth.to(CUDA), train=train.to(CUDA))
        sides = matrix(truth, 3_000), matrix(train, 3_000)
        arrays.update(rt.Scores(wide(scores)), sides[0], train=sides[1])
    return compared(ours.compute(), arrays.compute())


def same_logits(kind: torch.dtype) -> Any:
    """Logits against arrays; the loss to what is said of it."""
    names = [*CLASSES, "cross_entropy"]
    ours, arrays = Evaluator(CLASSES), rt.Evaluator(CLASSES)
    loss, exact = Evaluator(names[-1]), rt.Evaluator(names[-1])
    for rows in (257, 64):
        logits = tied(rows, 1_000, kind)
        targets = columns_of(rows, 1_000, 1, 3)[:, 0].clamp(min=0)
        ours.update(logits, targets.to(CUDA))
        arrays.update(rt.Logits(wide(logits)), targets.numpy())
        smooth = torch.randn(rows, 1_000, device=CUDA).to(kind)
        loss.update(smooth, targets.to(CUDA))
        exact.update(rt.Logits(wide(smooth)), targets.numpy())
    found, expected = loss.compute()["cross_entropy"], exact.compute()["cross_entropy"]
    if abs(found - expected) > LOSS * max(1.0, abs(expected)):
        return {"cross_entropy": (found, expected)}
    return compared(ours.compute(), arrays.compute())


def same_lists() -> Any:
    """Lists that torch.topk made, against the same lists from main memory."""
    scores = torch.randn(50, 400, device=CUDA)
    top, truth = scores.topk(30), columns_of(50, 400, 5, 4)
    names = [name for name in RANKED if "@" in name]
    ours, there = Evaluator(names), Evaluator(names)
    ours.update(Ranked(top.indices, top.values), truth.to(CUDA))
    there.update(Ranked(top.indices.cpu(), top.values.cpu()), truth)
    return compared(ours.compute(), there.compute())


def same_embeddings() -> Any:
    """Products of small whole numbers, which every order of adding gives exactly."""
    generator = torch.Generator().manual_seed(0)
    users = torch.randint(-4, 5, (60, 16), generator=generator).float()
    items = torch.randint(-4, 5, (900, 16), generator=generator).float()
    truth = columns_of(60, 900, 6, 5)
    ours, arrays = Evaluator(RANKED, ZERO), rt.Evaluator(RANKED, ZERO)
    ours.update(rt.Embeddings(users.to(CUDA), items.to(CUDA)), truth.to(CUDA))
    arrays.update(rt.Embeddings(users.numpy(), items.numpy()), matrix(truth, 900))
    return compared(ours.compute(), arrays.compute())


def under_modes() -> Any:
    """A model under autocast in inference mode, and with gradients."""
    model = torch.nn.Linear(32, 500, device=CUDA)
    inputs = torch.randn(40, 32, device=CUDA)
    targets = torch.randint(0, 500, (40,), device=CUDA)
    ours, arrays = Evaluator(CLASSES), rt.Evaluator(CLASSES)
    with torch.inference_mode(), torch.autocast(CUDA.type, dtype=torch.bfloat16):
        logits = model(inputs)
        ours.update(logits, targets)
    arrays.update(rt.Logits(wide(logits)), targets.cpu().numpy())
    logits = model(inputs)
    ours.update(logits, targets)
    arrays.update(rt.Logits(wide(logits.detach())), targets.cpu().numpy())
    return compared(ours.compute(), arrays.compute())


def refused() -> Any:
    """A NaN and a target that is no class are raised by compute, with their batch and row."""
    ours = Evaluator("mrr")
    logits = torch.randn(4, 6, device=CUDA)
    targets = torch.tensor([0, 1, 2, 3], device=CUDA)
    ours.update(logits, targets)
    ours.update(torch.where(logits > 0, float("nan"), logits), targets)
    try:
        ours.compute()
    except BadScores as error:
        return ours.compute().manifest["batches"] == 1 or str(error)
    return "nothing was raised"


@contextmanager
def waiting_forbidden() -> Iterator[None]:
    """Whatever waits for the device raises."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def nothing_waits() -> Any:
    """Updates of every kind that promises it, with sparse tensors and tables as truth, too."""
    scores, users = tied(64, 500, torch.float32), np.arange(64)
    padded = columns_of(64, 500, 5, 6)
    device = padded.to(CUDA)
    rows = torch.arange(64)[:, None].expand(padded.shape)[padded >= 0]
    ones = torch.ones(len(rows))
    sparse = torch.sparse_coo_tensor(torch.stack([rows, padded[padded >= 0]]), ones, (64, 500))
    compressed = sparse.coalesce().to_sparse_csr().to(CUDA)
    table = {"user": rows.tolist(), "item": padded[padded >= 0].tolist()}
    vectors = torch.randn(64, 8, device=CUDA), torch.randn(500, 8, device=CUDA)
    targets, numbers = device[:, 0].clamp(min=0), torch.arange(64, device=CUDA)
    top = (vectors[0] @ vectors[1].T).topk(20)
    ranks, classes = Evaluator(RANKED, ZERO), Evaluator([*CLASSES, "cross_entropy"])
    lists = Evaluator([name for name in RANKED if "@" in name])
    for turn in range(3):
        with waiting_forbidden() if turn else _anything():
            ranks.update(rt.Scores(scores), device, train=device.flip(0))
            ranks.update(rt.Scores(scores.half()), compressed, train=compressed)
            ranks.update(rt.Scores(scores, users=users), table, train=table)
            ranks.update(scores, device, ids=numbers)
            ranks.update(rt.Embeddings(*vectors), device)
            classes.update(vectors[0] @ vectors[1].T, targets, ids=numbers)
            lists.update(Ranked(top.indices, top.values, users=numbers), device)
    for evaluator in (ranks, classes, lists):
        evaluator.compute()
    return True


@contextmanager
def _anything() -> Iterator[None]:
    yield


def times() -> dict[str, Any]:
    """Milliseconds of updates, batch after batch."""
    found: dict[str, Any] = {}
    for rows, columns in ((1_024, 27_000), (1_024, 100_000), (256, 1_000_000)):
        scores = torch.randn(rows, columns, device=CUDA)
        truth = torch.randint(0, columns, (rows, 10), device=CUDA)
        train = torch.randint(0, columns, (rows, 100), device=CUDA)
        truth = _distinct(truth)

        def update(one: Any, s: Tensor = scores, t: Tensor = truth, m: Tensor = train) -> None:
            one.update(rt.Scores(s), t, train=m)

        found[f"scores {rows} x {columns}, 28 values"] = timed(update, TIMED)
    for rows, columns in ((4_096, 10_000), (1_024, 100_000)):
        logits = torch.randn(rows, columns, device=CUDA)
        targets = torch.randint(0, columns, (rows,), device=CUDA)

        def classify(one: Any, s: Tensor = logits, t: Tensor = targets) -> None:
            one.update(s, t)

        names = [*CLASSES, "cross_entropy"]
        found[f"logits {rows} x {columns}, {len(names)} metrics"] = timed(classify, names)
    return found


def _distinct(columns: Tensor) -> Tensor:
    """Columns that occur twice in a row become empty places."""
    ordered = columns.sort(dim=1).values
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1
    return ordered


def timed(update: Callable[[Any], None], metrics: list[str]) -> dict[str, float]:
    """Milliseconds of an update: as the host sees it, all in all, and on the device alone."""
    warm = Evaluator(metrics)
    for _ in range(3):
        update(warm)
    warm.compute()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    evaluator, turns = Evaluator(metrics), 20
    begin = time.perf_counter()
    for _ in range(turns):
        update(evaluator)
    host = time.perf_counter() - begin
    evaluator.compute()
    whole = time.perf_counter() - begin
    peak = (torch.cuda.max_memory_allocated() - held) / 1e6
    return {
        "update": round(host / turns * 1e3, 2),
        "update and compute": round(whole / turns * 1e3, 2),
        "device alone": round(device_alone(update, metrics), 2),
        "device memory, MB": round(peak, 1),
    }


def device_alone(update: Callable[[Any], None], metrics: list[str]) -> float:
    """Milliseconds that the device works on an update, judging left out."""
    quiet = Evaluator(metrics)
    quiet._queue.advance = lambda: None  # type: ignore[method-assign]
    event: Any = torch.cuda.Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    update(quiet)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(10):
        update(quiet)
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 10


if __name__ == "__main__":
    sys.exit(main())

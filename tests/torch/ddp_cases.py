"""Evaluations that are divided among processes, and the same evaluations in one process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed as dist
from torch.utils.data import DistributedSampler

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.torch import Evaluator, Ranked, RankingMetric

ROWS, COLUMNS = 11, 23
SCORED = ["ndcg@5", "recall@5", "map", "mrr", "auc", "mean_rank", "gauc"]
SHOWN = ["item_coverage@5", "distinct_items@3", "gini@5", "entropy@5"]
CLASSES = ["accuracy@{1,3}", "mrr", "weighted_f1", "macro_f1@2", "mcc", "balanced_accuracy",
           "median_rank", "cross_entropy"]  # fmt: skip
GENERATOR = np.random.default_rng(5)
SCORES = torch.from_numpy(GENERATOR.normal(size=(ROWS, COLUMNS)).round(1).astype(np.float32))
MARKED = torch.from_numpy((GENERATOR.random((ROWS, COLUMNS)) < 0.2).astype(np.float32))
MARKED[:, 3] = 1
TARGETS = torch.from_numpy(GENERATOR.integers(0, 4, ROWS))
IDS = torch.arange(ROWS) * 7 + 100
NAMES = [f"user {n:02}" for n in range(ROWS)]
TRUTH = {
    "user": [NAMES[row] for row, _ in MARKED.nonzero().tolist()],
    "item": [column for _, column in MARKED.nonzero().tolist()],
}
TRAIN = {"user": NAMES * 3, "item": [(5 * n) % COLUMNS for n in range(3 * ROWS)]}
Share = list[list[int]]
"""The rows of each batch of one process."""


def padded(rank: int, world: int) -> Share:
    """Batches of two from a sampler that repeats rows until all processes have equally many."""
    sampler = DistributedSampler(range(ROWS), world, rank, shuffle=True, seed=1)
    rows = list(sampler)
    return [rows[first : first + 2] for first in range(0, len(rows), 2)]


def uneven(rank: int, world: int) -> Share:
    """All rows in the last processes, none in the first."""
    own_rows = [row for row in range(ROWS) if (row % (world - 1)) + 1 == rank]
    return [own_rows[:3], own_rows[3:]] if own_rows else []


def alone(rank: int, world: int) -> Share:
    return [list(range(ROWS))]


def scores(evaluator: Any, rows: list[int]) -> None:
    predictions = rt.Scores(SCORES[rows], users=[NAMES[row] for row in rows])
    evaluator.update(predictions, MARKED[rows], train=TRAIN)


def logits(evaluator: Any, rows: list[int]) -> None:
    evaluator.update(SCORES[rows, :4], TARGETS[rows], ids=IDS[rows])


def lists(evaluator: Any, rows: list[int]) -> None:
    items = SCORES[rows].topk(6).indices
    padding = torch.full((len(rows), 2), -1)
    evaluator.update(
        Ranked(torch.cat([items, padding], 1), users=IDS[rows]), MARKED[rows].to_sparse()
    )


def shown(evaluator: Any, rows: list[int]) -> None:
    """Add lists over a catalogue that is the same in every process."""
    predictions = Ranked(SCORES[rows].topk(6).indices, users=IDS[rows])
    evaluator.update(predictions, MARKED[rows].to_sparse(), items=list(range(COLUMNS)))


def whole_truth(evaluator: Any, rows: list[int]) -> None:
    """Add a batch with the truth of all users."""
    evaluator.update(rt.Scores(SCORES[rows], users=[NAMES[row] for row in rows]), TRUTH)


def nameless(evaluator: Any, rows: list[int]) -> None:
    evaluator.update(SCORES[rows, :4], TARGETS[rows])


Feed = Callable[[Any, list[int]], None]
CASES: dict[str, tuple[Feed, list[str], Any]] = {
    "scores": (scores, SCORED, {"undefined": "zero"}),
    "scores, micro": (scores, SCORED[:3], {"average": "micro"}),
    "scores, by user": (scores, SCORED[:4], {"unit": "user"}),
    "logits": (logits, CLASSES, None),
    "lists": (lists, SCORED[:4], {"seen": "kept"}),
    "what is shown": (shown, SHOWN, None),
    "the whole truth everywhere": (whole_truth, SCORED, {"undefined": "zero"}),
}
SHARES = {"padded": padded, "uneven": uneven}


def content(evaluation: rt.Evaluation) -> dict[str, Any]:
    """Return everything that must not depend on how lists were divided."""
    results = {
        name: (result.value.hex(), result.state, result.ties, result.interval, result.counted)
        for name, result in evaluation.results.items()
    }
    inputs = evaluation.manifest["inputs"]
    dividing = {"lists_repeated", "lists_short"}
    counts = {e.name: (e.count, e.of) for e in evaluation.ledger if e.name not in dividing}
    return {
        "results": results,
        "failures": {name: str(error) for name, error in evaluation.failures.items()},
        "prints": [inputs[side]["fingerprint"] for side in ("predictions", "truth")],
        "counts": counts,
        "lists": evaluation.manifest["lists"],
    }


def make_evaluator(
    case: str, share: Callable[[int, int], Share], rank: int, world: int
) -> Evaluator:
    """Return the evaluator of one process."""
    feed, metrics, convention = CASES[case]
    evaluator = Evaluator(metrics, convention, intervals=True)
    for rows in share(rank, world):
        feed(evaluator, rows)
    return evaluator


def together(rank: int, world: int) -> dict[str, Any]:
    """Return every case as one process sees it after all have been gathered."""
    results: dict[str, Any] = {}
    for name, share in SHARES.items():
        for case in CASES:
            evaluation = make_evaluator(case, share, rank, world).gathered().compute()
            results[f"{case}, {name}"] = content(evaluation)
            repeated = evaluation.ledger.entries.get("lists_repeated")
            results[f"{case}, {name}, repeated"] = None if repeated is None else str(repeated)
    results["pending"] = content(pending(rank, world).gathered().compute())
    results["metric"] = in_torchmetrics(rank, world)
    results["nameless"] = without_ids(rank, world)
    results["errors"] = {name: error(work, rank) for name, work in ERRORS.items()}
    return results


def pending(rank: int, world: int) -> Evaluator:
    """Return an evaluator whose batches are still pending, as on a GPU."""
    metrics = [metric for metric in CLASSES if metric != "cross_entropy"]  # to 1e-6 only
    evaluator = Later(metrics, repeats="once")
    for rows in padded(rank, world):
        logits(evaluator, rows)
    return evaluator


def in_torchmetrics(rank: int, world: int) -> dict[str, Any]:
    """Return values of a metric that several processes update, before and after it is synced."""
    metric = RankingMetric(CLASSES)
    steps = []
    for rows in padded(rank, world):
        value = metric(SCORES[rows, :4], TARGETS[rows], ids=IDS[rows])
        steps.append(float(value["mrr"]))
    values = {name: float(value).hex() for name, value in metric.compute().items()}
    lists = metric.evaluator.settled().compute().manifest["lists"]
    whole = metric.evaluation()
    return {"values": values, "own": lists, "steps": len(steps), "content": content(whole)}


def without_ids(rank: int, world: int) -> tuple[int, str]:
    evaluator = Evaluator(CLASSES)
    for rows in padded(rank, world):
        nameless(evaluator, rows)
    evaluation = evaluator.gathered().compute()
    return evaluation.manifest["lists"], str(evaluation.ledger.entries["lists_without_ids"])


def broken(rank: int) -> None:
    """One process adds a NaN; the error is raised when the processes gather."""
    evaluator = Later(CLASSES)
    bad = SCORES[:2, :4] if rank else torch.full((2, 4), float("nan"))
    evaluator.update(bad, TARGETS[:2], ids=IDS[2 * rank : 2 * rank + 2])
    evaluator.gathered()


def contradicting(rank: int) -> None:
    """The same list has a different truth in another process."""
    evaluator = Evaluator(CLASSES)
    evaluator.update(SCORES[:2, :4], torch.tensor([0, rank]), ids=IDS[:2])
    evaluator.gathered()


def mixed(rank: int) -> None:
    """Ids are numbers in one process and text in the other."""
    evaluator = Evaluator(CLASSES)
    evaluator.update(SCORES[:2, :4], TARGETS[:2], ids=["a", "b"] if rank else [1, 2])
    evaluator.gathered()


class Later(Evaluator):
    """Processes batches later, as if they were on a GPU."""

    def _stays(self, device: torch.device) -> bool:
        return False


ERRORS = {"broken": broken, "contradicting": contradicting, "mixed": mixed}


def error(work: Callable[[int], None], rank: int) -> tuple[str, str]:
    try:
        work(rank)
    except RectitudeError as raised:
        return type(raised).__name__, raised.found
    return "", ""


def process(rank: int, world: int, meeting: str, folder: str) -> None:
    """Run all cases in one process, and write the results to a file."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    try:
        results = together(rank, world)
        Path(folder, f"{rank}").write_bytes(pickle.dumps(results))
    finally:
        dist.destroy_process_group()

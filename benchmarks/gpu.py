"""Whole evaluations on a CUDA device beside plain torch, and how near both come to the limits.

    python benchmarks/gpu.py [--rounds N] [--only WORDS] [--json FILE]

Each row evaluates the same batches several times, in turns: with `rectitude.torch.Evaluator`
(`reset`, `update` and `compute`, as in every epoch of a training loop), and with plain torch as
people write it. The limit is reading the scores once at the bandwidth that a copy reaches, or the
products at the rate that `matmul` reaches, both measured in this run. Exits 1 if a row is slower
than plain torch.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

import rectitude as rt
from rectitude.torch import Evaluator
from rectitude.torch import evaluate as evaluate_model
from rectitude.torch import evaluator as evaluator_module
from rectitude.torch.kernels import choice

CUDA = torch.device("cuda")
CUTOFFS = (10, 20, 50, 100)
RANKED = [f"{name}@{k}" for name in ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
          for k in CUTOFFS]  # fmt: skip
CLASSES = ["accuracy@{1,5}", "mrr", "ndcg@10", "weighted_f1", "macro_f1", "cross_entropy"]
ITEMS = ["recall@100", "ndcg@100", "mrr@100"]
Work = Callable[[], object]
HOST: list[float] = []
"""seconds that the host spent in `update`, of each evaluation"""
DIFFERENT: list[tuple[int, int]] = []
"""how many lists differed, and of how many, of each evaluation whose lists were grouped"""


class Row(NamedTuple):
    """One row of the table: what is evaluated, by both, and the fewest bytes and operations."""

    name: str
    ours: Work
    plain: Work
    lists: int
    batches: int
    bytes: float = 0.0
    operations: float = 0.0


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose name contains these words")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--million", action="store_true", help="a million users by items, once")
    arguments = parser.parse_args()
    card = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "kernels": choice(CUDA),
        "bandwidth, GB/s": round(bandwidth() / 1e9),
        "products, TFLOP/s": round(product_rate() / 1e12),
    }
    print(json.dumps(card))
    note_groups()
    if arguments.million:
        print(json.dumps(evaluate_a_million()))
        return 0
    results, slower = [], False
    for make in ROWS:
        if arguments.only not in str(make.__doc__):
            continue
        found = measure(make(), arguments.rounds, card)
        torch.cuda.empty_cache()
        print(json.dumps(found), flush=True)
        slower |= found["ours, ms"] > found["plain torch, ms"]
        results.append(found)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([card, *results], indent=1))
    return int(slower)


def measure(row: Row, rounds: int, card: dict[str, Any]) -> dict[str, Any]:
    """Time both in turns, after a warm-up of each."""
    times: dict[str, list[float]] = {"ours": [], "plain torch": []}
    for turn in range(rounds + 2):
        for name, work in (("ours", row.ours), ("plain torch", row.plain)):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            work()
            torch.cuda.synchronize()
            if turn > 1:
                times[name].append(time.perf_counter() - begin)
    limit = max(row.bytes / card["bandwidth, GB/s"] / 1e9,
                row.operations / card["products, TFLOP/s"] / 1e12)  # fmt: skip
    found = {f"{name}, ms": round(1e3 * statistics.median(t), 2) for name, t in times.items()}
    ratio = found["plain torch, ms"] / found["ours, ms"]
    each = found["ours, ms"] * 1e3 / row.lists
    updates = statistics.median(HOST[-rounds:]) * 1e3
    measured = {"row": row.name, **found, "times faster": round(ratio, 2),
                "limit, ms": round(1e3 * limit, 2), "updates on the host, ms": round(updates, 2),
                "host, us a batch": round(1e3 * updates / row.batches),
                "ours, us a list": round(each, 2)}  # fmt: skip
    if DIFFERENT:
        measured["different lists"] = "{:,} of {:,}".format(*DIFFERENT[-1])
        DIFFERENT.clear()
    return measured


def note_groups() -> None:
    """Note how many lists differ, wherever an evaluator groups them."""
    group = vars(evaluator_module)["group_lists"]

    def noted(*arguments: Any) -> Any:
        sound, lists = group(*arguments)
        if lists is not None:
            kinds = (lists.times > 0).sum() + len(lists.untied.times)
            DIFFERENT.append((int(kinds), int(lists.times.sum() + lists.untied.times.sum())))
        return sound, lists

    vars(evaluator_module)["group_lists"] = noted


@contextmanager
def host_time() -> Iterator[None]:
    """Note how long the host takes for the block."""
    begin = time.perf_counter()
    yield
    HOST.append(time.perf_counter() - begin)


def bandwidth() -> float:
    """Bytes read per second by a sum over 8 GB, which reads and hardly writes."""
    source = torch.ones(1 << 31, device=CUDA)
    best = min(timed(lambda: source.view(1 << 11, -1).sum(dim=1)) for _ in range(5))
    return source.numel() * 4 / best


def product_rate() -> float:
    """Operations per second of a large product of bfloat16 matrices."""
    left = torch.randn(16_384, 16_384, device=CUDA, dtype=torch.bfloat16)
    return 2 * 16_384**3 / min(timed(lambda: left @ left) for _ in range(5))


def timed(work: Work) -> float:
    """Seconds that the device takes."""
    event: Any = torch.cuda.Event
    begin, end = (event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def distinct_columns(rows: int, columns: int, size: int) -> Tensor:
    """(rows, size) columns, different within a row: one from each of `size` strips."""
    strip = columns // size
    chosen = torch.randint(0, strip, (rows, size), device=CUDA)
    chosen += torch.arange(size, device=CUDA) * strip
    return chosen.gather(1, torch.rand(rows, size, device=CUDA).argsort(dim=1))


def scores_row(lists: int, columns: int, batch: int) -> Row:
    """Random scores, 10 relevant and 100 seen items a list, 28 metrics."""
    torch.manual_seed(0)
    batches = []
    for _ in range(lists // batch):
        both = distinct_columns(batch, columns, 110)
        truth, seen = both[:, :10].contiguous(), both[:, 10:].contiguous()
        batches.append((torch.rand(batch, columns, device=CUDA), truth, seen))
    return ranked_row(f"scores {lists:,} x {columns:,} fp32, batches of {batch:,}", batches)


def ranked_row(name: str, batches: Sequence[tuple[Tensor, Tensor, Tensor]]) -> Row:
    """Scores, relevant and seen items in batches, 28 metrics."""
    lists, columns = len(batches) * len(batches[0][0]), batches[0][0].shape[1]
    evaluator = Evaluator(RANKED)

    def ours() -> object:
        evaluator.reset()
        with host_time():
            for scores, truth, seen in batches:
                evaluator.update(rt.Scores(scores), truth, train=seen)
        return evaluator.compute()

    def plain() -> object:
        sums = torch.zeros(len(RANKED), dtype=torch.float64, device=CUDA)
        for scores, truth, seen in batches:
            sums += ranked_in_torch(scores.scatter(1, seen, float("-inf")), truth)
        return (sums / lists).tolist()

    return Row(name, ours, plain, lists, len(batches), bytes=4.0 * lists * columns)


def ranked_in_torch(scores: Tensor, truth: Tensor) -> Tensor:
    """Sums of 28 metrics, from the 100 best columns of each row."""
    best = scores.topk(max(CUTOFFS)).indices
    hits = (best[:, :, None] == truth[:, None, :]).any(dim=2).double()
    place = torch.arange(1, max(CUTOFFS) + 1, device=CUDA, dtype=torch.float64)
    discount, relevant = 1 / torch.log2(place + 1), truth.shape[1]
    found, gains = hits.cumsum(dim=1), (hits * discount).cumsum(dim=1)
    precise = (hits * found / place).cumsum(dim=1)
    first = torch.where(found.bool(), 1 / (hits.argmax(dim=1) + 1.0)[:, None], 0.0)
    ideal = discount[:relevant].cumsum(dim=0)
    values = []
    for k in CUTOFFS:
        at, most = k - 1, min(relevant, k)
        precision, recall = found[:, at] / k, found[:, at] / relevant
        both = precision + recall
        f1 = torch.where(both > 0, 2 * precision * recall / both, 0.0)
        values += [precision, recall, f1, (found[:, at] > 0).double(), first[:, at],
                   precise[:, at] / most, gains[:, at] / ideal[most - 1]]  # fmt: skip
    return torch.stack(values).sum(dim=1)


def logits_row(lists: int, classes: int, batch: int) -> Row:
    """Random logits with one target a row."""
    torch.manual_seed(0)
    batches = [
        (torch.randn(batch, classes, device=CUDA), torch.randint(0, classes, (batch,), device=CUDA))
        for _ in range(lists // batch)
    ]

    evaluator = Evaluator(CLASSES)

    def ours() -> object:
        evaluator.reset()
        with host_time():
            for logits, target in batches:
                evaluator.update(logits, target)
        return evaluator.compute()

    def plain() -> object:
        sums = torch.zeros(4, dtype=torch.float64, device=CUDA)
        for logits, target in batches:
            own = logits.gather(1, target[:, None])
            above = (logits > own).sum(dim=1)
            loss = torch.nn.functional.cross_entropy(logits, target, reduction="none")
            right = logits.argmax(dim=1) == target
            parts = [1 / (above + 1.0), loss, right.float(), (above < 5).float()]
            sums += torch.stack(parts).double().sum(dim=1)
        return (sums / lists).tolist()

    name = f"logits {lists:,} x {classes:,} fp32, batches of {batch:,}"
    return Row(name, ours, plain, lists, len(batches), bytes=4.0 * lists * classes)


def embeddings_row(lists: int, items: int, size: int, batch: int) -> Row:
    """Random vectors, 10 relevant and 100 seen items a list, three metrics."""
    torch.manual_seed(0)
    users = torch.randn(lists, size, device=CUDA, dtype=torch.bfloat16)
    vectors = torch.randn(items, size, device=CUDA, dtype=torch.bfloat16)
    both = distinct_columns(lists, items, 110)
    truth, seen = both[:, :10].contiguous(), both[:, 10:].contiguous()

    evaluator = Evaluator(ITEMS)

    def ours() -> object:
        evaluator.reset()
        with host_time():
            for first in range(0, lists, batch):
                here = slice(first, first + batch)
                evaluator.update(rt.Embeddings(users[here], vectors), truth[here], train=seen[here])
        return evaluator.compute()

    def plain() -> object:
        starts = range(0, lists, 1_024)
        best = [(users[n : n + 1_024] @ vectors.T).topk(100).indices for n in starts]
        return best[-1][-1, -1].item()

    name = f"embeddings {lists:,} x {items:,}, d = {size}, bf16"
    return Row(name, ours, plain, lists, lists // batch, operations=2.0 * lists * items * size)


def trained_row(lists: int, columns: int, batch: int) -> Row:
    """Scores of a model trained on half of each list's 20 items; the other half is relevant."""
    torch.manual_seed(0)
    taste, nature = torch.randn(lists, 16, device=CUDA), torch.randn(columns, 16, device=CUDA)
    fame = 2 * torch.randn(columns, device=CUDA)
    drawn = []
    for part in torch.split(taste, batch):
        chance = part @ nature.T + fame
        noise = -torch.empty_like(chance).exponential_().log()
        drawn.append((chance + noise).topk(20).indices)
    items = torch.cat(drawn)
    items = items.gather(1, torch.rand(lists, 20, device=CUDA).argsort(dim=1))
    truth, seen = items[:, :10].contiguous(), items[:, 10:].contiguous()
    users, vectors = train(seen, columns)
    batches = [
        (users[n : n + batch] @ vectors.T, truth[n : n + batch], seen[n : n + batch])
        for n in range(0, lists, batch)
    ]
    return ranked_row(f"scores of a trained model, {lists:,} x {columns:,}", batches)


def train(seen: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """Return vectors of users and items, trained with the cross-entropy of the items seen."""
    users = torch.nn.Parameter(0.1 * torch.randn(len(seen), 33, device=CUDA))
    items = torch.nn.Parameter(0.1 * torch.randn(columns, 33, device=CUDA))
    optimizer = torch.optim.Adam([users, items], lr=0.05)
    for _ in range(100):
        rows = torch.randint(0, len(seen), (4_096,), device=CUDA)
        logs = (users[rows] @ items.T).log_softmax(dim=1)
        loss = -logs.gather(1, seen[rows]).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return users.detach(), items.detach()


def evaluate_a_million() -> dict[str, Any]:
    """Evaluate vectors of a million users and items against all items, in one run."""
    torch.manual_seed(0)
    users, items = (torch.randn(1_000_000, 64, device=CUDA).bfloat16() for _ in range(2))
    truth = distinct_columns(1_000_000, 1_000_000, 10)
    metrics = ["ndcg@100", "recall@100"]
    evaluate_model((users[:20_000], items), None, truth[:20_000], metrics)  # compiles
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held, begin = torch.cuda.memory_allocated(), time.perf_counter()
    evaluation = evaluate_model((users, items), None, truth, metrics)
    seconds = time.perf_counter() - begin
    peak = (torch.cuda.max_memory_allocated() - held) / 1e9
    return {"row": "1,000,000 users x 1,000,000 items, d = 64, bf16", "s": round(seconds, 2),
            "GB beside the vectors": round(peak, 2),
            **{name: evaluation[name] for name in metrics},
            "lists": evaluation.manifest["lists"]}  # fmt: skip


def scores_of_many_items() -> Row:
    """scores 16,384 x 27,000"""
    return scores_row(16_384, 27_000, 4_096)


def scores_of_many_lists() -> Row:
    """scores 65,536 x 3,706"""
    return scores_row(65_536, 3_706, 4_096)


def scores_of_a_trained_model() -> Row:
    """scores of a trained model"""
    return trained_row(65_536, 3_706, 4_096)


def scores_of_a_million_items() -> Row:
    """scores 1,024 x 1,000,000"""
    return scores_row(1_024, 1_000_000, 256)


def logits_of_many_classes() -> Row:
    """logits 16,384 x 50,000"""
    return logits_row(16_384, 50_000, 1_024)


def logits_of_many_rows() -> Row:
    """logits 131,072 x 1,000"""
    return logits_row(131_072, 1_000, 4_096)


def embeddings_of_a_million_items() -> Row:
    """embeddings 16,384 x 1,000,000"""
    return embeddings_row(16_384, 1_000_000, 64, 4_096)


ROWS: Sequence[Callable[[], Row]] = (
    scores_of_many_items,
    scores_of_many_lists,
    scores_of_a_trained_model,
    scores_of_a_million_items,
    logits_of_many_classes,
    logits_of_many_rows,
    embeddings_of_a_million_items,
)

if __name__ == "__main__":
    sys.exit(main())

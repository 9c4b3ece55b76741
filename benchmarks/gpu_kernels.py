"""Kernels on a GPU: each is checked against float64 on fresh inputs, then timed beside plain torch.

    python benchmarks/gpu_kernels.py [ranks logits top products] [--checks | --times]

Needs torch, Triton and NumPy alone: the folder of kernels is loaded by its path. Prints a table,
with the share of the read bandwidth that is measured in the same run, and writes
`$OUT/gpu_kernels.json` if OUT is set.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).resolve().parents[1] / "src/rectitude/torch/kernels"
ROWS: list[dict[str, Any]] = []
DEVICE = torch.device(os.environ.get("DEVICE", "cuda"))


def load_kernels() -> Any:
    """Load the kernels by their path, without the rest of the library."""
    spec = importlib.util.spec_from_file_location(
        "kernels", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernels"] = module
    spec.loader.exec_module(module)
    return module


def measure(work: Callable[[], object], least: int = 5, seconds: float = 0.3) -> float:
    """Return the median time of a call in milliseconds, by events."""
    work()
    torch.cuda.synchronize()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < least or (time.perf_counter() - begun < seconds and len(times) < 200):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        work()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


def host_time(work: Callable[[], object]) -> float:
    """Return the median time in microseconds until a call returns, while the device is idle."""
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1e6)
    return statistics.median(times)


def say(
    work: str, ours: Callable[[], object], plain: Callable[[], object] | None, limit: float
) -> None:
    """Time ours and plain torch, and print a line of the table."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    try:
        mine = measure(ours)
    except Exception as error:
        print(f"{work:46s} FAILED {type(error).__name__}: {str(error)[:300]}", flush=True)
        torch.cuda.empty_cache()
        return
    peak, host = (torch.cuda.max_memory_allocated() - held) / 1e9, host_time(ours)
    theirs = None if plain is None else measure(plain, least=3)
    row = {"work": work, "ms": mine, "torch": theirs, "limit": limit, "host_us": host, "GB": peak}
    ROWS.append(row)
    beside = "" if theirs is None else f"torch {theirs:9.3f} ms ({theirs / mine:5.1f}x)"
    print(
        f"{work:46s} {mine:9.3f} ms {limit / mine:5.0%} of limit, host {host:6.0f} us, "
        f"+{peak:5.2f} GB  {beside}",
        flush=True,
    )
    torch.cuda.empty_cache()


def bandwidth() -> float:
    """Return the bytes read in a millisecond by a sum over 4 GB."""
    block = torch.randn(1 << 30, device=DEVICE)
    return block.numel() * 4 / measure(block.sum)


def columns_of(rows: int, columns: int, amount: int) -> torch.Tensor:
    """Return distinct random columns for each row."""
    few = min(rows, 256)
    drawn = torch.rand(few, columns, device=DEVICE).topk(amount, dim=1).indices
    return drawn.repeat(-(-rows // few), 1)[:rows].contiguous()


def drawn_scores(rows: int, columns: int, dtype: torch.dtype, kind: str) -> torch.Tensor:
    """Return random scores; some equal, some infinite or NaN, or subnormal."""
    scores = torch.randn(rows, columns, device=DEVICE)
    if kind == "tied":
        scores = (scores * 4).round() / 4
    if kind == "holes":
        odd = torch.rand_like(scores) < 0.02
        values = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e-45])
        picked = values.to(DEVICE)[torch.randint(0, 6, scores.shape, device=DEVICE)]
        scores = torch.where(odd, picked, scores)
    if kind == "masked":
        scores.masked_fill_(torch.rand_like(scores) < 0.3, float("-inf"))
    return (scores * 1e-38 if kind == "tiny" else scores).to(dtype)


def check(kernels: Any, name: str) -> None:
    """Compare one kernel with plain torch in 64 bits."""
    from kernels import logits, ranks, top  # type: ignore[import-not-found]
    from kernels.lists import ListedColumns, sort_lists  # type: ignore[import-not-found]

    compared = 0
    kinds = ("random", "tied", "holes", "masked", "tiny")
    types = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    shapes = ((37, 1000), (5, 27001), (3, 300_001), (600, 77), (1, 1))
    for kind in kinds:
        for dtype in types if kind == "tied" else types[:2]:
            for rows, columns in shapes:
                scores = drawn_scores(rows, columns, dtype, kind)
                wide = scores.double()
                targets = torch.randint(-1, columns, (rows, 13), device=DEVICE)
                seen = torch.randint(-1, columns, (rows, 70), device=DEVICE)
                lists = sort_lists(ListedColumns(seen, None), columns)
                if name == "ranks":
                    ours = kernels.count_ranks(scores, targets, seen)
                    ref = ranks.count_plain(wide, ListedColumns(targets, None), lists, None)
                    same(ours, ref, f"ranks {kind} {dtype} {rows}x{columns}")
                    ours = kernels.count_among(scores, targets, seen)
                    ref = ranks.among_plain(wide, ListedColumns(targets, None), lists)
                    same(ours, ref, f"among {kind} {dtype} {rows}x{columns}")
                    compared += 2
                if name == "top" and dtype != torch.float64:
                    for k, order in ((100, "highest column"), (700, "lowest column")):
                        ours = kernels.top_columns(scores, k, seen, ties=order)
                        ref = top.top_plain(wide, k, lists, None, order)
                        same(ours, ref, f"top {k} {kind} {dtype} {rows}x{columns}")
                        compared += 1
                if name == "logits":
                    ours = kernels.count_logits(scores, targets[:, 0])
                    ref = logits.count_plain(wide, targets[:, 0])
                    sound = ref.counts[6] == 0
                    where = f"logits {kind} {dtype} {rows}x{columns}"
                    same((ours.counts[:3],), (ref.counts[:3],), where)
                    same((ours.counts[:, sound],), (ref.counts[:, sound],), where)
                    same((ours.values[2:, sound],), (ref.values[2:, sound],), where)
                    gap = (ours.values[:2] - ref.values[:2]).nan_to_num(0, 0, 0).abs().max()
                    assert gap < 1e-6, (where, float(gap))
                    compared += 1
    print(f"checked {name}: {compared} inputs")


def check_products(kernels: Any) -> None:
    """Compare products with sums in 64 bits, for vectors whose products are exact."""
    from kernels import ranks, top
    from kernels.lists import ListedColumns, sort_lists

    compared = 0
    for dtype in (torch.bfloat16, torch.float32):
        for rows, columns, length in ((130, 5000, 64), (1, 129, 64), (70, 40_000, 64)):
            users = torch.randint(-3, 4, (rows, length), device=DEVICE).to(dtype)
            items = torch.randint(-3, 4, (columns, length), device=DEVICE).to(dtype)
            items[columns // 2 :] = items[: columns - columns // 2].clone()  # equal items
            targets = torch.randint(-1, columns, (rows, 10), device=DEVICE)
            seen = torch.randint(-1, columns, (rows, 100), device=DEVICE)
            lists, wanted = (
                sort_lists(ListedColumns(seen, None), columns),
                ListedColumns(targets, None),
            )
            exact = users.double() @ items.double().T
            where = f"products {dtype} {rows}x{columns}"
            ours = kernels.count_products(users, items, targets, seen)
            same(ours[:1], ranks.count_plain(exact, wanted, lists, None)[:1], where)
            ours = kernels.products_among(users, items, targets, seen)
            same(ours, ranks.among_plain(exact, wanted, lists), f"among {where}")
            ours = kernels.top_products(users, items, 100, seen)
            same(ours, top.top_plain(exact, 100, lists, None, "lowest column"), f"top {where}")
            compared += 3
    users = torch.randn(512, 64, device=DEVICE, dtype=torch.bfloat16)
    items = torch.randn(100_000, 64, device=DEVICE, dtype=torch.bfloat16)
    targets = torch.randint(0, len(items), (512, 10), device=DEVICE)
    ours = kernels.count_products(users, items, targets).counts
    assert bool((ours[1] >= 0).all()), "a target does not equal itself"
    exact = users.double() @ items.double().T
    reference = ranks.count_plain(exact, ListedColumns(targets, None), None, None).counts
    gap = (ours[0] - reference[0]).abs().float()
    print(
        f"checked products: {compared} inputs; on random bf16 vectors, ranks differ from those in "
        f"64 bits by at most {int(gap.max())} of 100,000 (mean {gap.mean():.2g})"
    )


def same(ours: Any, reference: Any, where: str) -> None:
    """Raise an error unless two results are the same."""
    for part, (left, right) in enumerate(zip(ours, reference, strict=True)):
        equal = (left == right) | (left.isnan() & right.isnan())
        if not bool(equal.all()):
            at = tuple(int(i) for i in (~equal).nonzero()[0])
            wrong = int((~equal).sum())
            raise AssertionError(
                f"{where}, part {part}: {wrong} differ, first at {at}: {left[at]} not {right[at]}"
            )


def time_ranks(kernels: Any, speed: float) -> None:
    """Time ranks of 10 targets with 100 columns seen."""
    for shape in (
        (16384, 27000, torch.float32),
        (16384, 27000, torch.bfloat16),
        (65536, 3706, torch.float32),
        (8192, 100_000, torch.float32),
        (1024, 1_000_000, torch.float32),
    ):
        time_ranks_of(kernels, speed, *shape)


def time_ranks_of(kernels: Any, speed: float, rows: int, columns: int, dtype: torch.dtype) -> None:
    """Time ranks in scores of one shape."""
    scores = torch.randn(rows, columns, device=DEVICE, dtype=dtype)
    both = columns_of(rows, columns, 110)
    targets, seen = both[:, :10].contiguous(), both[:, 10:].contiguous()
    limit = scores.numel() * scores.element_size() / speed
    name = f"ranks {rows}x{columns} {str(dtype)[6:]}"
    say(f"{name} 10 targets", lambda: kernels.count_ranks(scores, targets), None, limit)

    def route() -> None:
        torch.topk(scores.scatter(1, seen, float("-inf")), 100, dim=1)

    say(f"{name}, 100 seen", lambda: kernels.count_ranks(scores, targets, seen), route, limit)
    sorted_seen = seen.int().sort(dim=1).values
    say(
        f"{name}, 100 seen, sorted",
        lambda: kernels.count_ranks(scores, targets, sorted_seen, seen_sorted=True),
        None,
        limit,
    )


def time_logits(kernels: Any, speed: float) -> None:
    """Time logits beside counting, cross-entropy and arg-max."""
    for shape in (
        (16384, 50_000, torch.float32),
        (16384, 50_000, torch.bfloat16),
        (131_072, 1000, torch.float32),
        (131_072, 1000, torch.bfloat16),
        (65_536, 10_000, torch.float32),
    ):
        time_logits_of(kernels, speed, *shape)


def time_logits_of(kernels: Any, speed: float, rows: int, columns: int, dtype: torch.dtype) -> None:
    """Time logits of one shape."""
    scores = torch.randn(rows, columns, device=DEVICE, dtype=dtype)
    target = torch.randint(0, columns, (rows,), device=DEVICE)

    def plain() -> None:
        (scores > scores.gather(1, target[:, None])).sum(1)
        torch.nn.functional.cross_entropy(scores, target)
        scores.argmax(-1)

    limit = scores.numel() * scores.element_size() / speed
    name = f"logits {rows}x{columns} {str(dtype)[6:]}"
    say(name, lambda: kernels.count_logits(scores, target), plain, limit)
    if columns == 50_000:
        ours = kernels.count_logits(scores[:2048], target[:2048]).values[0]
        exact = torch.nn.functional.cross_entropy(
            scores[:2048].double(), target[:2048], reduction="none"
        )
        print(f"    largest error of the loss {(ours - exact).abs().max().item():.1e}")


def time_top(kernels: Any, speed: float) -> None:
    """Time the best columns beside `torch.topk`."""
    for shape in (
        (16384, 27000, 100, torch.float32),
        (16384, 27000, 100, torch.bfloat16),
        (8192, 100_000, 100, torch.float32),
        (1024, 1_000_000, 100, torch.float32),
        (65536, 3706, 100, torch.float32),
        (16384, 27000, 10, torch.float32),
        (16384, 27000, 1000, torch.float32),
        (16, 1_000_000, 100, torch.float32),
    ):
        time_top_of(kernels, speed, *shape)


def time_top_of(
    kernels: Any, speed: float, rows: int, columns: int, k: int, dtype: torch.dtype
) -> None:
    """Time the best columns of scores of one shape."""
    scores = torch.randn(rows, columns, device=DEVICE, dtype=dtype)
    limit = scores.numel() * scores.element_size() / speed
    name = f"top {k} {rows}x{columns} {str(dtype)[6:]}"
    say(
        name,
        lambda: kernels.top_columns(scores, k),
        lambda: torch.topk(scores, k, dim=1),
        limit,
    )
    if columns == 27000 and k == 100:
        seen = columns_of(rows, columns, 100).int().sort(dim=1).values
        say(
            f"{name}, 100 seen",
            lambda: kernels.top_columns(scores, k, seen, seen_sorted=True),
            None,
            limit,
        )


def time_products(kernels: Any, speed: float) -> None:
    """Time ranks and the best items from vectors, beside products and `torch.topk` in batches."""
    del speed
    for shape in (
        (65536, torch.bfloat16),
        (2048, torch.float32),
    ):
        time_products_of(kernels, *shape)


def time_products_of(kernels: Any, rows: int, dtype: torch.dtype) -> None:
    """Time products of one number of users."""
    users = torch.randn(rows, 64, device=DEVICE, dtype=dtype)
    items = torch.randn(1_000_000, 64, device=DEVICE, dtype=dtype)
    both = columns_of(rows, len(items), 110)
    targets, seen = both[:, :10].contiguous(), both[:, 10:].int().sort(dim=1).values
    limit = 2 * rows * len(items) * 64 / 790e9
    name = f"products {rows}x1M d=64 {str(dtype)[6:]}"

    def plain() -> None:
        for first in range(0, rows, 1024):
            torch.topk(users[first : first + 1024] @ items.T, 100)

    say(f"{name} ranks", lambda: kernels.count_products(users, items, targets), None, limit)
    say(
        f"{name} ranks, 100 seen",
        lambda: kernels.count_products(users, items, targets, seen, seen_sorted=True),
        None,
        limit,
    )
    say(f"{name} top 100", lambda: kernels.top_products(users, items, 100), plain, limit)
    say(
        f"{name} top 100, 100 seen",
        lambda: kernels.top_products(users, items, 100, seen, seen_sorted=True),
        None,
        limit,
    )


def main() -> None:
    """Check, time, and print."""
    kernels = load_kernels()
    wanted = [name for name in sys.argv[1:] if name in TIMES] or [*TIMES]
    torch.manual_seed(int(os.environ.get("SEED", time.time_ns() % 2**31)))
    print(torch.__version__, kernels.choice(DEVICE), torch.cuda.get_device_name())
    speed = bandwidth()
    print(f"read {speed / 1e9:.2f} TB/s")
    for name in wanted:
        checks = partial(
            check_products if name == "products" else partial(check, name=name), kernels
        )
        times = partial(TIMES[name], kernels, speed)
        left_out = {"--checks": times, "--times": checks}
        works = {checks, times} - {left_out.get(argument) for argument in sys.argv[1:]}
        for work in (work for work in (checks, times) if work in works):
            begun = time.perf_counter()
            try:
                work()
            except Exception as error:
                print(f"FAILED {name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            print(f"    {time.perf_counter() - begun:.1f} s", flush=True)
    if "OUT" in os.environ:
        facts = {"torch": torch.__version__, "read": speed, "rows": ROWS}
        Path(os.environ["OUT"], "gpu_kernels.json").write_text(json.dumps(facts, indent=1))


TIMES = {"ranks": time_ranks, "logits": time_logits, "top": time_top, "products": time_products}

if __name__ == "__main__":
    main()

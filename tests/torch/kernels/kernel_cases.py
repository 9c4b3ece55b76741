"""Scores of every kind that counting must get right, and lists of columns of every form."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

KINDS = ("random", "tied", "level", "infinite", "missing", "tiny", "huge", "zeros")
TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
CASES = [
    *((kind, torch.float32) for kind in KINDS),
    *((kind, dtype) for kind in ("tied", "tiny", "huge") for dtype in TYPES[1:]),
]
"""Every kind, and in every type those that a type could change."""
DEVICE = os.environ.get("RECTITUDE_TEST_DEVICE", "cpu")
"""Where the kernels count (see `test_other_ways.py`)."""
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether Triton's interpreter runs the kernels in this process (see `test_other_ways.py`). It
reads bfloat16 below the normal numbers wrongly, and multiplies the bits of bfloat16."""


def make_scores(kind: str, shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Return scores in which a kind of difficulty is frequent."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(shape, generator=generator, dtype=torch.float64)
    some = torch.rand(shape, generator=generator)
    if kind == "tied":
        scores = (scores * 2).round()
    elif kind == "level":
        scores = torch.full(shape, 0.5, dtype=torch.float64)
    elif kind == "infinite":
        scores = torch.where(some < 0.3, float("-inf"), scores)
        scores = torch.where(some > 0.9, float("inf"), scores)
    elif kind == "missing":
        scores = torch.where(some < 0.1, float("nan"), scores.round())
        scores[0] = 1.0
    elif kind == "tiny":  # the smallest numbers of a type, below its normal ones
        normal = INTERPRETED and dtype == torch.bfloat16
        scores = (scores * 3).round() * torch.finfo(dtype).smallest_normal / (1 if normal else 8)
    elif kind == "huge":
        scores = scores.sign() * torch.finfo(dtype).max * (0.5 + some.double() / 2)
    elif kind == "zeros":  # zeros of both signs are equal
        scores = torch.where(some < 0.5, -0.0, 0.0).double()
    return scores.to(dtype)


def on_device(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that takes tensors on the CPU, counts on the device, and returns them."""

    def move(value: Any) -> Any:
        return value.to(DEVICE) if isinstance(value, Tensor) else value

    def count(*tensors: Any, **more: Any) -> Any:
        found = kernel(*map(move, tensors), **{name: move(value) for name, value in more.items()})
        return type(found)(*(tensor.cpu() for tensor in found))

    return count


class Listed(NamedTuple):
    """Columns of each row, by hand and as the kernels take them."""

    rows: list[list[int]]
    columns: Tensor
    offsets: Tensor | None


def list_columns(
    rows: int, columns: int, most: int, form: str, seed: int, outside: bool = True
) -> Listed:
    """Return up to `most` columns for each row; some empty rows, and repeats where they are many.

    `outside` allows for numbers that are no column.
    """
    random = np.random.default_rng(seed)
    last = columns + 3 if outside else columns
    lists = [random.integers(0, last, random.integers(0, most + 1)).tolist() for _ in range(rows)]
    lists[0] = random.integers(0, columns, most).tolist()
    if form == "offsets":
        ends = np.cumsum([0, *map(len, lists)])
        flat = [column for one in lists for column in one]
        return Listed(lists, torch.tensor(flat, dtype=torch.int64), torch.from_numpy(ends))
    padded = [one + [-1] * (most - len(one)) for one in lists]
    return Listed(padded, torch.tensor(padded, dtype=torch.int64), None)


def merge_by_hand(scores: Tensor) -> np.ndarray:
    """Return (rows, columns) scores in 64 bits: the highest of all interests, NaN if one is."""
    wide = scores.double().numpy()
    return wide if wide.ndim == 2 else wide.max(axis=1)


def in_order(counts: Tensor, listed: Listed) -> list[np.ndarray]:
    """Return the counts (3, targets) of each row."""
    if listed.offsets is None:
        return list(counts.numpy().transpose(1, 0, 2))
    ends = listed.offsets.tolist()
    pairs = pairwise(ends)
    return [counts[:, first:last].numpy() for first, last in pairs]

"""Batches of plain scores that were counted on a device, to be judged later, many at a time.

Scores and embeddings without ids, with truth and training data as columns in tensors, leave nothing
to do on the host but to keep their counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.arrays import Flags, Ragged
from rectitude.data.dense import ReadingKey, TopClasses
from rectitude.evaluation.counted import CountedBatch
from rectitude.judge.align import are_known, known_columns
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.torch.tensors import EMPTY, Arrays, TensorCells

_NAMES = ("users", "items", "lists", "padding")
_PADDED = ("targets", "padded")


def is_plain(predictions: object, truth: object, more: Mapping[str, Any], key: ReadingKey) -> bool:
    """Return whether a batch is plain scores, with columns in tensors as truth and training
    data."""
    train = more.get("train")
    others = {**more, "train": None, "list_key": None}
    masked_only = train is None or (isinstance(train, Tensor) and key.seen == "removed")
    names = [getattr(predictions, name, None) for name in _NAMES]
    return (
        type(predictions) in (Scores, Embeddings, Logits)
        and all(name is None for name in names)
        and isinstance(truth, Tensor)
        and masked_only
        and all(value is None for value in others.values())
    )


def read_counted_logits(arrays: Arrays, shape: tuple[int, int], words: str) -> CountedBatch | None:
    """Return logits as counts; None if something about them is wrong."""
    target, found = arrays["truth/column"].reshape(-1), arrays["0/logits"]
    if found[6].any() or target.min(initial=0) < 0 or target.max(initial=0) >= shape[1]:
        return None
    best, last, second = found[3:6].copy()
    loss = arrays.get("0/loss")
    return CountedBatch(
        shape,
        words,
        Ragged(np.arange(shape[0] + 1), target.astype(np.int32)),
        None,
        np.ones(shape[0], bool),
        0,
        cut(found[:3], None),
        None,
        0,
        TopClasses(best, second, last, None if loss is None else loss.copy()),
    )


def facts_of(wanted: TensorCells, train: TensorCells | None, columns: int) -> dict[str, Tensor]:
    """Return what `read_counted` must know about truth and training data, as tensors."""
    if wanted.layout not in _PADDED or (train is not None and train.layout not in _PADDED):
        return {}
    ordered = wanted.column.sort(dim=1).values
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != EMPTY)
    facts = {"plain/repeats": repeated.any()}
    if train is not None:
        inside = (train.column >= 0) & (train.column < columns)
        known = torch.zeros(columns + 1, dtype=torch.bool, device=inside.device)
        known.index_fill_(0, torch.where(inside, train.column, columns).reshape(-1), value=True)
        lowest = EMPTY if train.layout == "padded" else 0
        outside = ~inside & ((train.column < lowest) | (train.column >= columns))
        facts |= {"plain/known": known[:columns], "plain/outside": outside.any()}
    return facts


def read_counted(
    arrays: Arrays, shape: tuple[int, int], words: str, depth: int | None
) -> CountedBatch | None:
    """Return the batch as counts; None if it must be judged at once, because something about it is
    wrong or special."""
    truth, counts, rows = arrays["truth/column"], arrays["0/counts"], arrays["0/rows"]
    if "plain/repeats" not in arrays or arrays["plain/repeats"] or _are_unsound(arrays):
        return None
    lowest = truth.min(initial=0)
    if lowest < EMPTY or truth.max(initial=0) >= shape[1]:
        return None
    standings, offsets = counts.reshape(3, -1), truth.shape[1] * np.arange(shape[0] + 1)
    items = truth.reshape(-1).astype(np.int32)
    if lowest == EMPTY:
        filled = truth != EMPTY
        offsets = np.append(0, np.cumsum(filled.sum(axis=1)))
        items, standings = items[filled.reshape(-1)], standings[:, filled.reshape(-1)]
    standings = cut(standings, depth)
    has_train = "plain/known" in arrays
    known = np.append(arrays["plain/known"], False) if has_train else known_columns(shape[1], None)
    return CountedBatch(
        shape,
        words,
        Ragged(offsets, items),
        None,
        are_known(known, items),
        int((~known[:-1]).sum()) * shape[0],
        standings,
        rows[4].astype(np.int64) if has_train else None,
        0,
    )


def _are_unsound(arrays: Arrays) -> bool:
    """Return whether there are values to raise an error about."""
    finite: list[Flags] = [arrays[name] for name in arrays if name.startswith("finite/")]
    holes = arrays["0/rows"][0]
    special = (arrays.get(name) for name in ("plain/outside", "large"))
    wrong = any(bool(flag) for flag in special if flag is not None)
    return wrong or bool((holes > 0).any()) or not all(flags.all() for flags in finite)


def cut(counts: NDArray[Any], depth: int | None) -> NDArray[np.int32]:
    """Return standings from counts of other columns, -1 for items below the last rank that
    matters."""
    above, level, before = counts
    deep = above < 0 if depth is None else (above < 0) | (above >= depth)
    standings = np.empty(counts.shape, np.int32)
    standings[0] = above if depth is None else np.where(above >= depth, -1, above)
    standings[1] = np.where(deep, 0, level + 1)
    standings[2] = np.where(deep, 0, before)
    return standings

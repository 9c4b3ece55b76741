"""Combine the evaluators of several processes: states are gathered and added, never averaged.

Every process first sends its lists, so that all processes know which lists are repeated. It then
sends its sums without those. An error in one process is raised in all of them, so that none waits
for another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import torch
from torch import distributed as dist

from rectitude import errors
from rectitude.errors import MetricFailed, RectitudeError
from rectitude.evaluation.saved import restore, store
from rectitude.evaluation.stream import Evaluator
from rectitude.torch.records import Record
from rectitude.torch.repeats import ListIds, count_once, list_records, repeats_of

_OK, _FAILED = b"+", b"-"


def is_distributed(group: Any = None) -> bool:
    """Return whether a group has more than one process."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size(group) > 1


def gather(
    evaluator: Callable[[], Evaluator],
    records: Callable[[], Sequence[Record]],
    once: bool,
    group: Any = None,
) -> Evaluator:
    """Return the batches of all processes together; every process must call this.

    `evaluator` returns the sums of this process, and may raise an error; then `records` returns its
    lists, also those of batches that were pending before.
    """
    rank = dist.get_rank(group)

    def pack_lists() -> bytes:
        evaluator()
        return list_records(records() if once else []).as_bytes()

    repeats = repeats_of([ListIds.from_bytes(sent) for sent in _exchange(pack_lists, group)])

    def pack_sums() -> bytes:
        counted = count_once(evaluator(), records(), repeats, rank)
        return json.dumps(store(counted), allow_nan=False).encode()

    sums = [restore(json.loads(sent)) for sent in _exchange(pack_sums, group)]
    everything = reduce(add, sums)
    repeats.report(everything.state.ledger)
    return everything


def _exchange(work: Callable[[], bytes], group: Any) -> list[bytes]:
    """Return the result of every process, in all of them; raise the first error if one failed."""
    try:
        result = _OK + work()
    except Exception as error:  # of any kind: the other processes must not wait
        known = error if isinstance(error, RectitudeError) else MetricFailed(repr(error))
        message = [type(known).__name__, known.found, known.expected, known.advice]
        all_gather_bytes(_FAILED + json.dumps(message).encode(), group)
        raise
    results = all_gather_bytes(result, group)
    for rank, sent in enumerate(results):
        if sent[:1] == _FAILED:
            name, found, expected, advice = json.loads(sent[1:])
            raise _error_class(name)(f"process {rank}: {found}", expected, advice)
    return [sent[1:] for sent in results]


def _error_class(name: str) -> type[RectitudeError]:
    return getattr(errors, name, RectitudeError)


def all_gather_bytes(content: bytes, group: Any = None) -> list[bytes]:
    """Return the bytes of every process; their lengths may differ."""
    device = _device(group)
    world = dist.get_world_size(group)
    size = torch.tensor([len(content)], device=device)
    sizes = [torch.empty_like(size) for _ in range(world)]
    dist.all_gather(sizes, size, group=group)
    lengths = [int(length) for length in sizes]
    buffer = torch.zeros(max(lengths), dtype=torch.uint8, device=device)
    buffer[: len(content)] = torch.frombuffer(bytearray(content), dtype=torch.uint8).to(device)
    buffers = [torch.empty_like(buffer) for _ in range(world)]
    dist.all_gather(buffers, buffer, group=group)
    parts = zip(buffers, lengths, strict=True)
    return [filled[:length].cpu().numpy().tobytes() for filled, length in parts]


def _device(group: Any) -> torch.device:
    """Return the device that the group's messages use."""
    if dist.get_backend(group) == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")

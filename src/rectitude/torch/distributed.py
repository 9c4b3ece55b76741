"""Evaluators of several processes brought together: states are gathered and added, never averaged.

Every process sends its lists first, so that all of them know which are repeated, and then its sums
without those. What goes wrong in one is raised in all, so that none waits for another.
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
from rectitude.evaluation.saved import restored, stored
from rectitude.evaluation.stream import Evaluator
from rectitude.torch.records import Record
from rectitude.torch.repeats import Listed, counted_once, listed, repeats_of

_FINE, _WRONG = b"+", b"-"


def several(group: Any = None) -> bool:
    """Whether there is a group of more than one process."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size(group) > 1


def gathered(
    evaluator: Callable[[], Evaluator], records: Sequence[Record], once: bool, group: Any = None
) -> Evaluator:
    """All processes' batches together; every process must call this.

    `evaluator` gives the process's own sums, and may raise.
    """
    rank = dist.get_rank(group)

    def lists() -> bytes:
        evaluator()
        return listed(records if once else []).as_bytes()

    repeats = repeats_of([Listed.from_bytes(part) for part in _shared(lists, group)])

    def sums() -> bytes:
        mine = counted_once(evaluator(), records, repeats, rank)
        return json.dumps(stored(mine), allow_nan=False).encode()

    parts = [restored(json.loads(part)) for part in _shared(sums, group)]
    everything = reduce(add, parts)
    repeats.tell(everything.state.ledger)
    return everything


def _shared(work: Callable[[], bytes], group: Any) -> list[bytes]:
    """What every process makes, in all of them; the first error, where one could not make it."""
    try:
        mine = _FINE + work()
    except Exception as error:  # whatever it is, the others must not wait
        known = error if isinstance(error, RectitudeError) else MetricFailed(repr(error))
        said = [type(known).__name__, known.found, known.expected, known.advice]
        all_gather_bytes(_WRONG + json.dumps(said).encode(), group)
        raise
    every = all_gather_bytes(mine, group)
    for rank, part in enumerate(every):
        if part[:1] == _WRONG:
            name, found, expected, advice = json.loads(part[1:])
            raise _error(name)(f"process {rank}: {found}", expected, advice)
    return [part[1:] for part in every]


def _error(name: str) -> type[RectitudeError]:
    return getattr(errors, name, RectitudeError)


def all_gather_bytes(mine: bytes, group: Any = None) -> list[bytes]:
    """The bytes of every process, however many each has."""
    device = _device(group)
    world = dist.get_world_size(group)
    size = torch.tensor([len(mine)], device=device)
    sizes = [torch.empty_like(size) for _ in range(world)]
    dist.all_gather(sizes, size, group=group)
    lengths = [int(one) for one in sizes]
    room = torch.zeros(max(lengths), dtype=torch.uint8, device=device)
    room[: len(mine)] = torch.frombuffer(bytearray(mine), dtype=torch.uint8).to(device)
    rooms = [torch.empty_like(room) for _ in range(world)]
    dist.all_gather(rooms, room, group=group)
    parts = zip(rooms, lengths, strict=True)
    return [part[:length].cpu().numpy().tobytes() for part, length in parts]


def _device(group: Any) -> torch.device:
    """Where the group's messages lie."""
    if dist.get_backend(group) == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")

"""Small results on their way from a device: copied behind its work, and read once they are there.

A batch leaves nothing on the device but what is copied. The host never waits for it in `update`,
unless very many batches are on their way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.errors import RectitudeError
from rectitude.torch.tensors import array

MOST = 64
"""Batches that may be on their way: the host waits for the oldest of more."""
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Copies:
    """Tensors that are being copied to the host; `arrived` is None where nothing can tell."""

    tensors: Mapping[str, Tensor]
    arrived: torch.cuda.Event | None = None

    @staticmethod
    def of(tensors: Mapping[str, Tensor]) -> Copies:
        """Begin to copy. Where copies cannot be made behind the host's back, they stay on their
        device until they are read."""
        detached = {name: tensor.detach() for name, tensor in tensors.items()}
        devices = [tensor.device for tensor in detached.values() if tensor.is_cuda]
        if not devices:
            return Copies({name: tensor.clone() for name, tensor in detached.items()})
        with torch.cuda.device(devices[0]):
            copies = {name: _copy(tensor) for name, tensor in detached.items()}
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record()
        return Copies(copies, event)

    def ready(self) -> bool:
        """Whether all of them can be read without waiting."""
        return self.arrived is not None and bool(self.arrived.query())  # type: ignore[no-untyped-call]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of them as arrays; waits for what is not there yet."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return {name: array(tensor) for name, tensor in self.tensors.items()}


def _copy(tensor: Tensor) -> Tensor:
    if not tensor.is_cuda:
        return tensor.clone()
    room = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return room.copy_(tensor, non_blocking=True)


@dataclass
class Queue:
    """Batches on their way, oldest first, and the errors of those that arrived and were bad."""

    waiting: deque[tuple[int, Copies, Callable[[Arrays], None]]] = field(default_factory=deque)
    errors: list[RectitudeError] = field(default_factory=list)

    def put(self, number: int, copies: Copies, take: Callable[[Arrays], None]) -> None:
        """A batch, and what is done with it when it is there."""
        self.waiting.append((number, copies, take))

    def advance(self) -> None:
        """Take what has arrived, in order; wait only where too much is on its way."""
        while self.waiting and (len(self.waiting) > MOST or self.waiting[0][1].ready()):
            self._take()

    def arrive(self) -> None:
        """Take everything, and keep what was wrong."""
        while self.waiting:
            self._take()

    def finish(self) -> None:
        """Take everything, and raise the first error there was."""
        self.arrive()
        if self.errors:
            raise self.errors.pop(0)

    def _take(self) -> None:
        number, copies, take = self.waiting.popleft()
        try:
            take(copies.arrays())
        except RectitudeError as error:
            found = f"batch {number}: {error.found}"
            self.errors.append(type(error)(found, error.expected, error.advice))

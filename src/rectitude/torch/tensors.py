"""Tensors as the rest of the library takes them: arrays, and cells of the scores that they name.

What was counted on a device is copied behind its work and read once it is there (`Copies`,
`Queue`): a batch leaves nothing else on the device, and the host never waits for it in `update`,
unless very many batches are on their way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from rectitude.arrays import offsets_of
from rectitude.errors import BadScores, BadTruth, RectitudeError

Arrays = Mapping[str, NDArray[Any]]
Layout = Literal["targets", "padded", "sparse", "marked"]
EMPTY = -1
"""A place of a padded tensor that holds no column."""
MOST = 64
"""Batches that may be on their way: the host waits for the oldest of more."""


def array(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array: the same memory, unless it lies on a device or NumPy lacks its type."""
    plain = tensor.detach().cpu()
    if plain.is_floating_point() and plain.dtype not in (torch.float16, torch.float32):
        plain = plain if plain.dtype == torch.float64 else plain.float()
    return plain.numpy()


def plain(value: object) -> object:
    """The value, as an array if it is a dense tensor."""
    return array(value) if isinstance(value, Tensor) and value.layout == torch.strided else value


def name_of(dtype: torch.dtype) -> str:
    """The type in words, as NumPy has it: `float32`."""
    return str(dtype).removeprefix("torch.")


def device_of(tensors: Mapping[str, object]) -> torch.device:
    """The one device on which tensors lie; small ones may lie in main memory all the same."""
    places = {what: t.device for what, t in tensors.items() if isinstance(t, Tensor)}
    for what, place in places.items():
        if place.type == "meta":
            raise BadScores(f"{what} is a tensor on the device 'meta', without values.", "values.")
    first = next(iter(places))
    for what, place in places.items():
        if place not in (places[first], torch.device("cpu")):
            raise BadScores(
                f"{first} lies on {places[first]} and {what} on {place}.",
                f"both on {places[first]}; small tensors may lie in main memory, too.",
                f"{what}.to({first}.device)",
            )
    return places[first]


def layout_of(given: Tensor, rows: int, columns: int, what: str) -> Layout:
    """How a tensor names cells of the scores, or an error if it cannot.

    One dimension: the column of each row. The shape of the scores: a value for every cell, 0 for
    none. Any other width: whole numbers of columns, -1 for an empty place. Sparse: as it is.
    """
    shape = tuple(given.shape)
    if given.layout != torch.strided:
        _require_sparse(given, rows, columns, what)
        return "sparse"
    if given.ndim not in (1, 2) or len(given) != rows:
        raise BadScores(
            f"{what} is a tensor of shape {shape}, and there are {rows} rows of {columns} columns.",
            f"({rows},) columns, ({rows}, any) columns with -1 for empty places, or ({rows}, "
            f"{columns}) values.",
        )
    if shape == (rows, columns):
        return "marked"
    if given.is_floating_point() or given.dtype == torch.bool or given.is_complex():
        raise BadScores(
            f"{what} is a tensor of shape {shape} and type {name_of(given.dtype)}.",
            f"whole numbers of columns, or the shape ({rows}, {columns}) of the scores.",
        )
    return "targets" if given.ndim == 1 else "padded"


def _require_sparse(given: Tensor, rows: int, columns: int, what: str) -> None:
    if tuple(given.shape) != (rows, columns):
        raise BadScores(
            f"{what} is a sparse tensor of shape {tuple(given.shape)}, and the scores are "
            f"{rows} x {columns}.",
            "the shape of the scores: rows and columns are matched by position.",
        )
    if given.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise BadScores(f"{what} is a tensor with the layout {given.layout}.", "CSR or COO.")


def _require_grades(given: Tensor, what: str) -> None:
    """Refuse whole numbers with -1 in the shape of the scores: they could be padded columns."""
    whole = not given.is_floating_point() and given.dtype not in (torch.bool, torch.uint8)
    if whole and bool((given == EMPTY).any()):
        raise BadTruth(
            f"{what} is a tensor of whole numbers with the shape of the scores, and holds -1: it "
            "may name columns, with -1 for empty places, or give grades.",
            "something that can be told.",
            "grades: make them floats; columns: hand over a sparse tensor.",
        )


class TensorCells(NamedTuple):
    """Cells of the scores that a tensor names, row after row, with a value each or 1 for all."""

    row: Tensor
    column: Tensor
    value: Tensor | None
    layout: Layout


def cells_of(given: Tensor, rows: int, columns: int, what: str) -> TensorCells:
    """The cells that a tensor names, where it lies."""
    layout, given = layout_of(given, rows, columns, what), given.detach()
    if layout == "sparse":
        return _sparse_cells(given, rows)
    if layout == "marked":
        _require_grades(given, what)
        row, column = given.nonzero(as_tuple=True)
        return TensorCells(row, column, given[row, column], layout)
    wide = given.unsqueeze(1) if layout == "targets" else given
    row = torch.arange(rows, device=given.device)[:, None].expand(wide.shape)
    return TensorCells(row.reshape(-1), wide.reshape(-1).long(), None, layout)


def _sparse_cells(given: Tensor, rows: int) -> TensorCells:
    if given.layout == torch.sparse_coo:
        own = given.coalesce()
        row, column = own.indices()
        return TensorCells(row, column, own.values(), "sparse")
    column, lengths = given.col_indices().long(), given.crow_indices().diff()
    numbers = torch.arange(rows, device=given.device)
    row = torch.repeat_interleave(numbers, lengths, output_size=len(column))
    return TensorCells(row, column, given.values(), "sparse")


def as_tensors(name: str, cells: TensorCells) -> dict[str, Tensor]:
    """The cells by name, to be copied together with others."""
    parts = {f"{name}/row": cells.row, f"{name}/column": cells.column}
    return parts if cells.value is None else {**parts, f"{name}/value": cells.value}


class HostCells(NamedTuple):
    """Cells as arrays."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    layout: Layout

    @staticmethod
    def of(given: Mapping[str, NDArray[Any]], name: str, layout: Layout) -> HostCells:
        """The cells among arrays that `as_tensors` named."""
        column = given[f"{name}/column"]
        value = given.get(f"{name}/value", np.ones(len(column)))
        return HostCells(given[f"{name}/row"], column, value.astype(np.float64), layout)

    def matrix(self, rows: int, columns: int, what: str) -> csr_array:
        """The cells as a sparse matrix, in their own order, or an error if one lies outside."""
        self.require_inside(columns, what)
        there = self.column >= 0
        row, column, value = self.row, self.column, self.value
        if not there.all():
            row, column, value = row[there], column[there], value[there]
        return csr_array((value, column, offsets_of(row, rows)), shape=(rows, columns))

    def require_inside(self, columns: int, what: str) -> None:
        """An error if a column does not exist."""
        lowest = EMPTY if self.layout == "padded" else 0
        wrong = np.flatnonzero((self.column < lowest) | (self.column >= columns))
        if not len(wrong):
            return
        first = int(wrong[0])
        kind: type[RectitudeError] = BadTruth if what in ("truth", "targets") else BadScores
        raise kind(
            f"{len(wrong)} of {len(self.column)} numbers in {what} are no column (first: row "
            f"{int(self.row[first])}, {int(self.column[first])}).",
            f"numbers from 0 to {columns - 1}" + (", -1 for an empty place." if lowest else "."),
            "leave rows out that have no target." if self.layout == "targets" else "",
        )


def on_host(given: Tensor, rows: int, columns: int, what: str) -> HostCells:
    """The cells that a tensor names, as arrays.

    NumPy makes them: torch would start threads for so little work, which keep the processors busy
    while scores are counted.
    """
    layout = layout_of(given, rows, columns, what)
    if layout == "sparse":
        parts = as_tensors(what, _sparse_cells(given.detach(), rows))
        return HostCells.of({key: array(part) for key, part in parts.items()}, what, layout)
    if layout == "marked":
        _require_grades(given, what)
        values = array(given)
        row, column = np.nonzero(values != 0)
        return HostCells(row, column, values[row, column].astype(np.float64), layout)
    column = array(given).reshape(-1).astype(np.int64, copy=False)
    row = np.repeat(np.arange(rows), len(column) // max(rows, 1))
    return HostCells(row, column, np.ones(len(column)), layout)


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

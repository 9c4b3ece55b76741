"""Convert tensors to what the rest of the library takes: arrays, and cells of the score matrix.

Results counted on a device are copied asynchronously and read once they have arrived (`Copies`,
`Queue`). A batch leaves nothing else on the device, and `update` never waits for the device unless
very many batches are pending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.arrays import Ragged, offsets_of
from rectitude.errors import BadScores, BadTruth, RectitudeError
from rectitude.predictions.masks import Cells

Arrays = Mapping[str, NDArray[Any]]
Layout = Literal["targets", "padded", "sparse", "marked"]
EMPTY = -1
"""Marks an empty position of a padded tensor."""
MOST = 64
"""How many batches may be pending; beyond that, the host waits for the oldest."""


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Return a tensor as an array: the same memory if it is on the CPU and NumPy has its type."""
    host = tensor.detach().cpu()
    if host.is_floating_point() and host.dtype not in (torch.float16, torch.float32):
        host = host if host.dtype == torch.float64 else host.float()
    return host.numpy()


def to_plain(value: object) -> object:
    """Return a dense tensor as an array, and any other value as it is."""
    return to_array(value) if isinstance(value, Tensor) and value.layout == torch.strided else value


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a type as NumPy spells it, such as `float32`."""
    return str(dtype).removeprefix("torch.")


def device_of(tensors: Mapping[str, object]) -> torch.device:
    """Return the device of some tensors; they must share one, but any of them may be on the CPU."""
    devices = {what: t.device for what, t in tensors.items() if isinstance(t, Tensor)}
    for what, device in devices.items():
        if device.type == "meta":
            raise BadScores(
                f"{what} is a tensor on the device 'meta', so it holds no values.",
                "a tensor with values.",
            )
    first = next(iter(devices))
    for what, device in devices.items():
        if device not in (devices[first], torch.device("cpu")):
            raise BadScores(
                f"{first} is on {devices[first]} and {what} on {device}.",
                f"both on {devices[first]}; small tensors may also be on the CPU.",
                f"{what}.to({first}.device)",
            )
    return devices[first]


def layout_of(tensor: Tensor, rows: int, columns: int, what: str) -> Layout:
    """Return how a tensor refers to cells of the scores; raise an error if its shape does not fit.

    One dimension: one column index per row ("targets"). The shape of the scores: a value for every
    cell, 0 for none ("marked"). Any other width: column indices, -1 for an empty position
    ("padded"). Sparse tensors are used as they are.
    """
    shape = tuple(tensor.shape)
    if tensor.layout != torch.strided:
        _require_sparse(tensor, rows, columns, what)
        return "sparse"
    if tensor.ndim not in (1, 2) or len(tensor) != rows:
        raise BadScores(
            f"{what} is a tensor of shape {shape}, but the scores are {rows} x {columns}.",
            f"({rows},) column indices, ({rows}, any) column indices with -1 for empty positions, "
            f"or ({rows}, {columns}) values.",
        )
    if shape == (rows, columns):
        return "marked"
    if tensor.is_floating_point() or tensor.dtype == torch.bool or tensor.is_complex():
        raise BadScores(
            f"{what} is a tensor of shape {shape} and type {name_of(tensor.dtype)}.",
            f"column indices as integers, or the shape ({rows}, {columns}) of the scores.",
        )
    return "targets" if tensor.ndim == 1 else "padded"


def _require_sparse(tensor: Tensor, rows: int, columns: int, what: str) -> None:
    if tuple(tensor.shape) != (rows, columns):
        raise BadScores(
            f"{what} is a sparse tensor of shape {tuple(tensor.shape)}, but the scores have the "
            f"shape {(rows, columns)}.",
            "the shape of the scores, because rows and columns are matched by position.",
        )
    if tensor.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise BadScores(f"{what} is a tensor with layout {tensor.layout}.", "CSR or COO layout.")


def _require_grades(tensor: Tensor, what: str) -> None:
    """Refuse integers with -1 in the shape of the scores: they could be padded column indices."""
    integers = not tensor.is_floating_point() and tensor.dtype not in (torch.bool, torch.uint8)
    if integers and bool((tensor == EMPTY).any()):
        raise BadTruth(
            f"{what} is a tensor of integers with the shape of the scores, and it contains -1: it "
            "could hold column indices, with -1 for empty positions, or grades.",
            "a tensor that can only mean one of them.",
            "for grades, convert it to floats; for column indices, pass a sparse tensor.",
        )


class TensorCells(NamedTuple):
    """Cells of the scores, row by row; each has a value, or all have the value 1."""

    column: Tensor
    """(rows, any) columns with -1 for empty positions, or flat with `offsets`"""
    offsets: Tensor | None
    value: Tensor | None
    layout: Layout

    def rows(self) -> Tensor:
        """Return the row of each cell, flat."""
        if self.offsets is not None:
            return torch.repeat_interleave(self.offsets.diff(), output_size=len(self.column))
        numbers = torch.arange(len(self.column), device=self.column.device)
        return numbers[:, None].expand(self.column.shape).reshape(-1)


def cells_of(tensor: Tensor, rows: int, columns: int, what: str) -> TensorCells:
    """Return the cells that a tensor refers to, on the tensor's device."""
    layout, tensor = layout_of(tensor, rows, columns, what), tensor.detach()
    if layout == "sparse":
        return _sparse_cells(tensor, rows)
    if layout == "marked":
        _require_grades(tensor, what)
        row, column = tensor.nonzero(as_tuple=True)
        return TensorCells(column, _offsets(row, rows), tensor[row, column], layout)
    padded = tensor.unsqueeze(1) if layout == "targets" else tensor
    return TensorCells(padded, None, None, layout)


def _sparse_cells(tensor: Tensor, rows: int) -> TensorCells:
    if tensor.layout == torch.sparse_coo:
        coalesced = tensor.coalesce()
        row, column = coalesced.indices()
        return TensorCells(column, _offsets(row, rows), coalesced.values(), "sparse")
    return TensorCells(
        tensor.col_indices().long(), tensor.crow_indices().long(), tensor.values(), "sparse"
    )


def _offsets(row: Tensor, rows: int) -> Tensor:
    """Return where each row begins, and where the last one ends; `row` must ascend."""
    return torch.searchsorted(row.contiguous(), torch.arange(rows + 1, device=row.device))


def as_tensors(name: str, cells: TensorCells) -> dict[str, Tensor]:
    """Return the tensors of some cells by name, so that they can be copied with others."""
    parts = {"column": cells.column, "offsets": cells.offsets, "value": cells.value}
    return {f"{name}/{part}": tensor for part, tensor in parts.items() if tensor is not None}


class HostCells(NamedTuple):
    """Cells of the scores as arrays."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    layout: Layout

    @staticmethod
    def of(arrays: Mapping[str, NDArray[Any]], name: str, layout: Layout) -> HostCells:
        """Return the cells from arrays that `as_tensors` named."""
        columns, offsets = arrays[f"{name}/column"], arrays.get(f"{name}/offsets")
        column = columns.reshape(-1).astype(np.int64, copy=False)
        rows, each = (len(columns), columns.shape[1]) if offsets is None else (len(offsets) - 1, 0)
        row = np.repeat(np.arange(rows), each if offsets is None else np.diff(offsets))
        value = arrays.get(f"{name}/value", np.ones(len(column)))
        return HostCells(row, column, value.astype(np.float64), layout)

    def cells(self, rows: int, columns: int, what: str) -> Cells:
        """Return the cells in their original order; raise an error if one is out of range."""
        self.require_inside(columns, what)
        filled = self.column >= 0
        row, column, value = self.row, self.column, self.value
        if not filled.all():
            row, column, value = row[filled], column[filled], value[filled]
        return Cells(Ragged(offsets_of(row, rows), column), value, (rows, columns))

    def require_inside(self, columns: int, what: str) -> None:
        """Raise an error if a column does not exist."""
        lowest = EMPTY if self.layout == "padded" else 0
        wrong = np.flatnonzero((self.column < lowest) | (self.column >= columns))
        if not len(wrong):
            return
        first = int(wrong[0])
        kind: type[RectitudeError] = BadTruth if what in ("truth", "targets") else BadScores
        raise kind(
            f"{len(wrong)} of {len(self.column)} numbers in {what} are not columns of the scores "
            f"(first: row {int(self.row[first])}, {int(self.column[first])}).",
            f"column indices from 0 to {columns - 1}"
            + (", or -1 for an empty position." if lowest else "."),
            "leave out rows that have no target." if self.layout == "targets" else "",
        )


def cells_on_host(tensor: Tensor, rows: int, columns: int, what: str) -> HostCells:
    """Return the cells that a tensor refers to, as arrays.

    NumPy does this work. Torch would start threads for it, and they would keep the processors busy
    while scores are counted.
    """
    layout = layout_of(tensor, rows, columns, what)
    if layout == "sparse":
        parts = as_tensors(what, _sparse_cells(tensor.detach(), rows))
        return HostCells.of({key: to_array(part) for key, part in parts.items()}, what, layout)
    if layout == "marked":
        _require_grades(tensor, what)
        values = to_array(tensor)
        row, column = np.nonzero(values != 0)
        return HostCells(row, column, values[row, column].astype(np.float64), layout)
    column = to_array(tensor).reshape(-1).astype(np.int64, copy=False)
    row = np.repeat(np.arange(rows), len(column) // max(rows, 1))
    return HostCells(row, column, np.ones(len(column)), layout)


def cells_of_padded(
    padded: NDArray[Any], columns: int, order: Literal["given", "any"]
) -> Cells | None:
    """Return the cells that padded column indices refer to; None if an index is out of range.

    `padded` is (rows, any), with -1 for empty positions. `order` "given" keeps the order of the
    indices; "any" lets them be sorted.
    """
    if not padded.size:
        return Cells(_filled_positions(padded, 0), None, (len(padded), columns))
    ascending = padded if _rows_ascend(padded) else np.sort(padded, axis=1)
    lowest, highest = ascending[:, 0].min(), ascending[:, -1].max()
    if lowest < EMPTY or highest >= columns:
        return None
    if order == "any":
        return Cells(_filled_positions(ascending, lowest), None, (len(padded), columns))
    repeated = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] != EMPTY)
    distinct = not repeated.any()
    return Cells(_filled_positions(padded, lowest), None, (len(padded), columns), distinct)


def _rows_ascend(matrix: NDArray[Any]) -> bool:
    """Whether the values of every row strictly ascend."""
    values, width = matrix.reshape(-1), matrix.shape[1]
    falls = values[1:] <= values[:-1]
    falls[width - 1 :: width] = False
    return not falls.any()


def _filled_positions(padded: NDArray[Any], lowest: int) -> Ragged:
    """Return the column indices of each row without empty positions."""
    rows, width = padded.shape
    if lowest > EMPTY:
        return Ragged(width * np.arange(rows + 1), padded.reshape(-1))
    filled = padded != EMPTY
    return Ragged(np.append(0, np.cumsum(filled.sum(axis=1))), padded[filled])


@dataclass(frozen=True)
class Copies:
    """Tensors that are being copied to the host; `arrived` is None if no event tracks the copy."""

    tensors: Mapping[str, Tensor]
    arrived: torch.cuda.Event | None = None

    @staticmethod
    def of(tensors: Mapping[str, Tensor]) -> Copies:
        """Start to copy tensors. Tensors on devices without asynchronous copies stay there until
        they are read."""
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
        """Return whether all tensors can be read without waiting."""
        return self.arrived is not None and bool(self.arrived.query())  # type: ignore[no-untyped-call]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all tensors as arrays, after waiting for those that have not arrived."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return {name: to_array(tensor) for name, tensor in self.tensors.items()}


def _copy(tensor: Tensor) -> Tensor:
    if not tensor.is_cuda:
        return tensor.clone()
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return copy.copy_(tensor, non_blocking=True)


@dataclass
class Queue:
    """Pending batches, oldest first, and the errors of batches that have been processed."""

    waiting: deque[tuple[int, Copies, Callable[[Arrays], None]]] = field(default_factory=deque)
    errors: list[RectitudeError] = field(default_factory=list)

    def put(self, number: int, copies: Copies, take: Callable[[Arrays], None]) -> None:
        """Add a batch, and the function to call with its arrays when they arrive."""
        self.waiting.append((number, copies, take))

    def advance(self) -> None:
        """Process batches that have arrived, in order; wait only if too many are pending."""
        while self.waiting and (len(self.waiting) > MOST or self.waiting[0][1].ready()):
            self._take()

    def arrive(self) -> None:
        """Process all batches, and keep their errors."""
        while self.waiting:
            self._take()

    def finish(self) -> None:
        """Process all batches, and raise the first error."""
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

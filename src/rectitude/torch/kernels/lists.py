"""Columns listed for each row: padded with -1, or as offsets and columns (CSR)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

EMPTY = -1
LAST = 2**31 - 1
"""Stands for an empty position in sorted lists, so that it comes last."""


class ListedColumns(NamedTuple):
    """Columns listed for each row; without `offsets`, `columns` is (rows, any), padded with -1."""

    columns: Tensor
    offsets: Tensor | None

    def width(self) -> int:
        """Return how many positions a row has, or has on average, rounded up."""
        if self.offsets is None:
            return int(self.columns.shape[1])
        return -(-len(self.columns) // max(1, len(self.offsets) - 1))

    def rows(self) -> Tensor:
        """Return the row of each position, in the shape of `columns`."""
        if self.offsets is None:
            rows = torch.arange(len(self.columns), device=self.columns.device)
            return rows[:, None].expand(self.columns.shape)
        positions = torch.arange(len(self.columns), device=self.columns.device)
        return torch.searchsorted(self.offsets[1:].contiguous(), positions, right=True)

    def part(self, first: int, last: int) -> ListedColumns:
        """Return the lists of some rows; the host waits for the offsets, if there are any."""
        if self.offsets is None:
            return ListedColumns(self.columns[first:last], None)
        begin, end = self.offsets[[first, last]].tolist()
        return ListedColumns(self.columns[begin:end], self.offsets[first : last + 1] - begin)


def open_lists(columns: Tensor, offsets: Tensor | None, rows: int, what: str) -> ListedColumns:
    """Return lists of columns; raise an error if their shape does not fit `rows` rows."""
    if columns.is_floating_point() or columns.dtype == torch.bool:
        raise ValueError(f"{what} are of type {columns.dtype}, but column numbers are integers.")
    if offsets is not None:
        if columns.ndim != 1 or tuple(offsets.shape) != (rows + 1,):
            raise ValueError(
                f"{what} have the shape {tuple(columns.shape)} and offsets of shape "
                f"{tuple(offsets.shape)}; {rows} rows take one dimension and {rows + 1} offsets."
            )
        return ListedColumns(columns.contiguous(), offsets.long().contiguous())
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or len(columns) != rows:
        raise ValueError(
            f"{what} have the shape {tuple(columns.shape)}, but the scores have {rows} rows; "
            f"({rows},) and ({rows}, any) fit, with {EMPTY} for empty positions."
        )
    return ListedColumns(columns.contiguous(), None)


def sort_lists(lists: ListedColumns, columns: int) -> ListedColumns:
    """Return the lists with ascending columns in each row, and empty positions last."""
    empty = (lists.columns < 0) | (lists.columns >= columns)
    if lists.offsets is None:
        filled = torch.where(empty, LAST, lists.columns).to(torch.int32)
        return ListedColumns(filled.sort(dim=1).values, None)
    keys = (lists.rows() << 31) | torch.where(empty, LAST, lists.columns).long()
    return ListedColumns((keys.sort().values & LAST).to(torch.int32), lists.offsets)

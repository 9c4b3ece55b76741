"""The footer of a Parquet file, as far as it says where row groups begin: for errors that name the
damaged one. Polars does not tell.

A footer is a Thrift struct in the compact protocol: every field begins with a byte that holds its
type and the distance to the number of the last field; integers are zigzag varints. Only two fields
are read here, the row groups and their numbers of rows; all others are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_MAGIC = 4
"""bytes of PAR1 at the end, and of the length of the footer before it"""
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _TEXT = 0, 1, 2, 3, 7, 8
_LIST, _SET, _MAP, _STRUCT = 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_ROW_GROUPS, _ROWS = 4, 3
"""the numbers of the fields `FileMetaData.row_groups` and `RowGroup.num_rows`"""


def rows_by_group(path: Path) -> list[int]:
    """Return how many rows each row group has; raise an error for a damaged footer."""
    with path.open("rb") as file:
        file.seek(-2 * _MAGIC, 2)
        size = int.from_bytes(file.read(_MAGIC), "little")
        file.seek(-size - 2 * _MAGIC, 2)
        footer = _Reader(file.read(size))
    rows: list[int] = []
    for number, kind in footer.fields():
        if number == _ROW_GROUPS and kind == _LIST:
            rows += [_rows_of_group(footer) for _ in range(footer.read_list()[0])]
        else:
            footer.skip(kind)
    return rows


def _rows_of_group(footer: _Reader) -> int:
    rows = 0
    for number, kind in footer.fields():
        if number == _ROWS:
            rows = footer.read_integer()
        else:
            footer.skip(kind)
    return rows


class _Reader:
    """Reads a struct from bytes, from the beginning to the end."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield the number and type of each field of a struct; its value must be read or
        skipped."""
        number = 0
        while (head := self._byte()) & 0x0F != _STOP:
            number = number + (head >> 4) if head >> 4 else self.read_integer()
            yield number, head & 0x0F

    def read_integer(self) -> int:
        """Read a signed integer."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def read_list(self) -> tuple[int, int]:
        """Read the length of a list and the type of its elements, which follow."""
        head = self._byte()
        return (self._varint() if head >> 4 == 0x0F else head >> 4), head & 0x0F

    def skip(self, kind: int) -> None:
        """Skip a value."""
        if kind == _BYTE:
            self.at += 1
        elif kind in _INTEGERS:
            self._varint()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _TEXT:
            length = self._varint()
            self.at += length
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:
            self._skip_elements(kind)

    def _skip_elements(self, kind: int) -> None:
        if kind in (_LIST, _SET):
            length, inner = self.read_list()
            for _ in range(length):
                self.skip(_BYTE if inner in (_TRUE, _FALSE) else inner)
        elif kind == _MAP:
            length = self._varint()
            kinds = self._byte() if length else 0
            for _ in range(length):
                self.skip(kinds >> 4)
                self.skip(kinds & 0x0F)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"type {kind} in the footer of a Parquet file")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

"""What a small Parquet file would take in memory, as its footer and its pages say.

A column of equal values takes a few bytes, however long it is: in cells that hold lists, or as one
long text, even a file of a few rows can ask for gigabytes. Polars tells the number of rows alone.
Only the sizes in the footer and in the heads of the pages are looked at; where they contradict each
other, the larger number counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rectitude.data.formats.footer import CONTRADICTION, ROW_GROUPS, read_footer, read_struct
from rectitude.errors import UnreadableFile
from rectitude.memory import require_growth

LARGE = 1 << 24
"""Files of that many bytes are not looked into: the number of their rows says enough."""
_MOST_PAGES = 200_000
_VALUE_BYTES = 8
_CHUNKS, _ABOUT = 1, 3
"""Fields: the columns of a row group, and what a column says about itself."""
_PATH, _VALUES, _UNPACKED, _PACKED, _FIRST_PAGE, _DICTIONARY = 3, 5, 6, 7, 9, 11
"""Fields of a column: its name, how many values it has, its bytes, and where its pages are."""
_PAGE_UNPACKED, _PAGE_PACKED, _PAGE_KINDS = 2, 3, (5, 7, 8)
"""Fields of a page: its bytes, and what only a page of data, in both versions, or of a dictionary
has, which begins with how many values there are."""


def require_modest(file: Path | bytes, label: str, columns: Collection[str] | None = None) -> None:
    """Raise an error if these columns of a Parquet file, by default all, would take absurdly much
    memory for its size. Damaged files pass: reading them says what is wrong."""
    size = len(file) if isinstance(file, bytes) else file.stat().st_size
    if size >= LARGE:
        return
    data = file if isinstance(file, bytes) else file.read_bytes()
    need, pages = 0, 0
    for chunk in _read_chunks(data):
        if columns is not None and chunk.column not in columns:
            continue
        inside = 0
        for page in _read_pages(data, chunk):
            inside, pages = inside + page, pages + 1
            if pages > _MOST_PAGES:
                raise UnreadableFile(
                    f"{label} ({size:,} bytes) has more than {_MOST_PAGES:,} pages.",
                    "pages of some kilobytes, as programs write them.",
                    "write it again.",
                )
        need += max(chunk.need, inside)
    require_growth(need, size, label)


class _Chunk(NamedTuple):
    """A column of a row group: its name, the bytes it needs, and where its pages lie."""

    column: str
    need: int
    start: int
    end: int


def _read_chunks(data: bytes) -> Iterator[_Chunk]:
    try:
        for group in read_footer(data).get(ROW_GROUPS, ()):
            for chunk in group.get(_CHUNKS, ()):
                yield _chunk_of(chunk.get(_ABOUT, {}))
    except CONTRADICTION:
        return


def _chunk_of(about: Mapping[int, Any]) -> _Chunk:
    name = b"".join(about.get(_PATH, [b""])[:1]).decode()
    need = max(about.get(_UNPACKED, 0), _VALUE_BYTES * about.get(_VALUES, 0))
    starts = [about.get(field, 0) for field in (_FIRST_PAGE, _DICTIONARY)]
    start = min(filter(None, starts), default=0)
    return _Chunk(name, need, start, start + about.get(_PACKED, 0))


def _read_pages(data: bytes, chunk: _Chunk) -> Iterator[int]:
    """Yield the bytes that each page of a column needs."""
    at = chunk.start
    try:
        while 0 <= at < chunk.end:
            page, at = read_struct(data, at)
            values = max(page.get(kind, {}).get(1, 0) for kind in _PAGE_KINDS)
            yield max(page.get(_PAGE_UNPACKED, 0), _VALUE_BYTES * values)
            at += max(page.get(_PAGE_PACKED, 0), 0)
    except CONTRADICTION:
        return

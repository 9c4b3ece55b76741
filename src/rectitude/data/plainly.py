"""Text whose numbers are all written the plain way, so that they can be read as numbers at once.

Polars takes `07`, `+7` and ` 7` for 7 where it is asked for integers; as ids they differ. One pass
over the bytes tells whether a text has any of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rectitude.threads import in_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_BLOCK = 1 << 20  # threads that have less to do at a time wait for each other
_REST = 4
"""Bytes behind the beginning of a field, it included, that show whether it is odd."""
_PADDING = b"\n" * _REST
_ASCII = 128
_MINUS, _POINT, _ZERO, _NEWLINE, _RETURN = b"-.0\n\r"


def written_plainly(content: Bytes, separator: str) -> bool:
    """Whether no field begins with a quote, a space, a plus, `-0` (but `-0.5` may) or a zero before
    another digit, and no carriage return stands inside a line. The content begins with a field."""
    if (content[:1] >= _ASCII).any():  # a byte order mark, perhaps
        return False
    signs = [ord(byte) for byte in '+" \t' if byte != separator]
    odd: list[bool] = []

    def look(part: Bytes) -> None:
        odd.append(_odd(part, ord(separator), signs))

    def work(first: int, last: int) -> None:
        for low in range(first, last, _BLOCK):
            look(content[low : min(low + _BLOCK, last) + _REST])

    look(np.frombuffer(b"\n" + content[:_REST].tobytes() + _PADDING, np.uint8))
    look(np.frombuffer(content[-_REST:].tobytes() + _PADDING, np.uint8))
    in_blocks(work, max(content.size - _REST, 0), _BLOCK)
    return not any(odd)


def _odd(content: Bytes, separator: int, signs: Sequence[int]) -> bool:
    """Whether one of the fields is not written plainly that begin before the last few bytes."""
    before, first = content[:-_REST], content[1 : 1 - _REST]
    returns = before == _RETURN
    if returns.any() and (first[returns] != _NEWLINE).any():
        return True
    begins = before == separator
    begins |= before == _NEWLINE
    begins &= first <= _ZERO  # what is odd comes before the digits
    one, two, three = (content[np.flatnonzero(begins) + place] for place in (1, 2, 3))
    zero = (one == _ZERO) & (two >= _ZERO) & (two <= _ZERO + 9)
    zero |= (one == _MINUS) & (two == _ZERO) & (three != _POINT)
    return bool(zero.any() or any((one == byte).any() for byte in signs))

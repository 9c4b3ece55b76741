"""Something tabular whose columns can be listed before any of them is converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Source:
    """A source that is open: its column names are known, its values are not yet read.

    So that columns nobody asked for are never read, parsed or copied.
    """

    label: str
    names: Sequence[str]
    take: Callable[[Mapping[str, str]], pl.DataFrame]
    """From new name -> name in the source to a frame with the new names."""
    roles: Mapping[str, str] | None = None
    """Role -> name, where position or format decides and not the name; None: names decide."""
    anonymous: bool = False
    """The columns have no names in the source: `names` are canonical and cannot be chosen."""
    given: bool = False
    text: bool = False
    handed: pl.Series | None = None
    hint: str = ""
    """What to say beside an error about its columns."""
    recognised: str = ""
    """The format of a file, and what says that it is one."""

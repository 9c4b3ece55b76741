"""The value that reading gives, and what the wrappers around a source have in common.

Something tabular whose columns can be listed before any of them is converted.

The public wrapper that names the columns of a table of interactions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, Protocol, TypeGuard

import polars as pl

ROW_NUMBER = "row number"
"""The column of ids that are nothing but the numbers of rows."""
ATTRIBUTE = "attribute:"
"""How columns begin that are kept beside those of a table's own, because slices were asked for."""
What = Literal["predictions", "truth", "train", "items", "users", "weights", "candidates", "log"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose columns are recognised: canonical names, as Polars."""

    frame: pl.DataFrame
    """Canonical columns only, rows in the order of the source. An id column without any value has
    the dtype Null, because nothing says what it would hold."""
    columns: Mapping[str, str]
    """Canonical name -> the name in the source; empty where there was none (the keys of a dict)."""
    source: str
    """The source in words: "recs.parquet", "pandas DataFrame", "dict of lists"."""
    given: bool
    """Rows of one list stand in the order of the list."""
    text: bool
    """Ids come from untyped text: they are String, or integers where all of them are written the
    plain way, and may take the type of the other side."""
    handed: pl.Series | None
    """Keys of all lists handed over, also empty ones; None if unknown."""
    recognised: str = ""
    """The format of a file, and why it was taken for one; empty for what was in memory."""
    left: tuple[str, ...] = ()
    """The columns of the source that are not looked at."""


class Wrapped(Protocol):
    """A source with explicit column names around it, such as `Interactions` or `Lists`."""

    @property
    def source(self) -> object:
        """The table itself."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that were named, by role."""

    @property
    def users(self) -> object | None:
        """The keys of all lists handed over, if they were given."""

    @property
    def ordered(self) -> bool:
        """Whether the rows of each list stand in its order."""


def is_wrapped(source: object) -> TypeGuard[Wrapped]:
    """Whether the source is a wrapper.

    The type of `columns` is looked at because a frame has an attribute of that name too.
    """
    has_all = all(hasattr(source, name) for name in ("source", "columns", "users", "ordered"))
    return has_all and isinstance(getattr(source, "columns", None), Mapping)


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


@dataclass(frozen=True, slots=True)
class Interactions:
    """A table of who met what, with its columns named explicitly.

    The source is anything `rectitude` reads: a frame, a path, a dict, a sparse matrix. Columns that
    are not named here are recognised as usual.
    """

    source: object
    _: KW_ONLY
    user: str | None = None
    item: str | None = None
    grade: str | None = None
    timestamp: str | None = None
    list_key: str | None = None
    weight: str | None = None
    format: str | None = None
    """The format of a file, such as "recbole", in place of what its content suggests."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role -> column, for the roles that were named."""
        named = {
            "user": self.user,
            "item": self.item,
            "grade": self.grade,
            "timestamp": self.timestamp,
            "list": self.list_key,
            "weight": self.weight,
        }
        return {role: name for role, name in named.items() if name is not None}

    @property
    def users(self) -> None:
        """Interactions say nothing about lists that hold none."""
        return None

    @property
    def ordered(self) -> bool:
        """The rows of interactions are in no particular order."""
        return False

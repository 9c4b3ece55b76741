"""Tables on their way to the judge.

`Interactions` names the columns of a source, `Source` is one that is open, `Table` what was read of
it, and `Inputs` are the tables of one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, get_args

import polars as pl

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.data.ledger import Ledger

if TYPE_CHECKING:
    from rectitude.data.dense import Dense  # which has a table of its rows

ROW_NUMBER = "row number"
"""The column of ids that are nothing but the numbers of rows."""
ATTRIBUTE = "attribute:"
"""How columns begin that are kept beside those of a table's own, because slices were asked for."""
What = Literal["predictions", "truth", "train", "items", "users", "weights", "candidates", "log"]


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
        return named(
            user=self.user, item=self.item, grade=self.grade, timestamp=self.timestamp,
            list=self.list_key, weight=self.weight,
        )  # fmt: skip

    @property
    def users(self) -> None:
        """Interactions say nothing about lists that hold none."""
        return None

    @property
    def ordered(self) -> bool:
        """The rows of interactions are in no particular order."""
        return False


def named(**columns: str | None) -> dict[str, str]:
    """Role -> column, for the roles that were named."""
    return {role: name for role, name in columns.items() if name is not None}


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


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tables of one evaluation."""

    predictions: Table
    truth: Table
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None
    weights: Table | None = None
    dense: Dense | None = None
    """the scores, if they are dense; `predictions` then has one row for each of theirs"""
    seen: Ragged | None = None
    """the cells of the scores that training held"""
    recorded: Integers | None = None
    """(rows, places) the columns in an order that was recorded, in place of the logits' own"""
    beside: Callable[[], Floats] | None = None
    """(rows of the predictions) the scores of lists that were recorded in another order"""
    lists: Literal["cut", "complete"] = "cut"
    """whether lists that were handed over end somewhere, or hold all that could be ranked"""
    key: str = "user"
    """what tells lists apart"""
    offered: Mapping[str, Any] | None = None
    """where candidates came from; None if all items compete"""
    ledger: Ledger = field(default_factory=Ledger)
    """what was met while tables were brought into this form"""
    left: Literal["all", "some"] = "all"
    """whether these are all lists that came together, or what is left of lists once judged"""

    def given(self) -> dict[str, Table]:
        """The tables that were handed over, by name."""
        named = {side: getattr(self, side, None) for side in get_args(What)}
        return {side: table for side, table in named.items() if table is not None}

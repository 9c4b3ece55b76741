"""The tables that an evaluation reads.

`Interactions` names the columns of a source, `Source` is an open source, `Table` is what was read
from it, and `Inputs` holds the tables of one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, get_args

import polars as pl

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger

if TYPE_CHECKING:
    from rectitude.data.dense import Dense  # imports Table, so only for types

ROW_NUMBER = "row number"
"""The name of an id column that only contains row numbers."""
ATTRIBUTE = "attribute:"
"""The prefix of extra columns that are kept because slices need them."""
What = Literal[
    "predictions", "truth", "train", "seen", "items", "users", "weights", "candidates", "log"
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """A table of user-item interactions with explicit column names.

    The source is anything `rectitude` reads: a frame, a path, a dict, a sparse matrix. Columns that
    are not named here are recognised by name.
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
    """The format of the file, such as "recbole", if it should not be detected."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The named columns by role."""
        return named(
            user=self.user, item=self.item, grade=self.grade, timestamp=self.timestamp,
            list=self.list_key, weight=self.weight,
        )  # fmt: skip

    @property
    def users(self) -> None:
        """None: interactions do not mention users without interactions."""
        return None

    @property
    def ordered(self) -> bool:
        """False: interactions are not ranked."""
        return False


def named(**columns: str | None) -> dict[str, str]:
    """Return the named columns by role, without roles that are None."""
    return {role: name for role, name in columns.items() if name is not None}


class Wrapped(Protocol):
    """A wrapper that adds explicit column names to a source, such as `Interactions` or `Lists`."""

    @property
    def source(self) -> object:
        """The table itself."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The named columns by role."""

    @property
    def users(self) -> object | None:
        """The keys of all lists, including empty ones, if they are given."""

    @property
    def ordered(self) -> bool:
        """Whether the rows of each list are in ranked order."""


def is_wrapped(source: object) -> TypeGuard[Wrapped]:
    """Whether the source is a wrapper.

    The check includes the type of `columns`, because frames have an attribute with that name too.
    """
    has_all = all(hasattr(source, name) for name in ("source", "columns", "users", "ordered"))
    return has_all and isinstance(getattr(source, "columns", None), Mapping)


@dataclass(frozen=True, slots=True, eq=False)
class SourceParts:
    """How a source that need not fit into memory is read piece by piece."""

    rows: int
    """The number of rows; of text, an estimate from its first lines."""
    each: Callable[[int], Iterator[Source]]
    """Yields consecutive parts of about this many rows."""
    span: Callable[[int, int], Source] | None = None
    """Returns the rows from one number up to another; None if rows have no numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An open source: its column names are known, but its values have not been read.

    Columns that are not needed are therefore never read, parsed or copied.
    """

    label: str
    names: Sequence[str]
    take: Callable[[Mapping[str, str]], pl.DataFrame]
    """Read columns: takes {new name: name in the source}, returns a frame with the new names."""
    roles: Mapping[str, str] | None = None
    """Role -> column, if position or format decides the roles; None if the names decide."""
    anonymous: bool = False
    """Whether the source has no column names; `names` are then canonical and cannot be chosen."""
    given: bool = False
    text: bool = False
    handed: pl.Series | None = None
    width: int | None = None
    """The number of items, if the source says it, as the columns of a matrix do."""
    hint: str = ""
    """Extra advice for errors about its columns."""
    recognised: str = ""
    """The format of the file, and how it was detected."""
    parts: SourceParts | None = None
    """How to read it piece by piece; None if it is read whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table with canonical column names, as a Polars frame."""

    frame: pl.DataFrame
    """Canonical columns only, rows in the order of the source. An id column without any value has
    the dtype Null, because its type is unknown."""
    columns: Mapping[str, str]
    """Canonical name -> name in the source; empty if there is none, as for the keys of a dict."""
    source: str
    """A description of the source: "recs.parquet", "pandas DataFrame", "dict of lists"."""
    given: bool
    """Whether the rows of each list are in ranked order."""
    text: bool
    """Whether ids come from untyped text. They are then String, or integers if all of them are
    plain integers, and can take the type of the ids in another table."""
    handed: pl.Series | None
    """Keys of all lists, including empty ones; None if unknown."""
    recognised: str = ""
    """The format of the file, and how it was detected; empty for a source in memory."""
    width: int | None = None
    """The number of items, numbered from 0, if the source says it; None if unknown."""
    left: tuple[str, ...] = ()
    """The columns of the source that were not read."""
    unclear: tuple[str, ...] = ()
    """Columns of numbers among them that may be the scores or ranks of predictions without any, or
    the grades of a truth without any."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The tables of one evaluation."""

    predictions: Table
    truth: Table
    train: Table | None = None
    seen: Table | None = None
    """what users have seen, if that is not the training data"""
    items: Table | None = None
    users: Table | None = None
    weights: Table | None = None
    train_targets: Table | None = None
    """the classes that the training data of logits had as targets, which say how popular a class
    is and mask nothing"""
    dense: Dense | None = None
    """dense scores, if any; `predictions` then has one row per row of scores"""
    seen_cells: Ragged | None = None
    """the cells of the scores whose item the user has seen"""
    seen_in: Literal["train", "seen"] = "train"
    """the input that says which items users have seen"""
    recorded: Integers | None = None
    """(rows, ranks) the columns in a recorded order that replaces the order of the logits"""
    beside: Callable[[], Floats] | None = None
    """(rows of the predictions) the scores of lists that were recorded in another order"""
    lists: Literal["cut", "complete"] = "cut"
    """whether lists are cut off at some rank, or contain every item that could be ranked"""
    key: str = "user"
    """the column that identifies a list"""
    offered: Mapping[str, Any] | None = None
    """the origin of the candidates; None if all items are candidates"""
    ledger: Ledger = field(default_factory=Ledger)
    """what was counted while the tables were read"""
    left: Literal["all", "batch", "part", "some"] = "all"
    """whether these are all lists, a batch of them, one of the parts that all lists were cut into,
    or a subset of lists that were judged before"""
    known_items: pl.Series | None = None
    """all items of the training data, if `train` is only the part of these lists"""
    known_rows: Integers | None = None
    """(known items,) how many rows of the training data have the item"""
    samples: Mapping[str, Table] = field(default_factory=dict)
    """rows that say of what kind the ids of a table are, if this is only a part of it"""

    @property
    def width(self) -> int | None:
        """The number of items that could be ranked, known from columns of scores or of a matrix."""
        if self.dense is not None:
            return self.dense.columns - (self.dense.padding is not None)
        return self.truth.width if self.predictions.width is None else self.predictions.width

    @property
    def seen_table(self) -> Table | None:
        """The table of what users have seen: `seen`, or else the training data."""
        return self.train if self.seen_in == "train" else self.seen

    @property
    def trained_cells(self) -> Ragged | None:
        """The cells of the scores whose user and item are in the training data; None if it is a
        table, or if there is none."""
        return self.seen_cells if self.seen_in == "train" and self.train is None else None

    def may_lack_truth(self, convention: Convention) -> bool:
        """Return whether no list needs truth: in a batch, if lists without truth count."""
        needed = self.left == "batch" and convention.truth_needed in ("relevant", "judged")
        return self.left != "all" and not needed

    def tables(self) -> dict[str, Table]:
        """Return the given tables by name."""
        named = {side: getattr(self, side, None) for side in get_args(What)}
        return {side: table for side, table in named.items() if table is not None}

"""`Format`: what a kind of file looks like, how it is read, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rectitude.data.columns import Wanted
from rectitude.data.formats.file import File
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.storage import Write

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["predictions", "truth", "candidates"]
"""What a file that is written holds."""
Role = Literal["list", "item", "score", "rank", "grade", "timestamp"]


@dataclass(frozen=True, slots=True)
class Content:
    """What is written: rows with canonical columns, and all lists there are."""

    kind: Kind
    frame: pl.DataFrame
    handed: pl.Series | None = None
    """Keys of all lists, also empty ones; None if only those with rows are known."""
    tag: str = "rectitude"
    """The name of the run, for formats that have a place for it."""
    sizes: tuple[int, int] | None = None
    """How many users and items there are where this is a part of something larger, for formats
    that number them."""


def _nothing(content: Content) -> tuple[str, ...]:
    """Of most content there is nothing to be said."""
    return ()


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file.

    `sniff` gives the reason why a file is of this kind, or None. `read` opens it. `write` says for
    each file to be written how; a format that is only read has none.
    """

    title: str
    sniff: Callable[[File, What], str | None]
    read: Callable[[File, Wanted], Source]
    write: Callable[[Content, Path], Mapping[Path, Write]] | None = None
    suffixes: tuple[str, ...] = ()
    """Endings that choose this format for a file to be written."""
    nature: Literal["text", "binary", "either"] = "text"
    holds: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """What can be written in it, and which columns beside list and item it has room for."""
    needs: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """Columns that it cannot do without: they are made where they are missing."""
    empty: Literal["kept", "lost"] = "lost"
    """What happens to lists without items."""
    order: Literal["kept", "lost"] = "lost"
    """Whether items stand in the order of their list, so that no rank is needed."""
    ids: Literal["typed", "text", "by ending"] = "text"
    """Whether columns have types; some formats leave that to the kind of file."""
    times: Literal["as they are", "seconds"] = "as they are"
    """Whether moments are numbers: seconds since 1970."""
    remarks: Callable[[Content], tuple[str, ...]] = _nothing
    """What is to be said of some content in this format beyond the columns."""

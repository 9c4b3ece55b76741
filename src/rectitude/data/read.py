"""The one way in: anything that holds predictions, truth, items or users becomes a table.

A source is opened, its columns are recognised by their names, the chosen ones are read, and their
values are checked. Where a row holds a whole list, as LensKit saves its lists because a table with
one row per item cannot hold a list without items, lists are taken apart.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from rectitude.data.columns import (
    COUNTS,
    KEPT_WHOLE,
    POSITIONS,
    WantedColumns,
    attributes,
    normal,
    recognise,
    title,
    wanted,
)
from rectitude.data.frames import open_frame, renamed, series
from rectitude.data.objects import open_ids, open_mapping, open_rows, open_sparse
from rectitude.data.table import Source, Table, What, Wrapped, is_wrapped
from rectitude.data.values import canonical, require_counts
from rectitude.errors import BadTable

ACCEPTED = (
    "a frame (Polars, pandas, Arrow or any that narwhals knows), a path, a dict of columns,"
    " {user: [items]}, {user: {item: number}}, a list of dicts or tuples, or a sparse matrix."
)
_LOG = logging.getLogger(__name__)
"""Which format each file was taken for, and why; the command line shows it."""


def read(
    source: object,
    what: What,
    *,
    columns: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
    list_key: str = "user",
    form: str = "",
    keep: Collection[str] = (),
) -> Table:
    """A source as a table with canonical columns.

    `columns` names columns by role (user, item, score, rank, grade, weight, list); the others are
    recognised by their names. `hints` do the same for several tables at once: a name counts where
    there is such a column. `list_key` is the column that tells lists apart, by default the user.
    `form` names the format of a file, in place of what its content suggests. Columns to `keep` stay
    beside the others, if there are such.
    """
    if is_wrapped(source):
        return _read_wrapped(source, what, columns or {}, hints or {}, list_key, form, keep)
    named, hints = dict(columns or {}), dict(hints or {})
    want = wanted(what, hints | named, list_key, form)
    opened = _opened(source, want)
    if opened.recognised:
        _LOG.info("read %s as %s", opened.label, opened.recognised)
    there = {role: name for role, name in hints.items() if name in opened.names}
    return _table(opened, want if there == hints else wanted(what, there | named, list_key), keep)


def _table(opened: Source, want: WantedColumns, keep: Collection[str]) -> Table:
    """The table that an open source holds: its columns recognised, read and checked."""
    chosen = recognise(opened, want)
    chosen |= {} if opened.anonymous else attributes(opened, want, chosen, keep)
    left = tuple(name for name in opened.names if name not in chosen.values())
    if want.what == "log":
        for name in [name for name in left if normal(name) in COUNTS]:
            require_counts(opened.take({name: name})[name], name, title(opened, want))
    rows = unpack(opened.take(chosen), opened, chosen, want)
    roles = POSITIONS[want.what] if want.what in KEPT_WHOLE else tuple(rows.columns)
    return Table(
        frame=canonical(rows.frame, roles, title(opened, want), want.word("list"), opened.text),
        columns=dict.fromkeys(rows.columns, "") if opened.anonymous else rows.columns,
        source=opened.label,
        given=rows.given,
        text=opened.text,
        handed=rows.handed,
        recognised=opened.recognised,
        left=left,
    )


def _read_wrapped(
    wrapper: Wrapped,
    what: What,
    columns: Mapping[str, str],
    hints: Mapping[str, str],
    list_key: str,
    form: str,
    keep: Collection[str],
) -> Table:
    """What is inside, with the names, the order and the lists that the wrapper states."""
    named = {**wrapper.columns, **columns}
    form = form or getattr(wrapper, "format", None) or ""
    table = read(
        wrapper.source, what, columns=named, hints=hints, list_key=list_key, form=form, keep=keep
    )
    handed = table.handed if wrapper.users is None else series(wrapper.users, "list")
    return replace(table, given=table.given or wrapper.ordered, handed=handed)


def _opened(source: object, want: WantedColumns) -> Source:
    if isinstance(source, (str, PathLike)):
        return open_file(Path(fspath(source)).expanduser(), want)
    if want.form:
        raise BadTable(
            f"format={want.form!r} was given, and {want.what} is a {type(source).__name__}.",
            "a path: formats are those of files.",
        )
    if isinstance(source, Mapping):
        return open_mapping(source, want)
    if isinstance(source, list):
        return open_rows(source, want)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(source):
        return open_sparse(source, want)
    opened = open_frame(source)
    if opened is not None:
        return opened
    if want.what in KEPT_WHOLE and isinstance(source, Collection):
        return open_ids(source, want)
    raise BadTable(f"{want.what} is a {type(source).__name__}, which is no table.", ACCEPTED)


def open_file(path: Path, want: WantedColumns) -> Source:
    """A file or folder as a source: its content says what it is, its name only helps; a format
    that was named decides."""
    from rectitude.data.formats.file import opened, require_text  # noqa: PLC0415  (files only)
    from rectitude.data.formats.folders import open_folder  # noqa: PLC0415  (files only)
    from rectitude.data.formats.recognise import recognise as recognise_file  # noqa: PLC0415  (files only)
    from rectitude.data.formats.registry import FORMATS, format_named  # noqa: PLC0415  (files only)

    if path.is_dir():
        source, reason = open_folder(path)
        return replace(source, recognised=reason)
    if want.form:
        name, reason, form = want.form, "as was said", format_named(want.form, "format=")
        file = opened(path)
        if form.nature == "text":
            require_text(file)
    else:
        file = opened(path)
        name, reason = recognise_file(file, want.what)
        form = FORMATS[name]
    source = form.read(file, want)
    details = f"; {source.recognised}" if source.recognised else ""
    return replace(source, recognised=f"{name} ({reason}{details})")


# one row per list


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The rows of the lists, where their columns came from, and the lists there were."""

    frame: pl.DataFrame
    columns: dict[str, str]
    given: bool
    handed: pl.Series | None


def unpack(
    frame: pl.DataFrame, source: Source, chosen: dict[str, str], want: WantedColumns
) -> Unpacked:
    """One row per item, from one row per list; other frames as they are."""
    as_it_is = Unpacked(frame, chosen, source.given, source.handed)
    if "item" not in frame.columns or want.what in ("items", "users"):
        return as_it_is
    if not isinstance(frame["item"].dtype, (pl.List, pl.Array, pl.Struct)):
        return as_it_is
    if not isinstance(frame["item"].dtype, pl.List):
        raise BadTable(
            f"{title(source, want)}: the item column has the type {frame['item'].dtype}.",
            "one item in each row, or the list of items.",
        )
    handed = frame["list"] if "list" in frame.columns else None
    lists = [name for name in frame.columns if isinstance(frame[name].dtype, pl.List)]
    filled = frame.filter(pl.col("item").list.len() > 0)
    _require_equal(filled.select(lists), title(source, want))
    rows = filled.explode(lists)
    if isinstance(rows["item"].dtype, pl.Struct):
        rows, chosen = _fields(rows, source, chosen, want)
    return Unpacked(rows, chosen, "score" not in chosen, handed)


def _require_equal(lists: pl.DataFrame, where: str) -> None:
    items = lists["item"].list.len()
    for name in lists.columns:
        values = lists[name].list.len()
        uneven = (values.fill_null(0) != items).arg_true()
        if len(uneven):
            first = uneven[0]
            raise BadTable(
                f"{where}: a list has {items[first]} items but {values[first]} values in the"
                f" {name} column.",
                "one value for each item of a list.",
            )


def _fields(
    rows: pl.DataFrame, source: Source, chosen: dict[str, str], want: WantedColumns
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Items that come with their score or grade in one cell: each field becomes a column."""
    inner = rows["item"].struct.unnest()
    outer = [name for name in rows.columns if name != "item"]
    both = rows.select(outer).hstack([column for column in inner if column.name not in outer])
    roles = {name: name for name in outer}
    found = recognise(
        Source(source.label, both.columns, source.take),
        WantedColumns(want.what, roles, want.list_key),
    )
    origin = {new: f"{chosen['item']}.{name}" for new, name in found.items() if new not in outer}
    return renamed(both, found), {**{name: chosen[name] for name in outer}, **origin}

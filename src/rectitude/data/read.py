"""The entry point for data: any source of predictions, truth, items or users becomes a table.

`read` opens a source, recognises its columns by name, reads the needed ones and checks their
values. If a row holds a whole list, the list is split into one row per item. LensKit saves such
files, because a table with one row per item cannot represent an empty list.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from rectitude.data.columns import (
    COUNTS,
    KEPT_WHOLE,
    POSITIONS,
    SEQUENCE,
    WantedColumns,
    attributes,
    matches,
    may_be_index,
    may_be_rank,
    may_be_score,
    normal,
    order_of_places,
    recognise,
    split_columns,
    title,
    want_columns,
)
from rectitude.data.frames import open_frame, rename_columns, series
from rectitude.data.objects import (
    TEXT_ADVICE,
    open_holder,
    open_ids,
    open_mapping,
    open_rows,
    open_run,
    open_series,
    open_sparse,
)
from rectitude.data.pivots import open_pivot
from rectitude.data.subtopics import gather_subtopics
from rectitude.data.table import ATTRIBUTE, Source, Table, What, Wrapped, is_wrapped
from rectitude.data.values import canonical, require_counts
from rectitude.errors import BadTable, UnreadableFile
from rectitude.parallel import require_polars

ACCEPTED = (
    "a frame (Polars, pandas, Arrow or any other that narwhals supports), a path, a dict of"
    " columns, {user: [items]}, {user: {item: number}}, a list of dicts or tuples, a series of"
    " lists, or a sparse matrix."
)
_LOG = logging.getLogger(__name__)
"""Logs the detected format of each file and the reason; the command line shows it."""


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
    """Read a source as a table with canonical columns.

    `columns` maps roles (user, item, score, rank, grade, weight, list) to column names; other
    columns are recognised by name. `hints` does the same for several tables at once: a name is
    ignored in a table without that column. `list_key` is the column that identifies a list, by
    default the user. `form` names the format of a file and overrides its detection. Columns in
    `keep` are kept as well, if they exist.
    """
    require_polars()
    if is_wrapped(source):
        return _read_wrapped(source, what, columns or {}, hints or {}, list_key, form, keep)
    opened, want = _open_for(source, what, columns or {}, hints or {}, list_key, form)
    return _build_table(opened, want, keep)


def _open_for(
    source: object,
    what: What,
    columns: Mapping[str, str],
    hints: Mapping[str, str],
    list_key: str,
    form: str,
) -> tuple[Source, WantedColumns]:
    """Open a source; return it with the columns to look for."""
    own, named = split_columns(what, columns)
    hinted, hints = split_columns(what, hints)
    named = hinted | named | own
    want = want_columns(what, hints | named, list_key, form)
    opened = _open(source, want)
    if opened.recognised:
        _LOG.info("read %s as %s", opened.label, opened.recognised)
    present = {role: name for role, name in hints.items() if name in opened.names}
    return opened, want if present == hints else want_columns(what, present | named, list_key)


@dataclass(frozen=True, eq=False)
class TableReader:
    """An open table, to be read whole or in parts."""

    source: Source
    want: WantedColumns
    keep: Collection[str]
    given: bool = False
    """Whether a wrapper says that the rows of each list are in ranked order."""

    @property
    def rows(self) -> int | None:
        """The number of rows, perhaps an estimate; None if it can only be read whole."""
        return None if self.source.parts is None else self.source.parts.rows

    def each(self, rows: int) -> Iterator[Table]:
        """Yield the table in consecutive parts of about this many rows."""
        for part in self.parts(rows):
            yield self.build(part)

    def parts(self, rows: int) -> Iterator[Source]:
        """Yield consecutive parts of about this many rows, which `build` reads."""
        parts = self.source.parts
        yield from [self.source] if parts is None else parts.each(rows)

    def build(self, part: Source) -> Table:
        """Return a part of the source as a table that names the whole source."""
        named = replace(part, label=self.source.label, recognised=self.source.recognised)
        table = _build_table(named, self.want, self.keep)
        return replace(table, given=table.given or self.given)

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The columns by role."""
        return recognise(self.source, _name_nested(self.source, self.want))

    def ids(self, role: str, rows: int) -> Iterator[pl.Series]:
        """Yield one column only, in parts of about this many rows."""
        chosen = {role: self.columns[role]}
        for part in self.parts(rows):
            yield part.take(chosen)[role]


def open_table(
    source: object,
    what: What,
    *,
    hints: Mapping[str, str] | None = None,
    list_key: str = "user",
    keep: Collection[str] = (),
) -> TableReader:
    """Open a table that may be larger than memory; the arguments are those of `read`."""
    require_polars()
    columns: Mapping[str, str] = {}
    form, given = "", False
    if is_wrapped(source):
        columns, form = source.columns, getattr(source, "format", None) or ""
        given, source = source.ordered, source.source
    opened, want = _open_for(source, what, columns, hints or {}, list_key, form)
    return TableReader(opened, want, keep, given)


def _build_table(opened: Source, want: WantedColumns, keep: Collection[str]) -> Table:
    """Return the table of an open source: recognise, read and check its columns."""
    want = _name_nested(opened, want)
    chosen = recognise(opened, want)
    chosen |= {} if opened.anonymous else attributes(opened, want, chosen, keep)
    left = tuple(name for name in opened.names if name not in chosen.values())
    if want.what == "log":
        for name in [name for name in left if normal(name) in COUNTS]:
            require_counts(opened.take({name: name})[name], name, title(opened, want))
    taken = opened.take(chosen)
    if want.what in KEPT_WHOLE:
        taken = _split_sequences(taken, chosen)
    if _may_be_places(opened, want, chosen):
        opened, chosen, taken = _take_places(opened, want, chosen, taken)
    rows = unpack(taken, opened, chosen, want)
    roles = POSITIONS[want.what] if want.what in KEPT_WHOLE else tuple(rows.columns)
    frame = canonical(rows.frame, roles, title(opened, want), want.word("list"), opened.text)
    return Table(
        frame=gather_subtopics(frame, opened) if "subtopic" in frame.columns else frame,
        columns=dict.fromkeys(rows.columns, "") if opened.anonymous else rows.columns,
        source=opened.label,
        given=rows.given,
        text=opened.text,
        handed=rows.handed,
        recognised=opened.recognised,
        width=opened.width,
        left=left,
        unclear=_find_unclear(opened, want, rows, left),
    )


def _name_nested(opened: Source, want: WantedColumns) -> WantedColumns:
    """Name the column of whole lists as the item if no other column fits: `recommendations` of
    Spark's ALS, `results` of sentence-transformers. Each entry has an item and its score."""
    settled = opened.roles is not None or opened.anonymous or "item" in want.named
    if settled or want.what in KEPT_WHOLE or matches(opened.names, "item", want):
        return want
    nested = [name for name in opened.names if _holds_lists(opened, name, want)]
    return replace(want, named={**want.named, "item": nested[0]}) if len(nested) == 1 else want


def _holds_lists(opened: Source, name: str, want: WantedColumns) -> bool:
    if opened.text:
        return False
    kind = opened.take({"item": name})["item"].dtype
    inner = kind.inner if isinstance(kind, pl.List) else None
    fields = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    return bool(matches(fields, "item", want))


def _may_be_places(opened: Source, want: WantedColumns, chosen: Mapping[str, str]) -> bool:
    """Whether position alone made a column of text the score, so that it may be the rank."""
    by_position = opened.text and opened.roles is not None and want.form in ("", "headerless")
    asked = {"score", "rank"} & {*want.named}
    return by_position and want.what == "predictions" and "score" in chosen and not asked


def _take_places(
    opened: Source, want: WantedColumns, chosen: dict[str, str], taken: pl.DataFrame
) -> tuple[Source, dict[str, str], pl.DataFrame]:
    """Read a column that counts 1, 2, 3, ... down every list as the rank, not as the score; ask if
    it numbers the items of every list in another order."""
    name = chosen["score"]
    order = order_of_places(taken["list"], _to_numbers(taken["score"]))
    if order == "mixed":
        raise BadTable(
            f"{title(opened, want)} has no column names, and {name!r} numbers the items of every"
            " list, from 0 or 1: it may be the rank or the score.",
            "a column that is named as the rank or as the score.",
            f"name it: rt.Lists(path, rank={name!r}) or --columns 'predictions.rank={name}', or the"
            " same with score.",
        )
    if order != "rising":
        return opened, chosen, taken
    note = f"{name} counts up in every list: read as the rank, not as the score"
    opened = replace(opened, recognised="; ".join(filter(None, [opened.recognised, note])))
    renamed = {"rank" if role == "score" else role: column for role, column in chosen.items()}
    return opened, renamed, taken.rename({"score": "rank"})


def _split_sequences(frame: pl.DataFrame, chosen: Mapping[str, str]) -> pl.DataFrame:
    """Return attributes that RecBole's header declares as sequences as lists, split at spaces."""
    sequences = [frame[new] for new, name in chosen.items() if name.endswith(SEQUENCE)]
    return frame.with_columns(
        column.str.split(" ") for column in sequences if column.dtype == pl.String
    )


def _find_unclear(
    opened: Source, want: WantedColumns, rows: Unpacked, left: Collection[str]
) -> tuple[str, ...]:
    """Return the unread columns of numbers that may be the scores or ranks of lists without any, or
    the grades of a truth without any.

    A column with a single value orders nothing, so it is not one of them.
    """
    number = {"predictions": {"score", "rank"}, "truth": {"grade"}}.get(want.what)
    settled = rows.given or opened.roles is not None
    if number is None or settled or number & {*rows.columns}:
        return ()
    names = [column.name for column in _take_numbers(opened, filter(may_be_score, left))]
    if want.what == "predictions":
        indices = _take_numbers(opened, filter(may_be_index, left))
        lists = rows.frame["list"]
        names += [index.name for index in indices if may_be_rank(lists, index)]
    return tuple(names)


def _take_numbers(opened: Source, names: Iterable[str]) -> list[pl.Series]:
    """Return the columns of numbers among these, without those that have a single value."""
    chosen = {f"{ATTRIBUTE}{name}": name for name in names}
    columns = opened.take(chosen) if chosen else pl.DataFrame()
    numbers = [column for column in columns if _are_numbers(column) and column.n_unique() > 1]
    return [_to_numbers(column).alias(chosen[column.name]) for column in numbers]


def _are_numbers(column: pl.Series) -> bool:
    """Whether a column holds numbers, or text that consists of numbers, with a point or a comma."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    return _to_numbers(column).null_count() == column.null_count()


def _to_numbers(column: pl.Series) -> pl.Series:
    """Return text as numbers, with null for what is none; other columns stay as they are."""
    if column.dtype != pl.String:
        return column
    plain = column.str.strip_chars().str.replace(",", ".", literal=True)
    return plain.cast(pl.Float64, strict=False)


def _read_wrapped(
    wrapper: Wrapped,
    what: What,
    columns: Mapping[str, str],
    hints: Mapping[str, str],
    list_key: str,
    form: str,
    keep: Collection[str],
) -> Table:
    """Read the wrapped source with the names, order and lists that the wrapper states."""
    named = {**wrapper.columns, **columns}
    form = form or getattr(wrapper, "format", None) or ""
    table = read(
        wrapper.source, what, columns=named, hints=hints, list_key=list_key, form=form, keep=keep
    )
    handed = table.handed if wrapper.users is None else series(wrapper.users, "list")
    return replace(table, given=table.given or wrapper.ordered, handed=handed)


def _open(source: object, want: WantedColumns) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, PathLike)):
        return open_file(Path(fspath(source)).expanduser(), want)
    if isinstance(source, (list, tuple)) and _are_files(source, want):
        return open_files([Path(fspath(path)).expanduser() for path in source], want)
    if want.form:
        raise BadTable(
            f"format={want.form!r} is given, but {want.what} is of type {type(source).__name__}.",
            "a path: only files have a format.",
            "leave out format=, or pass the path of a file.",
        )
    opened = _open_object(collect_rows(source), want)
    if opened is None:
        raise _not_a_table(source, want)
    return opened


def _open_object(source: object, want: WantedColumns) -> Source | None:
    """Return an object in memory as a source, or None if it is not a table."""
    if isinstance(source, Mapping):
        return open_mapping(source, want)
    if isinstance(source, list):
        return open_rows(source, want)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(source):
        return open_sparse(source, want)
    frame = open_frame(source)
    if frame is not None:
        return open_pivot(source, want) or frame
    if want.what in KEPT_WHOLE and isinstance(source, Collection):
        return open_ids(source, want)
    return open_series(source, want) or open_run(source, want) or open_holder(source)


def collect_rows(source: object) -> object:
    """Return the rows of an iterator as a list, because they can be read only once."""
    if isinstance(source, Iterator) and not hasattr(source, "__arrow_c_stream__"):
        return list(source)
    return source


_ENGINES = ("duckdb", "_duckdb", "ibis", "pyspark", "ray", "sqlframe")


def reads_alone(source: object) -> bool:
    """Whether a source belongs to another engine, whose connection serves one thread at a time."""
    frame = source.source if is_wrapped(source) else source
    return type(frame).__module__.partition(".")[0] in _ENGINES


def _are_files(source: Collection[object], want: WantedColumns) -> bool:
    """Whether a list contains paths; text is a path if it looks like one and is no id."""
    kinds = (PathLike,) if want.what in KEPT_WHOLE else (PathLike, str)
    paths = bool(source) and all(isinstance(path, kinds) for path in source)
    return paths and any(
        Path(str(path)).suffix or len(Path(str(path)).parts) > 1 for path in source
    )


_KINDS = {"NoneType": "None", "ndarray": "a NumPy array", "Tensor": "a torch tensor"}


def _not_a_table(source: object, want: WantedColumns) -> BadTable:
    """Return the error for something that is not a table; scores in an array need a wrapper."""
    kind = type(source).__name__
    words = _KINDS.get(kind, f"of type {kind}")
    advice = ""
    if kind in ("ndarray", "Tensor"):
        advice = _ARRAY_ADVICE.get(want.what, "scipy.sparse.csr_matrix(array) is read by position.")
    return BadTable(f"{want.what} is {words}.", ACCEPTED, advice)


_ARRAY_ADVICE = {
    "predictions": "for scores, wrap it: rt.Scores(array, users=..., items=...).",
    "truth": "for one class per row, use rt.Logits as predictions; a matrix of users and items is"
    " read beside scores, or as scipy.sparse.csr_matrix(array).",
}


def open_file(path: Path, want: WantedColumns) -> Source:
    """Return a file or folder as a source.

    Its content decides the format, with the file name as a hint. A format that the caller names
    overrides both.
    """
    from rectitude.data.formats.file import open_content, require_text  # noqa: PLC0415  (files only)
    from rectitude.data.formats.folders import (  # noqa: PLC0415  (files only)
        files_to_read_as,
        find_partitions,
        open_folder,
    )
    from rectitude.data.formats.recognise import recognise as recognise_file  # noqa: PLC0415  (files only)
    from rectitude.data.formats.registry import FORMATS, format_named  # noqa: PLC0415  (files only)
    from rectitude.data.formats.several import match_files  # noqa: PLC0415  (files only)

    if _is_folder(path):
        partitions = find_partitions(path)
        partitions = partitions or files_to_read_as(path, want.form)
        if partitions:
            return open_files(partitions, want, path.name)
        source, reason = open_folder(path)
        return replace(source, recognised=reason)
    matches = [] if path.exists() else match_files(path)
    if matches:
        return open_files(matches, want, "/".join(path.parts[-2:]))
    if want.form:
        name, reason, form = want.form, "as requested", format_named(want.form, "format=")
        file = open_content(path)
        if form.content == "text":
            require_text(file)
    else:
        file = open_content(path)
        name, reason = recognise_file(file, want.what)
        form = FORMATS[name]
    source = form.read(file, want)
    details = f"; {source.recognised}" if source.recognised else ""
    return replace(source, recognised=f"{name} ({reason}{details})")


def open_files(paths: Sequence[Path], want: WantedColumns, label: str = "") -> Source:
    """Return several files that form one table as a source."""
    from rectitude.data.formats.several import open_several  # noqa: PLC0415  (files only)

    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return open_several(paths, label or f"{paths[0].name}{more}", partial(open_file, want=want))


# one row per list


@dataclass(frozen=True, slots=True, eq=False)
class Unpacked:
    """The rows of all lists, the origin of their columns, and the keys of the lists."""

    frame: pl.DataFrame
    columns: dict[str, str]
    given: bool
    handed: pl.Series | None


def unpack(
    frame: pl.DataFrame, source: Source, chosen: dict[str, str], want: WantedColumns
) -> Unpacked:
    """Turn one row per list into one row per item; return other frames unchanged."""
    unchanged = Unpacked(frame, chosen, source.given, source.handed)
    if "item" not in frame.columns or want.what in ("items", "users"):
        return unchanged
    if frame["item"].dtype == pl.String:
        _refuse_lists_as_text(frame["item"], title(source, want))
    if not isinstance(frame["item"].dtype, (pl.List, pl.Array, pl.Struct)):
        return unchanged
    if not isinstance(frame["item"].dtype, pl.List):
        raise BadTable(
            f"{title(source, want)}: the item column has the type {frame['item'].dtype}.",
            "one item per row, or a list of items per row.",
            "convert the column, or name another one with columns={'item': ...}.",
        )
    handed = frame["list"] if "list" in frame.columns else None
    lists = [name for name in frame.columns if isinstance(frame[name].dtype, pl.List)]
    filled = frame.filter(pl.col("item").list.len() > 0)
    _require_equal_lengths(filled.select(lists), title(source, want))
    rows = filled.explode(lists)
    if isinstance(rows["item"].dtype, pl.Struct):
        rows, chosen = _split_fields(rows, source, chosen, want)
    return Unpacked(rows, chosen, "score" not in chosen, handed)


def _refuse_lists_as_text(items: pl.Series, where: str) -> None:
    """Raise an error if every item is a list that was written as text, such as '[1, 2]'."""
    first = next(iter(items.head(1)), None) or ""
    if not first.startswith("[") or not items.str.contains(r"^\s*\[.*\]\s*$").all():
        return
    if items.str.contains(r"[,\s'\"]|^\[\d*\]$").any():
        raise BadTable(
            f"{where}: the item column contains lists written as text (first: {first!r:.60}).",
            "one item per row, or a list of items per row.",
            TEXT_ADVICE,
        )


def _require_equal_lengths(lists: pl.DataFrame, where: str) -> None:
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
                "write the file again with lists of equal length in each row.",
            )


def _split_fields(
    rows: pl.DataFrame, source: Source, chosen: dict[str, str], want: WantedColumns
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Split items stored together with a score or grade: each field becomes a column."""
    fields = rows["item"].struct.unnest()
    outer = [name for name in rows.columns if name != "item"]
    columns = rows.select(outer).hstack([column for column in fields if column.name not in outer])
    roles = {name: name for name in outer}
    recognised = recognise(
        Source(source.label, columns.columns, source.take),
        WantedColumns(want.what, roles, want.list_key),
    )
    origin = {
        new: f"{chosen['item']}.{name}" for new, name in recognised.items() if new not in outer
    }
    return rename_columns(columns, recognised), {**{name: chosen[name] for name in outer}, **origin}


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder. A name that no file can have is an error."""
    try:
        return path.is_dir()
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be opened: {error.strerror}.", advice="check the name."
        ) from error

"""Spark: every partition of a table divides its rows by list, or by user; one shuffle brings the
rows of a part together, and every part returns its states.

Rows leave for the shuffle packed by part, so that Spark moves a few large values instead of many
small rows. Where it reads the shuffle, Spark joins small partitions as it sees fit: each row
belongs to one part only, so any number of parts can be evaluated together.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from os import PathLike, environ, fspath
from pathlib import PurePath
from typing import Any

import polars as pl

from rectitude.data.frames import open_frame
from rectitude.data.read import TableReader
from rectitude.data.table import Source, Table
from rectitude.engines.cut import Cut, divide_users, plan_cuts
from rectitude.engines.given import refuse_other, refuse_unreadable, take_users, unwrap, wrap
from rectitude.engines.scans import FIELDS, Scans, find_scans, read_spans
from rectitude.engines.tasks import Outcomes, PartTask, evaluate_moved
from rectitude.errors import MissingExtra, RectitudeError
from rectitude.evaluation.engines import engine_of
from rectitude.evaluation.evaluate import EvaluatePlans, columns_for
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import Side, count_rows, open_sides
from rectitude.evaluation.plan import Slicings

USUAL_PARTS = 200
"""Spark's own default for the partitions of a shuffle"""
PACKED_ROWS = 1_000_000
"""how many rows a worker holds before it packs them for the shuffle"""
_USERS = "named users"
_PACKED = "part int, side string, number bigint, rows binary"
_FORMATS: Mapping[str, Mapping[str, str]] = {
    ".csv": {"format": "csv", "header": "true", "inferSchema": "true"},
    ".tsv": {"format": "csv", "header": "true", "inferSchema": "true", "sep": "\t"},
    ".json": {"format": "json"},
    ".jsonl": {"format": "json"},
    ".orc": {"format": "orc"},
}
"""how Spark reads a path with this suffix; other paths are Parquet"""

_NAME = re.compile(r"[^\s/*?\0]+(\.[^\s/*?\0]+)*")
"""what can be the name of a table; anything else is a path"""
_UNREAD = re.compile(r"FAILED_READ_FILE\S* [^\n]*?file (\S+?)\.?[\s\"]")
"""how Spark says that a file cannot be read, among what Java says around it"""


@contextmanager
def open_tables(given: RawInputs, slicings: Slicings) -> Iterator[EvaluatePlans]:
    """Open DataFrames, or paths and names of tables, which a session reads."""
    sources = {name: unwrap(table) for name, table in given.inputs.items() if table is not None}
    session = _find_session(sources.values())
    frames = {
        name: frame
        for name, source in sources.items()
        if (frame := _find_frame(source, name, session)) is not None
    }
    labels = {name: _label(sources[name]) for name in frames}
    columns = {name: _open_columns(frame, labels[name]) for name, frame in frames.items()}
    empty = {name: wrap(given.inputs[name], source) for name, source in columns.items()}
    readers = open_sides(replace(given, inputs={**given.inputs, **empty}), columns_for(slicings))
    whole = {
        name: wrap(given.inputs[name], _open(frame, labels[name])) for name, frame in frames.items()
    }
    given = replace(given, inputs={**given.inputs, **whole})
    scans = {side: find_scans(frames[side]) for side in readers}
    tables = SparkTables(given, readers, frames, session, scans, take_users(given))
    try:
        yield partial(evaluate_moved, tables=tables)
    except Exception as error:
        raise _explain(error) from error


@dataclass(frozen=True)
class SparkTables:
    """DataFrames of classic Spark or of Spark Connect."""

    given: RawInputs
    readers: Mapping[Side, TableReader]
    frames: Mapping[str, Any]
    session: Any
    scans: Mapping[Side, Scans]
    users: pl.Series | None = None

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""
        reader = self.readers[side]
        empty = reader.source.take({name: name for name in reader.source.names})
        first = self.scans[side].head(empty, rows)
        if first is None:
            return reader.build(_open(self.frames[side].limit(rows), reader.source.label))
        return reader.build(_open(first, reader.source.label))

    def distinct(self, side: Side, role: str) -> pl.Series:
        """Return the ids of a column, each once."""
        reader, frame = self.readers[side], self.frames[side]
        name = reader.columns[role]
        if reader.source.take({role: name})[role].dtype.is_nested():  # whole lists in a row
            return reader.build(_open(frame, "")).frame[role].unique()
        return _collect(frame.select(_column(name)).distinct())[name]

    def counts(self, side: Side, role: str) -> Sequence[pl.DataFrame]:
        """Return the ids of a column, and how many rows have each."""
        reader, frame = self.readers[side], self.frames[side]
        name = reader.columns[role]
        if reader.source.take({role: name})[role].dtype.is_nested():  # whole lists in a row
            return [count_rows(reader.build(_open(frame, "")).frame[role])]
        column = frame.select(_column(name).alias("item")).dropna()
        return [_collect(column.groupBy("item").count().withColumnRenamed("count", "rows"))]

    def run(self, task: PartTask, roles: Mapping[Side, str]) -> Iterable[Outcomes]:
        """Move the rows of each part to a task, and return the outcomes."""
        from pyspark import cloudpickle

        cuts = plan_cuts(self.readers, roles, self.parts, self.users)
        packed = [self._pack(side, cut, task) for side, cut in cuts.items()]
        users = divide_users(cuts, self.users)
        if users:
            rows = [(part, _USERS, 0, _to_bytes(ids.to_frame())) for part, ids in users.items()]
            packed.append(self.session.createDataFrame(rows, _PACKED))
        evaluate = partial(evaluate_partition, cloudpickle.dumps(task.for_workers()))
        together = reduce(lambda one, other: one.union(other), packed).repartition("part")
        returned = together.mapInArrow(evaluate, "outcomes binary").collect()
        # Our own workers wrote these bytes.
        return [pickle.loads(row["outcomes"]) for row in returned]  # noqa: S301

    def _pack(self, side: Side, cut: Cut, task: PartTask) -> Any:
        """Return the rows of a table, packed by part, as a DataFrame."""
        frame, columns = self.frames[side], task.columns(side)
        spans = self.scans[side].spans(task.empty(side))
        if spans:
            files = self.session.createDataFrame(spans, FIELDS)
            return files.mapInArrow(partial(pack_spans, side, cut, columns), _PACKED)
        rows = frame.select(*map(_column, columns))
        return rows.mapInArrow(partial(pack_partition, side, cut), _PACKED)

    @property
    def parts(self) -> int:
        """The number of parts: Spark's setting for the partitions of a shuffle."""
        setting = str(self.session.conf.get("spark.sql.shuffle.partitions"))
        return int(setting) if setting.isdigit() else USUAL_PARTS


def pack_partition(side: Side, cut: Cut, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of a partition, packed by part and numbered in their order; runs on a
    worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = (0 if context is None else context.partitionId()) << 32
    held: list[pl.DataFrame] = []
    for batch in batches:
        held.append(pl.DataFrame(batch))
        if sum(map(len, held)) >= PACKED_ROWS:
            yield _pack(side, cut, pl.concat(held), number)
            held, number = [], number + 1
    if held:
        yield _pack(side, cut, pl.concat(held), number)


def pack_spans(side: Side, cut: Cut, columns: list[str], batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of spans of files, packed by part; runs on a worker."""
    for number, rows in read_spans(batches, columns):
        yield _pack(side, cut, rows, number)


def _pack(side: Side, cut: Cut, rows: pl.DataFrame, number: int) -> Any:
    import pyarrow

    parts, packed = [], []
    for part, frame in cut.divide(rows):
        parts.append(part)
        packed.append(_to_bytes(frame))
    sides, numbers = [side] * len(parts), [number] * len(parts)
    columns = {"part": pyarrow.array(parts, pyarrow.int32()), "side": sides, "number": numbers}
    return pyarrow.record_batch({**columns, "rows": pyarrow.array(packed, pyarrow.binary())})


def _to_bytes(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_ipc_stream(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()


def evaluate_partition(task: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the outcomes of the parts that arrive packed in batches; runs on a worker."""
    import pyarrow

    pieces: dict[str, list[tuple[int, pl.DataFrame]]] = {}
    for batch in batches:
        for side, number, rows in zip(
            batch.column("side").to_pylist(),
            batch.column("number").to_pylist(),
            batch.column("rows"),
            strict=True,
        ):
            frame = pl.read_ipc_stream(rows.as_py())
            pieces.setdefault(side, []).append((number, frame))
    if not pieces:
        return
    opened: PartTask = pickle.loads(task)  # noqa: S301  (made by our own driver)
    of_sides = {side: _join(pieces.get(side, []), opened.empty(side)) for side in opened.readers}
    users = [frame.to_series() for _, frame in pieces.get(_USERS, [])]
    outcomes = opened.evaluate(of_sides, pl.concat(users) if users else None)
    yield pyarrow.record_batch({"outcomes": pyarrow.array([pickle.dumps(outcomes)])})


def _join(pieces: list[tuple[int, pl.DataFrame]], empty: pl.DataFrame) -> pl.DataFrame:
    """Return rows in the order of their numbers."""
    ordered = sorted(pieces, key=lambda piece: piece[0])
    return pl.concat([frame for _, frame in ordered]) if ordered else empty


def _column(name: str) -> Any:
    """Return a column by its exact name, which may contain dots."""
    from pyspark.sql import functions

    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


# sessions and tables


def _find_session(sources: Iterable[object]) -> Any:
    """Return the session of the tables, the active one, or a new one on this machine."""
    from pyspark.sql import SparkSession

    for source in sources:
        if engine_of(source) == "spark":
            return source.sparkSession  # type: ignore[attr-defined]
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    if "PYSPARK_GATEWAY_PORT" not in environ and "SPARK_REMOTE" not in environ:
        builder = builder.master("local[*]").config("spark.ui.enabled", "false")
    return builder.getOrCreate()


def _find_frame(source: object, name: str, session: Any) -> Any:
    """Return an input as a DataFrame; None if it is read on this machine and handed to every
    part."""
    if engine_of(source) == "spark":
        return source
    if isinstance(source, str | PathLike) and name != "candidates":
        return _read(fspath(source), session)
    refuse_other(
        source, name, "Spark", "a Spark DataFrame", f"spark.createDataFrame({name}.to_arrow())"
    )
    return None


def _read(path: str, session: Any) -> Any:
    """Return a path, or the name of a table, as a DataFrame."""
    options = dict(_FORMATS.get(PurePath(path).suffix, {"format": "parquet"}))
    try:
        if _NAME.fullmatch(path) and session.catalog.tableExists(path):
            return session.table(path)
        frame = session.read.load(path, **options)
        frame.columns  # Spark Connect looks at files only now  # noqa: B018
    except Exception as error:  # of Spark, or of Java
        raise refuse_unreadable(path, "Spark", error) from error
    return frame


def _label(source: object) -> str:
    return PurePath(source).name if isinstance(source, str | PathLike) else "pyspark frame"


def _open(frame: Any, label: str) -> Source:
    """Return a DataFrame as a source that collects the columns that are taken."""
    source = open_frame(frame)
    if source is None:
        raise ValueError("a DataFrame that narwhals does not know")
    return replace(source, label=label)


def _open_columns(frame: Any, label: str) -> Source:
    """Return the columns of a DataFrame, without any row, as a source."""
    source = open_frame(_collect(frame.limit(0)))
    if source is None:
        raise ValueError("a frame that is no frame")
    return replace(source, label=label)


def _collect(frame: Any) -> pl.DataFrame:
    return _open(frame, "").take({name: name for name in frame.columns})


def _explain(error: Exception) -> Exception:
    """Return an error that names a file that cannot be read, or says how to set up the workers if
    they lack a package."""
    if isinstance(error, RectitudeError):
        return error
    unread = _UNREAD.search(str(error))
    if unread is not None:
        return refuse_unreadable(unread[1], "Spark", error)
    missing = re.search(r"No module named '(\w+)", str(error))
    if missing is None:
        return error
    return MissingExtra(
        f"a Spark worker has no package {missing[1]!r}.",
        "a Python with rectitude[spark] on every worker.",
        "install it there, or set PYSPARK_PYTHON (spark.pyspark.python) to a Python that has it,"
        f" such as {sys.executable}, before the session starts.",
    )

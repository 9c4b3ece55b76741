"""Spark: one shuffle brings the rows of each list, or of each user, together, and every partition
returns its state."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from os import PathLike, environ, fspath
from pathlib import PurePath
from typing import Any, get_args

import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import open_frame
from rectitude.data.read import TableReader
from rectitude.data.table import Source, Table, is_wrapped
from rectitude.engines.tasks import Outcome, PartTask, evaluate_moved
from rectitude.errors import BadArgument, MissingExtra
from rectitude.evaluation.engines import engine_of
from rectitude.evaluation.evaluate import columns_for
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import Side, open_sides
from rectitude.evaluation.plan import Plan, Slicings

USUAL_PARTS = 200
"""Spark's own default for the partitions of a shuffle"""
_FORMATS: Mapping[str, Mapping[str, str]] = {
    ".csv": {"format": "csv", "header": "true", "inferSchema": "true"},
    ".tsv": {"format": "csv", "header": "true", "inferSchema": "true", "sep": "\t"},
    ".json": {"format": "json"},
    ".jsonl": {"format": "json"},
    ".orc": {"format": "orc"},
}
"""how Spark reads a path with this suffix; other paths are Parquet"""
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = ("float", "double", "decimal")


def open_tables(given: RawInputs, slicings: Slicings) -> SparkTables:
    """Open DataFrames, or paths and names of tables, which a session reads."""
    sources = {name: _unwrap(table) for name, table in given.inputs.items() if table is not None}
    session = _find_session(sources.values())
    frames = {
        name: frame
        for name, source in sources.items()
        if (frame := _find_frame(source, name, session)) is not None
    }
    labels = {name: _label(sources[name]) for name in frames}
    columns = {name: _open_columns(frame, labels[name]) for name, frame in frames.items()}
    empty = {name: _wrap(given.inputs[name], source) for name, source in columns.items()}
    readers = open_sides(replace(given, inputs={**given.inputs, **empty}), columns_for(slicings))
    whole = {
        name: _wrap(given.inputs[name], _open(frame, labels[name]))
        for name, frame in frames.items()
    }
    inputs = {**given.inputs, **whole}
    if "candidates" in frames:
        inputs["candidates"] = _collect(frames["candidates"])
    return SparkTables(replace(given, inputs=inputs), readers, frames, session)


@dataclass(frozen=True)
class SparkTables:
    """DataFrames of classic Spark or of Spark Connect."""

    given: RawInputs
    readers: Mapping[Side, TableReader]
    frames: Mapping[str, Any]
    session: Any

    def evaluate(self, plan: Plan) -> Evaluation:
        """Return the evaluation of all rows."""
        return evaluate_moved(plan, self)

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""
        reader = self.readers[side]
        return reader.build(_open(self.frames[side].limit(rows), reader.source.label))

    def distinct(self, side: Side, role: str) -> pl.Series:
        """Return the ids of a column, each once."""
        reader, frame = self.readers[side], self.frames[side]
        name = reader.columns[role]
        if reader.source.take({role: name})[role].dtype.is_nested():  # whole lists in a row
            return reader.build(_open(frame, "")).frame[role].unique()
        return _collect(frame.select(_column(name)).distinct())[name]

    def run(self, task: PartTask, roles: Mapping[Side, str]) -> Iterable[Outcome]:
        """Move the rows of each part to a task, and return the outcomes."""
        from pyspark import cloudpickle

        evaluate = partial(evaluate_partition, cloudpickle.dumps(task.for_workers()))
        rows = self._tag_rows(task, roles).repartition(self.parts, "key").drop("key")
        try:
            returned = rows.mapInArrow(evaluate, "outcome binary").collect()
        except Exception as error:
            raise _explain(error) from error
        # Our own workers wrote these bytes.
        return [pickle.loads(row["outcome"]) for row in returned]  # noqa: S301

    @property
    def parts(self) -> int:
        """The number of partitions of a shuffle."""
        setting = str(self.session.conf.get("spark.sql.shuffle.partitions", ""))
        return int(setting) if setting.isdigit() else USUAL_PARTS

    def _tag_rows(self, task: PartTask, roles: Mapping[Side, str]) -> Any:
        """Return the rows of all tables as one DataFrame: the key that decides the part, the number
        of the row in its table, and the row in the column of its table."""
        from pyspark.sql import functions

        rows = {
            side: functions.struct(*map(_column, task.columns(side))).alias(side) for side in roles
        }
        types = {side: self.frames[side].select(rows[side]).schema[side].dataType for side in roles}
        tagged = []
        for side, role in roles.items():
            frame, key = self.frames[side], self.readers[side].columns[role]
            columns = [
                rows[other]
                if other == side
                else functions.lit(None).cast(types[other]).alias(other)
                for other in roles
            ]
            number = functions.monotonically_increasing_id().alias("number")
            tagged.append(frame.select(_key(frame, key).alias("key"), number, *columns))
        return reduce(lambda one, other: one.union(other), tagged)


def evaluate_partition(task: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the outcome of a partition, whose rows arrive in batches; runs on a worker."""
    import pyarrow

    frames = [pl.DataFrame(batch) for batch in batches]
    if not sum(map(len, frames)):
        return
    rows = pl.concat(frames).sort("number")
    sides = [side for side in get_args(Side) if side in rows.columns]
    of_sides = {side: _rows_of(rows, side) for side in sides}
    outcome = pickle.loads(task).evaluate(of_sides)  # noqa: S301  (made by our own driver)
    yield pyarrow.record_batch({"outcome": pyarrow.array([pickle.dumps(outcome)])})


def _rows_of(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    return rows.filter(pl.col(side).is_not_null())[side].struct.unnest()


def _column(name: str) -> Any:
    """Return a column by its exact name, which may contain dots."""
    from pyspark.sql import functions

    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def _key(frame: Any, name: str) -> Any:
    """Return ids as text that is the same for the same number in different types."""
    kind, column = dict(frame.dtypes)[name], _column(name)
    if kind in _INTEGERS:
        return column.cast("bigint").cast("string")
    if not kind.startswith(_NUMBERS):
        return column.cast("string")
    from pyspark.sql import functions

    quoted = name.replace("`", "``")
    whole = functions.expr(f"try_cast(`{quoted}` as bigint)")
    is_whole = whole.cast("double") == column.cast("double")
    return functions.when(is_whole, whole.cast("string")).otherwise(column.cast("string"))


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
    if name in get_args(Side):
        raise BadArgument(
            f"the predictions are read by Spark, but {name} is of type {type(source).__name__}.",
            "Spark DataFrames for predictions, truth, train, users and weights.",
            f"spark.createDataFrame({name}), or engine='local' to evaluate in memory.",
        )
    return None


def _read(path: str, session: Any) -> Any:
    """Return a path, or the name of a table, as a DataFrame."""
    if "/" not in path and session.catalog.tableExists(path):
        return session.table(path)
    options = dict(_FORMATS.get(PurePath(path).suffix, {"format": "parquet"}))
    return session.read.load(path, **options)


def _unwrap(table: object) -> object:
    """Return the table in a wrapper, whose columns are named there."""
    if not is_wrapped(table):
        return table
    if table.users is not None:
        raise BadArgument(
            "rt.Lists has users=, and its rows are read by Spark.",
            "rt.Lists without users=.",
            "add a row with a list for each user, or use engine='local'.",
        )
    return table.source


def _wrap(given: object, source: Source) -> object:
    """Return a source with the names of columns that were given with the table."""
    return replace(given, source=source) if is_wrapped(given) else source  # type: ignore[type-var]


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
    """Return an error that says how to set up the workers, if they lack a package."""
    missing = re.search(r"No module named '(\w+)", str(error))
    if missing is None:
        return error
    return MissingExtra(
        f"a Spark worker has no package {missing[1]!r}.",
        "a Python with rectitude[spark] on every worker.",
        "install it there, or set PYSPARK_PYTHON (spark.pyspark.python) to a Python that has it,"
        f" such as {sys.executable}, before the session starts.",
    )

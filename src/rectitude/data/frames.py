"""Frames in memory: Polars, pandas, Arrow, and whatever narwhals knows.

Single columns, also lists and arrays, become Polars series.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rectitude.data.table import Source
from rectitude.data.values import EXACT
from rectitude.errors import BadTable


def open_frame(frame: object) -> Source | None:
    """A frame as a source; None if it is no frame."""
    if isinstance(frame, pl.DataFrame):
        return Source("polars DataFrame", frame.columns, lambda chosen: renamed(frame, chosen))
    if isinstance(frame, pl.LazyFrame):
        return _lazy(frame)
    if _is(frame, "pandas", "DataFrame"):
        return _pandas(frame)
    if _is(frame, "pyarrow", "Table") or _is(frame, "pyarrow", "RecordBatch"):
        return _arrow(frame)
    return _narwhals(frame) or _streamed(frame)


def renamed(frame: pl.DataFrame, chosen: Mapping[str, str]) -> pl.DataFrame:
    """The chosen columns under their new names."""
    return frame.select(frame[name].alias(new) for new, name in chosen.items())


def _is(frame: object, module: str, name: str) -> bool:
    """Whether it is an instance of a class of a package, without importing the package."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(frame, kind)


def _lazy(frame: pl.LazyFrame) -> Source:
    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return renamed(frame.select(chosen.values()).collect(), chosen)

    return Source("polars LazyFrame", frame.collect_schema().names(), take)


def _pandas(frame: Any) -> Source:
    names = [str(name) for name in frame.columns]

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        at = {new: names.index(name) for new, name in chosen.items()}
        return pl.DataFrame([from_pandas(frame.iloc[:, place], new) for new, place in at.items()])

    index = [repr(str(name)) for name in frame.index.names if name is not None]
    hint = f"the index holds {', '.join(index)}: call .reset_index() to make columns of it."
    return Source("pandas DataFrame", names, take, hint=hint if index else "")


def _arrow(table: Any) -> Source:
    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        places = [table.schema.names.index(name) for name in chosen.values()]
        columns = [pl.Series(new, table.column(at)) for new, at in zip(chosen, places, strict=True)]
        return pl.DataFrame(columns)

    return Source(f"pyarrow {type(table).__name__}", table.schema.names, take)


def _narwhals(frame: object) -> Source | None:
    import narwhals as nw

    wrapped = nw.from_native(frame, pass_through=True)
    if not isinstance(wrapped, (nw.DataFrame, nw.LazyFrame)):
        return None
    native = wrapped.to_native()
    if native is not frame and (known := open_frame(native)) is not None:
        return known

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        part = wrapped.select(*chosen.values())
        eager = part.collect("polars") if isinstance(part, nw.LazyFrame) else part
        return renamed(eager.to_polars(), chosen)

    return Source(
        f"{type(native).__module__.partition('.')[0]} frame", wrapped.collect_schema().names(), take
    )


def _streamed(frame: object) -> Source | None:
    """What hands out its rows as Arrow does between libraries; a single column is no frame."""
    if isinstance(frame, Collection) or not hasattr(frame, "__arrow_c_stream__"):
        return None
    try:
        table = pl.DataFrame(frame)
    except pl.exceptions.SchemaError:
        return None
    return Source(type(frame).__name__, table.columns, lambda chosen: renamed(table, chosen))


# one column


def series(values: Any, name: str) -> pl.Series:
    """Any one-dimensional collection as a series."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, np.ndarray):
        return from_numpy(values, name)
    module = type(values).__module__.partition(".")[0]
    if not _is_column(values):
        raise BadTable(
            f"a {type(values).__name__} cannot be a column of ids: {str(values)!r:.60}.",
            "a list, an array or a series.",
        )
    if module == "pandas":
        return from_pandas(sys.modules["pandas"].Series(values), name)
    if module == "narwhals":
        return series(values.to_native(), name)
    if module == "pyarrow":
        return pl.Series(name, values)
    return from_values(list(values), name)


def _is_column(values: object) -> bool:
    is_text_or_frame = isinstance(values, (str, bytes)) or hasattr(values, "columns")
    return isinstance(values, Iterable) and not is_text_or_frame


def from_values(values: Sequence[object], name: str) -> pl.Series:
    """Python values as a typed series if they are of one type, else as the objects they are."""
    try:
        column = pl.Series(name, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return _mixed(values, name)
    # Tuples are ids of two parts; Polars would make lists of them.
    first = next((value for value in values if value is not None), None)
    if column.dtype.is_nested() and not isinstance(first, (list, np.ndarray)):
        return pl.Series(name, values, dtype=pl.Object)
    return column


def _mixed(values: Sequence[object], name: str) -> pl.Series:
    """Integers among floats are numbers; anything else stays as it is."""
    if all(map(_is_float, values)):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    return pl.Series(name, values, dtype=pl.Object)


def _is_float(value: Any) -> bool:
    """Whether a float64 holds the value exactly (or it is missing)."""
    if isinstance(value, (int, np.integer)):
        return abs(int(value)) <= EXACT
    return value is None or isinstance(value, (float, np.floating))


def from_numpy(values: np.ndarray[Any, Any], name: str) -> pl.Series:
    """An array as a series, without a Python object per value where the type allows it."""
    if values.ndim != 1:
        raise BadTable(
            f"an array of {values.ndim} dimensions cannot be a column.", "one dimension."
        )
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind == "M" and _coarse(values):
        values = values.astype("datetime64[us]")
    if values.dtype.kind in "biufUM" and values.dtype != np.longdouble:
        return pl.Series(name, np.ascontiguousarray(values))
    return from_values(values.tolist(), name)


def _coarse(values: np.ndarray[Any, Any]) -> bool:
    return np.datetime_data(values.dtype)[0] not in ("ns", "us", "ms", "D")


def from_pandas(column: Any, name: str) -> pl.Series:
    """A pandas column as a series; pyarrow helps with strings if it is there."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return from_numpy(column.to_numpy(), name)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return _categorical(column, name)
    if kind == "ArrowDtype":
        return pl.Series(name, _pyarrow().array(column, from_pandas=True))
    if hasattr(dtype, "numpy_dtype"):
        return _masked(column, name)
    if kind == "StringDtype" or _all_strings(column):
        return _strings(column, name)
    return from_values(_objects(column), name)


def _masked(column: Any, name: str) -> pl.Series:
    """A nullable pandas column: its values and where they are missing."""
    missing = column.isna().to_numpy()
    values = column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0)
    plain = from_numpy(values, name)
    if not missing.any():
        return plain
    return pl.select(pl.when(pl.lit(pl.Series(~missing))).then(pl.lit(plain)).alias(name))[name]


def _categorical(column: Any, name: str) -> pl.Series:
    """Categories of text stay categories, in their order; others become what they stand for."""
    codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
    categories = from_pandas(column.cat.categories.to_series(), name)
    if categories.dtype == pl.String:
        categories = categories.cast(pl.Enum(categories))
    return categories.gather(codes.replace(-1, None))


def _all_strings(column: Any) -> bool:
    infer = sys.modules["pandas"].api.types.infer_dtype
    return bool(infer(column, skipna=True) == "string")


def _strings(column: Any, name: str) -> pl.Series:
    if importlib.util.find_spec("pyarrow") is not None:
        return pl.Series(name, _pyarrow().array(column, from_pandas=True)).cast(pl.String)
    return pl.Series(name, _objects(column), dtype=pl.String)


def _pyarrow() -> Any:
    return importlib.import_module("pyarrow")


def _objects(column: Any) -> list[object]:
    """The values as Python objects, None where pandas has one of its missing values."""
    values = column.astype(object).to_numpy(copy=True)
    values[column.isna().to_numpy()] = None
    plain: list[object] = values.tolist()
    return plain

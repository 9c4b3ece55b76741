"""Frames in memory: Polars, pandas, Arrow, and any other that narwhals supports.

Single columns, including lists and arrays, become Polars series.
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
    """Return a frame as a source, or None if the object is not a frame."""
    if isinstance(frame, pl.DataFrame):
        return Source(
            "polars DataFrame", frame.columns, lambda chosen: rename_columns(frame, chosen)
        )
    if isinstance(frame, pl.LazyFrame):
        return _open_lazy(frame)
    if is_pandas(frame):
        return _open_pandas(frame)
    if _is_arrow(frame):
        return _open_arrow(frame)
    if type(frame).__module__.startswith("ray.data."):
        return _open_dataset(frame)
    return _open_narwhals(frame) or _open_stream(frame)


def is_held(frame: object) -> bool:
    """Whether a frame is held in memory, so that it can be looked at before it is read."""
    return isinstance(frame, pl.DataFrame) or is_pandas(frame) or _is_arrow(frame)


def is_pandas(frame: object) -> bool:
    """Whether an object is a frame of pandas, without importing pandas."""
    return _is_instance(frame, "pandas", "DataFrame")


def _is_arrow(frame: object) -> bool:
    return any(_is_instance(frame, "pyarrow", name) for name in ("Table", "RecordBatch"))


def rename_columns(frame: pl.DataFrame, chosen: Mapping[str, str]) -> pl.DataFrame:
    """Return the chosen columns under their new names."""
    return frame.select(frame[name].alias(new) for new, name in chosen.items())


def _is_instance(frame: object, module: str, name: str) -> bool:
    """Whether an object is an instance of a package's class, without importing the package."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(frame, kind)


def _open_lazy(frame: pl.LazyFrame) -> Source:
    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return rename_columns(frame.select(chosen.values()).collect(), chosen)

    return Source("polars LazyFrame", frame.collect_schema().names(), take)


def _open_pandas(frame: Any) -> Source:
    names = [str(name) for name in frame.columns]

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        positions = {new: names.index(name) for new, name in chosen.items()}
        return pl.DataFrame(
            [from_pandas(frame.iloc[:, position], new) for new, position in positions.items()]
        )

    return Source("pandas DataFrame", names, take, hint=_advise_pandas(frame))


def _advise_pandas(frame: Any) -> str:
    """Return advice for a frame whose columns are not recognised."""
    if frame.columns.nlevels > 1:
        return (
            f"its columns have {frame.columns.nlevels} levels: flatten them; for a pivot frame of"
            " scores, pivot one column: values='score', not ['score']."
        )
    if type(frame.columns).__name__ == "RangeIndex":
        return "if it has a row for each user and a column for each item: rt.Scores(frame)."
    index = [repr(str(name)) for name in frame.index.names if name is not None]
    hint = f"the index holds {', '.join(index)}: call .reset_index() to turn it into columns."
    return hint if index else ""


def _open_arrow(table: Any) -> Source:
    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        positions = [table.schema.names.index(name) for name in chosen.values()]
        columns = [
            pl.Series(new, table.column(position))
            for new, position in zip(chosen, positions, strict=True)
        ]
        return pl.DataFrame(columns)

    return Source(f"pyarrow {type(table).__name__}", table.schema.names, take)


def _open_dataset(dataset: Any) -> Source:
    """Return a Ray Dataset as a source, which collects the columns that are taken."""

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        needed = dataset.select_columns([*dict.fromkeys(chosen.values())])
        blocks = needed.iter_batches(batch_size=None, batch_format="pyarrow")
        frames = [pl.DataFrame(block) for block in blocks]
        if not frames:
            return pl.DataFrame(schema=dict.fromkeys(chosen, pl.Null))
        return rename_columns(pl.concat(frames, how="vertical_relaxed"), chosen)

    return Source("ray dataset", dataset.columns() or [], take)


def _open_narwhals(frame: object) -> Source | None:
    import narwhals as nw

    wrapped = nw.from_native(frame, pass_through=True)
    if not isinstance(wrapped, (nw.DataFrame, nw.LazyFrame)):
        return None
    native = wrapped.to_native()
    if native is not frame and (source := open_frame(native)) is not None:
        return source

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        selected = wrapped.select(*chosen.values())
        eager = selected.collect("polars") if isinstance(selected, nw.LazyFrame) else selected
        return rename_columns(eager.to_polars(), chosen)

    return Source(
        f"{type(native).__module__.partition('.')[0]} frame", wrapped.collect_schema().names(), take
    )


def _open_stream(frame: object) -> Source | None:
    """Return an object with the Arrow stream interface as a source; None for a single column."""
    if isinstance(frame, Collection) or not hasattr(frame, "__arrow_c_stream__"):
        return None
    try:
        table = pl.DataFrame(frame)
    except pl.exceptions.SchemaError:
        return None
    return Source(type(frame).__name__, table.columns, lambda chosen: rename_columns(table, chosen))


# one column


def series(values: Any, name: str) -> pl.Series:
    """Return any one-dimensional collection as a series."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, np.ndarray):
        return from_numpy(values, name)
    module = type(values).__module__.partition(".")[0]
    if not _is_column(values):
        raise BadTable(
            f"a column of ids is of type {type(values).__name__}: {str(values)!r:.60}.",
            "a list, an array or a series.",
            "pass the ids as a list, such as ['a', 'b'].",
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
    """Return Python values as a typed series if they share a type, otherwise as objects."""
    try:
        column = pl.Series(name, values)
    except UnicodeEncodeError as error:
        raise BadTable(
            "a text contains half of a surrogate pair, which is not a character: "
            f"{error.object!r}.",
            "text in Unicode.",
            "fix or remove these rows.",
        ) from None
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return _from_mixed(values, name)
    # A tuple is one id with several fields; Polars would turn it into a list.
    first = next((value for value in values if value is not None), None)
    if column.dtype.is_nested() and not isinstance(first, (list, np.ndarray)):
        return pl.Series(name, values, dtype=pl.Object)
    return column


def _from_mixed(values: Sequence[object], name: str) -> pl.Series:
    """Return a mix of integers and floats as numbers, and any other mix as objects."""
    if all(map(_is_float, values)):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    return pl.Series(name, values, dtype=pl.Object)


def _is_float(value: Any) -> bool:
    """Whether a float64 holds the value exactly, or the value is missing."""
    if isinstance(value, (int, np.integer)):
        return abs(int(value)) <= EXACT
    return value is None or isinstance(value, (float, np.floating))


def from_numpy(values: np.ndarray[Any, Any], name: str) -> pl.Series:
    """Return an array as a series, without a Python object per value if the type allows it."""
    if values.ndim != 1:
        raise BadTable(
            f"a column is an array with {values.ndim} dimensions, shape {values.shape}.",
            "one dimension.",
            "pass one array for each column.",
        )
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind == "M" and _has_coarse_unit(values):
        values = values.astype("datetime64[us]")
    if values.dtype.kind in "biufUM" and values.dtype != np.longdouble:
        return pl.Series(name, np.ascontiguousarray(values))
    return from_values(values.tolist(), name)


def _has_coarse_unit(values: np.ndarray[Any, Any]) -> bool:
    return np.datetime_data(values.dtype)[0] not in ("ns", "us", "ms", "D")


def from_pandas(column: Any, name: str) -> pl.Series:
    """Return a pandas column as a series; strings use pyarrow if it is installed."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return from_numpy(column.to_numpy(), name)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return _from_categorical(column, name)
    if kind == "ArrowDtype":
        return pl.Series(name, _import_pyarrow().array(column, from_pandas=True))
    if hasattr(dtype, "numpy_dtype"):
        return _from_masked(column, name)
    if kind == "StringDtype" or _all_strings(column):
        return _from_strings(column, name)
    return from_values(_to_objects(column), name)


def _from_masked(column: Any, name: str) -> pl.Series:
    """Return a nullable pandas column as a series with nulls."""
    missing = column.isna().to_numpy()
    values = column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0)
    filled = from_numpy(values, name)
    if not missing.any():
        return filled
    return pl.select(pl.when(pl.lit(pl.Series(~missing))).then(pl.lit(filled)).alias(name))[name]


def _from_categorical(column: Any, name: str) -> pl.Series:
    """Return text categories as an ordered Enum, and other categories as their values."""
    codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
    categories = from_pandas(column.cat.categories.to_series(), name)
    if categories.dtype == pl.String:
        categories = categories.cast(pl.Enum(categories))
    return categories.gather(codes.replace(-1, None))


def _all_strings(column: Any) -> bool:
    infer = sys.modules["pandas"].api.types.infer_dtype
    return bool(infer(column, skipna=True) == "string")


def _from_strings(column: Any, name: str) -> pl.Series:
    if importlib.util.find_spec("pyarrow") is not None:
        return pl.Series(name, _import_pyarrow().array(column, from_pandas=True)).cast(pl.String)
    return pl.Series(name, _to_objects(column), dtype=pl.String)


def _import_pyarrow() -> Any:
    return importlib.import_module("pyarrow")


def _to_objects(column: Any) -> list[object]:
    """Return the values as Python objects, with None for every missing value of pandas."""
    values = column.astype(object).to_numpy(copy=True)
    values[column.isna().to_numpy()] = None
    objects: list[object] = values.tolist()
    return objects

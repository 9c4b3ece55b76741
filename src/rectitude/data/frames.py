"""Frames in memory: Polars, pandas, Arrow, and whatever narwhals knows."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from rectitude.data.series import from_pandas
from rectitude.data.source import Source

if TYPE_CHECKING:
    import polars as pl


def open_frame(frame: object) -> Source | None:
    """A frame as a source; None if it is no frame."""
    import polars as pl

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
        import polars as pl

        at = {new: names.index(name) for new, name in chosen.items()}
        return pl.DataFrame([from_pandas(frame.iloc[:, place], new) for new, place in at.items()])

    index = [repr(str(name)) for name in frame.index.names if name is not None]
    hint = f"the index holds {', '.join(index)}: call .reset_index() to make columns of it."
    return Source("pandas DataFrame", names, take, hint=hint if index else "")


def _arrow(table: Any) -> Source:
    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        import polars as pl

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
    import polars as pl

    if isinstance(frame, Collection) or not hasattr(frame, "__arrow_c_stream__"):
        return None
    try:
        table = pl.DataFrame(frame)
    except pl.exceptions.SchemaError:
        return None
    return Source(type(frame).__name__, table.columns, lambda chosen: renamed(table, chosen))

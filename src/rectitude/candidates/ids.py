"""Ids of one type on both sides, so that what looks alike is not taken for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rectitude.data.ids import whole_numbers
from rectitude.errors import BadIds

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table

IDS = ("user", "item")


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Users and items alone; categories become the text they stand for."""
    import polars as pl

    held = [name for name in IDS if name in frame.columns]
    text = [pl.col(name).cast(pl.String) for name in held if _categorical(frame[name].dtype)]
    return frame.select(held).with_columns(text)


def fitting(table: Table, model: pl.DataFrame) -> pl.DataFrame:
    """A table with its list key as the user, and with ids of the types that a frame has.

    Integers of any size fit each other, and untyped text fits integers; other types are refused.
    """
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    ids = plain(frame)
    held = [name for name in ids.columns if name in model.columns]
    cast = [fitted(ids[name], model[name].dtype, table.source, table.text) for name in held]
    return frame.with_columns(cast)


def fitted(ids: pl.Series, dtype: pl.DataType, source: str, text: bool = False) -> pl.Series:
    """Ids in a type, or an error if they are something else."""
    import polars as pl

    if _categorical(ids.dtype):
        ids = ids.cast(pl.String)
    if ids.dtype == dtype:
        return ids
    if text and dtype == pl.String:
        return ids.cast(pl.String)
    numbers = whole_numbers(ids) if text or ids.dtype.is_integer() else None
    if numbers is not None and dtype.is_integer():
        cast = numbers.cast(dtype, strict=False)
        if cast.null_count() == ids.null_count():
            return cast
    raise BadIds(
        f"the {ids.name}s of {source} are {ids.dtype}, and those of the candidates {dtype}.",
        "ids of one type.",
    )


def _categorical(dtype: pl.DataType) -> bool:
    import polars as pl

    return dtype in (pl.Categorical, pl.Enum)

"""Values as bytes: JSON, and the columns it refers to. Nothing in them is ever executed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import polars as pl

from rectitude.data.dense import Cells, Dense
from rectitude.data.known import Firsts, Known
from rectitude.data.ledger import Entry, Ledger
from rectitude.data.sources import Sources
from rectitude.data.table import Table
from rectitude.dense.chances import Chances
from rectitude.errors import BadIds, UnreadableFile
from rectitude.torch.scored import gone

_CLASSES: dict[str, type[Any]] = {
    one.__name__: one
    for one in (Cells, Chances, Dense, Entry, Firsts, Known, Ledger, Sources, Table)
}
_LEFT_OUT = {"blocks": gone, "progress": None}
"""What is the same in all that is kept: the scores are gone."""


def pack(value: Any) -> bytes:
    """A value made of tables, columns and plain values, as bytes."""
    room = BytesIO()
    with ZipFile(room, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("value", json.dumps(_packed(value, archive)))
    return room.getvalue()


def unpack(packed: bytes) -> Any:
    """What `pack` was given."""
    try:
        with ZipFile(BytesIO(packed)) as archive:
            return _unpacked(json.loads(archive.read("value")), archive)
    except (BadZipFile, KeyError, ValueError, TypeError) as error:
        raise UnreadableFile(f"the state is damaged: {error!r}.", "a whole state.") from error


def _packed(value: Any, archive: ZipFile) -> Any:
    if isinstance(value, (pl.Series, pl.DataFrame, np.ndarray, bytes)):
        return _member(value, archive)
    if dataclasses.is_dataclass(value) or isinstance(value, (Chances, Firsts)):
        names = _fields(value) if dataclasses.is_dataclass(value) else value._fields
        inside = {name: _packed(getattr(value, name), archive) for name in names}
        return {"class": type(value).__name__, "fields": inside}
    if isinstance(value, Mapping):
        return {"pairs": [[_packed(k, archive), _packed(v, archive)] for k, v in value.items()]}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_packed(one, archive) for one in value]}
    return value


def _fields(value: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(value) if f.name not in _LEFT_OUT]


def _member(
    value: pl.Series | pl.DataFrame | np.ndarray[Any, Any] | bytes, archive: ZipFile
) -> Any:
    room, name = BytesIO(), f"{len(archive.namelist())}"
    if isinstance(value, bytes):
        room.write(value)
    elif isinstance(value, np.ndarray):
        np.save(room, value, allow_pickle=False)
    else:
        frame = value.to_frame("only") if isinstance(value, pl.Series) else value
        if pl.Object in frame.dtypes:
            raise BadIds("ids are objects, which cannot be kept.", "whole numbers or text.")
        frame.write_ipc(room)
    archive.writestr(name, room.getvalue())
    return {"member": name, "kind": type(value).__name__}


def _unpacked(value: Any, archive: ZipFile) -> Any:
    if not isinstance(value, dict):
        return value
    if "member" in value:
        return _from_member(archive.read(value["member"]), value["kind"])
    for kind in (tuple, list):
        if kind.__name__ in value:
            return kind(_unpacked(one, archive) for one in value[kind.__name__])
    if "pairs" in value:
        return {_unpacked(k, archive): _unpacked(v, archive) for k, v in value["pairs"]}
    one = _CLASSES[value["class"]]
    inside = {name: _unpacked(part, archive) for name, part in value["fields"].items()}
    return one(**inside, **(_LEFT_OUT if one is Dense else {}))


def _from_member(content: bytes, kind: str) -> Any:
    if kind == "bytes":
        return content
    if kind == "ndarray":
        return np.load(BytesIO(content), allow_pickle=False)
    frame = pl.read_ipc(BytesIO(content))
    return frame["only"] if kind == "Series" else frame

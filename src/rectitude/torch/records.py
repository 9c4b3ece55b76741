"""What is kept of a batch whose lists may come again: where items stand, and who the lists are.

Under distributed data parallel, samplers repeat samples to give every process as many. Nothing can
be taken out of a sum without knowing what it put in, so every list keeps its id and where the items
of its truth stand; scores are never kept. Records are packed as JSON and the columns it refers to,
of which nothing is ever executed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, cast
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, Ragged
from rectitude.data.dense import Dense, Firsts, Known, ReadingKey
from rectitude.data.ids import has_128_bits, kind_of
from rectitude.data.ledger import Entry, Ledger
from rectitude.data.table import Inputs, Table
from rectitude.errors import BadIds, BadName, BadScores, UnreadableFile
from rectitude.evaluation.stream import Evaluator
from rectitude.judge.align import Aligned, align_inputs
from rectitude.judge.dense import Reading, keeping_scores, reading
from rectitude.rowkernels.standings import Chances
from rectitude.torch.scored import gone

_TABLES = ("train", "items", "users")
_CLASSES: dict[str, type[Any]] = {
    one.__name__: one
    for one in (Chances, Dense, Entry, Firsts, Inputs, Known, Ledger, Ragged, ReadingKey, Table)
}
_LEFT_OUT = {"blocks": gone, "progress": None}
"""What is the same in all that is kept: the scores are gone."""


@dataclass(frozen=True)
class Record:
    """A batch without its scores, its lists, and what tells them apart."""

    content: bytes
    """everything that is the batch's own, in as little memory as it takes"""
    shared: Mapping[str, Any]
    """tables and columns that other batches have as well"""
    lists: pl.DataFrame
    """(lists,) `id`, whether it was `handed` over, and a `mark` of its truth"""
    named: bool
    """whether the ids are the same wherever a list occurs"""

    def without(self, places: Integers) -> Inputs | None:
        """The batch less some of its lists; None if nothing is left."""
        if len(places) == self.lists.height:
            return None
        sources, keys = unpack(self.content)
        dense = sources.dense
        if dense is not None:
            dense = replace(dense, items=self.shared["columns"])
        tables = {side: self.shared[side] for side in _TABLES}
        whole = replace(sources, **tables, dense=dense)
        return _without(whole, keys.gather(places)) if len(places) else whole


def record_of(
    sources: Inputs,
    evaluator: Evaluator,
    ids: pl.Series | None,
    before: Record | None = None,
    named: bool = True,
) -> tuple[Record, Inputs]:
    """What must be kept of a batch, and the batch without its scores, to be judged now.

    `ids` name the rows where the predictions do not; lists that are not `named` by anything are
    numbered in their batch alone. Tables that are the same in the batch `before`
    are kept once.
    """
    _require_few(sources, evaluator)
    exact = any(one.convention.ties.startswith("item") for one in evaluator.wanted.values())
    sides = align_inputs(sources, exact)
    dense, keys = sources.dense, sides.keys
    named = named if dense is None else dense.named or ids is not None
    own = keys if ids is None or dense is None or dense.named else _renamed(keys, ids, dense)
    lists = pl.DataFrame({"id": _plain(own), "handed": sides.handed, "mark": _marks(sides)})
    if dense is not None:
        dense = replace(dense, blocks=gone, known=_known(sides, dense, evaluator), progress=None)
        sources = replace(sources, dense=dense)
    return Record(_content(sources, keys), _shared(sources, before), lists, named), sources


def _require_few(sources: Inputs, evaluator: Evaluator) -> None:
    """Refuse metrics that look at all items of dense scores, which are not kept."""
    names = [name for name, one in evaluator.wanted.items() if "shown" in one.metric.requires]
    if sources.dense is not None and names:
        raise BadName(
            f"{names[0]!r} looks at the items in every place, and scores are not kept until "
            "repeated lists are known.",
            "lists of items.",
            "hand over the best items: rectitude.torch.Ranked(scores.topk(k).indices).",
        )


def _renamed(keys: pl.Series, ids: pl.Series, dense: Dense) -> pl.Series:
    if len(ids) != dense.rows:
        raise BadScores(f"ids names {len(ids)}, and there are {dense.rows} rows.", "one id a row.")
    return ids.gather(keys.to_numpy())


def _plain(ids: pl.Series) -> pl.Series:
    """Ids as whole numbers or text, whatever they are."""
    kind = kind_of(ids)
    if ids.dtype == pl.UInt64:  # the same bits: two of them stay two
        return ids.reinterpret(signed=True)
    if kind == "integer" and not has_128_bits(ids):
        return ids.cast(pl.Int64)
    if kind == "text":
        return ids.cast(pl.String)
    return pl.Series([repr(value) for value in ids.to_list()], dtype=pl.String)


def _marks(sides: Aligned) -> NDArray[np.uint64]:
    """(lists,) a sum over the truth of each list, by which two of them are told apart."""
    frame = sides.sources.truth.frame
    grade = frame["grade"].cast(pl.Float64) if "grade" in frame.columns else 1.0
    told = pl.DataFrame({"item": _plain(frame["item"])}).with_columns(grade=grade)
    words = told.hash_rows().to_numpy()
    lists, where = sides.judgements.expand()
    marks = np.zeros(len(sides.keys), np.uint64)
    np.add.at(marks, lists, words[sides.judgements.rows(where)])
    return marks


def _known(sides: Aligned, dense: Dense, evaluator: Evaluator) -> dict[ReadingKey, Known]:
    """Everything that any metric reads in the scores."""
    every = evaluator.wanted.values()
    wanted = [keeping_scores(one.convention, one.metric.requires) for one in every]
    for convention in (evaluator.profile.convention, *wanted):
        reading(sides, dense, convention)
        if convention.score_precision == "logistic":  # compared with ranks by plain scores
            reading(sides, dense, convention.replace(score_precision="float32"))
    found = sides.readings.items()
    return {cast("ReadingKey", key): _of_reading(one, dense) for key, one in found}


def _of_reading(found: Reading, dense: Dense) -> Known:
    there = np.flatnonzero((found.column >= 0) & (found.above >= 0))
    cells = found.row[found.list[there]] * dense.columns + found.column[there]
    standings = np.stack([found.above, found.tied, found.before])[:, there].astype(np.int32)
    own = None if found.score is None else found.score[there]
    return Known.of(cells, standings, own, found.firsts)


def _content(sources: Inputs, keys: pl.Series) -> bytes:
    own = replace(sources, train=None, items=None, users=None)
    if own.dense is not None:
        own = replace(own, dense=replace(own.dense, items=own.dense.items[:0]))
    return pack((own, keys))


def _shared(sources: Inputs, before: Record | None) -> Mapping[str, Any]:
    """Tables and columns of a batch; those of the other batch where they are equal."""
    mine = {side: getattr(sources, side) for side in _TABLES}
    mine["columns"] = None if sources.dense is None else sources.dense.items
    if before is None:
        return mine
    same = {name: _same(value, before.shared[name]) for name, value in mine.items()}
    if all(same.values()):
        return before.shared
    return {name: before.shared[name] if same[name] else mine[name] for name in mine}


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Table) and isinstance(theirs, Table):
        return mine.columns == theirs.columns and mine.frame.equals(theirs.frame)
    if isinstance(mine, pl.Series) and isinstance(theirs, pl.Series):
        return mine.dtype == theirs.dtype and mine.equals(theirs)
    return mine is theirs


def _without(sources: Inputs, keys: pl.Series) -> Inputs:
    """A batch without the lists of some keys."""
    tables: dict[str, Any] = {
        side: _table_without(getattr(sources, side), keys)
        for side in ("predictions", "truth", "weights")
    }
    if sources.key == "user":
        tables["users"] = _table_without(sources.users, keys)
    dense = sources.dense
    if dense is None:
        return replace(sources, **tables, left="some")
    rows = np.flatnonzero(~_among(dense.table.frame["list"], keys))
    known = {key: one.of_rows(rows, dense.columns) for key, one in (dense.known or {}).items()}
    table = replace(dense.table, frame=dense.table.frame[rows])
    seen = None if sources.seen is None else sources.seen.of(rows)
    recorded = None if sources.recorded is None else sources.recorded[rows]
    left = replace(dense, rows=len(rows), table=table, known=known)
    return replace(sources, **tables, dense=left, seen=seen, recorded=recorded, left="some")


def _table_without(table: Table | None, keys: pl.Series) -> Table | None:
    if table is None or "list" not in table.frame.columns:
        return table
    handed = table.handed
    if handed is not None:
        handed = handed.filter(~_among(handed, keys))
    return replace(
        table, frame=table.frame.filter(~_among(table.frame["list"], keys)), handed=handed
    )


def _among(ids: pl.Series, keys: pl.Series) -> Flags:
    """Which ids are among some keys."""
    return _plain(ids).is_in(_plain(keys).implode()).to_numpy()


def pack(value: Any) -> bytes:
    """A value made of tables, columns and plain values, as bytes."""
    room = BytesIO()
    with ZipFile(room, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("value", json.dumps(_packed(value, archive)))
    return room.getvalue()


def _packed(value: Any, archive: ZipFile) -> Any:
    if isinstance(value, (pl.Series, pl.DataFrame, np.ndarray, bytes)):
        return _member(value, archive)
    if dataclasses.is_dataclass(value) or isinstance(value, (Chances, Firsts, ReadingKey)):
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


def unpack(packed: bytes) -> Any:
    """What `pack` was given."""
    try:
        with ZipFile(BytesIO(packed)) as archive:
            return _unpacked(json.loads(archive.read("value")), archive)
    except (BadZipFile, KeyError, ValueError, TypeError) as error:
        raise UnreadableFile(f"the state is damaged: {error!r}.", "a whole state.") from error


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

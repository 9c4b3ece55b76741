"""Records: batches kept without their scores, so that repeated lists can be removed later.

In distributed data parallel training, samplers repeat samples to give every process the same
number. A list can only be removed from a sum if its contribution is known. Therefore a record keeps
the id of every list and the ranks of the items of its truth; it never keeps scores. Records are
stored as JSON plus the columns that the JSON refers to. Reading them never executes code.
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
from rectitude.data.dense import CountedCells, Dense, ReadingKey, TopClasses
from rectitude.data.ids import has_128_bits, kind_of
from rectitude.data.ledger import Entry, Ledger
from rectitude.data.table import Inputs, Table
from rectitude.errors import BadArgument, BadIds, BadScores, UnreadableFile
from rectitude.evaluation.stream import Evaluator
from rectitude.judge.align import Aligned, align_inputs
from rectitude.judge.dense import Reading, keep_scores, reading
from rectitude.rowkernels.standings import Chances
from rectitude.torch.scored import raise_not_kept

_TABLES = ("train", "seen", "items", "users")
_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        Chances,
        Dense,
        Entry,
        TopClasses,
        Inputs,
        CountedCells,
        Ledger,
        Ragged,
        ReadingKey,
        Table,
    )
}
_LEFT_OUT = {"blocks": raise_not_kept, "progress": None}
"""Fields that are the same in all records, because the scores are gone."""


@dataclass(frozen=True, eq=False)
class Record:
    """A batch without its scores, and the ids of its lists."""

    content: bytes
    """everything that belongs to this batch only, compressed; empty for lists that came again"""
    shared: Mapping[str, Any]
    """tables and columns that other batches have too"""
    lists: pl.DataFrame
    """(lists,) the `id`, whether predictions contained it (`handed`), a hash of its truth (`mark`),
    and how often it came (`times`)"""
    named: bool
    """whether the ids are the same in every batch and process"""

    def without(self, positions: Integers) -> Inputs | None:
        """Return the batch without the lists at some positions; None if nothing is left."""
        if len(positions) == self.lists.height:
            return None
        sources, keys = unpack(self.content)
        dense = sources.dense
        if dense is not None:
            dense = replace(dense, items=self.shared["columns"])
        tables = {side: self.shared[side] for side in _TABLES}
        whole = replace(sources, **tables, dense=dense)
        return _without(whole, keys.gather(positions)) if len(positions) else whole


def record_of(
    sources: Inputs,
    evaluator: Evaluator,
    ids: pl.Series | None,
    before: Record | None = None,
    named: bool = True,
) -> tuple[Record, Inputs]:
    """Return the record of a batch, and the batch without its scores, ready to be judged.

    `ids` name the rows if the predictions do not. Lists that nothing names (`named` is False) are
    only numbered within their batch. Tables that equal those of the batch `before` are stored once.
    """
    _require_no_shown_items(sources, evaluator)
    exact = any(metric.convention.sorts_ties_by_id for metric in evaluator.wanted.values())
    aligned = align_inputs(sources, exact)
    dense, keys = sources.dense, aligned.keys
    named = named if dense is None else dense.named or ids is not None
    names = keys if ids is None or dense is None or dense.named else _rename(keys, ids, dense)
    lists = pl.DataFrame(
        {"id": _as_plain_ids(names), "handed": aligned.handed, "mark": _hash_truth(aligned)}
    ).with_columns(times=pl.lit(1, pl.Int64))
    if dense is not None:
        dense = replace(
            dense,
            blocks=raise_not_kept,
            known=_read_everything(aligned, dense, evaluator),
            progress=None,
        )
        sources = replace(sources, dense=dense)
    return Record(_pack_batch(sources, keys), _share_tables(sources, before), lists, named), sources


def _require_no_shown_items(sources: Inputs, evaluator: Evaluator) -> None:
    """Refuse metrics that need the items at every rank of dense scores, which are not kept."""
    names = [name for name, asked in evaluator.wanted.items() if "shown" in asked.metric.requires]
    if sources.dense is not None and names:
        raise BadArgument(
            f"{names[0]!r} needs the items at every rank, but scores are not kept while repeated "
            "lists may still arrive.",
            "ranked lists of items instead of scores.",
            "pass the best items: rectitude.torch.Ranked(scores.topk(k).indices).",
        )


def _rename(keys: pl.Series, ids: pl.Series, dense: Dense) -> pl.Series:
    if len(ids) != dense.rows:
        raise BadScores(f"ids has {len(ids)} ids for {dense.rows} rows.", "one id per row.")
    return ids.gather(keys.to_numpy())


def _as_plain_ids(ids: pl.Series) -> pl.Series:
    """Return ids of any type as integers or text."""
    kind = kind_of(ids)
    if ids.dtype == pl.UInt64:  # keep the bits, so that different ids stay different
        return ids.reinterpret(signed=True)
    if kind == "integer" and not has_128_bits(ids):
        return ids.cast(pl.Int64)
    if kind == "text":
        return ids.cast(pl.String)
    return pl.Series([repr(value) for value in ids.to_list()], dtype=pl.String)


def _hash_truth(aligned: Aligned) -> NDArray[np.uint64]:
    """Return (lists,) the sum of hashes over the truth of each list, to compare two truths."""
    frame = aligned.sources.truth.frame
    grade = frame["grade"].cast(pl.Float64) if "grade" in frame.columns else 1.0
    rows = pl.DataFrame({"item": _as_plain_ids(frame["item"])}).with_columns(grade=grade)
    hashes = rows.hash_rows().to_numpy()
    lists, where = aligned.judgements.expand()
    marks = np.zeros(len(aligned.keys), np.uint64)
    np.add.at(marks, lists, hashes[aligned.judgements.rows(where)])
    return marks


def _read_everything(
    aligned: Aligned, dense: Dense, evaluator: Evaluator
) -> dict[ReadingKey, CountedCells]:
    """Return everything that any metric reads from the scores."""
    every = evaluator.wanted.values()
    wanted = [keep_scores(asked.convention, asked.metric.requires) for asked in every]
    for convention in (evaluator.profile.convention, *wanted):
        reading(aligned, dense, convention)
        if convention.score_precision == "logistic":  # compared with ranks by plain scores
            reading(aligned, dense, convention.replace(score_precision="float32"))
    readings = aligned.readings.items()
    return {cast("ReadingKey", key): _keep_reading(result, dense) for key, result in readings}


def _keep_reading(result: Reading, dense: Dense) -> CountedCells:
    present = np.flatnonzero((result.column >= 0) & (result.above >= 0))
    cells = result.row[result.list[present]] * dense.columns + result.column[present]
    standings = np.stack([result.above, result.tied, result.before])[:, present].astype(np.int32)
    scores = None if result.score is None else result.score[present]
    return CountedCells.of(cells, standings, scores, result.top_classes)


def _pack_batch(sources: Inputs, keys: pl.Series) -> bytes:
    batch = replace(sources, train=None, seen=None, items=None, users=None)
    if batch.dense is not None:
        batch = replace(batch, dense=replace(batch.dense, items=batch.dense.items[:0]))
    return pack((batch, keys))


def _share_tables(sources: Inputs, before: Record | None) -> Mapping[str, Any]:
    """Return the tables and columns of a batch; reuse those of the batch before if equal."""
    tables = {side: getattr(sources, side) for side in _TABLES}
    tables["columns"] = None if sources.dense is None else sources.dense.items
    if before is None:
        return tables
    same = {name: _are_equal(value, before.shared[name]) for name, value in tables.items()}
    if all(same.values()):
        return before.shared
    return {name: before.shared[name] if same[name] else tables[name] for name in tables}


def _are_equal(value: Any, other: Any) -> bool:
    if isinstance(value, Table) and isinstance(other, Table):
        return value.columns == other.columns and value.frame.equals(other.frame)
    if isinstance(value, pl.Series) and isinstance(other, pl.Series):
        return value.dtype == other.dtype and value.equals(other)
    return value is other


def _without(sources: Inputs, keys: pl.Series) -> Inputs:
    """Return a batch without the lists of some keys."""
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
    known = {
        key: counts.of_rows(rows, dense.columns) for key, counts in (dense.known or {}).items()
    }
    table = replace(dense.table, frame=dense.table.frame[rows])
    seen = None if sources.seen_cells is None else sources.seen_cells.of(rows)
    recorded = None if sources.recorded is None else sources.recorded[rows]
    left = replace(dense, rows=len(rows), table=table, known=known)
    return replace(sources, **tables, dense=left, seen_cells=seen, recorded=recorded, left="some")


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
    """Return which ids are among some keys."""
    return _as_plain_ids(ids).is_in(_as_plain_ids(keys).implode()).to_numpy()


def pack(value: Any) -> bytes:
    """Return a value made of tables, columns and plain values as bytes."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("value", json.dumps(_pack(value, archive)))
    return buffer.getvalue()


def _pack(value: Any, archive: ZipFile) -> Any:
    if isinstance(value, (pl.Series, pl.DataFrame, np.ndarray, bytes)):
        return _write_member(value, archive)
    if dataclasses.is_dataclass(value) or isinstance(value, (Chances, TopClasses, ReadingKey)):
        names = _fields(value) if dataclasses.is_dataclass(value) else value._fields
        fields = {name: _pack(getattr(value, name), archive) for name in names}
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, Mapping):
        return {"pairs": [[_pack(k, archive), _pack(v, archive)] for k, v in value.items()]}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_pack(entry, archive) for entry in value]}
    return value


def _fields(value: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(value) if f.name not in _LEFT_OUT]


def _write_member(
    value: pl.Series | pl.DataFrame | np.ndarray[Any, Any] | bytes, archive: ZipFile
) -> Any:
    buffer, name = BytesIO(), f"{len(archive.namelist())}"
    if isinstance(value, bytes):
        buffer.write(value)
    elif isinstance(value, np.ndarray):
        np.save(buffer, value, allow_pickle=False)
    else:
        frame = value.to_frame("only") if isinstance(value, pl.Series) else value
        if pl.Object in frame.dtypes:
            raise BadIds("ids are Python objects, which cannot be stored.", "integers or text.")
        frame.write_ipc(buffer)
    archive.writestr(name, buffer.getvalue())
    return {"member": name, "kind": type(value).__name__}


def unpack(packed: bytes) -> Any:
    """Return the value that `pack` stored."""
    try:
        with ZipFile(BytesIO(packed)) as archive:
            return _unpack(json.loads(archive.read("value")), archive)
    except (BadZipFile, KeyError, ValueError, TypeError) as error:
        raise UnreadableFile(
            f"the state is damaged: {error!r}.", "a state that `as_bytes` returned."
        ) from error


def _unpack(value: Any, archive: ZipFile) -> Any:
    if not isinstance(value, dict):
        return value
    if "member" in value:
        return _read_member(archive.read(value["member"]), value["kind"])
    for kind in (tuple, list):
        if kind.__name__ in value:
            return kind(_unpack(entry, archive) for entry in value[kind.__name__])
    if "pairs" in value:
        return {_unpack(k, archive): _unpack(v, archive) for k, v in value["pairs"]}
    cls = _CLASSES[value["class"]]
    fields = {name: _unpack(field, archive) for name, field in value["fields"].items()}
    return cls(**fields, **(_LEFT_OUT if cls is Dense else {}))


def _read_member(content: bytes, kind: str) -> Any:
    if kind == "bytes":
        return content
    if kind == "ndarray":
        return np.load(BytesIO(content), allow_pickle=False)
    frame = pl.read_ipc(BytesIO(content))
    return frame["only"] if kind == "Series" else frame

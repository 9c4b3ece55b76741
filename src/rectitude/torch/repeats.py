"""Lists that occur more than once: decide which of them counts, and report it."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Integers
from rectitude.data.ledger import Ledger
from rectitude.errors import BadIds, BadTruth
from rectitude.evaluation.stream import Evaluator
from rectitude.torch.records import Record

_COLUMNS = {
    "batch": pl.Int64, "position": pl.Int64, "handed": pl.Boolean, "mark": pl.UInt64,
    "times": pl.Int64,
}  # fmt: skip
_FRAMES = 1000


class Known:
    """The lists of a process that were recorded, and those that came again.

    A batch whose lists have all come before adds nothing. Only how often they came is kept, so the
    records do not grow with repetitions.
    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self.marks: dict[object, int | None] = {}
        """id -> the hash of its truth; None while it has only occurred in the truth"""
        self.again: list[pl.DataFrame] = []
        for record in records:
            self.add(record)

    def has_all(self, record: Record) -> bool:
        """Return whether no list of a batch counts, because others with the same ids do."""
        nothing = object()
        known = (
            (self.marks.get(key, nothing), mark if handed else None)
            for key, handed, mark in record.lists.select("id", "handed", "mark").iter_rows()
        )
        return record.named and all(
            before is not nothing if mark is None else before == mark for before, mark in known
        )

    def add(self, record: Record) -> None:
        """Note the lists of a batch that is recorded."""
        if record.named:
            for key, handed, mark in record.lists.select("id", "handed", "mark").iter_rows():
                if self.marks.setdefault(key, None) is None and handed:
                    self.marks[key] = mark

    def note(self, record: Record) -> None:
        """Note a batch whose lists have all come before."""
        self.again.append(record.lists)
        if len(self.again) > _FRAMES:
            self.again = [self._join_repeats()]

    def _join_repeats(self) -> pl.DataFrame:
        same = pl.concat(self.again).group_by("id", "handed", "mark", maintain_order=True)
        return same.agg(pl.col("times").sum())

    def records(self) -> list[Record]:
        """Return what came again as a record without content."""
        return [Record(b"", {}, self._join_repeats(), True)] if self.again else []


class ListIds(NamedTuple):
    """The lists of one process that have ids, and how many lists have none."""

    named: pl.DataFrame
    nameless: int = 0

    def as_bytes(self) -> bytes:
        """Return the bytes to send to other processes."""
        buffer = BytesIO()
        self.named.write_ipc(buffer)
        return self.nameless.to_bytes(8, "little") + buffer.getvalue()

    @staticmethod
    def from_bytes(sent: bytes) -> ListIds:
        """Return the lists that `as_bytes` stored."""
        return ListIds(pl.read_ipc(BytesIO(sent[8:])), int.from_bytes(sent[:8], "little"))


class Repeats(NamedTuple):
    """The lists of all processes that do not count, because another list with the same id does."""

    dropped: pl.DataFrame
    """`rank` of the process, `batch` and `position` of each list, and whether predictions contained
    it (`handed`)"""
    example: str
    nameless: int
    """how many lists have no ids, so that repeats among them cannot be found"""
    ranks: int

    def of(self, rank: int, batch: int) -> Integers:
        """Return the positions in a batch of the lists that do not count."""
        in_batch = (pl.col("rank") == rank) & (pl.col("batch") == batch)
        return self.dropped.filter(in_batch)["position"].to_numpy()

    def report(self, ledger: Ledger) -> None:
        """Report in the ledger how many lists were repeated, and how many have no ids."""
        count = int(self.dropped.filter("handed")["times"].sum())
        if count:
            about = "lists occurred more than once and were counted once"
            ledger.count("lists_repeated", count, about, None, self.example, "notice")
        if self.nameless and self.ranks > 1:
            about = "lists have no ids: repeats by a distributed sampler count as further lists"
            ledger.count("lists_without_ids", self.nameless, about, weight="warning")


def list_records(records: Sequence[Record]) -> ListIds:
    """Return the lists of all batches of a process."""
    frames = [
        record.lists.select(
            pl.lit(batch, pl.Int64).alias("batch"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("position"),
            "handed",
            "mark",
            "times",
            "id",
        )
        for batch, record in enumerate(records)
        if record.named
    ]
    nameless = sum(record.lists.height for record in records if not record.named)
    if not frames:
        return ListIds(pl.DataFrame(schema={**_COLUMNS, "id": pl.Int64}), nameless)
    _require_one_type(frames)
    return ListIds(pl.concat(frames), nameless)


def repeats_of(processes: Sequence[ListIds]) -> Repeats:
    """Return which lists do not count. The result is the same in every process.

    A list from the predictions counts before one that only occurs in the truth. Among equals, the
    list of the first process counts, then that of the first batch.
    """
    nameless = sum(process.nameless for process in processes)
    frames = [
        process.named.with_columns(pl.lit(rank, pl.Int64).alias("rank"))
        for rank, process in enumerate(processes)
        if process.named.height
    ]
    if not frames:
        nothing = pl.DataFrame(schema={"rank": pl.Int64, **_COLUMNS, "id": pl.Int64})
        return Repeats(nothing, "", nameless, len(processes))
    _require_one_type(frames)
    order = ["id", pl.col("handed").not_(), "rank", "batch", "position"]
    named = pl.concat(frames).sort(order, maintain_order=True)
    _require_same_truth(named)
    dropped = named.filter(~named["id"].is_first_distinct())
    repeated = dropped.filter("handed")["id"]
    example = repr(repeated[0]) if len(repeated) else ""
    return Repeats(dropped, example, nameless, len(processes))


def _require_same_truth(named: pl.DataFrame) -> None:
    marks = (
        named.filter("handed").group_by("id", maintain_order=True).agg(pl.col("mark").n_unique())
    )
    different = marks.filter(pl.col("mark") > 1)
    if different.height:
        raise BadTruth(
            f"{different.height} lists occur more than once with different truth (first: "
            f"{different['id'][0]!r}).",
            "the same truth wherever a list occurs.",
            "if a user has several lists, give each list its own key: lists= and list_key=.",
        )


def _require_one_type(frames: Sequence[pl.DataFrame]) -> None:
    types = {str(frame["id"].dtype) for frame in frames}
    if len(types) > 1:
        raise BadIds(
            f"ids have different types in different batches: {', '.join(sorted(types))}.",
            "ids of the same type in every batch.",
        )


def count_once(
    evaluator: Evaluator, records: Sequence[Record], repeats: Repeats, rank: int
) -> Evaluator:
    """Return a process's sums without the lists that do not count.

    If all lists count, that is the evaluator itself; otherwise the records are judged again.
    """
    dropped_lists = [repeats.of(rank, batch) for batch in range(len(records))]
    positions = {
        record: dropped
        for record, dropped in zip(records, dropped_lists, strict=True)
        if record.content
    }
    if not any(len(dropped) for dropped in positions.values()):
        return evaluator
    recounted = Evaluator(
        evaluator.names,
        evaluator.profile,
        intervals=evaluator.intervals,
        per_list=evaluator.per_list,
    )
    for record, dropped in positions.items():
        batch = record.without(np.asarray(dropped))
        if batch is not None:
            recounted.add(batch)
    return recounted

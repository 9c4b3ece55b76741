"""Lists that were handed over more than once: which of them counts, and what is said of it."""

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

_COLUMNS = {"batch": pl.Int64, "place": pl.Int64, "handed": pl.Boolean, "mark": pl.UInt64}


class Listed(NamedTuple):
    """The lists of one process that have ids, and how many have none."""

    named: pl.DataFrame
    nameless: int = 0

    def as_bytes(self) -> bytes:
        """To be sent."""
        room = BytesIO()
        self.named.write_ipc(room)
        return self.nameless.to_bytes(8, "little") + room.getvalue()

    @staticmethod
    def from_bytes(sent: bytes) -> Listed:
        """What `as_bytes` gave."""
        return Listed(pl.read_ipc(BytesIO(sent[8:])), int.from_bytes(sent[:8], "little"))


class Repeats(NamedTuple):
    """The lists of all processes that do not count, because another of the same id does."""

    dropped: pl.DataFrame
    """`rank`, `batch` and `place` of each, and whether it was `handed` over"""
    example: str
    nameless: int
    """lists without ids, of which nobody can tell"""
    ranks: int

    def of(self, rank: int, batch: int) -> Integers:
        """The places of a batch that do not count."""
        mine = (pl.col("rank") == rank) & (pl.col("batch") == batch)
        return self.dropped.filter(mine)["place"].to_numpy()

    def tell(self, ledger: Ledger) -> None:
        """Say how many lists were counted once, and of how many nobody knows."""
        count = int(self.dropped["handed"].sum())
        if count:
            about = "lists were handed over again: counted once"
            ledger.count("lists_repeated", count, about, None, self.example, "notice")
        if self.nameless and self.ranks > 1:
            about = "lists have no ids: one that a sampler repeats counts again"
            ledger.count("lists_without_ids", self.nameless, about, weight="warning")


def listed(records: Sequence[Record]) -> Listed:
    """The lists of all batches of a process."""
    frames = [
        record.lists.select(
            pl.lit(batch, pl.Int64).alias("batch"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("place"),
            "handed",
            "mark",
            "id",
        )
        for batch, record in enumerate(records)
        if record.named
    ]
    nameless = sum(record.lists.height for record in records if not record.named)
    if not frames:
        return Listed(pl.DataFrame(schema={**_COLUMNS, "id": pl.Int64}), nameless)
    _require_one_kind(frames)
    return Listed(pl.concat(frames), nameless)


def repeats_of(processes: Sequence[Listed]) -> Repeats:
    """Which lists do not count, the same for everybody who asks.

    A list that was handed over counts before one that is only known from the truth; of those, the
    first process's first.
    """
    nameless = sum(one.nameless for one in processes)
    some = [
        one.named.with_columns(pl.lit(rank, pl.Int64).alias("rank"))
        for rank, one in enumerate(processes)
        if one.named.height
    ]
    if not some:
        nothing = pl.DataFrame(schema={"rank": pl.Int64, **_COLUMNS, "id": pl.Int64})
        return Repeats(nothing, "", nameless, len(processes))
    _require_one_kind(some)
    order = ["id", pl.col("handed").not_(), "rank", "batch", "place"]
    named = pl.concat(some).sort(order, maintain_order=True)
    _require_same_truth(named)
    dropped = named.filter(~named["id"].is_first_distinct())
    again = dropped.filter("handed")["id"]
    example = repr(again[0]) if len(again) else ""
    return Repeats(dropped, example, nameless, len(processes))


def _require_same_truth(named: pl.DataFrame) -> None:
    marks = (
        named.filter("handed").group_by("id", maintain_order=True).agg(pl.col("mark").n_unique())
    )
    other = marks.filter(pl.col("mark") > 1)
    if other.height:
        raise BadTruth(
            f"{other.height} lists were handed over twice with different truth (first: "
            f"{other['id'][0]!r}).",
            "the same truth wherever a list occurs.",
            "several lists of one user need keys of their own: lists= and list_key=.",
        )


def _require_one_kind(frames: Sequence[pl.DataFrame]) -> None:
    kinds = {str(frame["id"].dtype) for frame in frames}
    if len(kinds) > 1:
        raise BadIds(
            f"ids have different types in different batches: {', '.join(sorted(kinds))}.",
            "the same type in every batch.",
        )


def counted_once(
    evaluator: Evaluator, records: Sequence[Record], repeats: Repeats, rank: int
) -> Evaluator:
    """A process's own batches without the lists that do not count: as they are, if there is none,
    else judged again from what was kept."""
    places = [repeats.of(rank, batch) for batch in range(len(records))]
    if not any(len(one) for one in places):
        return evaluator
    again = Evaluator(
        evaluator.names,
        evaluator.profile,
        intervals=evaluator.intervals,
        per_list=evaluator.per_list,
    )
    for record, drop in zip(records, places, strict=True):
        left = record.without(np.asarray(drop))
        if left is not None:
            again.add(left)
    return again

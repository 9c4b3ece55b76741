"""`Evaluator`: metrics over batches of tensors on any device, with exactly the same results as for
arrays."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, cast

import torch
from torch import Tensor

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import series
from rectitude.errors import BadArgument
from rectitude.evaluation.grouped import GroupedLists
from rectitude.evaluation.inputs import gather_arguments
from rectitude.evaluation.saved import restore, store
from rectitude.evaluation.stream import Evaluator as Sums
from rectitude.evaluation.targets import CountedTargets
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Kind
from rectitude.torch.adding import add_up
from rectitude.torch.device import DevicePlan, count_on_device, must_move
from rectitude.torch.distributed import gather, is_distributed
from rectitude.torch.grouping import KeptBatch, group_lists
from rectitude.torch.held import Ranked, recognise, tensors_of
from rectitude.torch.host import inputs_on_host
from rectitude.torch.records import Record, pack, record_of, unpack
from rectitude.torch.repeats import Known, count_once, list_records, repeats_of
from rectitude.torch.scored import Predictions
from rectitude.torch.tensors import Arrays, Copies, Queue, device_of, to_plain

Check = Literal["compute", "now"]
Repeated = Literal["once", "counted"]
_FIELDS = ("items", "scores", "users", "lists")
_Kept = tuple[int, KeptBatch, Callable[[Arrays], None]]
"""the number of a batch, its counts, and the function to call with them as arrays"""
KEPT_BYTES = 1 << 30
"""how many bytes of counts stay on the device; beyond that, the host waits to group them"""


class Evaluator:
    """Metrics over batches of tensors on any device.

    `update` takes scores (a tensor, or `rt.Scores`, `rt.Logits` or `rt.Embeddings` of tensors),
    lists (`Ranked`), or anything that `rt.Evaluator` takes. Ranks of tensors on a GPU are counted
    there, and `update` does not wait for them. Therefore `compute` raises the errors of bad values;
    `check="now"` raises them in `update`, which then waits for every batch. Tensors on the CPU are
    read without a copy.

    `repeats="once"` counts a list once even if it occurs again in another batch or process. For
    that, it keeps the id of every list and the ranks of the items of its truth. It is the default
    if `torch.distributed` runs several processes; otherwise only sums are kept.
    """

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        intervals: bool = False,
        per_list: Literal["kept", "dropped"] = "dropped",
        check: Check = "compute",
        repeats: Repeated | None = None,
    ) -> None:
        if check not in ("compute", "now"):
            raise BadArgument(f"check is {check!r}.", "'compute' or 'now'.")
        if repeats not in ("once", "counted", None):
            raise BadArgument(f"repeats is {repeats!r}.", "'once', 'counted' or None.")
        self.sums = Sums(metrics, convention, intervals=intervals, per_list=per_list)
        self.check = check
        self.repeats = repeats
        profile = self.sums.profile
        wanted = list(self.sums.wanted.values())
        groups, hits = self.sums.may_group(), self.sums.hit_cutoffs()
        self._plan = DevicePlan.of(profile.convention, wanted, profile.padding, groups, hits)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.sums.reset()
        self._recorded: list[Record] = []
        self._known = Known()
        self._queue = Queue()
        self._kept: list[_Kept] = []
        self._kept_bytes = 0
        self._updates = 0

    @property
    def records(self) -> list[Record]:
        """The batches without their scores, and what came again, if lists count once."""
        return [*self._recorded, *self._known.records()]

    @property
    def batches(self) -> int:
        """How many batches were added, including pending ones."""
        return self.sums.batches + len(self._queue.waiting) + len(self._kept)

    def update(
        self,
        predictions: object,
        truth: object,
        *,
        train: object = None,
        seen: object = None,
        items: object = None,
        users: object = None,
        candidates: object = None,
        ranking: object = None,
        list_key: str = "user",
        weights: object = None,
        columns: Mapping[str, str] | None = None,
        ids: object = None,
    ) -> None:
        """Add a batch.

        `truth`, `train` and `seen` are tables or tensors. A tensor holds one column index per row,
        (rows, any) column indices with -1 for empty positions, or a value for every score with 0
        for none; it may be sparse. `ids` name the rows of a plain tensor or of logits. The other
        arguments are those of `evaluate`.
        """
        more = {
            "train": train, "seen": seen, "items": items, "users": users,
            "candidates": candidates,
            "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
        }  # fmt: skip
        _without_compiler(Evaluator._add_batch)(self, predictions, truth, more, ids)

    def _add_batch(
        self, predictions: object, truth: object, more: Mapping[str, Any], ids: object
    ) -> None:
        self._updates += 1
        self._queue.advance()
        recognised = recognise(predictions, truth, more["users"], ids)
        scores = tensors_of(recognised)
        masks = {what: more[what] for what in ("train", "seen", "candidates")}
        every = {**scores, "truth": truth, **masks, "ids": ids}
        device = device_of(every) if scores else torch.device("cpu")
        if self._stays(device):
            self._add(recognised, truth, more, to_plain(ids))
        else:
            self._put(recognised, truth, more, ids)
        if self.check == "now":
            self.finish()

    def compute(self) -> Evaluation:
        """Return the evaluation of all batches so far, in this process."""
        return self.settled().compute()

    def settled(self) -> Sums:
        """Return the sums of all batches so far, in this process; raise the error of a bad one."""
        self.finish()
        records = self.records
        if not records:
            return self.sums
        repeats = repeats_of([list_records(records)])
        sums = count_once(self.sums, records, repeats, 0)
        if sums is self.sums and len(repeats.dropped):
            sums = self.sums + self.sums.like()  # a copy, to report in
        if sums is not self.sums:
            repeats.report(sums.state.ledger)
        return sums

    def gathered(self, group: Any = None) -> Sums:
        """Return the sums of all processes of a group. Every process of the group must call it."""
        if not is_distributed(group):
            return self.settled()

        def finish() -> Sums:
            self.finish()
            return self.sums

        return gather(finish, lambda: self.records, self.repeats != "counted", group)

    def __add__(self, other: Evaluator) -> Evaluator:
        """Return an evaluator with the batches of both."""
        if not isinstance(other, Evaluator):
            return NotImplemented
        for evaluator in (self, other):
            evaluator.finish()
        both = self.like()
        both.restore(self.sums + other.sums, self.records + other.records)
        return both

    def like(self) -> Evaluator:
        """Return a new evaluator of the same metrics, without batches."""
        sums = self.sums
        return Evaluator(
            sums.names, sums.profile, intervals=sums.intervals, per_list=sums.per_list,
            check=self.check, repeats=self.repeats,
        )  # fmt: skip

    def finish(self) -> None:
        """Wait for all pending batches, and raise the error of a bad one."""
        self._group()
        self._queue.finish()

    def as_bytes(self) -> bytes:
        """Return everything added so far as bytes."""
        self.finish()
        records = self.records
        shared = {id(record.shared): dict(record.shared) for record in records}
        numbers = {key: number for number, key in enumerate(shared)}
        kept = [
            (record.content, numbers[id(record.shared)], record.lists, record.named)
            for record in records
        ]
        return pack((json.dumps(store(self.sums)), list(shared.values()), kept))

    def from_bytes(self, packed: bytes) -> None:
        """Continue from the bytes that `as_bytes` returned."""
        sums, shared, kept = unpack(packed)
        records = [Record(content, shared[n], lists, named) for content, n, lists, named in kept]
        self.restore(restore(json.loads(sums)), records)

    def restore(self, sums: Sums, records: list[Record]) -> None:
        """Continue from the sums and records of another evaluator."""
        self.reset()
        self.sums, self._recorded = sums, [record for record in records if record.content]
        self._known = Known(self._recorded)
        for record in records:
            if not record.content:
                self._known.note(record)
        self._updates = sums.batches

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy. Pending batches are processed first."""
        self._group()
        self._queue.arrive()
        return self.__dict__.copy()

    def __radd__(self, other: object) -> Evaluator:
        """Let `sum` add evaluators."""
        return self if other == 0 else NotImplemented

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sums of all batches so far to a file that `rt.Evaluator` can load as well."""
        self.settled().save(path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Evaluator:
        """Return the evaluator that `save` wrote."""
        sums = Sums.load(path)
        evaluator = Evaluator(
            sums.names, sums.profile, intervals=sums.intervals, per_list=sums.per_list
        )
        evaluator.sums = sums
        return evaluator

    def _stays(self, device: torch.device) -> bool:
        """Return whether tensors on a device are read without counting on that device."""
        return device.type == "cpu"

    def _put(
        self, predictions: object, truth: object, more: Mapping[str, Any], ids: object
    ) -> None:
        """Count on the device and queue the batch, or judge it on the CPU if it must be."""
        if isinstance(predictions, Ranked):
            self._put_lists(predictions, truth, more)
            return
        if must_move(predictions, truth, more, self._plan):
            self._add(predictions, truth, more, to_plain(ids))
            return
        kind: Kind = "logits" if isinstance(predictions, Logits) else "scores"
        waits = ids is None and self._may_wait(kind)
        plan = self._plan if waits else replace(self._plan, groups=False, hits=None)
        job = count_on_device(cast("Predictions", predictions), truth, more, plan)
        tensors = {**job.tensors, **({"ids": ids} if isinstance(ids, Tensor) else {})}
        names = None if isinstance(ids, Tensor) else ids

        def take(arrays: Arrays) -> None:  # must not hold the scores, which fill the device
            counted = job.counted(arrays) if waits else None
            if counted is not None:
                self.sums.add_counted(counted)
                return
            judged_now, targets, rest = job.batch(arrays)
            self._judge(judged_now, targets, rest, arrays.get("ids", names))

        if job.kept is None:
            self._queue.put(self._updates - 1, Copies.of(tensors), take)
            return
        self._kept.append((self._updates - 1, job.kept, take))
        self._kept_bytes += job.kept.bytes
        if self._kept_bytes > KEPT_BYTES:
            self._group()

    def _group(self) -> None:
        """Group the lists of all batches whose counts are on the device, and copy the different
        ones; a batch that is wrong or special is copied whole, and judged alone."""
        waiting, self._kept, self._kept_bytes = self._kept, [], 0
        kinds: dict[object, list[_Kept]] = {}
        for entry in waiting:
            kinds.setdefault(entry[1].kind, []).append(entry)
        for entries in kinds.values():
            sound, lists = self._add_up([kept for _, kept, _ in entries])
            done = lists is not None and self.sums.add_grouped(lists)
            for (number, kept, take), is_sound in zip(entries, sound, strict=True):
                if not (done and is_sound):
                    self._queue.put(number, Copies.of(kept.tensors), take)

    def _add_up(
        self, batches: list[KeptBatch]
    ) -> tuple[list[bool], GroupedLists | CountedTargets | None]:
        """Return which batches of one kind are sound, and these together."""
        plan = self._plan
        if "0/logits" in batches[0].tensors:
            return add_up(batches, plan.hits or (), self.sums.profile.convention.ties)
        return group_lists(batches, cast("int", plan.depth))

    def _may_wait(self, kind: Kind) -> bool:
        """Return whether batches can be judged together: no list is compared with earlier ones."""
        once = self.repeats == "once" or (self.repeats is None and is_distributed())
        return not once and self.sums.judges_later(kind)

    def _put_lists(self, ranked: Ranked, truth: object, more: Mapping[str, Any]) -> None:
        ranked.require_fitting()
        fields = {f"own/{name}": getattr(ranked, name) for name in _FIELDS}
        inputs = {**fields, "truth": truth, **more}
        tensors = {
            n: v for n, v in inputs.items() if isinstance(v, Tensor) and v.layout == torch.strided
        }
        rest = {name: value for name, value in inputs.items() if name not in tensors}

        def take(arrays: Arrays) -> None:
            every = {**rest, **{name: torch.from_numpy(values) for name, values in arrays.items()}}
            lists = Ranked(**{name: every.pop(f"own/{name}") for name in _FIELDS})
            self._add(lists, every.pop("truth"), every, None)

        self._queue.put(self._updates - 1, Copies.of(tensors), take)

    def _add(
        self, predictions: object, truth: object, more: Mapping[str, Any], ids: object
    ) -> None:
        named = not (
            isinstance(predictions, Ranked)
            and predictions.users is None
            and predictions.lists is None
        )
        self._judge(*inputs_on_host(predictions, truth, more), ids, named)

    def _judge(
        self,
        predictions: object,
        truth: object,
        more: dict[str, Any],
        ids: object,
        named: bool = True,
    ) -> None:
        """Judge a batch whose values are all on the CPU."""
        arguments = gather_arguments(
            predictions, truth, cast("Any", more), self.sums.profile.padding
        )
        if self.repeats is None and is_distributed():
            self.repeats = "once"
        if self.repeats != "once":
            self.sums.take(arguments)
            return
        sources = self.sums.open(arguments)
        names = None if ids is None else series(ids, "ids")
        before = self._recorded[-1] if self._recorded else None
        record, counted_ahead = record_of(sources, self.sums, names, before, named)
        if self._known.has_all(record):
            self._known.note(record)
            return
        self.sums.add(counted_ahead)
        self._recorded.append(record)
        self._known.add(record)


_EAGER: dict[str, Callable[..., None]] = {}


def _without_compiler(work: Callable[..., None]) -> Callable[..., None]:
    """Return a function that `torch.compile` does not compile, even if it compiles its callers.

    Importing the compiler takes seconds, so it is only used if the program has imported it.
    """
    if "torch._dynamo" not in sys.modules:
        return work
    if work.__qualname__ not in _EAGER:
        _EAGER[work.__qualname__] = torch.compiler.disable(work)  # type: ignore[no-untyped-call]
    return _EAGER[work.__qualname__]

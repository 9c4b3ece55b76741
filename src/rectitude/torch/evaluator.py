"""`Evaluator`: metrics over batches of tensors, wherever they lie, with the bits of arrays."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, cast

import torch
from torch import Tensor

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import series
from rectitude.errors import BadName
from rectitude.evaluation.inputs import given_of
from rectitude.evaluation.saved import restored, stored
from rectitude.evaluation.stream import Evaluator as Sums
from rectitude.torch.device import DevicePlan, counted, must_move
from rectitude.torch.distributed import gathered, several
from rectitude.torch.held import Ranked, recognised, tensors_of
from rectitude.torch.host import on_host_inputs
from rectitude.torch.records import Record, pack, record_of, unpack
from rectitude.torch.repeats import counted_once, listed, repeats_of
from rectitude.torch.scored import Predictions
from rectitude.torch.tensors import Arrays, Copies, Queue, device_of, plain

Check = Literal["compute", "now"]
Repeated = Literal["once", "counted"]
_FIELDS = ("items", "scores", "users", "lists")


class Evaluator:
    """Metrics over batches of tensors on any device.

    `update` takes scores (a tensor, `rt.Scores`, `rt.Logits` or `rt.Embeddings` of tensors), lists
    (`Ranked`), or whatever `rt.Evaluator` takes. On a device, ranks are counted there, nothing
    waits for it, and bad values are raised by `compute`; with `check="now"` at once, for which
    every batch waits. Tensors in main memory are read where they lie.

    `repeats="once"` keeps the id of every list and where the items of its truth stand, so that a
    list that comes again, in another batch or another process, counts once. That is the default
    where `torch.distributed` runs several processes; elsewhere nothing is kept but sums.
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
            raise BadName(f"check cannot be {check!r}.", "'compute' or 'now'.")
        if repeats not in ("once", "counted", None):
            raise BadName(f"repeats cannot be {repeats!r}.", "'once', 'counted' or None.")
        self.sums = Sums(metrics, convention, intervals=intervals, per_list=per_list)
        self.check = check
        self.repeats = repeats
        profile = self.sums.profile
        wanted = list(self.sums.wanted.values())
        self._plan = DevicePlan.of(profile.convention, wanted, profile.padding)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.sums.reset()
        self.records: list[Record] = []
        self._queue = Queue()
        self._updates = 0

    @property
    def batches(self) -> int:
        """How many batches were handed over, those on their way among them."""
        return self.sums.batches + len(self._queue.waiting)

    def update(
        self,
        predictions: object,
        truth: object,
        *,
        train: object = None,
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

        `truth` and `train` are tables, or tensors of columns: one for each row, (rows, any) with -1
        for empty places, the scores' own shape with 0 for none, or sparse. `ids` name the rows of a
        bare tensor or of logits. The rest is as `evaluate` takes it.
        """
        more = {
            "train": train, "items": items, "users": users, "candidates": candidates,
            "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
        }  # fmt: skip
        _uncompiled(Evaluator._take)(self, predictions, truth, more, ids)

    def _take(
        self, predictions: object, truth: object, more: Mapping[str, Any], ids: object
    ) -> None:
        self._updates += 1
        self._queue.advance()
        held = recognised(predictions, truth, more["users"], ids)
        scores = tensors_of(held)
        beside = {what: more[what] for what in ("train", "candidates")}
        every = {**scores, "truth": truth, **beside, "ids": ids}
        device = device_of(every) if scores else torch.device("cpu")
        if self._stays(device):
            self._add(held, truth, more, plain(ids))
        else:
            self._put(held, truth, more, ids)
        if self.check == "now":
            self._queue.finish()

    def compute(self) -> Evaluation:
        """The evaluation of all batches so far, in this process."""
        return self.settled().compute()

    def settled(self) -> Sums:
        """The sums of all batches so far, in this process; raises what was wrong with one."""
        self._queue.finish()
        if not self.records:
            return self.sums
        repeats = repeats_of([listed(self.records)])
        sums = counted_once(self.sums, self.records, repeats, 0)
        if sums is not self.sums:
            repeats.tell(sums.state.ledger)
        return sums

    def gathered(self, group: Any = None) -> Sums:
        """The sums of all processes of a group, in each of them; every one must call this."""
        if not several(group):
            return self.settled()

        def own() -> Sums:
            self._queue.finish()
            return self.sums

        return gathered(own, self.records, self.repeats != "counted", group)

    def __add__(self, other: Evaluator) -> Evaluator:
        """Both evaluators' batches together."""
        if not isinstance(other, Evaluator):
            return NotImplemented
        for one in (self, other):
            one.finish()
        both = self.like()
        both.restore(self.sums + other.sums, self.records + other.records)
        return both

    def like(self) -> Evaluator:
        """Another evaluator of the same metrics, without any batch."""
        sums = self.sums
        return Evaluator(
            sums.names, sums.profile, intervals=sums.intervals, per_list=sums.per_list,
            check=self.check, repeats=self.repeats,
        )  # fmt: skip

    def finish(self) -> None:
        """Wait for all batches that are on their way, and raise what was wrong with one."""
        self._queue.finish()

    def as_bytes(self) -> bytes:
        """Everything added so far."""
        self.finish()
        shared = {id(record.shared): dict(record.shared) for record in self.records}
        numbers = {key: number for number, key in enumerate(shared)}
        kept = [
            (one.content, numbers[id(one.shared)], one.lists, one.named) for one in self.records
        ]
        return pack((json.dumps(stored(self.sums)), list(shared.values()), kept))

    def from_bytes(self, packed: bytes) -> None:
        """Go on from what `as_bytes` gave."""
        sums, shared, kept = unpack(packed)
        records = [Record(content, shared[n], lists, named) for content, n, lists, named in kept]
        self.restore(restored(json.loads(sums)), records)

    def restore(self, sums: Sums, records: list[Record]) -> None:
        """Take over what another evaluator added up."""
        self.reset()
        self.sums, self.records = sums, records
        self._updates = sums.batches

    def __getstate__(self) -> dict[str, Any]:
        """What is copied: everything but batches on their way, which arrive first."""
        self._queue.arrive()
        return self.__dict__.copy()

    def __radd__(self, other: object) -> Evaluator:
        """So that `sum` can add evaluators up."""
        return self if other == 0 else NotImplemented

    def save(self, path: str | PathLike[str]) -> None:
        """Write the sums of all batches so far as `rt.Evaluator` does, which can load them."""
        self.settled().save(path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Evaluator:
        """An evaluator that `save` wrote."""
        sums = Sums.load(path)
        made = Evaluator(sums.names, sums.profile, intervals=sums.intervals, per_list=sums.per_list)
        made.sums = sums
        return made

    def _stays(self, device: torch.device) -> bool:
        """Whether tensors lie in main memory, and are read there."""
        return device.type == "cpu"

    def _put(self, held: object, truth: object, more: Mapping[str, Any], ids: object) -> None:
        """Count on the device and let the batch arrive, or fetch what cannot be counted there."""
        if isinstance(held, Ranked):
            self._put_lists(held, truth, more)
            return
        if must_move(held, truth, more, self._plan):
            self._add(held, truth, more, plain(ids))
            return
        job = counted(cast("Predictions", held), truth, more, self._plan)
        tensors = {**job.tensors, **({"ids": ids} if isinstance(ids, Tensor) else {})}
        names = None if isinstance(ids, Tensor) else ids

        def take(arrays: Arrays) -> None:
            predictions, given, rest = job.batch(arrays)
            self._judge(predictions, given, rest, arrays.get("ids", names))

        self._queue.put(self._updates - 1, Copies.of(tensors), take)

    def _put_lists(self, held: Ranked, truth: object, more: Mapping[str, Any]) -> None:
        held.require_fitting()
        own = {f"own/{name}": getattr(held, name) for name in _FIELDS}
        given = {**own, "truth": truth, **more}
        tensors = {
            n: v for n, v in given.items() if isinstance(v, Tensor) and v.layout == torch.strided
        }
        rest = {name: value for name, value in given.items() if name not in tensors}

        def take(arrays: Arrays) -> None:
            every = {**rest, **{name: torch.from_numpy(part) for name, part in arrays.items()}}
            lists = Ranked(**{name: every.pop(f"own/{name}") for name in _FIELDS})
            self._add(lists, every.pop("truth"), every, None)

        self._queue.put(self._updates - 1, Copies.of(tensors), take)

    def _add(self, held: object, truth: object, more: Mapping[str, Any], ids: object) -> None:
        named = not (isinstance(held, Ranked) and held.users is None and held.lists is None)
        self._judge(*on_host_inputs(held, truth, more), ids, named)

    def _judge(
        self,
        predictions: object,
        truth: object,
        more: dict[str, Any],
        ids: object,
        named: bool = True,
    ) -> None:
        """Judge a batch in main memory."""
        given = given_of(predictions, truth, cast("Any", more), self.sums.profile.padding)
        sources = self.sums.opened(given)
        if self.repeats is None and several():
            self.repeats = "once"
        if self.repeats != "once":
            self.sums.add(sources)
            return
        names = None if ids is None else series(ids, "ids")
        before = self.records[-1] if self.records else None
        record, counted_ahead = record_of(sources, self.sums, names, before, named)
        self.sums.add(counted_ahead)
        self.records.append(record)


_EAGER: dict[str, Callable[..., None]] = {}


def _uncompiled(work: Callable[..., None]) -> Callable[..., None]:
    """The function as it is, also where the code around it is compiled.

    The compiler takes seconds to import, and is only asked where it is in use.
    """
    if "torch._dynamo" not in sys.modules:
        return work
    if work.__qualname__ not in _EAGER:
        _EAGER[work.__qualname__] = torch.compiler.disable(work)  # type: ignore[no-untyped-call]
    return _EAGER[work.__qualname__]

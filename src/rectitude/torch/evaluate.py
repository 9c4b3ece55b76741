"""`evaluate`: a model, or embeddings, evaluated in one call: the usual loop, written once.

It switches the model to evaluation, moves batches to its device, chooses how many rows to score at
a time, shows progress, and adds the batches up with `Evaluator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import series
from rectitude.data.ids import Column, codes_of, locate
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.errors import BadArgument, BadIds
from rectitude.predictions.scores import Embeddings
from rectitude.progress import report_to
from rectitude.torch.actors import Actors, Block, OfModel, OfVectors, add_in_actors
from rectitude.torch.evaluator import Evaluator
from rectitude.torch.tensors import to_plain

Step = Callable[[Any, Any], Mapping[str, Any]]
"""Called with the model and a batch; returns the arguments of `Evaluator.update`."""
Update = Callable[[int, int], None]
USUAL_ROWS = 1_024
MOST_ROWS = 16_384
_COPIES = 4
"""how many times a block of scores fits in the memory that it may use"""


def evaluate(
    model: object,
    data: object = None,
    truth: object = None,
    metrics: str | Iterable[str] = ("ndcg@10", "recall@10", "mrr@10"),
    convention: object = None,
    *,
    train: object = None,
    seen: object = None,
    items: object = None,
    step: Step | None = None,
    batch_size: int | None = None,
    device: object = None,
    progress: object = None,
    intervals: bool = False,
    actors: int | Actors | None = None,
) -> Evaluation:
    """Evaluate a model or embeddings, batch by batch, and return the `Evaluation`.

    `model` and `data` are one of

    - a pair of tensors (user vectors, item vectors), or `rt.Embeddings` of tensors, and the ids of
      the users, by default their numbers;
    - a model that maps a tensor of user ids to scores of all items, and these ids;
    - a model and a loader. Batches are (inputs, truth) or (inputs, truth, seen items), or whatever
      `step(model, batch)` makes the arguments of `Evaluator.update` from.

    `truth`, `train` and `seen` are tables, or tensors with a row for each user. Without
    `batch_size`, as many rows are scored together as fit easily into the memory of the device; if
    it runs out nevertheless, half as many are tried once. `device` is the one of the model by
    default. `progress` is True for a bar, or a function that is called with the rows done and their
    total. `actors`, a number or `Actors`, lets actors of Ray rank the users of a pair or model.
    """
    evaluator = Evaluator(metrics, convention, intervals=intervals)
    more = {"train": train, "seen": seen, "items": items}
    shown = nullcontext(lambda *_: None) if progress in (None, False) else report_to(progress)
    with torch.inference_mode(), _evaluation_mode(model), shown as report:
        how = _How.of(batch_size, report, actors, step)
        if isinstance(model, (tuple, list, Embeddings)):
            _add_embeddings(evaluator, _open_embeddings(model, device), data, truth, more, how)
        elif step is None and _are_ids(data):
            _add_users(evaluator, model, data, truth, more, device, how)
        else:
            _add_loader(evaluator, model, data, truth, more, step, device, how)
        return evaluator.compute()


class _How(NamedTuple):
    """How rows are added: in blocks of a size, by whom, and who is told about it."""

    size: int | None
    report: Callable[[int, int], None]
    crew: Actors | None

    @staticmethod
    def of(
        size: int | None, report: Callable[[int, int], None], actors: object, step: object
    ) -> _How:
        """Return how rows are added; raise an error for options that are not what they should
        be."""
        for name, value in {"batch_size": size, "actors": actors}.items():
            whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
            if not (whole or value is None or (name == "actors" and isinstance(value, Actors))):
                more = ", or Actors" if name == "actors" else ""
                raise BadArgument(f"{name} is {value!r}.", f"a whole number of at least 1{more}.")
        if step is not None and not callable(step):
            raise BadArgument(
                f"step is of type {type(step).__name__}.", "a function of the model and a batch."
            )
        crew = Actors(actors) if isinstance(actors, int) else cast("Actors | None", actors)
        return _How(size, report, crew)


@contextmanager
def _evaluation_mode(model: object) -> Iterator[None]:
    """Switch a module to evaluation, and back to what it was."""
    training = isinstance(model, Module) and model.training
    if training:
        cast("Module", model).eval()
    try:
        yield
    finally:
        if training:
            cast("Module", model).train()


def _open_embeddings(given: Embeddings | tuple[Any, ...] | list[Any], device: object) -> Embeddings:
    if device is not None:  # they are somewhere already
        raise BadArgument(
            f"device={device!r} is given beside vectors.",
            "vectors that are on the device where they are to be multiplied.",
            "move them: vectors.to(device).",
        )
    if isinstance(given, Embeddings):
        return given
    if len(given) != 2:
        raise BadArgument(
            f"model is a {type(given).__name__} of {len(given)}.",
            "a pair (user vectors, item vectors), rt.Embeddings, or a function.",
        )
    return Embeddings(*given)


def _are_ids(data: object) -> bool:
    """Return whether data are ids of users, not batches of a loader."""
    if isinstance(data, (Tensor, np.ndarray)):
        return data.ndim == 1
    return isinstance(data, range) or (isinstance(data, list) and not _holds_batches(data))


def _holds_batches(data: list[Any]) -> bool:
    return bool(data) and isinstance(data[0], (tuple, list, dict, Tensor, np.ndarray))


def _add_embeddings(
    evaluator: Evaluator,
    embeddings: Embeddings,
    ids: object,
    truth: object,
    more: Mapping[str, Any],
    how: _How,
) -> None:
    users, vectors = embeddings.user_vectors, embeddings.item_vectors
    for side, value in (("user", users), ("item", vectors)):
        if not isinstance(value, Tensor):
            raise BadArgument(
                f"the {side} vectors are of type {type(value).__name__}.", "a tensor.",
                "for arrays, use rt.evaluate(rt.Embeddings(users, items), truth).",
            )  # fmt: skip
    names = embeddings.users if ids is None else ids
    rows = _Rows(len(cast("Tensor", users)), names, truth, more)

    columns = len(cast("Tensor", vectors))
    usual = _fitting_rows(cast("Tensor", users).device, columns)
    how = how._replace(size=usual if how.size is None else how.size)
    _add_rows(evaluator, OfVectors(embeddings), cast("Tensor", users), rows, how)


def _add_users(
    evaluator: Evaluator,
    model: object,
    ids: object,
    truth: object,
    more: Mapping[str, Any],
    device: object,
    how: _How,
) -> None:
    ranks, where = OfModel(_require_callable(model)), _device_of(model, device)
    numbers = _number_users(ids)
    rows = _Rows(len(numbers), numbers, truth, more)
    _add_rows(evaluator, ranks, numbers, rows, how, where)


def _number_users(ids: object) -> Tensor:
    """Return the ids of users as the tensor that a model is called with."""
    if isinstance(ids, Tensor):
        return ids
    numbers = np.asarray(ids)
    if numbers.dtype.kind not in "iu":
        kinds = {type(one).__name__ for one in cast("Any", ids)} or {str(numbers.dtype)}
        raise BadIds(
            f"the ids of users are of type {' and '.join(sorted(kinds))}, but a model is called "
            "with a tensor of whole numbers.",
            "whole numbers.",
            "number the users, or pass a loader whose batches are what the model takes.",
        )
    return torch.as_tensor(numbers.astype(np.int64))


def _add_rows(
    evaluator: Evaluator,
    ranks: OfVectors | OfModel,
    inputs: Tensor,
    rows: _Rows,
    how: _How,
    where: torch.device | None = None,
) -> None:
    """Add all rows in blocks: in this process, or in actors."""
    size = USUAL_ROWS if how.size is None else how.size
    if how.crew is not None:
        spans = (slice(first, min(first + size, rows.size)) for first in range(0, rows.size, size))
        blocks = (Block(inputs[h].cpu(), rows.names(h), rows.arguments(h)) for h in spans)
        done = 0
        for added in add_in_actors(evaluator, ranks, blocks, rows.shared, how.crew):
            done += added
            how.report(done, rows.size)
        return

    def add(first: int, last: int) -> None:
        here = slice(first, last)
        block = inputs[here] if where is None else inputs[here].to(where)
        predictions = ranks.predict(block, rows.names(here))
        evaluator.update(predictions, **rows.shared, **rows.arguments(here))

    _in_blocks(add, rows.size, size, how.report)


class _Rows:
    """The truth and other inputs of rows, block by block.

    A table is divided by the ids of its users, so that each row is given once. The rows of users
    who are not among the ids come with the last block, where they count as users without a list.
    """

    def __init__(self, size: int, ids: object, truth: object, more: Mapping[str, Any]) -> None:
        self.size, self.truth, self.more = size, truth, more
        if truth is None:
            raise BadArgument("truth is missing.", "a table, or a tensor with a row for each user.")
        self.by_id = not isinstance(truth, Tensor)
        self.ids = series(np.arange(size) if ids is None else to_plain(ids), "ids")
        if len(self.ids) != size:
            raise BadArgument(f"{len(self.ids)} ids for {size} users.", "one id per user.")
        if self.ids.null_count():
            raise BadIds(f"{self.ids.null_count()} of {size} ids are missing.", "an id per user.")
        for name, value in {"truth": truth, **more}.items():
            if isinstance(value, Tensor) and len(value) != size and name != "items":
                raise BadArgument(
                    f"{name} is a tensor with {len(value)} rows, for {size} users.",
                    "a row for each user.",
                )
        if self.by_id:
            self._divide(read(truth, "truth"), ids is None)

    def _divide(self, table: Table, unnamed: bool) -> None:
        self.frame = table.frame.rename({"list": "user"})
        place = locate(*codes_of(Column(self.ids, "ids"), table, "list"))
        outside = np.flatnonzero(place < 0)
        if unnamed and len(outside):
            raise BadIds(
                f"the user vectors have no ids, so they are users 0 to {self.size - 1}, but "
                f"{len(outside)} of {len(place)} rows of {table.source} have another user (first: "
                f"{table.frame['list'][int(outside[0])]!r}).",
                "the id of each user vector.",
                f"pass the ids after the vectors, or range({self.size}) if row numbers are meant.",
            )
        place = np.where(place < 0, self.size, place)
        self.order = np.argsort(place, kind="stable")
        self.place = place[self.order]

    def names(self, here: slice) -> object:
        """Return the ids of some rows; None if everything else is given by position."""
        return self.ids[here] if self.by_id else None

    @property
    def shared(self) -> dict[str, Any]:
        """The arguments that are the same for all rows."""
        return {n: v for n, v in self.more.items() if not isinstance(v, Tensor) or n == "items"}

    def arguments(self, here: slice) -> dict[str, Any]:
        """Return the other arguments of an update with some rows."""
        cut = {n: v[here] for n, v in self.more.items() if n not in self.shared}
        if not self.by_id:
            return {"truth": cast("Tensor", self.truth)[here], **cut}
        last = here.stop if here.stop < self.size else self.size + 1
        first, end = np.searchsorted(self.place, (here.start, last))
        return {"truth": self.frame[self.order[first:end]], **cut}


def _fitting_rows(device: torch.device, columns: int) -> int:
    """Return how many rows of scores to compute at a time."""
    if device.type != "cuda":
        return USUAL_ROWS
    free, _ = torch.cuda.mem_get_info(device)
    return int(min(MOST_ROWS, max(1, free // (_COPIES * 4 * max(1, columns)))))


def _in_blocks(add: Update, rows: int, size: int, report: Callable[[int, int], None]) -> None:
    """Add all rows in blocks of `size`; once, go on with half as many if memory runs out."""
    first, tried = 0, [size]
    while first < rows:
        last = min(first + tried[-1], rows)
        try:
            add(first, last)
        except torch.cuda.OutOfMemoryError as error:
            if len(tried) == 2 or tried[-1] == 1:
                raise _out_of_memory(tried) from error
            torch.cuda.empty_cache()
            tried.append(tried[-1] // 2)
            continue
        first = last
        report(first, rows)


def _out_of_memory(tried: list[int]) -> BadArgument:
    sizes = " and of ".join(f"{size:,}" for size in tried)
    return BadArgument(
        f"the memory of the device is not enough for blocks of {sizes} rows.",
        "blocks that fit beside what the program keeps on the device.",
        f"set batch_size={max(1, tried[-1] // 4)}, or free memory on the device.",
    )


def _add_loader(
    evaluator: Evaluator,
    model: object,
    data: object,
    truth: object,
    more: Mapping[str, Any],
    step: Step | None,
    device: object,
    how: _How,
) -> None:
    """Add the batches of a loader, which gives them to this process alone."""
    if how.crew is not None:
        raise BadArgument(
            f"actors={how.crew.number} is given beside a loader or step=.",
            "a model and ids of users, or a pair of tensors, whose blocks actors can rank.",
        )
    if not isinstance(data, Iterable):
        raise BadArgument(
            f"data is of type {type(data).__name__}.", "a loader, or a tensor of user ids."
        )
    if truth is not None or any(value is not None for value in more.values()):
        given = ", ".join(n for n, v in {"truth": truth, **more}.items() if v is not None)
        raise BadArgument(
            f"{given} is given beside a loader, whose batches bring their own.",
            "only the loader.",
            "pass user ids instead of the loader, or let step= return it for each batch.",
        )
    where, total = _device_of(model, device), len(data) if isinstance(data, Sized) else 0
    for number, batch in enumerate(data, 1):
        moved = _move(batch, where)
        arguments = _usual_step(model, moved) if step is None else step(model, moved)
        _require_arguments(arguments)
        try:
            evaluator.update(**{n: v for n, v in arguments.items() if n != "loss"})
        except torch.cuda.OutOfMemoryError as error:
            raise BadArgument(
                f"the memory of the device is not enough for batch {number} of the loader.",
                "smaller batches.",
                "set a smaller batch_size= of the loader.",
            ) from error
        how.report(number, max(total, number))


def _usual_step(model: object, batch: Any) -> dict[str, Any]:
    """Return what to evaluate in a batch (inputs, truth) or (inputs, truth, seen items)."""
    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        size = f" of {len(batch)}" if isinstance(batch, (tuple, list, dict)) else ""
        raise BadArgument(
            f"a batch is a {type(batch).__name__}{size}.",
            "(inputs, truth) or (inputs, truth, seen items).",
            "pass step=, a function of the model and the batch that returns "
            "{'predictions': scores, 'truth': truth}.",
        )
    seen = {"train": batch[2]} if len(batch) == 3 else {}
    return {"predictions": _require_callable(model)(batch[0]), "truth": batch[1], **seen}


def _require_arguments(arguments: object) -> None:
    if not isinstance(arguments, Mapping) or not {"predictions", "truth"} <= set(arguments):
        found = f"with {list(arguments)}" if isinstance(arguments, Mapping) else ""
        raise BadArgument(
            f"step= returned a {type(arguments).__name__} {found}.".replace(" .", "."),
            "a dict with 'predictions', 'truth' and any other argument of Evaluator.update.",
        )


def _require_callable(model: object) -> Callable[..., Any]:
    if not callable(model):
        raise BadArgument(
            f"model is of type {type(model).__name__}.",
            "a module or function that returns scores, a pair of tensors of vectors, or "
            "rt.Embeddings.",
        )
    return model


def _device_of(model: object, device: object) -> torch.device:
    """Return the device to move batches to: the given one, or the one of the model."""
    if device is not None:
        try:
            return torch.empty(0, device=cast("Any", device)).device
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise BadArgument(f"device is {device!r}: {reason}", "a device of torch.") from error
    parameters = model.parameters() if isinstance(model, Module) else iter(())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device


def _move(batch: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on a device."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {name: _move(value, device) for name, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return [_move(value, device) for value in batch]
    return batch

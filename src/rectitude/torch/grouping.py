"""Group the lists of counted batches on their device: lists whose judged items stand alike.

Counts stay on the device until they are needed. Then the lists of all batches are compared there,
and only the different ones are copied to the host, each with how often it occurs. Lists are
compared by a hash first, and then in full, so that a collision changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.arrays import Ragged
from rectitude.evaluation.account import MIX
from rectitude.evaluation.counted import CountedBatch
from rectitude.evaluation.grouped import AllLists, GroupedLists, UntiedLists
from rectitude.kernels import HASH
from rectitude.torch.counted import cut
from rectitude.torch.kernels.ranks import HIDDEN
from rectitude.torch.tensors import EMPTY

_SUMS = 8
"""how many numbers `_sum_up` returns"""
_LAST = 1 << 62
"""sorts after every item that is ranked"""
_SHIFT = 2
"""where column 0 is among the flags of known columns; empty positions and smaller numbers are
before it, and larger numbers after the last column"""
_GRADE = int(np.array(1.0).view(np.int64))


class KeptBatch(NamedTuple):
    """A batch of plain scores that was counted, with its counts still on the device."""

    shape: tuple[int, int]
    words: str
    counted_by: str | None
    tensors: Mapping[str, Tensor]

    @property
    def kind(self) -> tuple[object, ...]:
        """What must be equal for batches to be compared together."""
        truth = self.tensors["truth/column"]
        return (*self.shape, self.words, truth.shape, truth.dtype, truth.device, self.has_train)

    @property
    def has_train(self) -> bool:
        """Whether the batch came with training data."""
        return "train/column" in self.tensors

    @property
    def bytes(self) -> int:
        """How much memory the batch takes on its device."""
        return sum(tensor.nbytes for tensor in self.tensors.values())


class _Lists(NamedTuple):
    """What is known about the lists of several batches, one after the other."""

    truth: Tensor
    """(lists, any) columns; -1 for an empty position"""
    counts: Tensor
    """(3, lists, any)"""
    known: Tensor
    """(lists, any) whether the item is in the training data"""
    seen: Tensor | None
    """(lists,) how many items of each list are in the training data"""
    row: Tensor
    """(lists,) the number of the row in its batch"""
    batches: int
    holes: Tensor
    """(lists,) how many scores are NaN"""
    marks: Tensor | None
    """(batches, columns and more) see `_mark_seen`"""


def group_lists(batches: Sequence[KeptBatch], depth: int) -> tuple[list[bool], GroupedLists | None]:
    """Return which batches of one kind are sound, and the different lists of these, up to a rank.

    About a sound batch nothing is wrong or special.
    """
    lists, columns = _join(batches), batches[0].shape[1]
    numbers = _describe(lists, columns, depth)
    first, times = _find_different(numbers, lists)
    unsound = _find_unsound(batches, lists)
    sums = torch.cat([_sum_up(batches, lists, depth), unsound.long()]).tolist()
    sound = [not flag for flag in sums[_SUMS:]]
    if not all(sound):
        chosen = [batch for batch, flag in zip(batches, sound, strict=True) if flag]
        return sound, group_lists(chosen, depth)[1] if chosen else None
    width = lists.truth.shape[1]
    tied = (numbers[:, width : 2 * width] > 0).any(dim=1)
    untied = _to_untied(numbers, first[~tied[first]], times, width)
    examples = _find_examples(numbers[:, -4:], tied | (numbers[:, 0] == _LAST), lists, depth)
    turned = first[tied[first]]
    few, counted = torch.cat([turned, examples]), torch.cat([times[turned], 0 * examples]).int()
    seen = torch.zeros_like(lists.row) if lists.seen is None else lists.seen
    flat = [lists.truth, *lists.counts, lists.known, lists.row[:, None], seen[:, None]]
    table = torch.cat([part[few].int() for part in flat] + [counted[:, None]], dim=1)
    return sound, _to_host(batches, table.cpu().numpy(), untied, sums, depth)


def _to_untied(numbers: Tensor, chosen: Tensor, times: Tensor, width: int) -> UntiedLists:
    """Return lists without ties; their items are in the order of their ranks."""
    place = numbers[chosen, :width]
    above = torch.where(place == _LAST, -1, place >> 31).int().cpu().numpy()
    facts = torch.cat([numbers[chosen, -4:], times[chosen, None]], dim=1).cpu().numpy()
    relevant, _, returned, flags, occurs = np.ascontiguousarray(facts.T)
    return UntiedLists(above, relevant, returned, flags % 2 > 0, occurs)


def _find_examples(facts: Tensor, alone: Tensor, lists: _Lists, depth: int) -> Tensor:
    """Return the first list, by row, of every sort that the ledger tells apart; `alone` are lists
    with ties, or without a ranked item."""
    lengths, masked, returned, flags = facts.unbind(dim=1)
    bits = [lengths > 0, masked > 0, returned > 0, returned < depth, alone]
    sort = flags
    for bit in bits:
        sort = 2 * sort + bit
    position = lists.row * lists.batches + torch.arange(len(sort), device=sort.device) // (
        len(sort) // lists.batches
    )
    first = torch.full((128,), len(sort), device=sort.device)
    first.scatter_reduce_(0, sort, position, "amin")
    first = first[first < len(sort)]
    rows = len(sort) // lists.batches
    return first % lists.batches * rows + first // lists.batches


def _find_unsound(batches: Sequence[KeptBatch], lists: _Lists) -> Tensor:
    """Return (batches,) whether something about a batch is wrong or special."""
    truth, columns, number = lists.truth, batches[0].shape[1], len(batches)
    ordered = truth.sort(dim=1).values
    wrong = (ordered[:, 0] < EMPTY) | (ordered[:, -1] >= columns) | (lists.holes > 0)
    wrong |= ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != EMPTY)).any(dim=1)
    parts = [wrong.view(number, -1).any(dim=1), ordered.view(number, -1).amax(dim=1) < 0]
    if lists.marks is not None:
        parts += [lists.marks[:, 0], lists.marks[:, -1]]
    for name in batches[0].tensors:
        if name.startswith("finite/"):
            parts.append(~_stack(batches, name).all(dim=1))
        if name == "large":
            parts.append(_stack(batches, name))
    return torch.stack(parts).any(dim=0)


def _stack(batches: Sequence[KeptBatch], name: str) -> Tensor:
    return torch.stack([batch.tensors[name] for batch in batches])


def _join(batches: Sequence[KeptBatch]) -> _Lists:
    (rows, columns), number = batches[0].shape, len(batches)
    truth = torch.cat([batch.tensors["truth/column"] for batch in batches]).long()
    counts = torch.cat([batch.tensors["0/counts"] for batch in batches], dim=1)
    row = torch.arange(rows, device=truth.device).repeat(number)
    facts = torch.cat([batch.tensors["0/rows"] for batch in batches], dim=1)
    if not batches[0].has_train:
        known = (truth >= 0) & (truth < columns)
        return _Lists(truth, counts, known, None, row, number, facts[0], None)
    marks = _mark_seen([batch.tensors["train/column"] for batch in batches], columns)
    places = truth.clamp(-_SHIFT, columns).add_(_SHIFT).view(number, -1)
    known = marks.gather(1, places).view(truth.shape) & (truth >= 0)
    return _Lists(truth, counts, known, facts[4].long(), row, number, facts[0], marks)


def _mark_seen(seen: Sequence[Tensor], columns: int) -> Tensor:
    """Return which columns occur in the training data of any row of each batch; they are shifted by
    `_SHIFT`."""
    width, number = columns + _SHIFT + 1, len(seen)
    places = torch.cat(list(seen)).clamp_(-_SHIFT, columns).add_(_SHIFT).view(number, -1).long()
    places += width * torch.arange(number, device=places.device)[:, None]
    marks = torch.zeros(number * width, dtype=torch.bool, device=places.device)
    return marks.index_fill_(0, places.view(-1), value=True).view(number, width)


def _describe(lists: _Lists, columns: int, depth: int) -> Tensor:
    """Return what metrics and the ledger see of each list: its ranked items in order, as two
    numbers each, and four facts."""
    above, level, before = (part.long() for part in lists.counts)
    inside = (above >= 0) & (above < depth)
    place = torch.where(inside, (above << 31) | before, _LAST)
    place, order = place.sort(dim=1)
    level = torch.where(inside, level, 0).gather(1, order)
    filled = lists.truth >= 0
    lengths = filled.sum(dim=1)
    masked, unknown = (above == HIDDEN).sum(dim=1), (filled & ~lists.known).any(dim=1)
    returned = torch.full_like(lengths, columns) if lists.seen is None else columns - lists.seen
    users = torch.ones_like(unknown) if lists.seen is None else lists.seen > 0
    facts = torch.stack([lengths, masked, returned.clamp(max=depth), 2 * unknown + users], dim=1)
    return torch.cat([place, level, facts], dim=1)


def _find_different(numbers: Tensor, lists: _Lists) -> tuple[Tensor, Tensor]:
    """Return the first of each kind of list, by row, and how often lists like it occur."""
    code, size = _hash(numbers), len(numbers)
    positions = torch.arange(size, device=code.device)
    order = positions.view(lists.batches, -1).T.reshape(-1)  # by row
    order = order[code[order].sort(stable=True).indices]
    code, numbers = code[order], numbers[order]
    new = torch.ones_like(code, dtype=torch.bool)
    new[1:] = code[1:] != code[:-1]
    leader = torch.where(new, positions, 0).cummax(dim=0).values
    alone = (numbers != numbers[leader]).any(dim=1)  # another list with the same hash
    times = torch.zeros_like(code)
    times.scatter_add_(0, torch.where(alone, positions, leader), torch.ones_like(code))
    return order[times > 0], torch.zeros_like(code).scatter_(0, order, times)


def _hash(numbers: Tensor) -> Tensor:
    """Return a hash of each row of numbers and their order."""
    places = torch.arange(1, numbers.shape[1] + 1, device=numbers.device) * _signed(HASH)
    mixed = _fold(_fold(numbers + places, 31) * _signed(HASH), 29) * _signed(MIX)
    return _fold(mixed, 32).sum(dim=1)


def _sum_up(batches: Sequence[KeptBatch], lists: _Lists, depth: int) -> Tensor:
    """Return the numbers of `AllLists`, and how many scores are for unknown items."""
    truth, (rows, columns) = lists.truth, batches[0].shape
    above, level, _ = (part.long() for part in lists.counts)
    filled, inside = truth >= 0, (above >= 0) & (above < depth)
    unknown = filled & ~lists.known
    mixed = hash_ranks(truth, above, level + 1)
    of_list = finish_prints(torch.where(filled, hash_items(truth, _GRADE), 0).sum(dim=1))
    of_list = torch.where(filled.any(dim=1), of_list, 0)
    known = columns if lists.marks is None else lists.marks[:, _SHIFT:-1].sum()
    foreign = 0 if lists.seen is None else (columns * len(batches) - known) * rows
    seen = 0 if lists.seen is None else lists.seen.sum()
    numbers = [filled.sum(), (above == HIDDEN).sum(), seen, unknown.sum(),
               torch.where(unknown, truth, columns).min(),
               torch.where(inside, mixed, 0).sum(), of_list.sum(), foreign]  # fmt: skip
    return torch.stack([torch.as_tensor(number, device=truth.device) for number in numbers])


def hash_ranks(column: Tensor, above: Tensor, tied: Tensor) -> Tensor:
    """Return the hash of an item and its rank, as in the fingerprint of scores."""
    mixed = (column * _signed(HASH)) ^ above
    mixed = _fold(mixed, 32) * _signed(MIX) + tied
    return _fold(mixed, 32) * _signed(MIX)


def hash_items(item: Tensor, grade: int) -> Tensor:
    """Return the hash of an item and the bits of its grade, as in the fingerprint of the truth."""
    return _fold(_fold(item * _signed(HASH) + grade, 32) * _signed(MIX), 32)


def finish_prints(sums: Tensor) -> Tensor:
    """Return the fingerprints of lists from the sums over their items."""
    return _fold(sums * _signed(HASH), 29)


def _fold(code: Tensor, bits: int) -> Tensor:
    """Return codes xor themselves, shifted as integers without a sign."""
    return code ^ ((code >> bits) & ((1 << (64 - bits)) - 1))


def _signed(number: np.uint64) -> int:
    """Return 64 bits as a number with a sign, which tensors have."""
    return int(number.view(np.int64))


def _to_host(
    batches: Sequence[KeptBatch],
    table: NDArray[np.int32],
    untied: UntiedLists,
    sums: list[int],
    depth: int,
) -> GroupedLists:
    (_, columns), words, counted_by, _ = batches[0]
    width = batches[0].tensors["truth/column"].shape[1]
    truth, known = table[:, :width], table[:, 4 * width : 5 * width]
    counts = table[:, width : 4 * width].reshape(-1, 3, width).swapaxes(0, 1)
    row, seen, times = table[:, 5 * width :].T
    filled = truth != EMPTY
    different = CountedBatch(
        (len(table), columns),
        words,
        Ragged(np.append(0, np.cumsum(filled.sum(axis=1))), truth[filled].astype(np.int32)),
        None,
        known[filled].astype(bool),
        sums[7],
        cut(counts[:, filled], depth),
        seen if batches[0].has_train else None,
        0,
        counted_by=counted_by,
    )
    prints = (sums[5] % 2**64, sums[6] % 2**64)
    truth_rows, masked, known_seen, unknown, first_unknown = sums[:5]
    whole = AllLists(
        len(batches), truth_rows, masked, known_seen, unknown, first_unknown, columns, prints
    )
    return GroupedLists(different, row, times.astype(np.int64), untied, whole)

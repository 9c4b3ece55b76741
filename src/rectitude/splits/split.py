"""`Split`: the parts of a log, made from masks over its rows, and the ways of splitting by name.

The ledger of a split says where every row went, and its fingerprint what the parts hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, parts_of
from rectitude.data.values import flags_of
from rectitude.errors import BadName, NothingToEvaluate, unknown_name
from rectitude.options import Options, options_of, require_options
from rectitude.prepare.draws import STEP, mixed, words

if TYPE_CHECKING:
    from rectitude.data.values import Mask

_OTHER = np.uint64(0xD1B54A32D192ED03)
ROWS = 1_000_000
"""How many rows are looked at together, so that little memory is needed beside the table."""


@dataclass(frozen=True, slots=True)
class Split:
    """What is learnt from, what is shown of the evaluated users, and what is to be found.

    `fold_in` is None where the evaluated users are known from `train`. `validation` is a split of
    `train`: what to learn from and what to find while a model is being tuned.
    """

    train: Log
    truth: Log
    fold_in: Log | None = None
    name: str = ""
    """which of a series of splits: a fold, a window"""
    ledger: Ledger = field(default_factory=Ledger)
    validation: Split | None = None

    def parts(self) -> Iterator[tuple[str, Log]]:
        """The parts by name, those of the validation after `validation_`."""
        yield "train", self.train
        if self.fold_in is not None:
            yield "fold_in", self.fold_in
        yield "truth", self.truth
        if self.validation is not None:
            for name, part in self.validation.parts():
                yield f"validation_{name}", part

    @property
    def met(self) -> list[Log]:
        """What was met before the truth: train, and fold-in where there is one."""
        return [self.train] if self.fold_in is None else [self.train, self.fold_in]

    @property
    def fingerprint(self) -> str:
        """A short hash of what each part holds, whatever the order of its rows."""
        whole = hashlib.blake2b(digest_size=8)
        for name, part in self.parts():
            whole.update(name.encode())
            whole.update(digest(part.frame.drop(ROW)))
        return whole.hexdigest()

    def __str__(self) -> str:
        lines = [f"{part:<16} {_size(log)}" for part, log in self.parts()]
        return "\n".join([*([self.name] if self.name else []), *lines])


def _size(log: Log) -> str:
    rows, users, items = log.size
    return f"{rows:>12,} rows {users:>10,} users {items:>10,} items"


def digest(frame: pl.DataFrame) -> bytes:
    """The hash of a table, whatever the order of its rows: its columns' names, how many rows it
    has, and their contents.

    Each row becomes a 64-bit number that all its values decide; the sums of two scrambles of these
    numbers do not depend on their order, and tell tables apart in which any row differs.
    """
    sums = np.zeros(2, np.uint64)
    for block in frame.iter_slices(ROWS):
        state = np.zeros(block.height, np.uint64)
        for column in block:
            state = mixed(state + words(column) + STEP)
        sums += np.array([mixed(state).sum(), mixed(state ^ _OTHER).sum()], np.uint64)
    said = f"{frame.columns} {frame.height} {sums[0]} {sums[1]}"
    return hashlib.blake2b(said.encode(), digest_size=16).digest()


def parted(
    log: Log,
    truth: Mask,
    *,
    train: Mask | None = None,
    fold_in: Mask | None = None,
    validation: Mask | None = None,
    name: str = "",
    ledger: Ledger | None = None,
) -> Split:
    """The parts of a log; train is all that is not truth unless it is given.

    `validation` marks rows of train that are to be found while a model is being tuned. Parts may
    come out empty here; whoever asked for the split says whether that is an error.
    """
    truth = flags_of(truth)
    learnt = ~truth if train is None else flags_of(train)
    shown = [] if fold_in is None else [flags_of(fold_in)]
    tuned = [] if validation is None else [flags_of(validation)]
    if tuned:
        tuned = [learnt & ~tuned[0], *tuned] if tuned[0].any() else []
    parts = parts_of(log, learnt, truth, *shown, *tuned)
    inner = Split(parts[-2], parts[-1]) if tuned else None
    split = Split(parts[0], parts[1], parts[2] if shown else None, name, ledger or Ledger(), inner)
    return accounted(split, log, reduce(np.logical_or, [learnt, truth, *shown]))


def holds_rows(split: Split) -> bool:
    """Whether there is something to learn from and something to find."""
    return not (split.train.frame.is_empty() or split.truth.frame.is_empty())


def require_rows(log: Log, split: Split) -> None:
    """A split without anything to learn from or to find is an error, not a result."""
    for part, word in ((split.train, "learn from"), (split.truth, "find")):
        if part.frame.is_empty():
            raise NothingToEvaluate(
                f"the split leaves nothing to {word}: 0 of {log.frame.height:,} rows of"
                f" {log.source}.",
                "rows in train and in truth.",
                "choose a larger log, another ratio or number, or another way of splitting.",
            )


def accounted(split: Split, log: Log, used: Flags) -> Split:
    """The split with the sizes of the log and of its parts in the ledger, after those of before.

    `used` are the rows that are in some part.
    """
    split = replace(split, ledger=log.ledger + split.ledger)
    unused = ~used
    count = int(np.count_nonzero(unused))
    rows, users, items = log.size
    ledger = split.ledger
    ledger.count("rows", rows, f"rows of {users:,} users and {items:,} items were split")
    account_parts(split)
    example = _row(log, int(unused.argmax())) if count else ""
    ledger.count("rows_in_no_part", count, "rows are in no part", rows, example, "notice")
    return split


def _row(log: Log, at: int) -> str:
    first = log.frame.row(at, named=True)
    return f"row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}"


def account_parts(split: Split) -> None:
    """Write how much each part holds, over what was written before."""
    for name, part in split.parts():
        rows, users, items = part.size
        about = f"rows of {users:,} users and {items:,} items in {name.replace('_', ' ')}"
        split.ledger.count(f"{name}_rows", rows, about)
        split.ledger.count(f"{name}_users", users, f"users in {name.replace('_', ' ')}")
        split.ledger.count(f"{name}_items", items, f"items in {name.replace('_', ' ')}")


Splitter = Callable[..., Split | list[Split]]
SPLITTERS: dict[str, Splitter] = {}
Given = TypeVar("Given", bound=Splitter)


def splitter(function: Given) -> Given:
    """Make a function a way of splitting under its own name."""
    SPLITTERS[function.__name__] = function
    return function


def parameters(how: str) -> Options:
    """What a way of splitting takes beside the log."""
    if how not in SPLITTERS:
        raise unknown_name("split", how, SPLITTERS)
    return options_of(SPLITTERS[how])


def apply(how: str, log: Log, options: Mapping[str, Any], seed: int) -> Split | list[Split]:
    """Split a log, with a clear error for a name or choice that does not exist."""
    known = parameters(how)
    given = {"seed": seed, **options} if "seed" in known else dict(options)
    require_options(given, known, f"split {how!r}")
    return SPLITTERS[how](log, **given)


def single(how: Mapping[str, Any], log: Log, seed: int) -> Split:
    """One split by {"how": name, parameter: value, ...}, as splits inside of splits are written."""
    options = dict(how)
    name = options.pop("how", None)
    if name is None:
        raise BadName(f"{dict(how)!r} does not say how.", '{"how": "leave_last", "n": 1}.')
    found = apply(name, log, options, seed)
    if isinstance(found, list):
        raise BadName(f"split {name!r} gives a series of {len(found)} splits.", "one split.")
    return found

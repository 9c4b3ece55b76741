"""`Split`: training data and truth made from one log, and the registry of ways to split.

The ledger of a split says where every row went. Its fingerprint is a hash of the parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, select_parts
from rectitude.data.values import flags_of
from rectitude.errors import BadArgument, NothingToEvaluate, unknown_name
from rectitude.options import Options, missing_from, options_of, require_options
from rectitude.preparing.draws import STEP, mix, words
from rectitude.render import Printable
from rectitude.splits.synonyms import PARAMETERS, meant_parameter, meant_split

if TYPE_CHECKING:
    from rectitude.data.values import Mask

_OTHER = np.uint64(0xD1B54A32D192ED03)
ROWS = 1_000_000
"""How many rows are hashed at a time, to bound the memory used."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Split(Printable):
    """Training data, truth, and optionally fold-in: interactions of the evaluated users that a
    model may see.

    `fold_in` is None if the evaluated users are in `train`. `validation` splits `train` again, to
    tune a model.
    """

    train: Log
    truth: Log
    fold_in: Log | None = None
    name: str = ""
    """the name of this split in a series, such as a fold or a window"""
    ledger: Ledger = field(default_factory=Ledger)
    validation: Split | None = None

    def parts(self) -> Iterator[tuple[str, Log]]:
        """Yield the parts with their names; those of the validation start with `validation_`."""
        yield "train", self.train
        if self.fold_in is not None:
            yield "fold_in", self.fold_in
        yield "truth", self.truth
        if self.validation is not None:
            for name, part in self.validation.parts():
                yield f"validation_{name}", part

    @property
    def visible(self) -> list[Log]:
        """The interactions that a model may see: train, and fold-in if there is one."""
        return [self.train] if self.fold_in is None else [self.train, self.fold_in]

    @property
    def fingerprint(self) -> str:
        """A short hash of the content of all parts, independent of row order."""
        whole = hashlib.blake2b(digest_size=8)
        for name, part in self.parts():
            whole.update(name.encode())
            whole.update(digest(part.frame.drop(ROW)))
        return whole.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Return whether the parts have the same rows, in any order."""
        if not isinstance(other, Split):
            return NotImplemented
        return self is other or (self.name, self.fingerprint) == (other.name, other.fingerprint)

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))

    def _shown(self) -> Iterator[str]:
        yield from [self.name] if self.name else []
        yield from (f"{part:<16} {_size(log)}" for part, log in self.parts())
        noticed = self.ledger.warnings()
        yield from (f"{'!' if entry.weight == 'warning' else '-'} {entry}" for entry in noticed)


def _size(log: Log) -> str:
    rows, users, items = log.size
    return f"{rows:>12,} rows {users:>10,} users {items:>10,} items"


def digest(frame: pl.DataFrame) -> bytes:
    """Hash a table independently of row order: column names, number of rows, and contents.

    Each row becomes a 64-bit number that depends on all of its values. The two sums of
    scrambled numbers do not depend on the order of rows, and change if a row changes.
    """
    sums = np.zeros(2, np.uint64)
    for block in frame.iter_slices(ROWS):
        state = np.zeros(block.height, np.uint64)
        for column in block:
            state = mix(state + words(column) + STEP)
        sums += np.array([mix(state).sum(), mix(state ^ _OTHER).sum()], np.uint64)
    content = f"{frame.columns} {frame.height} {sums[0]} {sums[1]}"
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def part_log(
    log: Log,
    truth: Mask,
    *,
    train: Mask | None = None,
    fold_in: Mask | None = None,
    validation: Mask | None = None,
    name: str = "",
    ledger: Ledger | None = None,
) -> Split:
    """Split a log by masks; without a mask for train, it is everything that is not truth.

    `validation` marks rows of train that are the truth while a model is tuned. Parts may be
    empty; the caller decides whether that is an error.
    """
    truth = flags_of(truth)
    train_rows = ~truth if train is None else flags_of(train)
    shown = [] if fold_in is None else [flags_of(fold_in)]
    tuned = [] if validation is None else [flags_of(validation)]
    if tuned:
        tuned = [train_rows & ~tuned[0], *tuned] if tuned[0].any() else []
    parts = select_parts(log, train_rows, truth, *shown, *tuned)
    inner = Split(parts[-2], parts[-1]) if tuned else None
    split = Split(parts[0], parts[1], parts[2] if shown else None, name, ledger or Ledger(), inner)
    return account_rows(split, log, reduce(np.logical_or, [train_rows, truth, *shown]))


def holds_rows(split: Split) -> bool:
    """Whether both train and truth have rows."""
    return not (split.train.frame.is_empty() or split.truth.frame.is_empty())


def require_rows(log: Log, split: Split) -> None:
    """Raise an error if train or truth is empty."""
    for part, name in ((split.train, "train"), (split.truth, "truth")):
        if part.frame.is_empty():
            raise NothingToEvaluate(
                f"{name} is empty: it has none of the {log.frame.height:,} rows of {log.source}.",
                "rows in train and in truth.",
                "use more data, change the ratio or the number of rows, or split in another way.",
            )


def account_rows(split: Split, log: Log, used: Flags) -> Split:
    """Add the sizes of the log and of its parts to the ledger.

    `used` marks the rows that are in at least one part.
    """
    split = replace(split, ledger=log.ledger + split.ledger)
    unused = ~used
    count = int(np.count_nonzero(unused))
    rows, users, items = log.size
    ledger = split.ledger
    ledger.count("rows", rows, f"rows of {users:,} users and {items:,} items to split")
    account_parts(split)
    example = _row(log, int(unused.argmax())) if count else ""
    ledger.count(
        "rows_in_no_part", count, "rows are in no part of the split", rows, example, "notice"
    )
    return split


def _row(log: Log, at: int) -> str:
    first = log.frame.row(at, named=True)
    return f"row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}"


def account_parts(split: Split) -> None:
    """Record the size of each part, replacing earlier entries."""
    for name, part in split.parts():
        rows, users, items = part.size
        about = f"rows of {users:,} users and {items:,} items in {name.replace('_', ' ')}"
        split.ledger.count(f"{name}_rows", rows, about)
        split.ledger.count(f"{name}_users", users, f"users in {name.replace('_', ' ')}")
        split.ledger.count(f"{name}_items", items, f"items in {name.replace('_', ' ')}")


Splitter = Callable[..., Split | list[Split]]
SPLITTERS: dict[str, Splitter] = {}
AnySplitter = TypeVar("AnySplitter", bound=Splitter)


def splitter(function: AnySplitter) -> AnySplitter:
    """Register a function as a way to split, under its own name."""
    SPLITTERS[function.__name__] = function
    return function


def parameters(how: str, more: Iterable[str] = ()) -> Options:
    """The parameters of a way to split; `more` are further ways, known only to the caller."""
    if how not in SPLITTERS:
        raise unknown_name("split", how, [*SPLITTERS, *more], meant=meant_split(how))
    return options_of(SPLITTERS[how])


def require_parameters(how: str, names: Iterable[str], more: Iterable[str] = ()) -> None:
    """Raise an error, with the parameter that was meant, for one that a way to split lacks; `more`
    are further parameters, known only to the caller."""
    known = {*parameters(how), *more}
    for name in names:
        if name not in known:
            label, meant = f"split {how!r}", meant_parameter(name, known)
            note = "" if meant else _name_others(name)
            raise unknown_name("parameter", name, known, where=label, note=note, meant=meant)


def _name_others(name: str) -> str:
    """Return which ways to split have a parameter, or the one that is meant by its name."""
    for ours in PARAMETERS.get(name, (name,)):
        having = [how for how, function in SPLITTERS.items() if ours in options_of(function)]
        if having:
            return f"{ours!r} is a parameter of {', '.join(having)}."
    return ""


def apply(how: str, log: Log, options: Mapping[str, Any], seed: int) -> Split | list[Split]:
    """Split a log; raise an error for a name or choice that does not exist."""
    accepted = parameters(how)
    arguments = {"seed": seed, **options} if "seed" in accepted else dict(options)
    require_parameters(how, arguments)
    _require_complete(how, arguments, accepted, log)
    require_options(arguments, accepted, f"split {how!r}")
    return SPLITTERS[how](log, **arguments)


def _require_complete(how: str, given: Iterable[str], accepted: Options, log: Log) -> None:
    """Raise an error for a required parameter that is missing; a time is in the unit of the log."""
    missing = missing_from(dict.fromkeys(given), accepted)
    if not missing:
        return
    name, frame = missing[0], log.frame
    unit = ", in the unit of the timestamps" if name in ("t", "span") else ""
    advice = ""
    if unit and "timestamp" in frame.columns and frame.height:
        first, last = frame.select(pl.min("timestamp"), pl.max("timestamp").alias("last")).row(0)
        advice = f"timestamps of {log.source} go from {first} to {last}."
    raise BadArgument(
        f"split {how!r} has no {' and no '.join(missing)}.",
        f"a value for it{unit}: {name}=..., or --set {name}=... on the command line.",
        advice,
    )


def single(how: Mapping[str, Any], log: Log, seed: int) -> Split:
    """Make one split from {"how": name, parameter: value, ...}."""
    options = dict(how)
    name = options.pop("how", None)
    if name is None:
        raise BadArgument(
            f"{dict(how)!r} has no 'how'.", 'a dict such as {"how": "leave_last", "n": 1}.'
        )
    split = apply(name, log, options, seed)
    if isinstance(split, list):
        raise BadArgument(
            f"split {name!r} returns a series of {len(split)} splits.", "a way to make one split."
        )
    return split

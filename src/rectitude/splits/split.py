"""`Split`: the parts of a log, where they came from, and a fingerprint of what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log
from rectitude.splits.content import digest


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

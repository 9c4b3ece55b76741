"""`Split`: the parts of a log, where they came from, and a fingerprint of what they hold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Split:
    """What is learnt from, what is shown of the evaluated users, and what is to be found.

    `fold_in` is None where the evaluated users are known from `train`.
    """

    train: Log
    truth: Log
    fold_in: Log | None = None
    name: str = ""
    """which of a series of splits: a fold, a window"""
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def fingerprint(self) -> str:
        """A short hash of what each part holds, whatever the order of its rows."""
        parts = [self.train, self.truth, *([self.fold_in] if self.fold_in else [])]
        digest = hashlib.blake2b(digest_size=8)
        for part in parts:
            digest.update(_content(part.frame))
        return digest.hexdigest()


def _content(frame: pl.DataFrame) -> bytes:
    """The rows of a part as bytes, sorted; their numbers in the source play no part."""
    plain = frame.drop(ROW)
    return plain.sort(plain.columns).write_csv().encode()

"""`Candidates`: which items a ranker may choose among, as a value that can be kept and reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, UnreadableFile
from rectitude.storage import require_format, write_all

_VERSION = 1
_KEY = "rectitude.candidates"


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The items that are ranked for each user, how they were chosen, and what was met on the way.

    It goes to `candidates=` of an evaluation as it is, or as the file it was saved to. Equal hashes
    mean equal candidates, so that two models can be shown to have faced the same ones.
    """

    frame: pl.DataFrame
    """columns user, item and, where each positive has its own, positive; columns item alone where
    all users share the same"""
    owners: pl.Series
    """the users that have candidates, sorted, each once"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def source(self) -> pl.DataFrame:
        """All pairs of user and item; shared items are written out for every user."""
        if "user" in self.frame.columns:
            return self.frame
        return pl.DataFrame({"user": self.owners}).join(self.frame, how="cross")

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns by role, as evaluation asks for them."""
        return {"user": "user", "item": "item"}

    @property
    def users(self) -> None:
        """Candidates say nothing about which lists were handed over."""
        return None

    @property
    def ordered(self) -> bool:
        """The rows of candidates are in no particular order."""
        return False

    @property
    def linked(self) -> bool:
        """Whether each positive has candidates of its own."""
        return "positive" in self.frame.columns

    @property
    def sampling(self) -> str:
        """What sampling does to a number, in words; empty if nothing was drawn."""
        return self.ledger.notes.get("sampling", "")

    @property
    def without_truth(self) -> bool:
        """Whether the truth was left out, and goes with the candidates when they are ranked."""
        return self.settings.get("positives") == "left_out"

    @property
    def hash(self) -> str:
        """A short hash of who may be recommended what; settings and seed play no part."""
        from rectitude.splits.split import digest  # noqa: PLC0415  (brings all that prepares tables)

        both = digest(self.frame) + digest(self.owners.to_frame())
        return hashlib.blake2b(both, digest_size=8).hexdigest()

    def save(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file that `load` reads, whole or not at all."""
        if Path(fspath(path)).suffix != ".parquet":
            raise BadName(
                f"candidates were to be written to {fspath(path)}.",
                "a name that ends with .parquet: their settings, hash and ledger lie in the file.",
            )

        about = {
            "format": _KEY,
            "version": _VERSION,
            "settings": dict(self.settings),
            "seed": self.seed,
            "hash": self.hash,
            "columns": self.frame.columns,
            "ledger": self.ledger.as_dict(),
        }
        rows = self.frame
        if "user" not in rows.columns:  # users and shared items lie below each other
            rows = pl.concat([self.owners.to_frame("user"), rows], how="diagonal")
        metadata = {_KEY: json.dumps(about)}
        write_all({Path(fspath(path)): lambda where: rows.write_parquet(where, metadata=metadata)})

    @staticmethod
    def load(path: str | PathLike[str]) -> Candidates:
        """Candidates as `save` wrote them, or an error if they are others by now."""
        where = fspath(path)
        about, rows = _opened(where)
        if "user" in about["columns"]:
            frame, owners = rows, rows["user"].unique().sort()
        else:
            frame = rows.select("item").drop_nulls()
            owners = rows["user"].drop_nulls()
        ledger = Ledger.from_dict(about["ledger"])
        found = Candidates(frame, owners, about["settings"], about["seed"], ledger)
        if found.hash != about["hash"]:
            raise UnreadableFile(
                f"{where} holds candidates of hash {found.hash}, and says {about['hash']}.",
                "the candidates that were saved.",
                "the file was changed since; make the candidates again from their seed.",
            )
        return found

    def __str__(self) -> str:
        kind = self.settings.get("kind", "candidates")
        rows, users = self.frame.height, len(self.owners)
        shared = "" if "user" in self.frame.columns else " shared items"
        return f"{kind}: {rows:,}{shared or ' rows'} for {users:,} users, {self.hash}"


def stored(source: object) -> object:
    """The candidates of a file that `save` wrote; anything else as it came."""
    if not isinstance(source, (str, PathLike)) or not _is_parquet(Path(fspath(source))):
        return source
    try:
        ours = _KEY in pl.read_parquet_metadata(fspath(source))
    except Exception:  # damaged: whoever reads it as a table says how
        return source
    return Candidates.load(source) if ours else source


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def first(frame: pl.DataFrame, *columns: str) -> str:
    """The first row of a frame in words, as an example; empty if there is none."""
    if frame.is_empty():
        return ""
    return ", ".join(f"{name} {frame[name][0]!r}" for name in columns)


def _opened(where: str) -> tuple[Mapping[str, Any], pl.DataFrame]:
    try:
        stored = pl.read_parquet_metadata(where).get(_KEY)
        rows = pl.read_parquet(where)
    except Exception as error:  # of many kinds: Polars has its own for damaged files
        raise UnreadableFile(
            f"{where} cannot be read: {str(error).splitlines()[0]}.",
            "a Parquet file that Candidates.save wrote.",
        ) from error
    about = None if stored is None else json.loads(stored)
    return require_format(about, where, "candidates", _VERSION), rows

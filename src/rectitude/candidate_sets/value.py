"""`Candidates`: the items that may be ranked for each user, as a value to save and reuse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.data.formats.page_sizes import require_modest
from rectitude.data.ledger import Ledger
from rectitude.errors import RectitudeError, UnreadableFile, UnwritableFile
from rectitude.render import Printable
from rectitude.storage import require_format, write_all
from rectitude.texts import require_regular

_VERSION = 2
_EXPECTED = "a Parquet file that Candidates.save wrote."
_AGAIN = "the file was changed since; make the candidates again from their seed."
_KEY = "rectitude.candidates"
HIGHER_IN_SAMPLES = (
    "values are higher than with all items, cannot be compared with those or with other sample "
    "sizes, and can put models in a different order"
)
"""Why values over sampled candidates need care."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Candidates(Printable):
    """The items to rank for each user, how they were chosen, and a ledger of counts.

    Pass it, or the file it was saved to, as `candidates=` of an evaluation. Equal hashes mean equal
    candidates, which shows that two models ranked the same items.
    """

    frame: pl.DataFrame
    """columns user, item and, if each positive has its own candidates, positive; only the column
    item if all users share the same candidates"""
    owners: pl.Series
    """the users that have candidates, sorted and distinct"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def source(self) -> pl.DataFrame:
        """All pairs of user and item; shared items are repeated for every user."""
        if "user" in self.frame.columns:
            return self.frame
        return pl.DataFrame({"user": self.owners}).join(self.frame, how="cross")

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns by role, as evaluation expects them."""
        return {"user": "user", "item": "item"}

    @property
    def users(self) -> None:
        """None: candidates do not say which lists were predicted."""
        return None

    @property
    def ordered(self) -> bool:
        """The rows of candidates are in no particular order."""
        return False

    @property
    def linked(self) -> bool:
        """Whether each positive has its own candidates."""
        return "positive" in self.frame.columns

    @property
    def sampling(self) -> str:
        """How sampling changes the value of a metric, in words; empty if nothing was sampled."""
        return self.ledger.notes.get("sampling", "")

    @property
    def without_truth(self) -> bool:
        """Whether the truth was left out, and is added when the candidates are ranked."""
        return self.settings.get("positives") == "left_out"

    @property
    def hash(self) -> str:
        """A short hash of users and their candidates; it ignores settings and seed."""
        from rectitude.splits.split import digest  # noqa: PLC0415  (imports all of prepare)

        both = digest(self.frame) + digest(self.owners.to_frame())
        return hashlib.blake2b(both, digest_size=8).hexdigest()

    def save(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file that `load` reads. A failure leaves no partial file."""
        if Path(fspath(path)).suffix != ".parquet":
            raise UnwritableFile(
                f"the path of the candidates is {fspath(path)}.",
                "a path that ends with .parquet: the file also stores settings, hash and ledger.",
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
        about["fingerprint"] = _fingerprint(about)
        rows = self.frame
        if "user" not in rows.columns:  # store the users first, then the shared items
            rows = pl.concat([self.owners.to_frame("user"), rows], how="diagonal")
        metadata = {_KEY: json.dumps(about)}
        write_all({Path(fspath(path)): lambda where: rows.write_parquet(where, metadata=metadata)})

    @staticmethod
    def load(path: str | PathLike[str]) -> Candidates:
        """Return the candidates that `save` wrote; raise an error if the file was changed."""
        where = fspath(path)
        about, rows = _open_file(where)
        _require_unchanged(about, rows, where)
        if "user" in about["columns"]:
            frame, owners = rows, rows["user"].unique().sort()
        else:
            frame = rows.select("item").drop_nulls()
            owners = rows["user"].drop_nulls()
        ledger = Ledger.from_dict(about["ledger"])
        candidates = Candidates(frame, owners, about["settings"], about["seed"], ledger)
        if candidates.hash != about["hash"]:
            raise UnreadableFile(
                f"{where} has candidates with hash {candidates.hash}, but was saved with hash "
                f"{about['hash']}.",
                "the candidates that were saved.",
                _AGAIN,
            )
        return candidates

    def _shown(self) -> Iterator[str]:
        kind = self.settings.get("kind", "candidates")
        rows, users = self.frame.height, len(self.owners)
        shared = "" if "user" in self.frame.columns else " shared items"
        yield f"{kind}: {rows:,}{shared or ' rows'} for {users:,} users, {self.hash}"


def load_stored(source: object) -> object:
    """Return the candidates of a file that `save` wrote; return anything else as it is."""
    if not isinstance(source, (str, PathLike)) or not _is_parquet(Path(fspath(source))):
        return source
    try:
        is_stored = _KEY in pl.read_parquet_metadata(fspath(source))
    except Exception:  # damaged: reading it as a table will raise a better error
        return source
    return Candidates.load(source) if is_stored else source


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def describe_first(frame: pl.DataFrame, *columns: str) -> str:
    """Describe the first row of a frame as an example; empty if there is none."""
    if frame.is_empty():
        return ""
    return ", ".join(f"{name} {frame[name][0]!r}" for name in columns)


def _open_file(where: str) -> tuple[Mapping[str, Any], pl.DataFrame]:
    path = require_regular(where)
    try:
        stored = pl.read_parquet_metadata(path).get(_KEY)
        require_modest(path, where)
        rows = pl.read_parquet(path, glob=False)
        about = None if stored is None else json.loads(stored)
    except RectitudeError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # damage raises many kinds
        cause = str(error).partition("\n")[0]
        raise UnreadableFile(f"{where} cannot be read: {cause}.", _EXPECTED, _AGAIN) from error
    return require_format(about, where, "candidates", _VERSION), rows


def _fingerprint(about: Mapping[str, Any]) -> str:
    """Return a hash of all that a file says about its candidates, such as how they were sampled."""
    words = {key: value for key, value in about.items() if key != "fingerprint"}
    text = json.dumps(words, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _require_unchanged(about: Mapping[str, Any], rows: pl.DataFrame, where: str) -> None:
    """Raise an error if the words or the columns of a file are not those that were saved.

    Files of version 1 have no fingerprint; their hash covers the candidates alone.
    """
    covered = "fingerprint" in about or about["version"] > 1
    if covered and about.get("fingerprint") != _fingerprint(about):
        raise UnreadableFile(
            f"{where}: its settings, counts or notes are not those that were saved with it.",
            "an unchanged file.",
            _AGAIN,
        )
    columns = [*dict.fromkeys(["user", *about["columns"]])]
    if "item" not in columns or {*columns} != {*rows.columns}:
        raise UnreadableFile(
            f"{where} has the columns {', '.join(rows.columns)}.",
            f"the columns {', '.join(columns)}.",
            _AGAIN,
        )

"""The ledger: what each stage met and did, counted.

A ledger travels with every result. An entry is a count with the sentence that explains it, so that
the text people read and the numbers programs read are the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rectitude.errors import unknown_name

Weight = Literal["fact", "notice", "warning"]
_NUMBER = re.compile(r"(\d[\d,]*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One count: what was met, out of how many, and an example."""

    name: str
    count: int
    about: str
    of: int | None = None
    example: str = ""
    weight: Weight = "fact"

    def __str__(self) -> str:
        share = f" of {self.of:,}" if self.of is not None else ""
        example = f" (first: {self.example})" if self.example else ""
        return f"{self.count:,}{share} {self.about}{example}"


@dataclass(slots=True)
class Ledger:
    """The entries of all stages, in the order in which they were written, and notes in words."""

    entries: dict[str, Entry] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def count(
        self,
        name: str,
        count: int,
        about: str,
        of: int | None = None,
        example: str = "",
        weight: Weight = "fact",
    ) -> None:
        """Write an entry; a notice or warning that counted nothing is kept as a plain fact."""
        kept: Weight = weight if count else "fact"
        self.entries[name] = Entry(name, int(count), about, of, example if count else "", kept)

    def __add__(self, other: Ledger) -> Ledger:
        """Both ledgers: counts of the same name add up, of different ones stand side by side."""
        both = Ledger(dict(self.entries), {**other.notes, **self.notes})
        for name, entry in other.entries.items():
            mine = both.entries.get(name)
            both.entries[name] = entry if mine is None else _sum(mine, entry)
        for name, text in other.notes.items():
            if both.notes[name] != text:
                both.notes[name] = f"{both.notes[name].removesuffix(', ...')}, ..."
        return both

    def note(self, name: str, text: str) -> None:
        """Write down a decision in words, such as which columns were used."""
        self.notes[name] = text

    def __getitem__(self, name: str) -> int:
        if name not in self.entries:
            raise unknown_name("entry", name, self.entries, where="ledger")
        return self.entries[name].count

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def warnings(self) -> list[Entry]:
        """The entries a reader should look at."""
        return [entry for entry in self if entry.weight != "fact"]

    def as_dict(self) -> dict[str, Any]:
        """Counts and notes for JSON."""
        counts = {
            entry.name: {
                "count": entry.count,
                "of": entry.of,
                "about": entry.about,
                "example": entry.example,
                "weight": entry.weight,
            }
            for entry in self
        }
        return {"counts": counts, "notes": dict(self.notes)}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Ledger:
        """A ledger as `as_dict` wrote it."""
        ledger = Ledger(notes=dict(stored["notes"]))
        for name, entry in stored["counts"].items():
            ledger.entries[name] = Entry(name=name, **entry)
        return ledger

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.notes.items()]
        marks = {"fact": " ", "notice": "-", "warning": "!"}
        lines += [f"{marks[entry.weight]} {entry}" for entry in self if entry.count]
        return "\n".join(lines)


def _sum(one: Entry, other: Entry) -> Entry:
    """Two counts of the same thing; numbers in their sentences add up where they differ."""
    of = None if one.of is None or other.of is None else one.of + other.of
    weight = max(one.weight, other.weight, key=get_args(Weight).index)
    example = one.example or other.example
    about = _summed(one.about, other.about)
    return Entry(one.name, one.count + other.count, about, of, example, weight)


def _summed(one: str, other: str) -> str:
    """A sentence whose numbers are the sums of two sentences' numbers."""
    mine, theirs = (_NUMBER.split(text) for text in (one, other))
    if one == other or mine[::2] != theirs[::2]:
        return one
    pairs = zip(mine[1::2], theirs[1::2], strict=True)
    sums = [f"{int(a.replace(',', '')) + int(b.replace(',', '')):,}" for a, b in pairs]
    return "".join(word for pair in zip(mine[::2], [*sums, ""], strict=True) for word in pair)

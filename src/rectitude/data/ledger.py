"""The ledger: counts of what each stage found and did.

Every result carries a ledger. An entry is a count together with the sentence that explains it, so
people and programs read the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from rectitude.errors import shorten, unknown_name
from rectitude.render import Printable

Weight = Literal["fact", "notice", "warning"]
_NUMBER = r"(\d[\d,]*)"
_WHOLE = r"-?\d+"
_ID = rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|{_WHOLE}"""
_LONGEST_ID, _ROOM = 200, 4_000
"""Characters that an example shows of an id in quotes, and that are looked at for its ids."""
_QUOTED = r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)"""
_IN_ALL = r" \w+ in all"
"""What follows a number in a sentence that is a count; other numbers may be settings."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One count: what was counted, out of how many, and an example."""

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


@dataclass(slots=True, repr=False)
class Ledger(Printable):
    """The entries of all stages in the order they were written, and notes in words."""

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
        """Write an entry; a notice or warning with a count of 0 becomes a plain fact."""
        kept: Weight = weight if count else "fact"
        shown = cut_example(example) if count else ""
        self.entries[name] = Entry(name, int(count), about, of, shown, kept)

    def __add__(self, other: Ledger) -> Ledger:
        """Return a ledger with the entries of both; counts with the same name add up."""
        both = Ledger(dict(self.entries), {**other.notes, **self.notes})
        for name, entry in other.entries.items():
            present = both.entries.get(name)
            both.entries[name] = entry if present is None else _add_entries(present, entry)
        for name, text in other.notes.items():
            if both.notes[name] != text:
                both.notes[name] = f"{both.notes[name].removesuffix(', ...')}, ..."
        return both

    def without_of(self, names: Iterable[str]) -> Ledger:
        """Return a ledger in which these entries do not say of how many, where nothing was
        counted."""
        plain = {
            name: replace(entry, of=None) if name in names and not entry.count else entry
            for name, entry in self.entries.items()
        }
        return Ledger(plain, dict(self.notes))

    def note(self, name: str, text: str) -> None:
        """Record a decision in words, such as which columns were used."""
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
        """Return the entries that a reader should look at."""
        return [entry for entry in self if entry.weight != "fact"]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and notes as JSON-ready dicts."""
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
        """Return the ledger that `as_dict` wrote."""
        ledger = Ledger(notes=dict(stored["notes"]))
        for name, entry in stored["counts"].items():
            ledger.entries[name] = Entry(name=name, **entry)
        return ledger

    def _shown(self) -> Iterator[str]:
        yield from (f"{name}: {text}" for name, text in self.notes.items())
        marks = {"fact": " ", "notice": "-", "warning": "!"}
        yield from (f"{marks[entry.weight]} {entry}" for entry in self if entry.count)


def cut_example(example: str) -> str:
    """Cut the ids of an example that are too long to read. What is left of two ids has their order,
    so that the first example is the same one before and after."""
    if len(example) <= _LONGEST_ID:
        return example
    return shorten(re.sub(_QUOTED, _cut_id, example[:_ROOM]))


def _cut_id(found: re.Match[str]) -> str:
    text = found[0]
    return text if len(text) <= _LONGEST_ID + 2 else f"{text[: _LONGEST_ID + 1]}...{text[0]}"


def split_common(ledgers: Sequence[Ledger]) -> tuple[Ledger, list[Ledger]]:
    """Return the entries and notes that all ledgers share, and the rest of each ledger."""
    first = ledgers[0]
    entries = {
        name: entry
        for name, entry in first.entries.items()
        if all(other.entries.get(name) == entry for other in ledgers)
    }
    notes = {
        name: text
        for name, text in first.notes.items()
        if all(other.notes.get(name) == text for other in ledgers)
    }
    rest = [
        Ledger(
            {name: entry for name, entry in ledger.entries.items() if name not in entries},
            {name: text for name, text in ledger.notes.items() if name not in notes},
        )
        for ledger in ledgers
    ]
    return Ledger(entries, notes), rest


def list_warnings(ledgers: Mapping[str, Sequence[Ledger]]) -> list[str]:
    """Return the warnings of several evaluations, by label, as sentences.

    Those that all of them share come first, without a label. Of several runs under one label, the
    first that has a warning stands for the others.
    """
    common, rest = split_common([ledger for runs in ledgers.values() for ledger in runs])
    lines = [str(entry) for entry in common if entry.weight == "warning"]
    own = iter(rest)
    for label, runs in ledgers.items():
        entries = [entry for _ in runs for entry in next(own) if entry.weight == "warning"]
        for name in dict.fromkeys(entry.name for entry in entries):
            same = [entry for entry in entries if entry.name == name]
            which = f" (in {len(same)} of {len(runs)} runs)" if len(runs) > 1 else ""
            lines.append(f"{label}: {same[0]}{which}")
    return lines


def _add_entries(first: Entry, second: Entry) -> Entry:
    """Return the sum of two entries, including the numbers in their sentences."""
    of = None if first.of is None or second.of is None else first.of + second.of
    weight = max(first.weight, second.weight, key=get_args(Weight).index)
    example = _smaller_example(first.example, second.example)
    about = first.about if first.count else second.about
    if first.count and second.count:
        about = _add_sentences(first.about, second.about)
    return Entry(first.name, first.count + second.count, about, of, example, weight)


def _smaller_example(first: str, second: str) -> str:
    """Return the example with the smaller ids, so that the order of batches does not matter."""
    if not (first and second):
        return first or second
    return min(first, second, key=_ids_in)


def _ids_in(example: str) -> list[tuple[bool, int, str]]:
    """Return the ids in an example, in an order of their own: integers as numbers, then text."""
    found = [match.group() for match in re.finditer(_ID, example)]
    return [(False, int(i), "") if re.fullmatch(_WHOLE, i) else (True, 0, i[1:-1]) for i in found]


def _add_sentences(first: str, second: str) -> str:
    """Return a sentence whose counts are the sums of the counts in two sentences.

    Of sentences that differ in words, the first one stays. A number that is the same in both, such
    as a cutoff, stays as well, unless it counts something "in all".
    """
    first_pieces, second_pieces = (re.split(_NUMBER, text) for text in (first, second))
    words = first_pieces[::2]
    if words != second_pieces[::2]:
        return first
    numbers = zip(first_pieces[1::2], second_pieces[1::2], words[1:], strict=True)
    added = [_add_numbers(a, b, after) for a, b, after in numbers]
    return "".join(piece for pair in zip(words, [*added, ""], strict=True) for piece in pair)


def _add_numbers(first: str, second: str, after: str) -> str:
    """Return the sum of two numbers that are followed by the same words."""
    if first == second and not re.match(_IN_ALL, after):
        return first
    return f"{int(first.replace(',', '')) + int(second.replace(',', '')):,}"

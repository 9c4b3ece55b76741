"""`Explanation`: the gap between two values, its parts, and a description of each difference.

Printed, it shows the gap, a table of the parts, and a few sentences about each.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import polars as pl

from rectitude.convention import SWITCHES
from rectitude.data.ledger import cut_example
from rectitude.errors import UnreadableFile
from rectitude.explanation.explain.attribution import Method
from rectitude.explanation.explain.game import Player
from rectitude.explanation.explain.touched import Example, Flip
from rectitude.metrics import METRICS
from rectitude.render import Drawable, Grid, Printable, Tabular, pad
from rectitude.storage import read_stored, require_format, require_suffix, write_text

FORMAT, FORMAT_VERSION = "rectitude.explanation", 1
_LONGEST_LABEL = 60
_ROUNDING = 1e-9
"""Smaller numbers are treated as rounding errors."""
_ABOUT = {
    "formula": "The metric that the name means.",
    "number": "A parameter of the metric.",
    "padding": "The padding item, which is never recommended from dense scores.",
    "predictions": "The predictions that are evaluated.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between the two sides: what it is about, and what each choice means."""

    name: str
    first: Any
    second: Any
    about: str
    first_means: str = ""
    second_means: str = ""

    def describe(self, which: str) -> str:
        """Return the choice of the first or second side with its meaning."""
        value, meaning = getattr(self, which), getattr(self, f"{which}_means")
        return f"{format_choice(value)} ({meaning})" if meaning else format_choice(value)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two values."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Part:
    """What one difference adds to the gap, or several that have no value without each other."""

    changes: tuple[Change, ...]
    share: float
    from_first: Flip
    """only this part is changed; everything else stays as on the first side"""
    from_second: Flip
    """only this part is changed back; everything else stays as on the second side"""
    error: float | None = None
    """the standard error of the share, if it is estimated"""
    reason: str = ""
    """why the changes of this part are not separated"""

    @property
    def label(self) -> str:
        """The names of the changes."""
        return " + ".join(change.name for change in self.changes)

    @property
    def touches(self) -> bool:
        """Whether this part alone changes the value of a list, even if the mean stays the same."""
        return bool(self.from_first.lists or self.from_second.lists)


class Step(NamedTuple):
    """A bar of a waterfall chart."""

    label: str
    start: float
    end: float


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Printable, Tabular, Drawable):
    """Why two values differ: parts that add up to the gap, and differences without effect.

    Printing shows a table and sentences; `waterfall` gives the bars of a chart.
    """

    metric: str
    first: Side
    second: Side
    parts: tuple[Part, ...]
    without_effect: tuple[Change, ...]
    method: Method
    tried: int
    """combinations that were evaluated"""
    drawn: int
    """random orders from which shares were estimated; 0 if the shares are exact"""
    seed: int
    lists: int
    users: int
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """The second value minus the first."""
        return self.second.value - self.first.value

    def waterfall(self) -> list[Step]:
        """Return the bars of a chart: the first value, one bar per part, and the second value.

        Each part starts where the bar before it ended.
        """
        steps = [Step(self.first.label, 0.0, self.first.value)]
        for number, part in enumerate(self.parts, 1):
            last = number == len(self.parts)
            start = steps[-1].end
            end = self.second.value if last else start + part.share
            steps.append(Step(part.label, start, end))
        return [*steps, Step(self.second.label, 0.0, self.second.value)]

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as a dict for JSON."""
        facts = asdict(self)
        for part, entry in zip(self.parts, facts["parts"], strict=True):
            entry["label"] = part.label
        steps = [step._asdict() for step in self.waterfall()]
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        return {**head, **facts, "gap": self.gap, "waterfall": steps}

    def to_json(self) -> str:
        """Return the explanation as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False, default=str)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation as JSON; a failed write leaves no partial file."""
        require_suffix(path, "explanation", (".json",), "print(explanation) gives the text.")
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Explanation:
        """Read an explanation that `save` wrote."""
        expected = "a file written by Explanation.save or rectitude explain --json."
        return _read(read_stored(path, "explanation", expected), os.fspath(path))

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row per part: both choices, its share, and its effect alone."""
        rows = [
            {
                "part": part.label,
                "first": _join_choices(part, "first"),
                "second": _join_choices(part, "second"),
                "share": part.share,
                "error": part.error,
                "alone": part.from_first.effect,
                "lists_changed": part.from_first.lists,
                "users_changed": part.from_first.users,
            }
            for part in self.parts
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _shown(self) -> Iterator[str | Grid]:
        return _shown(self)


def _read(stored: object, where: str) -> Explanation:
    """Return an explanation from the output of `as_dict`."""
    facts = dict(require_format(stored, where, "explanation", FORMAT_VERSION))
    try:
        facts |= {which: Side(**facts[which]) for which in ("first", "second")}
        facts["parts"] = tuple(map(_read_part, facts["parts"]))
        facts["without_effect"] = tuple(Change(**change) for change in facts["without_effect"])
        facts["notes"] = tuple(facts["notes"])
        return Explanation(**{field.name: facts[field.name] for field in fields(Explanation)})
    except (KeyError, TypeError) as error:
        raise UnreadableFile(
            f"{where} is damaged: {error!r}.", "a complete explanation."
        ) from error


def _read_part(stored: Mapping[str, Any]) -> Part:
    facts = {name: value for name, value in stored.items() if name != "label"}
    facts["changes"] = tuple(Change(**change) for change in stored["changes"])
    for name in ("from_first", "from_second"):
        example = stored[name]["example"]
        read = None if example is None else Example(**example)
        facts[name] = Flip(**{**stored[name], "example": read})
    return Part(**facts)


def change_of(player: Player) -> Change:
    """Describe a difference, which is a player in the computation of Shapley values."""
    if player.kind == "switch":
        return switch_change(player.name, player.first, player.second)
    if player.kind == "formula":
        return formula_change(player.first, player.second)
    return Change(player.name, player.first, player.second, _ABOUT[player.kind])


def switch_change(name: str, first: Any, second: Any) -> Change:
    """Describe two choices of a switch."""
    switch = SWITCHES[name]
    meanings = (switch.explain(value) for value in (first, second))
    return Change(name, first, second, switch.about, *meanings)


def formula_change(first: str, second: str) -> Change:
    """Describe two metrics that share a name."""
    titles = (_title(first), _title(second))
    return Change("formula", first, second, _ABOUT["formula"], *titles)


def number_change(name: str, first: float | str | None, second: float | str | None) -> Change:
    """Describe two values of a metric's parameter."""
    return Change(name, first, second, _ABOUT["number"])


def format_choice(value: object) -> str:
    """Return a choice as people write it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _title(metric: str) -> str:
    return METRICS[metric].title if metric in METRICS else ""


def _shown(explanation: Explanation) -> Iterator[str | Grid]:
    """Yield the gap, the table of parts and what each of them means, with empty lines between."""
    digits = decimals(explanation.gap, *(part.share for part in explanation.parts))
    yield from (_head(explanation, digits), "")
    if explanation.parts:
        yield from (_table(explanation, digits), "")
        for part in explanation.parts:
            yield from (_describe_part(part, explanation, digits), "")
    if explanation.without_effect:
        yield from (_list_without_effect(explanation.without_effect), "")
    if explanation.notes:
        yield from (*(f"! {note}" for note in explanation.notes), "")
    yield _describe_method(explanation)


def decimals(*numbers: float) -> int:
    """Return how many decimals to print: at least four.

    They show three digits of the largest number and one of the smallest. Rounding errors are
    ignored.
    """
    sizes = [abs(number) for number in numbers if abs(number) > _ROUNDING]
    if not sizes:
        return 4
    places = [-math.floor(math.log10(size)) for size in (max(sizes), min(sizes))]
    return max(4, places[0] + 2, places[1])


def _head(explanation: Explanation, digits: int) -> str:
    sides = (("first", explanation.first), ("second", explanation.second))
    rows = [[which, _shorten(side.label), f"{side.value:.{digits}f}"] for which, side in sides]
    rows.append(["gap", "second - first", f"{explanation.gap:+.{digits}f}"])
    return "\n".join(
        [explanation.metric, *("  ".join(["", *row]) for row in pad(rows, left=(0, 1)))]
    )


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 3]}..."


def _table(explanation: Explanation, digits: int) -> Grid:
    error = ["error"] if explanation.drawn else []
    heading = ["part", "first", "second", "share", *error, "alone"]
    rows = []
    for part in explanation.parts:
        row = [part.label, *(_join_choices(part, which) for which in ("first", "second"))]
        row.append(f"{part.share:+.{digits}f}")
        row += [f"{part.error or 0:.{digits}f}"] if explanation.drawn else []
        row += [f"{part.from_first.effect:+z.{digits}f}", _count(part.from_first, explanation)]
        rows.append(row)
    return Grid([*heading, f"{_counted_noun(explanation)} changed"], rows)


def _counted_noun(explanation: Explanation) -> str:
    """Return what is counted: users, or lists if a user can have several."""
    return "users" if explanation.lists == explanation.users else "lists"


def _join_choices(part: Part, which: str) -> str:
    return ", ".join(format_choice(getattr(change, which)) for change in part.changes)


def _count(flip: Flip, explanation: Explanation) -> str:
    return "" if flip.lists is None else f"{flip.lists:,} of {explanation.lists:,}"


def _describe_part(part: Part, explanation: Explanation, digits: int) -> str:
    lines = []
    for change in part.changes:
        lines += [f"{change.name}: {change.about}"]
        lines += [f"  {which}: {change.describe(which)}" for which in ("first", "second")]
    if part.reason:
        lines.append(f"  changed together; separately there is an error: {part.reason}")
    for which, flip in (("first", part.from_first), ("second", part.from_second)):
        effect = _describe_flip(flip, explanation, digits)
        lines.append(f"  changing only this on the {which} side: {effect}")
    return "\n".join(lines)


def _describe_flip(flip: Flip, explanation: Explanation, digits: int) -> str:
    effect = f"{flip.effect:+z.{digits}f}"
    if flip.lists is None:
        return f"{effect}; single lists have no value of this metric"
    if flip.example is None:
        return f"{effect}; no single list changes its value"
    noun = _counted_noun(explanation)
    owners = f" (of {flip.users:,} users)" if noun == "lists" else ""
    changed = f"{flip.lists:,} of {explanation.lists:,} {noun} change{owners}"
    return f"{effect}; {changed}, {_describe_example(flip.example, explanation)}"


def _describe_example(example: Example, explanation: Explanation) -> str:
    by_user = _counted_noun(explanation) == "users"
    label = cut_example(f"user {example.user!r}" if by_user else f"list {example.list!r}")
    metric = "" if example.of == explanation.metric else f" in {example.of}"
    before, after = (_value(value) for value in (example.before, example.after))
    return f"the most for {label}{metric}: {before} -> {after}"


def _value(value: float | None) -> str:
    return "not counted" if value is None else f"{value:.4f}"


def _list_without_effect(changes: tuple[Change, ...]) -> str:
    pairs = [f"{c.name} ({format_choice(c.first)}, {format_choice(c.second)})" for c in changes]
    return "Different, but without effect here: " + ", ".join(pairs) + "."


def _describe_method(explanation: Explanation) -> str:
    if not explanation.parts and not explanation.without_effect:
        return "Nothing differs: both sides define this metric the same way."
    if not explanation.parts:
        return "The values are the same: none of the differences has an effect on these inputs."
    parts = len(explanation.parts)
    if explanation.method == "sampled":
        return (
            f"Shares are Shapley values of {parts} parts, estimated from {explanation.drawn} "
            f"random orders (seed {explanation.seed}); 'error' is their standard error. They add "
            "up to the gap."
        )
    screened = ""
    if explanation.method != "exact":
        screened = " Differences without effect were identified in random combinations."
    return (
        f"Shares are the Shapley values of {parts} part{'s' * (parts != 1)}, computed exactly from "
        f"{explanation.tried:,} combinations. They add up to the gap.{screened}"
    )

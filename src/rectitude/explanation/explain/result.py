"""`Explanation`: the gap between two numbers, its parts, and each difference in words.

As text it shows the gap, a table of the parts, and sentences about each.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rectitude.convention import SWITCHES
from rectitude.explanation.explain.attribution import Method
from rectitude.explanation.explain.game import Player
from rectitude.explanation.explain.touched import Example, Flip
from rectitude.metrics import METRICS
from rectitude.render import Grid, pad
from rectitude.storage import write_text

FORMAT, FORMAT_VERSION = "rectitude.explanation", 1
_LONGEST_LABEL = 60
_ROUNDING = 1e-9
"""what is smaller than that is not worth a column of zeros"""
_ABOUT = {
    "formula": "What the name stands for.",
    "number": "A number of the metric.",
    "padding": "The item that is never recommended from dense scores.",
    "predictions": "Which predictions are evaluated.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that differs, with the sentence about it and about each choice."""

    name: str
    first: Any
    second: Any
    about: str
    first_means: str = ""
    second_means: str = ""

    def said(self, which: str) -> str:
        """The choice of the first or the second, with what it means."""
        value, means = getattr(self, which), getattr(self, f"{which}_means")
        return f"{shown(value)} ({means})" if means else shown(value)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two numbers."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Part:
    """What one difference adds to the gap; several where they have no value one by one."""

    changes: tuple[Change, ...]
    share: float
    from_first: Flip
    """it alone is changed, all else stays as in the first"""
    from_second: Flip
    """it alone is changed back, all else stays as in the second"""
    error: float | None = None
    """the standard error of the share, where it is estimated"""
    reason: str = ""
    """why the changes of this part are not taken one by one"""

    @property
    def label(self) -> str:
        """The names of what changes."""
        return " + ".join(change.name for change in self.changes)

    @property
    def touches(self) -> bool:
        """Whether it alone changes the value of a list, which means over lists may hide."""
        return bool(self.from_first.lists or self.from_second.lists)


class Step(NamedTuple):
    """A bar of a waterfall chart."""

    label: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two numbers differ: parts that add up to the gap, and what differs without effect.

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
    """orders from which shares were estimated; 0 if they were not"""
    seed: int
    lists: int
    users: int
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """The second value less the first."""
        return self.second.value - self.first.value

    def waterfall(self) -> list[Step]:
        """The bars of a chart: the first value, each part from where the last one ended, and the
        second value."""
        steps = [Step(self.first.label, 0.0, self.first.value)]
        for number, part in enumerate(self.parts, 1):
            last = number == len(self.parts)
            start = steps[-1].end
            end = self.second.value if last else start + part.share
            steps.append(Step(part.label, start, end))
        return [*steps, Step(self.second.label, 0.0, self.second.value)]

    def as_dict(self) -> dict[str, Any]:
        """The explanation for JSON."""
        facts = asdict(self)
        for part, told in zip(self.parts, facts["parts"], strict=True):
            told["label"] = part.label
        steps = [step._asdict() for step in self.waterfall()]
        head = {"format": FORMAT, "version": FORMAT_VERSION}
        return {**head, **facts, "gap": self.gap, "waterfall": steps}

    def to_json(self) -> str:
        """The explanation as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False, default=str)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation as JSON, whole or not at all."""
        write_text(path, self.to_json())

    def __str__(self) -> str:
        return text(self)


def change_of(player: Player) -> Change:
    """A player in words."""
    if player.kind == "switch":
        return switch_change(player.name, player.first, player.second)
    if player.kind == "formula":
        return formula_change(player.first, player.second)
    return Change(player.name, player.first, player.second, _ABOUT[player.kind])


def switch_change(name: str, first: Any, second: Any) -> Change:
    """Two choices of a switch in words."""
    switch = SWITCHES[name]
    means = (switch.choices.get(value, "") for value in (first, second))
    return Change(name, first, second, switch.about, *means)


def formula_change(first: str, second: str) -> Change:
    """Two metrics behind one name in words."""
    means = (_formula(first), _formula(second))
    return Change("formula", first, second, _ABOUT["formula"], *means)


def number_change(name: str, first: float | str | None, second: float | str | None) -> Change:
    """Two values of a metric's own number or text, in words."""
    return Change(name, first, second, _ABOUT["number"])


def shown(value: object) -> str:
    """A choice as people write it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _formula(metric: str) -> str:
    return METRICS[metric].title if metric in METRICS else ""


def text(found: Explanation) -> str:
    """What `print(explanation)` shows."""
    digits = decimals(found.gap, *(part.share for part in found.parts))
    blocks = [_head(found, digits)]
    if found.parts:
        blocks.append(_table(found, digits))
        blocks += [_sentences(part, found, digits) for part in found.parts]
    if found.without_effect:
        blocks.append(_without_effect(found.without_effect))
    blocks += [f"! {note}" for note in found.notes]
    blocks.append(_method(found))
    return "\n\n".join(blocks)


def decimals(*numbers: float) -> int:
    """Enough decimals to show three digits of the largest number and one of the smallest that is
    not rounding; at least four."""
    sizes = [abs(number) for number in numbers if abs(number) > _ROUNDING]
    if not sizes:
        return 4
    places = [-math.floor(math.log10(size)) for size in (max(sizes), min(sizes))]
    return max(4, places[0] + 2, places[1])


def _head(found: Explanation, digits: int) -> str:
    sides = (("first", found.first), ("second", found.second))
    rows = [[which, _cut(side.label), f"{side.value:.{digits}f}"] for which, side in sides]
    rows.append(["gap", "second - first", f"{found.gap:+.{digits}f}"])
    return "\n".join([found.metric, *("  ".join(["", *row]) for row in pad(rows, left=(0, 1)))])


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 3]}..."


def _table(found: Explanation, digits: int) -> str:
    heading = ["part", "first", "second", "share", *(["error"] if found.drawn else []), "alone"]
    rows = []
    for part in found.parts:
        row = [part.label, *(_joined(part, which) for which in ("first", "second"))]
        row.append(f"{part.share:+.{digits}f}")
        row += [f"{part.error or 0:.{digits}f}"] if found.drawn else []
        row += [f"{part.from_first.effect:+z.{digits}f}", _many(part.from_first, found)]
        rows.append(row)
    return Grid([*heading, f"{_ones(found)} changed"], rows).text()


def _ones(found: Explanation) -> str:
    """What is counted: users, or lists where a user has several."""
    return "users" if found.lists == found.users else "lists"


def _joined(part: Part, which: str) -> str:
    return ", ".join(shown(getattr(change, which)) for change in part.changes)


def _many(flip: Flip, found: Explanation) -> str:
    return "" if flip.lists is None else f"{flip.lists:,} of {found.lists:,}"


def _sentences(part: Part, found: Explanation, digits: int) -> str:
    lines = []
    for change in part.changes:
        lines += [f"{change.name}: {change.about}"]
        lines += [f"  {which}: {change.said(which)}" for which in ("first", "second")]
    if part.reason:
        lines.append(f"  changed together, because otherwise: {part.reason}")
    for which, flip in (("first", part.from_first), ("second", part.from_second)):
        lines.append(f"  it alone, from the {which}: {_flipped(flip, found, digits)}")
    return "\n".join(lines)


def _flipped(flip: Flip, found: Explanation, digits: int) -> str:
    effect = f"{flip.effect:+z.{digits}f}"
    if flip.lists is None:
        return f"{effect}; lists have no values of their own"
    if flip.example is None:
        return f"{effect}; no list's own value changes"
    whose = f" (of {flip.users:,} users)" if _ones(found) == "lists" else ""
    changed = f"{flip.lists:,} of {found.lists:,} {_ones(found)} change{whose}"
    return f"{effect}; {changed}, {_exemplified(flip.example, found)}"


def _exemplified(example: Example, found: Explanation) -> str:
    whose = f"user {example.user!r}" if _ones(found) == "users" else f"list {example.list!r}"
    of = "" if example.of == found.metric else f" in {example.of}"
    before, after = (_value(value) for value in (example.before, example.after))
    return f"most of all {whose}{of}: {before} -> {after}"


def _value(value: float | None) -> str:
    return "does not count" if value is None else f"{value:.4f}"


def _without_effect(changes: tuple[Change, ...]) -> str:
    said = [f"{c.name} ({shown(c.first)}, {shown(c.second)})" for c in changes]
    return "Differ, but do not matter here: " + ", ".join(said) + "."


def _method(found: Explanation) -> str:
    if not found.parts and not found.without_effect:
        return "Nothing differs: both sides define this metric the same way."
    if not found.parts:
        return "The numbers are the same: nothing that differs matters on these inputs."
    many = len(found.parts)
    if found.method == "sampled":
        return (
            f"Shares are Shapley values of {many} parts, estimated from {found.drawn} orders "
            f"(seed {found.seed}) with the standard error given; they add up to the gap."
        )
    rest = ""
    if found.method != "exact":
        rest = "; what does not matter was found not to in random combinations"
    return (
        f"Shares are Shapley values of {many} part{'s' * (many != 1)}, exact from {found.tried:,} "
        f"combinations: they add up to the gap{rest}."
    )

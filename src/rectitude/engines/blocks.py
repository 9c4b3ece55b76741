"""Metrics of many lists, computed for some lists at a time.

What is computed on the way is small then, and stays in the processor; sums are exact, so that they
are the same as those of all lists at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from rectitude.aggregate.state import State, Tally
from rectitude.aggregate.total import Total
from rectitude.arrays import Floats
from rectitude.engines.compute import (
    Run,
    has_values,
    settled_total,
    tally_of,
    verdict_of,
    view_of,
)
from rectitude.errors import RectitudeError
from rectitude.judge.join import Verdict
from rectitude.judge.judged import Judged
from rectitude.profiles import Asked
from rectitude.threads import Once, thread_count, together

_MANY_LISTS = 1 << 16
_LISTS = 1 << 17


class Blocks:
    """The metrics of an evaluation that are computed block by block."""

    def __init__(self, run: Run, wanted: Mapping[str, Asked], spread: bool) -> None:
        self.run, self.spread = run, spread
        self.asked = {name: one for name, one in wanted.items() if _in_blocks(run, one)}
        self.verdicts: dict[str, Verdict] = {}
        for name, one in [*self.asked.items()]:
            try:
                run.facts.require(one.metric)
                self.verdicts[name] = verdict_of(run, one)
            except RectitudeError:  # said when it is computed for all lists
                del self.asked[name]
        self.states: dict[str, list[State]] = {name: [] for name in self.asked}

    def tasks(self, room: Mapping[str, Floats]) -> list[Callable[[], None]]:
        """What there is to be done, in any order; the values of lists go into `room`."""
        size = len(self.run.sides.keys)
        step = min(_LISTS, -(-size // (4 * thread_count())))
        return [
            partial(self._add, first, min(first + step, size), room)
            for first in range(0, size, step)
            if self.asked
        ]

    def _add(self, first: int, last: int, room: Mapping[str, Floats]) -> None:
        """Add up the values of the lists of a block; of a metric that fails, those of no other."""
        run, parts = _cut(self.run, first, last), Once()

        def part(judged: Judged) -> Judged:
            return parts(id(judged), lambda: judged.block(first, last))

        for name, one in [*self.asked.items()]:
            try:
                lists = view_of(run, one, part(self.verdicts[name].judged))
                done = tally_of(run, one, lists, self.spread, room[name][first:last])
                self.states[name].append(done.state)
            except RectitudeError:  # said when it is computed for all lists
                self.asked.pop(name, None)

    def totals(self, room: Mapping[str, Floats]) -> dict[str, Total]:
        """What metrics add up to that failed nowhere."""
        found: dict[str, Total] = {}

        def settle(name: str, one: Asked) -> None:
            done = Tally(sum(self.states[name], State()), room[name])
            found[name] = settled_total(self.run, one, self.verdicts[name], done)

        together([partial(settle, name, one) for name, one in self.asked.items()])
        return found


def _in_blocks(run: Run, asked: Asked) -> bool:
    """Whether a metric is computed in blocks: it has values for lists, looks at one list at a time
    as ours do, and its lists are not brought together by user."""
    ours = asked.metric.function.__module__.startswith("rectitude.")
    alone = asked.convention.unit != "user"
    return len(run.sides.keys) >= _MANY_LISTS and has_values(asked) and ours and alone


def _cut(run: Run, first: int, last: int) -> Run:
    """The same of some lists alone."""
    sides = run.sides
    some = replace(
        sides,
        keys=sides.keys.slice(first, last - first),
        owners=sides.owners[first:last],
        weights=None if sides.weights is None else sides.weights[first:last],
    )
    return run._replace(sides=some, verdicts={}, views=Once())

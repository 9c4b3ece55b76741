"""Adding up every metric of an evaluation.

The values of many lists are computed for some of them at a time: what is computed on the way is
small then, and stays in the processor. Sums are exact, so that they are the same as those of all
lists at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from rectitude.aggregate.state import State, Tally
from rectitude.aggregate.total import Total
from rectitude.arrays import Floats
from rectitude.engines.compute import (
    Run,
    has_values,
    require_closed_form,
    settled_total,
    tally_of,
    total_of,
    verdict_of,
    view_of,
)
from rectitude.errors import RectitudeError
from rectitude.judge.join import Verdict
from rectitude.judge.judged import Judged
from rectitude.metrics.signature import is_ours
from rectitude.profiles import Asked
from rectitude.threads import Once, Task, thread_count, together

_MANY_LISTS = 20_000
_PARTED = 1 << 16  # lists
_LISTS = 1 << 17


class Added(NamedTuple):
    """What metrics add up to, the values of lists, and why some could not be computed."""

    totals: dict[str, Total]
    values: dict[str, Floats]
    failures: dict[str, RectitudeError]


def added_up(
    run: Run, wanted: Mapping[str, Asked], spread: bool, beside: Sequence[Task] = ()
) -> Added:
    """Add up metrics, on several threads; other tasks are done beside."""
    valued = [name for name, one in wanted.items() if has_values(one)]
    room = dict(zip(valued, np.empty((len(valued), len(run.sides.keys))), strict=True))
    found = Added({}, {}, {})

    def compute(name: str) -> None:
        try:
            found.totals[name] = total_of(run, wanted[name], spread, room.get(name))
        except RectitudeError as error:
            found.failures[name] = error

    blocks = _Blocks(run, wanted, spread)
    whole = [partial(compute, name) for name in wanted if name not in blocks.asked]
    # in turn: threads that begin with the same would wait for what both of them need
    pairs = zip_longest(whole, blocks.tasks(room))
    tasks = [*beside, *(task for pair in pairs for task in pair if task is not None)]
    together(tasks, len(run.sides.keys) > _MANY_LISTS)
    found.totals.update(blocks.totals(room))
    for name in wanted:
        if name not in found.totals and name not in found.failures:
            compute(name)
    found.values.update((name, own) for name, own in room.items() if name in found.totals)
    return found


class _Blocks:
    """The metrics of an evaluation that are computed block by block."""

    def __init__(self, run: Run, wanted: Mapping[str, Asked], spread: bool) -> None:
        self.run, self.spread = run, spread
        self.step = max(min(_LISTS, -(-len(run.sides.keys) // (4 * thread_count()))), 1)
        self.asked = {name: one for name, one in wanted.items() if _in_blocks(run, one)}
        self.verdicts: dict[str, Verdict] = {}
        for name, one in [*self.asked.items()]:
            try:
                run.facts.require(one.metric)
                self.verdicts[name] = verdict_of(run, one)
                if one.convention.ties == "average":  # no block is to begin what another refuses
                    require_closed_form(one, view_of(run, one, self.verdicts[name].judged))
            except RectitudeError:  # said when it is computed for all lists
                del self.asked[name]
        self.states: dict[str, list[State]] = {name: [] for name in self.asked}

    def tasks(self, room: Mapping[str, Floats]) -> list[Task]:
        """What there is to be done, in any order; the values of lists go into `room`."""
        size = len(self.run.sides.keys)
        starts = range(0, size if self.asked else 0, self.step)
        return [partial(self._add, at, min(at + self.step, size), room) for at in starts]

    def _add(self, first: int, last: int, room: Mapping[str, Floats]) -> None:
        """Add up the values of the lists of a block; of a metric that fails, those of no other."""
        run, parts = _cut(self.run, first, last), Once()

        def part(judged: Judged) -> Judged:
            return parts(id(judged), lambda: judged.block(first, last))

        for name, one in self._in_turn(first):
            try:
                lists = view_of(run, one, part(self.verdicts[name].judged))
                done = tally_of(run, one, lists, self.spread, room[name][first:last])
                self.states[name].append(done.state)
            except RectitudeError:  # said when it is computed for all lists
                self.asked.pop(name, None)

    def _in_turn(self, first: int) -> list[tuple[str, Asked]]:
        """The metrics from one on that others do not begin with: what is computed once for all
        lists is computed by one thread, and others would wait for it."""
        asked, threads = [*self.asked.items()], thread_count()
        begin = len(asked) * (first // self.step % threads) // threads
        return asked[begin:] + asked[:begin]

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
    as ours do, and its lists have nothing to do with one another."""
    alone = asked.convention.unit != "user" and asked.metric.at_once == "some lists"
    ours = is_ours(asked.metric.function)
    return len(run.sides.keys) >= _PARTED and has_values(asked) and ours and alone


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

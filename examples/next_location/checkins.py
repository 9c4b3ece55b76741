"""Made-up check-ins of people with homes, work and habits, and what a model is shown of them.

Homes and workplaces take most of the visits, as they do in phones' traces; evenings follow a habit
that has a week's rhythm, so that a day of history says less than seven.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

PADDING = 0  # places are numbered from 1 on; 0 fills histories up
WEEK = 7


@dataclass(frozen=True)
class CheckIns:
    """Visits in the order of users and time."""

    user: np.ndarray
    day: np.ndarray
    hour: np.ndarray
    place: np.ndarray
    places: int  # numbered from 1 to this

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True)
class Samples:
    """What was seen before some visits, and where these went."""

    place: np.ndarray  # (samples, length) latest visit last, padding before
    hour: np.ndarray  # (samples, length)
    weekday: np.ndarray  # (samples, length)
    age: np.ndarray  # (samples, length) days before the last visit
    target: np.ndarray  # (samples,) from 0 on: classes, not place numbers

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: np.ndarray) -> Samples:
        columns = (self.place, self.hour, self.weekday, self.age, self.target)
        return Samples(*(column[rows] for column in columns))

    def batches(self, size: int) -> Iterator[Samples]:
        for first in range(0, len(self), size):
            yield self.take(np.arange(first, min(first + size, len(self))))


def generate(users: int = 100, days: int = 56, seed: int = 0) -> CheckIns:
    """People of one town; equal seeds give equal visits."""
    random = np.random.default_rng(seed)
    works, leisure = max(2, users // 5), max(2 * WEEK, users)
    popularity = 1 / np.arange(1, leisure + 1)
    popularity /= popularity.sum()
    rows = []
    for user in range(users):
        home, work = 1 + user, 1 + users + int(random.integers(works))
        favourites = 1 + users + works + random.choice(leisure, 2 * WEEK, False, popularity)
        for day in range(days):
            rows += [(user, day, *visit) for visit in _visits(random, day, home, work, favourites)]
    user, day, hour, place = np.array(rows).T
    return CheckIns(user, day, hour, place, users + works + leisure)


def _visits(
    random: np.random.Generator, day: int, home: int, work: int, favourites: np.ndarray
) -> list[tuple[int, int]]:
    """One day as (hour, place): to what the weekday asks for, and home; nothing of a day in."""
    weekday, habits, others = day % WEEK, favourites[:WEEK], favourites[WEEK:]
    visits = []
    if weekday < 5 and random.random() < 0.92:
        visits.append((9, work))
        if random.random() < 0.4:
            visits += [(12, int(others[0])), (13, work)]
    elif random.random() < 0.6:
        visits.append((11, int(random.choice(others))))
    evening = random.random()
    if evening < 0.55:
        visits.append((18, int(habits[weekday])))
    elif evening < 0.8:
        visits.append((19, int(random.choice(others))))
    return [*visits, (22, home)] if visits else []


def samples(visits: CheckIns, days: int, first: int, last: int, longest: int = 40) -> Samples:
    """The visits of the days from `first` to before `last`, each with what the same person did in
    the `days` days up to the visit before it."""
    found = [
        (place, np.arange(start, place))
        for place in range(1, len(visits))
        if visits.user[place] == visits.user[place - 1] and first <= visits.day[place] < last
        for start in [_start(visits, place - 1, days, longest)]
    ]
    shown = np.full((len(found), longest), -1)
    for row, (_, seen) in enumerate(found):
        shown[row, longest - len(seen) :] = seen
    there, at = shown >= 0, np.maximum(shown, 0)
    age = visits.day[at[:, -1:]] - visits.day[at]
    columns = (visits.place[at], visits.hour[at], visits.day[at] % WEEK, age)
    target = visits.place[[place for place, _ in found]] - 1
    return Samples(*(np.where(there, column, PADDING) for column in columns), target)


def _start(visits: CheckIns, latest: int, days: int, longest: int) -> int:
    """The first visit that is shown: same person, no more than `days` days, `longest` visits."""
    start = latest
    while (
        start > 0
        and latest - start + 1 < longest
        and visits.user[start - 1] == visits.user[latest]
        and visits.day[latest] - visits.day[start - 1] < days
    ):
        start -= 1
    return start

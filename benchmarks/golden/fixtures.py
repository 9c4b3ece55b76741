"""What passes between the program that draws inputs and the adapters that hand them to frameworks.

Both sides import this module, so it needs nothing but the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Column = list[Any]
Id = int | str


@dataclass(frozen=True)
class Fixture:
    """One drawn input. `tables` are columns by name, under the names of the golden files
    (recommendations, truth, train, items, users, rows, weights, candidates)."""

    name: str
    tables: Mapping[str, Mapping[str, Column]]
    scores: Sequence[Sequence[float]] | None = None
    """dense scores; row r belongs to the r-th user of the table `rows`, column c to item c"""

    @property
    def family(self) -> str:
        """The first word of the name: lists, scores, groups, runs or ratings."""
        return self.name.split("-")[0]

    @property
    def kind(self) -> str:
        """What the input stresses: the words between the family and the seed."""
        return "-".join(self.name.split("-")[1:-2])

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table, with these columns."""
        return zip(*(self.tables[table][column] for column in columns), strict=True)

    def grouped(self, table: str, *columns: str) -> dict[Id, list[tuple[Any, ...]]]:
        """Return the rows of a table by user, in their order."""
        found: dict[Id, list[tuple[Any, ...]]] = {}
        for user, *values in self.rows(table, "user", *columns):
            found.setdefault(user, []).append(tuple(values))
        return found

    def ranked(self) -> dict[Id, list[Id]]:
        """Return the list of each user that was handed one, in the given order, even if empty."""
        handed = self.rows("users", "user", "has_list")
        lists: dict[Id, list[Id]] = {user: [] for user, has_list in handed if has_list}
        for user, item in self.rows("recommendations", "user", "item"):
            lists[user].append(item)
        return lists


Values = Mapping[Id, float | None]


@dataclass
class Case:
    """The values of one framework for one input, as a golden case file has them."""

    profile: str
    fixture: Fixture
    kind: str
    cutoffs: Sequence[int] = ()
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-12
    notes: str = ""
    expected: dict[str, float | None] = field(default_factory=dict)
    per_user: dict[str, dict[str, float | None]] = field(default_factory=dict)
    reported_as: dict[str, str] = field(default_factory=dict)
    nonfinite: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    """of a case of kind `data`: the operation, and the rows or properties of its parts"""
    tables: dict[str, dict[str, Column]] = field(default_factory=dict)
    """files to add to the input, such as the order in which the framework ranked"""

    def record_order(self, file: str, rankings: Mapping[Any, Sequence[Any]]) -> None:
        """Keep the order in which the framework ranked the items of each user."""
        rows = [
            (user, item, place)
            for user, items in rankings.items()
            for place, item in enumerate(items)
        ]
        self.tables[file] = {
            name: [row[place] for row in rows]
            for place, name in enumerate(("user", "item", "position"))
        }

    def add(self, name: str, reported_as: str, compute: Callable[[], Any]) -> None:
        """Record a mean; if the framework raises an error, record its class instead."""
        self.add_all(name, reported_as, lambda: (compute(), {}))

    def add_all(
        self, name: str, reported_as: str, compute: Callable[[], tuple[Any, Mapping[Any, Any]]]
    ) -> None:
        """Record a mean and the values of users; a mean of None is not recorded."""
        self.reported_as[name] = reported_as
        try:
            mean, users = compute()
        except Exception as error:
            self.errors[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            return
        self.put(name, reported_as, mean, users)

    def put(
        self, name: str, reported_as: str, mean: Any, users: Mapping[Any, Any] | None = None
    ) -> None:
        """Record a mean and the values of users that are at hand."""
        self.reported_as[name] = reported_as
        if mean is not None:
            self.expected[name] = _finite(float(mean))
            if self.expected[name] is None:
                self.nonfinite[name] = str(float(mean))
        if users:
            self.per_user[name] = {
                str(user): None if value is None else _finite(float(value))
                for user, value in users.items()
            }

    def stored(self, framework: str, version: str) -> dict[str, Any]:
        """Return the content of the case file; fields without content are left out."""
        optional = {
            name: getattr(self, name)
            for name in ("tolerances", "nonfinite", "errors", "per_user", "notes")
            if getattr(self, name)
        }
        return {
            "profile": self.profile,
            "framework": framework,
            "version": version,
            "input": self.fixture.name,
            "kind": self.kind,
            "cutoffs": list(self.cutoffs),
            "options": dict(self.options),
            "tolerance": self.tolerance,
            "expected": self.expected,
            "reported_as": self.reported_as,
            **self.data,
            **optional,
        }

    @property
    def file(self) -> str:
        """The name of the case file."""
        return self.fixture.name + (f"--{self.variant}" if self.variant else "") + ".json"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""Random dense scores, and the same evaluation through lists that a plain sort has made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

import rectitude as rt

KINDS = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
TIES = ("pessimistic", "optimistic", "given", "item_ascending", "item_descending")
VALUES: dict[str, tuple[float, ...]] = {
    "equal": (1.0,),
    "six": (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0),
    "infinite": (-np.inf, -1.0, 0.0, 2.0, np.inf),
    "close": tuple(1 + n * 2.0**-40 for n in range(6)),  # float32 cannot tell them apart
    "wide": (-1e300, -1e299, 0.0, 1e299, 1e300),  # beyond float32
    "distinct": (),
}
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DenseCase:
    """Scores by position, with the ids of rows and columns, and what is known of some cells."""

    scores: np.ndarray[Any, Any]
    users: list[Any]
    items: list[Any]
    truth: tuple[tuple[Any, Any, float], ...]
    train: Pairs | None = None
    candidates: Pairs | None = None
    padding: int | None = None
    form: Callable[[sp.csr_array, pl.DataFrame], Any] = field(default=lambda sparse, table: table)

    def predictions(self, source: object = None) -> rt.Scores:
        """The scores as they are handed over, from another source if there is one."""
        padding = None if self.padding is None else self.items[self.padding]
        given = self.scores if source is None else source
        return rt.Scores(given, users=self.users, items=self.items, padding=padding)

    def masks(self) -> dict[str, Any]:
        """Train and candidates, as sparse matrices or as tables."""
        sides = {"train": self.train, "candidates": self.candidates}
        return {name: self._mask(pairs) for name, pairs in sides.items() if pairs is not None}

    def _mask(self, pairs: Pairs) -> Any:
        rows, columns = ([pair[n] for pair in pairs] for n in (0, 1))
        shape = (len(self.users), len(self.items))
        sparse = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        named = {"user": [self.users[r] for r in rows], "item": [self.items[c] for c in columns]}
        kinds = {"user": pl.Series(self.users).dtype, "item": pl.Series(self.items).dtype}
        return self.form(sparse, pl.DataFrame(named, schema=kinds))

    def truth_table(self) -> pl.DataFrame:
        """The truth as a table."""
        return pl.DataFrame(list(self.truth), ["user", "item", "grade"], orient="row")

    def evaluate(self, metrics: Any, switches: Any = None, **more: Any) -> rt.Evaluation:
        """The case through dense scores."""
        source = more.pop("source", None)
        given = {"truth": self.truth_table(), **self.masks(), **more}
        return rt.evaluate(self.predictions(source), given.pop("truth"), metrics, switches, **given)

    def best(self) -> np.ndarray[Any, Any]:
        """(rows, columns) the scores, interests merged by the best one."""
        return self.scores.max(axis=1) if self.scores.ndim == 3 else self.scores

    def open(self, row: int, switches: dict[str, Any]) -> list[int]:
        """The columns of a row that can be ranked."""
        columns = set(range(len(self.items))) - {self.padding}
        if self.candidates is not None:
            offered = {c for r, c in self.candidates if r == row}
            if switches.get("candidates") == "with_truth":
                mine = {i for u, i, _ in self.truth if u == self.users[row]}
                offered |= {c for c, item in enumerate(self.items) if item in mine}
            columns &= offered
        if switches.get("seen", "removed") == "removed":
            columns -= self.seen(row)
        return sorted(columns)

    def seen(self, row: int) -> set[int]:
        """The columns of a row that training held."""
        return {c for r, c in self.train or () if r == row}

    def order(self, row: int, switches: dict[str, Any]) -> list[int]:
        """The columns of a row from best to worst, by a plain stable sort."""
        last = self.seen(row) if switches.get("seen") == "last" else set()
        narrow = switches.get("score_precision") == "float32"
        with np.errstate(over="ignore"):
            scores = self.best()[row].astype(np.float32 if narrow else np.float64)
        tie = self._tie(row, switches)

        def key(column: int) -> Any:
            worst = column in last
            return worst, 0.0 if worst else -float(scores[column]), tie(column)

        return sorted(self.open(row, switches), key=key)

    def _tie(self, row: int, switches: dict[str, Any]) -> Callable[[int], Any]:
        dropped = switches.get("negative_grades") == "unjudged"
        mine = [(i, g) for u, i, g in self.truth if u == self.users[row]]
        mine = [(i, g) for i, g in mine if g >= 0 or not dropped]
        grades = dict(mine)
        by_id = {item: n for n, item in enumerate(sorted(self.items))}
        rules: dict[str, Callable[[Any], Any]] = {
            "pessimistic": lambda i: (grades.get(i, -np.inf), by_id[i]),
            "optimistic": lambda i: (-grades.get(i, -np.inf), by_id[i]),
            "given": lambda i: 0,
            "item_ascending": lambda i: by_id[i],
            "item_descending": lambda i: -by_id[i],
        }
        rule = rules[switches.get("ties", "pessimistic")]
        return lambda column: rule(self.items[column])

    def scored_lists(self, switches: dict[str, Any]) -> rt.Lists:
        """The same predictions as a table with scores, in the order of the columns."""
        pairs = [(r, c) for r in range(len(self.users)) for c in self.open(r, switches)]
        rows, columns = ([pair[n] for pair in pairs] for n in (0, 1))
        table = pl.DataFrame(
            {
                "user": pl.Series(self.users).gather(rows),
                "item": pl.Series(self.items).gather(columns),
                "score": self.best()[rows, columns].astype(np.float64),
            }
        )
        return rt.Lists(table, users=self.users)

    def sorted_lists(self, switches: dict[str, Any]) -> rt.Lists:
        """The same predictions as lists in their final order."""
        rows = [
            (user, self.items[column])
            for row, user in enumerate(self.users)
            for column in self.order(row, switches)
        ]
        kinds = {"user": pl.Series(self.users).dtype, "item": pl.Series(self.items).dtype}
        table = pl.DataFrame(rows, schema=kinds, orient="row")
        return rt.Lists(table, users=self.users, ordered=True)

    def replace(self, **changes: Any) -> DenseCase:
        """The case with something else in it."""
        return replace(self, **changes)


@st.composite
def dense_cases(
    draw: st.DrawFn, masks: bool = True, values: tuple[str, ...] = tuple(VALUES)
) -> DenseCase:
    """A few rows and columns; the first user has a relevant item among the columns."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    scores = draw(_scores(rows, columns, draw(st.sampled_from(values))))
    users, items = draw(_ids(rows, "u")), draw(_ids(columns, "i"))
    case = DenseCase(scores, users, items, draw(_truth(users, items)))
    if not masks:
        return case
    cells = st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), unique=True)
    return case.replace(
        train=draw(st.none() | cells.map(tuple)),
        candidates=draw(st.none() | st.none() | cells.map(tuple)),
        padding=draw(st.none() | st.integers(0, columns - 1)),
        form=draw(st.sampled_from((lambda sparse, table: sparse, lambda sparse, table: table))),
    )


@st.composite
def _scores(draw: st.DrawFn, rows: int, columns: int, values: str) -> np.ndarray[Any, Any]:
    shape = (rows, draw(st.integers(1, 3)), columns) if draw(st.booleans()) else (rows, columns)
    size = int(np.prod(shape))
    if values == "distinct":
        flat = draw(st.permutations(range(size)))
        kind = draw(st.sampled_from([k for k in KINDS if k != "bool"]))
    else:
        pool = st.sampled_from(VALUES[values])
        flat = draw(st.lists(pool, min_size=size, max_size=size))
        kind = "float64" if values in ("close", "wide") else draw(st.sampled_from(KINDS[:3]))
        if values in ("six", "equal"):
            kind = draw(st.sampled_from(KINDS))
    made = np.array(flat, np.float64)
    if kind == "uint8":
        made = np.abs(made)
    array = made.astype(kind).reshape(shape)
    return np.asfortranarray(array) if draw(st.booleans()) else array


def _ids(size: int, letter: str) -> st.SearchStrategy[list[Any]]:
    names = [f"{letter}{n}" for n in range(size)]
    numbers = list(range(size))
    return st.sampled_from((numbers, [7 * n - 3 for n in numbers], names)).flatmap(st.permutations)


@st.composite
def _truth(
    draw: st.DrawFn, users: list[Any], items: list[Any]
) -> tuple[tuple[Any, Any, float], ...]:
    """Grades of some pairs, some of them of users and items that no score is for."""
    strange_user = "stranger" if isinstance(users[0], str) else 10**6
    strange_item = "strange" if isinstance(items[0], str) else 10**6
    pairs = st.tuples(
        st.sampled_from([*users, strange_user]), st.sampled_from([*items, strange_item])
    )
    others = draw(st.lists(pairs, max_size=12, unique=True))
    first = (users[0], draw(st.sampled_from(items)))
    grades = st.sampled_from((-1.0, 0.0, 1.0, 2.0, 3.0))
    rows = [(*pair, draw(grades)) for pair in others if pair != first]
    rows.insert(draw(st.integers(0, len(rows))), (*first, 3.0))
    return tuple(rows)


def ragged(array: np.ndarray[Any, Any], cuts: list[int]) -> Callable[[], Iterator[Any]]:
    """A function that returns the rows in blocks of different sizes."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(array)}), len(array)]

    def blocks() -> Iterator[Any]:
        for first, last in pairwise(edges):
            yield array[first:last]

    return blocks

"""Made-up interactions that look like a shop's: favourites of everybody, and people with tastes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from rectitude.errors import BadName
from rectitude.options import require_between, require_whole
from rectitude.storage import write_all

SHELVES = ("tea", "coffee", "bread", "cheese", "spice", "fruit")
HELD_OUT = 0.25


class Shop(NamedTuple):
    """What customers did: train to learn from, truth to be found."""

    train: pl.DataFrame
    """user, item, grade"""
    truth: pl.DataFrame
    """user, item, grade: 1 looked at, 2 put in the basket, 3 bought"""


def shop(users: int = 300, items: int = 120, seed: int = 7) -> Shop:
    """Interactions of a small shop; equal seeds give equal tables.

    Popularity falls with the item's rank as it does in shops, and each customer prefers some
    shelves. The last item is new: it is in the truth only.
    """
    for number, name in ((users, "users"), (items, "items")):
        require_whole(number, name)
    require_whole(seed, "seed", 0)
    random = np.random.default_rng(seed)
    who, what = np.nonzero(_chosen(random, users, items))
    grade = random.choice([1, 2, 3], size=len(who), p=[0.6, 0.25, 0.15])
    held_out = (random.random(len(who)) < HELD_OUT) | (what == items - 1)
    return Shop(
        _table(who[~held_out], what[~held_out], grade[~held_out]),
        _table(who[held_out], what[held_out], grade[held_out]),
    )


def _chosen(random: np.random.Generator, users: int, items: int) -> NDArray[np.bool_]:
    """(users, items) who met what: drawn without replacement, by popularity and taste."""
    appeal = -0.9 * np.log1p(random.permutation(items))
    taste = random.dirichlet(np.full(len(SHELVES), 0.3), users)
    shelf = np.arange(items) % len(SHELVES)
    # The largest of log-weights plus Gumbel noise are a weighted draw without replacement.
    noisy = appeal + np.log(taste[:, shelf] + 0.02) + random.gumbel(size=(users, items))
    place = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    chosen: NDArray[np.bool_] = place < random.integers(6, 24, size=(users, 1))
    return chosen


def _table(
    who: NDArray[np.int64], what: NDArray[np.int64], grade: NDArray[np.int64]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": [f"u{user:04}" for user in who],
            "item": [f"{SHELVES[i % len(SHELVES)]}-{i // len(SHELVES) + 1:02}" for i in what],
            "grade": grade,
        }
    )


CATEGORIES = (
    "baking", "baskets", "candles", "cards", "clocks", "cushions", "decoration", "garden",
    "kitchen", "lights", "stationery", "toys",
)  # fmt: skip
GROUPS = ("private", "trade", "abroad")
EPOCHS = 26
WIDEST = 50
"""The widest spread of a logarithm of which floats still hold the exponential."""
USERS = 4_000
"""How many customers are made in one go: about 400,000 rows, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What a shop of `purchases` is like; the defaults follow a real one, year for year."""

    days: int = 373
    start: str = "2021-12-01"
    skew: float = 1.15
    """spread of the logarithm of the items' appeal: 0 makes all alike"""
    drift: float = 1.2
    """how much appeal changes over the time, as a spread of its logarithm"""
    late_items: float = 0.25
    """share of the items that come after the beginning"""
    retired_items: float = 0.3
    """share of the items that go before the end"""
    loyalty: float = 0.5
    """share of the purchases that come from a customer's three favourite categories"""
    repeats: float = 0.3
    """share of the purchases of a returning customer that he made before"""

    def __post_init__(self) -> None:
        """An error for a habit that no shop can have."""
        require_whole(self.days, "days")
        for name in ("skew", "drift"):
            require_between(getattr(self, name), name, 0, WIDEST)
        for name in ("late_items", "retired_items", "loyalty", "repeats"):
            require_between(getattr(self, name), name, 0, 1)
        try:
            datetime.fromisoformat(self.start)
        except (TypeError, ValueError) as error:
            raise BadName(f"start is {self.start!r}.", "a date such as '2021-12-01'.") from error


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The items of a shop in the order of their categories, and how likely each is picked when."""

    item: NDArray[np.int64]
    category: NDArray[np.int64]
    price: NDArray[np.float64]
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    upto: NDArray[np.float64]
    """(epochs, items) summed chances, each epoch from its number to the next"""


def purchases(rows: int = 10_000, seed: int = 7, habits: Habits | None = None) -> pl.DataFrame:
    """Purchases of a year in a made-up shop, in the order of time; equal seeds, equal tables.

    user, item, timestamp, quantity, price, category, group. Rows of one user and time are one
    basket. Use `write_purchases` for more rows than memory holds.
    """
    whole = pl.concat(purchase_chunks(rows, seed, habits))
    return whole.sort("timestamp", "user", "item", "quantity")


def write_purchases(
    path: str | PathLike[str], rows: int, seed: int = 7, habits: Habits | None = None
) -> None:
    """Write purchases to a Parquet file, customer by customer, in memory that does not grow."""
    _require(rows, seed)
    empty = next(purchase_chunks(1, seed, habits)).clear()

    def chunks(*_: object) -> Iterator[pl.DataFrame]:
        return purchase_chunks(rows, seed, habits)

    lazy = register_io_source(chunks, schema=empty.schema)
    write_all({Path(path): lazy.sink_parquet})


def purchase_chunks(
    rows: int, seed: int = 7, habits: Habits | None = None
) -> Iterator[pl.DataFrame]:
    """The same purchases in portions of whole customers; only the last one may be cut short."""
    _require(rows, seed)
    return _chunks(rows, seed, Habits() if habits is None else habits)


def _require(rows: int, seed: int) -> None:
    require_whole(rows, "rows")
    require_whole(seed, "seed", 0)


def _chunks(rows: int, seed: int, chosen: Habits) -> Iterator[pl.DataFrame]:
    shelf = _shelf(np.random.default_rng([seed, 0]), max(40, round(6.4 * rows**0.5)), chosen)
    left, first = rows, 1
    while left > 0:
        random = np.random.default_rng([seed, first])
        count = min(USERS, left // 50 + 20)
        chunk = _customers(random, shelf, chosen, first, count).head(left)
        left -= chunk.height
        first += count
        yield chunk


def _shelf(random: np.random.Generator, items: int, habits: Habits) -> _Shelf:
    category = np.sort(random.integers(0, len(CATEGORIES), items))
    dear = random.normal(0.0, 0.3, len(CATEGORIES))
    price = np.round(np.exp(0.75 + dear[category] + random.normal(0.0, 0.85, items)), 2)
    begins = np.where(random.random(items) < habits.late_items, random.random(items), 0.0)
    ends = np.where(random.random(items) < habits.retired_items, random.random(items), 1.0)
    ends = np.where(ends <= begins, 1.0, ends)
    middle = ((np.arange(EPOCHS) + 0.5) / EPOCHS)[:, None]
    sold = (begins < middle + 0.5 / EPOCHS) & (ends > middle - 0.5 / EPOCHS)
    sold |= ~sold.any(axis=1, keepdims=True)  # a shop is never without anything
    trend = habits.drift * random.normal(size=items) * (2.0 * middle - 1.0)
    appeal = np.exp(habits.skew * random.normal(size=items) + trend) * sold
    upto = np.cumsum(appeal, axis=1)
    upto = upto / upto[:, -1:] + np.arange(EPOCHS)[:, None]
    number = random.permutation(items) + 1  # so that the number says nothing about the item
    return _Shelf(number, category, np.maximum(price, 0.05), begins, ends, upto)


def _customers(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, first: int, count: int
) -> pl.DataFrame:
    """All purchases of some customers, by customer and time."""
    group = random.choice(len(GROUPS), count, p=[0.72, 0.19, 0.09])
    eager = random.normal(0.1 + 0.8 * (group == 1), 1.3)
    visits = 1 + random.poisson(np.exp(np.minimum(eager, 5.2)))
    user = np.repeat(np.arange(count), visits)
    when = _moments(random, user, count)
    order = np.lexsort((when, user))
    user, when = user[order], when[order]
    size = 1 + random.gamma(1.25, 16.5 * np.exp(random.normal(-0.1, 0.45, count))[user]).astype(int)
    basket = np.repeat(np.arange(len(user)), size)
    place = _picked(random, shelf, habits, user[basket], when[basket], basket)
    many = np.exp(random.normal(1.25 + 0.9 * (group[user[basket]] == 1), 1.15))
    start = pl.Series([habits.start]).str.to_datetime().dt.timestamp("us")[0]
    stamp = start + _clock(random, when, habits.days)
    return pl.DataFrame(
        {
            "user": first + user[basket],
            "item": shelf.item[place],
            "timestamp": pl.Series(stamp[basket]).cast(pl.Datetime("us")),
            "quantity": np.ceil(many).astype(np.int32),
            "price": shelf.price[place],
            "category": _named(shelf.category[place], CATEGORIES),
            "group": _named(group[user[basket]], GROUPS),
        }
    )


def _moments(
    random: np.random.Generator, user: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """When visits take place, from 0 to 1: from a customer's first day on, most in late autumn."""
    joined = np.where(random.random(count) < 0.75, 0.0, random.random(count))[user]
    when = joined + (1.0 - joined) * random.random(len(user)) ** 1.15
    rush = random.random(len(user)) < 0.1
    autumn: NDArray[np.float64] = np.where(rush, random.uniform(0.78, 0.99, len(user)), when)
    return np.maximum(autumn, joined)


def _clock(random: np.random.Generator, when: NDArray[np.float64], days: int) -> NDArray[np.int64]:
    """Microseconds from the beginning: some minute of an opening hour of that day."""
    day = np.minimum((when * days).astype(np.int64), days - 1)
    minute = np.clip(random.normal(13.0 * 60, 150.0, len(when)), 8 * 60, 20 * 60).astype(np.int64)
    return (day * 1440 + minute) * 60_000_000


def _picked(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, user: NDArray[np.int64],
    when: NDArray[np.float64], basket: NDArray[np.int64],
) -> NDArray[np.int64]:  # fmt: skip
    """The place on the shelf of each purchase: one of the customer's own before, or a new one."""
    fresh = _fresh(random, shelf, habits, user, when)
    row = np.arange(len(user))
    begin = np.searchsorted(user, user)
    before = np.searchsorted(basket, basket) - begin
    again = (random.random(len(user)) < habits.repeats) & (before > 0)
    source = np.where(again, begin + (random.random(len(user)) * before).astype(np.int64), row)
    while not np.array_equal(source[source], source):  # an earlier row may be a repeat itself
        source = source[source]
    old = fresh[source]
    return np.where(when < shelf.ends[old], old, fresh)


def _fresh(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, user: NDArray[np.int64],
    when: NDArray[np.float64],
) -> NDArray[np.int64]:  # fmt: skip
    """Items by their appeal at the time, from a favourite category or from all."""
    epoch = np.minimum((when * EPOCHS).astype(np.int64), EPOCHS - 1)
    liked = random.integers(0, len(CATEGORIES), (int(user.max()) + 1, 3))
    category = liked[user, random.integers(0, 3, len(user))]
    edges = np.searchsorted(shelf.category, np.arange(len(CATEGORIES) + 1))
    summed = np.column_stack((np.arange(EPOCHS, dtype=np.float64), shelf.upto))
    low, high = summed[epoch, edges[category]], summed[epoch, edges[category + 1]]
    anywhere = (random.random(len(user)) >= habits.loyalty) | (high <= low)
    low, high = np.where(anywhere, epoch, low), np.where(anywhere, epoch + 1.0, high)
    value = low + (high - low) * random.random(len(user))
    at = np.searchsorted(shelf.upto.ravel(), value, side="right") - epoch * len(shelf.item)
    found: NDArray[np.int64] = np.clip(at, 0, len(shelf.item) - 1)
    return found


def _named(number: NDArray[np.int64], names: tuple[str, ...]) -> pl.Series:
    return pl.Series(names).gather(number)

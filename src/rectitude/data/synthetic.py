"""Synthetic interactions of a shop: popular items, and customers with individual tastes."""

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

from rectitude.errors import BadArgument
from rectitude.memory import require_memory
from rectitude.options import require_between, require_whole
from rectitude.storage import write_all

SHELVES = ("tea", "coffee", "bread", "cheese", "spice", "fruit")
HELD_OUT = 0.25


class Shop(NamedTuple):
    """Interactions of customers, split into training data and truth."""

    train: pl.DataFrame
    """user, item, grade"""
    truth: pl.DataFrame
    """user, item, grade: 1 viewed, 2 added to the basket, 3 bought"""


def shop(users: int = 300, items: int = 120, seed: int = 7) -> Shop:
    """Return the interactions of a small shop; equal seeds give equal tables.

    Popularity is skewed as in real shops, and each customer prefers some shelves. The last item is
    new: it occurs only in the truth.
    """
    for number, name in ((users, "users"), (items, "items")):
        require_whole(number, name)
    require_whole(seed, "seed", 0)
    require_memory(40 * users * items, f"a shop with {users:,} users and {items:,} items")
    random = np.random.default_rng(seed)
    who, what = np.nonzero(_draw_interactions(random, users, items))
    grade = random.choice([1, 2, 3], size=len(who), p=[0.6, 0.25, 0.15])
    held_out = (random.random(len(who)) < HELD_OUT) | (what == items - 1)
    return Shop(
        _build_table(who[~held_out], what[~held_out], grade[~held_out]),
        _build_table(who[held_out], what[held_out], grade[held_out]),
    )


def _draw_interactions(random: np.random.Generator, users: int, items: int) -> NDArray[np.bool_]:
    """Draw (users, items) interactions without replacement, by popularity and taste."""
    appeal = -0.9 * np.log1p(random.permutation(items))
    taste = random.dirichlet(np.full(len(SHELVES), 0.3), users)
    shelf = np.arange(items) % len(SHELVES)
    # The largest log-weights plus Gumbel noise are a weighted draw without replacement.
    noisy = appeal + np.log(taste[:, shelf] + 0.02) + random.gumbel(size=(users, items))
    position = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    chosen: NDArray[np.bool_] = position < random.integers(6, 24, size=(users, 1))
    return chosen


def _build_table(
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
LONGEST = 36_500
"""The most days."""
WIDEST = 50
"""The largest standard deviation of a logarithm whose exponential still fits a float."""
_ROW = 120
"""The bytes of a purchase while all are sorted."""
USERS = 4_000
"""Customers per chunk: about 400,000 rows, which bounds memory."""


@dataclass(frozen=True, slots=True)
class Habits:
    """The properties of the shop that `purchases` simulates; the defaults resemble a real shop."""

    days: int = 373
    start: str = "2021-12-01"
    skew: float = 1.15
    """standard deviation of the logarithm of the items' appeal; 0 makes all equal"""
    drift: float = 1.2
    """how much appeal changes over time, as a standard deviation of its logarithm"""
    late_items: float = 0.25
    """share of the items that are added after the start"""
    retired_items: float = 0.3
    """share of the items that are removed before the end"""
    loyalty: float = 0.5
    """share of the purchases that come from a customer's three favourite categories"""
    repeats: float = 0.3
    """share of the purchases in which returning customers buy an item again"""

    def __post_init__(self) -> None:
        """Raise an error for impossible values."""
        require_whole(self.days, "days")
        require_between(self.days, "days", 1, LONGEST)
        for name in ("skew", "drift"):
            require_between(getattr(self, name), name, 0, WIDEST)
        for name in ("late_items", "retired_items", "loyalty", "repeats"):
            require_between(getattr(self, name), name, 0, 1)
        try:
            datetime.fromisoformat(self.start)
        except (TypeError, ValueError) as error:
            raise BadArgument(
                f"start is {self.start!r}.", "a date such as '2021-12-01'."
            ) from error


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The items of a shop, sorted by category, and the probability of each over time."""

    item: NDArray[np.int64]
    category: NDArray[np.int64]
    price: NDArray[np.float64]
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    upto: NDArray[np.float64]
    """(epochs, items) cumulative probabilities, from the number of the epoch to the next"""


def purchases(rows: int = 10_000, seed: int = 7, habits: Habits | None = None) -> pl.DataFrame:
    """Return a year of purchases in a synthetic shop, sorted by time; equal seeds, equal tables.

    Columns: user, item, timestamp, quantity, price, category, group. Rows with the same user and
    time form one basket. Use `write_purchases` for more rows than fit in memory.
    """
    _require_counts(rows, seed)
    require_memory(
        _ROW * rows, f"a shop with {rows:,} rows", "write them to a file with write_purchases"
    )
    whole = pl.concat(purchase_chunks(rows, seed, habits))
    return whole.sort("timestamp", "user", "item", "quantity")


def write_purchases(
    path: str | PathLike[str], rows: int, seed: int = 7, habits: Habits | None = None
) -> None:
    """Write purchases to a Parquet file, chunk by chunk, with bounded memory."""
    _require_counts(rows, seed)
    empty = next(purchase_chunks(1, seed, habits)).clear()

    def chunks(*_: object) -> Iterator[pl.DataFrame]:
        return purchase_chunks(rows, seed, habits)

    lazy = register_io_source(chunks, schema=empty.schema)
    write_all({Path(path): lazy.sink_parquet})


def purchase_chunks(
    rows: int, seed: int = 7, habits: Habits | None = None
) -> Iterator[pl.DataFrame]:
    """Return the same purchases in chunks of whole customers; the last chunk may be cut short."""
    _require_counts(rows, seed)
    return _generate_chunks(rows, seed, Habits() if habits is None else habits)


def _require_counts(rows: int, seed: int) -> None:
    require_whole(rows, "rows")
    require_whole(seed, "seed", 0)


def _generate_chunks(rows: int, seed: int, habits: Habits) -> Iterator[pl.DataFrame]:
    items = max(40, round(6.4 * rows**0.5))
    require_memory(5 * 8 * EPOCHS * items, f"a shop with {rows:,} rows and {items:,} items")
    shelf = _fill_shelf(np.random.default_rng([seed, 0]), items, habits)
    rows_left, first = rows, 1
    while rows_left > 0:
        random = np.random.default_rng([seed, first])
        count = min(USERS, rows_left // 50 + 20)
        chunk = _generate_customers(random, shelf, habits, first, count).head(rows_left)
        rows_left -= chunk.height
        first += count
        yield chunk


def _fill_shelf(random: np.random.Generator, items: int, habits: Habits) -> _Shelf:
    category = np.sort(random.integers(0, len(CATEGORIES), items))
    price_level = random.normal(0.0, 0.3, len(CATEGORIES))
    price = np.round(np.exp(0.75 + price_level[category] + random.normal(0.0, 0.85, items)), 2)
    begins = np.where(random.random(items) < habits.late_items, random.random(items), 0.0)
    ends = np.where(random.random(items) < habits.retired_items, random.random(items), 1.0)
    ends = np.where(ends <= begins, 1.0, ends)
    middle = ((np.arange(EPOCHS) + 0.5) / EPOCHS)[:, None]
    sold = (begins < middle + 0.5 / EPOCHS) & (ends > middle - 0.5 / EPOCHS)
    sold |= ~sold.any(axis=1, keepdims=True)  # the shop always sells something
    trend = habits.drift * random.normal(size=items) * (2.0 * middle - 1.0)
    appeal = np.exp(habits.skew * random.normal(size=items) + trend) * sold
    upto = np.cumsum(appeal, axis=1)
    upto = upto / upto[:, -1:] + np.arange(EPOCHS)[:, None]
    item_numbers = (
        random.permutation(items) + 1
    )  # random, so the number reveals nothing about the item
    return _Shelf(item_numbers, category, np.maximum(price, 0.05), begins, ends, upto)


def _generate_customers(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, first: int, count: int
) -> pl.DataFrame:
    """Return all purchases of some customers, sorted by customer and time."""
    group = random.choice(len(GROUPS), count, p=[0.72, 0.19, 0.09])
    activity = random.normal(0.1 + 0.8 * (group == 1), 1.3)
    visits = 1 + random.poisson(np.exp(np.minimum(activity, 5.2)))
    user = np.repeat(np.arange(count), visits)
    when = _draw_visit_times(random, user, count)
    order = np.lexsort((when, user))
    user, when = user[order], when[order]
    size = 1 + random.gamma(1.25, 16.5 * np.exp(random.normal(-0.1, 0.45, count))[user]).astype(int)
    basket = np.repeat(np.arange(len(user)), size)
    position = _pick_purchases(random, shelf, habits, user[basket], when[basket], basket)
    amount = np.exp(random.normal(1.25 + 0.9 * (group[user[basket]] == 1), 1.15))
    start = pl.Series([habits.start]).str.to_datetime().dt.timestamp("us")[0]
    stamp = start + _draw_clock_times(random, when, habits.days)
    return pl.DataFrame(
        {
            "user": first + user[basket],
            "item": shelf.item[position],
            "timestamp": pl.Series(stamp[basket]).cast(pl.Datetime("us")),
            "quantity": np.ceil(amount).astype(np.int32),
            "price": shelf.price[position],
            "category": _name_rows(shelf.category[position], CATEGORIES),
            "group": _name_rows(group[user[basket]], GROUPS),
        }
    )


def _draw_visit_times(
    random: np.random.Generator, user: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """Draw visit times between 0 and 1, after a customer's first day, with a peak in autumn."""
    joined = np.where(random.random(count) < 0.75, 0.0, random.random(count))[user]
    when = joined + (1.0 - joined) * random.random(len(user)) ** 1.15
    rush = random.random(len(user)) < 0.1
    autumn: NDArray[np.float64] = np.where(rush, random.uniform(0.78, 0.99, len(user)), when)
    return np.maximum(autumn, joined)


def _draw_clock_times(
    random: np.random.Generator, when: NDArray[np.float64], days: int
) -> NDArray[np.int64]:
    """Return microseconds since the start, at a random minute of the opening hours."""
    day = np.minimum((when * days).astype(np.int64), days - 1)
    minute = np.clip(random.normal(13.0 * 60, 150.0, len(when)), 8 * 60, 20 * 60).astype(np.int64)
    return (day * 1440 + minute) * 60_000_000


def _pick_purchases(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, user: NDArray[np.int64],
    when: NDArray[np.float64], basket: NDArray[np.int64],
) -> NDArray[np.int64]:  # fmt: skip
    """Return the shelf position of each purchase: an earlier item of the customer, or a new one."""
    fresh = _draw_items(random, shelf, habits, user, when)
    row = np.arange(len(user))
    begin = np.searchsorted(user, user)
    before = np.searchsorted(basket, basket) - begin
    repeats = (random.random(len(user)) < habits.repeats) & (before > 0)
    source = np.where(repeats, begin + (random.random(len(user)) * before).astype(np.int64), row)
    while not np.array_equal(source[source], source):  # the earlier row may itself be a repeat
        source = source[source]
    previous = fresh[source]
    return np.where(when < shelf.ends[previous], previous, fresh)


def _draw_items(
    random: np.random.Generator, shelf: _Shelf, habits: Habits, user: NDArray[np.int64],
    when: NDArray[np.float64],
) -> NDArray[np.int64]:  # fmt: skip
    """Draw items by their appeal at the time, from a favourite category or from all."""
    epoch = np.minimum((when * EPOCHS).astype(np.int64), EPOCHS - 1)
    liked = random.integers(0, len(CATEGORIES), (int(user.max()) + 1, 3))
    category = liked[user, random.integers(0, 3, len(user))]
    edges = np.searchsorted(shelf.category, np.arange(len(CATEGORIES) + 1))
    summed = np.column_stack((np.arange(EPOCHS, dtype=np.float64), shelf.upto))
    low, high = summed[epoch, edges[category]], summed[epoch, edges[category + 1]]
    anywhere = (random.random(len(user)) >= habits.loyalty) | (high <= low)
    low, high = np.where(anywhere, epoch, low), np.where(anywhere, epoch + 1.0, high)
    value = low + (high - low) * random.random(len(user))
    index = np.searchsorted(shelf.upto.ravel(), value, side="right") - epoch * len(shelf.item)
    position: NDArray[np.int64] = np.clip(index, 0, len(shelf.item) - 1)
    return position


def _name_rows(number: NDArray[np.int64], names: tuple[str, ...]) -> pl.Series:
    return pl.Series(names).gather(number)

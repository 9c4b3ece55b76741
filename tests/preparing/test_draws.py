"""Random numbers and orders that belong to the content of rows."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

from rectitude.data.ids import codes, count_ids, members, ranks
from rectitude.data.log import Log, open_log
from rectitude.preparing.draws import numbers, occurrences, places, uniform
from rectitude.preparing.order import by_time
from rectitude.preparing.steps import repeats

LOG = open_log({"user": [1, 1, 1, 2, 2], "item": [*"aabac"], "timestamp": [3, 1, 2, 2, 2]})
FRAME = LOG.frame


def splitmix(seed: int, *parts: int) -> float:
    """The same in Python's own integers, as published: a finished state, moved on by each part."""
    golden, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(state: int) -> int:
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
        return state ^ (state >> 31)

    state = mixed((seed + golden) & mask)
    for part in parts:
        state = mixed((state + (part + 1) * golden) & mask)
    return float((state >> 11) * 2.0**-53)


@pytest.mark.parametrize("seed", [0, 42, -1, 2**70])
def test_draws_are_splitmix64_of_seed_ids_and_repeat(seed: int) -> None:
    item = {name: word(name) for name in "abc"}
    content = [(1, item["a"], 1), (1, item["a"], 0), (1, item["b"], 0), (2, item["a"], 0)]
    content.append((2, item["c"], 0))
    assert uniform(FRAME, seed).to_list() == [splitmix(seed, *parts) for parts in content]
    users = [splitmix(seed, user) for user in (1, 1, 1, 2, 2)]
    assert uniform(FRAME, seed, by="user").to_list() == users


def word(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def test_a_draw_does_not_change_when_other_ids_are_removed() -> None:
    kept = FRAME.filter(pl.col("user") == 2)
    assert uniform(kept, 5).to_list() == uniform(FRAME, 5).to_list()[3:]


@pytest.mark.parametrize("by", ["row", "user", "item"])
def test_a_draw_does_not_depend_on_how_ids_are_stored(by: str) -> None:
    others = [
        pl.col("user").cast(pl.UInt8),
        pl.col("item").cast(pl.Enum(["c", "b", "a"])),
        pl.col("item").cast(pl.Categorical),
    ]
    drawn = uniform(FRAME, 3, by).to_list()  # type: ignore[arg-type]
    for other in others:
        assert uniform(FRAME.with_columns(other), 3, by).to_list() == drawn  # type: ignore[arg-type]


def test_a_random_order_of_ids_is_that_of_their_draws() -> None:
    ids = pl.Series([30, 10, 20, 10, 10**12])
    place, size = places(ids, 4)
    drawn = uniform(pl.DataFrame({"user": ids}), 4, by="user")
    assert size == 4
    assert place.tolist() == (drawn.rank("dense") - 1).to_list()


def test_draws_fill_the_interval_evenly() -> None:
    drawn = numbers(7, pl.int_range(100_000, eager=True).to_numpy())
    shares = [((drawn >= n / 10) & (drawn < (n + 1) / 10)).mean() for n in range(10)]
    assert min(shares) > 0.095
    assert max(shares) < 0.105
    assert (drawn >= 0).all() and (drawn < 1).all()


def test_seeds_draw_differently() -> None:
    assert uniform(FRAME, 0).to_list() != uniform(FRAME, 1).to_list()
    assert uniform(FRAME, -1).is_between(0, 1).all()


def test_repeats_of_a_pair_are_numbered_by_time() -> None:
    assert occurrences(FRAME).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("ids", "ranked"),
    [
        (["b", "a", "b"], [1, 0, 1]),
        ([10, -3, 10], [1, 0, 1]),
        ([2**60, -(2**60), 0], [2, 0, 1]),
        ([5_000_000, 5_000_001, 5_000_000], [0, 1, 0]),
        ([0.5, -1.5, 0.5], [1, 0, 1]),
        ([True, False, True], [1, 0, 1]),
    ],
)
def test_ranks_are_places_among_sorted_ids(ids: list[object], ranked: list[int]) -> None:
    assert ranks(pl.Series(ids)).tolist() == ranked


def test_categories_rank_by_their_text() -> None:
    ids = pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"]))
    assert ranks(ids).tolist() == [1, 0, 1]


def test_ranks_of_narrow_integers_do_not_wrap_around() -> None:
    assert ranks(pl.Series([-100, 100, 0], dtype=pl.Int8)).tolist() == [0, 2, 1]
    numbers, bound = codes(pl.Series([-100, 100, 0], dtype=pl.Int8))
    assert (numbers.tolist(), bound) == ([0, 200, 100], 201)


def test_sparse_integers_become_dense_codes() -> None:
    numbers, bound = codes(pl.Series([10**9, 7, 10**9]))
    assert (numbers.tolist(), bound) == ([1, 0, 1], 2)
    assert count_ids(pl.Series([10**9, 7, 10**9])) == count_ids(pl.Series([1, 2, 1])) == 2


def test_large_unsigned_ids_rank_too() -> None:
    ids = pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64)
    assert ranks(ids).tolist() == [1, 0]


def test_rows_of_a_pair_that_comes_again_are_found() -> None:
    runs = repeats(FRAME)
    assert (runs.rows.tolist(), runs.ends.tolist()) == ([0, 1], [2])
    assert not len(repeats(FRAME.filter(pl.col("user") == 2)).rows)


@pytest.mark.parametrize("known", [[3, 3, 99, -1], [], [4]])
@pytest.mark.parametrize("shift", [0, -5, 10**9])
def test_members_are_those_of_the_known_ids(known: list[int], shift: int) -> None:
    ids = pl.Series([3, 4, 3, 5]) + shift
    found = members(ids, pl.Series(known, dtype=pl.Int64) + shift)
    assert found.tolist() == [one - shift in known for one in ids]


def test_places_in_time_of_each_user() -> None:
    assert by_time(LOG).after.tolist() == [0, 2, 1, 1, 0]
    assert by_time(LOG).before.tolist() == [2, 0, 1, 0, 1]
    assert by_time(LOG, ties="first").after.tolist() == [0, 2, 1, 0, 1]
    assert by_time(Log(FRAME.clear(), "nothing")).after.tolist() == []

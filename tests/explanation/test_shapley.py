"""Shapley values: known games, exact sums, and which players are merged."""

from __future__ import annotations

import math

import pytest

from rectitude.explanation.explain.attribution import (
    coalitions,
    estimate_shares,
    exact,
    idle,
    orders,
    to_merge,
)


def game(players: int) -> dict[int, float]:
    """A game in which every player adds something, and neighbours add more together."""
    values = {}
    for coalition in range(1 << players):
        alone = sum(0.1 * (n + 1) for n in range(players) if coalition >> n & 1)
        values[coalition] = alone + 0.07 * (coalition & coalition >> 1).bit_count()
    return values


def test_one_player_gets_the_whole_gap() -> None:
    assert exact({0: 0.25, 1: 0.1}, 1).share == (0.1 - 0.25,)


def test_a_game_without_players_has_no_shares() -> None:
    assert exact({0: 0.5}, 0).share == ()


def test_glove_game_has_its_known_solution() -> None:
    left, right = 0b001, 0b110
    values = {c: float(bool(c & left) and bool(c & right)) for c in range(8)}
    assert exact(values, 3).share == (2 / 3, 1 / 6, 1 / 6)


def test_shares_of_independent_players_are_what_they_add() -> None:
    values = {c: 0.5 * (c & 1) + 0.25 * (c >> 1 & 1) for c in range(4)}
    assert exact(values, 2).share == (0.5, 0.25)


@pytest.mark.parametrize("players", [2, 5, 8])
def test_exact_shares_add_up_to_the_gap(players: int) -> None:
    values = game(players)
    gap = values[(1 << players) - 1] - values[0]
    assert abs(math.fsum(exact(values, players).share) - gap) < 1e-15


@pytest.mark.parametrize("seed", [0, 1])
def test_sampled_shares_add_up_to_the_gap_and_are_near_the_exact_ones(seed: int) -> None:
    values = game(6)
    shares = estimate_shares(values, orders(6, 50, seed))
    assert abs(math.fsum(shares.share) - (values[63] - values[0])) < 1e-15
    assert shares.error is not None
    for share, error, true in zip(shares.share, shares.error, exact(values, 6).share, strict=True):
        assert abs(share - true) <= 5 * error + 1e-12


def test_sampled_shares_of_the_reversed_game_are_the_negatives() -> None:
    values = game(6)
    turned = {c: values[63 - c] for c in values}
    drawn = orders(6, 20, seed=3)
    assert estimate_shares(turned, drawn).share == tuple(
        -s for s in estimate_shares(values, drawn).share
    )


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    assert orders(7, 20, seed=1)[:10] == orders(7, 5, seed=1)


def test_an_order_passes_from_nobody_to_everybody() -> None:
    assert coalitions((2, 0, 1)) == [0, 0b100, 0b101, 0b111]


def test_idle_players_change_nothing_anywhere() -> None:
    values = {c: float(c & 1) for c in range(8)}
    assert idle(values, 3) == [1, 2]


def test_a_player_with_an_effect_in_one_coalition_is_not_idle() -> None:
    values = {c: float(c == 0b11) for c in range(4)}
    assert idle(values, 2) == []


def test_players_that_need_each_other_are_merged() -> None:
    invalid = [c for c in range(16) if c >> 2 & 1 and not c >> 1 & 1]
    valid = [c for c in range(16) if c not in invalid]
    assert to_merge(valid, invalid, 4) == (1, 2)


def test_among_equal_pairs_neighbours_are_merged() -> None:
    invalid = [c for c in range(16) if c >> 3 & 1 and not c & 0b101]
    valid = [c for c in range(16) if c not in invalid]
    assert to_merge(valid, invalid, 4) == (2, 3)

"""Shapley values: what each player adds to a total, averaged over all orders in which they join.

A coalition is a whole number whose bit `i` says whether player `i` has joined. Values are added
exactly, as whole numbers, and divided once, so that the shares add up to the total.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial

import numpy as np

from rectitude.exact import UNIT_BITS, quotient, units
from rectitude.explanation.trials import close

Order = tuple[int, ...]
"""Players in the order in which they join."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What each player adds to the total, and how far that may be off."""

    share: tuple[float, ...]
    error: tuple[float, ...] | None = None
    """the standard error of each share; None where they are exact"""


def exact(values: Mapping[int, float], players: int) -> Shares:
    """The Shapley values of a game of which every coalition is known."""
    whole = {coalition: units(value) for coalition, value in values.items()}
    weight = [factorial(size) * factorial(players - size - 1) for size in range(players)]
    below = factorial(players) << UNIT_BITS
    shares = []
    for player in range(players):
        joined = 1 << player
        without = (c for c in range(1 << players) if not c & joined)
        above = sum(weight[c.bit_count()] * (whole[c | joined] - whole[c]) for c in without)
        shares.append(quotient(above, below))
    return Shares(tuple(shares))


def orders(players: int, pairs: int, seed: int) -> list[Order]:
    """Random orders, each followed by its reverse.

    The reverse makes the estimate better, and makes it the negative of itself where the two ends of
    the game are exchanged.
    """
    chance = np.random.default_rng(seed)
    drawn = [tuple(chance.permutation(players).tolist()) for _ in range(pairs)]
    return [order for one in drawn for order in (one, one[::-1])]


def coalitions(order: Order) -> list[int]:
    """The coalitions that an order passes through, from nobody to everybody."""
    found = [0]
    for player in order:
        found.append(found[-1] | 1 << player)
    return found


def sampled(values: Mapping[int, float], drawn: Sequence[Order]) -> Shares:
    """Shapley values estimated from pairs of orders; they too add up to the total."""
    players = len(drawn[0])
    whole = {coalition: units(value) for coalition, value in values.items()}
    added = [[0] * players for _ in range(len(drawn) // 2)]
    for number, order in enumerate(drawn):
        for player, (before, after) in zip(order, pairwise(coalitions(order)), strict=True):
            added[number // 2][player] += whole[after] - whole[before]
    below = len(drawn) << UNIT_BITS
    shares = [quotient(sum(column), below) for column in zip(*added, strict=True)]
    each = np.array([[quotient(one, 2 << UNIT_BITS) for one in row] for row in added])
    spread = each.std(axis=0, ddof=1) / math.sqrt(len(added))
    return Shares(tuple(shares), tuple(spread.tolist()))


def idle(values: Mapping[int, float], players: int) -> list[int]:
    """The players who change no known coalition by joining it, but for rounding."""
    return [
        player
        for player in range(players)
        if all(
            value == other or close(value, other)
            for coalition, value in values.items()
            for other in [values.get(coalition | 1 << player, value)]
        )
    ]


def to_merge(valid: Iterable[int], invalid: Iterable[int], players: int) -> tuple[int, int]:
    """The two players to be joined so that most coalitions without a value are never formed.

    A coalition has no value because somebody in it cannot do without somebody outside; if those two
    always join together, it is not formed. Among equals, the pair that costs the fewest coalitions
    with a value, then the nearest neighbours: players come by the stage they act on.
    """
    without, others = list(invalid), list(valid)

    def parted(found: Sequence[int], one: int, two: int) -> int:
        return sum((c >> one & 1) != (c >> two & 1) for c in found)

    return max(
        combinations(range(players), 2),
        key=lambda pair: (parted(without, *pair), -parted(others, *pair), pair[0] - pair[1]),
    )

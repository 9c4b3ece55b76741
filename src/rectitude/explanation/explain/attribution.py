"""Who makes the gap: the players of a game grouped until every coalition has a value, and the share
of each group.

Shares are Shapley values: what each player adds to the total, averaged over all orders in which
they join. A coalition is a whole number whose bit `i` says whether player `i` has joined. Values
are added exactly, as whole numbers, and divided once, so that the shares add up to the total.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, pairwise
from math import factorial
from typing import Literal

import numpy as np

from rectitude.errors import RectitudeError, UndefinedValue
from rectitude.exact import UNIT_BITS, quotient, units
from rectitude.explanation.explain.game import Coalition, Game, Player
from rectitude.explanation.trials import close

Order = tuple[int, ...]
"""Players in the order in which they join."""
Method = Literal["exact", "exact but for idle switches", "sampled"]
EXACT = 10
"""so many groups are valued in every combination"""
_PROBED, _SCREENED, _SAMPLED = 2, 16, 64
"""pairs of orders: to find who has no value without others, to find who is idle, and to estimate
shares"""


@dataclass(frozen=True, slots=True)
class Shares:
    """What each player adds to the total, and how far that may be off."""

    share: tuple[float, ...]
    error: tuple[float, ...] | None = None
    """the standard error of each share; None where they are exact"""


@dataclass(frozen=True, slots=True)
class Group:
    """Players who join together, because some have no value without others."""

    players: tuple[Player, ...]
    reason: str = ""
    """why they are not taken apart"""

    @property
    def names(self) -> frozenset[str]:
        """The names of the players."""
        return frozenset(player.name for player in self.players)


@dataclass(frozen=True, slots=True)
class Attribution:
    """The share of each group in the gap; idle ones change nothing."""

    groups: tuple[Group, ...]
    shares: Shares
    idle: tuple[Group, ...]
    method: Method
    tried: int
    """coalitions that were valued"""
    drawn: int = 0
    """orders from which shares were estimated"""


def attribute(game: Game, seed: int) -> Attribution:
    """The share of every player in the gap between the ends, which must both have a value."""
    values = _Values(game)
    groups = [Group((player,)) for player in game.players]
    pairs = _PROBED
    while True:
        drawn = orders(len(groups), pairs, seed) if len(groups) > EXACT else []
        wanted = _screened(drawn) if drawn else range(1 << len(groups))
        found = {number: _joined(groups, number) for number in wanted}
        values.fill(found.values())
        without = [number for number, one in found.items() if values.of(one) is None]
        if without:
            groups = _merged(groups, found, without, values)
        elif drawn and pairs < _SCREENED:
            pairs = _SCREENED
        else:
            break
    return _shared(groups, drawn, values, seed)


def _merged(
    groups: list[Group], found: dict[int, frozenset[str]], without: list[int], values: _Values
) -> list[Group]:
    """The groups with two of them made one, so that fewer coalitions have no value."""
    valid = [number for number in found if number not in set(without)]
    one, two = to_merge(valid, without, len(groups))
    parted = (n for n in without if (n >> one & 1) != (n >> two & 1))
    smallest = min(parted, key=lambda n: (n.bit_count(), n))
    reasons = [groups[one].reason, groups[two].reason, values.reason(found[smallest])]
    said = " ".join(dict.fromkeys(reason for reason in reasons if reason))
    both = Group((*groups[one].players, *groups[two].players), said)
    return [both if n == one else group for n, group in enumerate(groups) if n != two]


def _shared(
    groups: Sequence[Group], drawn: Sequence[Order], values: _Values, seed: int
) -> Attribution:
    """The shares of groups whose coalitions all have values."""
    known = _known(groups, values, _screened(drawn) if drawn else range(1 << len(groups)))
    out = set(idle(known, len(groups)))
    active = [group for n, group in enumerate(groups) if n not in out]
    resting = tuple(group for n, group in enumerate(groups) if n in out)
    if not drawn:
        shares = exact(_known(active, values, range(1 << len(active))), len(active))
        return Attribution(tuple(active), shares, resting, "exact", len(values.known))
    if len(active) <= EXACT and _alone(active, groups, values):
        shares = exact(_known(active, values, range(1 << len(active))), len(active))
        method: Method = "exact but for idle switches"
        return Attribution(tuple(active), shares, resting, method, len(values.known))
    return _sampled(groups, values, seed)


def _alone(active: Sequence[Group], groups: Sequence[Group], values: _Values) -> bool:
    """Whether these make the gap without the others, and all their coalitions have values."""
    numbers = range(1 << len(active))
    joined = [_joined(active, number) for number in numbers]
    values.fill(joined)
    everybody = _joined(groups, (1 << len(groups)) - 1)
    alone, whole = values.of(joined[-1]), values.of(everybody)
    if alone is None or whole is None or any(values.of(one) is None for one in joined):
        return False
    return bool(close(alone, whole))


def _sampled(groups: Sequence[Group], values: _Values, seed: int) -> Attribution:
    """Shares estimated from as many orders as have values throughout."""
    drawn = orders(len(groups), _SAMPLED, seed)
    values.fill(_joined(groups, number) for number in _passed(drawn))
    known = _known(groups, values, _passed(drawn))
    pairs = [drawn[n : n + 2] for n in range(0, len(drawn), 2)]
    whole = [pair for pair in pairs if all(n in known for o in pair for n in coalitions(o))]
    kept = [order for pair in whole for order in pair]
    shares = sampled(known, kept)
    out = set(idle(known, len(groups)))
    active = [n for n in range(len(groups)) if n not in out]
    error = shares.error or ()
    some = Shares(tuple(shares.share[n] for n in active), tuple(error[n] for n in active))
    return Attribution(
        tuple(groups[n] for n in active), some, tuple(groups[n] for n in sorted(out)), "sampled",
        len(values.known), len(kept),
    )  # fmt: skip


@dataclass
class _Values:
    """The values of coalitions, each computed once; errors where there is none."""

    game: Game
    known: dict[frozenset[str], float | RectitudeError] = field(default_factory=dict)

    def fill(self, wanted: Iterable[frozenset[str]]) -> None:
        """Value coalitions, those judged alike one after the other."""
        missing = {coalition for coalition in wanted if coalition not in self.known}
        for coalition in sorted(missing, key=self.game.judging):
            self.known[coalition] = _value(self.game, coalition)

    def of(self, coalition: frozenset[str]) -> float | None:
        """A value; None where there is none."""
        found = self.known[coalition]
        return found if isinstance(found, float) else None

    def reason(self, coalition: frozenset[str]) -> str:
        """Why a coalition has no value."""
        return str(self.known[coalition]).partition("\n")[0]


def _value(game: Game, coalition: Coalition) -> float | RectitudeError:
    try:
        value = game.result(coalition).value
    except RectitudeError as error:
        return error
    if math.isfinite(value):
        return value
    return UndefinedValue(f"the value is {'NaN' if math.isnan(value) else 'infinite'}.")


def _known(groups: Sequence[Group], values: _Values, numbers: Iterable[int]) -> dict[int, float]:
    found = ((number, values.of(_joined(groups, number))) for number in numbers)
    return {number: value for number, value in found if value is not None}


def _joined(groups: Sequence[Group], number: int) -> frozenset[str]:
    """The players of a coalition of groups."""
    chosen = (group.names for place, group in enumerate(groups) if number >> place & 1)
    return reduce(frozenset.union, chosen, frozenset())


def _passed(drawn: Sequence[Order]) -> list[int]:
    return list(dict.fromkeys(number for order in drawn for number in coalitions(order)))


def _screened(drawn: Sequence[Order]) -> list[int]:
    """What orders pass through, and every group alone and alone missing."""
    alone = [1 << player for player in drawn[0]]
    everybody = (1 << len(drawn[0])) - 1
    return list(dict.fromkeys([*_passed(drawn), *alone, *(everybody - one for one in alone)]))


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

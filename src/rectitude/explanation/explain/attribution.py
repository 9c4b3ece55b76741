"""How the gap between two values is divided among the differences that cause it.

The differences are the players of a game. Players that have no value without each other are merged
into groups, and each group gets its Shapley value: what it adds to the total, averaged over all
orders in which the groups can join. A coalition is a whole number whose bit `i` says whether player
`i` has joined. Values are added exactly, as whole numbers, and divided once, so the shares add up
to the total.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, pairwise
from math import factorial
from typing import Literal, NamedTuple

import numpy as np

from rectitude.errors import RectitudeError, UndefinedValue
from rectitude.exact import UNIT_BITS, quotient, units
from rectitude.explanation.explain.game import Coalition, Game, Player
from rectitude.explanation.trials import close

Order = tuple[int, ...]
"""Players in the order in which they join."""
Method = Literal["exact", "exact but for idle switches", "sampled"]
EXACT = 10
"""Up to this many groups, every combination is evaluated."""
_PROBED, _SCREENED, _SAMPLED = 2, 16, 64
"""Pairs of random orders: to find groups without a value of their own, to find idle groups, and to
estimate shares."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What each player adds to the total, and the standard error of that."""

    share: tuple[float, ...]
    error: tuple[float, ...] | None = None
    """the standard error of each share; None if the shares are exact"""


@dataclass(frozen=True, slots=True)
class Group:
    """Players that join together because some of them have no value without the others."""

    players: tuple[Player, ...]
    reason: str = ""
    """why they are not separated"""

    @property
    def names(self) -> frozenset[str]:
        """The names of the players."""
        return frozenset(player.name for player in self.players)


@dataclass(frozen=True, slots=True)
class Attribution:
    """The share of each group in the gap, and the idle groups, which change nothing."""

    groups: tuple[Group, ...]
    shares: Shares
    idle: tuple[Group, ...]
    method: Method
    tried: int
    """coalitions that were evaluated"""
    drawn: int = 0
    """random orders from which the shares were estimated"""


def attribute(game: Game, seed: int) -> Attribution:
    """Return the share of every player in the gap between the ends, which must both have a value.

    Groups are merged until every coalition that is needed has a value.
    """
    values = _Values(game)
    groups = [Group((player,)) for player in game.players]
    pairs = _PROBED
    while True:
        drawn = orders(len(groups), pairs, seed) if len(groups) > EXACT else []
        wanted = _list_screened_coalitions(drawn) if drawn else range(1 << len(groups))
        joined = {number: _players_of(groups, number) for number in wanted}
        values.fill(joined.values())
        undefined = [number for number, names in joined.items() if values.of(names) is None]
        if undefined:
            groups = _merge_groups(groups, joined, undefined, values)
        elif drawn and pairs < _SCREENED:
            pairs = _SCREENED
        else:
            break
    return _share_gap(groups, drawn, values, seed)


def _merge_groups(
    groups: list[Group], joined: dict[int, frozenset[str]], undefined: list[int], values: _Values
) -> list[Group]:
    """Merge two of the groups, so that fewer coalitions have no value."""
    valid = [number for number in joined if number not in set(undefined)]
    left, right = to_merge(valid, undefined, len(groups))
    separating = (n for n in undefined if (n >> left & 1) != (n >> right & 1))
    smallest = min(separating, key=lambda n: (n.bit_count(), n))
    reasons = [groups[left].reason, groups[right].reason, values.reason(joined[smallest])]
    reason = " ".join(dict.fromkeys(reason for reason in reasons if reason))
    merged = Group((*groups[left].players, *groups[right].players), reason)
    return [merged if n == left else group for n, group in enumerate(groups) if n != right]


def _share_gap(
    groups: Sequence[Group], drawn: Sequence[Order], values: _Values, seed: int
) -> Attribution:
    """Divide the gap among groups whose coalitions all have values."""
    numbers = _list_screened_coalitions(drawn) if drawn else range(1 << len(groups))
    resting = set(idle(_known_values(groups, values, numbers), len(groups)))
    active_groups = tuple(group for n, group in enumerate(groups) if n not in resting)
    idle_groups = tuple(group for n, group in enumerate(groups) if n in resting)
    subgames = _Subgames.of(active_groups, idle_groups) if len(active_groups) <= EXACT else None
    if subgames is None or (drawn and not subgames.make_the_gap(values)):
        return _sample_shares(groups, values, seed)
    method: Method = "exact but for idle switches" if drawn else "exact"
    shares = subgames.shares(values)
    return Attribution(active_groups, shares, idle_groups, method, len(values.known))


class _Subgames(NamedTuple):
    """The coalitions of the active groups, by number: with all idle groups out, and with all in.

    Idle groups can still change the last bits of a value. Shares are therefore computed from both
    subgames: swapping the two ends of the game swaps the subgames, so the sign of each share turns
    and nothing else changes.
    """

    idle_out: list[frozenset[str]]
    idle_in: list[frozenset[str]]

    @classmethod
    def of(cls, active_groups: Sequence[Group], idle_groups: Sequence[Group]) -> _Subgames:
        """Return both subgames."""
        idle_players = _players_of(idle_groups, (1 << len(idle_groups)) - 1)
        joined = [_players_of(active_groups, n) for n in range(1 << len(active_groups))]
        return cls(joined, [names | idle_players for names in joined])

    def make_the_gap(self, values: _Values) -> bool:
        """Return whether the active groups make the whole gap and all coalitions have values.

        Idle groups were found in random combinations only. This checks them at both ends.
        """
        values.fill([*self.idle_out, *self.idle_in])
        without, with_idle = (values.by_number(joined) for joined in self)
        everybody = len(self.idle_out) - 1
        if not len(without) == len(with_idle) == everybody + 1:
            return False
        return all(close(without[number], with_idle[number]) for number in (0, everybody))

    def shares(self, values: _Values) -> Shares:
        """Return the Shapley values of the active groups, averaged over both subgames."""
        players = (len(self.idle_out) - 1).bit_length()
        without, with_idle = (exact(values.by_number(joined), players).share for joined in self)
        pairs = zip(without, with_idle, strict=True)
        return Shares(tuple((low + high) / 2 for low, high in pairs))


def _sample_shares(groups: Sequence[Group], values: _Values, seed: int) -> Attribution:
    """Estimate shares from random orders, leaving out pairs with a coalition that has no value."""
    drawn = orders(len(groups), _SAMPLED, seed)
    values.fill(_players_of(groups, number) for number in _list_passed_coalitions(drawn))
    known = _known_values(groups, values, _list_passed_coalitions(drawn))
    pairs = [drawn[n : n + 2] for n in range(0, len(drawn), 2)]
    complete = [pair for pair in pairs if all(n in known for o in pair for n in coalitions(o))]
    kept = [order for pair in complete for order in pair]
    shares = estimate_shares(known, kept)
    resting = set(idle(known, len(groups)))
    active = [n for n in range(len(groups)) if n not in resting]
    error = shares.error or ()
    active_shares = Shares(tuple(shares.share[n] for n in active), tuple(error[n] for n in active))
    return Attribution(
        tuple(groups[n] for n in active), active_shares, tuple(groups[n] for n in sorted(resting)),
        "sampled", len(values.known), len(kept),
    )  # fmt: skip


@dataclass
class _Values:
    """The value of each coalition, computed once; the error if it has none."""

    game: Game
    known: dict[frozenset[str], float | RectitudeError] = field(default_factory=dict)

    def fill(self, wanted: Iterable[frozenset[str]]) -> None:
        """Compute missing values; coalitions that are judged alike come one after the other."""
        missing = {coalition for coalition in wanted if coalition not in self.known}
        for coalition in sorted(missing, key=self.game.judging):
            self.known[coalition] = _value(self.game, coalition)

    def of(self, coalition: frozenset[str]) -> float | None:
        """Return the value of a coalition, or None if it has none."""
        value = self.known[coalition]
        return value if isinstance(value, float) else None

    def by_number(self, joined: Sequence[frozenset[str]]) -> dict[int, float]:
        """Return the values of coalitions by their position; those without a value are left out."""
        numbered = enumerate(map(self.of, joined))
        return {number: value for number, value in numbered if value is not None}

    def reason(self, coalition: frozenset[str]) -> str:
        """Return why a coalition has no value."""
        return str(self.known[coalition]).partition("\n")[0]


def _value(game: Game, coalition: Coalition) -> float | RectitudeError:
    try:
        value = game.result(coalition).value
    except RectitudeError as error:
        return error
    if math.isfinite(value):
        return value
    return UndefinedValue(f"the value is {'NaN' if math.isnan(value) else 'infinite'}.")


def _known_values(
    groups: Sequence[Group], values: _Values, numbers: Iterable[int]
) -> dict[int, float]:
    numbered = ((number, values.of(_players_of(groups, number))) for number in numbers)
    return {number: value for number, value in numbered if value is not None}


def _players_of(groups: Sequence[Group], number: int) -> frozenset[str]:
    """Return the players of a coalition of groups."""
    chosen = (group.names for bit, group in enumerate(groups) if number >> bit & 1)
    return reduce(frozenset.union, chosen, frozenset())


def _list_passed_coalitions(drawn: Sequence[Order]) -> list[int]:
    return list(dict.fromkeys(number for order in drawn for number in coalitions(order)))


def _list_screened_coalitions(drawn: Sequence[Order]) -> list[int]:
    """Return the coalitions that orders pass through, each group alone, and all but each group."""
    alone = [1 << player for player in drawn[0]]
    everybody = (1 << len(drawn[0])) - 1
    all_but_one = (everybody - number for number in alone)
    return list(dict.fromkeys([*_list_passed_coalitions(drawn), *alone, *all_but_one]))


def exact(values: Mapping[int, float], players: int) -> Shares:
    """Return the Shapley values of a game in which the value of every coalition is known."""
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


def estimate_shares(values: Mapping[int, float], drawn: Sequence[Order]) -> Shares:
    """Estimate Shapley values from pairs of orders; these estimates add up to the total too."""
    players = len(drawn[0])
    whole = {coalition: units(value) for coalition, value in values.items()}
    added = [[0] * players for _ in range(len(drawn) // 2)]
    for number, order in enumerate(drawn):
        for player, (before, after) in zip(order, pairwise(coalitions(order)), strict=True):
            added[number // 2][player] += whole[after] - whole[before]
    below = len(drawn) << UNIT_BITS
    shares = [quotient(sum(column), below) for column in zip(*added, strict=True)]
    means = np.array([[quotient(both, 2 << UNIT_BITS) for both in row] for row in added])
    spread = means.std(axis=0, ddof=1) / math.sqrt(len(added))
    return Shares(tuple(shares), tuple(spread.tolist()))


def orders(players: int, pairs: int, seed: int) -> list[Order]:
    """Draw random orders, each followed by its reverse.

    The reverse makes the estimate more precise. It also makes each estimate turn its sign when the
    two ends of the game are swapped.
    """
    random = np.random.default_rng(seed)
    drawn = [tuple(random.permutation(players).tolist()) for _ in range(pairs)]
    return [order for forward in drawn for order in (forward, forward[::-1])]


def coalitions(order: Order) -> list[int]:
    """Return the coalitions that an order passes through, from nobody to everybody."""
    passed = [0]
    for player in order:
        passed.append(passed[-1] | 1 << player)
    return passed


def idle(values: Mapping[int, float], players: int) -> list[int]:
    """Return the players that change no known coalition by joining it, except by rounding."""
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
    """Return the two players to merge so that most coalitions without a value are never formed.

    A coalition has no value because a player in it needs a player outside. If those two always
    join together, the coalition is not formed. Among equally good pairs the one that prevents the
    fewest coalitions with a value wins, then the nearest neighbours: players are sorted by the
    stage they act on.
    """
    with_value, without_value = list(valid), list(invalid)

    def count_separated(numbers: Sequence[int], left: int, right: int) -> int:
        return sum((c >> left & 1) != (c >> right & 1) for c in numbers)

    def preference(pair: tuple[int, int]) -> tuple[int, int, int]:
        prevented = count_separated(without_value, *pair)
        return prevented, -count_separated(with_value, *pair), pair[0] - pair[1]

    return max(combinations(range(players), 2), key=preference)

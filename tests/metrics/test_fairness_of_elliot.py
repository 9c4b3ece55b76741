"""Elliot's group metrics, computed from its definitions: sets of items, user by user."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt

USERS, ITEMS, K, FROM = range(12), range(20), 4, 3.0


class World:
    """Lists, truth and training data of some users, with groups of users and items."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        drawn = {u: random.permutation(20).tolist() for u in USERS}
        self.train = {u: set(drawn[u][:6]) for u in USERS}
        self.lists = {u: drawn[u][6 : 6 + int(random.integers(2, 8))] for u in USERS}
        self.grades = {
            u: dict(zip(drawn[u][4:12], random.integers(1, 6, 8), strict=True)) for u in USERS
        }
        self.score = {u: {i: float(10 - n) for n, i in enumerate(self.lists[u])} for u in USERS}
        self.item = dict(enumerate([0, 1, 2, *random.choice(3, 17).tolist()]))
        self.user = dict(enumerate([0, 1, *random.choice(2, 10).tolist()]))

    def relevant(self, user: int) -> set[int]:
        return {i for i, grade in self.grades[user].items() if grade >= FROM}

    def counting(self) -> list[int]:
        return [u for u in USERS if self.relevant(u)]

    def value(self, name: str) -> float:
        rows = [(u, i, self.score[u][i]) for u in USERS for i in self.lists[u]]
        told = [(u, i, float(g)) for u in USERS for i, g in self.grades[u].items()]
        given: dict[str, Any] = {
            "train": pl.DataFrame(
                [(u, i) for u in USERS for i in self.train[u]], ["user", "item"], orient="row"
            ),
            "items": pl.DataFrame({"item": ITEMS, "group": list(self.item.values())}),
            "users": pl.DataFrame({"user": USERS, "group": list(self.user.values())}),
        }
        lists = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
        truth = pl.DataFrame(told, ["user", "item", "grade"], orient="row")
        convention = {"profile": "elliot", "relevant_from": FROM}
        return rt.evaluate(lists, truth, name, convention, **given)[name]


def parity(rates: list[float]) -> float:
    return float(np.std(rates) / np.mean(rates))


def mean_difference(means: list[float]) -> float:
    return float(np.mean([abs(a - b) for a, b in combinations(means, 2)]))


def reo(world: World) -> float:
    rates = []
    for group in range(3):
        members = {i for i in ITEMS if world.item[i] == group}
        hits = sum(
            len(set(world.lists[u][:K]) & world.relevant(u) & members) for u in world.counting()
        )
        below = sum(len((members & world.relevant(u)) - world.train[u]) for u in world.counting())
        rates.append(hits / below)
    return parity(rates)


def rsp(world: World) -> float:
    rates = []
    for group in range(3):
        members = {i for i in ITEMS if world.item[i] == group}
        places = sum(len(set(world.lists[u][:K]) & members) for u in USERS)
        rates.append(places / sum(len(members - world.train[u]) for u in USERS))
    return parity(rates)


def bias(world: World, lists: dict[int, Any], user_group: int, item_group: int) -> float:
    shown = [world.item[i] for u in USERS if world.user[u] == user_group for i in lists[u]]
    share = sum(group == item_group for group in world.item.values()) / len(ITEMS)
    return shown.count(item_group) / len(shown) / share


def bias_disparity(world: World) -> float:
    chosen = bias(world, world.train, 1, 2)
    return (bias(world, {u: world.lists[u][:K] for u in USERS}, 1, 2) - chosen) / chosen


def item_mad(world: World, worth: Any) -> float:
    times: dict[int, int] = {}
    gains: dict[int, float] = {}
    for u in world.counting():
        for i in world.lists[u][:K]:
            times[i] = times.get(i, 0) + 1
            gains[i] = gains.get(i, 0.0) + (worth(u, i) if i in world.relevant(u) else 0.0)
    each = {i: gains[i] / times[i] for i in times}
    return mean_difference(
        [np.mean([v for i, v in each.items() if world.item[i] == g]) for g in range(3)]
    )


@pytest.mark.parametrize("seed", range(8))
def test_metrics_of_groups_are_those_of_elliot(seed: int) -> None:
    world = World(seed)
    wanted = {
        f"reo@{K}": reo(world),
        f"rsp@{K}": rsp(world),
        f"bias_disparity_bs[item_group=1,user_group=0]@{K}": bias(world, world.train, 0, 1),
        f"bias_disparity_bd[item_group=2,user_group=1]@{K}": bias_disparity(world),
        f"item_mad_rating@{K}": item_mad(world, lambda u, i: world.score[u][i]),
        f"item_mad_ranking@{K}": item_mad(
            world, lambda u, i: 2 ** (world.grades[u][i] - FROM + 1) - 1
        ),
        f"user_mad_rating@{K}": mean_difference(
            [
                np.mean([np.mean([world.score[u][i] for i in world.lists[u][:K]])
                         for u in world.counting() if world.user[u] == group])
                for group in range(2)
            ]
        ),
    }  # fmt: skip
    for name, expected in wanted.items():
        assert world.value(name) == pytest.approx(expected, abs=1e-12), name

"""Judged lists that were taken apart and joined again are the same, and so is every metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_every_metric_in_batches import CLASSES, SIZE, batch, world

import rectitude as rt
from rectitude.arrays import Ragged
from rectitude.judge.judged import Extras, Judged, Need, join
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.registry import Facts, Metric, Ratio, require_in, take_arguments

BY_ITEMS = ("shown", "stock", "wanted", "people", "unseen", "met", "predicted", "scored")
KINDS = ["lists", "scores", "average", "logits"]
PARTS = ([0, 5, 11, SIZE], [0, 1, 1, SIZE], [0, SIZE], [*range(SIZE + 1)])


@pytest.fixture(scope="module", params=KINDS)
def judged(request: pytest.FixtureRequest) -> Iterator[Judged]:
    """Lists with all that metrics may need of them."""
    found: list[Judged] = []

    def looks(lists: Any, k: int | None) -> Ratio:
        found.append(lists)
        return Ratio.of(np.ones(lists.size))

    needs = ("logits", "chances") if request.param == "logits" else BY_ITEMS
    rt.metric("Looks", needs=needs, name="looks", averages="closed form")(looks)
    switches = {"ties": "average"} if request.param == "average" else {}
    if request.param == "logits":
        rng = np.random.default_rng(0)
        targets = rng.integers(0, CLASSES, SIZE).tolist()
        rt.evaluate(rt.Logits(rng.normal(size=(SIZE, CLASSES))), targets, "looks@3")
    else:
        kind = "lists" if request.param == "lists" else "scores"
        predictions, truth, tables = batch(world(2), np.arange(SIZE), kind)
        rt.evaluate(predictions, truth, "looks@3", switches, **tables)
    yield found[0]
    rt.METRICS.remove("looks")


def differing(one: Any, other: Any, where: str = "") -> list[str]:
    """The fields in which two values differ."""
    if type(one) is not type(other):
        return [where]
    if isinstance(one, Judged | Extras | Ragged) or (is_dataclass(one) and "stock" not in where):
        names = [f.name for f in fields(one) if f.name not in ("kept", "upto")]
        pairs = ((getattr(one, name), getattr(other, name), name) for name in names)
        return [bad for mine, its, name in pairs for bad in differing(mine, its, name)]
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
        return [] if same else [where]
    if isinstance(one, tuple):
        return [bad for mine, its in zip(one, other, strict=True)
                for bad in differing(mine, its, where)]  # fmt: skip
    return [] if one is other or one == other else [where]


def values(lists: Judged, metric: Metric, facts: Facts) -> Any:
    """What the function of a metric, or of what it counts, finds in the lists."""
    convention = rt.Convention()
    given = {s: CHOICES[s][getattr(convention, s)] for s in metric.switches} | metric.parameters
    given |= {"facts": facts} if metric.wants_facts else {}
    if metric.counts is not None:
        every = np.ones(lists.size, bool)
        return metric.counts(lists, 3, every, **take_arguments(metric.counts, given))
    ratio = metric.function(lists, 3, **given)
    return {"above": ratio.above, "below": ratio.below}


def can_be_computed(lists: Judged, metric: Metric) -> bool:
    try:
        require_in(lists, metric)
    except rt.errors.MissingNeed:
        return False
    return metric.kind != "derived"


@pytest.mark.parametrize("cuts", PARTS)
def test_lists_taken_apart_and_joined_are_the_same(judged: Judged, cuts: list[int]) -> None:
    joined = join([judged.block(first, last) for first, last in pairwise(cuts)])
    assert differing(judged, joined) == []
    chosen = [np.arange(first, last) for first, last in pairwise(cuts)]
    assert differing(judged, join([judged.only(lists) for lists in chosen])) == []


def test_every_metric_has_the_same_bits(judged: Judged) -> None:
    tables = world(2)["tables"]
    train = tables["train"].rename({"user": "list"})
    facts = Facts(tables["items"], tables["users"].rename({"user": "list"}), train)
    joined = join([judged.block(first, last) for first, last in pairwise(PARTS[0])])
    metrics = [m for m in rt.METRICS.values() if can_be_computed(judged, m) and m.name != "looks"]
    assert len(metrics) > 60
    for metric in metrics:
        if judged.last is not None and metric.averages == "none":
            continue
        whole = values(judged, metric, facts)
        again = values(joined, metric, facts)
        assert whole.keys() == again.keys()
        for name in whole:
            assert whole[name].tobytes() == again[name].tobytes(), metric.name


def test_lists_of_other_items_or_judged_otherwise_are_not_joined(judged: Judged) -> None:
    left, right = judged.block(0, 4), judged.block(4, SIZE)
    with pytest.raises(ValueError, match="they differ in relevant_from"):
        join([left, right.at_threshold(2.0)])
    bare = replace(right, extras=Extras())
    with pytest.raises(ValueError, match="they differ in"):
        join([left, bare])
    with pytest.raises(ValueError, match="no lists"):
        join([])
    if judged.extras.stock is None:
        return
    for name in ("stock", "people"):
        other = replace(getattr(right, name))
        with pytest.raises(ValueError, match=f"they differ in {name}"):
            join([left, replace(right, extras=replace(right.extras, **{name: other}))])


def test_what_is_not_there_is_an_error_that_says_so(judged: Judged) -> None:
    bare = replace(judged, extras=Extras())
    for name, need in vars(Judged).items():
        if isinstance(need, Need):
            with pytest.raises(rt.errors.MissingNeed, match="this metric needs"):
                getattr(bare, name)

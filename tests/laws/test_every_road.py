"""Every road to a number against the plain definitions: objects, files, dense scores, tensors,
batches and slices, under every rule for ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, groupby, permutations, product
from math import factorial, fsum, prod
from statistics import fmean
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import FRACTIONS, LEVELS, SUMS, counts, lists_of, mean
from roads import BY_POSITION, ROADS
from strategies import Case, cases, conventions, named, plain

import rectitude as rt
from rectitude.convention import Convention
from rectitude.errors import DuplicateItems

OURS = [name for name in plain() if rt.METRICS[name].kind == "list"]
AVERAGED = [name for name in OURS if rt.METRICS[name].can_average and name not in (*SUMS, *LEVELS)]
WHOLE_NUMBERS = ("precision", "recall", "f1", "hit", "rprec", "utility", "judged", "unjudged")
"""Metrics whose value per list is one division of whole numbers: no bit of them is open."""
WITHOUT_REPEATS = (*BY_POSITION, "mappings", "json")
few = settings(max_examples=settings.default.max_examples // 10)
"""A tenth of the usual examples, because there are many roads."""
CUTOFFS = st.sampled_from((None, 1, 2, 3, 5, 20))


@pytest.mark.parametrize("road", ROADS)
@few
@given(cases(grades=(-1, 0, 1, 2, 3), everyone=True), conventions, CUTOFFS)
def test_every_road_leads_to_the_plain_definition(
    road: str, case: Case, switches: dict[str, Any], k: int | None
) -> None:
    if road in BY_POSITION and switches.get("ties") == "given":
        switches["ties"] = "item_ascending"
    convention = Convention(**switches)
    found = ROADS[road](case, [named(metric, k) for metric in OURS], switches)
    for metric in OURS:
        expected, value = mean(metric, k, case, convention), found[named(metric, k)]
        if expected is None:
            assert value is None, f"{metric} has no list to count"
        else:
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), metric


def exact_mean(metric: str, k: int | None, case: Case, convention: Convention) -> float:
    """The mean in exact arithmetic of values that were rounded once, list by list."""
    lists = [one for one in lists_of(case, convention).values() if counts(one, k)]
    fractions = [FRACTIONS[metric](one, k) for one in lists]
    values = [Fraction(above / below if below else 0.0) for above, below in fractions]
    return float(sum(values) / len(values))


@pytest.mark.parametrize("road", ROADS)
@few
@given(cases(everyone=True), CUTOFFS)
def test_every_road_leads_to_the_last_bit_of_the_exact_mean(
    road: str, case: Case, k: int | None
) -> None:
    switches = {"undefined": "zero"}
    found = ROADS[road](case, [named(metric, k) for metric in WHOLE_NUMBERS], switches)
    for metric in WHOLE_NUMBERS:
        exact = exact_mean(metric, k, case, Convention(**switches))
        assert found[named(metric, k)] == exact, metric


def orders(case: Case, user: Any) -> list[Case]:
    """The list of a user in every order that its scores allow."""
    mine = case.of({user})
    ranked = sorted(mine.predictions, key=lambda row: -row[2])
    ties = [list(tie) for _, tie in groupby(ranked, key=lambda row: row[2])]
    many = prod(factorial(len(tie)) for tie in ties)
    assume(many <= 120)
    chosen = product(*(permutations(tie) for tie in ties))
    return [mine.replace(predictions=tuple(chain(*rows))) for rows in chosen]


def average_over_orders(metric: str, k: int | None, case: Case, convention: Convention) -> float:
    """The mean over lists of the mean over orders, 0/0 counting 0."""
    plainly = convention.replace(ties="given")
    values = []
    for user in case.users():
        lists = [lists_of(order, plainly)[user] for order in orders(case, user)]
        if not counts(lists[0], k):
            continue
        fractions = [FRACTIONS[metric](one, k) for one in lists]
        values.append(fmean(above / below if below else 0.0 for above, below in fractions))
    return fsum(values) / len(values)


@pytest.mark.parametrize("road", ROADS)
@few
@given(cases(everyone=True), CUTOFFS)
def test_averaged_ties_are_the_mean_over_all_orders_on_every_road(
    road: str, case: Case, k: int | None
) -> None:
    switches = {"ties": "average", "undefined": "zero"}
    found = ROADS[road](case, [named(metric, k) for metric in AVERAGED], switches)
    for metric in AVERAGED:
        expected = average_over_orders(metric, k, case, Convention(**switches))
        assert found[named(metric, k)] == pytest.approx(expected, rel=1e-12, abs=1e-12), metric


@pytest.mark.parametrize("road", [road for road in ROADS if road not in WITHOUT_REPEATS])
@few
@given(cases(everyone=True), st.data())
def test_items_that_are_repeated_are_refused_or_count_once(
    road: str, case: Case, data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(case.predictions), min_size=1, max_size=3))
    lower = tuple((user, item, -5.0) for user, item, _ in again)
    repeated = case.replace(predictions=case.predictions + lower)
    metrics = [named(metric, 3) for metric in OURS]
    switches = {"duplicates": "first", "undefined": "zero"}
    with pytest.raises(DuplicateItems):
        ROADS[road](repeated, metrics, {"undefined": "zero"})
    assert ROADS[road](repeated, metrics, switches) == ROADS[road](case, metrics, switches)

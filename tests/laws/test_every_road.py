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
from rectitude.errors import BadArgument, DuplicateItems

OURS = [name for name in plain() if rt.METRICS[name].kind == "list"]
AVERAGED = [name for name in OURS if rt.METRICS[name].can_average and name not in (*SUMS, *LEVELS)]
OF_PAIRS = ("graded_auc", "all_pairs_auc")
"""Metrics that divide by the pairs up to the cutoff: their number is open if it splits a tie."""
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
    split = splits_a_tie(case, k)
    metrics = [metric for metric in AVERAGED if not (split and metric in OF_PAIRS)]
    found = ROADS[road](case, [named(metric, k) for metric in metrics], switches)
    for metric in metrics:
        expected = average_over_orders(metric, k, case, Convention(**switches))
        assert found[named(metric, k)] == pytest.approx(expected, rel=1e-12, abs=1e-12), metric


def splits_a_tie(case: Case, k: int | None) -> bool:
    """Whether the scores leave open if a judged item is among the first k."""
    if k is None:
        return False
    judged = {row[:2] for row in case.truth}
    for user, item, score in case.predictions:
        scores = [other for owner, _, other in case.predictions if owner == user]
        higher, upto = sum(s > score for s in scores), sum(s >= score for s in scores)
        if (user, item) in judged and higher < k < upto:
            return True
    return False


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("metric", OF_PAIRS)
def test_averaged_pairs_are_refused_if_the_cutoff_splits_a_tie(road: str, metric: str) -> None:
    scores = ((0, 0, 2.0), (0, 1, 1.0), (0, 2, 1.0), (0, 3, 0.0))
    case = Case(scores, ((0, 0, 2.0), (0, 1, 1.0), (0, 3, 3.0)), ())
    switches = {"ties": "average", "undefined": "zero"}
    assert refuses(road, case, f"{metric}@2", switches)
    # no pair up to rank 1; up to rank 3 items 0 and 1, in order; then item 3, below both
    for at, expected in {"@1": 0.0, "@3": 1.0, "@4": 1 / 3, "": 1 / 3}.items():
        assert ROADS[road](case, [metric + at], switches) == {metric + at: expected}


def refuses(road: str, case: Case, name: str, switches: dict[str, Any]) -> bool:
    """Whether a metric has no value: roads in batches raise the error, others record it."""
    try:
        return ROADS[road](case, [name], switches)[name] is None
    except BadArgument as error:
        return "splits a tie" in str(error)


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

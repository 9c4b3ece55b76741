"""Explanations of random inputs under random pairs of conventions: parts add up to the gap,
exchanged ends give the negatives, and whom a part touches can be counted by evaluating."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import METRIC_SWITCHES, Case, cases, conventions, names

import rectitude as rt
from rectitude.convention import SWITCHES
from rectitude.errors import RectitudeError
from rectitude.explanation.explain import attribution
from rectitude.explanation.explain.result import Explanation, Part
from rectitude.explanation.trials import close

NAMES = names((None, 1, 3))
Switches = dict[str, Any]
Question = tuple[str, Switches, Switches]
GOLDEN = Path(__file__).resolve().parents[1] / "conformance" / "golden" / "inputs"
PROFILES = ("default", "trec_eval-9", "rectools", "recbole", "elliot")
few = settings(max_examples=40)
ROUNDED = (
    Case(
        ((0, 0, 2.0), (0, 1, 0.5), (0, 2, 0.0), (0, 3, -1.0)),
        ((0, 3, 3.0), (0, 0, 3.0)),
        (),
    ),
    (
        "ndcg",
        {"gain": "exp2", "undefined": "zero"},
        {"gain": "binary", "undefined": "one", "discount": "log_from_second"},
    ),
)
"""With one grade only, `gain` has no effect except on the last bits of NDCG."""
ROUNDED_PERCENT = (
    Case(((0, 0, -1.0),), ((0, 0, 3.0), (0, 1, 3.0), (0, 2, 3.0)), ()),
    (
        "ndcg",
        {"undefined": "zero"},
        {"undefined": "zero", "relevant_from": 1.0, "scale": "percent", "gain": "linear"},
    ),
)


GENERAL: dict[str, tuple[Any, ...]] = {
    "relevant_from": (None, 1.0, 2.0),
    "ties": ("pessimistic", "optimistic", "given", "item_ascending", "item_descending"),
    "unjudged": ("kept", "dropped"),
    "truth_needed": ("relevant", "judged", "none"),
    "list_needed": ("none", "handed", "items", "hit"),
    "undefined": ("zero", "one", "skip", "nan", "error"),
    "unit": ("list", "user"),
    "average": ("macro", "micro"),
    "scale": ("fraction", "percent"),
}


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A metric, and two conventions that differ in one to seven switches; some choices have no
    value without others."""
    metric = draw(st.sampled_from(NAMES))
    obeyed = rt.METRICS[metric.partition("@")[0]].obeys
    choices = GENERAL | {name: METRIC_SWITCHES[name] for name in obeyed}
    some = st.lists(st.sampled_from(list(choices)), min_size=1, max_size=7, unique=True)
    first = {name: draw(st.sampled_from(choices[name])) for name in draw(some)}
    first.setdefault("undefined", "zero")
    second = dict(first)
    for name in draw(some):
        before = first.get(name, SWITCHES[name].default)
        others = [choice for choice in choices[name] if choice != before]
        second[name] = draw(st.sampled_from(others))
    return metric, first, second


def inputs(case: Case) -> tuple[Any, Any]:
    table = pl.DataFrame(list(case.predictions), ["user", "item", "score"], orient="row")
    truth = pl.DataFrame(list(case.truth), ["user", "item", "grade"], orient="row")
    return rt.Lists(table, users=list(case.handed) or None), truth


def explained(case: Case, metric: str, first: Switches, second: Switches) -> Explanation:
    try:
        return rt.explain(*inputs(case), metric, first, second)
    except RectitudeError as error:
        assume("has no value under" not in str(error) and "contradict" not in str(error))
        raise


def shares(found: Explanation) -> dict[str, float]:
    return {part.label: part.share for part in found.parts}


def idle(found: Explanation) -> list[str]:
    return [change.name for change in found.without_effect]


def with_part(start: Switches, part: Part, which: str) -> Switches:
    """A convention with the choices that one side makes in a part."""
    return {**start, **{change.name: getattr(change, which) for change in part.changes}}


@few
@given(cases(), questions())
def test_parts_add_up_to_the_gap_between_what_evaluate_gives(
    case: Case, question: Question
) -> None:
    metric, *both = question
    found = explained(case, metric, *both)
    values = [case.evaluate(metric, convention)[metric] for convention in both]
    assert [found.first.value, found.second.value] == values
    assert abs(math.fsum(shares(found).values()) - (values[1] - values[0])) < 1e-12


@few
@given(cases(), questions())
@example(*ROUNDED)
@example(*ROUNDED_PERCENT)
def test_exchanged_ends_give_the_negatives(case: Case, question: Question) -> None:
    metric, *both = question
    found, turned = explained(case, metric, *both), explained(case, metric, *both[::-1])
    assert shares(turned) == {label: -share for label, share in shares(found).items()}
    assert idle(turned) == idle(found)
    flips = {part.label: part.from_second for part in turned.parts}
    assert all(flips[part.label] == part.from_first for part in found.parts)


@few
@given(cases(), st.sampled_from(NAMES), conventions)
def test_identical_conventions_have_no_parts(case: Case, metric: str, convention: Switches) -> None:
    found = explained(case, metric, convention, dict(convention))
    assert (found.parts, found.without_effect, found.gap) == ((), (), 0.0)


@few
@given(cases(), questions())
def test_whom_a_part_touches_can_be_counted_by_evaluating(case: Case, question: Question) -> None:
    metric, *both = question
    found = explained(case, metric, *both)
    assume(found.parts and found.parts[0].from_first.lists is not None)
    assume(rt.METRICS[metric.partition("@")[0]].kind == "list")
    first, second = both
    for part in found.parts:
        for start, other, flip in (
            (first, with_part(first, part, "second"), part.from_first),
            (second, with_part(second, part, "first"), part.from_second),
        ):
            before, after = (case.evaluate(metric, one) for one in (start, other))
            lists = before.per_list().join(after.per_list(), on="user", suffix="_after")
            same = close(lists[metric].to_numpy(), lists[f"{metric}_after"].to_numpy())
            changed = lists.filter(pl.Series(~same))
            assert flip.lists == changed.height
            assert np.isclose(flip.effect, after[metric] - before[metric], atol=1e-14)
            if flip.example is not None:
                row = changed.row(by_predicate=pl.col("user") == flip.example.user, named=True)
                assert (flip.example.before, flip.example.after) == (
                    row[metric], row[f"{metric}_after"],
                )  # fmt: skip


@few
@given(cases(), questions())
def test_what_does_not_matter_can_be_changed_freely(case: Case, question: Question) -> None:
    metric, *both = question
    found = explained(case, metric, *both)
    changed = {change.name: change.second for change in found.without_effect}
    assert case.evaluate(metric, {**both[0], **changed})[metric] == found.first.value


@few
@given(cases(), questions())
@example(*ROUNDED)
@example(*ROUNDED_PERCENT)
def test_sampled_parts_add_up_too_and_turn_their_signs(case: Case, question: Question) -> None:
    metric, *both = question
    with patch.object(attribution, "EXACT", 2):
        found, turned = explained(case, metric, *both), explained(case, metric, *both[::-1])
    assert abs(math.fsum(shares(found).values()) - found.gap) < 1e-12
    assert shares(turned) == {label: -share for label, share in shares(found).items()}


@pytest.mark.parametrize("metric", ["ndcg@5", "map@5"])
@pytest.mark.parametrize("folder", ["lists-edge", "runs-ties"])
def test_gaps_between_real_profiles_are_explained(folder: str, metric: str) -> None:
    lists = pl.read_parquet(GOLDEN / folder / "recommendations.parquet")
    lists = lists.with_columns(pl.col("position") + 1)  # ranks count from 1
    truth = pl.read_parquet(GOLDEN / folder / "truth.parquet")
    values = {
        name: evaluation[metric]
        for name in PROFILES
        if metric in (evaluation := rt.evaluate(lists, truth, metric, name))
    }
    assert len(values) >= 4
    for first, second in combinations(values, 2):
        found = rt.explain(lists, truth, metric, first, second)
        assert (found.first.value, found.second.value) == (values[first], values[second])
        assert abs(math.fsum(shares(found).values()) - found.gap) < 1e-12
        assert found.parts or found.gap == 0.0

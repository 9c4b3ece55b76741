"""Whatever gives a value is found again by it, exactly, in whatever order the rows come."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import Case, cases

import rectitude as rt
from rectitude.convention import SWITCHES
from rectitude.errors import RectitudeError
from rectitude.explanation.identify import identify

METRICS = ("ndcg@3", "recall@3", "precision@5", "f1@3", "map", "mrr", "hit@2", "f1_of_means@3")
CHANGES = [
    (name, choice)
    for name, switch in SWITCHES.items()
    for choice in switch.choices
    if choice not in ("error", switch.default) and (name, choice) != ("scale", "float32")
]
CHANGES += [("relevant_from", grade) for grade in (1.0, 2.0, 3.0)]
few = settings(max_examples=15, deadline=None)


def identified(case: Case, metric: str, value: float, **more: Any) -> Any:
    table = pl.DataFrame(list(case.predictions), ["user", "item", "score"], orient="row")
    lists = rt.Lists(table, users=list(case.handed) or None)
    truth = pl.DataFrame(list(case.truth), ["user", "item", "grade"], orient="row")
    given = {"tolerance": 0.0, "most": 250, **more}
    return identify(lists, truth, metric, value, **given)


def value_of(case: Case, metric: str, convention: Any) -> float:
    try:
        value = case.evaluate(metric, convention)[metric]
    except RectitudeError:
        value = np.nan
    assume(np.isfinite(value))
    return value


@few
@given(cases(), st.sampled_from(METRICS), st.sampled_from(sorted(rt.PROFILES)))
def test_a_profile_is_found_by_its_value(case: Case, metric: str, profile: str) -> None:
    value = value_of(case, metric, profile)
    found = identified(case, metric, value, profiles=[profile])
    assert found.matches[0].value == value
    assert profile in found.matches[0].profiles
    assert (profile, value, True) in [(p.profile, p.value, p.fits) for p in found.profiles]


@few
@given(cases(), st.sampled_from(METRICS), st.sampled_from(CHANGES))
def test_a_changed_switch_is_found_by_its_value(
    case: Case, metric: str, change: tuple[str, Any]
) -> None:
    value = value_of(case, metric, dict([change]))
    found = identified(case, metric, value, profiles=[])
    assert found.matches[0].value == value
    assert len(found.matches[0].changes) <= 1


@few
@given(cases(), st.sampled_from(METRICS), st.sampled_from(sorted(rt.PROFILES)))
def test_every_match_is_what_evaluate_gives(case: Case, metric: str, profile: str) -> None:
    value = value_of(case, metric, profile)
    found = identified(case, metric, value, profiles=[profile], tolerance=0.2)
    for match in found.matches[::5]:
        assert case.evaluate(match.metric, match.recipe)[match.metric] == match.value


@few
@given(cases(), st.sampled_from(METRICS), st.randoms(use_true_random=False))
def test_the_order_of_users_plays_no_part(case: Case, metric: str, random: Any) -> None:
    value = value_of(case, metric, {"undefined": "zero"})
    users = case.users()
    random.shuffle(users)
    moved = case.replace(
        predictions=tuple(sorted(case.predictions, key=lambda row: users.index(row[0]))),
        truth=tuple(sorted(case.truth, key=lambda row: users.index(row[0]))),
    )
    first, second = (
        identified(one, metric, value, profiles=["ranx"], tolerance=0.1).as_dict()
        for one in (case, moved)
    )
    assert first == second

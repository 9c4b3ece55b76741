"""Every metric under random conventions against a second, plain implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import FRACTIONS, counts, lists_of, mean
from strategies import Case, cases, conventions, named, plain

import rectitude as rt
from rectitude.convention import Convention

OURS = [name for name in plain() if rt.METRICS[name].kind == "list"]


def test_every_metric_has_a_second_implementation() -> None:
    assert set(FRACTIONS) == set(OURS)


@settings(max_examples=250)
@given(
    cases(grades=(-1, 0, 1, 2, 3)),
    conventions,
    st.sampled_from((None, 1, 2, 3, 5, 20)),
)
def test_every_metric_agrees_with_the_plain_definition(
    case: Case, switches: dict[str, object], k: int | None
) -> None:
    convention = Convention(**switches)  # type: ignore[arg-type]
    evaluation = case.evaluate([named(metric, k) for metric in OURS], switches)
    for metric in OURS:
        name = named(metric, k)
        expected = mean(metric, k, case, convention)
        if expected is None:
            assert name in evaluation.failures, f"{name} has no list to count"
        else:
            assert evaluation[name] == pytest.approx(expected, rel=1e-12, abs=1e-12), name


@given(cases(), conventions)
def test_values_per_list_agree_with_the_plain_definition(
    case: Case, switches: dict[str, object]
) -> None:
    switches.pop("average", None)  # a ratio of sums has no value for a list that is 0/0
    convention = Convention(**switches)  # type: ignore[arg-type]
    evaluation = case.evaluate("ndcg@3", switches)
    if "ndcg@3" in evaluation.failures:
        return
    table = dict(evaluation.per_list().rows())
    for user, one in lists_of(case, convention).items():
        if not counts(one, 3):
            assert table[user] is None
            continue
        above, below = FRACTIONS["ndcg"](one, 3)
        assert table[user] == pytest.approx(above / below if below else 0.0, rel=1e-12, abs=1e-12)

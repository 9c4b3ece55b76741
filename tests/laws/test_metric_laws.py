"""Laws that every metric of the registry keeps, unless it declares that it breaks one."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Case, cases, conventions, named, names, plain

import rectitude as rt
from rectitude.metrics.names import parse, parse_all
from rectitude.metrics.registry import Law

ROUNDING = 1e-12


def keeping(law: str) -> list[str]:
    """The metrics that keep a law and need nothing but lists."""
    return [name for name in plain() if law not in rt.METRICS[name].breaks]


def test_metrics_break_only_laws_that_exist() -> None:
    for metric in rt.METRICS.values():
        assert set(metric.breaks) <= set(get_args(Law)), metric.name


def test_every_metric_says_what_it_is_and_how_to_read_it() -> None:
    for metric in rt.METRICS.values():
        assert metric.title and metric.about and metric.formula and metric.reading and metric.use
        assert metric.bounds[0] < metric.bounds[1]


def test_every_law_is_kept_by_most_metrics() -> None:
    for law in get_args(Law):
        assert len(keeping(law)) > len(plain()) / 2, law


# The bounds are those of the default choices: counts, sums and grades have no upper end.
UNBOUNDED = {
    "hit": ("hit_as",),
    "mrr": ("reciprocal_rank",),
    "harmonic_mean_rank": ("reciprocal_rank",),
    "rbp": ("gain",),
}


@settings(max_examples=100)
@given(cases(grades=(-1, 0, 1, 2, 3)), conventions)
def test_values_stay_within_the_bounds(case: Case, switches: dict[str, object]) -> None:
    if switches.get("ideal") in ("k", "returned"):
        # A hit at every rank is the best list only where no item gains more than 1.
        switches |= {"gain": "binary", "relevant_from": None}
    evaluation = case.evaluate(names((None, 1, 3, 20)), switches)
    for name, result in evaluation.results.items():
        if any(switch in switches for switch in UNBOUNDED.get(result.metric, ())):
            continue
        low, high = rt.METRICS[result.metric].bounds
        assert low <= result.value <= high + ROUNDING, name
        if result.values is not None:
            values = [value for value in result.values if not math.isnan(value)]
            assert all(low <= value <= high + ROUNDING for value in values), name


@settings(max_examples=60)
@given(cases(ties=False, everyone=True))
def test_a_perfect_list_scores_best(case: Case) -> None:
    best = {}
    for user, item, grade in case.truth:
        best.setdefault(user, []).append((grade, item))
    perfect = case.replace(
        predictions=tuple((u, item, g) for u, rows in best.items() for g, item in rows if g > 0)
    )
    wanted = keeping("perfect_is_best")
    asked = [f"{name}[gain=linear]@3" if name in ("ndcg", "dcg", "err", "rbp") else named(name, 3)
             for name in wanted]  # fmt: skip
    mine, ideal = case.evaluate(asked), perfect.evaluate(asked, {"ties": "optimistic"})
    for name in asked:
        sign = 1 if rt.METRICS[parse(name)[0].base].best == "high" else -1
        assert sign * mine[name] <= sign * ideal[name] + ROUNDING, name


@given(cases(ties=False, everyone=True, grades=(1, 2)))
def test_a_perfect_list_has_the_value_1_where_the_metric_is_normalised(case: Case) -> None:
    perfect = case.replace(predictions=tuple((u, i, g) for u, i, g in case.truth))
    asked = ["ndcg", "ndcg@3", "ndcg[gain=linear]@2", "ndcg[gain=exp2]", "recall", "map", "mrr",
             "rprec", "hit@1", "bpref", "precision", "f1", "recall[recall_over=reachable]@2",
             "map[ap_over=reachable]@2", "precision[precision_over=reachable]@9"]  # fmt: skip
    evaluation = perfect.evaluate(asked, {"ties": "optimistic"})
    assert evaluation.values() == dict.fromkeys(asked, 1.0)


@settings(max_examples=60)
@given(cases(ties=False, everyone=True), st.data())
def test_moving_a_hit_up_never_hurts(case: Case, data: st.DataObject) -> None:
    grades = {(u, i): g for u, i, g in case.truth}
    ranked = sorted(case.predictions, key=lambda row: (row[0], -row[2]))
    swaps = [
        (a, b)
        for a, above in enumerate(ranked)
        for b, below in enumerate(ranked)
        if a < b and above[0] == below[0]
        and grades.get(above[:2], 0) == 0 and grades.get(below[:2], 0) > 0
    ]  # fmt: skip
    if not swaps:
        return
    a, b = data.draw(st.sampled_from(swaps))
    (user, miss, high), (_, hit, low) = ranked[a], ranked[b]
    ranked[a], ranked[b] = (user, hit, high), (user, miss, low)
    moved = case.replace(predictions=tuple(ranked))
    asked = [named(name, k) for name in keeping("moving_up_helps") for k in (None, 1, 3)]
    asked += [
        "ndcg[gain=exp2]",
        "err[gain=exp2]@3",
        "mrr[reciprocal_rank=sum]",
        "hit[hit_as=count]@2",
    ]
    convention = {"undefined": "zero"}
    before, after = case.evaluate(asked, convention), moved.evaluate(asked, convention)
    for name in asked:
        assert after[name] >= before[name] - 1e-15, name


numbers = st.integers(1, 10_000_000)
variants = st.dictionaries(
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}(\([a-z0-9+*/.\-]{1,6}\))?", fullmatch=True),
    st.none()
    | st.from_regex(r"[a-z0-9.\-]{1,6}", fullmatch=True).filter(
        lambda value: value not in ("true", "false")
    ),
    max_size=3,
)


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True), variants, st.none() | numbers)
def test_names_round_trip(base: str, inside: dict[str, str | None], k: int | None) -> None:
    words = sorted(key for key, value in inside.items() if value is None)
    settings = sorted((key, value) for key, value in inside.items() if value is not None)
    parts = ",".join([*words, *(f"{key}={value}" for key, value in settings)])
    text = base + (f"[{parts}]" if parts else "") + (f"@{k}" if k is not None else "")
    (name,) = parse(text)
    assert str(name) == text
    assert parse(str(name)) == [name]
    assert (name.base, dict(name.variants), name.cutoff) == (base, inside, k)


@given(st.lists(numbers, min_size=1, max_size=5, unique=True))
def test_cutoffs_in_braces_are_the_names_one_by_one(cutoffs: list[int]) -> None:
    inside = ", ".join(map(str, cutoffs))
    expected = [f"ndcg[gain=exp2]@{k}" for k in cutoffs]
    assert [str(name) for name in parse_all(f"ndcg[gain=exp2]@{{{inside}}}")] == expected
    assert parse_all(", ".join(expected)) == parse_all(expected)


@pytest.mark.parametrize("name", sorted(rt.METRICS))
def test_every_registered_name_parses(name: str) -> None:
    assert [str(found) for found in parse(f"{name}@10")] == [f"{name}@10"]

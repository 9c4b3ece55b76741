"""What always holds between metrics of one target per list, under every rule for ties."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rectitude as rt
from judging import TIES, classified
from rectitude.convention import SWITCHES
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.classes import count_classes
from rectitude.metrics.names import parse

ROUNDING = 1e-12
SCORES = st.sampled_from((-2.0, -1.0, 0.0, 0.5, 3.0)) | st.floats(-20, 20, width=32)


Case = tuple[list[list[float]], list[int]]


@st.composite
def classifications(draw: st.DrawFn) -> Case:
    """A few rows of logits with ties, and their targets."""
    classes = draw(st.integers(1, 12))
    rows = draw(st.integers(1, 6))
    logits = [draw(st.lists(SCORES, min_size=classes, max_size=classes)) for _ in range(rows)]
    return logits, [draw(st.integers(0, classes - 1)) for _ in range(rows)]


def switches(name: str) -> dict[str, Any]:
    """The default choices of a metric."""
    return {s: CHOICES[s][SWITCHES[s].default] for s in METRICS[name].switches}


def mean(name: str, lists: Judged, k: int | None = None) -> float:
    """The mean over lists, or the value of counts."""
    metric = METRICS[name]
    if metric.counts is not None:
        counts = metric.counts(lists, k, np.ones(lists.size, bool))
        return float(metric.function(counts, **switches(name)))
    ratio = metric.function(lists, k, **switches(name), **metric.parameters)
    return float(np.mean(ratio.above / ratio.below))


def judged_by(ties: str, case: Case, *names: str) -> Judged:
    """The lists of a case, unless a metric has no value where ties are averaged."""
    assume(ties != "average" or all(METRICS[name].can_average for name in names))
    return classified(*case, ties)


every_rule = given(classifications(), st.sampled_from(TIES))


@every_rule
def test_accuracy_grows_with_the_cutoff(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy")
    values = [mean("accuracy", lists, k) for k in (1, 2, 5, 10, 99)]
    assert values == sorted(values)
    assert values[-1] == 1


@every_rule
def test_accuracy_hit_rate_recall_and_ndcg_at_1_are_the_same(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy")
    for name in ("recall", "ndcg", "hit", "mrr", "precision"):
        if ties != "average" or METRICS[name].can_average:
            assert mean(name, lists, 1) == pytest.approx(mean("accuracy", lists, 1), rel=ROUNDING)


@every_rule
def test_accuracy_is_recall_and_hit_rate_at_any_cutoff(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy", "recall")
    for k in (1, 3, 10):
        assert mean("recall", lists, k) == pytest.approx(mean("accuracy", lists, k), rel=ROUNDING)
        if ties != "average":
            assert mean("hit", lists, k) == mean("accuracy", lists, k)


@every_rule
def test_mrr_lies_between_accuracy_and_1_and_grows_with_the_cutoff(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy", "mrr")
    cut, whole = [mean("mrr", lists, k) for k in (1, 2, 5, 10)], mean("mrr", lists)
    assert [*cut, whole] == sorted([*cut, whole])
    assert mean("accuracy", lists, 1) <= whole + ROUNDING
    assert 0 < whole <= 1 + ROUNDING


@every_rule
def test_cut_mrr_and_ndcg_lie_between_accuracy_at_1_and_at_k(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy", "ndcg")
    for k in (1, 2, 5, 10):
        low, high = mean("accuracy", lists, 1), mean("accuracy", lists, k)
        assert low - ROUNDING <= mean("ndcg", lists, k) <= high + ROUNDING
        if ties != "average" or METRICS["mrr"].can_average:
            between = mean("mrr", lists, k)
            assert low - ROUNDING <= between <= mean("ndcg", lists, k) + ROUNDING


@every_rule
def test_the_harmonic_mean_rank_is_at_most_the_arithmetic_one(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "mrr", "mean_rank")
    harmonic = METRICS["harmonic_mean_rank"].function(mrr=mean("mrr", lists))
    assert 1 - ROUNDING <= harmonic <= mean("mean_rank", lists) + ROUNDING


@every_rule
def test_the_geometric_mean_probability_is_at_most_the_arithmetic_one(
    case: Case, ties: str
) -> None:
    lists = judged_by(ties, case, "cross_entropy", "mean_probability")
    loss = mean("cross_entropy", lists)
    geometric = METRICS["geometric_mean_probability"].function(cross_entropy=loss)
    assert geometric == exp(-loss)
    assert 0 <= geometric <= mean("mean_probability", lists) + ROUNDING <= 1 + 2 * ROUNDING


@every_rule
def test_micro_averages_and_weighted_recall_are_accuracy(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "accuracy", "micro_f1")
    for k in (None, 1, 3):
        expected = pytest.approx(mean("accuracy", lists, k), rel=ROUNDING)
        for name in ("micro_f1", "micro_precision", "micro_recall", "weighted_recall"):
            assert mean(name, lists, k) == expected, name


@every_rule
def test_class_metrics_stay_within_their_bounds(case: Case, ties: str) -> None:
    names = [name for name in METRICS if METRICS[name].counts is count_classes]
    lists = judged_by(ties, case, *names)
    for name in names:
        low, high = METRICS[name].bounds
        assert low - ROUNDING <= mean(name, lists) <= high + ROUNDING, name


@every_rule
def test_perfect_answers_have_the_best_value_of_every_metric(case: Case, ties: str) -> None:
    logits, targets = case
    sure = [[900.0 if c == t else 0.0 for c in range(len(logits[0]))] for t in targets]
    lists = classified(sure, targets, ties)
    for name in ("accuracy", "mrr", "ndcg", "weighted_f1", "micro_f1", "mean_probability"):
        if ties != "average" or METRICS[name].can_average:
            assert mean(name, lists) == pytest.approx(1, rel=ROUNDING), name
    assert mean("cross_entropy", lists) == 0
    assert mean("mean_rank", lists) == 1


@given(classifications(), st.permutations(range(12)))
def test_renumbering_the_classes_changes_no_bit_of_a_class_metric(
    case: Case, numbers: list[int]
) -> None:
    logits, targets = case
    # Which of several equal classes is put first depends on their numbers.
    assume(all(len(set(row)) == len(row) for row in logits))
    order = [n for n in numbers if n < len(logits[0])]
    moved = [[row[c] for c in order] for row in logits], [order.index(t) for t in targets]
    before, after = classified(*case), classified(*moved)
    for name in METRICS:
        if METRICS[name].counts is count_classes:
            assert mean(name, before).hex() == mean(name, after).hex(), name


@given(classifications(), st.sampled_from(TIES))
def test_auc_of_one_target_is_its_rank_from_below(case: Case, ties: str) -> None:
    lists = judged_by(ties, case, "auc")
    classes = len(case[0][0])
    assume(classes > 1)
    ranks = mean("mean_rank", lists)
    assert mean("auc", lists) == pytest.approx((classes - ranks) / (classes - 1), abs=ROUNDING)


OWN = {"scores", "logits", "classes"}  # what a plain order of logits has: no predicted scores
NEEDING = [
    name
    for name in METRICS
    if set(METRICS[name].requires) & OWN and "predicted" not in METRICS[name].requires
]


@every_rule
def test_evaluating_logits_gives_what_the_plain_order_gives(case: Case, ties: str) -> None:
    logits, targets = case
    lists = classified(logits, targets, ties)
    names = [n for n in NEEDING if METRICS[n].kind != "derived"]
    names = [n for n in names if ties != "average" or METRICS[n].can_average]
    names += [f"{n}@3" for n in names if METRICS[n].cutoff == "optional" and "auc" not in n]
    convention = {"ties": ties, "undefined": "zero", "class_average": "present"}
    evaluation = rt.evaluate(rt.Logits(np.array(logits)), targets, names, convention)
    assert not evaluation.failures
    for name in names:
        parsed = parse(name)[0]
        assume("auc" not in name or len(logits[0]) > 1)
        expected = mean(parsed.base, lists, parsed.cutoff)
        assert evaluation[name] == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING), name


@every_rule
def test_logits_have_the_derived_values_of_their_parts(case: Case, ties: str) -> None:
    logits, targets = case
    assume(ties != "average" or METRICS["mrr"].can_average)
    names = ["mrr", "harmonic_mean_rank", "cross_entropy", "geometric_mean_probability"]
    plain = rt.evaluate(rt.Logits(np.array(logits)), targets, names, {"ties": ties})
    percent = {"ties": ties, "scale": "percent"}
    shown = rt.evaluate(rt.Logits(np.array(logits)), targets, names, percent)
    assert plain["harmonic_mean_rank"] == 1 / plain["mrr"] == shown["harmonic_mean_rank"]
    assert plain["geometric_mean_probability"] == exp(-plain["cross_entropy"])
    assert shown["cross_entropy"] == plain["cross_entropy"]
    assert shown["geometric_mean_probability"] == 100 * plain["geometric_mean_probability"]
    assert shown["mrr"] == 100 * plain["mrr"]

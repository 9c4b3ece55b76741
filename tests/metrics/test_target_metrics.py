"""Metrics of one target per list, by hand.

Four rows of logits over three classes; the targets stand at the ranks 1, 2, 3 and 1.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest

from judging import classified, judged
from rectitude.errors import MissingNeed, UndefinedValue, UnknownIds
from rectitude.judge.judged import Extras, Judged
from rectitude.metrics import METRICS, Ratio
from rectitude.metrics.registry import require_in

LOGITS = [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
TARGETS = [0, 1, 2, 2]
LISTS = classified(LOGITS, TARGETS)
EVERY = np.ones(4, bool)


def values(name: str, lists: Judged, k: int | None = None) -> list[float | None]:
    """Return the value of each list; None if it is 0/0."""
    ratio = METRICS[name].function(lists, k)
    assert isinstance(ratio, Ratio)
    pairs = zip(ratio.above.tolist(), ratio.below.tolist(), strict=True)
    return [above / below if below else None for above, below in pairs]


def value(name: str, lists: Judged, counts: np.ndarray | None = None) -> float:
    """Return the value of a counts metric."""
    metric = METRICS[name]
    assert metric.kind == "counts" and metric.counts is not None
    everyone = np.ones(lists.size, bool) if counts is None else counts
    return float(metric.function(metric.counts(lists, None, everyone)))


def test_accuracy_is_1_if_the_target_is_among_the_first_k() -> None:
    assert values("accuracy", LISTS, 1) == [1, 0, 0, 1]
    assert values("accuracy", LISTS, 2) == [1, 1, 0, 1]
    assert values("accuracy", LISTS, 100) == [1, 1, 1, 1]


def test_accuracy_without_a_cutoff_looks_at_rank_1() -> None:
    assert values("accuracy", LISTS) == values("accuracy", LISTS, 1)


def test_a_target_outside_the_classes_is_never_accurate() -> None:
    assert values("accuracy", classified(LOGITS, [0, 1, 2, 3]), 3) == [1, 1, 1, 0]


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 3), (3, 2 / 3), (4, 1.0), (9, 1.0)])
def test_accuracy_of_averaged_ties_is_the_share_of_orders_that_hit(k: int, expected: float) -> None:
    # One class above, and the target tied with two others: ranks 2, 3 and 4 are equally likely.
    lists = classified([[9.0, 1.0, 1.0, 1.0, 0.0]], [2], "average")
    assert values("accuracy", lists, k) == [pytest.approx(expected, rel=1e-15)]


def test_mean_rank_is_the_rank_of_the_target_or_the_mean_of_several() -> None:
    assert values("mean_rank", LISTS) == [1, 2, 3, 1]
    assert values("mean_rank", judged([[4, 3, 2, 1]], [[0, 3]])) == [(1 + 4) / 2]


def test_mean_rank_is_undefined_without_a_target_or_if_one_is_not_ranked() -> None:
    scores = [[3, 2, 1], [3, 2, 1], [3, 2, 1]]
    assert values("mean_rank", judged(scores, [[1], [0, 7], []])) == [2, None, None]


def test_mean_rank_of_averaged_ties_is_the_middle_of_the_tie() -> None:
    lists = classified([[9.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]], [2, 0], "average")
    assert values("mean_rank", lists) == [3, 1.5]


def test_median_rank_is_the_middle_rank_or_the_mean_of_the_two_middle_ones() -> None:
    assert value("median_rank", LISTS) == 1.5  # of 1, 1, 2, 3
    assert value("median_rank", LISTS, np.array([True, True, True, False])) == 2  # of 1, 2, 3
    assert value("median_rank", judged([[4, 3, 2, 1]], [[0, 1, 3]])) == 2  # of 1, 2, 4
    assert value("median_rank", judged([[4, 3, 2, 1]], [[0, 3]])) == 2.5  # of 1 and 4


def test_median_rank_counts_targets_that_are_not_ranked_as_infinitely_deep() -> None:
    scores = [[3.0, 2.0, 1.0]] * 4
    assert value("median_rank", judged(scores, [[0], [1], [2], [9]])) == 2.5  # 1, 2, 3, inf
    assert value("median_rank", judged(scores, [[0], [1], [9], [9]])) == inf
    assert value("median_rank", judged(scores, [[9], [9], [9], [9]])) == inf


def test_cross_entropy_is_minus_the_logarithm_of_the_softmax() -> None:
    first = exp(2) + exp(1) + exp(0)
    last = 1 + 1 + exp(5)
    expected = [-log(exp(2) / first), -log(exp(1) / first), -log(exp(0) / first)]
    expected.append(-log(exp(5) / last))
    assert values("cross_entropy", LISTS) == pytest.approx(expected, rel=1e-14)
    assert values("mean_probability", LISTS) == pytest.approx(
        [exp(2) / first, exp(1) / first, exp(0) / first, exp(5) / last], rel=1e-14
    )


def test_the_loss_of_a_target_outside_the_classes_is_refused_with_count_and_advice() -> None:
    with pytest.raises(UnknownIds) as caught:
        values("cross_entropy", classified(LOGITS, [0, 3, 2, 4]))
    message = str(caught.value)
    assert "2 of 4 lists are outside the 3 classes (first: list 1)" in message
    assert "unknown_items='drop'" in message


def test_a_target_outside_the_classes_has_the_probability_0() -> None:
    found = values("mean_probability", classified(LOGITS, [0, 3, 2, 2]))
    assert found[1] == 0 and all(one is not None and one > 0 for one in [found[0], *found[2:]])


def test_lists_without_truth_have_no_loss() -> None:
    told = [True, False, True, True]
    lists = classified(LOGITS, [0, 3, 2, 2], told=told)
    whole = values("cross_entropy", LISTS)
    assert values("cross_entropy", lists) == [whole[0], None, whole[2], whole[3]]
    assert values("mean_probability", lists)[1] is None


def test_a_logit_of_minus_infinity_has_no_finite_loss() -> None:
    lists = classified([[0.0, -inf], [0.0, 1.0]], [1, 1])
    with pytest.raises(
        UndefinedValue, match=r"1 of 2 lists have the probability 0 \(first: list 0"
    ):
        values("cross_entropy", lists)
    assert values("mean_probability", lists)[0] == 0


def test_the_geometric_mean_probability_is_e_to_minus_the_loss() -> None:
    function = METRICS["geometric_mean_probability"].function
    assert function(cross_entropy=2.874) == pytest.approx(0.0565, abs=5e-5)
    probabilities = np.exp(-np.array(values("cross_entropy", LISTS), float))
    mean_loss = float(np.mean(np.array(values("cross_entropy", LISTS), float)))
    geometric = float(np.prod(probabilities)) ** (1 / 4)
    assert function(cross_entropy=mean_loss) == pytest.approx(geometric, rel=1e-14)
    assert geometric < float(np.mean(np.array(values("mean_probability", LISTS), float)))


def test_the_harmonic_mean_rank_is_one_over_the_mean_reciprocal_rank() -> None:
    function = METRICS["harmonic_mean_rank"].function
    assert function(mrr=0.6767) == pytest.approx(1.4778, abs=5e-5)
    assert function(mrr=(1 + 1 / 100) / 2) == pytest.approx(1.980, abs=5e-4)
    assert function(mrr=0.0) == inf


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("cross_entropy", "metric 'cross_entropy' needs logits"),
        ("geometric_mean_probability", "metric 'geometric_mean_probability' needs logits"),
        ("accuracy", "metric 'accuracy' needs one target per list"),
        ("weighted_f1", "metric 'weighted_f1' needs one target per list"),
        ("auc", "metric 'auc' needs the rank of every relevant item among all candidates"),
    ],
)
def test_missing_inputs_are_named_with_advice(name: str, advice: str) -> None:
    plain = replace(LISTS, extras=Extras())
    with pytest.raises(MissingNeed, match=advice) as caught:
        require_in(plain, METRICS[name])
    assert "rt.Logits(logits)" in caught.value.advice
    require_in(LISTS, METRICS[name])


def test_logits_without_a_loss_are_not_enough_for_the_loss() -> None:
    extras = replace(LISTS.extras, single=replace(LISTS.single, loss=None))
    lists = replace(LISTS, extras=extras)
    require_in(lists, METRICS["accuracy"])
    with pytest.raises(MissingNeed):
        require_in(lists, METRICS["mean_probability"])


def test_rank_metrics_need_nothing_else() -> None:
    require_in(replace(LISTS, extras=Extras()), METRICS["harmonic_mean_rank"])

"""Probabilities of classes: Brier score and calibration, by hand and against plain softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import MissingNeed, UndefinedValue

NAMES = [
    "brier", "expected_calibration_error", "max_calibration_error",
    "expected_calibration_error[bins=10]", "max_calibration_error[bins=3]",
]  # fmt: skip
# Probabilities 0.75 / 0.25 and 0.5 / 0.25 / 0.25
TWO = np.log(np.array([[3.0, 1.0], [3.0, 1.0], [1.0, 3.0], [3.0, 1.0]]))


def bits(evaluation: rt.Evaluation) -> dict[str, str]:
    assert not evaluation.failures
    return {name: value.hex() for name, value in evaluation.values().items()}


def test_the_values_found_by_hand() -> None:
    found = rt.evaluate(rt.Logits(TWO), [0, 0, 1, 1], NAMES[:3])
    assert found["brier"] == pytest.approx((3 * 0.125 + 1.125) / 4)
    assert found["expected_calibration_error"] == pytest.approx(0.0, abs=1e-15)
    worse = rt.evaluate(rt.Logits(TWO), [0, 1, 0, 1], NAMES[:3])
    assert worse["brier"] == pytest.approx((0.125 + 3 * 1.125) / 4)
    assert worse["expected_calibration_error"] == pytest.approx(0.5)
    assert worse["max_calibration_error"] == pytest.approx(0.5)


def test_bins_go_by_the_probability_of_the_first_class() -> None:
    logits = np.log(np.array([[2.0, 1.0, 1.0], [6.0, 1.0, 1.0], [6.0, 1.0, 1.0]]))
    names = [f"expected_calibration_error[bins={bins}]" for bins in (2, 1)]
    found = rt.evaluate(rt.Logits(logits), [1, 0, 1], [*names, "max_calibration_error[bins=2]"])
    # 0.5 is in the first half, 0.75 twice in the second
    assert list(found.values().values()) == pytest.approx(
        [(0.5 + 0.5) / 3, abs(1 - 2.0) / 3, 0.5], abs=1e-15
    )


def random_logits(kind: Any = np.float64, rows: int = 400) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    return (random.normal(0, 2, (rows, 11))).astype(kind), random.integers(0, 11, rows)


def compute_plainly(logits: Any, target: Any, bins: int) -> tuple[float, float, float]:
    powers = np.exp(logits.astype(float) - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    right = (shares.argmax(axis=1) == target).astype(float)
    top, told = shares.max(axis=1), np.eye(logits.shape[1])[target]
    gaps, rows = [], []
    for low in range(bins):
        here = (top > low / bins) & (top <= (low + 1) / bins)
        gaps.append(abs(right[here].sum() - top[here].sum()))
        rows.append(here.sum())
    worst = max(gap / size for gap, size in zip(gaps, rows, strict=True) if size)
    return ((shares - told) ** 2).sum(axis=1).mean(), sum(gaps) / len(target), worst


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("bins", [1, 10, 15])
def test_values_equal_those_of_a_plain_softmax(kind: Any, bins: int) -> None:
    logits, target = random_logits(kind)
    names = ["brier", *(f"{n}_calibration_error[bins={bins}]" for n in ("expected", "max"))]
    found = list(rt.evaluate(rt.Logits(logits), target, names).values().values())
    assert found == pytest.approx(compute_plainly(logits, target, bins), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_any_batches_give_the_bits_of_one_pass(seed: int) -> None:
    logits, target = random_logits()
    cuts = np.sort(np.random.default_rng(seed).integers(1, 399, 5))
    batches = [rt.Evaluator(NAMES) for _ in range(len(cuts) + 1)]
    for one, low, high in zip(batches, [0, *cuts], [*cuts, 400], strict=True):
        if high > low:
            one.update(rt.Logits(logits[low:high]), target[low:high])
    merged = sum(batches[::-1], rt.Evaluator(NAMES))
    assert bits(merged.compute()) == bits(rt.evaluate(rt.Logits(logits), target, NAMES))


def test_asking_for_probabilities_changes_no_other_value() -> None:
    logits, target = random_logits(np.float32)
    others = ["cross_entropy", "mean_probability", "accuracy@3", "mrr", "weighted_f1"]
    alone = rt.evaluate(rt.Logits(logits), target, others)
    beside = rt.evaluate(rt.Logits(logits), target, [*others, *NAMES])
    assert {name: beside[name] for name in others} == alone.values()


def test_a_target_outside_the_classes_has_no_probability() -> None:
    found = rt.evaluate(rt.Logits(TWO), [0, 0, 1, 2], "brier")
    assert found["brier"] == pytest.approx((3 * 0.125 + 0.75**2 + 0.25**2 + 1) / 4)


def test_certain_and_correct_is_0_and_certain_and_wrong_is_2() -> None:
    sure = np.array([[1000.0, 0.0, 0.0]])
    assert rt.evaluate(rt.Logits(sure), [0], NAMES).values() == dict.fromkeys(NAMES, 0.0)
    wrong = rt.evaluate(rt.Logits(sure), [1], NAMES).values()
    assert wrong == {name: 2.0 if name == "brier" else 1.0 for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_infinite_logits_have_no_probabilities(name: str) -> None:
    logits = np.array([[0.0, 1.0], [np.inf, 0.0]])
    with pytest.raises(UndefinedValue, match="1 of 2 lists is infinite"):
        rt.evaluate(rt.Logits(logits), [0, 0], name)[name]


@pytest.mark.parametrize("name", NAMES)
def test_plain_lists_are_refused(name: str) -> None:
    with pytest.raises(MissingNeed, match="needs logits"):
        rt.evaluate({"u": ["a"]}, {"u": ["a"]}, name)[name]


def test_bins_show_how_often_predictions_of_a_probability_are_correct() -> None:
    logits = np.log(np.array([[2.0, 1.0, 1.0], [6.0, 1.0, 1.0], [6.0, 1.0, 1.0]]))
    name = "expected_calibration_error[bins=4]"
    table = rt.evaluate(rt.Logits(logits), [1, 0, 1], [name]).breakdown(name)
    # 0.5 is in the second quarter, 0.75 twice in the third; softmax rounds 0.75
    assert table["probability"].round(12).to_list() == [None, 0.5, 0.75, None]
    assert table.drop("probability").rows(named=True)[1:3] == [
        {"above": 0.25, "up_to": 0.5, "rows": 1, "correct": 0, "share_correct": 0.0},
        {"above": 0.5, "up_to": 0.75, "rows": 2, "correct": 1, "share_correct": 0.5},
    ]
    assert table["rows"].to_list() == [0, 1, 2, 0]


def test_scores_that_are_probabilities_of_relevance_have_bins_too() -> None:
    lists, truth = {"u": {"a": 0.75, "b": 0.25}}, {"u": {"a": 1, "b": 0}}
    name = "relevance_calibration_error[bins=2]"
    table = rt.evaluate(lists, truth, [name]).breakdown(name)
    chosen = table.select("rows", "probability", "share_correct")
    assert chosen.rows() == [(1, 0.25, 0.0), (1, 0.75, 1.0)]

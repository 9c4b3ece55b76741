"""Metrics of classes: by hand, as scikit-learn computes them, and added up over batches."""

from __future__ import annotations

import json
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from judging import classified
from rectitude.aggregate.evaluation import MOST_STORED
from rectitude.aggregate.sums import Counted
from rectitude.errors import BadArgument, MissingNeed, NothingToEvaluate, UnknownName
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS, Counts, count_metric
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.classes import count_classes

CLASSED = sorted(name for name in METRICS if METRICS[name].counts is count_classes)
SEEDS = range(6)
ROUNDING = 1e-14


def one_hot(predicted: list[int], classes: int) -> list[list[float]]:
    """Return logits that rank these classes first, and the others by number."""
    return [[5.0 if c == p else -float(c) for c in range(classes)] for p in predicted]


def counted(lists: Judged, k: int | None = None) -> Counts:
    return count_classes(lists, k, np.ones(lists.size, bool))


def value(name: str, counts: Counts, class_average: str = "present") -> float:
    metric = METRICS[name]
    given = {s: CHOICES[s][class_average] for s in metric.switches}
    return float(metric.function(counts, **given))


def random_logits(seed: int) -> tuple[Any, Any, int]:
    """Return random logits and targets; some classes never occur, others are never predicted."""
    random = np.random.default_rng(seed)
    classes, rows = int(random.integers(2, 15)), int(random.integers(1, 80))
    logits = random.normal(size=(rows, classes)) + np.linspace(0, 2, classes)
    targets = np.minimum(random.geometric(0.4, rows) - 1, classes - 1)
    return logits, targets, classes


# Targets 0 0 0 1, predictions 0 0 1 2: class 2 is only predicted, class 3 does not occur.
COUNTS = counted(classified(one_hot([0, 0, 1, 2], 4), [0, 0, 0, 1]))


def test_classes_are_counted_as_targets_predictions_and_both() -> None:
    assert {name: counts.tolist() for name, counts in COUNTS.items()} == {
        "support": [3, 1, 0, 0], "predicted": [2, 1, 1, 0], "correct": [2, 0, 0, 0],
    }  # fmt: skip


BY_HAND = {
    # class 0: P = 2/2, R = 2/3, F1 = 4/5; class 1: 0, 0, 0; class 2: 0, 0, 0
    "weighted_f1": (3 / 4) * (4 / 5),
    "weighted_precision": (3 / 4) * 1,
    "weighted_recall": (3 / 4) * (2 / 3),
    "macro_f1": (4 / 5) / 3,
    "macro_precision": 1 / 3,
    "macro_recall": (2 / 3) / 3,
    "micro_f1": 2 / 4,
    "micro_precision": 2 / 4,
    "micro_recall": 2 / 4,
    "balanced_accuracy": (2 / 3 + 0) / 2,
    # (c n - sum of t p) / sqrt((n^2 - sum of p^2) (n^2 - sum of t^2))
    "mcc": (2 * 4 - (3 * 2 + 1 * 1)) / sqrt((16 - (4 + 1 + 1)) * (16 - (9 + 1))),
}


@pytest.mark.parametrize("name", CLASSED)
def test_value_by_hand(name: str) -> None:
    assert value(name, COUNTS) == pytest.approx(BY_HAND[name], rel=1e-15)


def test_only_macro_averages_depend_on_the_classes_averaged() -> None:
    for name in CLASSED:
        switches = ("class_average",) if name.startswith("macro_") else ()
        assert METRICS[name].switches == switches
    assert value("macro_f1", COUNTS, "all") == pytest.approx((4 / 5) / 4, rel=1e-15)
    assert value("macro_recall", COUNTS, "all") == pytest.approx((2 / 3) / 4, rel=1e-15)


def test_at_a_cutoff_the_target_is_predicted_if_it_is_among_the_first() -> None:
    logits = [[3.0, 2.0, 1.0]] * 3
    lists = classified(logits, [0, 1, 2])
    assert counted(lists, 2)["predicted"].tolist() == [2, 1, 0]
    assert counted(lists, 2)["correct"].tolist() == [1, 1, 0]
    assert counted(lists, 3)["correct"].tolist() == [1, 1, 1]
    assert value("mcc", counted(lists, 3)) == 1


def test_targets_outside_the_classes_are_one_class_that_is_never_predicted() -> None:
    counts = counted(classified(one_hot([0, 0, 1], 2), [0, 2, 9]))
    assert counts["support"].tolist() == [1, 0, 2]
    assert counts["predicted"].tolist() == [2, 1, 0]
    # F1 of class 0 is 2/3, of class 1 and of the one outside 0
    assert value("weighted_f1", counts) == pytest.approx((1 / 3) * (2 / 3))
    assert value("macro_f1", counts) == pytest.approx((2 / 3) / 3)
    assert value("micro_f1", counts) == 1 / 3


def test_lists_that_do_not_count_and_lists_without_truth_are_not_counted() -> None:
    lists = classified(one_hot([0, 0, 1], 2), [0, 1, 1], told=[True, True, False])
    counts = count_classes(lists, None, np.array([True, False, True]))
    assert counts["support"].tolist() == [1, 0]
    with pytest.raises(NothingToEvaluate):
        value("macro_f1", count_classes(lists, None, np.zeros(3, bool)))


def test_support_weights_do_not_protect_rare_classes_and_macro_averages_do() -> None:
    # Two classes: 1000 targets A of which 600 are found, 10 targets B of which 1 is found.
    targets = [0] * 1000 + [1] * 10
    some = counted(classified(one_hot([0] * 600 + [1] * 400 + [0] * 9 + [1], 2), targets))
    assert value("weighted_f1", some) == pytest.approx(0.738, abs=5e-4)
    # B is never found: weighted F1 hardly changes, macro F1 does.
    none = counted(classified(one_hot([0] * 600 + [1] * 400 + [0] * 10, 2), targets))
    lost = value("weighted_f1", some) - value("weighted_f1", none)
    assert 0 < lost < 1e-3
    assert value("macro_f1", some) - value("macro_f1", none) > lost


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("average", ["weighted", "macro", "micro"])
@pytest.mark.parametrize("score", ["f1", "precision", "recall"])
@pytest.mark.parametrize("labels", ["present", "all"])
def test_averages_are_those_of_scikit_learn(
    seed: int, average: str, score: str, labels: str
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    logits, targets, classes = random_logits(seed)
    theirs = getattr(metrics, f"{score}_score")(
        targets, logits.argmax(axis=1), average=average, zero_division=0,
        labels=list(range(classes)) if labels == "all" else None,
    )  # fmt: skip
    ours = value(f"{average}_{score}", counted(classified(logits.tolist(), targets)), labels)
    assert ours == pytest.approx(theirs, rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_correlation_and_balanced_accuracy_are_those_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    logits, targets, _ = random_logits(seed)
    counts, predicted = counted(classified(logits.tolist(), targets)), logits.argmax(axis=1)
    correlation = metrics.matthews_corrcoef(targets, predicted)
    assert value("mcc", counts) == pytest.approx(correlation, rel=1e-12, abs=1e-12)
    balanced = metrics.balanced_accuracy_score(targets, predicted)
    assert value("balanced_accuracy", counts) == pytest.approx(balanced, rel=ROUNDING)


def test_the_correlation_of_a_constant_prediction_is_0() -> None:
    assert value("mcc", counted(classified(one_hot([1, 1, 1], 3), [0, 1, 2]))) == 0
    assert value("mcc", counted(classified(one_hot([1, 1], 3), [1, 1]))) == 0


def test_the_correlation_of_many_lists_does_not_overflow() -> None:
    huge = {name: counts * 10**10 for name, counts in COUNTS.items()}
    assert value("mcc", huge) == pytest.approx(BY_HAND["mcc"], rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_batches_add_up_to_those_of_the_whole_in_any_order(seed: int) -> None:
    logits, targets, classes = random_logits(seed)
    targets = np.where(np.arange(len(targets)) % 7 == 3, classes + 2, targets)
    whole = Counted(counted(classified(logits.tolist(), targets)), len(targets))
    cuts = sorted({0, len(targets) // 3, len(targets) // 2, len(targets)})
    parts = [
        Counted(counted(classified(logits[a:b].tolist(), targets[a:b])), b - a)
        for a, b in pairwise(cuts)
    ]
    forth = sum(parts, Counted({}))
    back = sum(reversed(parts), Counted({}))
    assert forth.as_dict() == back.as_dict() == (whole + Counted({})).as_dict()
    assert forth.lists == len(targets)
    for name in CLASSED:
        assert value(name, forth.counts).hex() == value(name, whole.counts).hex()


def test_shorter_counts_are_padded_with_zeros() -> None:
    short, long = Counted({"a": np.array([1, 2])}, 3), Counted({"a": np.array([1, 0, 5])}, 4)
    assert (short + long).counts["a"].tolist() == (long + short).counts["a"].tolist() == [2, 2, 5]
    assert ((short + long) + short).as_dict() == (short + (long + short)).as_dict()
    assert (short + long).lists == 7
    assert short.counts["a"].tolist() == [1, 2], "adding changes neither side"


def test_counts_survive_json() -> None:
    stored = json.loads(json.dumps(Counted(COUNTS, 4).as_dict()))
    assert Counted.from_dict(stored).as_dict() == Counted(COUNTS, 4).as_dict()


def lists_and_hits(lists: Judged, k: int | None, counts: Any) -> Counts:
    """Count lists, and lists with a hit up to the cutoff."""
    hits = counts & (lists.hits(k) > 0)
    return {"lists": np.array([counts.sum()]), "hits": np.array([hits.sum()])}


def test_a_custom_counts_metric_works_on_any_lists() -> None:
    @count_metric("Share of lists with a hit", counts=lists_and_hits)
    def hit_share(counts: Counts, *, times: float = 1.0) -> float:
        """Share of the lists that have a hit."""
        return times * int(counts["hits"][0]) / int(counts["lists"][0])

    try:
        lists, truth = {"u": ["x", "a"], "v": ["b"]}, {"u": ["a"], "v": ["b"], "w": ["c"]}
        names = ["hit_share", "hit_share@1", "hit_share[times=3]"]
        evaluation = rt.evaluate(lists, truth, [*names, "hit", "hit@1"])
        assert [evaluation[name] for name in names] == [2 / 3, 1 / 3, 2]
        assert evaluation["hit_share"] == evaluation["hit"]
        percent = rt.evaluate(lists, truth, "hit_share@1", {"scale": "percent"})
        assert percent["hit_share@1"] == pytest.approx(100 / 3)
        assert evaluation.result("hit_share").counted == 3
    finally:
        METRICS.remove("hit_share")  # type: ignore[attr-defined]


def test_fixed_switches_and_needs_of_a_metric_must_exist() -> None:
    with pytest.raises(UnknownName, match="'avarage'"):
        count_metric("Wrong", counts=lists_and_hits, fixed={"avarage": "micro"})(lambda counts: 0.0)
    with pytest.raises(UnknownName, match="'logit'"):
        count_metric("Wrong", counts=lists_and_hits, needs=("logit",))(lambda counts: 0.0)


def test_every_class_has_its_own_precision_recall_and_f1() -> None:
    logits = np.array(one_hot([0, 0, 1, 2], 4))
    evaluation = rt.evaluate(rt.Logits(logits), [0, 0, 0, 1], ["weighted_f1", "mrr"])
    table = evaluation.breakdown("weighted_f1")
    assert table.rows() == [
        (0, 3, 2, 2, 2 / 2, 2 / 3, 2 * 2 / (3 + 2)),
        (1, 1, 1, 0, 0.0, 0.0, 0.0),
        (2, 0, 1, 0, 0.0, None, 0.0),  # never a target: it has no recall
    ]
    weighted = (table["f1"] * table["targets"]).sum() / table["targets"].sum()
    assert weighted == pytest.approx(evaluation["weighted_f1"], abs=ROUNDING)
    with pytest.raises(BadArgument, match="'mrr' has no breakdown"):
        evaluation.breakdown("mrr")


def test_the_classes_are_the_same_in_any_batches() -> None:
    logits, targets, _ = random_logits(1)
    names = ["macro_f1", "macro_f1@2", "expected_calibration_error"]
    evaluator = rt.Evaluator(names)
    for rows in np.array_split(np.arange(len(targets)), 5):
        evaluator.update(rt.Logits(logits[rows]), targets[rows])
    whole, batches = rt.evaluate(rt.Logits(logits), targets, names), evaluator.compute()
    for name in names:
        assert batches.breakdown(name).equals(whole.breakdown(name))


def test_targets_outside_the_classes_are_the_last_row() -> None:
    evaluation = rt.evaluate(rt.Logits(np.array(one_hot([0, 1], 2))), [0, 7], ["macro_f1"])
    assert evaluation.breakdown("macro_f1")["class"].to_list() == [0, 1, 2]


def test_a_file_keeps_short_breakdowns_only(tmp_path: Path) -> None:
    logits, targets, _ = random_logits(2)
    short = rt.evaluate(rt.Logits(logits), targets, ["macro_f1", "expected_calibration_error"])
    short.save(tmp_path / "short.json")
    loaded = rt.Evaluation.load(tmp_path / "short.json")
    for name in short:
        assert loaded.breakdown(name).equals(short.breakdown(name))
    many = np.arange(MOST_STORED + 1)
    rt.evaluate(rt.Logits(np.eye(len(many))), many, "macro_f1").save(tmp_path / "long.json")
    with pytest.raises(MissingNeed, match="from a file without the breakdown of 'macro_f1'"):
        rt.Evaluation.load(tmp_path / "long.json").breakdown("macro_f1")

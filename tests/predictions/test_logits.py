"""`Logits`: one target per row, ranks and losses, baselines, and targets outside the classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

import rectitude as rt
from dense_cases import ragged
from rectitude.errors import NothingToEvaluate, UndefinedValue, UnknownIds

TIES = ("pessimistic", "optimistic", "given", "item_ascending", "item_descending")
RANKED = ["mrr", "mrr@3", "ndcg@5", "recall@2", "hit@3", "map", "auc", "mean_rank", "median_rank"]
FIRST = ["accuracy", "accuracy@1", "ndcg@1", "mrr@1", "hit@1", "recall@1", "micro_f1",
         "micro_precision", "micro_recall", "weighted_recall"]  # fmt: skip
LOGITS = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 3.0], [1.0, 1.0, 1.0], [0.5, 0.25, 0.75]])
TARGETS = [0, 2, 1, 0]
Case = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A few rows with many ties, and targets, some of them outside the classes."""
    rows, classes = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    values = st.sampled_from((-2.0, 0.0, 0.5, 3.0)) | st.floats(-30, 30, width=16)
    size = rows * classes
    flat = draw(st.lists(values, min_size=size, max_size=size))
    kind = draw(st.sampled_from((np.float16, np.float32, np.float64)))
    targets = draw(st.lists(st.integers(0, classes + 1), min_size=rows, max_size=rows))
    targets[0] = draw(st.integers(0, classes - 1))
    return np.array(flat, kind).reshape(rows, classes), np.array(targets)


def as_scores(case: Case) -> tuple[rt.Scores, dict[int, list[int]]]:
    """The same case as dense scores: one relevant item per row."""
    rows, columns = map(range, case[0].shape)
    scores = rt.Scores(case[0], users=rows, items=columns)
    return scores, {row: [int(target)] for row, target in enumerate(case[1])}


@settings(max_examples=100)
@given(cases(), st.sampled_from(TIES), st.sampled_from(("keep", "drop")))
def test_ranks_equal_those_of_scores_with_one_relevant_item_per_row(
    case: Case, ties: str, unknown: str
) -> None:
    convention = {"ties": ties, "unknown_items": unknown, "undefined": "skip"}
    logits = rt.evaluate(rt.Logits(case[0]), case[1], RANKED, convention)
    scores = rt.evaluate(*as_scores(case), RANKED, convention)
    assert logits.values() == scores.values()
    assert set(logits.failures) == set(scores.failures)
    for name, result in scores.results.items():
        assert logits.results[name].ties == result.ties, name
    for entry in ("items_unknown", "lists_with_ties", "users_in_truth"):
        assert logits.ledger[entry] == scores.ledger[entry], entry


@settings(max_examples=100)
@given(cases(), st.sampled_from(TIES), st.sampled_from(("keep", "drop")))
def test_all_metrics_agree_on_the_first_rank(case: Case, ties: str, unknown: str) -> None:
    convention = {"ties": ties, "unknown_items": unknown}
    evaluation = rt.evaluate(rt.Logits(case[0]), case[1], FIRST, convention)
    assert len(set(evaluation.values().values())) == 1, evaluation.values()
    chances = rt.evaluate(
        rt.Logits(case[0]), case[1], ["accuracy@{1,5,10}", "mrr", "ndcg@10"], convention
    ).values()
    assert chances["accuracy@1"] <= chances["accuracy@5"] <= chances["accuracy@10"]
    assert chances["accuracy@1"] <= chances["mrr"] <= chances["ndcg@10"] <= 1


@settings(max_examples=100)
@given(cases(), st.sampled_from(TIES))
def test_class_metrics_agree_with_scikit_learn(case: Case, ties: str) -> None:
    from sklearn import metrics

    logits, targets = case[0], np.minimum(case[1], case[0].shape[1])
    first = [_first(row, int(target), ties) for row, target in zip(logits, targets, strict=True)]
    names = ["weighted_f1", "macro_f1", "macro_precision", "macro_recall", "mcc"]
    values = rt.evaluate(rt.Logits(logits), case[1], names, {"ties": ties}).values()
    more = {"zero_division": 0.0}
    assert values == pytest.approx(
        {
            "weighted_f1": metrics.f1_score(targets, first, average="weighted", **more),
            "macro_f1": metrics.f1_score(targets, first, average="macro", **more),
            "macro_precision": metrics.precision_score(targets, first, average="macro", **more),
            "macro_recall": metrics.recall_score(targets, first, average="macro", **more),
            "mcc": _correlation(targets, np.array(first)),
        },
        rel=1e-12, abs=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("item_ascending", 1 / 2),
        ("given", 1 / 2),
        ("pessimistic", 1 / 2),
        ("item_descending", 1 / 3),
    ],
)
def test_a_tie_without_the_target_is_broken_by_the_rule(ties: str, expected: float) -> None:
    # Row 0 predicts class 0, or the higher class 1, and then one of its two predictions is wrong.
    logits = np.array([[1.0, 1.0, 0.0], [0.0, 5.0, 0.0]])
    evaluation = rt.evaluate(rt.Logits(logits), [2, 1], "weighted_f1", {"ties": ties})
    assert evaluation["weighted_f1"] == pytest.approx(expected, rel=1e-15)


def _first(row: np.ndarray[Any, Any], target: int, ties: str) -> int:
    """The class that a tie rule puts first."""
    best = np.flatnonzero(row == row.max()).tolist()
    if ties == "optimistic" and target in best:
        return target
    if ties == "pessimistic" and len(best) > 1 and target in best:
        best.remove(target)
    return int(best[-1] if ties == "item_descending" else best[0])


def _correlation(targets: np.ndarray[Any, Any], first: np.ndarray[Any, Any]) -> float:
    from sklearn.metrics import matthews_corrcoef

    return 0.0 if len({*targets, *first}) == 1 else float(matthews_corrcoef(targets, first))


@settings(max_examples=100)
@given(cases())
def test_the_loss_is_the_log_softmax_of_the_target(case: Case) -> None:
    logits, targets = case[0].astype(np.float64), case[1]
    known = targets < logits.shape[1]
    exact = log_softmax(logits, axis=1)[np.flatnonzero(known), targets[known]]
    names = ["cross_entropy", "mean_probability", "geometric_mean_probability"]
    evaluation = rt.evaluate(rt.Logits(logits), targets, names, {"unknown_items": "drop"})
    assert evaluation["cross_entropy"] == pytest.approx(-exact.mean(), rel=1e-12, abs=1e-15)
    assert evaluation["mean_probability"] == pytest.approx(np.exp(exact).mean(), rel=1e-12)
    assert evaluation["geometric_mean_probability"] == pytest.approx(
        np.exp(exact.mean()), rel=1e-12
    )
    narrow = rt.evaluate(rt.Logits(case[0]), targets, names, {"unknown_items": "drop"})
    assert narrow["cross_entropy"] == pytest.approx(-exact.mean(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_long_rows_are_counted_and_summed_alike_by_both_kernels(kind: str, kernels: str) -> None:
    rng = np.random.default_rng(1)
    logits = (rng.normal(size=(300, 5000)) * 3).astype(kind)
    targets = rng.integers(0, 5000, 300)
    names = ["accuracy@{1,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy", "median_rank"]
    evaluation = rt.evaluate(rt.Logits(logits), targets, names)
    target_logits = logits[np.arange(300), targets][:, None]
    ranks = (logits >= target_logits).sum(axis=1)  # after tied classes
    assert evaluation["median_rank"] == np.median(ranks)
    assert evaluation["accuracy@10"] == (ranks <= 10).sum() / 300
    assert evaluation["mrr"] == pytest.approx((1 / ranks).mean(), rel=1e-12)
    exact = log_softmax(logits.astype(np.float64), axis=1)[np.arange(300), targets]
    close = 1e-12 if kind == "float64" else 5e-7
    assert evaluation["cross_entropy"] == pytest.approx(-exact.mean(), rel=close)


def test_targets_outside_the_classes_follow_one_policy_and_are_counted() -> None:
    targets = [0, 2, 5, 7]
    names = ["accuracy@1", "mrr", "ndcg@10", "weighted_f1", "micro_f1", "mean_probability"]
    kept = rt.evaluate(rt.Logits(LOGITS), targets, names)
    dropped = rt.evaluate(rt.Logits(LOGITS), targets, names, {"unknown_items": "drop"})
    for evaluation in (kept, dropped):
        assert evaluation.ledger["items_unknown"] == 2
        entry = evaluation.ledger.entries["items_unknown"]
        assert str(entry).startswith("2 of 4 targets are not among the classes: ")
    for name in names:
        assert kept.results[name].counted == 4, name
        assert dropped.results[name].counted == 2, name
    assert (kept["accuracy@1"], kept["micro_f1"]) == (1 / 4, 1 / 4)
    assert (dropped["accuracy@1"], dropped["micro_f1"]) == (1 / 2, 1 / 2)
    assert kept["mean_probability"] == pytest.approx(dropped["mean_probability"] / 2, rel=1e-15)
    with pytest.raises(UnknownIds, match=r"2 of 4 targets are not among .*\(first: 5\)"):
        rt.evaluate(rt.Logits(LOGITS), targets, names, {"unknown_items": "error"})
    loss = rt.evaluate(rt.Logits(LOGITS), targets, "cross_entropy")
    with pytest.raises(UnknownIds, match="unknown_items='drop'"):
        loss.result("cross_entropy")


def test_nothing_is_left_to_evaluate_if_all_targets_are_outside() -> None:
    evaluation = rt.evaluate(rt.Logits(LOGITS), [9] * 4, "mrr", {"unknown_items": "drop"})
    with pytest.raises(NothingToEvaluate, match="no list counts for 'mrr'"):
        evaluation.result("mrr")


def test_values_are_shown_in_percent_but_ranks_and_losses_are_not() -> None:
    names = ["accuracy@1", "mrr", "weighted_f1", "mean_rank", "median_rank", "cross_entropy"]
    plain = rt.evaluate(rt.Logits(LOGITS), TARGETS, names)
    percent = rt.evaluate(rt.Logits(LOGITS), TARGETS, names, {"scale": "percent"})
    for name in names[:3]:
        assert percent[name] == plain[name] * 100
    for name in names[3:]:
        assert percent[name] == plain[name]


@pytest.mark.parametrize(
    ("row", "target", "words"),
    [
        ([-np.inf, -np.inf], 0, "no probabilities"),
        ([np.inf, 0.0], 0, "no probabilities"),
        ([np.inf, 0.0], 1, "no probabilities"),
        ([-np.inf, 0.0], 0, "have the probability 0"),
    ],
)
def test_infinite_logits_have_ranks_but_no_loss(
    row: list[float], target: int, words: str, kernels: str
) -> None:
    for kind in (np.float32, np.float64):
        logits = np.array([[1, 0], row], kind)
        evaluation = rt.evaluate(rt.Logits(logits), [0, target], ["mrr", "cross_entropy"])
        assert evaluation["mrr"] == (1 + (1 if row[target] > row[1 - target] else 1 / 2)) / 2
        with pytest.raises(UndefinedValue, match=f"1 of 2 lists .*{words}"):
            evaluation.result("cross_entropy")


def test_a_logit_of_minus_infinity_elsewhere_is_a_probability_of_0() -> None:
    evaluation = rt.evaluate(rt.Logits([[-np.inf, 1.0], [1e308, -1e308]]), [1, 0], "cross_entropy")
    assert evaluation["cross_entropy"] == 0


@pytest.mark.parametrize("kind", ["list", "array", "floats", "unsigned", "npy", "npz", "series"])
def test_targets_may_come_in_any_form(kind: str, tmp_path: Path) -> None:
    import polars as pl

    np.save(tmp_path / "t.npy", TARGETS)
    np.savez(tmp_path / "t.npz", TARGETS)
    forms: dict[str, Any] = {
        "list": TARGETS, "array": np.array(TARGETS, np.int8), "floats": np.array(TARGETS, float),
        "unsigned": np.array(TARGETS, np.uint64), "npy": tmp_path / "t.npy",
        "npz": str(tmp_path / "t.npz"), "series": pl.Series(TARGETS),
    }  # fmt: skip
    evaluation = rt.evaluate(rt.Logits(LOGITS), forms[kind], "mrr")
    # Ranks after tied classes: 1, 2, 3, 2.
    assert evaluation["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2) / 4, rel=1e-15)


def test_logits_may_come_from_files_and_functions(tmp_path: Path) -> None:
    np.save(tmp_path / "l.npy", LOGITS)
    np.savez(tmp_path / "l.npz", logits=LOGITS, other=[1])
    names = ["accuracy@1", "mrr", "cross_entropy", "weighted_f1"]
    expected = rt.evaluate(rt.Logits(LOGITS), TARGETS, names).values()
    sources: list[rt.Logits] = [
        rt.Logits(tmp_path / "l.npy"), rt.Logits(str(tmp_path / "l.npz")),
        rt.Logits(ragged(LOGITS, [1, 3]), rows=4), rt.Logits(np.asfortranarray(LOGITS)),
    ]  # fmt: skip
    for source in sources:
        assert rt.evaluate(source, TARGETS, names).values() == expected


def test_a_recorded_order_changes_ranks_and_classes_but_not_the_loss() -> None:
    order = np.array([[1, 0, 2], [2, 1, 0], [-1, 1, 0], [2, -1, -1]])
    names = ["accuracy@1", "mrr", "accuracy@2", "micro_f1", "weighted_f1", "cross_entropy"]
    evaluation = rt.evaluate(rt.Logits(LOGITS), TARGETS, names, ranking=order)
    assert evaluation["mrr"] == (1 / 2 + 1 + 1 / 2 + 0) / 4
    assert (evaluation["accuracy@1"], evaluation["accuracy@2"]) == (1 / 4, 3 / 4)
    assert evaluation["micro_f1"] == 1 / 4
    # Only class 2 is ever right: one target, predicted twice (rows 1 and 3): F1 = 2/3, weight 1/4.
    assert evaluation["weighted_f1"] == pytest.approx(2 / 3 / 4, rel=1e-15)
    plain = rt.evaluate(rt.Logits(LOGITS), TARGETS, "cross_entropy")
    assert evaluation["cross_entropy"] == plain["cross_entropy"]
    first = rt.evaluate(rt.Logits(LOGITS), TARGETS, "accuracy@1", ranking=[0, 2, 1, 1])
    assert first["accuracy@1"] == 3 / 4


def test_the_majority_baseline_predicts_the_most_common_class() -> None:
    learned = [2, 2, 2, 0, 0, 1]
    evaluation = rt.evaluate(
        rt.Logits.majority(learned, 4), learned, ["accuracy@{1,2}", "mean_rank", "cross_entropy"]
    )
    assert (evaluation["accuracy@1"], evaluation["accuracy@2"]) == (3 / 6, 5 / 6)
    assert evaluation["mean_rank"] == (3 * 1 + 2 * 2 + 1 * 3) / 6
    share = np.array([3, 2, 4, 1]) / 10  # 1 is added to every count, so none is 0
    assert evaluation["cross_entropy"] == pytest.approx(-np.log(share[learned]).mean(), rel=1e-12)
    other = rt.evaluate(rt.Logits.majority(learned, 4, rows=3), [2, 1, 9], "accuracy@1")
    assert other["accuracy@1"] == 1 / 3


def test_the_random_baseline_depends_on_its_seed() -> None:
    def blocks(seed: int, rows: int = 50) -> np.ndarray[Any, Any]:
        made: Iterator[Any] = rt.Logits.random(rows, 7, seed).open().blocks()
        return np.concatenate(list(made))

    assert np.array_equal(blocks(1), blocks(1))
    assert not np.array_equal(blocks(1), blocks(2))
    targets = np.arange(4000) % 7
    evaluation = rt.evaluate(rt.Logits.random(4000, 7), targets, ["accuracy@1", "mean_rank"])
    assert evaluation["accuracy@1"] == pytest.approx(1 / 7, abs=4 * np.sqrt(6 / 49 / 4000))
    assert evaluation["mean_rank"] == pytest.approx(4, abs=4 * 2 / np.sqrt(4000))

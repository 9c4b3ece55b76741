"""Metrics of predicted scores: ratings and probabilities of relevance, by hand and added up."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadScores, BadTable, MissingNeed, NothingToEvaluate, UndefinedValue

# Errors: u 1, -2; v 0.5; w's only pair has no score, and z has no truth.
LISTS = pl.DataFrame(
    {
        "user": ["u", "u", "u", "v", "v", "w", "z"],
        "item": ["a", "b", "c", "a", "d", "b", "a"],
        "score": [5.0, 2.0, 3.0, 1.5, 9.0, 4.0, 1.0],
    }
)
TRUTH = pl.DataFrame(
    {"user": ["u", "u", "v", "w"], "item": ["a", "b", "a", "c"], "grade": [4.0, 4.0, 1.0, 2.0]}
)
ERRORS, GRADES = np.array([1.0, -2.0, 0.5]), np.array([4.0, 4.0, 1.0])
POOLED = ["mae", "mse", "rmse", "r2", "explained_variance"]
BY_USER = ["user_mae", "user_mse", "user_rmse"]
BY_HAND = {
    "mae": 3.5 / 3,
    "mse": 5.25 / 3,
    "rmse": sqrt(5.25 / 3),
    "r2": 1 - 5.25 / 6,
    "explained_variance": 1 - float(ERRORS.var() / GRADES.var()),
    "user_mae": (1.5 + 0.5) / 2,
    "user_mse": (2.5 + 0.25) / 2,
    "user_rmse": (sqrt(2.5) + 0.5) / 2,
    "mae[average=macro]": (1.5 + 0.5) / 2,
}

# Probabilities: x 0.8 (relevant), y 0.4 (not), x 0.1 (not), y 0.9 (relevant).
CLICKS = pl.DataFrame(
    {"user": [1, 1, 2, 2], "item": ["x", "y", "x", "y"], "score": [0.8, 0.4, 0.1, 0.9]}
)
CLICKED = CLICKS.select("user", "item", grade=pl.Series([1, 0, 0, 1]))
OF_RELEVANCE = {
    "relevance_brier": (0.04 + 0.16 + 0.01 + 0.01) / 4,
    "log_loss": -(log(0.8) + log(0.6) + log(0.9) + log(0.9)) / 4,
    "relevance_calibration_error[bins=2]": (0.5 + 0.3) / 4,
    "pairs_auc": 1.0,
    "relevance_calibration_error": (0.2 + 0.4 + 0.1 + 0.1) / 4,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_rating_metric_has_the_value_found_by_hand(name: str) -> None:
    assert rt.evaluate(LISTS, TRUTH, name)[name] == pytest.approx(BY_HAND[name], rel=1e-14)


@pytest.mark.parametrize("name", OF_RELEVANCE)
def test_a_metric_of_probabilities_has_the_value_found_by_hand(name: str) -> None:
    assert rt.evaluate(CLICKS, CLICKED, name)[name] == pytest.approx(OF_RELEVANCE[name], rel=1e-14)


def test_every_metric_of_predicted_scores_is_tried_by_hand() -> None:
    tried = {name.partition("[")[0] for name in (*BY_HAND, *OF_RELEVANCE)}
    quirks = {"unmasked_mae", "unmasked_mse", "unmasked_rmse"}  # see the golden values of WarpRec
    quirks |= {"clipped_mae", "clipped_mse", "clipped_rmse", "root_clipped_mse"}  # see below
    quirks |= {"fcp", "fcp_of_means"}  # see test_concordant_pairs
    needing = {name for name, metric in rt.METRICS.items() if "predicted" in metric.requires}
    own = {"ratings", "peers", "auc"}
    mine = {n for n in needing if rt.METRICS[n].function.__module__.rpartition(".")[2] in own}
    assert mine == tried | quirks


def test_pairs_without_a_score_are_counted_and_left_out() -> None:
    entry = rt.evaluate(LISTS, TRUTH, "mae").ledger.entries["pairs_without_score"]
    assert (entry.count, entry.of, entry.example) == (1, 4, "list 'w'")
    assert "pairs_without_score" not in rt.evaluate(LISTS, TRUTH, "ndcg").ledger.entries


def test_the_value_of_each_user_is_their_own_error() -> None:
    values = rt.evaluate(LISTS, TRUTH, BY_USER).per_list()
    assert values["user_mae"].to_list()[:2] == [1.5, 0.5]
    assert values["user_rmse"].to_list()[:2] == [sqrt(2.5), 0.5]
    assert values["user_mae"].to_list()[2:] == [None, None]


def test_neither_ranks_nor_relevance_change_an_error() -> None:
    switches = {"ties": "average", "relevant_from": 3, "list_end": "cutoff", "undefined": "zero"}
    names = [*POOLED, *BY_USER]
    assert rt.evaluate(LISTS, TRUTH, names, switches).values() == pytest.approx(
        rt.evaluate(LISTS, TRUTH, names).values(), rel=1e-15
    )
    cut = rt.evaluate(LISTS, TRUTH, "user_mae@1")
    assert cut["user_mae@1"] == BY_HAND["user_mae"]


def test_a_recorded_rank_does_not_replace_the_score() -> None:
    ranked = LISTS.with_columns(rank=pl.Series([3, 1, 2, 2, 1, 1, 1]))
    assert rt.evaluate(ranked, TRUTH, "mae")["mae"] == BY_HAND["mae"]


def dense(rows: int = 40, columns: int = 30) -> tuple[Any, pl.DataFrame, pl.DataFrame]:
    """Return scores, the same as lists, and grades from 0 to 5 of some pairs."""
    random = np.random.default_rng(7)
    scores = random.normal(3, 1, (rows, columns)).round(2)
    user, item = np.divmod(np.arange(rows * columns), columns)
    lists = pl.DataFrame({"user": user, "item": item, "score": scores.ravel()})
    judged = random.random(rows * columns) < 0.2
    grade = random.integers(0, 6, rows * columns).astype(float)
    truth = pl.DataFrame({"user": user, "item": item, "grade": grade}).filter(judged)
    return scores, lists, truth


def bits(evaluation: rt.Evaluation) -> dict[str, str]:
    assert not evaluation.failures
    return {name: value.hex() for name, value in evaluation.values().items()}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_dense_scores_have_the_bits_of_their_lists(kind: type) -> None:
    scores, lists, truth = dense()
    lists = lists.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64)) if (
        kind is np.float32) else lists  # fmt: skip
    names = [*POOLED, *BY_USER]
    mine = rt.evaluate(rt.Scores(scores.astype(kind)), truth, names)
    assert bits(mine) == bits(rt.evaluate(lists, truth, names))


def test_masked_pairs_have_no_prediction() -> None:
    scores, _, truth = dense()
    train = truth[:3].select("user", "item")
    evaluation = rt.evaluate(rt.Scores(scores), truth, "mae", train=train)
    assert evaluation.ledger.entries["pairs_without_score"].count == 3
    rest = rt.evaluate(rt.Scores(scores), truth[3:], "mae")
    assert evaluation["mae"] == pytest.approx(rest["mae"], rel=1e-14)
    for seen in ("kept", "last"):
        whole = rt.evaluate(rt.Scores(scores), truth, "mae", {"seen": seen}, train=train)
        assert whole["mae"] == rt.evaluate(rt.Scores(scores), truth, "mae")["mae"]


@pytest.mark.parametrize("seed", range(5))
def test_any_batches_give_the_bits_of_one_pass(seed: int, tmp_path: Path) -> None:
    scores, lists, truth = dense()
    names = [*POOLED, *BY_USER]
    random = np.random.default_rng(seed)
    where = random.integers(0, 4, len(scores))
    parts = []
    for part in range(4):
        rows = np.flatnonzero(where == part)
        mine = pl.col("user").is_in(rows.tolist())
        parts.append(rt.Evaluator(names))
        if part % 2:
            parts[-1].update(rt.Scores(scores[rows], users=rows), truth.filter(mine))
        else:
            parts[-1].update(lists.filter(mine), truth.filter(mine))
    order = random.permutation(4)
    merged = sum((parts[part] for part in order[1:]), parts[order[0]])
    merged.save(tmp_path / "sums.json")
    loaded = rt.Evaluator.load(tmp_path / "sums.json")
    assert bits(loaded.compute()) == bits(rt.evaluate(lists, truth, names))
    ledger = loaded.compute().ledger.entries["pairs_without_score"]
    assert (ledger.count, ledger.of) == (0, truth.height)


@pytest.mark.parametrize("seed", range(3))
def test_batches_of_probabilities_give_the_bits_of_one_pass(seed: int) -> None:
    _, lists, truth = dense()
    lists = lists.with_columns(score=1 / (1 + (-(pl.col("score") - 3)).exp()))
    names = [*OF_RELEVANCE, "relevance_calibration_error[bins=100]", "pairs_auc[relevant_from=3]"]
    cut = np.sort(np.random.default_rng(seed).integers(1, 39, 2))
    whole = rt.Evaluator(names)
    for low, high in zip([0, *cut], [*cut, 40], strict=True):
        mine = pl.col("user").is_between(int(low), int(high) - 1)
        if high > low:
            whole.update(lists.filter(mine), truth.filter(mine))
    assert bits(whole.compute()) == bits(rt.evaluate(lists, truth, names))


def test_r2_and_explained_variance_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, _, truth = dense()
    user, item, grade = (truth[column].to_numpy() for column in ("user", "item", "grade"))
    score = scores[user, item]
    names = {"r2": "r2_score", "explained_variance": "explained_variance_score",
             "mae": "mean_absolute_error", "mse": "mean_squared_error"}  # fmt: skip
    found = rt.evaluate(rt.Scores(scores), truth, list(names))
    for name, theirs in names.items():
        assert found[name] == pytest.approx(getattr(metrics, theirs)(grade, score), rel=1e-13), name


def test_constant_grades_leave_nothing_to_explain() -> None:
    truth = TRUTH.with_columns(grade=0.1)
    evaluation = rt.evaluate(LISTS, truth, POOLED)
    for name in ("r2", "explained_variance"):
        with pytest.raises(UndefinedValue, match=r"all 3 judged pairs .* the same grade"):
            raise evaluation.failures[name]
    assert evaluation["mae"] == pytest.approx((4.9 + 1.9 + 1.4) / 3)


def test_constant_scores_explain_nothing() -> None:
    lists = LISTS.with_columns(score=pl.lit(3.0))
    found = rt.evaluate(lists, TRUTH, ["r2", "explained_variance"])
    assert found.values() == {"r2": 0.0, "explained_variance": 0.0}


def test_a_large_offset_of_grades_loses_no_precision() -> None:
    far = [table.with_columns(pl.col(column) + 2.0**40) for table, column in (
        (LISTS, "score"), (TRUTH, "grade"))]  # fmt: skip
    found = rt.evaluate(*far, ["r2", "explained_variance"])
    assert found["r2"] == 1 - 5.25 / 6
    assert found["explained_variance"] == rt.evaluate(LISTS, TRUTH, "explained_variance")[
        "explained_variance"]  # fmt: skip


@pytest.mark.parametrize("name", [*POOLED, *BY_USER])
def test_without_any_pair_there_is_no_value(name: str) -> None:
    truth = TRUTH.with_columns(item="q" + pl.col("item"))
    with pytest.raises((NothingToEvaluate, UndefinedValue)):
        rt.evaluate(LISTS, truth, name)[name]


def test_lists_without_scores_are_refused() -> None:
    with pytest.raises(BadTable, match="no score column"):
        rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "mae")["mae"]


def test_a_score_that_is_not_finite_is_refused() -> None:
    scores = np.array([[1.0, -np.inf], [2.0, 3.0]])
    with pytest.raises(BadScores, match=r"1 of 2 predicted .* not finite \(first: -inf, list 0\)"):
        rt.evaluate(rt.Scores(scores), {0: [1], 1: [0]}, "mae")["mae"]


@pytest.mark.parametrize("name", [name for name in OF_RELEVANCE if name != "pairs_auc"])
def test_scores_outside_0_to_1_are_refused_as_probabilities(name: str) -> None:
    lists = CLICKS.with_columns(score=pl.Series([0.8, 1.5, -0.1, 0.9]))
    with pytest.raises(BadScores, match=r"2 of 4 .* outside 0 to 1 \(first: 1.5, list 0\)"):
        rt.evaluate(lists, CLICKED, name)[name]


def test_a_probability_of_0_has_an_infinite_loss_unless_bounded() -> None:
    lists = CLICKS.with_columns(score=pl.Series([0.0, 0.4, 0.1, 0.9]))
    with pytest.raises(UndefinedValue, match="1 of 4 judged pairs have a predicted"):
        rt.evaluate(lists, CLICKED, "log_loss")["log_loss"]
    name = "log_loss[least=1e-3]"
    expected = -(log(1e-3) + log(0.6) + log(0.9) + log(0.9)) / 4
    assert rt.evaluate(lists, CLICKED, name)[name] == pytest.approx(expected)


@pytest.mark.parametrize("bins", ["0", "2.5", "-1"])
def test_bins_are_a_whole_number(bins: str) -> None:
    name = f"relevance_calibration_error[bins={bins}]"
    with pytest.raises(rt.errors.BadArgument, match="bins is"):
        rt.evaluate(CLICKS, CLICKED, name)[name]


def test_weights_of_lists_weigh_their_pairs() -> None:
    weights = pl.DataFrame({"user": ["u", "v", "w"], "weight": [1.0, 4.0, 1.0]})
    found = rt.evaluate(LISTS, TRUTH, "mae", weights=weights)
    assert found["mae"] == pytest.approx((3 + 4 * 0.5) / (2 + 4))


def test_unmasked_errors_are_undefined_for_users_with_training_data() -> None:
    scores = rt.Scores(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 5.0]]))
    truth = pl.DataFrame({"user": [0, 1, 1], "item": [0, 0, 2], "grade": [3.0, 1.0, 2.0]})
    names = ["unmasked_mae@1", "unmasked_mse@5", "unmasked_rmse"]
    free = rt.evaluate(scores, truth, names).values()
    assert list(free.values()) == pytest.approx([1.75, (4 + 4.5) / 2, (2 + sqrt(4.5)) / 2])
    train = pl.DataFrame({"user": [0], "item": [2]})
    held = rt.evaluate(scores, truth, names, {"seen": "last"}, train=train).values()
    assert list(held.values()) == pytest.approx([1.5, 4.5, sqrt(4.5)])


def test_pairs_auc_compares_across_users_and_auc_does_not() -> None:
    scores = {1: {"x": 0.3, "y": 0.1}, 2: {"x": 0.9, "y": 0.8}}
    truth = {1: {"x": 1, "y": 0}, 2: {"x": 1, "y": 0}}
    found = rt.evaluate(scores, truth, ["pairs_auc", "list_auc"])
    assert found.values() == {"pairs_auc": 3 / 4, "list_auc": 1.0}


def test_the_auc_of_pairs_is_that_of_scikit_learn_with_ties_below_0() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, _, truth = dense()
    scores = (scores - 3).round(1)
    scores[scores == 0] = -0.0
    user, item, grade = (truth[column].to_numpy() for column in ("user", "item", "grade"))
    found = rt.evaluate(rt.Scores(scores), truth, "pairs_auc", {"relevant_from": 3})
    expected = metrics.roc_auc_score(grade >= 3, scores[user, item])
    assert found["pairs_auc"] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("grade", [0, 1])
def test_pairs_auc_is_undefined_with_one_kind_of_pairs(grade: int) -> None:
    truth = CLICKED.with_columns(grade=pl.lit(grade))
    with pytest.raises(UndefinedValue, match="at least one of each kind"):
        rt.evaluate(CLICKS, truth, "pairs_auc")["pairs_auc"]


def test_recommenders_reports_ratings_under_its_own_names() -> None:
    own = {"rsquared": "r2", "exp_var": "explained_variance", "mae": "mae", "rmse": "rmse"}
    theirs = rt.evaluate(LISTS, TRUTH, list(own), "recommenders")
    ours = rt.evaluate(LISTS, TRUTH, list(own.values()))
    assert [theirs[name] for name in own] == [ours[name] for name in own.values()]
    clicks = rt.evaluate(CLICKS, CLICKED, ["auc", "logloss"], "recommenders")
    assert clicks["auc"] == 1 and clicks["logloss"] == pytest.approx(OF_RELEVANCE["log_loss"])


def test_scores_are_clipped_to_the_grades_of_the_training_data() -> None:
    predicted = {"u": {"a": 9.0, "b": 1.0}, "v": {"a": 2.5}}
    truth = {"u": {"a": 4, "b": 3}, "v": {"a": 3}}
    train = {"u": {"a": 2}, "v": {"b": 5}}
    # u: 9 is 5 and 1 is 2: errors 1 and -1; v: -0.5
    expected = {
        "clipped_mae": (1 + 0.5) / 2, "clipped_mse": (1 + 0.25) / 2, "clipped_rmse": (1 + 0.5) / 2,
        "clipped_mae[average=micro]": 2.5 / 3, "clipped_mse[average=micro]": 2.25 / 3,
        "root_clipped_mse[average=micro]": sqrt(2.25 / 3),
    }  # fmt: skip
    lists = {user: dict(items) for user, items in predicted.items()}
    assert rt.evaluate(lists, truth, list(expected), train=train).values() == expected
    cornac = rt.evaluate(lists, truth, ["rmse", "rmse[pooled]"], "cornac", train=train)
    assert cornac.values() == {"rmse": 0.75, "rmse[pooled]": sqrt(2.25 / 3)}


def test_clipping_needs_grades_in_the_training_data() -> None:
    with pytest.raises(MissingNeed, match="grades of the training data"):
        _ = rt.evaluate({"u": {"a": 1.0}}, {"u": {"a": 1}}, "clipped_mae", train={"u": ["b"]})[
            "clipped_mae"
        ]

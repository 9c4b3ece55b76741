"""Predictions and truth in the wrong order are noticed, and never where the order is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rectitude as rt
from rectitude.cli import main
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, BadTable

TEST = pd.DataFrame(
    {"userId": [1, 2], "movieId": [5, 6], "rating": [4.0, 3.5], "timestamp": [9, 8]}
)
RECS = pd.DataFrame({"userId": [1, 1, 2], "movieId": [7, 5, 6], "score": [0.11, 0.95, 0.31]})
PAIRS = TEST[["userId", "movieId"]]
RATED = TEST.drop(columns="timestamp")
RANKED = PAIRS.assign(rank=1)
SIGNS = {"maybe_swapped", "truth_like_lists"}


def refused(call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(BadArgument) as caught:
        call(*arguments, **options)
    return str(caught.value)


def signs(predictions: object, truth: object, **options: Any) -> set[str]:
    ledger = rt.evaluate(predictions, truth, "mrr", **options).ledger
    return {entry.name for entry in ledger.warnings()} & SIGNS


@pytest.mark.parametrize("test", [TEST, RATED, PAIRS.assign(label=1)])
@pytest.mark.parametrize("recs", [RECS, RECS.assign(rank=[2, 1, 1])])
def test_a_truth_with_scores_and_predictions_with_ratings_are_swapped(
    test: pd.DataFrame, recs: pd.DataFrame
) -> None:
    message = refused(rt.evaluate, test, recs, "ndcg@10")
    assert "the predictions first, then the truth" in message
    assert "swap the two" in message
    assert "columns={'" in message
    assert "'score'" in message


def test_every_call_notices() -> None:
    for call, arguments in (
        (rt.evaluate, (TEST, RECS, "mrr")),
        (rt.explain, (TEST, RECS, "mrr", "recbole", "elliot")),
        (rt.identify, (TEST, RECS, "mrr", "0.5")),
        (rt.Evaluator("mrr").update, (TEST, RECS)),
        (rt.compare, ({"a": TEST, "b": TEST}, RECS, "mrr")),
    ):
        assert "swap the two" in refused(call, *arguments)


def test_the_command_line_notices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recs, test = tmp_path / "recs.csv", tmp_path / "test.csv"
    RECS.to_csv(recs, index=False)
    TEST.to_csv(test, index=False)
    call = ["evaluate", "--predictions", str(test), "--truth", str(recs), "--metrics", "mrr"]
    assert main(call) != 0
    message = capsys.readouterr().err
    assert "the predictions (test.csv) have the columns of interactions" in message
    assert "--columns score=rating" in message
    assert main([*call, "--columns", "score=rating"]) == 0


def test_a_run_and_qrels_in_the_wrong_order_are_noticed(tmp_path: Path) -> None:
    qrels, run = tmp_path / "test.qrels", tmp_path / "bm25.run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    run.write_text("q1 Q0 d2 1 0.9 bm25\nq1 Q0 d1 2 0.8 bm25\n")
    assert rt.evaluate(run, qrels, "mrr")["mrr"] == 1 / 2
    for predictions, truth in ((qrels, run), (qrels, qrels), (run, run)):
        with pytest.raises(BadTable, match="are the two swapped"):
            rt.evaluate(predictions, truth, "mrr")


def test_the_caller_can_say_that_the_order_is_right() -> None:
    for predictions, truth, columns in (
        (rt.Lists(TEST), RECS, None),
        (TEST, rt.Interactions(RECS), None),
        (TEST, RECS, {"score": "rating"}),
        (TEST, RECS, {"grade": "score"}),
    ):
        assert signs(predictions, truth, columns=columns) == set()


def test_a_wrapper_of_the_other_side_is_refused() -> None:
    scores = rt.Scores(np.eye(2))
    assert "predictions are given as rt.Interactions" in refused(
        rt.evaluate, rt.Interactions(TEST), RECS, "mrr"
    )
    assert "truth is given as rt.Lists" in refused(rt.evaluate, TEST, rt.Lists(RECS), "mrr")
    assert "truth is given as rt.Scores" in refused(rt.evaluate, TEST, scores, "mrr")


@pytest.mark.parametrize(
    ("predictions", "truth"),
    [
        (PAIRS, RECS),
        (RATED, RECS.assign(score=[1, 9, 3])),
        (PAIRS, RANKED),
        ({1: [5], 2: [6]}, RECS),
        (TEST, {1: [7, 5], 2: [6]}),
        (TEST, RECS.rename(columns={"score": "model_score"})),
        ({1: {5: 4}, 2: {6: 3}}, {1: {7: 0.11, 5: 0.95}, 2: {6: 0.31}}),
    ],
)
def test_a_single_sign_is_a_warning(predictions: object, truth: object) -> None:
    assert signs(predictions, truth) == {"maybe_swapped"}


@pytest.mark.parametrize(
    ("predictions", "truth"),
    [
        (RECS, TEST),
        (RECS, PAIRS),
        (RATED, TEST),  # RePlay and WarpRec call the score rating
        (RATED.assign(rating=[3.7, 2.1]), RATED.rename(columns={"rating": "score"})),
        (PAIRS, RATED.rename(columns={"rating": "score"})),
        (TEST.assign(prediction=[0.1, 0.2]), TEST),  # Microsoft recommenders merge both
        (RECS, RECS.assign(score=1)),  # BEIR's qrels have a score
        ({1: [7, 5], 2: [6]}, RECS.assign(score=1)),
        ({1: {7: 0.11, 5: 0.95}, 2: {6: 0.31}}, {1: {5: 4}, 2: {6: 3}}),
        ({1: {7: 2, 5: 1}, 2: {6: 1}}, {1: {5: 4}, 2: {6: 3}}),
        ({1: [7, 5], 2: [6]}, PAIRS.assign(position=[3, 4])),
    ],
)
def test_the_right_order_is_never_suspected(predictions: object, truth: object) -> None:
    assert signs(predictions, truth) == set()


def test_a_truth_in_the_shape_of_ranked_lists_is_suspected() -> None:
    recs = {user: [*range(user, user + 10)] for user in range(12)}
    last = {user: [user + 3] for user in range(12)}
    some = {user: [*range(1 + user % 4)] for user in range(12)}
    assert signs(last, recs) == signs(some, recs) == {"truth_like_lists"}
    assert signs(recs, last) == signs(recs, some) == signs(recs, recs) == set()


@pytest.mark.parametrize(
    "models",
    [[RECS, RECS], {"a": RECS, "b": RECS}, [{1: {5: 0.2}}, {1: {5: 0.1}}], ["a.csv", "b.csv"]],
)
def test_a_comparison_with_the_truth_first_is_refused(models: Any) -> None:
    message = refused(rt.compare, TEST, models, "mrr")
    assert "truth contains several tables" in message
    assert "rt.compare([a, b], truth)" in message


def test_a_comparison_of_one_table_is_refused() -> None:
    assert "models is a single table (DataFrame)" in refused(rt.compare, RECS, TEST, "mrr")


FILES = (
    "ml-100k/ml-100k.inter", "ml-latest-small/ratings.csv", "amazon-video-games/Video.txt",
    "wikipedia-edits/wikipedia.txt", "online-retail-ii/interactions.parquet", "herb/test_id.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_no_public_data_set_is_suspected(real_data: Path, name: str) -> None:
    log = open_log(real_data / name).frame.head(20_000)
    popular = log["item"].value_counts(sort=True).head(10).rename({"count": "score"})
    recs = log.select("user").unique().join(popular, how="cross")
    options = {"duplicate_truth": "once"}
    truth = log.drop("row")
    assert signs(recs, truth, convention=options) == set()
    by_user = recs.group_by("user").agg("item")
    lists = dict(zip(by_user["user"], by_user["item"].to_list(), strict=True))
    assert signs(lists, truth, convention=options) == set()
    assert signs(recs.drop("score"), truth, convention=options) == set()


# arrays, in the order of scikit-learn

RNG = np.random.default_rng(7)
WANTED = (RNG.random((300, 80)) < 0.05).astype(float)
SCORES = RNG.random((300, 80))


@pytest.mark.parametrize(
    ("wanted", "scores"),
    [
        (WANTED, SCORES),
        (WANTED * 3, SCORES - 0.5),
        (rt.Scores(WANTED), SCORES),
        (WANTED.astype(int), SCORES),
        (WANTED.astype(bool), SCORES.astype(np.float32)),
        (WANTED, np.where(SCORES < 0.3, -np.inf, SCORES)),
        (pd.DataFrame(WANTED), SCORES),
    ],
    ids=["floats", "graded", "Scores", "integers", "booleans", "masked", "frame"],
)
def test_a_dense_truth_in_place_of_the_scores_is_swapped(wanted: Any, scores: Any) -> None:
    message = refused(rt.evaluate, wanted, scores, "ndcg@10")
    assert "swap the two" in message and "as scores do" in message
    assert "ndcg@10" in rt.evaluate(scores, np.asarray(WANTED), "ndcg@10").values()


def test_tensors_in_the_order_of_scikit_learn_are_swapped() -> None:
    torch = pytest.importorskip("torch")
    wanted, scores = torch.tensor(WANTED), torch.tensor(SCORES, requires_grad=True)
    for first in (wanted, wanted.int(), wanted.bool(), rt.Scores(wanted)):
        assert "swap the two" in refused(rt.evaluate, first, scores, "ndcg@10")
    assert rt.evaluate(scores, wanted, "mrr")["mrr"] > 0


def test_arrays_in_the_right_order_are_never_suspected() -> None:
    playtime = WANTED * SCORES  # grades with fractions, but not in every cell
    for predictions, truth in (
        (SCORES, playtime),
        (np.round(SCORES), playtime),
        (SCORES, SCORES),
        (rt.Scores(np.round(SCORES * 1000)), SCORES),
        (WANTED, sp.csr_array(SCORES)),
    ):
        assert signs(predictions, truth) == set()


# lists without scores


def test_top_k_lists_as_truth_are_suspected_even_if_some_are_short() -> None:
    recs = {user: [*range(user, user + (10 if user % 12 else 7))] for user in range(60)}
    some = {user: [*range(1 + user % 6)] for user in range(60)}
    several = {user: [*range(4)] for user in range(60)}
    assert signs(some, recs) == signs(several, recs) == {"truth_like_lists"}
    assert signs(recs, some) == signs(recs, several) == set()


def test_top_n_lists_for_a_metric_at_n_are_not_suspected() -> None:
    wanted = {user: [*range(user, user + 10)] for user in range(60)}
    for n, metric in ((1, "precision@1"), (3, "ndcg@3")):
        best = {user: [*range(user, user + n)] for user in range(60)}
        warnings = rt.evaluate(best, wanted, metric).ledger.warnings()
        assert not SIGNS & {entry.name for entry in warnings}
    warnings = rt.evaluate({user: [user] for user in range(60)}, wanted, "hit@10").ledger.warnings()
    assert "truth_like_lists" in {entry.name for entry in warnings}


def test_lists_with_scores_are_not_suspected_by_their_length() -> None:
    wanted = {user: [*range(user, user + 10)] for user in range(60)}
    scored = {user: {item: 0.37 * item + 0.1 for item in range(1 + user % 4)} for user in range(60)}
    assert signs(scored, wanted) == set()


def test_whole_scores_as_grades_are_suspected() -> None:
    run = {user: {i: 100 * user + i for i in range(20 + user)} for user in range(12)}
    qrels = {user: {item: item % 2 for item in range(1 + user % 5)} for user in range(12)}
    assert signs(qrels, run) == {"maybe_swapped"}
    assert signs(run, qrels) == set()


def test_a_time_alone_is_no_sign() -> None:
    shown = RECS[["userId", "movieId"]].assign(timestamp=[3, 4, 5])
    for truth in (TEST, PAIRS, {1: [5], 2: [6]}):
        assert signs(shown, truth) == set()
    assert signs(shown, RECS.assign(score=1)) == {"maybe_swapped"}
    assert "swap the two" in refused(rt.evaluate, shown, RECS, "mrr")

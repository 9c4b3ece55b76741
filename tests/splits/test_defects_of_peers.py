"""What goes wrong in other frameworks beside their splits, and does not here: a test for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.errors import BadArgument, DuplicateItems, DuplicateTruth
from rectitude.preparing import prepare
from rectitude.splits.split import Split

LISTS = {"a": ["x", "y", "z"], "b": ["y", "z", "w"]}
TRUTH = {"a": ["y", "w"], "b": ["x"]}
TRAIN = {"a": ["q"], "b": ["q", "p"]}
ALL = ["precision@3", "recall@3", "f1@3", "ndcg@3", "map@3", "mrr", "hit@3", "rprec", "rbp"]


def one(*args: Any, **options: Any) -> Split:
    found = rt.split(*args, **options)
    assert isinstance(found, Split)
    return found


@pytest.fixture
def split() -> Split:
    """Users whose last rows are to be found; the items from 40 on are first met there."""
    random = np.random.default_rng(1)
    rows = [(user, int(item), at) for user in range(12) for at, item in
            enumerate(random.choice(40, 10, replace=False))]  # fmt: skip
    rows += [(user, 40 + user % 5, 20 + nth) for user in range(12) for nth in range(2)]
    table = pl.DataFrame(rows, ["user", "item", "timestamp"], orient="row")
    return one(table.unique(["user", "item"], maintain_order=True), "at_time", t=8)


def negatives(drawn: Any, split: Split) -> pl.DataFrame:
    frame: pl.DataFrame = drawn.frame
    return frame.join(split.truth.frame, on=["user", "item"], how="anti")


def test_f1_and_auc_can_be_asked_for() -> None:
    # DaisyRec compares the wrong variable: F1 and AUC raise UnboundLocalError.
    found = rt.evaluate(LISTS, TRUTH, metrics=["f1@3", "list_auc"])
    assert found["f1@3"] == pytest.approx(0.2)
    assert 0 <= found["list_auc"] <= 1


@pytest.mark.parametrize("big", [2**24, 2**53])
def test_large_ids_keep_every_digit(big: int) -> None:
    # DaisyRec's lists become float32: ids above 2^24 turn into their neighbours.
    assert rt.evaluate({1: [big + 1]}, {1: [big + 1]}, metrics="hit@1")["hit@1"] == 1
    assert rt.evaluate({1: [big + 1]}, {1: [big]}, metrics="hit@1")["hit@1"] == 0
    scores = rt.Scores(np.array([[0.1, 0.9]]), users=[1], items=[big, big + 1])
    assert rt.evaluate(scores, {1: [big + 1]}, metrics="hit@1")["hit@1"] == 1
    table = pl.DataFrame({"user": [big, big + 1] * 2, "item": [1, 2, 3, 4], "timestamp": range(4)})
    assert one(table, "leave_last").truth.frame["user"].to_list() == [big, big + 1]


@pytest.mark.parametrize("users", [1, 129, 257])
def test_a_single_user_at_the_end_is_ranked_like_the_others(users: int) -> None:
    # DaisyRec's last batch of one user loses its axis and crashes.
    scores = np.random.default_rng(0).random((users, 20))
    truth = {user: [user % 20] for user in range(users)}
    whole = rt.evaluate(rt.Scores(scores), truth, metrics="mrr")["mrr"]
    ranks = [1 + int((row > row[user % 20]).sum()) for user, row in enumerate(scores)]
    assert whole == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_negatives_do_not_repeat_and_no_positive_is_lost(split: Split) -> None:
    # DaisyRec draws with replacement, and positives too where a user has many.
    drawn = sample_negatives(split, 15)
    assert not drawn.frame.is_duplicated().any()
    assert split.truth.frame.join(drawn.frame, ["user", "item"], "anti").is_empty()


def test_items_of_the_future_are_no_negatives(split: Split) -> None:
    # DaisyRec numbers train and test together: items first seen in test serve as negatives.
    drawn = sample_negatives(split, 15)
    assert set(negatives(drawn, split)["item"]) <= set(split.train.frame["item"])
    assert drawn.ledger["future_items"] > 0


def test_a_user_without_items_left_to_draw_is_named() -> None:
    # DaisyRec: ValueError of NumPy.
    table = {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "timestamp": [1, 2, 1]}
    with pytest.raises(BadArgument, match=r"1 items left to draw.*user 'a'"):
        sample_negatives(one(table, "at_time", t=2), 1)


def test_popularity_counts_what_is_learnt_alone(split: Split) -> None:
    # DaisyRec counts train and test.
    drawn = sample_negatives(split, 10, weight="popularity", known="ever")
    assert set(negatives(drawn, split)["item"]) <= set(split.train.frame["item"])


def test_negatives_for_validation_know_validation_and_not_the_test(split: Split) -> None:
    # Elliot passes the test part where validation is meant, or fails.
    tuned = one(pl.concat([split.train.frame, split.truth.frame]).drop("row"), "at_time", t=8,
                validation={"how": "leave_last"}).validation  # fmt: skip
    assert tuned is not None
    drawn = sample_negatives(tuned, 10)
    pairs = drawn.frame.join(tuned.truth.frame, ["user", "item"], "anti")
    assert pairs.join(tuned.train.frame, ["user", "item"]).is_empty()
    assert pairs.height == 10 * tuned.truth.frame["user"].n_unique()
    assert set(pairs["item"]) <= set(tuned.train.frame["item"])


@pytest.mark.parametrize(
    "lists", [{"a": [], "b": ["y"]}, {"a": ["new"], "b": ["y"]}, {"a": ["y"], "nobody": ["x"]}]
)
def test_empty_lists_and_unknown_users_and_items_have_a_value(lists: dict[str, Any]) -> None:
    # Elliot: KeyError outside train, ZeroDivisionError for empty lists; LensKit: AP and RBP raise.
    found = rt.evaluate(lists, TRUTH, metrics=[*ALL, "auc"], train=TRAIN, items=list("pqwxyz"))
    assert all(0 <= found[name] <= 1 for name in ALL)


def test_a_list_without_a_hit_is_worth_nothing() -> None:
    # LensKit's AveragePrecision: ZeroDivisionError. Elliot's ExtendedF1: `set(a) and set(b)` is b.
    found = rt.evaluate({"a": ["p", "q"]}, {"a": ["x", "y"]}, metrics=ALL)
    assert {found[name] for name in ALL} == {0.0}


def test_a_threshold_need_not_be_whole() -> None:
    # Elliot accepts digits alone.
    table = pl.DataFrame({"user": [1, 1, 1], "item": [1, 2, 3], "rating": [3.0, 3.5, 4.0]})
    kept = prepare(table, [{"step": "threshold", "at": 3.5}])
    assert kept.frame["item"].to_list() == [2, 3]


def test_grades_push_no_metric_beyond_one() -> None:
    # RecPack with ratings as truth: NDCG@2 = 1.84, recall@2 = 0.25 of a perfect list.
    truth = pl.DataFrame({"user": ["a", "a"], "item": ["x", "y"], "rating": [5.0, 3.0]})
    found = rt.evaluate({"a": ["x", "y"]}, truth, metrics=["ndcg@2", "recall@2", "map@2"])
    assert [found[name] for name in ("ndcg@2", "recall@2", "map@2")] == [1.0, 1.0, 1.0]


def test_two_hits_of_one_user_are_no_hit_of_another() -> None:
    # RecPack's HitK sums hits over users: 2 hits / 2 users.
    found = rt.evaluate({"a": ["x", "y"], "b": ["z"]}, {"a": ["x", "y"], "b": ["w"]}, ["hit@2"])
    assert found["hit@2"] == 0.5


def test_masked_items_are_not_recommended() -> None:
    # RecBole takes the top k also where nothing but masked items (-inf) is left.
    scores = rt.Scores(np.array([[0.9, 0.8, 0.7]]), users=["a"], items=["x", "y", "z"])
    truth = {"a": ["x", "z"]}
    found = rt.evaluate(scores, truth, ["precision@3", "recall@3"], train={"a": ["x", "y"]})
    assert found["recall@3"] == 0.5


def test_a_repeated_pair_of_the_truth_does_not_count_twice() -> None:
    # RecTools: NDCG@2 = 1.226, without a warning.
    truth = pl.DataFrame({"user": ["a", "a"], "item": ["x", "x"]})
    with pytest.raises(DuplicateTruth):
        rt.evaluate({"a": ["x", "y"]}, truth, metrics="ndcg@2")


def test_a_repeated_recommendation_does_not_count_twice() -> None:
    # RePlay: MAP@2 = 2.0, with a warning.
    with pytest.raises(DuplicateItems):
        rt.evaluate({"a": ["x", "x"]}, {"a": ["x"]}, metrics="map@2")


def test_ties_are_the_same_in_every_container() -> None:
    # RePlay: other values for pandas frames and dicts under ties.
    random = np.random.default_rng(3)
    rows = {
        "user": np.repeat(np.arange(20), 10), "item": np.tile(np.arange(10), 20),
        "score": random.integers(0, 3, 200).astype(float),
    }  # fmt: skip
    table = pl.DataFrame(rows)
    truth = {user: [int(random.integers(10))] for user in range(20)}
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    kinds = (table, table.to_pandas(), table.to_arrow(), table.to_dict(), shuffled)
    assert len({rt.evaluate(kind, truth, metrics="ndcg@5")["ndcg@5"] for kind in kinds}) == 1


def test_a_metric_is_the_same_beside_others() -> None:
    # Cornac sorts the top max(k) alone: MRR changes beside NDCG@5.
    scores = rt.Scores(np.random.default_rng(5).random((30, 50)))
    truth = {user: [user] for user in range(30)}
    alone = rt.evaluate(scores, truth, metrics="mrr")["mrr"]
    assert rt.evaluate(scores, truth, metrics=["ndcg@5", "mrr"])["mrr"] == alone


def test_a_cutoff_beyond_the_candidates_is_no_error() -> None:
    # Cornac: ValueError.
    found = rt.evaluate(rt.Scores(np.array([[0.2, 0.9]])), {0: [0]}, ["recall@50", "precision@50"])
    assert found["recall@50"] == 1.0
    assert found["precision@50"] == pytest.approx(1 / 50)

"""AUC metrics: by counting pairs, by hand, and as scikit-learn computes them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from judging import TIES, judged, ordered
from rectitude.errors import BadArgument, MissingNeed, UndefinedValue
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS

SCORES = [[5.0, 4.0, 3.0, 2.0, 1.0]]


def ratio(name: str, lists: Judged, k: int | None = None) -> list[tuple[float, float]]:
    found = METRICS[name].function(lists, k)
    return list(zip(found.above.tolist(), found.below.tolist(), strict=True))


def value(name: str, lists: Judged, k: int | None = None) -> float:
    ((above, below),) = ratio(name, lists, k)
    return above / below


def random_scores(seed: int, values: int = 6, rows: int = 40, columns: int = 12) -> tuple[Any, Any]:
    """Scores with few different values, and which items are relevant: at least one, not all."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, values, (rows, columns)).astype(float)
    relevant = random.random((rows, columns)) < 0.3
    relevant[:, 0], relevant[:, 1] = True, False
    return scores, relevant


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    # Relevant at ranks 1 and 4 of 5: the first is above 3 others, the second above 1.
    assert ratio("auc", judged(SCORES, [[0, 3]])) == [(3 + 1, 2 * 3)]
    assert value("auc", judged(SCORES, [[0, 1]])) == 1
    assert value("auc", judged(SCORES, [[3, 4]])) == 0


def test_auc_is_undefined_without_pairs() -> None:
    lists = judged(SCORES * 3, [[], [0, 1, 2, 3, 4], [9]])
    assert ratio("auc", lists) == [(0, 0), (0, 0), (0, 0)]


def test_relevant_items_without_a_rank_make_no_pairs() -> None:
    assert ratio("auc", judged(SCORES, [[1, 9]])) == [(3, 4)]


def test_auc_at_a_cutoff_uses_only_the_first_ranks() -> None:
    lists = judged(SCORES, [[0, 3]])
    assert ratio("auc", lists, 3) == [(2, 2)]  # rank 1 above the ranks 2 and 3
    assert ratio("auc", lists, 4) == [(2, 4)]
    assert ratio("auc", lists, 99) == ratio("auc", lists)


def test_auc_at_a_cutoff_is_0_if_all_or_none_are_relevant() -> None:
    assert ratio("auc", judged(SCORES, [[3]]), 2) == [(0, 1)]
    assert ratio("auc", judged(SCORES, [[0, 1]]), 2) == [(0, 1)]
    assert ratio("auc", judged(SCORES, [[]]), 2) == [(0, 0)]


@pytest.mark.parametrize("seed", range(5))
def test_auc_with_averaged_ties_is_that_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, relevant = random_scores(seed)
    lists = judged(scores.tolist(), [np.flatnonzero(row).tolist() for row in relevant], "average")
    for (above, below), row, wanted in zip(ratio("auc", lists), scores, relevant, strict=True):
        assert above / below == pytest.approx(metrics.roc_auc_score(wanted, row), rel=1e-14)


@pytest.mark.parametrize("ties", TIES)
def test_auc_counts_pairs_as_the_tie_rule_orders_them(ties: str) -> None:
    scores, relevant = random_scores(7)
    wanted = [np.flatnonzero(row).tolist() for row in relevant]
    found = ratio("auc", judged(scores.tolist(), wanted, ties))
    for (above, below), row, mine in zip(found, scores.tolist(), wanted, strict=True):
        place = {column: n for n, column in enumerate(ordered(row, mine, ties))}
        others = [column for column in place if column not in mine]
        if ties == "average":
            right = sum((row[a] > row[b]) + (row[a] == row[b]) / 2 for a in mine for b in others)
        else:
            right = sum(place[a] < place[b] for a in mine for b in others)
        assert (above, below) == (right, len(mine) * len(others))


def test_averaged_auc_is_refused_if_the_cutoff_splits_a_tie() -> None:
    lists = judged([[3.0, 1.0, 1.0, 1.0, 0.0]], [[0, 2]], "average")
    assert ratio("auc", lists, 1) == [(0, 1)]
    assert ratio("auc", lists, 4) == [(2 + 1, 2 * 2)]
    with pytest.raises(
        BadArgument, match="the cutoff 2 splits a tie that includes a relevant item"
    ):
        ratio("auc", lists, 2)


def test_gauc_weighs_lists_by_their_relevant_items() -> None:
    lists = judged(SCORES * 2, [[0, 3], [4]])
    assert ratio("gauc", lists) == [(2 * (4 / 6), 2), (0, 1)]
    assert METRICS["gauc"].fixed == {"average": "micro", "unit": "list"}
    assert ratio("gauc", judged(SCORES, [[]])) == [(0, 0)]


def test_limited_auc_credits_unlisted_items_with_the_mean_of_hits_and_relevant() -> None:
    # The top 3 hold a hit at 1 and misses at 2 and 3 (1 hit above each); of 3 negatives 1 is left.
    lists = judged(SCORES, [[0, 3]])
    assert value("limited_auc", lists, 3) == (1 + 1 + (1 + 2) / 2 * 1) / (2 * 3)
    assert value("limited_auc", lists, 1) == ((1 + 2) / 2 * 3) / (2 * 3)


def test_limited_auc_of_lists_needs_only_the_number_of_items() -> None:
    # 5 items, 2 relevant: a hit at 1, a miss at 2 with 1 hit above it, 2 negatives below.
    lists, truth, items = {"u": ["a", "b"]}, {"u": ["a", "e"]}, {"item": list("abcde")}
    evaluation = rt.evaluate(lists, truth, "limited_auc@2", items=items)
    assert evaluation["limited_auc@2"] == (1 + (1 + 2) / 2 * 2) / (2 * 3)
    with pytest.raises(MissingNeed, match="the number of items that could be ranked"):
        _ = rt.evaluate(lists, truth, "limited_auc@2")["limited_auc@2"]


def test_implicit_counts_items_of_the_training_data_as_negatives() -> None:
    # b is masked and ranked last: a is a hit, c a miss with a hit above it, b is unlisted.
    scores, truth, train = rt.Scores([[3.0, 9.0, 2.0]]), {0: [0]}, {0: [1]}
    value = rt.evaluate(scores, truth, "auc@2", "implicit", train=train)["auc@2"]
    assert value == (1 + (1 + 1) / 2 * 1) / (1 * 2)


def test_auc_of_relevant_candidates_only_is_undefined_or_0() -> None:
    scores, truth = rt.Scores([[2.0, 1.0]]), {0: [0, 1]}
    assert rt.evaluate(scores, truth, "auc[one_kind=zero]")["auc[one_kind=zero]"] == 0
    with pytest.raises(UndefinedValue):
        _ = rt.evaluate(scores, truth, "auc")["auc"]


def test_a_logistic_function_turns_large_scores_of_lists_into_ties() -> None:
    # 1 / (1 + exp(-x)) is 1 in float32 for 20 and 30, which tie: half a pair. In the second list
    # all scores are within 0 and 1 and stay as they are.
    lists = {"u": {"a": 20.0, "b": 30.0}, "v": {"a": 0.2, "b": 0.3}}
    truth, switches = {"u": ["a"], "v": ["b"]}, {"score_precision": "logistic", "ties": "average"}
    candidates = {"u": ["a", "b"], "v": ["a", "b"]}
    evaluation = rt.evaluate(lists, truth, "auc", switches, candidates=candidates)
    assert evaluation.per_list()["auc"].to_list() == [1 / 2, 1]


@pytest.mark.parametrize("ties", ["pessimistic", "item_ascending"])
def test_limited_auc_of_the_whole_list_is_auc(ties: str) -> None:
    scores, relevant = random_scores(3)
    lists = judged(scores.tolist(), [np.flatnonzero(row).tolist() for row in relevant], ties)
    assert ratio("limited_auc", lists) == ratio("auc", lists)
    assert ratio("limited_auc", lists, 12) == ratio("auc", lists)


@pytest.mark.parametrize("seed", range(5))
def test_lrap_with_averaged_ties_is_that_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, relevant = random_scores(seed)
    lists = judged(scores.tolist(), [np.flatnonzero(row).tolist() for row in relevant], "average")
    for (above, below), row, wanted in zip(ratio("lrap", lists), scores, relevant, strict=True):
        theirs = metrics.label_ranking_average_precision_score([wanted], [row])
        assert above / below == pytest.approx(theirs, rel=1e-14)


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "item_descending"])
def test_lrap_of_one_order_is_average_precision(ties: str) -> None:
    scores, relevant = random_scores(11)
    lists = judged(scores.tolist(), [np.flatnonzero(row).tolist() for row in relevant], ties)
    for k in (None, 1, 4):
        found = METRICS["map"].function(lists, k, ap_over=lambda lists, k: lists.relevant)
        assert ratio("lrap", lists, k) == list(zip(found.above, found.below, strict=True))


def test_a_relevant_item_that_is_not_ranked_adds_nothing_to_lrap() -> None:
    assert ratio("lrap", judged(SCORES, [[1, 9]])) == [(1 / 2, 2)]
    assert ratio("lrap", judged(SCORES, [[0, 3]]), 2) == [(1, 2)]


def test_averaged_auc_is_the_mean_over_all_orders_of_tied_items() -> None:
    row, wanted = [3.0, 1.0, 1.0, 1.0, 0.0], [1, 3]
    averaged = value("auc", judged([row], [wanted], "average"))
    each = []
    for order in permutations([1, 2, 3]):
        broken = [3.0, 0.0, 0.0, 0.0, 0.0]
        for place, column in enumerate(order):
            broken[column] = 2.0 - place / 10
        each.append(value("auc", judged([broken], [wanted])))
    assert averaged == pytest.approx(sum(each) / len(each), rel=1e-15)


@pytest.mark.parametrize("ties", TIES)
def test_evaluating_scores_gives_what_the_plain_order_gives(ties: str) -> None:
    scores, relevant = random_scores(2)
    wanted = [np.flatnonzero(row).tolist() for row in relevant]
    lists = judged(scores.tolist(), wanted, ties)
    names = ["auc", "lrap", "mean_rank", *([] if ties == "average" else ["limited_auc", "auc@5"])]
    evaluation = rt.evaluate(rt.Scores(scores), dict(enumerate(wanted)), names, {"ties": ties})
    for name in names:
        base, _, k = name.partition("@")
        pairs = ratio(base, lists, int(k) if k else None)
        mean = sum(above / below for above, below in pairs) / len(pairs)
        assert evaluation[name] == pytest.approx(mean, rel=1e-13), name


def test_group_auc_pools_lists_by_their_relevant_items() -> None:
    scores, relevant = random_scores(4)
    wanted = [np.flatnonzero(row).tolist() for row in relevant]
    pairs = ratio("auc", judged(scores.tolist(), wanted))
    weights = [len(mine) for mine in wanted]
    expected = sum(w * a / b for w, (a, b) in zip(weights, pairs, strict=True)) / sum(weights)
    names = ["gauc", "gauc[average=macro]", "auc"]
    found = rt.evaluate(rt.Scores(scores), dict(enumerate(wanted)), names)
    assert found["gauc"] == pytest.approx(expected, rel=1e-13)
    assert found["gauc[average=macro]"] == pytest.approx(found["auc"], rel=1e-13)


def test_a_partial_auc_ends_at_a_share_of_the_other_items() -> None:
    # a x b y z w: up to 2 of 4 misses, a adds an area of 2 and b of 1, so 3 / (2 * 4); a perfect
    # list has 0.5, random guessing 0.5^2 / 2, which become 1 and 0.5.
    scores = rt.Scores(
        np.array([[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]), users=["u"], items=list("axbyzw")
    )
    name = "auc[max_fpr=0.5]"
    found = rt.evaluate(scores, {"u": ["a", "b"]}, name)[name]
    assert found == pytest.approx(0.5 * (1 + (3 / 8 - 1 / 8) / (1 / 2 - 1 / 8)), rel=1e-15)
    tied = rt.Scores(np.array([[6.0, 6.0, 4.0, 3.0, 2.0, 1.0]]), users=["u"], items=list("axbyzw"))
    found = rt.evaluate(tied, {"u": ["a", "b"]}, name, {"ties": "average"})[name]
    # a ties with x: it adds 1/2 for the first miss and 1 for the second.
    assert found == pytest.approx(0.5 * (1 + (2.5 / 8 - 1 / 8) / (1 / 2 - 1 / 8)), rel=1e-15)


def test_a_rate_above_1_is_an_error() -> None:
    scores = rt.Scores(np.array([[2.0, 1.0]]), users=["u"], items=["a", "x"])
    with pytest.raises(BadArgument, match="max_fpr is 2"):
        _ = rt.evaluate(scores, {"u": ["a"]}, "auc[max_fpr=2]")["auc[max_fpr=2]"]


def test_a_matrix_of_recommendations_says_how_many_items_there_are() -> None:
    # 5 columns. Percentile ranking: ranks 1 and 2 are 0 and 1/5 down; an item that is not in the
    # list of 2 is halfway between 1/5 and 1.
    lists = csr_matrix(np.array([[0, 3.0, 2.0, 0, 0], [0, 0, 0, 1.0, 5.0]]))
    truth = csr_matrix(np.array([[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]]))
    names = ["percentile_ranking", "item_coverage@1", "catalogue_mcc@2"]
    by_columns = rt.evaluate(lists, truth, names)
    assert by_columns["percentile_ranking"] == pytest.approx((0 + 3 / 5 + 1 / 5) / 3, rel=1e-15)
    assert by_columns["item_coverage@1"] == 2 / 5
    by_table = rt.evaluate(lists, truth, names, items={"item": [0, 1, 2, 3, 4]})
    assert by_columns.values() == by_table.values()
    scores = rt.evaluate(rt.Scores([[5.0, 4.0, 3.0, 2.0]]), {0: [1]}, "percentile_ranking")
    assert scores["percentile_ranking"] == 1 / 4

"""Users and items that are not in the training data, with dense scores: Cornac's rules, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import BadArgument
from rectitude.evaluation.inputs import RawInputs
from rectitude.explanation.trials import Trials
from rectitude.metrics.names import parse

SCORES = [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]]
ITEMS = ["a", "b", "c", "d"]


def scores(**more: Any) -> rt.Scores:
    return rt.Scores(SCORES, users=["u", "v"], items=ITEMS, **more)


def value(metric: str, truth: Any, convention: dict[str, Any], **given: Any) -> float:
    predictions = given.pop("predictions", scores())
    return rt.evaluate(predictions, truth, metric, convention, **given)[metric]


def test_an_item_without_a_score_ties_with_the_lowest_of_the_row() -> None:
    # u: a b c, then d and z tied: z is above no other item, or shares the last rank with d.
    truth = {"u": ["a", "z"]}
    lowest = {"unknown_items": "lowest"}
    assert value("auc", truth, lowest) == 3 / 6  # a above b, c, d; z above none
    assert value("auc", truth, lowest | {"ties": "average"}) == 3.5 / 6
    assert value("mrr", {"u": ["z"]}, lowest) == 1 / 5
    assert value("mrr", {"u": ["z"]}, lowest | {"ties": "optimistic"}) == 1 / 4
    # without a score it is in no pair and never a hit
    assert value("auc", truth, {}) == 3 / 3
    assert value("mrr", {"u": ["z"]}, {}) == 0


def test_items_without_a_score_are_ranked_for_every_user() -> None:
    # v's truth has a score; z and y, which only u has, are tied with a, the lowest score of v.
    truth = {"u": ["z", "y"], "v": ["a"]}
    evaluation = rt.evaluate(scores(), truth, ["mrr"], {"unknown_items": "lowest"})
    # u: a b c, then d, y, z: the first of the two is pessimistically fifth; v: d c b, then a, y, z
    assert evaluation.result("mrr").values.tolist() == [1 / 5, 1 / 6]


def test_the_padding_item_is_not_the_lowest() -> None:
    padded = scores(padding="d")
    # u: a b c and z as low as c; d, whose score is lower still, is padding
    lowest = {"unknown_items": "lowest", "ties": "average"}
    assert value("auc", {"u": ["z"]}, lowest, predictions=padded) == (0 + 0.5) / 3


def test_embeddings_are_extended_as_well() -> None:
    vectors = rt.Embeddings(np.array([[1.0]]), np.array([[3.0], [1.0], [2.0]]), items=range(3))
    lowest = {"unknown_items": "lowest"}
    assert value("mrr", {0: [9]}, lowest, predictions=vectors) == 1 / 4


def test_added_items_do_not_stay_for_the_next_evaluation() -> None:
    plain = rt.Scores([[3.0, 1.0, 2.0]], items=range(3))
    before = value("ndcg[ideal=returned]@9", {0: [1, 9]}, {}, predictions=plain)
    value("mrr", {0: [9]}, {"unknown_items": "lowest"}, predictions=plain)
    assert value("ndcg[ideal=returned]@9", {0: [1, 9]}, {}, predictions=plain) == before


def test_unknown_items_in_lists_are_misses_unless_recommended() -> None:
    lists, train = {"u": ["z", "a"]}, {"u": ["a"]}
    for choice in ("keep", "lowest"):
        switches = {"unknown_items": choice}
        assert value("recall", {"u": ["z", "y"]}, switches, predictions=lists, train=train) == 1 / 2


def test_users_who_are_not_in_the_training_data_have_equal_scores() -> None:
    given = {"train": {"v": ["d"]}}
    truth = {"u": ["a"], "v": ["c"]}
    tied = {"unknown_users": "tied"}
    # u: all four are equal; v: d is masked, so c is first of three
    assert value("auc", truth, tied, **given) == (0 / 3 + 2 / 2) / 2
    assert value("auc", truth, tied | {"ties": "average"}, **given) == (0.5 + 1) / 2
    assert value("auc", truth, {}, **given) == 1
    assert value("auc", truth, tied) == (1 + 2 / 3) / 2  # no training data is given


def test_only_relevant_training_items_are_masked() -> None:
    train = {"u": {"a": 1, "b": 5}}
    switches = {"seen_items": "relevant_outside_truth", "relevant_from": 4}
    truth = {"u": {"c": 5}}
    assert value("mrr", truth, switches, train=train) == 1 / 2  # after a
    assert value("mrr", truth, switches | {"seen_items": "all"}, train=train) == 1 / 1
    assert value("mrr", truth, switches | {"seen": "kept"}, train=train) == 1 / 3
    # every user of train is known, also one whose items mask nothing
    known = switches | {"unknown_users": "drop"}
    assert value("mrr", truth, known, train={"u": {"a": 1}}) == 1 / 3
    # without grades all are relevant
    assert (
        value("mrr", truth, {"seen_items": "relevant_outside_truth"}, train={"u": ["a"]}) == 1 / 2
    )


def test_items_of_the_truth_need_not_count_as_seen() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    for train in ({"u": ["a", "b"]}, matrix):
        # b, second by score and first after a, is relevant and in the training data
        assert value("mrr", {"u": ["b"]}, {}, train=train) == 0
        outside = {"seen_items": "outside_truth"}
        assert value("mrr", {"u": ["b"]}, outside, train=train) == 1 / 1
        # judged as not relevant it is seen like any other
        graded = {"u": {"b": 1, "c": 5}}
        assert value("mrr", graded, outside | {"relevant_from": 2}, train=train) == 1 / 1
        assert value("map", graded, outside, train=train) == (1 / 1 + 2 / 2) / 2


def test_a_sparse_matrix_masks_by_its_values() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    train = sparse.csr_matrix(np.array([[1.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    switches = {"seen_items": "relevant_outside_truth", "relevant_from": 4}
    assert value("mrr", {"u": {"c": 5}}, switches, train=train) == 1 / 2
    assert train.nnz == 2


def test_only_relevant_training_items_leave_the_candidates() -> None:
    switches = {"seen_items": "relevant_outside_truth", "relevant_from": 4}
    given = {"train": {"u": {"a": 1, "b": 5}}, "candidates": {"u": ["a", "b", "c"]}}
    assert value("mrr", {"u": {"c": 5}}, switches, **given) == 1 / 2


@pytest.mark.parametrize("setting", [
    "unknown_items=lowest", "unknown_users=tied", "seen_items=relevant_outside_truth",
])  # fmt: skip
def test_a_single_metric_cannot_change_how_scores_are_opened(setting: str) -> None:
    switch, _, choice = setting.partition("=")
    names = ["mrr", f"mrr[{setting}]"]
    evaluation = rt.evaluate(scores(), {"u": ["a"]}, names, train={"v": ["a"]})
    assert evaluation["mrr"] == 1
    error = evaluation.failures[f"mrr[{setting}]"]
    assert isinstance(error, BadArgument)
    assert f"convention={{'{switch}': '{choice}'}}" in str(error)
    whole = rt.evaluate(scores(), {"u": ["a"]}, names, {switch: choice}, train={"v": ["a"]})
    assert whole[names[0]] == whole[names[1]]


def test_trials_open_their_inputs_again_for_such_choices() -> None:
    truth, train = {"u": {"a": 5, "z": 5}}, {"v": {"a": 1}, "u": {"b": 1}}
    inputs = dict.fromkeys(("items", "users", "weights", "candidates"))
    given = RawInputs({"predictions": scores(), "truth": truth, "train": train, **inputs})
    start = rt.PROFILES["default"].replace(relevant_from=2)
    trials = Trials(given, [start.resolve(parse("auc")[0])])
    changes: list[dict[str, Any]] = [
        {}, {"seen_items": "relevant_outside_truth"}, {"unknown_items": "lowest"}, {"seen": "kept"},
    ]  # fmt: skip
    for change in changes:
        asked = start.replace(**change).resolve(parse("auc")[0])
        alone = value("auc", truth, {"relevant_from": 2, **change}, train=train)
        assert trials.result(asked).value == alone, change


def test_cornac_drops_or_keeps_unknown_users_and_items() -> None:
    train = {"u": {"a": 1, "b": 2, "c": 1, "d": 1}}
    truth = {"u": {"c": 2, "z": 2}, "v": {"a": 2}}
    drop = {"profile": "cornac", "relevant_from": 2}
    # u: b is masked, z dropped: a c d, c above d alone; v is not in the training data
    assert value("auc", truth, drop, train=train) == 1 / 2
    assert value("map", truth, drop, train=train) == 1 / 2
    keep = drop | {"unknown_users": "tied", "unknown_items": "lowest"}
    # u: a c d, with z as low as d: c above d, z above none of a, d
    # v: a b c d z, all equal: a takes the last of five ranks
    assert value("auc", truth, keep, train=train) == (1 / 4 + 0 / 4) / 2
    assert value("map", truth, keep, train=train) == ((1 / 2 + 2 / 4) / 2 + 1 / 5) / 2

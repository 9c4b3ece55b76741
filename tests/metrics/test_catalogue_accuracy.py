"""Accuracy over a catalogue, label ranking errors, partial AUC and weighted hits, by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from judging import judged
from rectitude.errors import BadArgument, MissingNeed
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS

# The first 2 of the list hold one of two relevant items; the catalogue holds 10 items.
LIST, TRUTH, TEN = {"u": ["a", "x", "y"]}, {"u": ["a", "b"]}, list("abxyzcdefg")
SCORES = [[5.0, 4.0, 3.0, 2.0, 1.0]]


def value(name: str, truth: Any = TRUTH, items: Any = TEN, **switches: Any) -> float:
    return rt.evaluate(LIST, truth, name, switches, items=items)[name]


def ratio(name: str, lists: Judged, k: int | None = None) -> list[tuple[float, float]]:
    found = METRICS[name].function(lists, k)
    return list(zip(found.above.tolist(), found.below.tolist(), strict=True))


def test_accuracy_over_the_catalogue_counts_items_that_are_correctly_left_out() -> None:
    # at 2: a is a hit, x wrong, b missed; the 7 others are neither listed nor relevant
    assert value("catalogue_accuracy@2") == (1 + 7) / 10
    assert value("catalogue_accuracy") == (1 + 6) / 10  # the whole list: x and y wrong


def test_empty_positions_of_a_short_list_count_as_recommended() -> None:
    # at 5: a is a hit, 4 positions are wrong, b is missed: 4 are left
    assert value("catalogue_accuracy@5") == (1 + 4) / 10
    assert value("catalogue_accuracy@20") == (1 + (10 - 20 - 1)) / 10


def test_correlation_over_the_catalogue_is_that_of_two_columns_of_zeros_and_ones() -> None:
    listed, relevant = [1, 1, *[0] * 8], [1, 0, 1, *[0] * 7]
    expected = np.corrcoef(listed, relevant)[0, 1]
    assert value("catalogue_mcc@2") == pytest.approx(expected, rel=1e-14)
    assert value("catalogue_mcc@2") == (1 * 7 - 1 * 1) / sqrt((1 + 1) * (1 + 1) * (7 + 1) ** 2)


def test_correlation_is_0_if_all_items_are_listed_and_undefined_if_they_do_not_fit() -> None:
    three = {"items": list("axy"), "truth": {"u": ["a"]}}
    assert value("catalogue_mcc@3", **three) == 0
    assert np.isnan(value("catalogue_mcc@4", **three, undefined="nan"))


def test_repeated_rows_of_a_catalogue_are_one_item() -> None:
    assert value("catalogue_accuracy@2", items=TEN + TEN) == value("catalogue_accuracy@2")


def test_catalogue_metrics_say_that_they_need_a_catalogue() -> None:
    for name in ("catalogue_accuracy@2", "catalogue_mcc@2", "percentile_ranking"):
        with pytest.raises(MissingNeed, match="needs the number of items"):
            value(name, items=None)


def test_percentile_ranking_puts_unlisted_items_in_the_middle_of_the_rest() -> None:
    # a: position 0 of 10; b: between position 2, the last of the list, and the end
    assert value("percentile_ranking") == pytest.approx((0 / 10 + (2 / 10 + 1) / 2) / 2, rel=1e-15)


def test_percentile_ranking_weights_all_relevant_items_equally() -> None:
    lists, truth = {"u": ["a"], "v": ["x", "a"]}, {"u": ["a"], "v": ["x", "a"], "w": ["a"]}
    found = rt.evaluate(lists, truth, "percentile_ranking", items=["a", "x", "y", "z"])
    # positions 0; 0 and 1; and for w, who has no list, the middle
    assert found["percentile_ranking"] == (0 + (0 + 1 / 4) + (0 + 1) / 2) / 4


def test_coverage_error_is_the_rank_of_the_last_relevant_item() -> None:
    assert ratio("coverage_error", judged(SCORES, [[0, 3]])) == [(4, 1)]
    # without relevant items, and with one that is not ranked
    assert ratio("coverage_error", judged(SCORES * 2, [[], [0, 9]])) == [(0, 0), (0, 0)]


def test_label_ranking_loss_is_the_share_of_pairs_in_the_wrong_order() -> None:
    # ranks 1 and 4 of 5: the second is below 2 of the 3 others
    assert ratio("label_ranking_loss", judged(SCORES, [[0, 3]])) == [(0 + 2, 2 * 3)]
    assert ratio("label_ranking_loss", judged(SCORES, [[0, 1, 2, 3, 4]])) == [(0, 0)]


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_label_rankings_are_those_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(seed)
    scores = random.integers(0, 6, (40, 12)).astype(float)
    relevant = random.random((40, 12)) < 0.3
    truth = {row: np.flatnonzero(flags).tolist() for row, flags in enumerate(relevant)}
    names = ["coverage_error", "label_ranking_loss"]
    ours = rt.evaluate(rt.Scores(scores), truth, names, "sklearn")
    for name, theirs in zip(names, ("coverage_error", "label_ranking_loss"), strict=True):
        assert ours[name] == pytest.approx(getattr(metrics, theirs)(relevant, scores), rel=1e-13)


def test_fall_out_is_the_share_of_non_relevant_items_in_the_top() -> None:
    assert ratio("fall_out", judged(SCORES, [[0, 3]]), 3) == [(2, 3)]
    assert ratio("fall_out", judged(SCORES, [[0, 3]])) == [(3, 3)]
    assert ratio("fall_out", judged(SCORES, [[]]), 2) == [(2, 5)]
    assert ratio("fall_out", judged(SCORES, [[0, 1, 2, 3, 4]]), 2) == [(0, 0)]


def test_fall_out_is_defined_for_rows_without_relevant_items() -> None:
    convention = {"truth_needed": "none", "without_relevant": "undefined", "undefined": "one"}
    found = rt.evaluate(rt.Scores(SCORES * 2), {0: [0]}, "fall_out@1 hit@1", convention)
    assert found["fall_out@1"] == (0 / 4 + 1 / 5) / 2
    assert found["hit@1"] == (1 + 1) / 2


def test_list_auc_is_1_if_all_are_hits_and_0_without_hits() -> None:
    truth = {"u": ["a", "x"]}
    assert value("list_auc@2", truth) == 1
    assert value("list_auc", truth) == 1
    assert value("list_auc", {"u": ["z"]}) == 0
    assert value("list_auc", {"u": ["a", "y"]}) == 1 / 2  # a is above x, y is not


def test_a_list_that_ends_too_early_has_no_strict_partial_auc() -> None:
    # misses x and y; b is not listed
    assert value("pauc_strict@2") == value("pauc@2") == 2 / (2 * 2)
    assert np.isnan(value("pauc_strict@3", undefined="nan"))
    assert value("pauc@3") == 3 / (3 * 2)
    assert value("pap_strict@2") == value("pap@2") == 2 / (2 * 2)
    assert np.isnan(value("pap_strict@3", undefined="nan"))
    # all relevant items are listed: the other misses are below them
    assert value("pauc_strict@3", {"u": ["a", "x"]}) == 1


def test_partial_auc_may_look_below_the_cutoff_for_its_misses() -> None:
    lists = {"u": ["a", "x", "b", "c"]}
    found = rt.evaluate(lists, {"u": ["a", "b", "c"]}, ["pauc@2", "pap@2", "pap@1"])
    assert found["pauc@2"] == (2 + 1 + 1) / (2 * 3)
    assert found["pap@2"] == (2 + 1) / (2 * 2)
    assert found["pap@1"] == 1 / 1


def test_r_precision_of_lists_with_a_hit_leaves_the_others_out() -> None:
    lists, truth = {"u": ["a", "x"], "v": ["x", "a"]}, {"u": ["a", "b"], "v": ["a"]}
    found = rt.evaluate(lists, truth, ["rprec_found", "rprec"], {"average": "micro"})
    assert found["rprec_found"] == 1 / 2  # v has its only hit below its first R = 1
    found = rt.evaluate(lists, truth, ["rprec_found", "rprec"], {"undefined": "zero"})
    assert found["rprec_found"] == found["rprec"] == (1 / 2 + 0) / 2


def test_a_depth_is_a_whole_number() -> None:
    for wrong in ("0", "2.5"):
        with pytest.raises(BadArgument, match="depth is"):
            value(f"deep_precision[depth={wrong}]@3")


def test_a_hit_counts_by_how_rare_its_item_is_in_the_training_data() -> None:
    truth, train = {"u": ["a", "b", "x", "y"]}, {"user": ["t"] * 6, "item": list("aaaaxb")}
    names = ["propensity_hits@1", "propensity_hits", "propensity_hits[largest=2]"]
    found = rt.evaluate(LIST, truth, names, train=train)
    assert found["propensity_hits@1"] == 6 / 4
    assert found["propensity_hits"] == 6 / 4 + 6 / 1  # y is not in the training data
    assert found["propensity_hits[largest=2]"] == 6 / 4 + 2


def test_propensity_hits_work_with_dense_scores_and_ties() -> None:
    scores, train = rt.Scores([[1.0, 1.0, 0.0]], users=["u"]), {"v": [0, 1], "t": [0]}
    evaluate = rt.evaluate(scores, {"u": [0, 1]}, "propensity_hits@2", train=train)
    assert evaluate["propensity_hits@2"] == 3 / 2 + 3 / 1


def test_propensity_hits_say_that_they_need_train() -> None:
    with pytest.raises(MissingNeed, match="needs the training data"):
        value("propensity_hits@2")

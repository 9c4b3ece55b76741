"""Special cases: missing data, and peculiarities of single metrics; arithmetic shown."""

from __future__ import annotations

from math import log2

import pytest

import rectitude as rt
from rectitude.errors import RectitudeError, UndefinedValue

NEED_A_HIT = {"list_auc_strict", "pauc_strict", "pap_strict", "rprec_found"}  # 0/0 without one
NEED_A_PAIR = {"graded_auc", "all_pairs_auc"}  # of ranked items; 0/0 without one
# the length of a list, with or without hits
OF_ANY_ITEM = {"list_length", "filled_share", "full_list_share", "covered_share"}
OF_MISSES = {"unlike_reference"}  # higher, the less a list shares with the truth
# The metrics that need nothing but lists and are 0 at worst.
RISING = [
    name
    for name, m in rt.METRICS.items()
    if not m.requires
    and (m.best, m.bounds[0]) == ("high", 0)
    and name not in NEED_A_HIT | NEED_A_PAIR | OF_ANY_ITEM | OF_MISSES
    and (m.overall, m.cutoff) == ("mean", "optional")
]


def value(lists: object, truth: object, name: str, convention: object = None) -> float:
    return rt.evaluate(lists, truth, name, convention)[name]


def test_f_unsquared_takes_beta_as_the_weight_of_recall() -> None:
    # P = 1/4, R = 1/2: 3 PR / (2P + R) = (3/8) / 1
    lists, truth = {"u": ["a", "x", "y", "z"]}, {"u": ["a", "b"]}
    assert value(lists, truth, "f_unsquared[beta=2]") == 3 / 8
    scored = {"u": {"a": 4, "x": 3, "y": 2, "z": 1}}
    assert value(scored, truth, "set_f[beta=2]", "ir_measures") == 3 / 8
    assert value(lists, truth, "f_unsquared") == value(lists, truth, "f1")


def test_bpref_counts_the_negatives_above_each_hit() -> None:
    # n1 a n2 b x n3; R = 2 (a, b), N = 3: a has 1 negative above, b has 2; min(N, R) = 2.
    lists = {"u": ["n1", "a", "n2", "b", "x", "n3"]}
    truth = {"u": {"a": 1, "b": 1, "n1": 0, "n2": 0, "n3": 0}}
    assert value(lists, truth, "bpref") == ((1 - 1 / 2) + (1 - 2 / 2)) / 2
    assert value(lists, truth, "bpref@2") == ((1 - 1 / 2) + 0) / 2


def test_bpref_divides_by_the_negatives_if_there_are_fewer_than_relevant_items() -> None:
    # n a b c; R = 3, N = 1: every hit has 1 negative above; min(N, R) = 1.
    lists, truth = {"u": ["n", "a", "b", "c"]}, {"u": {"a": 1, "b": 1, "c": 1, "n": 0}}
    assert value(lists, truth, "bpref") == (0 + 0 + 0) / 3
    # a n b c: a has none above.
    assert value({"u": ["a", "n", "b", "c"]}, truth, "bpref") == (1 + 0 + 0) / 3


def test_bpref_counts_at_most_as_many_negatives_as_there_are_relevant_items() -> None:
    # n1 n2 n3 a; R = 1, N = 3: min(3 above, R = 1) / min(N, R) = 1.
    lists, truth = {"u": ["n1", "n2", "n3", "a"]}, {"u": {"a": 1, "n1": 0, "n2": 0, "n3": 0}}
    assert value(lists, truth, "bpref") == 1 - 1 / 1


def test_bpref_without_negatives_is_the_share_of_relevant_items_found() -> None:
    assert value({"u": ["x", "a"]}, {"u": ["a", "b"]}, "bpref") == 1 / 2


def test_bpref_strict_is_undefined_if_a_hit_has_no_negative() -> None:
    lists, truth = {"u": ["x", "a"], "v": ["c", "n"]}, {"u": {"a": 1}, "v": {"c": 1, "n": 0}}
    failed = rt.evaluate(lists, truth, "bpref_strict").failures["bpref_strict"]
    assert isinstance(failed, UndefinedValue)
    assert value(lists, truth, "bpref_strict", {"undefined": "zero"}) == (0 + 1) / 2
    assert value(lists, truth, "bpref_strict", {"undefined": "skip"}) == 1
    # without a hit: 0
    assert value({"u": ["x"], "v": ["c"]}, truth, "bpref_strict") == (0 / 1 + 1 / 1) / 2


def test_bpref_strict_is_0_without_relevant_items() -> None:
    lists, truth = {"u": ["x"], "v": ["c"]}, {"u": {"x": 0}, "v": {"c": 1, "n": 0}}
    assert value(lists, truth, "bpref_strict", {"truth_needed": "judged"}) == (0 / 1 + 1 / 1) / 2


def test_rmrr_depends_on_the_order_of_the_truth() -> None:
    lists = {"u": ["a", "b", "c"]}
    assert value(lists, {"u": ["a", "b", "c"]}, "rmrr") == (1 + 1 + 1) / 3
    # c b a: distances 2, 0, 2
    assert value(lists, {"u": ["c", "b", "a"]}, "rmrr") == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    # positions count all items of the list: x is at position 0, a at 1
    assert value({"u": ["x", "a"]}, {"u": ["a"]}, "rmrr") == 1 / 2


def test_err_starts_again_in_every_list() -> None:
    # binary, stop = 1/2: u: hits at 1 and 2; v: hit at 2
    lists, truth = {"u": ["a", "b"], "v": ["x", "a"]}, {"u": ["a", "b"], "v": ["a"]}
    of_u, of_v = 1 / 2 + (1 / 2) * (1 / 2) / 2, (1 / 2) / 2
    assert value(lists, truth, "err") == (of_u + of_v) / 2


def test_f1_is_0_if_precision_and_recall_are_0() -> None:
    assert value({"u": ["x"]}, {"u": ["a"]}, "f1") == 0
    assert value({"u": ["x"]}, {"u": ["a"]}, "f1@5") == 0
    assert value({"u": ["x"]}, {"u": ["a"]}, "f1_of_means") == 0


def test_f1_without_hits_can_be_undefined() -> None:
    lists, truth = {"u": ["x"], "v": ["a"]}, {"u": ["a"], "v": ["a"]}
    name = "f1[f1_without_hits=undefined]"
    assert name in rt.evaluate(lists, truth, name).failures
    assert value(lists, truth, name, {"undefined": "skip"}) == 1
    assert value(lists, truth, "f1") == (0 + 1) / 2


def test_f1_is_the_mean_of_the_lists_and_f1_of_means_the_f1_of_the_means() -> None:
    # u: P = 1/1, R = 1/4; v: P = 0, R = 0
    lists, truth = {"u": ["a"], "v": ["x"]}, {"u": ["a", "b", "c", "d"], "v": ["a"]}
    assert value(lists, truth, "f1@1") == (2 * 1 * (1 / 4) / (1 + 1 / 4) + 0) / 2
    p, r = (1 + 0) / 2, (1 / 4 + 0) / 2
    assert value(lists, truth, "f1_of_means@1") == 2 * p * r / (p + r)


def test_f1_of_means_uses_the_given_choices() -> None:
    lists, truth = {"u": ["a", "x"]}, {"u": ["a", "b"]}
    # P = 1/5 of the cutoff, or 1/2 of what was returned; R = 1/2
    assert value(lists, truth, "f1_of_means@5") == pytest.approx(2 * 0.2 * 0.5 / (0.2 + 0.5))
    assert value(lists, truth, "f1_of_means[precision_over=returned]@5") == 1 / 2


def test_f1_of_means_is_shown_in_percent_and_rounded_like_other_metrics() -> None:
    lists, truth = {"u": ["a", "x"]}, {"u": ["a", "b", "c"]}
    p, r = 1 / 2, 1 / 3
    shown = value(lists, truth, "f1_of_means@2", {"scale": "percent", "decimals": 1})
    assert shown == round(100 * 2 * p * r / (p + r), 1)


def test_a_list_without_hits_has_0_in_every_metric() -> None:
    evaluation = rt.evaluate(
        {"u": ["x", "y"]}, {"u": {"a": 1, "b": 2, "n": 0}},
        [f"{name}{at}" for name in RISING for at in ("", "@1", "@5")],
    )  # fmt: skip
    assert evaluation.values() == dict.fromkeys(evaluation, 0.0)
    assert not evaluation.failures


def test_a_missing_list_has_0_in_every_metric_that_does_not_divide_by_its_length() -> None:
    lists, truth = {"v": ["c"]}, {"u": {"a": 1, "n": 0}, "v": {"c": 1, "n": 0}}
    evaluation = rt.evaluate(lists, truth, [f"{name}@1" for name in RISING])
    halves = {name for name, mean in evaluation.values().items() if mean == 1 / 2}
    assert halves == {f"{name}@1" for name in RISING} - {
        "rbp@1",
        "err@1",
        "scaled_rbp@1",
        "judged@1",
        "reference_overlap@1",
        "least_item_promoted@1",  # not a share: the list starts with the first item of the truth
    }
    assert evaluation["least_item_promoted@1"] == (0 + 0) / 2
    for over_what_was_returned in ("judged@1", "reference_overlap@1"):
        assert isinstance(evaluation.failures[over_what_was_returned], UndefinedValue)
    assert evaluation["rbp@1"] == pytest.approx(0.2 / 2, rel=1e-15)
    assert evaluation["err@1"] == 1 / 2 / 2


def test_the_length_of_lists_does_not_depend_on_hits() -> None:
    # u: two items, neither of them judged; v: no list
    lists, truth = {"u": ["x", "y"]}, {"u": ["a"], "v": ["a"]}
    assert value(lists, truth, "list_length@5") == (2 + 0) / 2
    assert value(lists, truth, "filled_share@5") == (2 / 5 + 0 / 5) / 2
    assert value(lists, truth, "full_list_share@2") == (1 + 0) / 2
    assert value(lists, truth, "full_list_share@3") == (0 + 0) / 2
    assert value(lists, truth, "covered_share@3") == (1 + 0) / 2


def test_unlike_reference_is_1_without_shared_items_and_undefined_for_a_missing_list() -> None:
    # u: neither of two items is in the truth; w: one of two is; v: no list
    lists, truth = {"u": ["x", "y"], "w": ["a", "x"]}, {"u": ["a"], "w": ["a"], "v": ["a"]}
    name = "unlike_reference@2"
    assert isinstance(rt.evaluate(lists, truth, name).failures[name], UndefinedValue)
    assert value(lists, truth, name, {"undefined": "skip"}) == ((2 - 0) / 2 + (2 - 1) / 2) / 2


def test_least_item_promoted_is_undefined_without_the_other_list() -> None:
    # u: b comes from position 1, not below the cutoff; w: c from position 2; v: no truth
    lists = {"u": ["b"], "v": ["b"], "w": ["c"]}
    truth = {"u": ["a", "b"], "w": ["a", "b", "c"]}
    name, everyone = "least_item_promoted@1", {"truth_needed": "none"}
    assert isinstance(rt.evaluate(lists, truth, name, everyone).failures[name], UndefinedValue)
    assert value(lists, truth, name, {**everyone, "undefined": "skip"}) == (0 + (2 - 1)) / 2


def test_an_empty_list_is_a_miss_for_precision_unless_divided_by_the_items_returned() -> None:
    lists, truth = rt.Lists({"v": ["c"]}, users=["u", "v"]), {"u": ["a"], "v": ["c"]}
    assert value(lists, truth, "precision") == (0 + 1) / 2
    assert value(lists, truth, "precision@1") == (0 / 1 + 1 / 1) / 2
    name = "precision[precision_over=returned]"
    assert isinstance(rt.evaluate(lists, truth, name).failures[name], UndefinedValue)
    assert value(lists, truth, name, {"undefined": "zero"}) == (0 + 1) / 2
    assert value(lists, truth, name, {"undefined": "skip"}) == 1


def test_ndcg_of_several_lists_is_the_mean_of_their_values() -> None:
    # u: hit at 2 of 1; v: hits at 1 and 3 of 2
    lists = {"u": ["x", "a"], "v": ["a", "x", "b"]}
    of_u = (1 / log2(3)) / (1 / log2(2))
    of_v = (1 / log2(2) + 1 / log2(4)) / (1 / log2(2) + 1 / log2(3))
    assert value(lists, {"u": ["a"], "v": ["a", "b"]}, "ndcg") == pytest.approx(
        (of_u + of_v) / 2, rel=1e-15
    )


def test_negative_grades_are_judged_not_relevant_and_gain_nothing() -> None:
    truth = {"u": {"a": 2, "n": -1}}
    for gain in ("binary", "linear", "exp2"):
        worth = {"binary": 1, "linear": 2, "exp2": 3}[gain]
        name = f"dcg[gain={gain}]"
        found = value({"u": ["n", "a"]}, truth, name)
        assert found == pytest.approx(worth / log2(3), rel=1e-15)
    assert value({"u": ["n", "a"]}, truth, "bpref") == 0


@pytest.mark.parametrize("name", ["rbp[persistence=2]", "rbp[persistence=-0.5]",
                                  "ndcg[log_base=1]", "ndcg[log_base=0]", "ndcg[log_base=-2]",
                                  "err[gain=linear,max_grade=0]",
                                  "rbp[persistence=nan]"])  # fmt: skip
def test_a_parameter_out_of_range_is_refused_or_the_metric_fails_by_name(name: str) -> None:
    try:
        evaluation = rt.evaluate({"u": ["x", "a"]}, {"u": ["a"]}, [name, "mrr"])
    except RectitudeError:
        return
    assert name in evaluation.failures, f"{name} gave {evaluation[name]}"
    assert evaluation["mrr"] == 1 / 2

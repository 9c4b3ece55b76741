"""Every metric on one list, with the arithmetic shown.

The list of ann, best first:            b  x  a  y  c       (x and y are not judged)
The truth, in its own order:            a: 3, b: 1, c: 2, d: 1, n: 0
So hits stand at the ranks 1, 3 and 5; four items are relevant; d is not in the list; n is judged
not relevant and not in the list.
"""

from __future__ import annotations

from math import log, log2

import pytest

import rectitude as rt

LIST = {"ann": ["b", "x", "a", "y", "c"]}
TRUTH = {"ann": {"a": 3, "b": 1, "c": 2, "d": 1, "n": 0}}
GAINS = {
    "binary": (1, 1, 1, 1),
    "linear": (3, 2, 1, 1),
    "exp2": (7, 3, 1, 1),
    "exp2_above": (15, 7, 3, 3),
}  # of the truth, sorted


def value(name: str, convention: dict[str, object] | None = None) -> float:
    return rt.evaluate(LIST, TRUTH, name, convention)[name]


BY_HAND = {
    # hits / denominator
    "precision": 3 / 5,
    "precision@1": 1 / 1,
    "precision@2": 1 / 2,
    "precision@3": 2 / 3,
    "precision@10": 3 / 10,
    "precision[precision_over=returned]@10": 3 / 5,
    "precision[precision_over=returned]@2": 1 / 2,
    "precision[precision_over=returned]": 3 / 5,
    "precision[precision_over=reachable]@10": 3 / 4,
    "precision[precision_over=reachable]@3": 2 / 3,
    "precision[precision_over=reachable]": 3 / 4,
    "precision[precision_over=reachable_returned]@10": 3 / 4,
    "precision[precision_over=reachable_returned]@3": 2 / 3,
    "recall": 3 / 4,
    "recall@1": 1 / 4,
    "recall@3": 2 / 4,
    "recall@10": 3 / 4,
    "recall[recall_over=reachable]@3": 2 / 3,
    "recall[recall_over=reachable]@10": 3 / 4,
    "recall[recall_over=reachable]": 3 / 4,
    # 2PR / (P + R)
    "f1": 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4),
    "f1@3": 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4),
    "f1@10": 2 * (3 / 10) * (3 / 4) / (3 / 10 + 3 / 4),
    "f1[precision_over=returned]@10": 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4),
    "f1[precision_over=reachable]@3": 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4),
    "f1[recall_over=reachable]@3": 2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3),
    "f1[f1_without_hits=undefined]@3": 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4),
    "f1[beta=2]@3": 5 * (2 / 3) * (2 / 4) / (4 * (2 / 3) + 2 / 4),
    "f1_of_means": 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4),
    "f1_of_means@3": 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4),
    "hit": 1,
    "hit@1": 1,
    "hit[hit_as=count]": 3,
    "hit[hit_as=count]@2": 1,
    "mrr": 1 / 1,
    "mrr@1": 1 / 1,
    "mrr[reciprocal_rank=sum]": 1 / 1 + 1 / 3 + 1 / 5,
    "mrr[reciprocal_rank=sum]@3": 1 / 1 + 1 / 3,
    "harmonic_mean_rank": 1 / 1,
    "harmonic_mean_rank[reciprocal_rank=sum]@3": 1 / (1 / 1 + 1 / 3),
    # precision at each hit, over the relevant items
    "map": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "map@3": (1 / 1 + 2 / 3) / 4,
    "map[ap_over=reachable]@3": (1 / 1 + 2 / 3) / 3,
    "map[ap_over=reachable]@10": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "map[ap_over=reachable]": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "map[ap_over=reachable_returned]@3": (1 / 1 + 2 / 3) / 3,
    "map[ap_over=reachable_returned]@10": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "map[ap_over=k]@3": (1 / 1 + 2 / 3) / 3,
    "map[ap_over=k]@10": (1 / 1 + 2 / 3 + 3 / 5) / 10,
    "map[ap_over=k]": (1 / 1 + 2 / 3 + 3 / 5) / 5,
    # recall at each hit, over the relevant items
    "map_by_rank": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "map_by_rank@3": (1 / 1 + 2 / 3) / 4,
    "mar": (1 / 4 + 2 / 4 + 3 / 4) / 4,
    "mar@3": (1 / 4 + 2 / 4) / 4,
    # precision and recall at every rank
    "mean_prefix_precision": (1 / 1 + 1 / 2 + 2 / 3 + 2 / 4 + 3 / 5) / 5,
    "mean_prefix_precision@3": (1 / 1 + 1 / 2 + 2 / 3) / 3,
    "mean_prefix_recall": (1 / 4 + 1 / 4 + 2 / 4 + 2 / 4 + 3 / 4) / 5,
    "mean_prefix_recall@3": (1 / 4 + 1 / 4 + 2 / 4) / 3,
    # hits among the first 4, over 4
    "rprec": 2 / 4,
    "rprec@1": 1 / 4,
    "rprec@10": 2 / 4,
    "rprec[multiple=0.5]": 1 / 2,
    "rprec[multiple=2]": 3 / 8,
    # the highest precision with 0, 2, 3 and 4 of the 4 relevant items
    "iprec": 1 / 1,
    "iprec@0.5": 2 / 3,
    "iprec@0.6": 3 / 5,
    "iprec[round_up_from=0.5]@0.6": 2 / 3,
    "iprec@1": 0,
    "iprec_mean": (3 * 1 / 1 + 3 * 2 / 3 + 2 * 3 / 5) / 11,
    "iprec_mean@3": (3 * 1 / 1 + 3 * 2 / 3) / 11,
    # one list: its geometric mean is its value
    "gm_map": (1 / 1 + 2 / 3 + 3 / 5) / 4,
    "gm_map@3": (1 / 1 + 2 / 3) / 4,
    "gm_bpref": 3 / 4,
    # not relevant above b, a and c: 0, 1 and 2
    "bing": (1 / log2(2) + 1 / log2(3) + 1 / log2(4)) / 4,
    "bing@3": (1 / log2(2) + 1 / log2(3)) / 4,
    "g": (1 / log2(2) + 1 / log2(3) + 1 / log2(4)) / 4,
    # the ideal list gains 3, 2, 1, 1; so the cost is 3, 5, 6, 7, 8; the list gains 1, 4, 6
    "g[gain=linear]": (1 / log2(2 + 3 - 1) + 3 / log2(2 + 6 - 4) + 2 / log2(2 + 8 - 6)) / 7,
    "g[gain=linear]@3": (1 / log2(2 + 3 - 1) + 3 / log2(2 + 6 - 4)) / 7,
    # all items above a are drawn: b; above c: b and a
    "infap": (1 + (1 + (1 + 1e-5) / (1 + 2e-5)) / 3 + (1 + 2 * (2 + 1e-5) / (2 + 2e-5)) / 5) / 4,
    "infap@3": (1 + (1 + (1 + 1e-5) / (1 + 2e-5)) / 3) / 4,
    "judged": 3 / 5,
    "judged@2": 1 / 2,
    "judged@10": 3 / 5,
    "unjudged": 2 / 5,
    "unjudged@2": 1 / 2,
    "unjudged@10": 2 / 10,
    # x, y and everything below rank 5
    "rbp_residual": 0.2 * (0.8 + 0.8**3) + 0.8**5,
    "rbp_residual@1": 0,
    "rbp_residual[persistence=0.5]@3": 0.5 * 0.5 + 0.5**3,
    "num_q": 1,
    "num_ret": 5,
    "num_ret@3": 3,
    "list_length": 5,
    "list_length@3": 3,
    "covered_users": 1,
    "full_lists@5": 1,
    "full_lists@6": 0,
    "num_rel": 4,
    "num_rel_ret": 3,
    "num_rel_ret@2": 1,
    "num_nonrel_judged_ret": 0,
    "num_nonrel_judged_ret[relevant_from=2]": 1,
    "utility": 3 - 2,
    "utility@3": 2 - 1,
    "utility[hit=2,miss=-1,missed=-3,passed=0.5,catalogue=20]": 2 * 3 - 2 - 3 * 1 + 0.5 * 14,
    "set_map": 3 / 5 * 3 / 4,
    "set_map@3": 2 / 3 * 2 / 4,
    # (1 - p) * (p^0 + p^2 + p^4)
    "rbp": 0.2 * (1 + 0.8**2 + 0.8**4),
    "rbp@3": 0.2 * (1 + 0.8**2),
    "rbp[persistence=0.5]": 0.5 * (1 + 0.5**2 + 0.5**4),
    "rbp[gain=linear]": 0.2 * (1 + 3 * 0.8**2 + 2 * 0.8**4),
    "rbp[gain=exp2]@3": 0.2 * (1 + 7 * 0.8**2),
    "scaled_rbp": 0.2 * (1 + 0.8**2 + 0.8**4),
    "scaled_rbp[gain=linear]": 0.2 * (1 + 3 * 0.8**2 + 2 * 0.8**4) / 3,
    # four relevant items: 1 + p + p^2 + p^3 at best, at 3 one less
    "normalised_rbp": (1 + 0.8**2 + 0.8**4) / (1 + 0.8 + 0.8**2 + 0.8**3),
    "normalised_rbp@3": (1 + 0.8**2) / (1 + 0.8 + 0.8**2),
    "normalised_rbp[persistence=0.5]": (1 + 0.5**2 + 0.5**4) / (1 + 0.5 + 0.5**2 + 0.5**3),
    "normalised_rbp[gain=linear]@3": (1 + 3 * 0.8**2) / (3 + 2 * 0.8 + 0.8**2),
    # 1 / rank of the hits, over the ranks 1 to 4
    "ncrr": (1 / 1 + 1 / 3 + 1 / 5) / (1 / 1 + 1 / 2 + 1 / 3 + 1 / 4),
    "ncrr@3": (1 / 1 + 1 / 3) / (1 / 1 + 1 / 2 + 1 / 3),
    "ncrr[ideal=k]@6": (1 / 1 + 1 / 3 + 1 / 5) / (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6),
    "ncrr[ideal=found]": (1 / 1 + 1 / 3 + 1 / 5) / (1 / 1 + 1 / 2 + 1 / 3),
    # b is above x and y, a above y, c above none: 3 of 3 * 2 pairs; at 3, b above x
    "list_auc_strict": 3 / 6,
    "list_auc_strict@3": 1 / 2,
    "list_auc": 3 / 6,
    "list_auc@1": 1,  # a hit and no miss
    "list_auc@3": 1 / 2,
    # misses x and y: b is above both, a above y, c above none; d is not listed
    "pauc": (2 + 1 + 0 + 0) / (2 * 4),
    "pauc@1": (1 + 0 + 0 + 0) / (1 * 4),
    "pauc@3": (3 + 2 + 1 + 0) / (3 * 4),  # as if the third miss were at the end
    "pauc_strict": (2 + 1 + 0 + 0) / (2 * 4),
    "pauc_strict@2": (2 + 1 + 0 + 0) / (2 * 4),
    # the first k hits only
    "pap": (2 + 1) / (2 * 2),
    "pap@1": 1 / (1 * 1),
    "pap@3": (3 + 2 + 1) / (3 * 3),
    "pap_strict": (2 + 1) / (2 * 2),
    "pap_strict@1": 1 / (1 * 1),
    # ranked pairs of different grades: a before c is right, b before a and b before c are not
    "graded_auc": 1 / 3,
    "graded_auc@3": 0 / 1,
    "all_pairs_auc": 1 / 3,
    # (1 + b) hits / (length + b * relevant)
    "f_unsquared": 2 * 3 / (5 + 4),
    "f_unsquared[beta=2]": 3 * 3 / (5 + 2 * 4),
    # gains of the grades 1, 3 and 2 over the length
    "average_gain": 3 / 5,
    "average_gain[gain=linear]": (1 + 3 + 2) / 5,
    "average_gain[gain=linear]@3": (1 + 3) / 3,
    # a has the highest grade
    "best_rr": 1 / 3,
    "best_rr@2": 0 / 1,
    # p = 1/4 at rank 1, 3/4 at rank 3, 2/4 at rank 5; with binary gains, the user stops at b
    "certain_err": 1 / 1,
    "certain_err[gain=linear]": 1 / 4 + 3 / 4 * 3 / 4 / 3 + 3 / 4 * 1 / 4 * 2 / 4 / 5,
    "certain_err[gain=linear]@3": 1 / 4 + 3 / 4 * 3 / 4 / 3,
    "pfound": 1 / 1,
    "pfound[gain=linear]": 1 / 4
    + 0.85**2 * 3 / 4 * 3 / 4
    + 0.85**4 * 3 / 4 * 1 / 4 * 2 / 4,
    # hits among the first 10, or 3, over k
    "deep_precision": 3 / 5,
    "deep_precision@10": 3 / 10,
    "deep_precision[depth=3]@5": 2 / 5,
    "deep_precision[depth=3]@1": 2 / 1,
    "deep_precision[depth=1,precision_over=returned]@10": 1 / 5,
    "rprec_found": 2 / 4,
    "rprec_found@1": 1 / 4,
    # binary: an item stops the user with probability 1 / (1 + 1)
    "err": 1 / 2 + (1 / 2) * (1 / 2) / 3 + (1 / 2) ** 2 * (1 / 2) / 5,
    "err@3": 1 / 2 + (1 / 2) * (1 / 2) / 3,
    # linear, highest grade 4: grade / 5; the grades found are 1, 3, 2
    "err[gain=linear]": 1 / 5 + (4 / 5) * (3 / 5) / 3 + (4 / 5) * (2 / 5) * (2 / 5) / 5,
    "err[gain=linear,max_grade=3]": 1 / 4 + (3 / 4) * (3 / 4) / 3 + (3 / 4) * (1 / 4) * (2 / 4) / 5,
    # exp2: (2^grade - 1) / 2^4
    "err[gain=exp2]": 1 / 16 + (15 / 16) * (7 / 16) / 3 + (15 / 16) * (9 / 16) * (3 / 16) / 5,
    "err[gain=exp2]@3": 1 / 16 + (15 / 16) * (7 / 16) / 3,
    # no negative is above a hit; d is not in the list and adds 0
    "bpref": (1 + 1 + 1 + 0) / 4,
    "bpref@3": (1 + 1 + 0 + 0) / 4,
    "bpref_strict": (1 + 1 + 1 + 0) / 4,
    # positions in the list: b 0, a 2, c 4; in the truth: b 1, a 0, c 2
    "rmrr": (1 / (1 + 1) + 1 / (2 + 1) + 1 / (2 + 1)) / 4,
    "rmrr@3": (1 / (1 + 1) + 1 / (2 + 1)) / 4,
    # five items, in different numbers of positions
    "filled_share": 5 / 5,
    "filled_share@3": 3 / 3,
    "filled_share@10": 5 / 10,
    "full_list_share": 1,
    "full_list_share@5": 1,
    "full_list_share@6": 0,
    "covered_share": 1,
    "covered_share@6": 1,
    # the truth as another list, a b c d n: the first 1, 2, 3, 4 and 5 share 0, 1, 2, 2 and 3 items
    "unlike_reference": (5 - 3) / 5,
    "unlike_reference@1": (1 - 0) / 1,
    "unlike_reference@3": (3 - 2) / 3,
    "unlike_reference@10": (10 - 3) / 10,
    "reference_overlap": 3 / 5,
    "reference_overlap@1": 0 / 1,
    "reference_overlap@2": 1 / 2,
    "reference_overlap@3": 2 / 3,
    "reference_overlap@10": 3 / 5,
    "rank_biased_overlap": (0.85 * 1 / 2 + 0.85**2 * 2 / 3 + 0.85**3 * 2 / 4 + 0.85**4 * 3 / 5)
    / (1 + 0.85 + 0.85**2 + 0.85**3 + 0.85**4),
    "rank_biased_overlap@1": 0,
    "rank_biased_overlap@3": (0.85 * 1 / 2 + 0.85**2 * 2 / 3) / (1 + 0.85 + 0.85**2),
    "rank_biased_overlap[patience=0.5]@3": (1 / 2 * 1 / 2 + 1 / 4 * 2 / 3) / (1 + 1 / 2 + 1 / 4),
    # b is at position 1 of the truth, a at 0, c at 2: none comes from below the cutoff
    "least_item_promoted": 0,
    "least_item_promoted@1": 0,
    # With one grade above 0, gains are 1; a user who wants 1 stops at rank 1, one who wants 2 at 3.
    "bpm": 1 / 1,
    "bpm[wanted_gain=2]": 2 / 3,
    "bpm[wanted_gain=2]@2": 1 / 2,
    "sdcg@3": (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2),
    "insq@3": (1 + 1 / 4) / (1 + 4 / 9 + 1 / 4),
    "inst@3": (1 + 1 / 9) / (1 + 1 / 4 + 1 / 9),
    "nerr8@3": 1 / 1,
    # Grades up to 3 give gains of 1/3, 0 and 1 at the first three ranks.
    "nerr8[max_grade=3]@3": (1 / 3 + 2 / 3) / (1 + 2 / 3 + 2 / 3),
    "nerr9[max_grade=3]@3": (1 / 3 + 2 / 9) / (1 + 1 / 3 + 2 / 9),
    "nerr10[max_grade=3]@3": (1 / 3 + 0.54) / (1 + 0.6 + 0.54),
    "nerr11[max_grade=3]@3": (1 / 3 + 1 / 6) / (1 + 8 / 27 + 1 / 6),
    # The ideal list is a c b d: the first three share a and b.
    "compatibility[persistence=0.5]@3": (2 / 4 / 3) / (1 + 2 / 2 / 2 + 3 / 4 / 3),
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), BY_HAND.items(), ids=list(BY_HAND))
def test_value_by_hand(name: str, expected: float) -> None:
    assert value(name) == pytest.approx(expected, rel=1e-15, abs=0)


def test_least_item_promoted_is_how_far_below_the_cutoff_an_item_was() -> None:
    # before: a b c d e f, at positions 0 to 5; now: e a f
    before = {"ann": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}}
    by_hand = {"@1": 4 - 1, "@2": 4 - 2, "@3": 5 - 3, "@4": 5 - 4, "@5": 0, "": 5 - 3}
    names = [f"least_item_promoted{at}" for at in by_hand]
    found = rt.evaluate({"ann": ["e", "a", "f"]}, before, names)
    assert [found[name] for name in names] == list(by_hand.values())


def test_rank_biased_overlap_without_a_cutoff_looks_to_the_end_of_the_longer_list() -> None:
    # ann: b against a b c: 0, 1 of 2 and 1 of 3; bob: x against x: 1 of 1
    lists, other = {"ann": ["b"], "bob": ["x"]}, {"ann": ["a", "b", "c"], "bob": ["x"]}
    name = "rank_biased_overlap[patience=0.5]"
    of_ann = (1 / 2 * 1 / 2 + 1 / 4 * 1 / 3) / (1 + 1 / 2 + 1 / 4)
    assert rt.evaluate(lists, other, name)[name] == pytest.approx((of_ann + 1) / 2, rel=1e-15)


ELSEWHERE = ("dcg", "ndcg", "ndcg_at_hits", "rndcg", "ndcg_of_joins")
"""Computed below, or with the repeats that they are about."""


def test_every_metric_and_every_choice_of_its_switches_is_computed_by_hand() -> None:
    shown = {**BY_HAND, **dict.fromkeys(ELSEWHERE, 0.0)}
    plain = {name for name, metric in rt.METRICS.items() if not metric.requires}
    assert {name.partition("[")[0].partition("@")[0] for name in shown} == plain


# Grades found: 1 at rank 1, 3 at rank 3, 2 at rank 5.
FOUND = {
    "binary": (1, 1, 1), "linear": (1, 3, 2), "exp2": (1, 7, 3), "exp2_above": (3, 15, 7),
}  # fmt: skip


@pytest.mark.parametrize("gain", FOUND)
def test_dcg_adds_gains_divided_by_the_logarithm_of_the_rank_plus_1(gain: str) -> None:
    first, third, fifth = FOUND[gain]
    whole = first / log2(2) + third / log2(4) + fifth / log2(6)
    assert value(f"dcg[gain={gain}]") == pytest.approx(whole, rel=1e-15)
    assert value(f"dcg[gain={gain}]@3") == pytest.approx(first + third / log2(4), rel=1e-15)
    assert value(f"dcg[gain={gain}]@2") == first


@pytest.mark.parametrize("gain", FOUND)
def test_dcg_with_a_discount_from_the_second_rank_weighs_the_first_two_the_same(gain: str) -> None:
    first, third, fifth = FOUND[gain]
    whole = first / 1 + third / log2(3) + fifth / log2(5)
    name = f"dcg[gain={gain},discount=log_from_second]"
    assert value(name) == pytest.approx(whole, rel=1e-15)
    # b and x swap ranks: rank 2 weighs max(1, log2(2)) = 1 as well.
    swapped = rt.evaluate({"ann": ["x", "b", "a", "y", "c"]}, TRUTH, name)[name]
    assert swapped == value(name)


@pytest.mark.parametrize("gain", FOUND)
def test_ndcg_divides_by_the_best_order_of_the_truth(gain: str) -> None:
    first, third, fifth = FOUND[gain]
    best = GAINS[gain]
    ideal = best[0] / log2(2) + best[1] / log2(3) + best[2] / log2(4) + best[3] / log2(5)
    whole = (first / log2(2) + third / log2(4) + fifth / log2(6)) / ideal
    assert value(f"ndcg[gain={gain}]") == pytest.approx(whole, rel=1e-15)
    at_2 = first / (best[0] / log2(2) + best[1] / log2(3))
    assert value(f"ndcg[gain={gain}]@2") == pytest.approx(at_2, rel=1e-15)


def test_ndcg_at_hits_is_the_mean_of_ndcg_at_their_ranks() -> None:
    found = {1: 1 / log2(2), 3: 1 / log2(2) + 1 / log2(4)}
    found[5] = found[3] + 1 / log2(6)
    ideal = {1: 1 / log2(2), 3: 1 / log2(2) + 1 / log2(3) + 1 / log2(4)}
    ideal[4] = ideal[3] + 1 / log2(5)
    end = found[5] / ideal[4]  # of c, and of d, which is not in the list
    mean = (found[1] / ideal[1] + found[3] / ideal[3] + end + end) / 4
    assert value("ndcg_at_hits") == pytest.approx(mean, rel=1e-15)


def test_rndcg_is_the_mean_of_ndcg_at_the_ranks_where_the_ideal_gain_drops() -> None:
    # 3, 2, 1, 1: after the ranks 1, 2 and 4; the list ends one rank further, which adds no point
    at_1 = 1 / 3
    at_2 = 1 / (3 + 2 / log2(3))
    at_4 = (1 + 3 / log2(4)) / (3 + 2 / log2(3) + 1 / log2(4) + 1 / log2(5))
    assert value("rndcg[gain=linear]") == pytest.approx((at_1 + at_2 + at_4) / 3, rel=1e-15)
    binary = 1 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert value("rndcg") == pytest.approx((1 + 1 / log2(4)) / binary, rel=1e-15)
    longer = {"ann": [*LIST["ann"], "z"]}  # two ranks further: the end of the list counts as well
    both = (1 + 1 / log2(4)) / binary + (1 + 1 / log2(4) + 1 / log2(6)) / binary
    assert rt.evaluate(longer, TRUTH, "rndcg")["rndcg"] == pytest.approx(both / 2, rel=1e-15)


def test_ndcg_with_the_ideal_of_k_hits_divides_by_a_hit_at_every_rank() -> None:
    ideal = 1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)
    found = 1 / log2(2) + 1 / log2(4) + 1 / log2(6)
    assert value("ndcg[ideal=k]@5") == pytest.approx(found / ideal, rel=1e-15)
    assert value("ndcg[ideal=k]") == pytest.approx(found / ideal, rel=1e-15)  # five items returned
    more = ideal + 1 / log2(7)
    assert value("ndcg[ideal=k]@6") == pytest.approx(found / more, rel=1e-15)


def test_ndcg_with_a_discount_from_the_second_rank() -> None:
    ideal = 1 + 1 + 1 / log2(3) + 1 / log2(4)
    found = 1 + 1 / log2(3) + 1 / log2(5)
    assert value("ndcg[discount=log_from_second]") == pytest.approx(found / ideal, rel=1e-15)


def test_the_base_of_the_logarithm_cancels_in_ndcg_but_not_in_dcg() -> None:
    ten = 1 / (log(2) / log(10)) + 1 / (log(4) / log(10)) + 1 / (log(6) / log(10))
    assert value("dcg[log_base=10]") == pytest.approx(ten, rel=1e-14)
    assert value("ndcg[log_base=10]@3") == pytest.approx(value("ndcg@3"), rel=1e-14)
    # from the second rank on it does not: with base 10 the ranks 1 to 10 all weigh 1
    assert value("dcg[discount=log_from_second,log_base=10]") == 3


def test_a_threshold_takes_the_gain_of_lower_grades_unless_all_positive_grades_gain() -> None:
    # From grade 2 on, a (3, rank 3) and c (2, rank 5) are relevant.
    above = {"relevant_from": 2, "gain": "linear"}
    found = 3 / log2(4) + 2 / log2(6)
    assert value("dcg", above) == pytest.approx(found, rel=1e-15)
    assert value("ndcg", above) == pytest.approx(found / (3 / log2(2) + 2 / log2(3)), rel=1e-15)
    every = above | {"gain_from": "positive"}
    found = 1 / log2(2) + 3 / log2(4) + 2 / log2(6)
    ideal = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert value("dcg", every) == pytest.approx(found, rel=1e-15)
    assert value("ndcg", every) == pytest.approx(found / ideal, rel=1e-15)


def test_a_threshold_counts_lower_grades_as_not_relevant() -> None:
    above = {"relevant_from": 2}
    assert value("precision@3", above) == 1 / 3  # a
    assert value("recall@3", above) == 1 / 2  # a of a, c
    assert value("mrr", above) == 1 / 3
    assert value("map", above) == pytest.approx((1 / 3 + 2 / 5) / 2, rel=1e-15)
    assert value("rprec", above) == 0 / 2
    # bpref: b (grade 1) is now judged not relevant and is above a and c; R = 2, N = 3 (b, d, n)
    assert value("bpref", above) == ((1 - 1 / 2) + (1 - 1 / 2)) / 2

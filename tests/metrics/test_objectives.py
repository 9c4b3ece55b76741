"""Several metrics of a list at once: hypervolume and distance to the ideal."""

from __future__ import annotations

import copy
import pickle
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, MissingNeed, NotComparable, UnknownName
from rectitude.profiles import PROFILES

LISTS = {"u": ["a", "b"], "v": ["c", "d"], "w": ["e", "f"]}
TRUTH = {"u": ["a", "x", "y"], "v": ["c", "d"], "w": ["q"]}
# precision@2 and recall@2: u 1/2 and 1/3, v 1 and 1, w 0 and 0
BY_HAND = {
    "hypervolume[precision,recall]@2": [1 / 6, 1.0, 0.0],
    "hypervolume[recall,precision=0.25]@2": [1 / 12, 0.75, 0.0],
    "hypervolume[recall,precision=0.6]@2": [0.0, 0.4, 0.0],
    "hypervolume[precision=-1,recall=-1]@2": [2.0, 4.0, 1.0],
    "euc_distance[precision,recall]@2": [sqrt(1 / 4 + 4 / 9), 0.0, sqrt(2)],
    "euc_distance[recall,precision=0.5]@2": [2 / 3, 0.5, sqrt(1.25)],
    "euc_distance[precision,recall,reference=worst]@2": [sqrt(1 / 4 + 1 / 9), sqrt(2), 0.0],
    "hypervolume[precision,recall,reference=best]@2": [0.0, 0.0, 0.0],
    "hypervolume[precision]@2": [0.5, 1.0, 0.0],
    "hypervolume[hit,precision,recall]@2": [1 / 6, 1.0, 0.0],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_list_has_the_value_found_by_hand(name: str) -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, name)
    assert evaluation.per_list()[name].to_list() == pytest.approx(BY_HAND[name], abs=1e-15)
    assert evaluation[name] == pytest.approx(sum(BY_HAND[name]) / 3)


def test_lower_values_count_as_better_for_components_with_best_low() -> None:
    scores = rt.Scores(np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))
    name = "hypervolume[mrr,mean_rank=3]"
    found = rt.evaluate(scores, {0: [0], 1: [1]}, name).per_list()[name].to_list()
    assert found == pytest.approx([2.0, 1 * 0.5])


def test_components_follow_the_profile_and_its_switches() -> None:
    name = "hypervolume[ndcg,recall]@2"
    for convention in (None, "warprec", {"gain": "exp2"}, {"recall_over": "reachable"}):
        truth = pl.DataFrame({"user": ["u", "u"], "item": ["a", "x"], "grade": [1.0, 3.0]})
        both = rt.evaluate({"u": ["a", "b"]}, truth, ["ndcg@2", "recall@2", name], convention)
        assert both[name] == pytest.approx(both["ndcg@2"] * both["recall@2"])
    set_here = "hypervolume[ndcg,recall,gain=exp2]@2"
    both = rt.evaluate({"u": ["a", "b"]}, truth, ["ndcg[gain=exp2]@2", "recall@2", set_here])
    assert both[set_here] == pytest.approx(both["ndcg[gain=exp2]@2"] * both["recall@2"])


def test_another_reference_is_refused() -> None:
    with pytest.raises(UnknownName, match="'reference' has no choice 'middle'"):
        rt.evaluate(LISTS, TRUTH, "hypervolume[precision,recall,reference=middle]@2")


def test_parameters_of_components_are_kept_and_shown() -> None:
    name = "euc_distance[recall,rbp=1]@2"
    evaluation = rt.evaluate(LISTS, TRUTH, name)
    assert "rbp.persistence = 0.8" in evaluation.definition(name)
    assert "rbp = 1" in evaluation.definition(name)
    other = rt.evaluate(LISTS, TRUTH, "euc_distance[recall,rbp=0.9]@2")
    mine, theirs = (next(iter(e.results.values())) for e in (evaluation, other))
    assert mine.fingerprint != theirs.fingerprint


def test_components_may_need_more_than_lists() -> None:
    name = "hypervolume[inverse_user_frequency,recall]@2"
    train = pl.DataFrame({"user": ["u", "v", "w"], "item": ["a", "a", "c"]})
    names = ["inverse_user_frequency@2", "recall@2"]
    values = rt.evaluate(LISTS, TRUTH, [name, *names], train=train).per_list()
    product = values[names[0]] * values[names[1]]
    assert values[name].to_list() == pytest.approx(product.to_list())
    with pytest.raises(MissingNeed, match="train"):
        rt.evaluate(LISTS, TRUTH, name)[name]


def test_any_batches_give_the_bits_of_one_pass(tmp_path: Path) -> None:
    names = list(BY_HAND)
    parts = []
    for user, items in LISTS.items():
        parts.append(rt.Evaluator(names))
        parts[-1].update({user: items}, {user: TRUTH[user]})
    (parts[2] + parts[0] + parts[1]).save(tmp_path / "sums.json")
    merged = rt.Evaluator.load(tmp_path / "sums.json").compute()
    assert merged.values() == rt.evaluate(LISTS, TRUTH, names).values()


def test_dense_scores_have_the_values_of_their_lists() -> None:
    random = np.random.default_rng(1)
    scores, truth = random.random((20, 30)), {user: [user, user + 5] for user in range(20)}
    lists = {user: np.argsort(-row).tolist() for user, row in enumerate(scores)}
    names = ["hypervolume[precision,recall]@10", "euc_distance[mrr,ndcg]@5"]
    dense = rt.evaluate(rt.Scores(scores), truth, names)
    assert dense.values() == rt.evaluate(lists, truth, names).values()


def test_an_undefined_component_makes_the_list_undefined() -> None:
    lists, truth = {"u": ["a"], "v": ["b"]}, {"u": ["a"], "v": ["c"]}
    name = "hypervolume[f1,recall,f1_without_hits=undefined]@1"
    found = rt.evaluate(lists, truth, name, {"undefined": "skip"})
    assert found[name] == 1 and found.per_list()[name].to_list() == [1.0, None]


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("hypervolume@2", MissingNeed, r"write them in brackets: hypervolume\[precision,recall\]"),
        ("hypervolume[gain=exp2]@2", UnknownName, "gain"),
        ("euc_distance[dcg,recall]@2", BadArgument, "its best value, which is infinite"),
        ("hypervolume[precision=x]@2", BadArgument, "point of precision in hypervolume is 'x'"),
        ("hypervolume[gauc,recall]", NotComparable, "gauc and recall cannot be combined"),
        ("hypervolume[gini,recall]@2", BadName, "gini is not a mean of such values"),
        ("hypervolume[f1_of_means,recall]@2", BadName, "f1_of_means is not a mean"),
        ("hypervolume[num_rel,recall]@2", BadName, "num_rel is not a mean"),
        ("hypervolume[hypervolume,recall]@2", BadName, "hypervolume is not a mean"),
        ("hypervolume[nonsense,recall]@2", UnknownName, "no variant 'nonsense'"),
        ("hypervolume[recall,discount=log]@2", UnknownName, "discount"),
    ],
)
def test_components_that_cannot_be_combined_are_refused(name: str, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        rt.evaluate(LISTS, TRUTH, name)[name]


def test_averaged_ties_are_refused() -> None:
    lists = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [1.0, 1.0]})
    name = "hypervolume[precision,recall]@1"
    with pytest.raises(rt.errors.TiedItems):
        rt.evaluate(lists, {"u": ["a"]}, name, {"ties": "average"})[name]


def test_a_requested_metric_can_be_copied_and_pickled() -> None:
    asked = PROFILES["default"].resolve(
        rt.metrics.names.parse("hypervolume[precision,recall]@2")[0]
    )
    packed = pickle.dumps(asked.metric.function)
    assert pickle.loads(packed) == asked.metric.function  # noqa: S301
    assert copy.deepcopy(asked) == asked


def test_an_evaluation_can_be_saved_and_loaded(tmp_path: Path) -> None:
    names = ["hypervolume[precision,recall]@2", "euc_distance[recall,ndcg=0.9]@2"]
    evaluation = rt.evaluate(LISTS, TRUTH, names)
    evaluation.save(tmp_path / "evaluation.json")
    loaded = rt.Evaluation.load(tmp_path / "evaluation.json")
    assert loaded.values() == evaluation.values()
    assert [loaded.definition(name) for name in names] == [evaluation.definition(n) for n in names]

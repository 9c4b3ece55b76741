"""Preferences, groups of judges and z-scores from Python; values worked by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadTable,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
)
from rectitude.evaluation.opinions import (
    OpinionValues,
    evaluate_groups,
    evaluate_preferences,
    standardise,
)

LISTS = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2], "item": [*"abcab"], "score": [3.0, 2.0, 1.0, 1.0, 2.0]}
)
# Group x prefers a to b and b to c; group y prefers b to a.
JUDGED = pl.DataFrame(
    {
        "user": [1, 1, 1, 1, 1, 2, 2],
        "group": [*"xxxyyxx"],
        "item": [*"abcabab"],
        "grade": [2, 1, 0, 0, 1, 1, 2],
    }
)


def test_preferences_that_lists_fulfil_are_counted() -> None:
    found = evaluate_preferences(LISTS, JUDGED)
    assert found.by_list["prefs_simp"] == {1: 3 / 4, 2: 1.0}
    assert found.by_list["prefs_avgjg"] == {1: (3 / 3 + 0 / 1) / 2, 2: 1.0}
    # Of the pairs ab, ac and bc, the groups that judge both agree on 1/2, 1 and 1.
    assert found.by_list["prefs_pair"] == {1: pytest.approx((1 / 2 + 1 + 1) / 3), 2: 1.0}
    assert found["prefs_simp"] == (3 / 4 + 1) / 2
    assert found.values() == {name: found[name] for name in found}
    assert "prefs_avgjg |" in str(found)


def test_a_list_that_was_not_handed_over_fulfils_nothing_or_does_not_count() -> None:
    only_first = LISTS.filter(pl.col("user") == 1)
    assert evaluate_preferences(only_first, JUDGED).by_list["prefs_simp"] == {1: 3 / 4, 2: 0.0}
    handed = evaluate_preferences(only_first, JUDGED, ["prefs_simp"], counted="handed")
    assert handed.per_list().to_dicts() == [{"user": 1, "prefs_simp": 3 / 4}]


def test_lists_are_cut_and_judgements_may_be_one_group() -> None:
    judged = JUDGED.filter(pl.col("group") == "x").drop("group")
    found = evaluate_preferences(LISTS, judged, ["prefs_num_prefs_ful"], cutoff=1)
    assert found.by_list["prefs_num_prefs_ful"] == {1: 2.0, 2: 1.0}  # a above b and c; b above a


def test_the_rows_of_subgroups_carry_over() -> None:
    judged = pl.DataFrame(
        {"user": ["u"] * 4, "group": ["g"] * 4, "subgroup": [1, 1, 2, 2],
         "item": [*"abbc"], "level": [2, 1, 2, 1]}
    )  # fmt: skip
    found = evaluate_preferences(
        {"u": [*"abc"]}, judged, ["prefs_num_prefs_poss"], columns={"grade": "level"}
    )
    assert found["prefs_num_prefs_poss"] == 3  # a above b, b above c, and so a above c


def test_ranks_and_the_given_order_are_taken_as_they_are() -> None:
    ranked = LISTS.with_columns(rank=pl.Series([3, 2, 1, 1, 2])).drop("score")
    assert evaluate_preferences(ranked, JUDGED).by_list["prefs_simp"] == {1: 1 / 4, 2: 0.0}
    assert evaluate_preferences({1: [*"cba"]}, JUDGED).by_list["prefs_simp"] == {1: 1 / 4, 2: 0.0}


def test_values_are_averaged_over_the_groups_of_a_list() -> None:
    found = evaluate_groups(LISTS, JUDGED, ["map", "precision@1"])
    assert found.by_list["map"] == {1: (1 + 1 / 2) / 2, 2: 1.0}
    assert found.by_list["precision@1"] == {1: (1 + 0) / 2, 2: 1.0}
    assert found["map"] == (3 / 4 + 1) / 2


def test_groups_are_evaluated_under_any_convention_and_keep_other_inputs() -> None:
    strict = evaluate_groups(LISTS, JUDGED, "hit@1", {"relevant_from": 2})
    assert strict["hit@1"] == (1 + 1) / 2  # group y of the first list has no relevant item
    with pytest.raises(BadArgument, match="gini"):
        evaluate_groups(LISTS, JUDGED, "gini@2", items=pl.DataFrame({"item": [*"abc"]}))


def system(values: dict[int, float]) -> OpinionValues:
    return OpinionValues({"map": values})


def test_z_scores_are_deviations_from_other_systems() -> None:
    others = [system({1: 0.2, 2: 0.5}), system({1: 0.4, 2: 0.5}), system({1: 0.6})]
    found = standardise(system({1: 0.8, 2: 0.5, 3: 1.0}), others)
    assert found.by_list["map"] == {1: pytest.approx((0.8 - 0.4) / 0.2), 2: 0.0}


def test_z_scores_of_an_evaluation_and_from_a_table() -> None:
    truth = JUDGED.filter(pl.col("group") == "x").drop("group")
    evaluation = rt.evaluate(LISTS, truth, "precision@2")
    known = {"list": [1, 2], "measure": ["precision@2"] * 2, "mean": [0.5] * 2}
    found = standardise(evaluation, {**known, "deviation": [0.25, 0.5]})
    assert found.by_list["precision@2"] == {1: 2.0, 2: 1.0}


def test_wrong_uses_say_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="prefs_simp"):
        evaluate_preferences(LISTS, JUDGED, ["prefs_simple"])
    with pytest.raises(BadTable, match="level of each item"):
        evaluate_preferences(LISTS, JUDGED.drop("grade"))
    with pytest.raises(NothingToEvaluate, match="is judged"):
        evaluate_preferences(LISTS, JUDGED.with_columns(user=pl.col("user") + 9), counted="handed")
    with pytest.raises(BadArgument, match="other systems is a int"):
        standardise(system({1: 1.0}), [3])
    with pytest.raises(BadTable, match="columns list, measure, mean"):
        standardise(system({1: 1.0}), pl.DataFrame({"list": [1]}))
    with pytest.raises(NothingToEvaluate, match="no value has a mean"):
        standardise(system({1: 1.0}), [system({1: 0.5})])
    with pytest.raises(UndefinedValue, match="map has no value"):
        system({})["map"]
    with pytest.raises(UnknownName, match="measure"):
        system({1: 1.0})["mrr"]

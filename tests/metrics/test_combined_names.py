"""Brackets combine: any number of variants, switches and parameters, in any order."""

from __future__ import annotations

import pytest

import rectitude as rt
from rectitude.errors import BadName
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES

LISTS = {"q": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}}
TRUTH = {"q": {"a": 1, "c": 3, "d": 0, "e": 2}}


def value(name: str, profile: str) -> float:
    return rt.evaluate(LISTS, TRUTH, name, profile)[name]


def test_every_combination_has_one_spelling() -> None:
    names = ["rbp[p=0.5,normalized]@5", "rbp(normalized=True, p=0.5)@5", "rbp[normalized,p=0.5]@5"]
    assert {str(parse(name)[0]) for name in names} == {"rbp[normalized,p=0.5]@5"}
    assert str(parse("rbp[normalized=False]")[0]) == "rbp"


def test_a_value_is_found_by_any_order_of_the_brackets() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "ndcg[judged_only,exp]@2", "ir_measures")
    assert list(evaluation) == ["ndcg[exp,judged_only]@2"]
    assert evaluation["ndcg[judged_only,exp]@2"] == evaluation["ndcg[exp,judged_only]@2"]


def test_variants_of_a_profile_combine() -> None:
    # b is not judged: the list is a, c, d; the two relevant items from grade 2 are c and e
    assert value("set_precision[relative,rel=2]", "ir_measures") == 1 / min(4, 2)
    assert value("set_precision[judged_only,rel=2]", "ir_measures") == 1 / 3
    assert value("set_precision[judged_only,relative,rel=3]", "ir_measures") == 1 / min(3, 1)


def test_names_of_a_framework_combine() -> None:
    typed = parse("nDCG(judged_only=True, dcg='exp-log2')@5")[0]
    assert str(PROFILES["ir_measures"].translate(typed)) == "ndcg[exp,judged_only]@5"
    typed = parse("SetP(rel=2, relative=True, judged_only=True)")[0]
    ours = PROFILES["ir_measures"].translate(typed)
    assert str(ours) == "set_precision[judged_only,relative,rel=2]"


def test_a_parameter_combines_with_an_entry_that_has_a_usual_value_for_it() -> None:
    # LensKit counts every row of the truth: hits at ranks 1, 3 and 4 of 4 relevant
    ideal = 1 + 0.5 + 0.5**2 + 0.5**3
    assert value("rbp[normalized,persistence=0.5]", "lenskit-2025") == (1 + 0.5**2 + 0.5**3) / ideal


@pytest.mark.parametrize(
    ("name", "profile", "words"),
    [
        ("ndcg[gain=exp2,gain=linear]", "default", "'gain=exp2' and 'gain=linear' contradict"),
        ("ndcg[binary,exp]@5", "recommenders", "'binary' and 'exp' contradict .* set gain"),
        ("precision[rel=2,relevant_from=3]", "ir_measures", "both set relevant_from"),
        ("ndcg[exp,gain=linear]@5", "ir_measures", "'exp' and 'gain=linear' contradict"),
        ("gini[exposure,list]", "lenskit-2025", "combines gini.* and gini.*different metrics"),
    ],
)
def test_contradictions_are_refused(name: str, profile: str, words: str) -> None:
    with pytest.raises(BadName, match=words):
        PROFILES[profile].resolve(parse(name)[0])


def test_the_same_value_twice_is_no_contradiction() -> None:
    assert value("precision[rel=2,relevant_from=2.0]@4", "ir_measures") == 1 / 4

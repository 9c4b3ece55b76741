"""`diagnose`: all quantities that are called NDCG, on the same lists, and the verdict."""

from __future__ import annotations

import json
from math import log2
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, DuplicateItems, RectitudeError
from rectitude.explanation.diagnose import diagnose
from rectitude.explanation.diagnose.result import Diagnosis

SECOND, THIRD = 1 / log2(3), 1 / log2(4)
# ann finds a at rank 2 and misses b, bob finds their only item at rank 1, cid and dan find nothing
LISTS = {"ann": ["x", "a", "y"], "bob": ["c", "x", "y"], "cid": ["x", "y", "z"]}
TRUTH = {"ann": ["b", "a"], "bob": ["c"], "cid": ["d"], "dan": ["e"]}
ANN = SECOND / (1 + SECOND)


def found(**more: Any) -> Diagnosis:
    return diagnose(LISTS, TRUTH, k=3, **more)


def values(diagnosis: Diagnosis) -> dict[str, float | None]:
    return {name: one.value for name, one in diagnosis.quantities.items()}


def test_every_quantity_is_computed_on_the_same_lists() -> None:
    every = 1 + SECOND + THIRD
    assert values(found()) == pytest.approx({
        "in_force": (ANN + 1) / 4,
        "all_truth": (ANN + 1) / 4, "hit_truth": (ANN + 1) / 2,
        "all_hits": (SECOND + 1) / 4, "hit_hits": (SECOND + 1) / 2,
        "all_ranks": (SECOND / every + 1 / every) / 4,
        "hit_ranks": (SECOND / every + 1 / every) / 2,
        "all_by_truth": (SECOND + 1) / 4,  # a stands second in the truth
    }, rel=1e-14)  # fmt: skip


def test_hit_rate_ratio_and_lists() -> None:
    diagnosis = found()
    assert (diagnosis.lists, diagnosis.hit_rate) == (4, 0.5)
    assert diagnosis.ratio == pytest.approx(1 / 0.5)
    counted = {name: one.counted for name, one in diagnosis.quantities.items()}
    assert counted["all_hits"] == 4
    assert counted["hit_hits"] == 2


def test_the_value_is_the_product_of_hit_rate_completeness_and_order() -> None:
    diagnosis = found()
    assert diagnosis.completeness is not None
    assert diagnosis.order is not None
    product = diagnosis.hit_rate * diagnosis.completeness * diagnosis.order
    assert product == pytest.approx(diagnosis.value, rel=1e-14)
    (said,) = [one for one in diagnosis.verdict if "(hit rate) x" in one]
    assert "the largest loss comes from lists without a hit" in said


def test_ranks_of_hits() -> None:
    ranks = found().ranks
    assert (ranks.hits, ranks.relevant, ranks.mean, ranks.median) == (2, 5, 1.5, 1.5)
    assert ranks.at == (1, 1, 0)
    assert "hits: 2; relevant items: 5; rank of hits: mean 1.50, median 1.5" in str(found())


def test_ndcg_over_lists_with_a_hit_is_called_another_population_not_a_correction() -> None:
    text = " ".join(found().verdict)
    assert "2.00 times as high" in text
    assert "1 / hit rate, because the same sum is divided by fewer lists" in text
    assert "Both are valid, but only the value over all lists" in text
    assert "underestimate" not in text
    assert "Missed items then cost nothing, and one more hit at a low rank can even lower" in text


def test_the_convention_in_force_is_the_one_given() -> None:
    diagnosis = found(convention="comirec")
    assert diagnosis.value == pytest.approx((SECOND + 1) / 4)
    assert diagnosis.quantities["all_truth"].value == pytest.approx((ANN + 1) / 4)
    hits_only = found(convention={"list_needed": "hit"})
    assert hits_only.value == pytest.approx((ANN + 1) / 2)
    assert hits_only.quantities["all_truth"].counted == 4


def test_lists_without_relevant_items_do_not_count_if_they_are_skipped() -> None:
    truth = {**TRUTH, "eve": {"x": 0}}
    graded = {user: of if isinstance(of, dict) else dict.fromkeys(of, 1) for user, of in
              truth.items()}  # fmt: skip
    skip = {"truth_needed": "judged", "undefined": "skip"}
    assert diagnose(LISTS, graded, 3, skip).lists == 4
    assert diagnose(LISTS, graded, 3, {"truth_needed": "judged", "undefined": "zero"}).lists == 5


def standing(reference: Any, **more: Any) -> tuple[str, str]:
    diagnosis = found(reference=reference, **more)
    assert diagnosis.reference is not None
    return diagnosis.reference.standing, diagnosis.verdict[-1]


def test_a_reference_equal_to_the_value_is_the_same_quantity() -> None:
    state, said = standing(f"{(ANN + 1) / 4:.5f}")
    assert state == "same"
    assert "equals your value to the printed decimals" in said


def test_a_reference_that_is_another_quantity_makes_the_comparison_void() -> None:
    state, said = standing(f"{(ANN + 1) / 2:.4f}")
    assert state == "void"
    assert "the two cannot be compared, they are different quantities" in said
    assert "over lists with a hit, ideal from the truth" in said


def test_a_reference_nearer_to_another_quantity_is_doubtful() -> None:
    for vague in (0.42, 0.41, 0.4):  # with so few decimals, many values fit
        state, said = standing(vague)
        assert state == "doubtful"
        assert "closest to NDCG over all lists, ideal from the hits" in said


def test_a_reference_that_is_close_to_no_quantity_is_left_open() -> None:
    for value, alone in ((0.01, False), (0.5, True)):
        state, said = standing(value)
        assert state == "open"
        assert "it is unknown whether they are the same quantity" in said
        assert ("so they alone could explain the difference" in said) == alone


def test_the_convention_of_a_reference_decides_whether_it_can_be_compared() -> None:
    state, said = standing("9.185%", reference_convention="comirec-paper")
    assert state == "void"
    assert "ideal: found" in said
    assert f"these lists give {(SECOND + 1) / 4:.6f}: compare that" in said
    state, said = standing(0.3, reference_convention={"seen": "kept"})
    assert state == "comparable", "`seen` does not affect lists"
    assert "the two can be compared" in said


@pytest.mark.parametrize(("given", "value", "tolerance"), [
    ("0.09185", 0.09185, 5e-6), (0.5, 0.5, 0.05), ("9.185", 0.09185, 5e-6),
    ("9.185%", 0.09185, 5e-6), ("0.5000", 0.5, 5e-5), ("1e-2", 0.01, 5e-3),
])  # fmt: skip
def test_a_reference_is_as_precise_as_it_is_printed(
    given: Any, value: float, tolerance: float
) -> None:
    reference = found(reference=given).reference
    assert reference is not None
    assert (reference.value, reference.tolerance) == pytest.approx((value, tolerance))


@pytest.mark.parametrize("wrong", ["much", -0.1, "nan", "101", "inf", ""])
def test_a_reference_that_cannot_be_an_ndcg_is_refused(wrong: Any) -> None:
    with pytest.raises(BadArgument, match="the reference is"):
        found(reference=wrong)


def test_lists_without_any_hit_can_be_diagnosed() -> None:
    diagnosis = diagnose({"ann": ["x"]}, {"ann": ["a"]}, reference=0.2)
    assert (diagnosis.value, diagnosis.hit_rate, diagnosis.ranks.mean) == (0.0, 0.0, None)
    assert diagnosis.quantities["hit_truth"].value is None
    assert diagnosis.quantities["hit_truth"].why
    text = str(diagnosis)
    assert "No list has a hit" in text
    assert "hits up to rank 10: none; relevant items: 1" in text
    json.dumps(diagnosis.as_dict(), allow_nan=False)


def test_if_every_list_has_a_hit_both_populations_are_the_same() -> None:
    diagnosis = diagnose({"ann": ["x", "a"], "bob": ["b"]}, {"ann": ["a"], "bob": ["b"]}, k=2)
    assert diagnosis.verdict[0] == ("Every list has a hit: NDCG over lists with a hit is the same.")


def test_the_hit_rate_is_weighted_too() -> None:
    weights = pl.DataFrame({"user": ["ann", "bob", "cid", "dan"], "weight": [1.0, 2.0, 3.0, 4.0]})
    diagnosis = found(weights=weights)
    assert diagnosis.hit_rate == pytest.approx(3 / 10)
    assert diagnosis.ratio == pytest.approx(10 / 3)
    assert "1 / hit rate" in diagnosis.verdict[0]


def test_an_undefined_value_comes_with_the_reason() -> None:
    diagnosis = found(convention={"ideal": "found"})
    assert diagnosis.value is None
    assert "= undefined" in str(diagnosis)
    assert "! the value of 2 of 4 lists is 0/0 (first: list 'cid')." in str(diagnosis)


def test_a_quantity_that_ties_make_impossible_comes_with_the_reason() -> None:
    lists = {"ann": {"a": 1.0, "x": 1.0}, "bob": {"c": 1.0, "y": 0.5}}
    diagnosis = diagnose(lists, {"ann": ["a"], "bob": ["c"]}, 2, {"ties": "average"})
    assert diagnosis.value == pytest.approx(((1 + SECOND) / 2 + 1) / 2)
    assert diagnosis.quantities["all_hits"].value is None
    assert "no closed form" in diagnosis.quantities["all_hits"].why


def test_scores_and_logits_are_diagnosed_like_lists() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    of_scores = diagnose(rt.Scores(scores), {0: [1], 1: [2]}, 2)
    assert of_scores.value == pytest.approx((SECOND + 1) / 2)
    of_logits = diagnose(rt.Logits(scores), [1, 2], 2)
    assert values(of_logits) == pytest.approx(values(of_scores))
    assert "lists with a hit contain every relevant item that fits" in " ".join(of_logits.verdict)


def test_values_are_fractions_even_if_the_profile_prints_percent() -> None:
    assert found(convention={"scale": "percent", "decimals": 1}).value == (ANN + 1) / 4


def test_what_cannot_be_evaluated_raises_as_it_does_in_evaluate() -> None:
    with pytest.raises(DuplicateItems):
        diagnose({"ann": ["x", "x"]}, {"ann": ["x"]})
    with pytest.raises(RectitudeError):
        diagnose({"ann": ["x"]}, {"ann": ["x"]}, k=0)


def test_a_diagnosis_can_be_written_as_json() -> None:
    stored = json.loads(found(reference="0.4082").to_json())
    assert stored["quantities"]["all_hits"]["value"] == pytest.approx((SECOND + 1) / 4)
    assert stored["reference"]["standing"]
    assert stored["verdict"]


def test_deep_cutoffs_are_shown_in_ranges() -> None:
    lists = {"u": [f"i{n}" for n in range(300)]}
    text = str(diagnose(lists, {"u": ["i0", "i15", "i60", "i250"]}, 300))
    for stretch in ("| 11 to 20 ", "| 21 to 50 ", "| 51 to 100 ", "| 101 to 200 ", "| 201 to 300 "):
        assert stretch in text


def test_a_metric_in_place_of_the_cutoff_is_refused() -> None:
    with pytest.raises(BadArgument, match="k is 'ndcg@3'"):
        rt.diagnose({"ann": ["a"]}, {"ann": ["a"]}, "ndcg@3")  # type: ignore[arg-type]

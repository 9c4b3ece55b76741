"""Robustness: orders computed by hand, what changes them, failures, and the printed report."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadLists, UnknownName
from rectitude.explanation.robustness import Robustness, Standing, robustness
from rectitude.profiles import Profile

TRUTH = {"ann": ["a", "b", "c"], "bob": ["d"]}
BROAD = {"ann": ["a", "b", "c"], "bob": ["x", "y", "z"]}
"""recall 1 and 0; with micro 3 of 4"""
EVEN = {"ann": ["a", "x", "y"], "bob": ["d", "y", "z"]}
"""recall 1/3 and 1; with micro 2 of 4"""


def compared(metric: str = "recall@3", **more: Any) -> Robustness:
    return robustness({"broad": BROAD, "even": EVEN}, TRUTH, metric, **more)


def under(found: Robustness, label: str) -> Standing:
    return next(one for one in found.standings if one.label == label)


def test_the_base_orders_by_the_metric() -> None:
    found = compared()
    assert found.base.order == (("even",), ("broad",))
    assert found.base.values == {"broad": 0.5, "even": pytest.approx(2 / 3)}


def test_a_switch_that_changes_the_order_is_found_with_the_pair() -> None:
    found = compared()
    micro = under(found, "average=micro")
    assert (micro.kind, micro.ranking) == ("switch", "broad > even")
    assert micro.changed == (("even", "broad"),)
    assert micro in found.changes
    assert micro.values == {"broad": 0.75, "even": 0.5}


def test_every_standing_agrees_with_evaluate() -> None:
    found = compared("ndcg@3", base={"undefined": "zero"})
    for one in found.standings:
        convention: Any = one.label
        if one.kind == "switch":
            switch, _, choice = one.label.partition("=")
            convention = {"undefined": "zero", switch: choice}
        for model, lists in (("broad", BROAD), ("even", EVEN)):
            evaluated = rt.evaluate(lists, TRUTH, "ndcg@3", convention)
            assert one.values[model] == evaluated["ndcg@3"], one.label


def test_profiles_that_define_the_metric_are_tried() -> None:
    found = compared()
    labels = {one.label for one in found.standings if one.kind == "profile"} | set(found.failures)
    assert {"rectools", "trec_eval-9", "ranx", "replay"} <= labels
    assert "default" not in labels


def test_only_named_profiles_are_tried() -> None:
    found = compared(profiles=["rectools"])
    assert [one.label for one in found.standings if one.kind == "profile"] == ["rectools"]
    with pytest.raises(UnknownName, match="rectools"):
        compared(profiles=["rectool"])


def test_switches_that_cannot_matter_are_not_tried() -> None:
    labels = {one.label.partition("=")[0] for one in compared().standings}
    assert not {"ideal", "ap_over", "scale", "decimals"} & labels
    assert "recall_over" in labels


def test_conventions_without_a_value_are_listed_with_the_reason() -> None:
    found = compared("ndcg@3")
    assert "0/0" in found.failures["ideal=found"]
    assert found.failures["ideal=found"].startswith("broad:")
    assert "With undefined=zero in the base" in str(found)
    assert "ideal=found" not in compared("ndcg@3", base={"undefined": "zero"}).failures


def test_conventions_that_fail_for_the_same_reason_share_a_line() -> None:
    text = str(compared())
    line = next(line for line in text.splitlines() if line.endswith("order='score' needs one."))
    assert {"ranx,", "trec_eval-9,"} <= set(line.split())


def test_a_base_without_values_is_an_error() -> None:
    with pytest.raises(BadLists, match="of model broad has no value under the base"):
        compared("ndcg@3", base={"ideal": "found"})


def test_grades_of_the_truth_are_tried_as_thresholds() -> None:
    truth = pl.DataFrame({"user": ["u"] * 3, "item": list("abc"), "grade": [1, 2, 5]})
    models = {"low": {"u": ["a", "x"]}, "high": {"u": ["c", "x"]}}
    found = robustness(models, truth, "recall@1")
    assert found.base.order == (("low", "high"),)
    assert under(found, "relevant_from=2").order == (("high",), ("low",))
    assert under(found, "relevant_from=5").changed == (("low", "high"),)


def test_lower_is_better_where_the_metric_says_so() -> None:
    logits = np.array([[4.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    models = {"good": rt.Logits(logits), "bad": rt.Logits(-logits)}
    found = robustness(models, [0, 1], "cross_entropy")
    assert found.base.ranking == "good > bad"


def test_each_meaning_of_a_name_decides_whether_higher_is_better() -> None:
    logits = np.array([[4.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    models = {"good": rt.Logits(logits), "bad": rt.Logits(-logits)}
    odd = Profile(name="odd", metrics={"mrr": {"metric": "cross_entropy"}})
    found = robustness(models, [0, 1], "mrr", profiles=[odd])
    assert under(found, "odd").values["good"] < under(found, "odd").values["bad"]
    assert under(found, "odd").ranking == found.base.ranking == "good > bad"


def test_equal_models_share_a_rank_and_a_new_tie_is_a_change() -> None:
    found = robustness({"one": EVEN, "two": dict(EVEN), "broad": BROAD}, TRUTH, "recall@3")
    assert found.base.ranking == "one = two > broad"
    assert under(found, "average=micro").changed == (("one", "broad"), ("two", "broad"))


def test_padding_of_profiles_is_left_out_of_scores() -> None:
    scores = np.array([[9.0, 2.0, 1.0], [9.0, 1.0, 2.0]])
    models = {"one": rt.Scores(scores), "two": rt.Scores(scores[:, [0, 2, 1]])}
    truth = {0: [1], 1: [1]}
    found = robustness(models, truth, "mrr", profiles=["comirec-torch"])
    assert found.base.values["one"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert under(found, "comirec-torch").values["one"] == pytest.approx((1 + 1 / 2) / 2)


def test_one_model_has_no_order() -> None:
    with pytest.raises(BadArgument, match="at least two"):
        robustness({"one": EVEN}, TRUTH, "recall@3")


def test_text_and_json_say_what_was_found() -> None:
    found = compared()
    text = str(found)
    assert "recall@3 under default: even > broad" in text
    assert f"{len(found.changes)} of {len(found.standings)} other conventions change" in text
    assert "even/broad" in text
    assert "Same order, same values:" in text
    stored = json.loads(found.to_json())
    assert stored["format"] == "rectitude.robustness"
    assert stored["base"]["order"] == [["even"], ["broad"]]


def test_the_report_says_that_nothing_changes_the_order() -> None:
    worse = {"ann": ["x"], "bob": ["y"]}
    found = robustness({"even": EVEN, "worse": worse}, TRUTH, "hit@3", base={"undefined": "zero"})
    assert found.changes == ()
    assert f"None of the {len(found.standings)} other conventions changes the order." in str(found)


def test_values_stand_in_the_order_of_the_models() -> None:
    truth = {1: ["a"], 2: ["b"]}
    models = {
        "worst": {1: ["x", "y", "a"], 2: ["y"]},
        "best": {1: ["a"], 2: ["b"]},
        "middle": {1: ["x", "a"], 2: ["b"]},
    }
    first = str(rt.robustness(models, truth, "mrr", [])).splitlines()[0]
    assert "best > middle > worst (best 1.0000, middle 0.7500, worst 0.1667)" in first

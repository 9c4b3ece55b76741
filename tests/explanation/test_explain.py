"""Explanations: parts computed by hand, all kinds of players, groups, errors, printed text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadIds,
    BadLists,
    BadName,
    MissingNeed,
    NotComparable,
    UndefinedValue,
    UnknownName,
)
from rectitude.explanation.explain import attribution
from rectitude.explanation.explain.differences import differences
from rectitude.explanation.explain.result import Explanation
from rectitude.profiles import Profile

LISTS = {"ann": ["a", "b", "x"], "bob": ["y", "c", "z"], "cid": ["u", "v", "w"]}
OTHER = {"ann": ["x", "a", "b"], "bob": ["c", "y", "z"], "cid": ["u", "v", "w"]}
TRUTH = {"ann": ["a", "b", "q"], "bob": ["c"], "cid": ["d"]}
GRADED = pl.DataFrame(
    {
        "user": ["ann", "ann", "bob", "cid"],
        "item": ["a", "b", "c", "d"],
        "grade": [1, 3, 2, 0],
    }
)
TIED = pl.DataFrame(
    {
        "user": ["ann", "ann", "ann", "bob", "bob", "dan"],
        "item": ["x", "a", "b", "y", "c", "z"],
        "score": [2.0, 2.0, 1.0, 3.0, 3.0, 1.0],
    }
)


def explained(first: Any, second: Any, metric: str = "ndcg@3", **more: Any) -> Explanation:
    return rt.explain(LISTS, TRUTH, metric, first, second, **more)


def shares(explanation: Explanation) -> dict[str, float]:
    return {part.label: part.share for part in explanation.parts}


def requires_sum(explanation: Explanation) -> None:
    total = math.fsum(part.share for part in explanation.parts)
    assert abs(total - explanation.gap) < 1e-12


def test_one_switch_is_the_whole_gap() -> None:
    found = explained("default", {"ideal": "k"})
    assert shares(found) == {"ideal": found.gap}
    assert found.gap < 0
    part = found.parts[0]
    assert (part.from_first.lists, part.from_second.lists) == (1, 1)
    assert part.changes[0].about == "The ideal list that NDCG divides by."
    assert part.changes[0].second_means.startswith("a hit at every rank")


def test_values_are_those_of_evaluate() -> None:
    for first, second in (("default", "rectools"), ("trec_eval-9", "comirec")):
        found = rt.explain(TIED, GRADED, "ndcg@2", first, second)
        for side, profile in ((found.first, first), (found.second, second)):
            assert side.value == rt.evaluate(TIED, GRADED, "ndcg@2", profile)["ndcg@2"]
        requires_sum(found)


def test_two_switches_share_the_gap_as_by_hand() -> None:
    """Recall of ann is 2/3 and 2 of 2, of bob 1; micro pools 3 of 5 and 3 of 4."""
    first, second = {}, {"recall_over": "reachable", "average": "micro"}
    found = explained(first, second, "recall@2")
    start, one, two, end = (2 / 3 + 1) / 3, (1 + 1) / 3, 3 / 5, 3 / 4
    by_hand = {
        "recall_over": ((one - start) + (end - two)) / 2,
        "average": ((two - start) + (end - one)) / 2,
    }
    assert shares(found) == pytest.approx(by_hand, abs=1e-15)


def test_parts_come_by_size() -> None:
    found = rt.explain(TIED, GRADED, "ndcg@2", "trec_eval-9", "comirec")
    sizes = [abs(part.share) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 1


def test_identical_conventions_have_no_parts() -> None:
    found = explained("default", rt.Convention())
    assert (found.parts, found.without_effect, found.gap) == ((), (), 0.0)
    assert "Nothing differs" in str(found)


def test_switches_without_effect_are_named_as_such() -> None:
    found = explained("default", {"unknown_users": "drop", "score_precision": "float32"})
    assert [change.name for change in found.without_effect] == ["unknown_users", "score_precision"]
    assert found.parts == ()
    assert "Different, but without effect here: unknown_users (keep, drop)" in str(found)


def test_switches_that_the_metric_does_not_obey_are_not_differences() -> None:
    found = explained("default", {"ap_over": "k", "ideal": "k"}, "recall@3")
    assert (found.parts, found.without_effect) == ((), ())


def test_effective_conventions_are_compared_not_profiles() -> None:
    """comirec changes NDCG only; for recall, just the handling of seen items differs."""
    found = explained("default", "comirec", "recall@3")
    assert [change.name for change in found.without_effect] == ["seen"]


def test_parameters_of_a_metric_are_parts() -> None:
    found = explained("default", "default", "rbp[persistence=0.5]")
    assert found.gap == 0.0
    half = Profile(name="half", metrics={"rbp": {"persistence": 0.5}})
    found = explained("default", half, "rbp")
    assert shares(found) == {"persistence": found.gap}
    assert found.gap != 0.0


def test_another_metric_under_the_same_name_is_a_part() -> None:
    """`recall` means precision there: ann finds 2 of 3 relevant items, at 2 of 4 ranks."""
    lists, truth = {"ann": ["a", "b"], "bob": ["x"]}, {"ann": ["a", "b", "q"], "bob": ["c"]}
    entry = {"metric": "precision", "precision_over": "returned"}
    odd = Profile(name="odd", metrics={"recall": entry})
    found = rt.explain(lists, truth, "recall@4", "default", odd)
    by_hand = {"formula": ((1 / 4 - 1 / 3) + (1 / 2 - 1 / 3)) / 2, "precision_over": 1 / 8}
    assert shares(found) == pytest.approx(by_hand, abs=1e-15)
    change = next(part for part in found.parts if part.label == "formula").changes[0]
    assert (change.first, change.second) == ("recall", "precision")
    assert (change.first_means, change.second_means) == ("Recall", "Precision")
    assert found.second.value == rt.evaluate(lists, truth, "recall@4", odd)["recall@4"]


def test_derived_metrics_use_the_definitions_of_their_profiles() -> None:
    first = Profile(name="one", metrics={"precision": {"precision_over": "returned"}})
    second = Profile(name="two", metrics={"recall": {"recall_over": "reachable"}})
    found = explained(first, second, "f1_of_means@2")
    for side, profile in ((found.first, first), (found.second, second)):
        value = rt.evaluate(LISTS, TRUTH, "f1_of_means@2", profile)["f1_of_means@2"]
        assert side.value == value
    requires_sum(found)
    assert {part.label for part in found.parts} == {"recall_over"}
    example = found.parts[0].from_first.example
    assert example is not None
    assert (example.of, example.user, example.after) == ("recall", "ann", 1.0)
    assert "in recall" in str(found)


def test_a_metric_of_lists_and_a_derived_one_are_compared_by_their_values() -> None:
    metrics = {"f1": {"metric": "f1_of_means"}, "precision": {"precision_over": "returned"}}
    odd = Profile(name="odd", metrics=metrics)
    found = explained("default", odd, "f1@5")
    assert found.second.value == rt.evaluate(LISTS, TRUTH, "f1@5", odd)["f1@5"]
    assert set(shares(found)) == {"formula", "precision_over"}
    requires_sum(found)
    formula = next(part for part in found.parts if part.label == "formula")
    assert formula.from_first.lists is None


def test_metrics_of_counts_have_no_values_of_lists() -> None:
    logits = rt.Logits(np.array([[3.0, 1, 0, 0], [0, 2, 1, 0], [0, 1, 5, 0]]))
    found = rt.explain(logits, [0, 1, 1], "macro_f1", "default", {"class_average": "all"})
    assert shares(found) == {"class_average": found.gap}
    assert found.parts[0].from_first.lists is None
    assert "single lists have no value of this metric" in str(found)


def test_contradicting_switches_are_taken_together() -> None:
    found = explained({"unit": "user"}, {"average": "micro"}, "recall@2")
    assert [part.label for part in found.parts] == ["unit + average"]
    assert "contradict each other" in found.parts[0].reason
    requires_sum(found)


def test_undefined_values_group_what_makes_them() -> None:
    found = explained("default", {"ideal": "found", "undefined": "zero", "discount": "log"})
    assert [part.label for part in found.parts] == ["ideal + undefined"]
    assert "0/0" in found.parts[0].reason
    assert found.parts[0].share == found.gap


def test_nan_is_not_a_value() -> None:
    first = {"truth_needed": "none", "undefined": "zero"}
    found = rt.explain(TIED, GRADED, "recall@2", first, {"undefined": "nan"})
    assert [part.label for part in found.parts] == ["truth_needed + undefined"]
    requires_sum(found)


def test_the_error_names_the_convention_without_a_value() -> None:
    with pytest.raises(UndefinedValue, match=r"no value under the second convention \(default, id"):
        explained("default", {"ideal": "found"})
    with pytest.raises(
        UndefinedValue, match=r"no value under the first convention.*the value is nan"
    ):
        explained({"ideal": "found", "undefined": "nan"}, "default")
    with pytest.raises(MissingNeed, match="no value under the first"):
        explained("default", {"ties": "optimistic"}, "auc")


def test_a_list_that_no_longer_counts_is_an_example() -> None:
    lists = {"ann": ["a", "b"], "bob": ["c"]}
    truth = {"ann": ["a"], "bob": ["c"], "eve": ["e"]}
    found = rt.explain(lists, truth, "recall@2", "default", {"list_needed": "items"})
    example = found.parts[0].from_first.example
    assert example is not None
    assert (example.list, example.before, example.after) == ("eve", 0.0, None)
    assert "user 'eve': 0.0000 -> not counted" in str(found)


def test_the_example_is_the_largest_change_then_the_first_user() -> None:
    lists = {"u2": ["a"], "u1": ["a"], "u3": ["a", "b"]}
    truth = {"u2": ["a", "p", "q"], "u1": ["a", "p", "q"], "u3": ["a", "b", "q"]}
    found = rt.explain(lists, truth, "recall@1", "default", {"recall_over": "reachable"})
    flip = found.parts[0].from_first
    assert flip.example is not None
    assert (flip.lists, flip.users, flip.example.user) == (3, 3, "u1")


def test_lists_and_users_are_counted_separately() -> None:
    lists = pl.DataFrame(
        {"session": [1, 1, 2, 2, 3], "user": list("aaaab"), "item": [1, 2, 3, 4, 5]}
    )
    truth = pl.DataFrame(
        {"session": [1, 1, 2, 2, 3], "user": list("aaaab"), "item": [1, 9, 3, 9, 5]}
    )
    found = rt.explain(
        lists, truth, "recall@1", "default", {"recall_over": "reachable"}, list_key="session"
    )
    flip = found.parts[0].from_first
    assert (flip.lists, flip.users, found.lists, found.users) == (2, 1, 3, 2)
    assert flip.example is not None
    assert (flip.example.list, flip.example.user) == (1, "a")
    assert "2 of 3 lists change (of 1 users)" in str(found)


def test_other_predictions_are_a_part() -> None:
    found = explained("default", "default", other_predictions=OTHER)
    assert shares(found) == {"predictions": found.gap}
    assert found.second.value == rt.evaluate(OTHER, TRUTH, "ndcg@3")["ndcg@3"]
    assert found.parts[0].from_first.lists == 2


def test_predictions_and_convention_are_separate_parts() -> None:
    found = explained("default", {"ideal": "k"}, other_predictions=OTHER)
    assert set(shares(found)) == {"predictions", "ideal"}
    requires_sum(found)


def test_other_predictions_for_other_users_are_aligned_by_key() -> None:
    truth = {"ann": ["a"], "bob": ["c"]}
    one, two = {"ann": ["a"], "zoe": ["q"]}, {"abe": ["r"], "ann": ["b"], "bob": ["c"]}
    found = rt.explain(one, truth, "hit@1", {}, {}, other_predictions=two)
    flip = found.parts[0].from_first
    assert flip.example is not None
    assert (flip.lists, flip.example.list, flip.example.after) == (2, "ann", 0.0)


def test_predictions_without_a_common_list_are_refused() -> None:
    with pytest.raises(BadLists, match="no list in common"):
        explained({}, {}, other_predictions={"eve": ["a"]})


def test_padding_of_a_profile_is_a_part() -> None:
    scores = rt.Scores(np.array([[5.0, 4, 3], [9.0, 1, 2]]))
    truth = {0: [1], 1: [2]}
    padded = Profile(name="padded", padding=0)
    found = rt.explain(scores, truth, "mrr", "default", padded)
    assert shares(found) == {"padding": 0.5}
    own = rt.explain(rt.Scores(scores.source, padding=2), truth, "hit@1", "default", padded)
    assert own.parts == ()


def test_dense_scores_with_candidates_and_train() -> None:
    scores = rt.Scores(np.array([[5.0, 4, 3, 2], [9.0, 1, 2, 8]]))
    truth, train = {0: [1, 3], 1: [2]}, {0: [0], 1: [0]}
    candidates = {0: [0, 1, 2], 1: [0, 3]}
    first, second = {"seen": "kept"}, {"candidates": "with_truth", "ties": "optimistic"}
    given: dict[str, Any] = {"train": train, "candidates": candidates}
    found = rt.explain(scores, truth, "ndcg@2", first, second, **given)
    assert set(shares(found)) == {"seen", "candidates"}
    assert found.second.value == rt.evaluate(scores, truth, "ndcg@2", second, **given)["ndcg@2"]
    requires_sum(found)


def test_weights_and_columns_are_taken_as_by_evaluate() -> None:
    weights = {"user": ["ann", "bob", "cid"], "weight": [5.0, 1.0, 1.0]}
    second = {"recall_over": "reachable"}
    found = explained({}, second, "recall@2", weights=pl.DataFrame(weights))
    whole = rt.evaluate(LISTS, TRUTH, "recall@2", second, weights=pl.DataFrame(weights))
    assert found.second.value == whole["recall@2"]


def test_evaluations_can_be_compared(tmp_path: Path) -> None:
    one = rt.evaluate(LISTS, TRUTH, ["ndcg@3", "f1_of_means@2"], "rectools")
    two = rt.evaluate(LISTS, TRUTH, "ndcg@3", {"profile": "replay", "discount": "log_from_second"})
    two.save(tmp_path / "two.json")
    found = explained(one, rt.Evaluation.load(tmp_path / "two.json"))
    assert (found.first.value, found.second.value) == (one["ndcg@3"], two["ndcg@3"])
    assert found.notes == ()
    assert {"ideal", "discount"} <= {part.label for part in found.parts}
    assert found.first.label == "rectools (evaluation)"
    derived = explained(one, "default", "f1_of_means@2")
    assert derived.first.value == one["f1_of_means@2"]


def test_an_evaluation_of_other_inputs_is_noted() -> None:
    one = rt.evaluate(OTHER, TRUTH, "ndcg@3")
    found = explained(one, {"ideal": "k"})
    assert "it was made from other inputs" in found.notes[0]
    assert found.notes[0] in str(found)


def test_a_metric_that_the_evaluation_lacks_is_an_error() -> None:
    one = rt.evaluate(LISTS, TRUTH, "ndcg@3")
    with pytest.raises(UnknownName, match="no value 'ndcg@5'"):
        explained(one, "default", "ndcg@5")


@pytest.mark.parametrize(
    ("first", "metric", "message"),
    [
        ("elliott", "ndcg@3", "elliot"),
        ({"idael": "k"}, "ndcg@3", "ideal"),
        ({"ideal": "kk"}, "ndcg@3", "switch 'ideal' has no choice 'kk'"),
        ("default", "ndgc@3", "ndcg"),
    ],
)
def test_errors_about_unknown_names_suggest_similar_ones(
    first: Any, metric: str, message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        explained(first, "default", metric)


def test_two_metrics_at_once_are_refused() -> None:
    with pytest.raises(BadName, match="'mrr, ndcg@3' names 2 metrics"):
        explained("default", "rectools", "mrr, ndcg@3")


def test_a_change_by_rounding_only_has_no_effect() -> None:
    lists = {user: list("abcdefg") for user in "uvwxyz"}
    truth = {"u": list("bdf"), "v": list("ceg"), "w": list("afg"), "x": list("bg"), "y": ["c"],
             "z": list("abcdef")}  # fmt: skip
    graded = pl.DataFrame(
        [(user, item, 3) for user, items in truth.items() for item in items],
        schema=["user", "item", "grade"], orient="row",
    )  # fmt: skip
    found = rt.explain(lists, graded, "ndcg@7", {"gain": "exp2"}, {"gain": "linear"})
    values = [rt.evaluate(lists, graded, "ndcg@7", {"gain": gain}) for gain in ("exp2", "linear")]
    pairs = zip(*(one.per_list()["ndcg@7"] for one in values), strict=True)
    assert any(one != two for one, two in pairs)
    assert (found.parts, [change.name for change in found.without_effect]) == ((), ["gain"])


def test_values_on_different_scales_are_noted() -> None:
    found = explained({"scale": "percent"}, {"ideal": "k"})
    requires_sum(found)
    assert found.notes == (
        "one value is in percent, the other is not: set the same scale on both sides.",
    )
    assert explained({"scale": "percent"}, {"scale": "percent", "ideal": "k"}).notes == ()


def test_wrong_ids_of_other_predictions_are_not_blamed_on_a_convention() -> None:
    with pytest.raises(BadIds) as raised:
        explained("default", "rectools", other_predictions={1: ["a"]})
    assert raised.value.found.startswith("user ids are")


def test_the_error_names_the_profile_that_lacks_the_metric() -> None:
    odd = Profile(name="odd", framework="Odd", absent={"ndcg": "the age of the user"})
    with pytest.raises(BadName, match=r"'ndcg@3' is not defined under 'odd'.*the age of the user"):
        explained("default", odd)


def test_several_metrics_at_once_are_refused() -> None:
    with pytest.raises(BadName, match="names 2 metrics"):
        explained("default", "rectools", "ndcg@{3,5}")


def many() -> tuple[dict[str, Any], dict[str, Any]]:
    """Two conventions that differ in twelve switches; several of them have an effect."""
    first = {
        "gain": "linear", "ideal": "k", "truth_needed": "judged", "undefined": "zero",
        "ties": "optimistic", "relevant_from": 1,
    }  # fmt: skip
    second = {
        "discount": "log_from_second", "list_needed": "items", "score_precision": "float32",
        "negative_grades": "unjudged", "duplicates": "first", "duplicate_truth": "once",
        "gain_from": "positive", "undefined": "zero",
    }  # fmt: skip
    return first, second


def test_with_many_switches_those_without_effect_are_left_out_first() -> None:
    found = rt.explain(TIED, GRADED, "ndcg@2", *many())
    assert len(found.parts) + len(found.without_effect) > attribution.EXACT
    assert found.method == "exact but for idle switches"
    requires_sum(found)
    assert all(part.error is None for part in found.parts)
    assert "identified in random combinations" in str(found)


def test_with_more_active_switches_shares_are_sampled_with_their_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = rt.explain(TIED, GRADED, "ndcg@2", *many())
    monkeypatch.setattr(attribution, "EXACT", 2)
    found = rt.explain(TIED, GRADED, "ndcg@2", *many(), seed=5)
    assert (found.method, found.seed, found.drawn) == ("sampled", 5, 128)
    requires_sum(found)
    exact = shares(whole)
    for part in found.parts:
        assert part.error is not None
        assert abs(part.share - exact[part.label]) <= 5 * part.error + 1e-12
    again = rt.explain(TIED, GRADED, "ndcg@2", *many(), seed=5)
    assert shares(again) == shares(found)
    assert "estimated from 128 random orders (seed 5)" in str(found)


def test_groups_are_found_among_many_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "EXACT", 2)
    first, second = many()
    found = rt.explain(
        TIED, GRADED, "ndcg@2", {**first, "unit": "user"}, {**second, "average": "micro"}
    )
    assert "unit + average" in shares(found)
    assert found.method == "sampled"
    requires_sum(found)


def test_waterfall_leads_from_the_first_value_to_the_second() -> None:
    found = rt.explain(TIED, GRADED, "ndcg@2", "trec_eval-9", "comirec")
    steps = found.waterfall()
    assert steps[0] == ("trec_eval-9", 0.0, found.first.value)
    assert steps[-1] == ("comirec", 0.0, found.second.value)
    assert steps[1].start == found.first.value
    assert steps[-2].end == found.second.value
    assert [one.end for one in steps[1:-2]] == [one.start for one in steps[2:-1]]
    assert [one.label for one in steps[1:-1]] == [part.label for part in found.parts]


def test_json_holds_everything(tmp_path: Path) -> None:
    found = explained("default", "rectools")
    found.save(tmp_path / "found.json")
    stored = json.loads((tmp_path / "found.json").read_text())
    assert stored["format"] == "rectitude.explanation"
    assert stored["gap"] == found.gap
    part = stored["parts"][0]
    assert (part["label"], part["share"]) == ("ideal", found.parts[0].share)
    assert part["changes"][0]["second"] == "k"
    assert part["from_first"]["lists"] == 1
    assert len(stored["waterfall"]) == len(found.parts) + 2


def test_text_shows_small_gaps() -> None:
    lists = {f"u{n}": ["a"] for n in range(5000)}
    truth = {f"u{n}": ["a", "b"] if n == 0 else ["a"] for n in range(5000)}
    found = rt.explain(lists, truth, "recall@1", {}, {"recall_over": "reachable"})
    assert "+0.000100" in str(found)


def test_a_change_that_the_mean_hides_is_a_part_with_share_0() -> None:
    one, two = {"ann": ["a"], "bob": ["x"]}, {"ann": ["x"], "bob": ["c"]}
    found = rt.explain(one, {"ann": ["a"], "bob": ["c"]}, "hit@1", {}, {}, other_predictions=two)
    assert shares(found) == {"predictions": 0.0}
    assert found.parts[0].from_first.lists == 2


def test_long_labels_are_shortened_in_the_printed_text_only() -> None:
    found = rt.explain(TIED, GRADED, "ndcg@2", *many())
    assert len(found.first.label) > 60
    assert found.first.label not in str(found)


def test_differences_of_evaluations_name_switches_and_inputs() -> None:
    one = rt.evaluate(LISTS, TRUTH, ["ndcg@3", "mrr"])
    two = rt.evaluate(OTHER, TRUTH, ["ndcg@3", "map"], {"ideal": "k"})
    found = differences(one, two)
    assert [(one.metric, [c.name for c in one.changes]) for one in found.metrics] == [
        ("ndcg@3", ["ideal"])
    ]
    assert found.inputs == {"predictions": "different", "truth": "the same"}
    assert (found.only_first, found.only_second) == (("mrr",), ("map",))
    assert found.metrics[0].gap == two["ndcg@3"] - one["ndcg@3"]
    text = str(found)
    assert "the gaps come from both" in text
    assert "a hit at every rank up to the cutoff" in text
    assert json.loads(found.to_json())["metrics"][0]["gap"] == found.metrics[0].gap


def test_differences_say_where_gaps_come_from() -> None:
    one = rt.evaluate(LISTS, TRUTH, "ndcg@3")
    other = rt.evaluate(OTHER, TRUTH, "ndcg@3")
    changed = rt.evaluate(LISTS, TRUTH, "ndcg@3", {"ideal": "k"})
    assert "so are the values" in str(differences(one, one))
    assert "gaps come from the inputs" in str(differences(one, other))
    assert "gaps come from the definitions" in str(differences(one, changed))


def test_differences_include_parameters_and_formulas() -> None:
    one = rt.evaluate(LISTS, TRUTH, "rbp")
    half = Profile(name="half", metrics={"rbp": {"persistence": 0.5}})
    found = differences(one, rt.evaluate(LISTS, TRUTH, "rbp", half))
    assert [c.name for c in found.metrics[0].changes] == ["persistence"]
    other = Profile(name="odd", metrics={"rbp": {"metric": "err"}})
    found = differences(one, rt.evaluate(LISTS, TRUTH, "rbp", other))
    assert found.metrics[0].changes[0].name == "formula"


def test_undefined_values_have_no_gap() -> None:
    one = rt.evaluate(LISTS, TRUTH, "ndcg@3")
    two = rt.evaluate(LISTS, TRUTH, "ndcg@3", {"ideal": "found", "undefined": "nan"})
    found = differences(one, two)
    assert (found.metrics[0].second, found.metrics[0].gap) == (None, None)
    assert "undefined" in str(found)


def test_evaluations_without_a_common_metric_are_refused() -> None:
    one, two = (rt.evaluate(LISTS, TRUTH, name) for name in ("ndcg@3", "mrr"))
    with pytest.raises(
        NotComparable, match="no metric in common: the first has ndcg@3, the second has mrr"
    ):
        differences(one, two)


def test_warnings_of_both_evaluations_stand_under_an_explanation() -> None:
    lists, truth = {"ann": ["a", "b"], "bob": ["c"]}, {"ann": ["b"], "bob": ["c"], "cy": ["a"]}
    explained = rt.explain(lists, truth, "ndcg@2", "default", "rectools")
    assert "! 1 of 3 users in the truth have no predictions (first: 'cy')" in str(explained)
    other = {**lists, "cy": ["b"]}
    explained = rt.explain(lists, truth, "ndcg@2", "default", "default", other_predictions=other)
    (note,) = explained.notes
    assert note.startswith("first: 1 of 3 users")

"""`identify`: which definitions give a reported value, and how much a match means."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, MissingNeed, RectitudeError, UnknownName
from rectitude.explanation.identify import identify, sweep
from rectitude.explanation.identify.result import fitting_by_chance
from rectitude.explanation.reported import read_reported
from rectitude.profiles import Profile

FEW = ["trec_eval-9", "rectools", "comirec"]


def shop(users: int = 40) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists with ties, of different lengths, some missing; truth with grades 0 to 3."""
    random = np.random.default_rng(5)
    lists, truth = [], []
    for user in range(users):
        wanted = random.choice(30, 5, replace=False)
        truth += [(user, int(i), float(random.integers(0, 4))) for i in wanted]
        truth[-1] = (user, int(wanted[-1]), 2.0)
        if user % 9 == 4:
            continue
        shown = random.choice(30, int(random.integers(3, 12)), replace=False)
        lists += [(user, int(i), float(random.integers(0, 6))) for i in shown]
    return (
        pl.DataFrame(lists, ["user", "item", "score"], orient="row"),
        pl.DataFrame(truth, ["user", "item", "grade"], orient="row"),
    )


LISTS, TRUTH = shop()


def value(metric: str, convention: Any = None) -> float:
    return rt.evaluate(LISTS, TRUTH, metric, convention)[metric]


def found(metric: str, shown: object, **more: Any) -> Any:
    given = {"profiles": FEW, "most": 400, **more}
    return identify(LISTS, TRUTH, metric, shown, **given)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.0612", 0.06115, 0.06125),
        ("0.061200", 0.0611995, 0.0612005),
        ("6.12%", 0.06115, 0.06125),
        ("6.12e-2", 0.06115, 0.06125),
        ("12", 11.5, 12.5),
        (" -0.5 ", -0.55, -0.45),
        ("1e2", 50, 150),
    ],
)
def test_the_precision_comes_from_the_printed_text(text: str, low: float, high: float) -> None:
    target = read_reported(text, None, None)
    assert (target.low, target.high) == (low, high)


def test_both_ends_of_a_rounding_interval_fit_and_nothing_beyond_does() -> None:
    target = read_reported("0.5", None, None)
    assert [target.fits(v) for v in (0.4499, 0.45, 0.5, 0.55, 0.5501)] == [0, 1, 1, 1, 0]
    assert not target.fits(float("nan"))


def test_decimals_of_percentages_are_those_printed() -> None:
    assert read_reported("46.67%", 1, None).high == pytest.approx(0.4672, rel=1e-15)
    assert read_reported("46.67%", 2, None) == read_reported("46.67%", None, None)


def test_a_near_miss_is_shown_with_all_its_digits() -> None:
    exact = value("ndcg@5")
    wanted = exact * (1 + 1e-12)
    said = found("ndcg@5", wanted, tolerance=0.0, most=50).verdict
    assert f"gives {wanted!r}; the nearest is {exact!r} with default" in said


def test_a_tolerance_of_zero_matches_this_float_only() -> None:
    target = read_reported(0.1, None, 0)
    assert target.fits(0.1)
    assert not target.fits(np.nextafter(0.1, 1))


@pytest.mark.parametrize(
    ("shown", "more", "message"),
    [
        ("six", {}, "'six' is not a finite number"),
        ("nan", {}, "not a finite number"),
        (float("inf"), {"decimals": 2}, "the reported value is inf"),
        (True, {"decimals": 2}, "the reported value is True"),
        (None, {}, "the reported value is None"),
        (0.0612, {}, "does not say how many decimals"),
        ("0.06", {"tolerance": -1e-3}, "tolerance is -0.001"),
        ("0.06", {"tolerance": float("nan")}, "tolerance is nan"),
        ("0.06", {"decimals": -1}, "decimals is -1"),
        ("0.06", {"decimals": 1.5}, "decimals is 1.5"),
        ("0.06", {"decimals": 2, "tolerance": 0.1}, "decimals= and tolerance= were both given"),
        ("0.06", {"most": 0}, "most is 0"),
        ("1e-40", {}, "40 decimals"),
    ],
)
def test_an_invalid_value_is_refused(shown: Any, more: Any, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        found("ndcg@5", shown, **more)


def test_metric_unknown_to_all_profiles_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'ndcg@5'"):
        found("ndgc@5", "0.06")


def test_several_metrics_at_once_are_refused() -> None:
    with pytest.raises(BadName, match="names 2 metrics"):
        found("ndcg@{5,10}", "0.06")


def test_unknown_profile_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'rectools'"):
        found("ndcg@5", "0.06", profiles=["rectool"])


def test_the_error_says_why_inputs_have_no_value() -> None:
    with pytest.raises(MissingNeed, match="needs"):
        found("auc", "0.5")


def test_profile_that_gives_the_value_is_found_first() -> None:
    exact = value("ndcg@5", "comirec")
    result = found("ndcg@5", f"{exact:.9f}")
    assert result.matches[0].value == exact
    assert result.matches[0].profiles == ("comirec",)
    assert result.verdict.startswith("comirec gives this value")
    assert [one.profile for one in result.profiles if one.fits] == ["comirec"]


def test_choices_that_give_the_same_value_are_named() -> None:
    result = found("ndcg@5", value("ndcg@5", "comirec"), tolerance=0)
    first = result.matches[0]
    assert first.assignments > 1
    assert "skip" not in first.alike.get("undefined", ())
    for switch, choices in first.alike.items():
        for choice in choices:
            same = {"profile": "comirec", switch: choice}
            assert value("ndcg@5", same) == first.value


def test_the_verdict_says_that_profiles_have_equal_values() -> None:
    result = found("hit@5", value("hit@5"), tolerance=0)
    assert len(result.matches) == 1
    assert {"default", "comirec"} <= set(result.matches[0].profiles)
    assert "cannot be distinguished here" in result.verdict


def test_one_changed_switch_is_found_and_explained() -> None:
    exact = value("ndcg@5", {"discount": "log_from_second", "gain": "exp2"})
    result = found("ndcg@5", f"{exact:.10f}", most=4000)
    match = result.matches[0]
    assert match.changes == {
        "gain": ("binary", "exp2"),
        "discount": ("log", "log_from_second"),
    }
    assert match.value == exact
    assert "2^grade - 1" in match.sentences["gain"]
    assert match.recipe == {"profile": "default", "gain": "exp2", "discount": "log_from_second"}
    assert "With 2 changes" in result.verdict
    assert "1 / max(1, log2(rank)): ranks 1 and 2 have the same weight" in str(result)


@pytest.mark.parametrize("metric", ["ndcg@5", "precision@5", "f1@3", "map", "mrr", "f1_of_means@5"])
def test_every_match_gives_its_value_when_evaluated(metric: str) -> None:
    result = found(metric, value(metric), tolerance=0.05)
    assert len(result.matches) > 3
    for match in result.matches[:25]:
        again = rt.evaluate(LISTS, TRUTH, match.metric, match.recipe)
        assert again[match.metric] == match.value


def test_if_no_assignment_fits_the_nearest_value_is_named() -> None:
    result = found("ndcg@5", "0.9999")
    assert not result
    assert result.matches == ()
    assert result.nearest.value < 0.99985
    assert f"None of {result.tried:,} definitions gives 0.9999; the nearest is" in result.verdict
    assert result.nearest.label in result.verdict


def test_value_in_percent_is_searched_in_percent() -> None:
    exact = 100 * value("ndcg@5", {"gain": "exp2"})
    result = found("ndcg@5", f"{exact:.7f}")
    assert result.matches[0].recipe == {"profile": "default", "scale": "percent", "gain": "exp2"}


def test_a_percent_sign_does_not_change_the_scale() -> None:
    exact = 100 * value("ndcg@5", {"gain": "exp2"})
    result = found("ndcg@5", f"{exact:.7f}%")
    assert result.matches[0].recipe == {"profile": "default", "gain": "exp2"}


def test_profile_in_which_the_metric_means_something_else_is_listed_with_the_reason() -> None:
    theirs = Profile(name="theirs", framework="Theirs", absent={"ndcg": "another thing"})
    result = found("ndcg@5", "0.2", profiles=[theirs])
    assert [one.profile for one in result.profiles] == ["default", "theirs"]
    assert result.profiles[1].value is None
    assert "in Theirs it is another thing" in result.profiles[1].reason


def test_profile_that_fails_is_listed_with_the_reason() -> None:
    strict = Profile(name="strict", convention=rt.Convention(ideal="found"))
    result = found("ndcg@5", "0.2", profiles=[strict])
    own = next(one for one in result.profiles if one.profile == "strict")
    assert own.value is None
    assert "0/0" in own.reason
    assert "strict: the value of" in str(result)


def test_a_name_that_only_one_framework_uses_is_understood() -> None:
    theirs = Profile(name="theirs", metrics={"gain_ratio": {"metric": "ndcg", "gain": "exp2"}})
    exact = value("ndcg@5", {"gain": "exp2"})
    result = found("gain_ratio@5", exact, tolerance=0, profiles=[theirs])
    assert result.matches[0].profiles == ("theirs",)
    assert result.profiles[0].profile == "default (ndcg@5)"
    assert result.profiles[0].value == value("ndcg@5")


def test_other_names_of_a_metric_in_a_profile_are_tried_too() -> None:
    theirs = Profile(name="theirs", metrics={"gain_ratio": {"metric": "ndcg", "gain": "exp2"}})
    result = found("ndcg@5", value("ndcg@5", {"gain": "exp2"}), tolerance=0, profiles=[theirs])
    assert result.matches[0].profiles == ("theirs (gain_ratio@5)",)
    assert result.matches[0].metric == "gain_ratio@5"


@pytest.mark.parametrize("metric", ["ndcg@5", "map@5", "f1_of_means@5"])
def test_every_profile_is_listed_with_what_evaluate_gives(metric: str) -> None:
    result = found(metric, "0.2", profiles=None, most=60)
    listed = {one.profile: one for one in result.profiles}
    assert set(rt.PROFILES) <= set(listed)
    for name in rt.PROFILES:
        try:
            expected = value(metric, name)
        except RectitudeError as error:
            assert listed[name].reason == error.found
            continue
        assert listed[name].value == expected


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = found("ndcg@5", "0.25").as_dict()
    monkeypatch.setattr(sweep, "_MANY_LISTS", 0)
    assert found("ndcg@5", "0.25").as_dict() == alone


def test_at_most_the_requested_number_is_tried() -> None:
    assert [found("ndcg@5", "0.2", most=n).tried for n in (7, 50, 200)] == [7, 50, 200]


def test_the_last_level_counts_everything_that_was_tried() -> None:
    result = found("ndcg@5", "0.2", most=1500)
    last = result.levels[-1]
    assert (last.tried, last.distinct, last.by_chance) == (
        result.tried, result.distinct, result.by_chance,
    )  # fmt: skip
    tried = [level.tried for level in result.levels]
    assert tried == sorted(tried)
    assert result.levels[0].tried == len({m.value for m in result.profiles if m.value is not None})


def test_duplicates_leave_the_default_without_a_value_and_are_one_change_away() -> None:
    lists = pl.concat([LISTS, LISTS.head(1)])
    result = identify(lists, TRUTH, "ndcg@5", "0.2", profiles=[], most=300)
    assert "contain an item twice" in result.profiles[0].reason
    exact = rt.evaluate(lists, TRUTH, "ndcg@5", {"duplicates": "first"})["ndcg@5"]
    again = identify(lists, TRUTH, "ndcg@5", exact, tolerance=0, profiles=[], most=300)
    assert again.matches[0].recipe == {"profile": "default", "duplicates": "first"}


def test_switches_that_change_no_list_are_not_varied() -> None:
    result = found("ndcg@5", "0.2")
    assert {"duplicates", "unknown_items", "negative_grades"} <= set(result.unvaried)
    assert "ties" not in result.unvaried


def test_sessions_can_be_averaged_by_user() -> None:
    lists = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "x", "a"]}
    truth = {"user": [1, 1, 2], "session": [1, 2, 3], "item": ["a", "a", "a"]}
    result = identify(lists, truth, "hit", "0.75", list_key="session", profiles=[], most=300)
    assert result.matches[0].recipe == {"profile": "default", "unit": "user"}


def test_dense_scores_are_searched_with_seen_items() -> None:
    random = np.random.default_rng(1)
    scores = rt.Scores(random.random((20, 30)))
    truth = {u: random.choice(30, 4, replace=False).tolist() for u in range(20)}
    train = {u: random.choice(30, 5, replace=False).tolist() for u in range(20)}
    exact = rt.evaluate(scores, truth, "recall@5", {"seen": "kept"}, train=train)["recall@5"]
    result = identify(
        scores, truth, "recall@5", exact, tolerance=0, train=train, profiles=["comirec"], most=200
    )
    assert result.matches[0].value == exact
    assert any("comirec" in one for one in result.matches[0].profiles) or (
        result.matches[0].recipe["seen"] == "kept"
    )


def test_padding_is_that_of_the_profile_a_search_starts_from() -> None:
    padded = next(p for p in map(rt.PROFILES.__getitem__, rt.PROFILES) if p.padding is not None)
    random = np.random.default_rng(2)
    scores, truth = rt.Scores(random.random((20, 30))), {u: [u % 7, 9] for u in range(20)}
    own = rt.evaluate(scores, truth, "recall@5", padded.name)["recall@5"]
    result = identify(scores, truth, "recall@5", own, tolerance=0, profiles=[padded.name], most=50)
    values = {one.profile: one.value for one in result.profiles}
    assert values[padded.name] == own
    assert values["default"] == rt.evaluate(scores, truth, "recall@5")["recall@5"]


def test_logits_and_metrics_of_counts_are_searched() -> None:
    random = np.random.default_rng(3)
    expected = random.standard_normal((60, 9))
    expected[:, 5:] -= 100
    logits, targets = rt.Logits(expected), random.integers(0, 5, 60)
    exact = rt.evaluate(logits, targets, "macro_f1", {"class_average": "all"})["macro_f1"]
    result = identify(logits, targets, "macro_f1", exact, tolerance=0, profiles=[], most=100)
    assert result.matches[0].recipe == {"profile": "default", "class_average": "all"}


def test_values_that_differ_by_rounding_are_merged() -> None:
    graded = pl.DataFrame(
        [(user, item, 3) for user, items in (("u", "dfg"), ("v", "ace"), ("w", "cdg"))
         for item in items],
        schema=["user", "item", "grade"], orient="row",
    )  # fmt: skip
    lists = {user: list("abcdefg") for user in "uvw"}
    one, two = (
        rt.evaluate(lists, graded, "ndcg@7", {"gain": gain})["ndcg@7"]
        for gain in ("binary", "exp2_above")
    )
    assert 0 < abs(one - two) < 1e-15
    result = rt.identify(lists, graded, "ndcg@7", one, tolerance=1e-9, most=900)
    assert [match.value for match in result.matches] == [one]
    assert "exp2_above" in result.matches[0].alike["gain"]


def test_a_metric_of_counts_is_refused_with_weights() -> None:
    logits, targets = np.eye(4) + np.arange(4), np.array([0, 1, 2, 3])
    weights = pl.DataFrame({"user": range(4), "weight": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(BadArgument, match="counts lists and cannot use weights="):
        rt.identify(rt.Logits(logits), targets, "weighted_f1", "0.5", most=20, weights=weights)


def test_identification_is_plain_json() -> None:
    stored = json.loads(found("ndcg@5", "0.2").to_json())
    assert stored["format"] == "rectitude.identification"
    assert stored["tried"] == 400
    assert stored["matches"] == [] or "recipe" in stored["matches"][0]
    assert stored["verdict"]


def test_chance_is_right_on_average_for_values_scattered_at_random() -> None:
    random = np.random.default_rng(0)
    expected, there = [], []
    for _ in range(4000):
        values = random.random(300)
        low = random.uniform(0.3, 0.7)
        expected.append(fitting_by_chance(values, low, low + 0.004))
        there.append(((values >= low) & (values <= low + 0.004)).sum())
    assert np.mean(there) == pytest.approx(300 * 0.004, rel=0.05)
    assert np.mean(expected) == pytest.approx(np.mean(there), rel=0.05)


def test_chance_follows_the_density_around_the_value() -> None:
    values = np.concatenate([np.linspace(0, 0.1, 1000), np.linspace(0.2, 1, 100)])
    dense, sparse = (fitting_by_chance(values, x, x + 0.01) for x in (0.05, 0.6))
    assert dense == pytest.approx(100, rel=0.1)
    assert sparse == pytest.approx(1.25, rel=0.2)


def test_a_true_match_does_not_count_as_chance() -> None:
    values = np.linspace(0, 1, 101)
    alone = fitting_by_chance(values, 0.4951, 0.4999)
    assert fitting_by_chance(np.append(values, 0.4975), 0.4951, 0.4999) == alone


def test_chance_is_unknown_for_few_values_and_zero_for_an_exact_value() -> None:
    assert fitting_by_chance(np.array([0.1]), 0.2, 0.3) is None
    assert fitting_by_chance(np.array([0.1, 0.9]), 0.5, 0.5) == 0


def test_chance_is_about_right_for_the_values_of_real_assignments() -> None:
    given = [one.value for one in found("ndcg@5", "0.2").profiles if one.value is not None]
    random = np.random.default_rng(7)
    pairs = []
    for shown in random.uniform(min(given), max(given), 10):
        result = found("ndcg@5", float(shown), tolerance=0.01)
        pairs.append((result.levels[-1].fitting, result.by_chance))
    fitting, expected = np.sum(pairs, axis=0)
    assert fitting > 20
    assert 0.5 < expected / fitting < 2


def test_empty_predictions_are_refused() -> None:
    with pytest.raises(RectitudeError, match="empty"):
        identify({"user": [], "item": []}, TRUTH, "ndcg@5", "0.2")


def test_warnings_of_the_evaluation_stand_under_an_identification() -> None:
    lists, truth = {"ann": ["a", "b"]}, {"ann": ["b"], "cy": ["a"]}
    found = rt.identify(lists, truth, "mrr", "0.25")
    assert "! 1 of 2 users in the truth have no predictions (first: 'cy')" in str(found)
    assert json.loads(found.to_json())["notes"] == list(found.notes)

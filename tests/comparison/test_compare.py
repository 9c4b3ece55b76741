"""`rt.compare`: which values are paired, which inputs are errors, what the results say."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rectitude as rt
from rectitude.comparison.compare import Comparison
from rectitude.comparison.effects import components
from rectitude.errors import (
    BadArgument,
    BadIds,
    BadTable,
    MissingNeed,
    NotComparable,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
)

METRICS = ["ndcg@5", "recall@5"]
Lists = dict[int, list[int]]


def truth(users: int = 40, seed: int = 0) -> Lists:
    chance = np.random.default_rng(seed)
    return {user: chance.choice(30, 3, replace=False).tolist() for user in range(users)}


def model(skill: float, seed: int, users: int = 40) -> Lists:
    """Return lists that begin with an item of the truth with a probability of `skill`."""
    chance = np.random.default_rng(seed)
    lists = {}
    for user, wanted in truth(users).items():
        others = [int(item) for item in chance.permutation(30)]
        first = wanted[:1] if chance.random() < skill else []
        lists[user] = list(dict.fromkeys([*first, *others]))[:10]
    return lists


MODELS = {"poor": model(0.0, 1), "fair": model(0.4, 2), "good": model(0.9, 3)}


def evaluation(lists: Lists, *given: Any, **more: Any) -> rt.Evaluation:
    return rt.evaluate(lists, *(given or (truth(),)), metrics=METRICS, **more)


def compared(**given: Any) -> Comparison:
    return rt.compare(MODELS, truth(), METRICS, **given)


def test_differences_are_those_of_the_values_per_user() -> None:
    poor, good = (evaluation(MODELS[name]) for name in ("poor", "good"))
    found = rt.compare({"poor": poor, "good": good}).of("ndcg@5", "good")
    mine, theirs = (one.per_user()["ndcg@5"].to_numpy() for one in (good, poor))
    expected = stats.ttest_rel(mine, theirs)
    assert found.difference == pytest.approx(good["ndcg@5"] - poor["ndcg@5"], rel=1e-12)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.relative == pytest.approx(100 * found.difference / poor["ndcg@5"])
    assert found.better + found.worse <= found.users == 40
    assert (found.better, found.worse) == ((mine > theirs).sum(), (mine < theirs).sum())


def test_predictions_and_evaluations_give_the_same() -> None:
    evaluations = {name: evaluation(lists) for name, lists in MODELS.items()}
    assert rt.compare(evaluations).as_dict() == compared().as_dict()
    assert [*rt.compare([*evaluations.values()]).values["ndcg@5"]] == ["1", "2", "3"]


def test_users_are_paired_by_name_in_any_order() -> None:
    backwards = dict(reversed(MODELS["good"].items()))
    models = {"poor": MODELS["poor"], "good": backwards}
    again = rt.compare(models, dict(reversed(truth().items())), METRICS)
    found, expected = (one.of("ndcg@5", "good", "poor") for one in (again, compared()))
    assert (found.difference, found.p) == pytest.approx((expected.difference, expected.p))


def test_without_a_baseline_all_pairs_are_tested_and_with_it_only_its_own() -> None:
    named = [(one.model, one.baseline) for one in compared().differences]
    assert named == [("fair", "poor"), ("good", "poor"), ("good", "fair")] * 2
    named = [(one.model, one.baseline) for one in compared(baseline="fair").differences]
    assert named == [("poor", "fair"), ("good", "fair")] * 2


def test_all_tests_are_corrected_together() -> None:
    found = compared(correct="bonferroni")
    assert [one.corrected for one in found.differences] == pytest.approx(
        [min(1.0, 6 * one.p) for one in found.differences]
    )
    plain = compared(correct="none")
    assert all(one.p == one.corrected for one in plain.differences)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"])
@pytest.mark.parametrize("interval", ["t", "percentile", "bca"])
def test_every_test_and_interval_finds_a_large_difference(test: str, interval: str) -> None:
    found = compared(test=test, interval=interval, resamples=500)
    large = found.of("ndcg@5", "good", "poor")
    assert found.significant(large)
    assert 0 < large.low < large.difference < large.high
    assert json.loads(found.to_json())["test"] == test


def test_models_that_are_the_same_differ_by_nothing() -> None:
    for test in ("t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"):
        same = {"one": MODELS["fair"], "two": MODELS["fair"]}
        found = rt.compare(same, truth(), METRICS, test=test, margin=0.01)  # type: ignore[arg-type]
        one = found.differences[0]
        assert (one.difference, one.low, one.high, one.effect) == (0.0, 0.0, 0.0, 0.0)
        assert (one.p, one.corrected, one.superiority) == (1.0, 1.0, 0.5)
        assert one.equivalence == pytest.approx(len(METRICS) * 0.5**40)
        assert "nan" not in str(found)
        assert "*" not in str(found)


def test_low_values_are_better_if_the_metric_says_so() -> None:
    targets = np.arange(20) % 4
    sure = np.eye(4)[targets] * np.linspace(1, 2, 20)[:, None]
    models = {"even": rt.Logits(np.zeros((20, 4))), "sure": rt.Logits(sure)}
    found = rt.compare(models, targets, "cross_entropy", baseline="even")
    one = found.of("cross_entropy", "sure")
    assert one.difference < 0
    assert (one.better, one.worse, one.superiority, one.unit) == (20, 0, 1.0, "")
    assert " pp" not in str(found)
    assert "sure" in next(line for line in str(found).splitlines() if "*" in line)


def test_power_and_users_needed_fit_the_detectable_difference() -> None:
    found = compared(baseline="poor")
    one = found.of("ndcg@5", "good")
    assert found.power(one.detectable, "ndcg@5", "good") == pytest.approx(0.8, abs=1e-6)
    assert found.users_needed(one.detectable * 0.999, "ndcg@5", "good") == one.users + 1
    assert found.power(0.0, "ndcg@5", "good") == pytest.approx(0.05)
    same = rt.compare([MODELS["good"], MODELS["good"]], truth(), METRICS)
    assert (same.power(0.1, "ndcg@5", "2"), same.users_needed(0.1, "ndcg@5", "2")) == (1.0, 2)


def test_another_convention_is_refused_with_what_differs_unless_allowed() -> None:
    models = {
        "plain": evaluation(MODELS["poor"]),
        "other": evaluation(MODELS["good"], convention={"discount_by": "place"}),
    }
    with pytest.raises(
        NotComparable, match="ndcg@5 of plain and of other differ in discount_by: rank"
    ):
        rt.compare(models)
    found = rt.compare(models, allow=["convention"])
    assert "! ndcg@5 of plain and of other differ in discount_by" in str(found)


def test_another_truth_is_refused_unless_allowed() -> None:
    models = {
        "plain": evaluation(MODELS["poor"]),
        "other": evaluation(MODELS["good"], truth(seed=1)),
    }
    with pytest.raises(NotComparable, match="plain and other have different truths"):
        rt.compare(models)
    assert "have different truths" in str(rt.compare(models, allow=["truth"]))


def test_other_users_are_refused_unless_allowed() -> None:
    fewer = {user: items for user, items in MODELS["good"].items() if user >= 10}
    models, given = (
        {"poor": MODELS["poor"], "good": fewer},
        {"convention": {"list_needed": "items"}},
    )
    with pytest.raises(NotComparable, match="10 users only in poor, 0 only in good"):
        rt.compare(models, truth(), METRICS, **given)
    found = rt.compare(models, truth(), METRICS, allow=["users"], **given)
    assert found.of("ndcg@5", "good").users == 30
    assert "the test uses the mean difference of the users compared" in str(found)


def test_all_differences_are_listed_at_once() -> None:
    some = {user: items for user, items in truth(seed=1).items() if user}
    fewer = evaluation(MODELS["good"], some, convention={"discount_by": "place"})
    models = {"plain": evaluation(MODELS["poor"]), "other": fewer}
    with pytest.raises(NotComparable) as error:
        rt.compare(models)
    for words in (
        "ndcg@5 of plain and of other differ in discount_by",
        "plain and other have different truths",
        "ndcg@5 has 1 user only in plain, 0 only in other",
        "the same convention and truth and users for all models",
        "allow=['users']",
    ):
        assert words in str(error.value)
    with pytest.raises(NotComparable) as error:
        rt.compare(models, allow=["convention", "truth"])
    assert "different truths" not in str(error.value)


def test_differences_that_are_all_the_same_have_the_p_of_sign_flips() -> None:
    wanted = {user: [1] for user in range(4)}
    models = {"one": {u: [1, 2] for u in wanted}, "two": {u: [2, 1] for u in wanted}}
    found = rt.compare(models, wanted, "mrr")
    one = found.differences[0]
    flipped = rt.compare(models, wanted, "mrr", test="sign_flip").differences[0]
    assert one.p == flipped.p == 0.125
    assert "the difference is the same for all users; t is undefined" in str(found)
    assert "The difference is not statistically significant (corrected p 0.1250)." in found.words()


def test_models_without_common_users_are_refused() -> None:
    halves = [{u: v for u, v in MODELS["good"].items() if (u < 20) == low} for low in (True, False)]
    given = {"convention": {"list_needed": "items"}, "allow": ["users"]}
    with pytest.raises(NothingToEvaluate, match="have no user in common for ndcg@5"):
        rt.compare(halves, truth(), METRICS, **given)


def test_bad_comparisons_raise_errors_that_say_what_is_wrong(tmp_path: Path) -> None:
    one = evaluation(MODELS["poor"])
    with pytest.raises(NothingToEvaluate, match="models to compare: 1"):
        rt.compare({"poor": one})
    with pytest.raises(MissingNeed, match="no truth to evaluate it against"):
        rt.compare(MODELS)
    with pytest.raises(UnknownName, match="no model 'goood'"):
        compared(baseline="goood")
    for name in ("test", "correct", "interval"):
        with pytest.raises(UnknownName, match=f"no {name} 'bayes'"):
            compared(**{name: "bayes"})
    with pytest.raises(UnknownName, match="no allowed difference 'all'"):
        compared(allow=["all"])
    with pytest.raises(BadArgument, match="alpha is 5"):
        compared(alpha=5)
    with pytest.raises(BadArgument, match="resamples is 10"):
        compared(resamples=10)
    with pytest.raises(NotComparable, match="poor has 2, good has 1"):
        rt.compare({"poor": [one, one], "good": one})
    with pytest.raises(NothingToEvaluate, match="have one user in common for mrr"):
        rt.compare({"poor": {0: [1]}, "good": {0: [2]}}, {0: [2]}, "mrr")
    with pytest.raises(
        NothingToEvaluate, match=r"mrr is left out: missing in 2\. map is left out: missing in 1"
    ):
        rt.compare(
            [
                rt.evaluate(MODELS["poor"], truth(), "mrr"),
                rt.evaluate(MODELS["good"], truth(), "map"),
            ]
        )
    with pytest.raises(BadIds, match="user ids of poor, text have different types: Int64, String"):
        text = {str(user): items for user, items in MODELS["good"].items()}
        texts = {str(user): items for user, items in truth().items()}
        rt.compare({"poor": one, "text": evaluation(text, texts)}, allow=["truth", "users"])
    one.save(tmp_path / "stored.json")
    with pytest.raises(MissingNeed, match=r"1: this evaluation comes .* without values per list"):
        rt.compare([rt.Evaluation.load(tmp_path / "stored.json"), one])


def test_infinite_values_are_refused() -> None:
    one = evaluation(MODELS["poor"])
    endless = replace(one.result("recall@5"), values=np.full(40, np.inf))
    models = {"a": one, "b": replace(one, results={**one.results, "recall@5": endless})}
    with pytest.raises(UndefinedValue, match="40 values are infinite; the first is recall@5 of b"):
        rt.compare(models)


def test_a_number_that_is_not_a_mean_of_users_is_noted() -> None:
    weights = {"user": list(range(40)), "weight": [1.0] * 39 + [50.0]}
    found = compared(weights=pl.DataFrame(weights), baseline="poor")
    one = found.of("ndcg@5", "good")
    assert one.difference == pytest.approx(compared().of("ndcg@5", "good", "poor").difference)
    assert "ndcg@5 of good and poor: the reported numbers differ by" in str(found)


def test_undefined_numbers_are_reported() -> None:
    without = {"truth_needed": "none", "without_relevant": "undefined", "undefined": "nan"}
    some = {user: items for user, items in truth().items() if user < 30}
    runs = {name: [MODELS[name]] * 2 for name in ("poor", "good")}
    found = rt.compare(runs, some, "recall@5", without)
    assert found.of("recall@5", "good").users == 30
    assert "the reported numbers differ by undefined" in str(found)
    assert "nan" not in str(found)
    assert json.loads(found.to_json())["values"]["recall@5"] == {"poor": None, "good": None}


def test_users_with_several_lists_have_their_mean() -> None:
    rows = [(u, s, i) for u in range(4) for s in range(2 * u, 2 * u + 2) for i in range(3)]
    lists = pl.DataFrame(rows, schema=["user", "session", "item"], orient="row")
    lists = lists.with_columns(rank=pl.col("item") + 1)
    wanted = pl.DataFrame({"user": [0, 0, 1, 2, 3], "session": [0, 1, 2, 4, 6], "item": 1})
    models = {"up": lists, "down": lists.with_columns(rank=3 - pl.col("item"))}
    models["last"] = lists.with_columns(rank=(pl.col("item") + 1) % 3 + 1)
    found = rt.compare(models, wanted, "mrr", baseline="up", list_key="session")
    assert found.of("mrr", "last").users == 4
    assert found.of("mrr", "last").difference == pytest.approx(1 / 3 - 1 / 2)
    assert found.of("mrr", "down").p == 1.0


def test_runs_that_are_equal_in_the_mean_differ_by_nothing() -> None:
    runs = [MODELS["poor"], MODELS["fair"], MODELS["good"]]
    found = rt.compare({"a": runs, "b": runs[::-1]}, truth(), METRICS, test="wilcoxon")
    assert [one.p for one in found.differences] == [1.0, 1.0]
    assert found.of("ndcg@5", "b").better == 0


def test_metrics_without_values_per_user_are_left_out_with_a_note() -> None:
    found = rt.compare(MODELS, truth(), ["ndcg@5", "f1_of_means@5"])
    assert [*found.values] == ["ndcg@5"]
    assert "! f1_of_means@5 is left out: it has no values per user." in str(found)


def test_best_second_and_significant_are_marked() -> None:
    shown = str(compared(baseline="poor"))
    rows = {line.split()[1]: line for line in shown.splitlines()[2:5]}
    assert "*†" in rows["good"]
    assert "+" in rows["fair"]
    assert "*" not in rows["poor"]
    assert (
        "* best; + second best; † significantly different from poor (corrected p < 0.05)" in shown
    )
    two = rt.compare({"poor": MODELS["poor"], "good": MODELS["good"]}, truth(), METRICS)
    assert "second best" not in str(two)
    assert "†" not in str(two)


def test_names_of_models_are_not_marks() -> None:
    models = {"svd++": MODELS["poor"], "a_b*": MODELS["good"]}
    found = rt.compare(models, truth(), METRICS)
    assert "second best" not in str(found)
    latex = found.to_latex()
    assert "\nsvd++ & " in latex
    assert "\na\\_b* & " in latex
    assert "underline" not in latex


def test_tables_hold_points_percent_and_every_number() -> None:
    found = compared(baseline="poor", margin=0.02)
    one = found.of("recall@5", "good")
    assert f"{100 * one.difference:+.2f} pp" in str(found)
    assert f"{one.relative:+.1f}%" in found.to_markdown()
    assert "equivalence" in str(found)
    latex = found.to_latex()
    assert latex.count(r"\begin{tabular}") == 2
    values = {name: f"{value:.4f}" for name, value in found.values["ndcg@5"].items()}
    assert rf"\textbf{{{values['good']}}}$^{{\dagger}}$" in latex
    assert rf"\underline{{{values['fair']}}}" in latex
    assert f"<strong>{values['good']}</strong><sup>†</sup></td>" in found.to_html()
    assert f"<u>{values['fair']}</u>" in found.to_html()
    assert "&lt;0.0001" in found.to_html()
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(rows) == 4
    assert float(rows[0]["p"]) == found.differences[0].p
    stored = json.loads(found.to_json())
    assert (stored["format"], stored["version"]) == ("rectitude.comparison", 1)
    assert stored["differences"][0]["corrected"] == found.differences[0].corrected
    with pytest.raises(UnknownName, match="no difference 'mrr good poor'"):
        found.of("mrr", "good")


def test_runs_are_averaged_and_paired_by_user_within_each() -> None:
    seeds = {
        name: [model(skill, seed) for seed in seeds]
        for name, skill, seeds in (("poor", 0.1, (1, 2, 3)), ("good", 0.7, (4, 5, 6)))
    }
    found = rt.compare(seeds, truth(), METRICS)
    each = {name: [evaluation(run) for run in runs] for name, runs in seeds.items()}
    numbers = [one["ndcg@5"] for one in each["good"]]
    assert found.values["ndcg@5"]["good"] == pytest.approx(np.mean(numbers))
    assert found.deviations["ndcg@5"]["good"] == pytest.approx(np.std(numbers, ddof=1))
    by_run = [
        (good.per_user()["ndcg@5"] - poor.per_user()["ndcg@5"]).to_numpy()
        for good, poor in zip(each["good"], each["poor"], strict=True)
    ]
    one = found.of("ndcg@5", "good")
    assert one.p == pytest.approx(stats.ttest_1samp(np.mean(by_run, axis=0), 0).pvalue)
    assert one.spread == components(np.array(by_run).T)
    assert "means of 3 runs" in str(found)
    assert " ± " in str(found)
    assert "of the variance" in str(found)
    assert json.loads(found.to_json())["differences"][0]["spread"]["users"] >= 0


def test_folds_may_have_users_and_truths_of_their_own() -> None:
    def fold(lists: Lists, even: bool) -> Lists:
        return {user: items for user, items in lists.items() if (user % 2 == 0) == even}

    folds = {
        name: [evaluation(fold(MODELS[name], even), fold(truth(), even)) for even in (True, False)]
        for name in ("poor", "good")
    }
    found, whole = rt.compare(folds).of("ndcg@5", "good"), compared().of("ndcg@5", "good", "poor")
    assert (found.users, found.spread) == (40, None)
    assert (found.difference, found.p) == pytest.approx((whole.difference, whole.p))


def test_components_are_those_that_differences_were_made_of() -> None:
    chance = np.random.default_rng(0)
    users, runs = chance.normal(0, 0.3, (4000, 1)), chance.normal(0, 0.2, (1, 400))
    found = components(0.1 + users + runs + chance.normal(0, 0.5, (4000, 400)))
    assert found is not None
    shares = (found.users, found.runs, found.rest)
    assert shares == pytest.approx((0.09, 0.04, 0.25), rel=0.15)
    assert found.error == pytest.approx((0.09 / 4000 + 0.04 / 400 + 0.25 / 1.6e6) ** 0.5, rel=0.1)


def test_components_by_hand_and_at_the_edges() -> None:
    found = components(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert found is not None
    assert (found.users, found.runs, found.rest) == pytest.approx((4.0, 0.5, 0.0))
    assert components(np.ones((1, 3))) is None
    assert components(np.ones((3, 1))) is None
    with pytest.raises(BadTable, match="some users are missing in some runs"):
        components(np.array([[1.0, np.nan], [1.0, 2.0]]))

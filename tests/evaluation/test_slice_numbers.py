"""Numbers by slice: by users, items, lists, training and time, with counts and intervals."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, BadTable, MissingNeed, UnknownName
from rectitude.evaluation.axes import Axis, name_axes, parse_slicing, parse_slicings, quantiles
from rectitude.evaluation.slices import slices

LISTS = {"ann": ["c", "n"], "bob": ["x", "b"], "eva": ["b", "a"], "fay": ["n", "a"]}
TRUTH = {"ann": ["c", "n"], "bob": ["b"], "eva": ["a"], "fay": ["n", "a"]}
MRR = {"ann": 1.0, "bob": 0.5, "eva": 0.5, "fay": 1.0}
USERS = {
    "user": ["ann", "bob", "eva", "fay", "gus"],
    "gender": ["f", "m", "f", None, "m"],
    "age": [20, 30, 40, 50, 60],
}
ITEMS = {"item": ["a", "b", "c", "n"], "price": [5.0, 20.0, 20.0, None]}
TRAIN = {"ann": ["a", "b", "x"], "bob": ["a"], "eva": ["c"]}


def evaluated(by: object, metrics: object = "mrr", **given: Any) -> Any:
    inputs = {"users": USERS, "items": ITEMS, "train": TRAIN} | given
    sliced = rt.evaluate(LISTS, TRUTH, metrics, slices=by, **inputs).slices
    assert sliced is not None
    return sliced


def test_a_slice_of_users_is_the_mean_over_their_lists() -> None:
    sliced = evaluated("gender")
    assert sliced.values("gender", "mrr") == {"f": 0.75, "m": 0.5, "no value": 1.0}
    f = sliced.of("gender", "f", "mrr")
    assert (f.lists, f.relevant, f.share, f.counted, f.of) == (2, 3, 0.5, 2, "lists")
    assert (f.low, f.high) == (0.0, 1.0)  # 0.75 +- 12.7 * 0.25, inside the bounds of the metric
    assert sliced.values("all", "mrr") == {"all": 0.75}


def test_the_interval_is_by_students_t() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    lists = {u: [f"i{i}" for i in rng.permutation(9)] for u in range(40)}
    truth = {u: ["i0", "i1"] for u in range(40)}
    users = {"user": [*range(40)], "half": [u % 2 for u in range(40)]}
    whole = rt.evaluate(lists, truth, "ndcg", users=users, slices="half")
    values = whole.per_list()["ndcg"].to_numpy()[1::2]
    wanted = stats.t.interval(0.95, 19, values.mean(), stats.sem(values))
    sliced = whole.slices.of("half", "1", "ndcg")
    assert (sliced.low, sliced.high) == pytest.approx(wanted, rel=1e-12)


def test_a_single_list_has_a_value_and_no_interval() -> None:
    sliced = evaluated("gender").of("gender", "m", "mrr")
    assert (sliced.value, sliced.low, sliced.high, sliced.lists) == (0.5, None, None, 1)


def test_a_slice_of_items_keeps_its_relevant_rows_and_the_lists_that_have_any() -> None:
    sliced = evaluated("price:10,", ["mrr", "recall@2"])
    assert sliced.values("price:10,", "mrr") == {
        "< 10": 0.5,  # eva's and fay's a, at rank 2
        ">= 10": 0.75,  # ann's c, bob's b
        "no value": 0.75,  # ann's n at rank 2, fay's at rank 1
    }
    cheap = sliced.of("price:10,", "< 10", "mrr")
    assert (cheap.lists, cheap.relevant, cheap.of) == (2, 2, "rows")
    assert cheap.share == 2 / 6


def test_slices_by_known_agree_with_the_table() -> None:
    old = slices(LISTS, TRUTH, ["recall@2", "mrr"], train=TRAIN)
    sliced = evaluated("known", ["recall@2", "mrr"])
    for metric in ("recall@2", "mrr"):
        wanted = {name: evaluation[metric] for name, evaluation in old.items() if name != "all"}
        assert sliced.values("known", metric) == wanted


def test_activity_counts_training_rows_and_cuts_them_evenly() -> None:
    sliced = evaluated(["activity:2", "activity:1,3"])
    assert sliced.values("activity:2", "mrr") == {"< 3": 0.5, ">= 3": 1.0, "not in train": 1.0}
    assert sliced.values("activity:1,3", "mrr") == {
        "< 1": None, "1 to < 3": 0.5, ">= 3": 1.0, "not in train": 1.0,
    }  # fmt: skip
    assert sliced.of("activity:1,3", "< 1", "mrr").reason == "this slice has no lists."


def test_popularity_counts_training_rows_of_the_item() -> None:
    sliced = evaluated("popularity:2,")
    counts = {n.slice: (n.lists, n.relevant) for n in sliced.numbers if n.by != "all"}
    # a twice; b, c once; n never
    assert counts == {"< 2": (2, 2), ">= 2": (2, 2), "not in train": (2, 2)}


def test_numbers_are_cut_into_quantiles_of_the_table_of_users() -> None:
    sliced = evaluated("age:2")
    counts = {n.slice: n.lists for n in sliced.numbers if n.by != "all"}
    assert counts in ({"< 40": 2, ">= 40": 2}, {"< 50": 3, ">= 50": 1})  # gus has no list
    assert sum(counts.values()) == 4


def test_crossed_slices_are_intersections() -> None:
    sliced = evaluated([["gender", "activity:3,"], "gender+price:10,"])
    assert sliced.values("gender+activity:3,", "mrr") == {
        "f, < 3": 0.5, "f, >= 3": 1.0, "m, < 3": 0.5, "no value, not in train": 1.0,
    }  # fmt: skip
    crossed = sliced.values("gender+price:10,", "mrr")
    assert crossed["f, < 10"] == 0.5
    assert crossed["f, no value"] == 0.5
    assert set(crossed) == {
        "f, < 10", "f, >= 10", "f, no value", "m, >= 10", "no value, < 10", "no value, no value",
    }  # fmt: skip


def test_items_with_several_values_are_in_several_slices() -> None:
    items = {"item": ["a", "b", "c", "n"], "genre": [["x", "y"], ["x"], ["y"], []]}
    sliced = evaluated("genre", items=pl.DataFrame(items))
    counts = {n.slice: n.relevant for n in sliced.numbers if n.by != "all"}
    assert counts == {"x": 3, "y": 3, "no value": 2}
    assert any("a row with several values is in several slices" in note for note in sliced.notes)


def test_a_note_says_that_users_with_several_values_are_in_several_slices() -> None:
    users = {"user": ["ann", "ann", "bob", "eva", "fay"], "club": ["p", "q", "p", "q", "q"]}
    sliced = evaluated("club", users=users)
    assert sliced.values("club", "mrr") == {"p": 0.75, "q": pytest.approx(2.5 / 3)}
    assert any("a list with several values is in several slices" in note for note in sliced.notes)


def test_a_column_of_the_truth_is_an_attribute_of_sessions() -> None:
    lists = {"session": [1, 1, 2, 2, 3], "user": [7, 7, 7, 7, 8], "item": [*"abbaa"]}
    truth = {
        "session": [1, 2, 2, 3], "user": [7, 7, 7, 8], "item": [*"aacb"],
        "device": ["tv", "web", "web", None], "minute": [5, 5, 65, 65],
    }  # fmt: skip
    given = {"list_key": "session"}
    sliced = rt.evaluate(lists, truth, "mrr", slices=["device", "truth.minute:60,"], **given).slices
    assert sliced is not None
    assert sliced.values("device", "mrr") == {"tv": 1.0, "web": 0.5, "no value": 0.0}
    assert sliced.values("truth.minute:60,", "mrr") == {"< 60": 0.75, ">= 60": 0.0}
    with pytest.raises(BadTable, match=r"several values of 'minute'.*\n.*\n.*truth\.minute"):
        rt.evaluate(lists, truth, "mrr", slices="minute", **given)


def test_a_column_of_the_predictions_is_an_attribute_of_lists() -> None:
    lists = {"user": [1, 1, 2], "item": [*"aba"], "model": ["old", "old", "new"]}
    sliced = rt.evaluate(pl.DataFrame(lists), {1: ["b"], 2: ["a"], 3: ["a"]}, "mrr", slices="model")
    assert sliced.slices is not None
    assert sliced.slices.values("model", "mrr") == {"new": 1.0, "old": 0.5, "no value": 0.0}


@pytest.mark.parametrize("each", [1, 1000, 10**6])
def test_windows_of_unix_times_are_shown_as_dates(each: int) -> None:
    days = [1_704_067_200 * each, 1_706_745_600 * each, 1_709_251_200 * each + each // 2]
    truth = pl.DataFrame({"user": [1, 1, 2], "item": [*"aba"], "timestamp": days})
    sliced = rt.evaluate({1: [*"ab"], 2: [*"ba"]}, truth, "mrr", slices="time:3")
    assert sliced.slices is not None
    half = "2024-03-01" if each == 1 else "2024-03-01 00:00:00.500000"
    assert [*sliced.slices.values("time:3", "mrr")] == [
        "< 2024-02-01", f"2024-02-01 to < {half}", f">= {half}",
    ]  # fmt: skip
    small = truth.with_columns(timestamp=pl.Series([1, 2, 3]))
    sliced = rt.evaluate({1: [*"ab"], 2: [*"ba"]}, small, "mrr", slices="time:3")
    assert sliced.slices is not None
    assert [*sliced.slices.values("time:3", "mrr")] == ["< 2", "2 to < 3", ">= 3"]


@pytest.mark.parametrize(
    "days",
    [
        [date(2024, 1, 5), date(2024, 2, 5), date(2024, 3, 5)],
        ["2024-01-05", "2024-02-05T10:00", "2024-03-05"],
        [1704412800, 1707127200, 1709596800],
        [1704412800000, 1707127200000, 1709596800000],
    ],
)
def test_the_truth_is_sliced_by_its_timestamps(days: list[Any]) -> None:
    truth = pl.DataFrame({"user": [1, 1, 2], "item": [*"aba"], "timestamp": days}, strict=False)
    sliced = rt.evaluate(
        {1: [*"ab"], 2: [*"ba"]}, truth, "mrr", slices="time:2024-02-01,2024-03-01"
    )
    assert sliced.slices is not None
    assert sliced.slices.values("time:2024-02-01,2024-03-01", "mrr") == {
        "< 2024-02-01": 1.0, "2024-02-01 to < 2024-03-01": 0.5, ">= 2024-03-01": 0.5,
    }  # fmt: skip


def test_coverage_is_counted_within_the_lists_of_the_slice() -> None:
    sliced = evaluated("gender", "item_coverage@2")
    assert sliced.values("gender", "item_coverage@2") == {"f": 1.0, "m": 0.5, "no value": 0.5}


def test_derived_metrics_and_weights_work_in_slices() -> None:
    weights = {"user": ["ann", "bob", "eva", "fay"], "weight": [1.0, 1.0, 3.0, 1.0]}
    sliced = evaluated("gender", ["mrr", "f1_of_means@2"], weights=weights)
    assert sliced.values("gender", "mrr")["f"] == (1 + 3 * 0.5) / 4
    precision, recall = (2 / 2 + 3 * 1 / 2) / 4, 1.0
    wanted = 2 * precision * recall / (precision + recall)
    assert sliced.values("gender", "f1_of_means@2")["f"] == pytest.approx(wanted)


def test_a_slice_without_a_value_has_a_reason() -> None:
    graded = {"user": [*MRR], "item": [*"cban"], "grade": [1, 0, 1, 1]}
    whole = rt.evaluate(LISTS, graded, "mrr", users=USERS, slices="gender")
    assert whole.slices is not None
    m = whole.slices.of("gender", "m", "mrr")
    assert m.value is None
    assert m.reason == "no list counts for 'mrr'."
    assert "gender, m: no list counts" in str(whole)


def test_a_metric_undefined_in_one_slice_is_defined_in_the_others() -> None:
    strict = {"undefined": "error", "truth_needed": "none"}
    truth = {"user": [*MRR], "item": [*"cban"], "grade": [1, 0, 1, 1]}
    whole = rt.evaluate(LISTS, truth, "recall@2", strict, users=USERS, slices="gender")
    assert "recall@2" in whole.failures
    assert whole.slices is not None
    assert whole.slices.values("gender", "recall@2") == {"f": 1.0, "m": None, "no value": 1.0}
    assert "0/0" in whole.slices.of("gender", "m", "recall@2").reason


def test_small_slices_are_marked_below_limits_that_can_be_set() -> None:
    sliced = evaluated("gender")
    assert sliced.too_small(sliced.of("gender", "f", "mrr"))
    assert "f !" in str(sliced)
    assert "4 of 4 slices have fewer than 30 lists or 30" not in str(sliced)
    assert "3 of 3 slices have fewer than 30 lists or 30 relevant rows" in str(sliced)
    loose = sliced.readable_from(2, 3)
    assert not loose.too_small(loose.of("gender", "f", "mrr"))
    assert loose.too_small(loose.of("gender", "m", "mrr"))


def test_a_note_warns_about_many_intervals() -> None:
    rng = np.random.default_rng(0)
    lists = {u: [f"i{i}" for i in rng.permutation(9)] for u in range(60)}
    users = {"user": [*range(60)], "tenth": [u % 10 for u in range(60)]}
    given: dict[str, Any] = {"users": users, "slices": "tenth"}
    text = str(rt.evaluate(lists, {u: ["i0", "i1"] for u in range(60)}, "ndcg", **given).slices)
    assert "10 intervals at 95%" in text
    assert "intervals at 95%" not in str(evaluated("gender"))


def test_slices_are_saved_and_read_with_the_evaluation(tmp_path: Path) -> None:
    whole = rt.evaluate(LISTS, TRUTH, "mrr", users=USERS, train=TRAIN, slices=["gender", "known"])
    whole.save(tmp_path / "e.json")
    again = rt.Evaluation.load(tmp_path / "e.json")
    assert again.slices == whole.slices
    assert str(again) == str(whole)
    assert again.to_json() == whole.to_json()


def test_slices_are_exported_in_every_form() -> None:
    whole = rt.evaluate(LISTS, TRUTH, ["mrr", "recall@1"], users=USERS, slices="gender")
    sliced = whole.slices
    assert sliced is not None
    assert sliced.table().height == 2 * 4
    assert (
        pl.read_csv(sliced.to_csv().encode())["value"].to_list()
        == sliced.table()["value"].to_list()
    )
    assert sliced.to_markdown() in whole.to_markdown()
    assert "gender" in whole.to_latex()
    assert r"\toprule" in sliced.to_latex()
    document = json.loads(whole.to_json())["slices"]
    assert [n["slice"] for n in document["numbers"]][::2] == ["all", "f", "m", "no value"]


def test_evaluations_of_slices_have_values_per_list() -> None:
    sliced = slices(LISTS, TRUTH, "mrr", by="gender", users=USERS)
    assert list(sliced) == ["all", "f", "m", "no value"]
    assert dict(sliced["f"].per_list().iter_rows()) == {"ann": 1.0, "eva": 0.5}
    assert dict(sliced["f"].per_user().iter_rows()) == {"ann": 1.0, "eva": 0.5}
    assert sliced["all"].ledger["slice_f"] == 2


def test_a_value_called_all_does_not_hide_all_lists() -> None:
    users = {"user": [*MRR], "sees": ["all", "some", "all", "some"]}
    sliced = slices(LISTS, TRUTH, "recall@1", by="sees", users=users)
    assert list(sliced) == ["all", "sees: all", "some"]
    assert sliced["all"].result("recall@1").counted == 4


def test_unusable_axes_are_reported_before_scores_are_read() -> None:
    def blocks() -> Any:
        yield np.zeros((1, 2))  # the first block gives the number of columns
        raise AssertionError("more scores were read")

    scores = rt.Scores(blocks, users=[0, 1], items=[0, 1])
    for by in ("gendre", "activity"):
        with pytest.raises((UnknownName, MissingNeed)):
            rt.evaluate(scores, {0: [1], 1: [0]}, "mrr", slices=by)


def test_dense_scores_have_the_same_slices_as_lists() -> None:
    rng = np.random.default_rng(1)
    scores = rng.permuted(np.tile(np.arange(12.0), (30, 1)), axis=1)
    rows = [(u, i, scores[u, i]) for u in range(30) for i in range(12)]
    lists = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    truth = {u: rng.choice(12, 3, replace=False).tolist() for u in range(30)}
    given: dict[str, Any] = {
        "users": {"user": [*range(30)], "town": [u % 3 for u in range(30)]},
        "items": {"item": [*range(12)], "price": rng.random(12)},
        "slices": ["town", "price:3"],
    }
    of_lists = rt.evaluate(lists, truth, "ndcg@4", **given).slices
    of_scores = rt.evaluate(rt.Scores(scores), truth, "ndcg@4", **given).slices
    assert of_lists == of_scores


def test_an_unknown_attribute_is_reported_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gender'"):
        evaluated("gendre")
    with pytest.raises(UnknownName, match=r"has no attribute .users\.prize."):
        evaluated("users.prize")
    truth = pl.DataFrame({"user": [1], "item": ["a"], "device": ["tv"]})
    with pytest.raises(UnknownName, match="did you mean 'device'"):
        rt.evaluate({1: ["a"]}, truth, "mrr", slices="devise")


def test_bad_slicings_are_refused() -> None:
    for wrong in ("", ":4", 7, [[]], "price:10,x", "price:2024-13-01"):
        with pytest.raises((BadName, UnknownName)):
            evaluated(wrong)
    with pytest.raises(BadName, match="sets the number of slices to 1"):
        evaluated("age:1")
    with pytest.raises(BadName, match="are not ascending"):
        evaluated("age:50,20")
    with pytest.raises(BadName, match="are requested twice"):
        evaluated(["gender", "gender"])
    with pytest.raises(MissingNeed, match=r"train="):
        evaluated("activity", train=None)
    with pytest.raises(MissingNeed, match="has no timestamps"):
        evaluated("time")


def test_a_column_that_cannot_be_cut_or_has_too_many_values_is_refused() -> None:
    with pytest.raises(BadTable, match=r"all 5 values are 3"):
        evaluated("level:4", users=USERS | {"level": [3] * 5})
    with pytest.raises(BadTable, match="'f'"):
        evaluated("gender:2")
    assert evaluated("empty", users=USERS | {"empty": [None] * 5}).values("empty", "mrr") == {
        "no value": 0.75
    }
    many = {u: ["a"] for u in range(60)}
    users = {"user": [*many], "street": [f"s{u}" for u in many]}
    with pytest.raises(BadArgument, match=r"60 different values.*\n.*\n.*street:4"):
        rt.evaluate(many, many, "mrr", users=users, slices="street")


def test_a_column_of_two_tables_must_be_named_with_its_table() -> None:
    items = ITEMS | {"age": [1, 2, 3, 4]}
    with pytest.raises(BadArgument, match=r"users\.age or items\.age"):
        evaluated("age:2", items=items)
    assert len(evaluated("items.age:2", items=items).values("items.age:2", "mrr")) == 2


def test_slicings_are_read_and_written() -> None:
    for text in ("gender", "activity:4", "price:10,50.5", "price:10,", "a+b:2", "age:token:4"):
        assert name_axes(parse_slicing(text)) == text
    assert parse_slicing("time:2024-01-01T00:00+02:00,2024-02-01")[0].edges == (
        "2024-01-01T00:00+02:00", "2024-02-01",
    )  # fmt: skip
    assert parse_slicings(["a", ["b", Axis("c", 3)]]) == [(Axis("a"),), (Axis("b"), Axis("c", 3))]
    assert parse_slicings(None) == []


@pytest.mark.parametrize("parts", [2, 3, 4, 7])
def test_quantiles_are_as_even_as_equal_values_allow(parts: int) -> None:
    rng = np.random.default_rng(parts)
    distinct = rng.random(210)
    sizes = np.diff([0, *np.searchsorted(np.sort(distinct), quantiles(distinct, parts, "x")), 210])
    assert set(sizes) <= {math.floor(210 / parts), math.ceil(210 / parts)}
    mostly = np.array([1.0] * 90 + [2.0] * 5 + [3.0] * 5)
    assert quantiles(mostly, parts, "x").tolist() == [2.0]


def test_intervals_of_slices_cover_what_they_should() -> None:
    """The expected reciprocal rank of one relevant item in a random order of nine is known."""
    expected, inside, every = sum(1 / rank for rank in range(1, 10)) / 9, 0, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        lists = {u: rng.permutation(9).tolist() for u in range(2000)}
        users = {"user": [*lists], "group": [u % 50 for u in lists]}
        given: dict[str, Any] = {"users": users, "slices": "group"}
        sliced = rt.evaluate(lists, {u: [0] for u in lists}, "mrr", **given).slices
        assert sliced is not None
        parts = [n for n in sliced.numbers if n.by == "group" and n.low is not None]
        inside += sum(n.low <= expected <= n.high for n in parts)
        every += len(parts)
    assert every == 400
    assert 0.922 <= inside / every <= 0.978  # 99% of 400 draws at 0.95 are in this range

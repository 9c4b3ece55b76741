"""Bad input is refused with what was found, how often, what was expected, and what to do."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadGrades,
    BadIds,
    BadLists,
    BadName,
    BadScores,
    BadTable,
    BadTruth,
    DuplicateItems,
    DuplicateTruth,
    MissingNeed,
    NothingToEvaluate,
    RectitudeError,
    UnknownName,
    UnreadableFile,
)

LISTS = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "score": [3.0, 2.0, 1.0]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [8, 7]})


def refused(
    kind: type[RectitudeError], builtin: type[Exception], *arguments: Any, **more: Any
) -> str:
    """Return the error message; the error must be of both types and say what to expect or do."""
    with pytest.raises(kind) as caught:
        rt.evaluate(*arguments, **more)
    assert type(caught.value) is kind
    assert isinstance(caught.value, RectitudeError) and isinstance(caught.value, builtin)
    message = str(caught.value)
    assert message == caught.value.message and "\n" in message
    return message


@pytest.mark.parametrize(("wrong", "kind"), [
    (math.nan, "NaN"), (math.inf, "infinite"), (-math.inf, "infinite"), (None, "missing"),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
def test_scores_that_are_not_finite(wrong: float | None, kind: str, dtype: Any) -> None:
    scores = pl.Series("score", [3.0, wrong, wrong], dtype=dtype)
    message = refused(BadScores, ValueError, LISTS.with_columns(scores), TRUTH, "mrr")
    assert f"2 of 3 rows of polars DataFrame have a score that is {kind}" in message
    assert "(first: row" in message and "item 8" in message
    assert "expected a finite number as score in every row" in message
    assert issubclass(BadScores, BadLists)


def test_a_missing_rank() -> None:
    lists = LISTS.drop("score").with_columns(rank=pl.Series([1, None, 1]))
    assert "1 of 3 rows" in refused(BadScores, ValueError, lists, TRUTH, "mrr")


def test_huge_scores_are_not_infinite() -> None:
    lists = LISTS.with_columns(score=pl.Series([1.7e308, 1.6e308, 1.7e308]))
    assert rt.evaluate(lists, TRUTH, "mrr")["mrr"] == (1 / 2 + 1) / 2


def test_scores_do_not_matter_if_the_order_is_given() -> None:
    lists = LISTS.with_columns(score=pl.Series([math.nan] * 3))
    assert rt.evaluate(lists, TRUTH, "mrr", {"order": "given"})["mrr"] == (1 / 2 + 1) / 2


def test_scores_that_are_text() -> None:
    lists = LISTS.with_columns(score=pl.Series(["high", "low", "low"]))
    message = refused(BadTable, ValueError, lists, TRUTH, "mrr")
    assert "score" in message and "'high'" in message and "numbers" in message


def test_duplicate_items_in_lists() -> None:
    lists = pl.DataFrame({"user": [1, 1, 1, 2, 2], "item": [7, 8, 8, 9, 9]})
    message = refused(DuplicateItems, ValueError, lists, TRUTH, "mrr")
    assert "2 of 2 lists contain an item twice (first: list 1, item 8)" in message
    assert "expected each item once per list" in message
    assert "duplicates='first'" in message


def test_duplicate_pairs_in_the_truth() -> None:
    truth = pl.DataFrame({"user": [1, 2, 2, 2], "item": [8, 7, 7, 7]})
    message = refused(DuplicateTruth, ValueError, LISTS, truth, "mrr")
    assert "2 of 4 truth rows repeat a pair of list and item (first: list 2, item 7)" in message
    assert "expected each item once per list in the truth" in message
    assert "duplicate_truth='once'" in message
    assert issubclass(DuplicateTruth, BadTruth)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, None])
def test_grades_that_are_not_finite(wrong: float | None) -> None:
    truth = TRUTH.with_columns(grade=pl.Series([1.0, wrong]))
    message = refused(BadGrades, ValueError, LISTS, truth, "mrr")
    assert "1 of 2 rows" in message and "item 7" in message
    assert "expected a finite grade in every row" in message


@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_grades_that_a_metric_forbids_fail_that_metric_only(gain: str) -> None:
    truth = TRUTH.with_columns(grade=pl.Series([5, 1]))
    evaluation = rt.evaluate(LISTS, truth, ["err", "mrr"], {"gain": gain})
    failure = evaluation.failures["err"]
    assert isinstance(failure, BadGrades) and isinstance(failure, ValueError)
    assert "1 truth rows have a grade above 4 (first: 5)" in str(failure)
    assert "expected grades up to max_grade = 4" in str(failure)
    assert "err[max_grade=5]" in str(failure)
    assert evaluation["mrr"] == (1 / 2 + 1) / 2
    assert rt.evaluate(LISTS, truth, "err[max_grade=5]", {"gain": gain})["err[max_grade=5]"] > 0


@pytest.mark.parametrize("empty", [TRUTH.clear(), {}, {"user": [], "item": []}, {1: [], 2: []}, []])
def test_an_empty_truth(empty: Any) -> None:
    message = refused(NothingToEvaluate, ValueError, LISTS, empty, "mrr")
    assert "truth" in message and "expected at least one row" in message


@pytest.mark.parametrize("empty", [LISTS.clear(), {}, {"user": [], "item": []}, {1: [], 2: []}, []])
def test_empty_predictions(empty: Any) -> None:
    message = refused(NothingToEvaluate, ValueError, empty, TRUTH, "mrr")
    assert "predictions" in message and "empty" in message
    assert "expected at least one recommended item" in message


def test_no_common_user() -> None:
    message = refused(NothingToEvaluate, ValueError, LISTS, {3: [7], 4: [7], 5: [8]}, "mrr")
    assert "no user is in both" in message
    assert "2 users, first: 1" in message and "3 users, first: 3" in message
    assert "check that both" in message


def test_a_metric_without_lists_that_count_fails_alone() -> None:
    evaluation = rt.evaluate(
        LISTS, TRUTH, ["hit@1", "hit[list_needed=hit]@1", "mrr"], {"ties": "given"}
    )
    assert not evaluation.failures
    none = rt.evaluate({1: ["x"]}, {1: ["a"]}, ["recall@1", "recall[list_needed=hit]@1"])
    failure = none.failures["recall[list_needed=hit]@1"]
    assert isinstance(failure, NothingToEvaluate) and "list_needed='hit'" in str(failure)
    assert none["recall@1"] == 0


def test_ids_of_different_types() -> None:
    message = refused(BadIds, TypeError, LISTS, TRUTH.cast({"item": pl.String}), "mrr")
    assert "item ids are" in message and "integer" in message and "text" in message
    assert "cast" in message


def test_ids_of_different_types_are_named_once_per_type() -> None:
    with pytest.raises(BadIds) as caught:
        rt.evaluate({"1": ["a"]}, {1: ["a"]}, "mrr")
    assert caught.value.found == (
        "user ids are text in predictions (dict of lists, first: '1'), but integer in truth (dict "
        "of lists, first: 1)."
    )
    with pytest.raises(BadIds) as caught:
        rt.evaluate({1: ["a"]}, {1: ["a"]}, "mrr", users={"user": ["x"]})
    assert caught.value.found == (
        "user ids are integer in predictions (dict of lists, first: 1) and truth (dict of lists, "
        "first: 1), but text in users (dict of columns, first: 'x')."
    )
    with pytest.raises(BadIds, match=r"integer in predictions .*, but text in the users of"):
        rt.evaluate(rt.Lists({1: ["a"]}, users=["x"]), {1: ["a"]}, "mrr")


def test_every_role_of_a_column_is_listed_once() -> None:
    with pytest.raises(UnknownName) as caught:
        rt.evaluate({1: ["a"]}, {1: ["a"]}, "mrr", columns={"usr": "x"})
    assert caught.value.advice.count("user,") == 1


def test_a_convention_of_a_wrong_type_is_named_by_its_type() -> None:
    with pytest.raises(BadArgument, match="convention is of type int"):
        rt.evaluate({1: ["a"]}, {1: ["a"]}, "mrr", 3)


def test_a_missing_column_with_the_nearest_name() -> None:
    lists = LISTS.rename({"user": "usr_idd"})
    message = refused(BadTable, ValueError, lists, TRUTH, "mrr")
    assert "no user column" in message and "'usr_idd', 'item', 'score'" in message
    assert "did you mean 'usr_idd'?" in message
    assert "columns={'user': 'usr_idd'}" in message
    named = rt.evaluate(rt.Lists(lists, user="usr_idd"), TRUTH, "mrr")
    assert named["mrr"] == (1 / 2 + 1) / 2


def test_an_ambiguous_column() -> None:
    lists = LISTS.rename({"user": "user_id"}).with_columns(uid=pl.lit(1))
    message = refused(BadTable, ValueError, lists, TRUTH, "mrr")
    assert "ambiguous" in message and "'user_id'" in message and "'uid'" in message
    assert "choose with columns=" in message


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(UnreadableFile, match="cannot be opened: File name too long"):
        rt.evaluate("a" * 300, TRUTH, "mrr")


def test_a_named_column_that_does_not_exist() -> None:
    message = refused(BadTable, ValueError, rt.Lists(LISTS, score="scroe"), TRUTH, "mrr")
    assert "no column 'scroe'" in message and "did you mean 'score'?" in message


def test_an_unknown_role_of_a_column() -> None:
    message = refused(UnknownName, LookupError, LISTS, TRUTH, "mrr", columns={"usr": "user"})
    assert "did you mean 'user'?" in message


def test_an_order_that_needs_a_missing_column() -> None:
    message = refused(BadTable, ValueError, LISTS, TRUTH, "mrr", {"order": "rank"})
    assert "no rank column" in message and "order='score'" in message


@pytest.mark.parametrize(
    "at", ["0", "-1", "2.5", "1e3", "ten", "99999999999999999999", "10000001", "+5", " 5", "{5,0}"]
)
def test_an_invalid_cutoff(at: str) -> None:
    message = refused(BadName, ValueError, LISTS, TRUTH, f"ndcg@{at}")
    assert "ndcg@" in message and "expected" in message


@pytest.mark.parametrize("name", ["ndcg@", "@10", "ndcg@{", "ndcg@{}", "ndcg@{5,}", "ndcg[@5",
                                  "ndcg[gain=]@5", "ndcg]", "10", "nd cg@5@",
                                  "[gain=exp2]"])  # fmt: skip
def test_a_metric_name_that_cannot_be_parsed(name: str) -> None:
    with pytest.raises((BadName, UnknownName)) as caught:
        rt.evaluate(LISTS, TRUTH, name)
    assert "\n" in str(caught.value)


@pytest.mark.parametrize("metrics", [[], "", " , ", [3], [None], 3])
def test_metrics_that_are_not_names(metrics: Any) -> None:
    message = refused(BadName, ValueError, LISTS, TRUTH, metrics)
    assert "expected" in message


def test_huge_cutoffs_work() -> None:
    assert rt.evaluate(LISTS, TRUTH, "recall@10000000")["recall@10000000"] == 1
    small = rt.evaluate(LISTS, TRUTH, "ndcg[ideal=k]@1000000")["ndcg[ideal=k]@1000000"]
    assert 0 < small < 1e-3


def test_unknown_names_are_reported_with_the_nearest() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ("ndgc@10", None, "no metric 'ndgc'.*did you mean 'ndcg@10'"),
        ("ndcg@10", {"tie": "given"}, "no switch 'tie'.*did you mean 'ties'"),
        ("ndcg@10", {"ties": "pesimistic"}, "no choice 'pesimistic'.*did you mean 'pessimistic'"),
        ("ndcg@10", "rectool", "no profile 'rectool'.*did you mean 'rectools'"),
        ("ndcg@10", {"profile": "rectool"}, "no profile 'rectool'.*did you mean 'rectools'"),
        ("rbp[persistance=0.5]", None, "'persistance'.*did you mean 'persistence'"),
        ("ndcg[gian=exp2]@5", None, "'gian'.*did you mean 'gain'"),
        ("ndcg[gain=exp]@5", None, "no choice 'exp'.*did you mean 'exp2'"),
        ("ndcg[burgess]@5", "ranx", "'burgess'.*did you mean 'burges'"),
    ]  # fmt: skip
    for metric, convention, pattern in cases:
        with pytest.raises(UnknownName, match=f"(?s){pattern}") as caught:
            rt.evaluate(LISTS, TRUTH, metric, convention)
        assert isinstance(caught.value, LookupError)
        assert "known: " in str(caught.value) or "no metric" in str(caught.value)


@pytest.mark.parametrize("convention", [3, [], [3], {"ties"}])
def test_an_invalid_convention(convention: Any) -> None:
    assert "convention" in refused(BadArgument, ValueError, LISTS, TRUTH, "mrr", convention)


@pytest.mark.parametrize(
    "wrong", [None, 3, object(), {"u": "abc"}, {"u": 3}, {"u": ["a"], "v": {"a": 1}}]
)
def test_predictions_that_are_not_a_table(wrong: Any) -> None:
    message = refused(BadTable, ValueError, wrong, {"u": ["a"]}, "mrr")
    assert "predictions" in message and "expected" in message


def test_sets_have_no_order_and_are_not_predictions() -> None:
    assert "not ranked" in refused(BadTable, ValueError, {"u": {"a", "b"}}, {"u": ["a"]}, "mrr")


def test_a_metric_that_lacks_an_input_names_it() -> None:
    from rectitude.metrics import Ratio

    @rt.metric("Needy", needs=("train",))
    def needy(lists: Any, k: int | None) -> Ratio:
        """Needs training data."""
        return Ratio.of(lists.hits(k))

    try:
        failure = rt.evaluate(LISTS, TRUTH, ["needy", "mrr"]).failures["needy"]
    finally:
        rt.METRICS.remove("needy")
    assert isinstance(failure, MissingNeed) and isinstance(failure, ValueError)
    assert "metric 'needy' needs the training data" in str(failure)
    assert "train=" in str(failure) and "--train" in str(failure)


def test_errors_survive_pickling() -> None:
    import pickle

    with pytest.raises(UnknownName) as caught:
        rt.evaluate(LISTS, TRUTH, "ndgc")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert type(again) is UnknownName and str(again) == str(caught.value)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ({"relevant_from": 4}, "convention={'relevant_from': 4}"),
        ({"gain": "linear"}, "convention={'gain': 'linear'}"),
        (
            {"gain": "linear", "convention": "recbole"},
            "convention={'profile': 'recbole', 'gain': 'linear'}",
        ),
    ],
)
def test_a_switch_typed_as_a_keyword_is_answered(typed: dict[str, Any], answer: str) -> None:
    calls: list[Any] = [
        lambda: rt.evaluate(LISTS, TRUTH, "ndcg@10", **typed),
        lambda: rt.compare({"a": LISTS, "b": LISTS}, TRUTH, "ndcg@10", **typed),
        lambda: rt.Evaluator("ndcg@10", **typed),
    ]
    for call in calls:
        with pytest.raises(UnknownName) as caught:
            call()
        assert str(caught.value).endswith(f"\n  a switch of the convention: {answer}.")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ({"y_true": TRUTH, "y_pred": LISTS}, "it is called truth="),
        ({"qrels": TRUTH, "run": LISTS}, "it is called truth="),
        ({"run": LISTS, "qrels": TRUTH}, "it is called predictions="),
        ({"y_pred": LISTS, "y_true": TRUTH}, "it is called predictions="),
    ],
)
def test_the_words_of_other_libraries_for_inputs_are_answered(
    typed: dict[str, Any], answer: str
) -> None:
    evaluate: Any = rt.evaluate
    with pytest.raises(UnknownName, match=answer):
        evaluate(**typed)

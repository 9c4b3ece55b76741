"""What the ledger says about grades, columns, and counts that add up over batches."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.data.ledger import Ledger

RATINGS = pl.DataFrame({"userId": [1, 1, 2], "movieId": [1, 2, 3], "rating": [0.5, 5.0, 3.5]})
LISTS = {1: [1, 5, 2], 2: [3, 4, 6]}


def graded(metrics: str | list[str], convention: object = None, truth: object = RATINGS) -> str:
    ledger = rt.evaluate(LISTS, truth, metrics, convention).ledger
    return str(ledger.entries.get("truth_graded", ""))


def test_ratings_that_all_count_as_relevant_are_reported() -> None:
    assert graded(["recall@10", "ndcg@10"]) == (
        "3 truth rows have grades from 0.5 to 5, and all of them count as relevant: "
        "convention={'relevant_from': 4} counts only high grades, {'gain': 'linear'} weights items "
        "by grade in ndcg@10 (command line: --convention relevant_from=4)"
    )
    assert graded("recall@10").endswith(
        "{'relevant_from': 4} counts only high grades (command line: --convention relevant_from=4)"
    )
    assert "- 3 truth rows have grades" in str(rt.evaluate(LISTS, RATINGS, "ndcg@10"))


def test_advice_about_grades_keeps_the_profile_and_works_as_it_is_typed() -> None:
    line = graded("recall@10", "recbole")
    assert "convention={'profile': 'recbole', 'relevant_from': 4} counts" in line
    assert "--convention recbole relevant_from=4)" in line
    assert graded("recall@10", {"profile": "recbole", "relevant_from": 4}) == ""


def test_users_of_a_full_attribute_table_who_have_no_list_are_only_counted() -> None:
    people = pl.DataFrame({"user": range(1, 944), "gender": ["F", "M", "F"] * 314 + ["M"]})
    ledger = rt.evaluate(LISTS, RATINGS, "ndcg@10", users=people, slices="gender").ledger
    entry = ledger.entries["users_absent"]
    assert str(entry) == "941 users of users= have neither a list nor truth: not evaluated"
    assert entry.weight == "fact"


def test_grades_that_matter_are_not_reported() -> None:
    assert graded("ndcg@10", {"gain": "linear"}) == ""
    assert graded(["ndcg@10", "recall@10"], {"relevant_from": 4}) == ""
    assert graded(["ndcg@10", "recall@10"], {"gain": "linear"}) != ""
    zeros = RATINGS.with_columns(rating=pl.Series([0.0, 1.0, 1.0]))
    assert graded("ndcg@10", truth=zeros) == ""


def test_equal_grades_and_metrics_without_relevance_are_not_reported() -> None:
    assert graded("ndcg@10", truth=RATINGS.with_columns(rating=5.0)) == ""
    assert graded("ndcg@10", truth=RATINGS.drop("rating")) == ""
    scored = pl.DataFrame({"userId": [1, 1, 2], "movieId": [1, 2, 3], "score": [1.0, 4.0, 3.0]})
    ledger = rt.evaluate(scored, RATINGS, ["mae", "rmse", "distinct_items@2"]).ledger
    assert "truth_graded" not in ledger


def test_batches_report_the_range_of_all_grades() -> None:
    evaluator = rt.Evaluator(["recall@10", "ndcg@10"])
    for user in (1, 2):
        evaluator.update({user: LISTS[user]}, RATINGS.filter(userId=user))
    whole = rt.evaluate(LISTS, RATINGS, ["recall@10", "ndcg@10"]).ledger
    added = evaluator.compute().ledger
    assert added.entries["truth_graded"] == whole.entries["truth_graded"]
    assert evaluator.compute().ledger["truth_graded"] == 3, "it is reported once"


@pytest.mark.parametrize(
    ("threshold", "found"),
    [(6, "no item of the truth has a grade of 6 or more (highest: 5)"),
     (None, "no item of the truth has a grade above 0 (highest: -0.5)")],
)  # fmt: skip
def test_a_threshold_above_all_grades_is_named(threshold: float | None, found: str) -> None:
    truth = RATINGS if threshold else RATINGS.with_columns(-pl.col("rating"))
    evaluation = rt.evaluate(LISTS, truth, "ndcg@10", {"relevant_from": threshold})
    assert found in evaluation.failures["ndcg@10"].found
    assert "relevant_from" in evaluation.failures["ndcg@10"].advice


def test_the_user_column_is_called_user() -> None:
    ledger = rt.evaluate(LISTS, RATINGS, "ndcg@10").ledger
    assert ledger.notes["predictions"] == "dict of lists (user, item)"
    assert "(user = 'userId', item = 'movieId', grade = 'rating')" in ledger.notes["truth"]
    sessions = pl.DataFrame({"session": [1, 2], "user": [1, 1], "item": [3, 4]})
    notes = rt.evaluate(sessions, sessions, "mrr", list_key="session").ledger.notes
    assert notes["truth"] == "polars DataFrame (list = 'session', user = 'user', item = 'item')"


def test_counts_inside_sentences_add_up_and_settings_do_not() -> None:
    first, second, nothing = Ledger(), Ledger(), Ledger()
    for ledger, count in ((first, 2), (second, 2), (nothing, 0)):
        ledger.count("twice", count, f"lists shorter than 10 repeat items, {count} rows in all")
    for ledger in (first + second, nothing + first + second, first + nothing + second):
        assert str(ledger).strip() == "4 lists shorter than 10 repeat items, 4 rows in all"


def test_users_whose_truth_is_empty_are_counted_with_and_without_predictions() -> None:
    truth = {"ann": ["a"], "bob": ["c"], "cat": [], "dan": []}
    ledger = rt.evaluate({"ann": ["a"], "bob": ["b"], "dan": ["a"]}, truth, "mrr").ledger
    assert (
        "2 of 4 users in the truth have no items: there is nothing to find (first: 'cat')"
        in str(ledger)
    )
    assert ledger["users_in_truth"] == 2
    chosen = rt.evaluate({"ann": ["a"]}, truth, "mrr", users={"user": ["ann", "cat"]}).ledger
    assert (chosen["truth_empty"], chosen.entries["truth_empty"].of) == (1, 2)


def test_batches_count_users_whose_truth_is_empty() -> None:
    evaluator = rt.Evaluator("mrr")
    evaluator.update({"ann": ["a"]}, {"ann": ["a"], "cat": []})
    evaluator.update({"bob": ["a"]}, {"bob": ["a"]})
    entry = evaluator.compute().ledger.entries["truth_empty"]
    assert (entry.count, entry.of, entry.example) == (1, 3, "'cat'")


@pytest.mark.parametrize("scores", [True, False])
def test_a_row_without_herbs_is_counted(scores: bool, tmp_path: Path) -> None:
    (tmp_path / "herbs.txt").write_text("1 2\t3 4\n5 6\t\n1\t4\n")
    predictions = rt.Scores([[0.1, 0.2, 0.3, 0.4, 0.5]] * 3) if scores else {0: [3], 2: [4]}
    ledger = rt.evaluate(predictions, tmp_path / "herbs.txt", "f1@2", "smgcn-f1").ledger
    assert "1 of 3 users in the truth have no items" in str(ledger)
    assert ledger.entries["truth_empty"].example == "1"


def test_lists_without_any_hit_ask_about_the_ids() -> None:
    ledger = rt.evaluate({1: [1], 2: [2]}, {1: [7], 2: [8]}, "mrr").ledger
    assert str(ledger.entries["without_any_hit"]) == (
        "2 of 2 lists contain no item of their truth: do both tables use the same item ids? "
        "(first: predictions 1, truth 7)"
    )
    evaluator = rt.Evaluator("mrr")
    for user, item in ((1, 7), (2, 8)):
        evaluator.update({user: [0]}, {user: [item]})
    assert evaluator.compute().ledger["without_any_hit"] == 2
    evaluator.update({3: [1]}, {3: [1]})
    assert "without_any_hit" not in evaluator.compute().ledger


LOW = {"u": {"a": 1, "b": 0, "c": -2}}


@pytest.mark.parametrize("metric", ["recall@2", "ndcg@2"])
def test_rows_with_grades_of_0_or_below_are_counted_and_the_ledger_says_how_to_change_that(metric):
    evaluation = rt.evaluate({"u": ["a", "b"]}, LOW, metric)
    line = str(evaluation.ledger.entries["truth_low_grades"])
    assert line == (
        "2 of 3 truth rows have a grade of 0 or below: they do not count as relevant; "
        "convention={'relevant_from': 'any'} counts every row (command line: --convention "
        "relevant_from=any) (first: list 'u', item 'b')"
    )
    assert evaluation[metric] == 1 / 1


@pytest.mark.parametrize("threshold", ["any", 1])
def test_no_advice_is_given_on_low_grades_if_the_threshold_is_set(threshold):
    evaluation = rt.evaluate({"u": ["a", "b"]}, LOW, "recall@2", {"relevant_from": threshold})
    entry = evaluation.ledger.entries["truth_low_grades"]
    assert str(entry).startswith("2 of 3 truth rows have a grade of 0 or below (first")
    assert entry.weight == "fact"


def test_any_grade_is_relevant_if_the_convention_says_so():
    any_grade = {"relevant_from": "any"}
    evaluation = rt.evaluate({"u": ["a", "b"]}, LOW, ["recall@2", "map@2"], any_grade)
    assert evaluation.values() == {"recall@2": 2 / 3, "map@2": (1 / 1 + 2 / 2) / 3}

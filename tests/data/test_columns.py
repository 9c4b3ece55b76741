"""Columns are recognised by their names."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.data.read import read
from rectitude.data.table import Interactions
from rectitude.errors import BadTable, UnknownName


def frame(*names: str) -> pl.DataFrame:
    return pl.DataFrame({name: [place, place] for place, name in enumerate(names)})


@pytest.mark.parametrize(
    ("names", "what", "expected"),
    [
        (("user_id", "item_id", "score", "rank"), "predictions", "list item score rank"),
        (("userID", "itemID", "prediction"), "predictions", "list item score"),
        (("user_id", "item_id", "rating"), "predictions", "list item score"),
        (("query_id", "doc_id", "score"), "predictions", "list item score"),
        (("q_id", "doc_id", "score"), "truth", "list item grade"),
        (("qid", "docno", "rel"), "truth", "list item grade"),
        (("query_id", "doc_id", "relevance"), "truth", "list item grade"),
        (("user_idx", "item_idx", "relevance"), "predictions", "list item score"),
        (("user_id", "item_id", "weight", "datetime"), "truth", "list item grade"),
        (("user_id:token", "item_id:token", "rating:float"), "truth", "list item grade"),
        (("userId", "movieId", "rating", "timestamp"), "train", "list item grade"),
        (("uid", "iid", "est"), "predictions", "list item score"),
        (("User ID", "ITEM-ID"), "truth", "list item"),
        (("target_item_id", "item_id", "score"), "predictions", "list item score"),
        (("user", "weight"), "weights", "list weight"),
    ],
)
def test_column_names_of_every_library_are_recognised(
    names: tuple[str, ...], what: str, expected: str
) -> None:
    table = read(frame(*names), what)  # type: ignore[arg-type]
    assert sorted(table.frame.columns) == sorted(expected.split())
    assert table.columns["list" if "list" in expected else "item"] == names[0]


def test_the_exact_word_wins_over_another_name() -> None:
    table = read(frame("user", "uid", "item", "movieId", "score", "pred"), "predictions")
    assert table.columns == {"list": "user", "item": "item", "score": "score"}


def test_a_name_that_only_predictions_use_wins_over_one_of_truth() -> None:
    table = read(frame("userID", "itemID", "rating", "prediction"), "predictions")
    assert table.columns["score"] == "prediction"


def test_two_columns_for_one_role_are_ambiguous() -> None:
    with pytest.raises(BadTable, match="ambiguous") as caught:
        read(frame("user_id", "uid", "item"), "truth")
    assert "'user_id', 'uid'" in str(caught.value)
    assert "columns={'user': 'user_id'}" in str(caught.value)
    assert "--columns user=user_id" in str(caught.value)


def test_naming_one_of_two_columns_resolves_the_ambiguity() -> None:
    table = read(frame("user_id", "uid", "item"), "truth", columns={"user": "uid"})
    assert table.columns["list"] == "uid"


def test_a_missing_column_names_the_nearest() -> None:
    with pytest.raises(BadTable, match="has no user column") as caught:
        read(frame("usr", "item", "score"), "predictions")
    message = str(caught.value)
    assert "its columns: 'usr', 'item', 'score'" in message
    assert "user_id" in message
    assert "did you mean 'usr'?" in message
    assert "--columns user=usr" in message


def test_an_explicit_name_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(BadTable, match="no column 'vistor'") as caught:
        read(frame("visitor", "item"), "truth", columns={"user": "vistor"})
    assert "did you mean 'visitor'?" in str(caught.value)


def test_explicit_names_are_used_unchanged() -> None:
    names = {"user": "visitor", "score": "p"}
    table = read(frame("visitor", "item", "p", "score"), "predictions", columns=names)
    assert table.columns == {"list": "visitor", "score": "p", "item": "item"}


def test_names_for_roles_the_table_does_not_have_are_ignored() -> None:
    table = read(frame("user", "item"), "truth", columns={"score": "p"})
    assert table.frame.columns == ["list", "item"]


def test_a_name_for_a_column_of_a_table_without_names_is_an_error() -> None:
    lists = rt.Lists({"ann": ["tea"]}, user="visitor")
    with pytest.raises(BadTable, match="has no column 'visitor', which was named as the user"):
        rt.evaluate(lists, {"ann": ["tea"]}, "mrr")


def test_an_unknown_role_is_an_error() -> None:
    with pytest.raises(UnknownName, match="no role 'usr'") as caught:
        read(frame("a", "b"), "truth", columns={"usr": "a"})
    assert "did you mean 'user'" in str(caught.value)


def test_one_column_cannot_have_two_roles() -> None:
    with pytest.raises(BadTable, match="two roles, item and user"):
        read(frame("a", "b"), "truth", columns={"user": "a", "item": "a"})


def test_the_list_key_is_found_regardless_of_case_and_separators() -> None:
    table = read(frame("Session-ID", "user", "item"), "predictions", list_key="session_id")
    assert table.columns == {"list": "Session-ID", "user": "user", "item": "item"}


def test_a_list_key_may_end_in_id() -> None:
    table = read(frame("session_id", "item"), "predictions", list_key="session")
    assert table.columns == {"list": "session_id", "item": "item"}


def test_predictions_need_the_list_key() -> None:
    with pytest.raises(BadTable, match="has no session column"):
        read(frame("user", "item", "score"), "predictions", list_key="session")


@pytest.mark.parametrize("what", ["truth", "weights"])
def test_truth_and_weights_may_be_keyed_by_user_alone(what: str) -> None:
    table = read(frame("user", "item", "weight"), what, list_key="session")  # type: ignore[arg-type]
    assert "list" not in table.frame.columns
    assert table.columns["user"] == "user"


def test_truth_with_neither_list_key_nor_user_is_an_error() -> None:
    with pytest.raises(BadTable, match="has no session column"):
        read(frame("item", "grade"), "truth", list_key="session")


def test_the_list_key_may_be_named_in_columns() -> None:
    names = {"session": "s"}
    table = read(frame("s", "item"), "predictions", list_key="session", columns=names)
    assert table.columns["list"] == "s"


def test_a_query_key_keeps_the_user_column() -> None:
    table = read(frame("query_id", "user_id", "item"), "predictions", list_key="query_id")
    assert table.columns == {"list": "query_id", "user": "user_id", "item": "item"}


def test_training_data_is_always_keyed_by_user() -> None:
    table = read(frame("session", "user", "item"), "train", list_key="session")
    assert table.columns == {"list": "user", "item": "item"}


def test_items_keep_every_other_column() -> None:
    table = read(frame("item_id", "price", "score", "user_id"), "items")
    assert table.frame.columns == ["item", "price", "score", "user_id"]


def test_users_keep_every_other_column() -> None:
    table = read(frame("age", "user_id", "item"), "users")
    assert sorted(table.frame.columns) == ["age", "item", "list"]


def test_columns_that_would_share_a_name_are_an_error() -> None:
    with pytest.raises(BadTable, match="two columns that would both be called 'item'"):
        read(frame("item", "sku"), "items", columns={"item": "sku"})


def test_interactions_name_their_columns() -> None:
    source = Interactions(frame("a", "b", "c", "t"), user="a", item="b", grade="c", timestamp="t")
    table = read(source, "truth")
    assert table.columns == {"list": "a", "item": "b", "grade": "c", "timestamp": "t"}


def test_names_passed_to_read_override_those_of_interactions() -> None:
    source = Interactions(frame("a", "b", "c"), user="a", item="b")
    assert read(source, "truth", columns={"user": "c"}).columns["list"] == "c"


def test_interactions_may_key_lists_by_another_column() -> None:
    source = Interactions(frame("s", "uid", "item"), list_key="s")
    assert read(source, "truth").columns == {"list": "s", "user": "uid", "item": "item"}


def test_types_in_the_header_of_attributes_are_no_part_of_their_names() -> None:
    names = {"user_id:token": [1, 2], "gender:token": ["f", "m"], "age:float": [20.0, 30.0]}
    table = read(pl.DataFrame(names), "users")
    assert table.frame.columns == ["list", "gender", "age"]
    assert table.columns["gender"] == "gender:token"


def test_attributes_whose_names_differ_only_by_type_are_an_error() -> None:
    with pytest.raises(BadTable, match="two columns that would both be called 'age'"):
        read(frame("user_id:token", "age:token", "age:float"), "users")


def test_an_attribute_declared_as_a_sequence_has_several_values() -> None:
    names = {"item_id:token": [1, 2], "class:token_seq": ["Comedy Drama", "Drama"]}
    table = read(pl.DataFrame(names), "items")
    assert table.frame["class"].to_list() == [["Comedy", "Drama"], ["Drama"]]


def test_evaluations_are_sliced_by_typed_columns() -> None:
    users = pl.DataFrame({"user_id:token": [1, 2], "gender:token": ["f", "m"], "age:float": [2, 3]})
    lists, truth = {1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["a"]}
    evaluation = rt.evaluate(lists, truth, "mrr", users=users, slices=["gender", "age:2"])
    assert "gender" in str(evaluation.slices)
    assert "age" in str(evaluation.slices)


def test_the_roles_of_columns_are_listed_once() -> None:
    with pytest.raises(UnknownName) as caught:
        rt.evaluate({1: ["a"]}, {1: ["a"]}, "mrr", columns={"usr": "visitor"})
    assert str(caught.value).count(" user,") == 1

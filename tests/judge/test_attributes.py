"""Extra columns of items= and users= as groups, memberships, vectors and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.data.ledger import Ledger
from rectitude.data.read import read
from rectitude.errors import BadArgument, BadTable, MissingNeed, UnknownName
from rectitude.judge.attributes import Attributes
from rectitude.metrics.registry import METRICS, Ratio, metric
from rectitude.profiles.reading import from_toml

LISTS = {"ann": list("abcd"), "bob": list("ace"), "cy": list("fe")}
TRUTH = {"ann": ["a", "z"], "bob": ["c"], "cy": ["e"]}
ITEMS = pl.DataFrame(
    {
        "item": list("abcde"),
        "category": ["x", "x", "y", None, "z"],
        "genre": [["p"], ["q", "p", "q"], [], None, ["q"]],
        "price": [1.0, 2.0, float("nan"), 4.0, None],
        "v10": [0.5, 1.0, 1.5, 2.0, 2.5],
        "v2": [1, 2, 3, None, 5],
        "embedding": [[1.0, 0.0], [0.0, 1.0], None, [1.0, 1.0], [2.0, None]],
        "nothing": [None] * 5,
    }
)
USERS = {"user": ["ann", "bob", "cy", "zoe"], "sex": ["f", "m", None, "f"], "age": [30, 40, 50, 60]}
TRAIN = {"zoe": ["a"], "ann": ["q", "b"]}


def attributes(frame: Any) -> Attributes:
    table = read(frame, "items")
    ids = pl.Series(["a", "b", "c", "d", "e", "f"])
    rows = ids.search_sorted(table.frame["item"]).to_numpy().astype(np.int64)
    return Attributes("item", table, rows, 6)


def test_a_column_of_single_values_is_groups() -> None:
    number, names = attributes(ITEMS).groups("category")
    assert names.to_list() == ["x", "y", "z"]
    assert number.tolist() == [0, 0, 1, -1, 2, -1]


def test_several_values_are_memberships_whether_in_a_list_or_in_several_rows() -> None:
    rows = {"item": list("abbeb"), "genre": ["p", "q", "p", "q", None]}
    for frame in (ITEMS, rows, ITEMS.with_columns(pl.col("genre").cast(pl.List(pl.Categorical)))):
        entry, number, names = attributes(frame).memberships("genre")
        assert names.to_list() == ["p", "q"]
        assert list(zip(entry.tolist(), number.tolist(), strict=True)) == [
            (0, 0), (1, 0), (1, 1), (4, 1)
        ]  # fmt: skip


def test_groups_refuse_an_item_with_several_values() -> None:
    wrong = r"1 items of items= \(.*\) have several values in 'genre' \(first: item 'b'\)"
    with pytest.raises(BadTable, match=wrong):
        attributes(ITEMS).groups("genre")
    single = {"item": ["a", "b"], "genre": [["p"], []]}
    assert attributes(single).groups("genre").number.tolist() == [0, -1, -1, -1, -1, -1]


def test_vectors_come_from_lists_arrays_numbered_columns_and_single_numbers() -> None:
    both = ITEMS.filter(pl.col("embedding").list.len() == 2)
    arrays = both.with_columns(pl.col("embedding").cast(pl.Array(pl.Float32, 2)))
    for frame in (ITEMS, arrays):
        found = attributes(frame).vectors("embedding")
        assert found[[0, 1, 3]].tolist() == [[1, 0], [0, 1], [1, 1]]
        assert np.isnan(found[[2, 4, 5]]).all()
    numbered = attributes(ITEMS).vectors("v")  # v2 before v10
    assert numbered[0].tolist() == [1, 0.5]
    assert np.isnan(numbered[3]).all()
    assert attributes(ITEMS).vectors("price").shape == (6, 1)
    assert np.nan_to_num(attributes(ITEMS).values("price"), nan=-1).tolist() == [
        1,
        2,
        -1,
        4,
        -1,
        -1,
    ]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("v", [[1.0], [1.0, 2.0]], "contains lists of 1 and of 2 numbers"),
        ("v", ["1", "dear"], "contains 'dear'"),
        ("v", [1.0, float("inf")], "contains infinite numbers"),
    ],
)
def test_an_invalid_vector_is_named_in_the_error(
    column: str, values: list[Any], words: str
) -> None:
    with pytest.raises(BadTable, match=words):
        attributes({"item": ["a", "b"], column: values}).vectors(column)


def test_values_refuse_several_numbers_per_item() -> None:
    with pytest.raises(BadTable, match="has 2 numbers in 'v' for each item"):
        attributes(ITEMS).values("v")
    with pytest.raises(BadTable, match=r"1 items of .* have several values in 'price'"):
        attributes({"item": ["a", "a"], "price": [1.0, 2.0]}).values("price")
    assert attributes({"item": ["a", "a"], "price": [1.0, 1.0]}).values("price")[0] == 1.0


def test_a_missing_table_and_a_missing_column_are_named_with_the_nearest_names() -> None:
    for ask in ("groups", "memberships", "vectors"):
        with pytest.raises(MissingNeed, match="did you mean 'category'") as error:
            getattr(attributes(ITEMS), ask)("categry")
        assert "has no column 'categry'; its columns besides the item: category, genre" in str(
            error.value
        )
    with pytest.raises(MissingNeed, match="pass users= with the columns 'user' and 'sex'"):
        Attributes("user", None, np.zeros(0, int), 3).groups("sex")
    with pytest.raises(MissingNeed, match="has no column 'item'"):
        attributes(ITEMS).groups("item")


def test_a_column_without_any_value_is_an_error_of_the_metric() -> None:
    found = evaluate(["category_diversity[by=nothing]@3", "mrr"])
    assert "column 'nothing' of items= has no value for any item" in str(
        found.failures["category_diversity[by=nothing]@3"]
    )
    assert found["mrr"] > 0


def test_entries_without_a_value_are_counted() -> None:
    ledger, items = Ledger(), attributes(ITEMS)
    items.groups("category"), items.memberships("genre"), items.values("price")
    items.account(ledger, pl.Series(list("abcdef")))
    assert (ledger["items_without_category"], ledger["items_without_genre"]) == (2, 3)
    assert str(ledger.entries["items_without_price"]) == (
        "3 of 6 items have no 'price': left out by metrics that use it (first: 'c')"
    )


@pytest.fixture
def seen() -> Any:
    """Register a metric that stores its arguments, and return them."""
    arguments: dict[str, Any] = {}

    @metric("Looks", needs=("shown", "stock", "wanted", "people"), name="looks")
    def looks(lists: Any, k: int | None, *, by: str = "sex") -> Ratio:
        arguments["lists"], arguments["by"] = lists, by
        return Ratio.of(np.ones(lists.size))

    yield arguments
    METRICS.remove("looks")


def evaluate(names: Any, predictions: Any = LISTS, **more: Any) -> rt.Evaluation:
    given = {"items": ITEMS, "users": USERS, "train": TRAIN} | more
    return rt.evaluate(predictions, TRUTH, names, {"undefined": "skip"}, **given)


@pytest.mark.parametrize("kind", ["lists", "scores", "embeddings"])
def test_metrics_see_items_of_the_truth_and_the_users_of_lists(seen: Any, kind: str) -> None:
    vectors = np.random.default_rng(0).random((3, 4)), np.random.default_rng(1).random((8, 4))
    names = {"users": ["ann", "bob", "cy"], "items": list("abcdefqz")}
    dense = {
        "lists": LISTS,
        "scores": rt.Scores(vectors[0] @ vectors[1].T, **names),
        "embeddings": rt.Embeddings(*vectors, **names),
    }
    evaluate("looks@3", dense[kind])
    lists = seen["lists"]
    ids, people = lists.stock.ids.to_list(), lists.people.ids.to_list()
    assert [ids[i] for i in lists.wanted] == ["a", "z", "c", "e"]
    assert [people[i] for i in lists.owner] == ["ann", "bob", "cy"]
    assert [people[i] for i in lists.stock.user] == ["zoe", "ann", "ann"]
    assert [ids[i] for i in lists.stock.item] == ["a", "q", "b"]
    assert lists.people.groups("sex").number[lists.owner].tolist() == [0, 1, -1]
    assert lists.people.values("age")[lists.owner].tolist() == [30, 40, 50]
    some = lists.only(np.array([0, 2]))
    assert [ids[i] for i in some.wanted] == ["a", "z", "e"]
    assert [people[i] for i in some.owner] == ["ann", "cy"]
    truth = [TRUTH[people[user]] for user in lists.owner]
    rows = zip(lists.list, lists.wanted[lists.where], strict=True)
    assert all(ids[item] in truth[row] for row, item in rows)


def test_a_text_parameter_appears_in_the_name_the_definition_and_a_profile(seen: Any) -> None:
    found = evaluate("looks[by=age]@3")
    assert seen["by"] == "age"
    assert "by = age" in found.definition("looks[by=age]@3")
    assert found.results["looks[by=age]@3"].numbers == {"by": "age"}
    assert evaluate("looks@3").results["looks@3"].fingerprint != (
        found.results["looks[by=age]@3"].fingerprint
    )
    profile = from_toml(
        "mine", 'versions = ["1"]\n[metrics.variety]\nmetric = "category_diversity"\nby = "genre"\n'
        '[variants]\nof = "by"\n'
    )  # fmt: skip
    asked = [profile.resolve(name) for name in rt.metrics.names.parse_all("variety@3")]
    assert asked[0].numbers == {"by": "genre"}
    with pytest.raises(UnknownName, match="has no switch or number 'bye'"):
        evaluate("looks[bye=age]@3")
    with pytest.raises(BadArgument, match="is 'two'"):
        evaluate("calibration_kl[alpha=two]@3")


def test_attributes_come_from_files(tmp_path: Path) -> None:
    flat = ITEMS.select("item", "category", "price")
    flat.write_csv(tmp_path / "items.csv")
    pl.DataFrame(USERS).write_csv(tmp_path / "users.csv")
    names = ["category_diversity@3", "mean_attribute@3", "group_gap[by=sex,of=mrr]"]
    evaluation = evaluate(names, items=tmp_path / "items.csv", users=tmp_path / "users.csv")
    assert evaluation.values() == evaluate(names).values()
    assert len(evaluation.values()) == 3


def test_lists_keyed_by_session_have_the_attributes_of_their_users() -> None:
    rows = {"session": [1, 2, 3], "user": ["ann", "bob", "ann"], "item": list("abc")}
    truth = {"session": [1, 2, 3], "user": ["ann", "bob", "ann"], "item": list("abd")}
    found = rt.evaluate(rows, truth, "group_gap[by=sex,of=hit]@1", users=USERS, list_key="session")
    assert found["group_gap[by=sex,of=hit]@1"] == 0.5  # f: 1 and 0, m: 1


def test_a_missing_input_of_one_metric_does_not_stop_another() -> None:
    rows = {"session": ["s1", "s2"], "item": ["a", "b"]}
    train = {"user": [1, 2], "item": ["a", "b"]}  # the users of the sessions are unknown
    names = ["distinct_items@1", "calibration_kl@1"]
    found = rt.evaluate(rows, rows, names, list_key="session", train=train, items=ITEMS)
    assert found["distinct_items@1"] == 2
    assert "user ids are text" in str(found.failures["calibration_kl@1"])


def test_percent_does_not_scale_a_price() -> None:
    lists = pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "score": [2.0, 1.0]})
    items = pl.DataFrame({"item": ["a", "b"], "price": [3.0, 5.0]})
    names = ["mean_attribute@2", "hit_value@2", "mean_score@2", "recall@2"]
    found = rt.evaluate(lists, {1: ["a"]}, names, {"scale": "percent"}, items=items)
    assert list(found.values().values()) == [4.0, 3.0, 1.5, 100.0]

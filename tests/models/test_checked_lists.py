"""The lists of any model are checked, and your own models can be named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.data.log import open_log
from rectitude.errors import (
    BadExtension,
    BadIds,
    BadLists,
    BadScores,
    BadTable,
    DuplicateItems,
    UnknownName,
)
from rectitude.models import Served, fit_model, model_of, predict_split
from rectitude.models.predict import Checked, check_recommendations
from rectitude.splits.split import Split

TRAIN = {"user": ["a", "a", "b", "b", "c"], "item": [1, 2, 2, 3, 4]}
TRUTH = {"user": ["a", "b", "d"], "item": [3, 4, 1]}


def make_split() -> Split:
    return Split(open_log(pl.DataFrame(TRAIN)), open_log(pl.DataFrame(TRUTH)))


def check(table: object, k: int = 3, **more: Any) -> Checked:
    users, items = pl.Series("user", ["a", "b"]), pl.Series("item", [1, 2, 3, 4, 5])
    return check_recommendations("mine", table, users, k, items=items, **more)


def rows(*triples: tuple[object, object, float | None]) -> pl.DataFrame:
    return pl.DataFrame(triples, schema=["user", "item", "score"], orient="row")


def test_lists_come_back_in_order_with_ranks_and_scores() -> None:
    checked = check(rows(("b", 4, 0.5), ("a", 3, 0.1), ("b", 2, 0.7), ("a", 1, 0.1)))
    assert checked.table.rows() == [
        ("a", 1, 0.1, 1), ("a", 3, 0.1, 2), ("b", 2, 0.7, 1), ("b", 4, 0.5, 2)
    ]  # fmt: skip
    assert checked.ledger["lists_short"] == 2
    assert checked.ledger["lists_empty"] == 0


def test_a_dict_of_lists_keeps_its_order() -> None:
    checked = check({"b": [4, 1], "a": [3]})
    assert checked.table.rows() == [("a", 3, -1.0, 1), ("b", 4, -1.0, 1), ("b", 1, -2.0, 2)]
    assert "made from ranks" in str(checked.ledger)


def test_ranks_count_more_than_scores_that_contradict_them() -> None:
    table = rows(("a", 1, 0.2), ("a", 2, 0.9)).with_columns(rank=pl.Series([1, 2]))
    checked = check(table)
    assert checked.table["item"].to_list() == [1, 2]
    assert checked.ledger["scores_against_ranks"] == 1


def test_no_list_at_all_is_counted() -> None:
    checked = check(rows(("a", 1, 1.0)).clear())
    assert checked.table.is_empty()
    assert checked.ledger["lists_empty"] == 2


@pytest.mark.parametrize(
    ("table", "kind", "message"),
    [
        (rows(("a", 1, 1.0), ("a", 1, 0.5)), DuplicateItems, "repeat an item of the same list"),
        (rows(("a", 1, float("nan"))), BadScores, "'mine'"),
        (rows(("a", 1, float("inf"))), BadScores, "1 of 1 rows have no finite score"),
        (rows(("a", 1, 1.0), ("a", 2, None)), BadScores, "1 of 2 rows"),
        (rows(*[("a", i, 1.0) for i in range(1, 5)]), BadLists, "1 of 4 rows exceed the 3"),
        (rows(("z", 1, 1.0)), BadLists, "users that were not requested .first: user 'z'"),
        (rows(("a", "1", 1.0)), BadIds, "'mine'"),
        (rows(("a", 77, 1.0)), BadLists, "recommended items are unknown"),
        (None, BadTable, "'mine'.*predictions is None"),
        (pl.DataFrame({"item": [1, 2], "score": [0.5, 0.3]}), BadTable, "'mine'"),
        (
            rows(("a", 1, 1.0), ("a", 2, 0.5)).with_columns(rank=pl.Series([1, 1])),
            BadLists,
            "share their rank",
        ),
    ],
)
def test_lists_that_cannot_be_right_are_refused(
    table: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        check(table)


def test_what_costs_ranks_is_counted() -> None:
    seen = pl.DataFrame({"user": ["a"], "item": [1]})
    checked = check(rows(("a", 1, 1.0), ("a", 77, 0.5)), seen=seen)
    assert checked.ledger["items_not_known"] == 1
    assert checked.ledger["items_seen"] == 1
    assert {entry.name for entry in checked.ledger.warnings()} >= {"items_seen", "items_not_known"}


def test_items_that_are_not_candidates_are_refused() -> None:
    offered = pl.DataFrame({"user": ["a", "b"], "item": [1, 2]})
    check(rows(("a", 1, 1.0), ("b", 2, 1.0)), candidates=offered)
    with pytest.raises(BadLists, match=r"not candidates of their users .first: user 'b', item 1"):
        check(rows(("a", 1, 1.0), ("b", 1, 1.0)), candidates=offered)


OWN = """
import polars as pl

class Constant:
    unknown_users = "like all others"
    def __init__(self, item=4):
        self.item = item
    def fit(self, train):
        self.users = train.frame["user"]
    def recommend(self, users, k, *, candidates=None, seen=None):
        return pl.DataFrame({"user": users, "item": [self.item] * len(users), "score": 1.0})

class Silent(Constant):
    def recommend(self, users, k, *, candidates=None, seen=None):
        return None

class Broken:
    def __init__(self):
        raise RuntimeError("no weights")

class Lacking:
    def fit(self, train): pass
    def recommend(self, users, k): pass

class Bare:
    def recommend(self, users, k, *, candidates=None, seen=None): pass

class Odd(Bare):
    def fit(self, train, more): pass

made = Constant(3)
def build(item): return Constant(item)
number = 7
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_models", raising=False)
    return "own_models"


@pytest.mark.parametrize(
    ("name", "given", "item"),
    [("Constant", {}, 4), ("Constant", {"item": 2}, 2), ("made", {}, 3), ("build", {"item": 1}, 1)],
)
def test_an_object_by_import_path_is_a_model(
    own: str, name: str, given: dict[str, int], item: int
) -> None:
    split = make_split()
    model = fit_model(model_of(f"{own}:{name}", **given), split.train)
    predicted = predict_split(model, split, 2)
    assert set(predicted.table["item"]) == {item}
    assert predicted.ledger["users_not_in_train"] == 1
    assert rt.evaluate(predicted.table, split.truth, "hit@1").failures == {}
    if name == "Constant":
        assert "like all others" in str(predicted.ledger)


def test_a_model_that_returns_no_table_is_named(own: str) -> None:
    split = make_split()
    model = fit_model(model_of(f"{own}:Silent"), split.train)
    with pytest.raises(BadTable, match="model 'Silent' did not recommend lists"):
        predict_split(model, split, 2)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("own_models:Broken", BadExtension, "raised RuntimeError: no weights"),
        ("own_models:Lacking", BadExtension, r"Lacking\.recommend\(\) must accept candidates= and"),
        ("own_models:Odd", BadExtension, r"as fit\(train\): missing a required argument: 'more'"),
        ("own_models:Bare", BadExtension, r"Bare has no method fit\(\)"),
        ("own_models:number", BadExtension, "is of type int"),
        ("own_models:Constnat", UnknownName, "did you mean 'Constant'"),
        ("no_such_module:Thing", BadExtension, "importing 'no_such_module' raised"),
    ],
)
def test_what_is_not_a_model_is_refused(
    own: str, path: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        model_of(path)


def test_external_code_can_be_switched_off(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadExtension, match="plugins='off' forbids"):
        model_of(f"{own}:Constant", plugins="off")
    assert "own_models" not in sys.modules
    monkeypatch.setenv("RECTITUDE_PLUGINS", "off")
    with pytest.raises(BadExtension, match="RECTITUDE_PLUGINS=off forbids"):
        model_of(f"{own}:Constant")
    assert "own_models" not in sys.modules


def test_predictions_of_a_file_are_served_without_seen_items(tmp_path: Path) -> None:
    lists = rows(("a", 4, 0.9), ("a", 1, 0.8), ("a", 3, 0.7), ("b", 1, 0.6), ("z", 1, 0.5))
    lists.write_csv(tmp_path / "lists.csv")
    split = make_split()
    model = fit_model(model_of("predictions", source=tmp_path / "lists.csv"), split.train)
    predicted = predict_split(model, split, 2)
    assert predicted.table.rows() == [("a", 4, 0.9, 1), ("a", 3, 0.7, 2), ("b", 1, 0.6, 1)]
    assert predicted.ledger["users_not_served"] == 1
    assert predicted.ledger["rows_not_served"] == 1
    kept = predict_split(model, split, 2, seen="kept")
    assert kept.table.filter(user="a")["item"].to_list() == [4, 1]


def test_served_lists_are_in_order_of_rank_and_keep_to_candidates() -> None:
    lists = pl.DataFrame({"user": ["a"] * 3, "item": [3, 4, 1], "rank": [2, 1, 3]})
    split = make_split()
    offered = pl.DataFrame({"user": ["a", "a", "b"], "item": [1, 3, 3]})
    model = Served(lists).fit(split.train)
    predicted = predict_split(model, split, 5, candidates=offered, seen="kept")
    assert predicted.table.select("item", "rank").rows() == [(3, 1), (1, 2)]


def test_sampled_candidates_without_the_truth_are_ranked_with_it() -> None:
    pairs = [(user, (user * 7 + 3 * n) % 40) for user in range(20) for n in range(6)]
    frame = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    split = rt.split(frame, "random_ratio", ratio=0.2, level="user")
    assert isinstance(split, Split)
    candidates = sample_negatives(split, 5, positives="left_out", seed=1)
    model = fit_model(model_of("popularity"), split.train)
    predicted = predict_split(model, split, 100, candidates=candidates)
    truth = split.truth.frame.select("user", "item")
    known = truth.join(split.train.frame.select("item").unique(), on="item")
    assert known.join(predicted.table, on=["user", "item"], how="anti").is_empty()
    rt.evaluate(predicted.table, split.truth, "ndcg@5", candidates=candidates)

"""The same predictions under several conventions, in one call."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.aggregate.evaluations import Evaluations
from rectitude.errors import BadArgument, BadName, DuplicateItems, UnknownName, UnreadableFile
from rectitude.evaluation import conventions

LISTS = {
    "user": ["ann", "ann", "ann", "bob", "bob"],
    "item": ["a", "b", "c", "c", "a"],
    "score": [3.0, 2.0, 1.0, 2.0, 1.0],
}
TRUTH = {"user": ["ann", "ann", "bob", "cid"], "item": ["b", "d", "c", "a"], "grade": [3, 1, 2, 1]}
NAMES = ["recbole", "elliot", "lenskit-2026"]
METRICS = ["ndcg@10", "recall@2", "mrr"]


def several(metrics: Any = METRICS, convention: Any = NAMES, **inputs: Any) -> Evaluations:
    return rt.evaluate(LISTS, TRUTH, metrics, convention=convention, **inputs)


def test_each_convention_gives_what_it_gives_alone() -> None:
    evaluations = several(intervals=True)
    assert list(evaluations) == NAMES
    for name in NAMES:
        alone = rt.evaluate(LISTS, TRUTH, METRICS, convention=name, intervals=True)
        assert evaluations[name].as_dict() == alone.as_dict()
        assert evaluations[name].per_list().equals(alone.per_list())


def test_every_profile_gives_what_it_gives_alone_on_scores() -> None:
    chance = np.random.default_rng(1)
    scores = rt.Scores(chance.random((30, 20)).round(1), items=range(20))
    truth = {"user": np.arange(90) % 30, "item": chance.integers(0, 22, 90)}
    truth = pl.DataFrame(truth).unique(maintain_order=True)
    train = {"user": [0, 1, 2, 2], "item": [3, 4, 5, 6]}
    profiles = ["default", "elliot", "recbole", "daisyrec", "recpack", "warprec", "replay-torch"]
    evaluations = rt.evaluate(scores, truth, "ndcg@5", profiles, train=train)
    for name in profiles:
        alone = rt.evaluate(scores, truth, "ndcg@5", name, train=train)
        assert evaluations[name].as_dict() == alone.as_dict(), name


def test_lists_are_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    original = conventions.open_for

    def count(*arguments: Any) -> Any:
        opened.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(conventions, "open_for", count)
    several()
    assert len(opened) == 1


def test_printing_shows_the_conventions_side_by_side() -> None:
    evaluations = several()
    lines = str(evaluations).splitlines()
    assert lines[0].split() == [
        "|",
        "metric",
        *" ".join(f"| {name}" for name in NAMES).split(),
        "|",
    ]
    assert lines[2].startswith("| ndcg@10 ")
    assert repr(evaluations) == str(evaluations)
    assert str(evaluations).count("1 of 3 users in the truth have no predictions") == 1
    assert "elliot:\n  2 lists count" in str(evaluations)


def test_the_table_has_a_column_for_each_convention() -> None:
    table = several().table()
    assert table.columns == ["metric", *NAMES]
    assert table["metric"].to_list() == METRICS
    assert table["elliot"].to_list() == [several()["elliot"][name] for name in METRICS]


def test_a_mapping_of_evaluations() -> None:
    evaluations = several()
    assert len(evaluations) == 3
    assert "elliot" in evaluations
    assert [evaluation["mrr"] for evaluation in evaluations.values()] == [
        evaluations[name]["mrr"] for name in NAMES
    ]
    with pytest.raises(UnknownName, match="did you mean 'elliot'"):
        evaluations["eliot"]


def test_own_conventions_are_named_by_their_switches() -> None:
    evaluations = several("mrr", [None, {"ties": "optimistic"}, ("profile", "elliot")[1]])
    assert list(evaluations) == ["default", "default, ties=optimistic", "elliot"]


def test_a_metric_that_one_convention_lacks_shows_why() -> None:
    evaluations = several(["hits@2", "ndcg@2"], ("elliot", "ranx"))
    assert list(evaluations["elliot"]) == ["ndcg@2"]
    assert isinstance(evaluations["elliot"].failures["hits@2"], BadName)
    assert evaluations["ranx"].failures == {}
    assert evaluations.table()["metric"].to_list() == ["hits@2", "ndcg@2"]
    assert evaluations.table()["elliot"][0] is None
    assert "! hits@2 failed (elliot): " in str(evaluations)


def test_conventions_may_each_lack_another_metric() -> None:
    evaluations = several(["hits@2", "set_precision"], ["ranx", "ir_measures"])
    assert [list(evaluation) for evaluation in evaluations.values()] == [
        ["hits@2"],
        ["set_precision"],
    ]


def test_lists_that_one_convention_refuses_show_why() -> None:
    lists = {"ann": ["a", "a", "b"]}
    evaluations = rt.evaluate(lists, {"ann": ["b"]}, "mrr", ["default", {"duplicates": "first"}])
    assert isinstance(evaluations["default"].failures["mrr"], DuplicateItems)
    assert evaluations["default, duplicates=first"]["mrr"] == 0.5
    with pytest.raises(DuplicateItems):
        rt.evaluate(lists, {"ann": ["b"]}, "mrr", ["default", {"ties": "optimistic"}])


def test_an_error_that_all_conventions_share_is_raised() -> None:
    with pytest.raises(UnknownName, match="has no metric 'ndgc'"):
        several(["ndgc@10", "mrr"])
    with pytest.raises(UnknownName, match="has no profile 'eliot'"):
        several("mrr", ["recbole", "eliot"])
    with pytest.raises(UnreadableFile, match="does not exist"):
        rt.evaluate("no.csv", TRUTH, "mrr", ["recbole", "elliot"])


def test_conventions_must_differ() -> None:
    with pytest.raises(BadArgument, match="2 of the 2 conventions are called 'elliot'"):
        several("mrr", ["elliot", "elliot"])
    with pytest.raises(BadArgument, match="convention is an empty list"):
        several("mrr", [])


def test_elsewhere_a_list_of_conventions_is_refused() -> None:
    with pytest.raises(BadArgument, match="only evaluate takes several conventions"):
        rt.compare({"one": LISTS, "two": LISTS}, TRUTH, "mrr", convention=["recbole", "elliot"])


def test_slices_come_with_every_convention() -> None:
    users = {"user": ["ann", "bob", "cid"], "town": ["x", "y", "x"]}
    evaluations = several("mrr", ["recbole", "elliot"], users=users, slices="town")
    assert all(evaluation.slices is not None for evaluation in evaluations.values())
    assert "recbole:\n" in evaluations.to_markdown()


def test_other_forms_hold_the_same_numbers() -> None:
    evaluations = several("mrr")
    value = evaluations["elliot"]["mrr"]
    assert f"elliot,mrr,{value}," in evaluations.to_csv()
    stored = json.loads(evaluations.to_json())
    assert stored["format"] == "rectitude.evaluations"
    assert stored["evaluations"]["elliot"]["results"]["mrr"]["value"] == value
    assert f"{value:.4f}" in evaluations.to_markdown()
    assert r"\toprule" in evaluations.to_latex()
    assert "<table>" in evaluations._repr_html_()


def test_a_name_that_means_something_else_under_each_convention_has_one_row() -> None:
    logits = rt.Logits(np.random.default_rng(1).random((20, 5)))
    evaluations = rt.evaluate(logits, np.arange(20) % 5, "F1", ["next-location", "default"])
    table = evaluations.table()
    assert table["metric"].to_list() == ["F1"]
    assert table["next-location"][0] == evaluations["next-location"]["weighted_f1"]
    assert table["default"][0] == evaluations["default"]["f1"]
    assert "failed" not in str(evaluations)


def test_a_name_that_one_convention_does_not_have_is_one_row_too() -> None:
    evaluations = several("Coverage@2", ["daisyrec", "cornac"])
    assert evaluations.table()["metric"].to_list() == ["Coverage@2"]

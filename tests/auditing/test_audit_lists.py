"""Audits of predictions: missing, short or faulty lists, and invalid scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.auditing import Audit
from rectitude.errors import BadArgument

TRAIN = {"ann": ["a", "b"], "bob": ["b", "c"], "cid": ["a", "c"]}
TRUTH = {"ann": ["c"], "bob": ["a"], "cid": ["b"]}


def audited(predictions: Any, metrics: Any = "recall@2", **more: Any) -> Audit:
    return rt.audit(**{"train": TRAIN, "truth": TRUTH, **more}, predictions=predictions,
                    metrics=metrics)  # fmt: skip


def scored(**lists: dict[str, float]) -> pl.DataFrame:
    rows = [(user, item, score) for user, own in lists.items() for item, score in own.items()]
    return pl.DataFrame(rows, ["user", "item", "score"], orient="row")


def test_missing_lists_count_by_their_share() -> None:
    found = audited({"ann": ["c", "d"], "bob": ["a", "d"]})["missing_lists"]
    assert (found.severity, found.count, found.of) == ("serious", 1, 3)
    assert found.effect["recall@2"] == (pytest.approx(2 / 3), 1.0)
    many = {f"u{n}": ["x"] for n in range(100)}
    lists = {user: ["x", "y"] for user in list(many)[1:]}
    few = audited(lists, truth=many, train=many)["missing_lists"]
    assert (few.severity, few.count) == ("notice", 1)


def test_empty_lists_differ_from_missing_ones() -> None:
    lists = rt.Lists({"ann": ["c", "d"]}, users=["ann", "bob"])
    found = audited(lists)
    assert (found["empty_lists"].count, found["empty_lists"].of) == (1, 2)
    assert found["missing_lists"].example == "user 'cid'"
    assert found["empty_lists"].effect["recall@2"] == (pytest.approx(1 / 3), 0.5)


def test_short_lists_go_by_the_deepest_cutoff() -> None:
    lists = {"ann": ["c", "d", "e"], "bob": ["a"], "cid": ["d", "e", "b"]}
    assert audited(lists, ["recall@1", "recall@3"])["short_lists"].count == 1
    assert audited(lists, "recall@1")["short_lists"].severity == "fine"


def test_an_item_twice_in_a_list_is_measured_although_an_evaluation_refuses_it() -> None:
    lists = {"ann": ["c", "c"], "bob": ["d", "a"], "cid": ["d", "d", "e"]}
    found = audited(lists)["duplicate_items"]
    assert (found.severity, found.count, found.of) == ("serious", 2, 7)
    counted = rt.evaluate(lists, TRUTH, "recall@2", {"duplicates": "counted"})["recall@2"]
    first = rt.evaluate(lists, TRUTH, "recall@2", {"duplicates": "first"})["recall@2"]
    assert found.effect["recall@2"] == (counted, first)
    assert counted != first


def test_seen_items_are_removed_to_see_what_they_cost() -> None:
    lists = {"ann": ["a", "b", "c"], "bob": ["d", "a"], "cid": ["b", "d"]}
    found = audited(lists)["seen_items"]
    assert (found.severity, found.count, found.example) == ("serious", 2, "user 'ann', item 'a'")
    assert found.effect["recall@2"] == (pytest.approx(2 / 3), 1.0)


def test_items_outside_the_catalogue_or_train_are_found() -> None:
    lists = {"ann": ["zz", "q", "c"], "bob": ["a", "d"], "cid": ["b", "d"]}
    found = audited(lists, items=["a", "b", "c", "d", "q"])
    outside = found["items_outside_catalogue"]
    assert (outside.severity, outside.count, outside.of) == ("serious", 1, 7)
    assert outside.effect["recall@2"] == (pytest.approx(2 / 3), 1.0)
    assert (found["items_outside_train"].severity, found["items_outside_train"].count) == (
        "notice", 4,
    )  # fmt: skip


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
def test_invalid_scores_are_reported_not_raised(bad: float | None) -> None:
    lists = scored(ann={"c": 2.0, "d": 1.0}, bob={"a": 2.0, "d": 1.0}, cid={"d": 3.0, "b": 2.0})
    broken = lists.with_columns(
        score=pl.when(pl.col("item") == "b").then(pl.lit(bad, pl.Float64)).otherwise("score")
    )
    found = audited(broken)["bad_scores"]
    assert (found.severity, found.count, found.example) == ("serious", 1, "user 'cid', item 'b'")
    assert found.effect["recall@2"] == (None, pytest.approx(2 / 3))
    assert audited(broken).findings[0].name == "bad_scores", "nothing is worse than no value"


def test_bad_scores_in_addition_to_ranks_are_a_notice() -> None:
    lists = pl.DataFrame({"user": ["ann"] * 2, "item": ["c", "d"], "rank": [1, 2],
                          "score": [float("nan"), 1.0]})  # fmt: skip
    found = audited(lists)
    assert found["bad_scores"].severity == "notice"
    assert found["ties"].severity == "fine"
    assert found.values["recall@2"] == pytest.approx(1 / 3)


def test_lists_with_one_score_for_all_items_are_found() -> None:
    lists = scored(ann={"c": 1.0, "d": 1.0}, bob={"a": 2.0, "d": 1.0}, cid={"b": 5.0})
    found = audited(lists)["constant_scores"]
    assert (found.severity, found.count, found.of) == ("serious", 1, 3)


def test_ties_across_a_cutoff_come_with_the_worst_and_best_value() -> None:
    lists = scored(
        ann={"c": 1.0, "d": 1.0, "e": 0.5}, bob={"a": 2.0, "d": 1.0}, cid={"x": 3.0, "d": 2.0}
    )
    found = audited(lists, "recall@1")["ties"]
    assert (found.severity, found.count, found.of) == ("serious", 1, 3)
    assert "1 of them on both sides of a cutoff" in found.about
    assert found.bounds["recall@1"] == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    inside = audited(lists, "recall@2")["ties"]
    assert (inside.severity, inside.count) == ("notice", 1)
    assert "0 of them" in inside.about
    assert inside.bounds == {}


def test_lists_in_given_order_have_no_ties() -> None:
    found = audited({"ann": ["c", "d"]})
    assert "scores" in found.skipped["ties"]


SCORES = np.array([[5.0, 4.0, 3.0, 2.0], [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 9.0, 4.0]])
USERS, ITEMS = ["ann", "bob", "cid"], ["a", "b", "c", "d"]


def dense(array: Any = SCORES, **more: Any) -> rt.Scores:
    return rt.Scores(array, users=USERS, items=ITEMS, **more)


def test_dense_scores_have_the_values_of_evaluate() -> None:
    found = audited(dense(), ["recall@1", "mrr"])
    expected = rt.evaluate(dense(), TRUTH, ["recall@1", "mrr"], train=TRAIN)
    assert found.values == expected.values()
    assert found.sizes["predictions"] == 12


def test_dense_scores_are_checked_for_equal_and_broken_rows() -> None:
    broken = SCORES.copy()
    broken[2, 3] = np.nan
    found = audited(dense(broken), "recall@1")
    bad, same = found["bad_scores"], found["constant_scores"]
    assert (bad.severity, bad.count, bad.of) == ("serious", 1, 12)
    assert bad.example == "user 'cid', item 'd'"
    assert bad.effect["recall@1"][0] is None
    assert (same.count, same.of, same.example) == (1, 3, "user 'bob'")
    assert found["ties"].count == 1
    assert found["ties"].bounds["recall@1"] == (pytest.approx(2 / 3), 1.0)


def test_an_infinite_dense_score_is_bad_but_has_a_rank() -> None:
    broken = SCORES.copy()
    broken[2, 3] = np.inf
    found = audited(dense(broken), "recall@1")
    assert (found["bad_scores"].count, found["bad_scores"].effect) == (1, {})
    assert found.values == rt.evaluate(dense(broken), TRUTH, "recall@1", train=TRAIN).values()


def test_dense_scores_show_seen_items_only_if_they_are_kept() -> None:
    assert audited(dense(), "recall@2")["seen_items"].severity == "fine"
    found = audited(dense(), "recall@2", convention={"seen": "kept"})["seen_items"]
    assert found.severity == "serious"
    masked = rt.evaluate(dense(), TRUTH, "recall@2", train=TRAIN)["recall@2"]
    kept = rt.evaluate(dense(), TRUTH, "recall@2", {"seen": "kept"}, train=TRAIN)["recall@2"]
    assert found.effect["recall@2"] == (kept, masked)


def test_items_without_a_score_are_reported_not_raised() -> None:
    found = audited(dense(), "recall@1", train={**TRAIN, "ann": ["a", "new"]},
                    truth={**TRUTH, "bob": ["newer"]})  # fmt: skip
    assert (found["unscored_items"].count, found["unscored_items"].example) == (
        1, "user 'bob', item 'newer'",
    )  # fmt: skip
    assert found["unscored_items"].effect["recall@1"][0] is not None


def test_padding_is_not_an_item() -> None:
    scores = np.concatenate((np.full((3, 1), np.nan), SCORES), axis=1)
    padded = rt.Scores(scores, users=USERS, items=["pad", *ITEMS], padding="pad")
    found = audited(padded, "recall@1")
    assert found["bad_scores"].severity == "fine"
    assert found.values == audited(dense(), "recall@1").values


def test_sparse_parts_have_the_rows_and_columns_of_dense_scores() -> None:
    train = csr_matrix(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]]))
    truth = csr_matrix(np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]]))
    one = audited(dense(), train=train, truth=truth)
    assert one.values == audited(dense()).values


def test_embeddings_are_audited_like_their_products() -> None:
    left, right = np.eye(3), SCORES.T[:, :3]
    found = audited(rt.Embeddings(left, right, users=USERS, items=ITEMS), "recall@1")
    assert found.values == audited(dense(), "recall@1").values


def test_vectors_that_are_not_finite_are_reported_not_raised() -> None:
    left, right = np.eye(3), SCORES.T[:, :3].copy()
    left[1, 1] = np.nan
    found = audited(rt.Embeddings(left, right, users=USERS, items=ITEMS), "recall@1")["bad_scores"]
    assert (found.count, found.of, found.example) == (4, 12, "user 'bob', item 'a'")


def test_missing_scores_are_not_ties() -> None:
    lists = scored(ann={"c": 2.0, "d": float("nan"), "e": float("nan")}, bob={"a": 1.0})
    assert audited(lists)["ties"].severity == "fine"


def test_a_metric_without_a_value_is_reported() -> None:
    found = audited({"zoe": ["a", "b"]})
    assert found.values == {}
    assert "no user of the predictions has truth" in found.failures["recall@2"]
    assert (found["missing_lists"].count, found.exit_code) == (3, 1)


def test_the_herb_data_have_their_validation_rows_inside_train(real_data: Path) -> None:
    herb = real_data / "herb"
    found = rt.audit(herb / "train.txt", herb / "test.txt", validation=herb / "valid_id.txt",
                     metrics="recall@20")  # fmt: skip
    inside = found["validation_in_train"]
    assert (inside.severity, inside.count, inside.of) == ("serious", 8427, 8427)
    assert (inside.effect, inside.lists and inside.lists[1]) == ({}, 0)
    whole = rt.audit(herb, metrics="recall@20")
    assert whole.left_out == ("herbPair-40.txt", "symPair-5.txt", "test_id.txt", "train_id.txt")
    assert (whole.exit_code, whole.findings) == (1, found.findings)
    clean = rt.audit(herb / "train_id.txt", herb / "test.txt", validation=herb / "valid_id.txt",
                     metrics="recall@20")  # fmt: skip
    assert clean["validation_in_train"].severity == "notice"


def test_in_files_with_two_sets_the_first_set_is_the_user(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("1 2\t5 6\n3\t7\n")
    (tmp_path / "test.txt").write_text("4 8\t5\n2 1\t6 7\n")
    found = rt.audit(tmp_path / "train.txt", tmp_path / "test.txt", metrics="recall@1")
    assert (found["truth_in_train"].count, found["truth_in_train"].example) == (
        1, "user '1 2', item 6",
    )  # fmt: skip
    named = rt.Interactions(tmp_path / "test.txt", format="sets")
    again = rt.audit(tmp_path / "train.txt", named, metrics="recall@1")
    assert again["truth_in_train"] == found["truth_in_train"]
    with pytest.raises(BadArgument, match="by line"):
        rt.audit(tmp_path / "train.txt", tmp_path / "test.txt", {0: [5]})

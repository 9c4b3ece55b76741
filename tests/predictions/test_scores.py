"""`Scores`: rows of scores with their ids, masks, candidates and recorded orders."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import rectitude as rt
from rectitude.errors import BadArgument, DuplicateTruth

SCORES = np.array([[0.1, 0.4, 0.3, 0.2], [4.0, 3.0, 2.0, 1.0], [5.0, 5.0, 5.0, 5.0]])
TRUTH = {0: [3], 1: [1, 9], 7: [0]}
NUMBERS: dict[str, Any] = {"users": range(3), "items": range(4)}
# Ranks: row 0 finds item 3 at 3 of 4, row 1 item 1 at 2; item 9 has no column, user 7 no row.


def ranks(predictions: Any, truth: Any, convention: Any = None, **more: Any) -> dict[Any, float]:
    """The rank of the first relevant item of every list that counts."""
    evaluation = rt.evaluate(predictions, truth, "mrr", convention, **more)
    frame = evaluation.per_list().drop_nulls("mrr")
    return {
        key: round(1 / v, 9) if v else np.inf
        for key, v in frame.select(key_of(frame), "mrr").rows()
    }


def key_of(frame: pl.DataFrame) -> str:
    return "list" if "list" in frame.columns else "user"


def test_rows_and_columns_are_numbers_unless_they_have_ids() -> None:
    assert ranks(rt.Scores(SCORES), {0: [3], 1: [1]}) == {0: 3, 1: 2}
    named = rt.Scores(SCORES, users=["ann", "bob", "cid"], items=["d", "c", "b", "a"])
    assert ranks(named, {"ann": ["a"], "bob": ["b"]}) == {"ann": 3, "bob": 3}


def test_recall_and_the_ledger_count_unknown_items() -> None:
    evaluation = rt.evaluate(
        rt.Scores(SCORES, **NUMBERS), TRUTH, ["recall", "auc"], {"undefined": "skip"}
    )
    assert evaluation["recall"] == (1 / 1 + 1 / 2 + 0) / 3
    # Row 0: one of three others ranks below; row 1: two of three; user 7 has no pair.
    assert evaluation["auc"] == pytest.approx((1 / 3 + 2 / 3) / 2, rel=1e-15)
    ledger = evaluation.ledger
    assert (ledger["items_unknown"], ledger["users_without_list"]) == (1, 1)
    assert ledger["lists_not_in_truth"] == 1
    dropped = rt.evaluate(rt.Scores(SCORES, **NUMBERS), TRUTH, "recall", {"unknown_items": "drop"})
    assert dropped["recall"] == (1 + 1 + 0) / 3


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2, 3], np.array([1, 2, 3]), pd.Series([1, 2, 3]), pl.Series([1, 2, 3]), (1, 2, 3),
        range(1, 4),
    ],
    ids=lambda ids: type(ids).__module__ + type(ids).__name__,
)  # fmt: skip
def test_ids_may_be_any_column(ids: Any) -> None:
    assert ranks(rt.Scores(SCORES, users=ids), {1: [3], 2: [0]}) == {1: 3, 2: 1}


@pytest.mark.parametrize("kind", ["table", "sparse", "coo", "pairs", "pandas"])
def test_seen_items_are_removed_put_last_or_kept(kind: str) -> None:
    pairs = [(0, 1), (0, 2), (1, 1), (1, 0)]
    table = pl.DataFrame(pairs, ["user", "item"], orient="row")
    matrix = sp.coo_array((np.ones(4), tuple(zip(*pairs, strict=True))), shape=SCORES.shape)
    given: dict[str, Any] = {
        "table": table, "sparse": matrix.tocsr(), "coo": matrix,
        "pairs": {0: [1, 2], 1: [0, 1]}, "pandas": table.to_pandas(),
    }  # fmt: skip
    train = given[kind]
    known = {0: [3], 1: [1], 2: [0]}
    # Without items 1 and 2, item 3 is first in row 0; in row 1 the relevant item itself is seen.
    assert ranks(rt.Scores(SCORES), known, train=train) == {0: 1, 1: np.inf, 2: 4}
    last = {"seen": "last"}
    assert ranks(rt.Scores(SCORES), known, last, train=train) == {0: 1, 1: 4, 2: 4}
    best = {"seen": "last", "ties": "optimistic"}
    assert ranks(rt.Scores(SCORES), known, best, train=train) == {0: 1, 1: 3, 2: 1}
    assert ranks(rt.Scores(SCORES), known, {"seen": "kept"}, train=train) == {0: 3, 1: 2, 2: 4}
    assert rt.evaluate(rt.Scores(SCORES), known, "mrr", train=train).ledger["scores_seen"] == 4


def test_sparse_masks_may_be_unsorted_and_are_not_changed() -> None:
    # Row 0: columns 2, 1, 2 again, and an explicit zero at 3; row 2: nothing.
    parts = (np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([2, 1, 2, 3, 0]), np.array([0, 4, 5, 5]))
    train = sp.csr_array(parts, shape=SCORES.shape)
    before = [part.tobytes() for part in (train.data, train.indices, train.indptr)]
    assert ranks(rt.Scores(SCORES), {0: [3], 1: [1]}, train=train) == {0: 1, 1: 1}
    assert [part.tobytes() for part in (train.data, train.indices, train.indptr)] == before


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_a_sparse_truth_is_read_by_position_with_its_grades(form: Any) -> None:
    named = rt.Scores(SCORES, users=["x", "y", "z"], items=["a", "b", "c", "d"])
    truth = form(np.array([[0, 0, 2, 1], [0, 3, 0, 0], [0, 0, 0, 0]]))
    assert ranks(named, truth) == {"x": 2, "y": 2}
    assert ranks(named, truth, {"relevant_from": 3}) == {"y": 2}


def test_a_sparse_truth_that_names_a_cell_twice_is_refused() -> None:
    truth = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2, 2, 2])), shape=SCORES.shape)
    with pytest.raises(DuplicateTruth, match=r"1 of 2 truth rows .*list 0, item 1"):
        rt.evaluate(rt.Scores(SCORES), truth, "mrr")


def test_only_candidates_are_ranked() -> None:
    offered = {0: [3, 2], 1: [3, 2], 2: [0, 1]}
    known = {0: [3], 1: [1], 2: [0]}
    assert ranks(rt.Scores(SCORES), known, candidates=offered) == {0: 2, 1: np.inf, 2: 2}
    with_truth = {"candidates": "with_truth"}
    assert ranks(rt.Scores(SCORES), known, with_truth, candidates=offered) == {0: 2, 1: 1, 2: 2}
    seen = {0: [2], 1: [1]}
    assert ranks(rt.Scores(SCORES), known, with_truth, candidates=offered, train=seen)[0] == 1
    assert ranks(rt.Scores(SCORES), known, with_truth, candidates=offered, train=seen)[1] == np.inf


def test_the_area_under_the_curve_is_that_among_the_candidates() -> None:
    evaluation = rt.evaluate(
        rt.Scores(SCORES), {0: [2], 1: [1, 3]}, ["auc", "gauc", "mean_rank"],
        candidates={0: [1, 2, 3], 1: [0, 1, 2, 3]},
    )  # fmt: skip
    # Row 0: 2 beats 3, not 1. Row 1 (0 above 1 above 2 above 3): 1 beats 2, that is 1 of 4 pairs.
    assert evaluation["auc"] == (1 / 2 + 1 / 4) / 2
    assert evaluation["gauc"] == (1 * 1 / 2 + 2 * 1 / 4) / 3
    assert evaluation["mean_rank"] == (2 + 3) / 2


def test_infinite_scores_among_candidates_keep_their_order() -> None:
    scores = rt.Scores([[-np.inf, 1.0, np.inf, -np.inf]])
    offered = {0: [0, 1, 2, 3]}
    for item, rank in enumerate((4, 2, 1, 4)):
        assert ranks(scores, {0: [item]}) == {0: rank}
        assert ranks(scores, {0: [item]}, candidates=offered) == {0: rank}


@pytest.mark.parametrize(
    "order",
    [
        np.array([[3, 0, -1, -1], [0, 2, 3, 1], [-1, 1, 0, 2]]),
        np.array([[3, 0, -1, -1], [0, 2, 3, 1], [-1, 1, 0, 2]], np.int8, order="F"),
        pl.DataFrame({"user": [0, 0, 1, 1, 1, 1, 2], "item": [0, 3, 3, 2, 0, 1, 1],
                      "rank": [2, 1, 3, 2, 1, 4, 2]}),
        {0: [3, 0], 1: [0, 2, 3, 1], 2: [3, 1]},
    ],
)  # fmt: skip
def test_a_recorded_order_replaces_the_scores(order: Any) -> None:
    result = ranks(rt.Scores(SCORES), {0: [3], 1: [1], 2: [0]}, ranking=order)
    assert (result[0], result[1]) == (1, 4)


def test_one_recorded_column_is_the_first_rank() -> None:
    assert ranks(rt.Scores(SCORES), {0: [3], 1: [1]}, ranking=np.array([3, 2, 0])) == {
        0: 1, 1: np.inf,
    }  # fmt: skip


def test_the_best_interest_counts_and_padding_is_never_recommended() -> None:
    interests = np.array([[[0.0, 5.0, 1.0], [9.0, 0.0, 2.0]]], np.float16)
    assert ranks(rt.Scores(interests), {0: [2]}) == {0: 3}
    padded = rt.Scores(interests, items=["pad", "a", "b"], padding="pad")
    assert ranks(padded, {0: ["b"]}) == {0: 2}
    assert ranks(padded, {0: ["pad"]}) == {0: np.inf}
    assert ranks(padded, {0: ["b"]}, {"seen": "last"}, train={0: ["a", "pad"]}) == {0: 1}


@pytest.mark.parametrize("unit", ["list", "user"])
def test_a_user_may_have_several_rows(unit: str) -> None:
    scores = rt.Scores(SCORES[[0, 1, 1]], lists=["s1", "s2", "s3"], users=["ann", "ann", "bob"])
    truth = {"session": ["s1", "s2", "s3"], "item": [3, 1, 0]}
    evaluation = rt.evaluate(scores, truth, "mrr", {"unit": unit}, list_key="session")
    by_list, by_user = (1 / 3 + 1 / 2 + 1) / 3, ((1 / 3 + 1 / 2) / 2 + 1) / 2
    assert evaluation["mrr"] == pytest.approx(by_list if unit == "list" else by_user, rel=1e-15)
    assert evaluation.per_list().columns == ["list", "user", "mrr"]
    by_owner = {"user": ["ann", "bob"], "item": [3, 0]}
    assert ranks(scores, by_owner, list_key="session") == {"s1": 3, "s2": 4, "s3": 1}
    masks = {"train": {"ann": [0, 1]}}
    assert ranks(scores, truth, list_key="session", **masks) == {"s1": 2, "s2": np.inf, "s3": 1}
    offered = {"session": ["s1", "s1", "s2", "s3"], "item": [3, 1, 1, 0]}
    assert ranks(scores, truth, list_key="session", candidates=offered) == {
        "s1": 2, "s2": 1, "s3": 1,
    }  # fmt: skip


def test_users_with_several_rows_need_a_list_key() -> None:
    scores = rt.Scores(SCORES, lists=["s1", "s2", "s3"], users=["ann", "ann", "bob"])
    with pytest.raises(BadArgument, match="list_key="):
        rt.evaluate(scores, {"s1": [3]}, "mrr", {"unit": "user"})


def test_only_requested_users_are_evaluated_and_lists_have_weights() -> None:
    known = {0: [3], 1: [1], 2: [0]}
    assert ranks(rt.Scores(SCORES), known, users=[0, 1]) == {0: 3, 1: 2}
    evaluation = rt.evaluate(rt.Scores(SCORES), known, "mrr", weights={0: 1.0, 1: 3.0, 2: 0.0})
    assert evaluation["mrr"] == pytest.approx((1 / 3 + 3 / 2) / 4, rel=1e-15)


def test_a_file_is_mapped_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "scores.npy"
    for array in (SCORES, np.asfortranarray(SCORES), SCORES.astype(np.float16)):
        np.save(path, array)
        path.chmod(0o444)
        before = path.read_bytes()
        assert ranks(rt.Scores(path, **NUMBERS), TRUTH, train={0: [1]}) == {0: 2, 1: 2, 7: np.inf}
        assert ranks(rt.Scores(str(path), **NUMBERS), TRUTH) == {0: 3, 1: 2, 7: np.inf}
        assert path.read_bytes() == before
        path.chmod(0o644)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_a_mapped_file_is_not_loaded_into_memory(ending: str, tmp_path: Path, kernels: str) -> None:
    path, size = tmp_path / f"scores.{ending}", 2500
    scores = np.random.default_rng(0).random((size, size), np.float32)
    np.save(path, scores) if ending == "npy" else np.savez(path, scores=scores)
    truth = pl.DataFrame({"user": np.arange(size), "item": np.arange(size)})
    rt.evaluate(rt.Scores(np.eye(9, dtype=np.float32)), {0: [1]}, "ndcg@10")  # compiled first
    tracemalloc.start()
    try:
        rt.evaluate(rt.Scores(path), truth, "ndcg@10")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < path.stat().st_size / 2


def test_a_file_may_contain_ids_together_with_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    np.savez(path, scores=SCORES, users=["x", "y", "z"], items=np.array([10, 20, 30, 40]))
    assert ranks(rt.Scores(path), {"x": [40], "y": [20]}) == {"x": 3, "y": 2}
    assert ranks(rt.Scores(path, users=[5, 6, 7]), {5: [40]}) == {5: 3}
    np.savez_compressed(path, anything=SCORES)
    assert ranks(rt.Scores(path, **NUMBERS), TRUTH) == {0: 3, 1: 2, 7: np.inf}


def test_a_function_is_called_again_for_every_reading() -> None:
    calls = []

    def blocks() -> Iterator[Any]:
        calls.append(1)
        yield SCORES[:1].astype(np.float16)
        yield SCORES[1:]

    scores = rt.Scores(blocks, **NUMBERS)
    assert ranks(scores, TRUTH) == {0: 3, 1: 2, 7: np.inf}
    first = len(calls)
    rt.evaluate(scores, TRUTH, ["mrr", "mrr[score_precision=float32]@3"])
    assert len(calls) > 2 * first - 1


def test_progress_is_called_after_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectitude.data.dense.VIEWED_BYTES", 2 * SCORES[0].nbytes)
    calls: list[tuple[int, int]] = []
    rt.evaluate(
        rt.Scores(SCORES, **NUMBERS), TRUTH, "mrr", progress=lambda *done: calls.append(done)
    )
    assert calls == [(2, 3), (3, 3)]


@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_the_best_columns_of_every_row(k: int, kernels: str) -> None:
    padded = rt.Scores(SCORES, padding=3)
    expected = [[1, 2, 0], [0, 1, 2], [0, 1, 2]]
    filled = [(row + [-1] * 9)[:k] for row in expected]
    assert padded.top(k).tolist() == filled
    without = [[2, 0], [0, 1, 2], [1]]
    filled = [(row + [-1] * 9)[:k] for row in without]
    assert padded.top(k, train={0: [1], 2: [0, 2]}).tolist() == filled


def test_the_best_0_columns_are_refused() -> None:
    with pytest.raises(BadArgument, match="at least 1"):
        rt.Scores(SCORES).top(0)


def test_one_user_and_one_item() -> None:
    evaluation = rt.evaluate(rt.Scores([[0.5]]), {0: [0]}, ["ndcg@10", "precision@10", "map"])
    assert evaluation.values() == {"ndcg@10": 1.0, "precision@10": 0.1, "map": 1.0}


@pytest.mark.parametrize(
    "wrap",
    [rt.Scores, rt.Logits, rt.Lists, rt.Interactions, lambda table: rt.Embeddings(table, table)],
)
def test_wrapped_inputs_are_compared_by_identity(wrap: Any) -> None:
    table = np.eye(3)
    one, other = wrap(table), wrap(table)
    assert one == one
    assert one != other
    assert other in [one, other]
    assert len({one, other}) == 2

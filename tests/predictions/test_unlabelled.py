"""Arrays, tensors, pivot frames and lists of lists, handed to `evaluate` as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import rectitude as rt
from rectitude.errors import BadArgument, BadIds, BadTable, RectitudeError

SCORES = np.array([[0.9, 0.1, 0.5], [0.1, 0.8, 0.3]])
WANTED = np.array([[1, 0, 0], [0, 0, 1]])
# Row 0 finds column 0 at rank 1, row 1 finds column 2 at rank 2.
MRR = (1 + 1 / 2) / 2
LONG = pd.DataFrame(
    {"user": ["ann"] * 3 + ["bob"] * 3, "item": [10, 20, 30] * 2, "score": SCORES.ravel()}
)
TRUTH = {"ann": [10], "bob": [30]}


def mrr(predictions: Any, truth: Any, **more: Any) -> float:
    return float(rt.evaluate(predictions, truth, "mrr", **more)["mrr"])


def message(kind: type[RectitudeError], predictions: Any, truth: Any) -> str:
    with pytest.raises(kind) as caught:
        rt.evaluate(predictions, truth, "mrr")
    return str(caught.value)


# arrays and tensors


@pytest.mark.parametrize("truth", [WANTED, WANTED.astype(bool), WANTED * 2.0, sp.csr_array(WANTED)])
def test_an_array_is_scores_beside_a_matrix_of_the_same_shape(truth: Any) -> None:
    evaluation = rt.evaluate(SCORES, truth, "mrr")
    assert evaluation["mrr"] == MRR
    note = "scores; rows of the NumPy array (2 x 3) are users, columns are items, by position"
    assert evaluation.ledger.notes["read as"] == note


@pytest.mark.parametrize("kind", ["plain", "with gradients", "bfloat16"])
def test_a_tensor_is_scores_beside_a_tensor_of_the_same_shape(kind: str) -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor(SCORES, requires_grad=kind == "with gradients")
    scores = scores.bfloat16() if kind == "bfloat16" else scores
    assert mrr(scores, torch.tensor(WANTED)) == MRR
    assert mrr(rt.Scores(scores), WANTED) == MRR


def test_a_dense_truth_has_grades_and_takes_the_ids_of_the_scores() -> None:
    named = rt.Scores(SCORES, users=["ann", "bob"], items=["a", "b", "c"])
    evaluation = rt.evaluate(named, WANTED * 3, "dcg", {"gain": "linear"}, train={"bob": ["b"]})
    assert evaluation["dcg"] == 3
    assert evaluation.per_user()["user"].to_list() == ["ann", "bob"]
    assert mrr(rt.Embeddings(SCORES, np.eye(3)), WANTED) == MRR


def test_an_array_goes_by_position_beside_ids_that_can_be_positions() -> None:
    assert mrr(SCORES, {0: [0], 1: [2]}) == MRR


def test_a_dense_truth_of_another_shape_is_refused() -> None:
    words = message(BadTable, SCORES, WANTED[:, :2])
    assert "truth is a NumPy array of shape (2, 2), but the scores are 2 x 3" in words


@pytest.mark.parametrize("targets", [np.array([0, 2]), [0, 2], pl.Series([0, 2])])
def test_an_array_beside_one_number_per_row_could_be_logits_or_scores(targets: Any) -> None:
    words = message(BadArgument, SCORES, targets)
    assert "rt.Logits(array)" in words and "rt.Scores(array, users=..., items=...)" in words


def test_integers_could_be_scores_or_items() -> None:
    words = message(BadArgument, WANTED, WANTED)
    assert "scores or recommended items" in words and "dict(zip(users, array))" in words
    assert mrr(np.array([[7, 8], [5, 6]]), [[7], [6]]) == MRR


@pytest.mark.parametrize("given", [SCORES, rt.Scores(SCORES)], ids=["array", "Scores"])
@pytest.mark.parametrize(
    ("truth", "words"),
    [
        ({"ann": [0]}, "1 of 1 truth rows (dict of lists) have another user (first: 'ann')"),
        ({0: [1], 7: [0]}, "1 of 2 truth rows (dict of lists) have another user (first: 7)"),
        ({-1: [0]}, "so their 2 rows are users 0 to 1"),
        ({0: ["tea"]}, "have another item (first: 'tea')"),
        ({0: [2, 3]}, "so their 3 columns are items 0 to 2"),
    ],
)
def test_ids_that_cannot_be_positions_are_refused(given: Any, truth: Any, words: str) -> None:
    text = message(BadIds, given, truth)
    assert words in text and "rt.Scores(array, users=..., items=...)" in text


def test_numbers_can_be_stated_to_be_ids() -> None:
    words = message(BadIds, rt.Scores(SCORES), {0: [0], 1: [2], 7: [0]})
    assert "users=range(2)" in words
    numbered = rt.Scores(SCORES, users=range(2), items=range(3))
    assert mrr(numbered, {0: [0], 1: [2], 7: [9]}) == pytest.approx(2 / 3 * MRR)


SQUARE = np.random.default_rng(5).random((50, 30))
FROM_ONE = {user: [1 + user % 29, 1 + (user + 7) % 29] for user in range(1, 50)}


def suspicions(predictions: Any, truth: Any) -> list[str]:
    ledger = rt.evaluate(predictions, truth, "mrr").ledger
    return [str(entry) for entry in ledger.warnings() if entry.name == "maybe_from_one"]


def test_ids_from_one_beside_an_array_are_suspected() -> None:
    (words,) = suspicions(SQUARE, FROM_ONE)
    assert "none has user 0, the first row: are the ids 1-based?" in words
    assert "rt.Scores(array, users=range(1, 51), items=range(1, 31))" in words
    named = rt.Scores(SQUARE, users=range(1, 51), items=range(1, 31))
    assert suspicions(named, FROM_ONE) == []
    (words,) = suspicions(rt.Scores(SQUARE, items=range(1, 31)), FROM_ONE)
    assert "rt.Scores(array, users=range(1, 51));" in words


def test_ids_that_may_well_be_positions_are_not_suspected() -> None:
    for truth in ({0: [1], **FROM_ONE}, {**FROM_ONE, 7: [0]}, {1: [1], 3: [4]}):
        assert suspicions(SQUARE, truth) == []
    assert suspicions(rt.Scores(SQUARE, users=range(50), items=range(30)), FROM_ONE) == []
    assert suspicions(rt.Scores(SQUARE, padding=0), FROM_ONE) == []


def test_the_advice_for_ids_from_one_to_the_number_of_rows_is_a_range_from_one() -> None:
    assert "use users=range(1, 51)" in message(BadIds, SQUARE, {**FROM_ONE, 50: [1]})
    assert "use items=range(1, 31)" in message(BadIds, SQUARE, {**FROM_ONE, 49: [30]})


def test_users_and_items_beside_an_array_belong_to_its_scores() -> None:
    truth = {"ann": ["tea"], "bob": ["jam"]}
    for ids in ({"users": ["ann", "bob"]}, {"users": ["ann", "bob"], "items": ["tea", "jam"]}):
        with pytest.raises(BadIds) as caught:
            rt.evaluate(SCORES[:, 1:], truth, "mrr", **ids)
        words = str(caught.value)
        assert "the argument users= beside the truth says only which users to evaluate" in words
        assert "rt.Scores(array, users=..., items=...)" in words
    assert mrr(rt.Scores(SCORES[:, 1:], users=["ann", "bob"], items=["tea", "jam"]), truth) == 1 / 2


def test_batches_take_arrays_and_lists_of_lists() -> None:
    evaluator = rt.Evaluator("mrr")
    evaluator.update(SCORES, WANTED)
    evaluator.update([[7, 8], [5, 6]], [[7], [6]])
    assert evaluator.compute()["mrr"] == MRR
    by_user = rt.Evaluator("mrr", {"unit": "user"})
    with pytest.raises(BadArgument, match="these rows have no user ids"):
        by_user.update([[7, 8], [5, 6]], [[7], [6]])


# frames


def pandas_pivot() -> Any:
    return LONG.pivot(index="user", columns="item", values="score")


PIVOTS: dict[str, Callable[[], Any]] = {
    "pandas": pandas_pivot,
    "pandas, users in a column": lambda: pandas_pivot().reset_index(),
    "pandas, other order": lambda: pandas_pivot().iloc[::-1, ::-1],
    "pandas, labels only": lambda: pd.DataFrame(SCORES, index=["ann", "bob"], columns=[10, 20, 30]),
    "Polars": lambda: pl.from_pandas(LONG).pivot(on="item", index="user", values="score"),
    "Arrow": lambda: pl.from_pandas(LONG).pivot(on="item", index="user", values="score").to_arrow(),
}


@pytest.mark.parametrize("kind", PIVOTS)
def test_the_labels_of_a_pivot_frame_are_ids(kind: str) -> None:
    frame = PIVOTS[kind]()
    for predictions in (frame, rt.Scores(frame)):
        assert mrr(predictions, TRUTH) == MRR
        assert mrr(predictions, TRUTH, train={"bob": [20]}) == 1
    assert "read as" in rt.evaluate(frame, TRUTH, "mrr").ledger.notes


def test_scores_in_a_frame_are_matched_by_label_and_not_by_position() -> None:
    frame = pd.DataFrame([[0.9, 0.1, 0.5], [0.1, 0.8, 0.3]], index=[1, 0], columns=[2, 1, 0])
    assert mrr(rt.Scores(frame), {1: [2], 0: [1]}) == 1


def test_names_of_columns_match_text_and_integers() -> None:
    frame = pl.DataFrame({"user": [1, 2], "10": SCORES[:, 0], "20": SCORES[:, 1]})
    assert mrr(rt.Scores(frame), {1: [10], 2: [10]}) == MRR
    assert mrr(rt.Scores(frame), {1: ["10"], 2: ["10"]}) == MRR


def test_the_truth_may_be_a_pivot_frame() -> None:
    truth = pd.DataFrame(WANTED, index=["ann", "bob"], columns=[10, 20, 30])
    assert mrr(pandas_pivot(), truth) == MRR
    assert mrr({"ann": [10], "bob": [20, 30]}, truth) == MRR


def test_a_frame_without_labels_goes_by_position() -> None:
    assert mrr(pd.DataFrame(SCORES), WANTED) == MRR
    assert mrr(rt.Scores(pd.DataFrame(SCORES)), {0: [0], 1: [2]}) == MRR
    assert "have another user (first: 'ann')" in message(
        BadIds, rt.Scores(pd.DataFrame(SCORES)), TRUTH
    )
    assert "rt.Scores(frame)" in message(BadTable, pd.DataFrame(SCORES), TRUTH)


def test_a_table_under_unknown_names_is_not_a_pivot_frame() -> None:
    table = LONG.set_axis(["who", "what", "points"], axis=1)
    assert "has no user column" in message(BadTable, table, TRUTH)
    numbers = pd.DataFrame({"who": [1.0, 1.0, 2.0], "what": [4.0, 5.0, 4.0], "points": [1, 2, 3.0]})
    assert "has no user column" in message(BadTable, numbers, {1: [4]})


def test_frames_that_are_not_scores_say_what_is_missing() -> None:
    levels = LONG.pivot_table(index="user", columns="item", values=["score"])
    assert "its columns have 2 levels" in message(BadTable, levels, TRUTH)
    assert "has 2 levels in its columns" in message(BadTable, rt.Scores(levels), TRUTH)
    assert "has 0 user columns" in message(BadTable, rt.Scores(pl.DataFrame({"10": [1.0]})), TRUTH)
    text = pd.DataFrame({10: ["high", "low"]}, index=["ann", "bob"])
    assert "column 10 has the type String" in message(BadTable, rt.Scores(text), TRUTH)


# lists of lists


LISTS = [[7, 8], [5, 6]]


@pytest.mark.parametrize(
    "lists",
    [
        LISTS,
        [np.array(row) for row in LISTS],
        pl.Series(LISTS),
        [[(8, 0.1), (7, 0.2)], [(5, 2.5), (6, 0.5)]],
    ],
    ids=["lists", "arrays", "Polars Series", "pairs"],
)
def test_lists_of_lists_are_matched_by_position(lists: Any) -> None:
    evaluation = rt.evaluate(lists, [[7], [6]], "mrr")
    assert evaluation["mrr"] == MRR
    words = "lists by position; predictions and truth have 2 each"
    assert evaluation.ledger.notes["read as"] == words


def test_lists_of_lists_on_one_side_or_of_another_length_are_refused() -> None:
    assert "dict(zip(users, predictions))" in message(BadArgument, LISTS, {1: [7]})
    assert "dict(zip(users, truth))" in message(BadArgument, {1: [7]}, LISTS)
    assert "predictions has 2 lists and truth has 1" in message(BadArgument, LISTS, [[7]])


def test_rows_written_as_lists_are_not_lists_of_items() -> None:
    words = message(BadTable, [[1, 7, 0.5], [1, 8, 0.4]], [[1, 7], [2, 8]])
    assert "list 0 contains 0.5" in words and "[tuple(row) for row in predictions]" in words


TOP_ITEMS = {"user": [1, 2, 3], "1": [3, 1, 2], "2": [2, 3, 1], "3": [1, 2, 3]}


@pytest.mark.parametrize("frame", [pd.DataFrame(TOP_ITEMS), pl.DataFrame(TOP_ITEMS)])
def test_a_frame_of_integers_below_ranks_may_hold_items_or_scores(frame: Any) -> None:
    truth = {1: [3], 2: [1], 3: [2]}
    with pytest.raises(BadArgument, match="could hold scores or recommended items") as caught:
        rt.evaluate(frame, truth, "mrr")
    assert "rt.Scores(frame)" in str(caught.value)
    assert "dict(zip(users, frame[columns].to_numpy()))" in str(caught.value)
    in_order = dict(zip(frame["user"], frame[["1", "2", "3"]].to_numpy(), strict=True))
    assert rt.evaluate(in_order, truth, "mrr")["mrr"] == 1
    assert rt.evaluate(rt.Scores(frame), truth, "mrr")["mrr"] < 1


LABELLED = pd.DataFrame([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]], index=["u", "v"], columns=list("xyz"))
RELEVANT = pd.DataFrame([[0, 1, 0], [1, 0, 0]], index=["v", "u"], columns=list("zyx"))


@pytest.mark.parametrize("kind", [int, bool, float])
def test_a_pivot_truth_is_matched_by_its_labels(kind: type) -> None:
    truth = RELEVANT.astype(kind)
    expected = rt.evaluate(LABELLED, {"v": ["y"], "u": ["z"]}, "mrr")["mrr"]
    assert rt.evaluate(LABELLED, truth, "mrr")["mrr"] == expected == 3 / 4
    assert rt.evaluate(rt.Scores(LABELLED), truth, "mrr")["mrr"] == expected
    array = rt.Scores(LABELLED.to_numpy(), users=["u", "v"], items=list("xyz"))
    assert rt.evaluate(array, truth, "mrr")["mrr"] == expected


@pytest.mark.parametrize("truth", [np.eye(2, 3, dtype=int), sp.csr_matrix(np.eye(2, 3))])
@pytest.mark.parametrize("scores", [LABELLED, rt.Scores(LABELLED)])
def test_labels_do_not_matter_to_a_truth_without_ids_and_that_is_said(
    scores: object, truth: Any
) -> None:
    evaluation = rt.evaluate(scores, truth, "mrr")
    assert evaluation["mrr"] == 1
    assert "matched by position" in evaluation.ledger.notes["read as"]


def test_sparse_scores_take_a_dense_truth_of_the_same_shape() -> None:
    scores, truth = sp.csr_matrix(LABELLED.to_numpy()), np.eye(2, 3)
    evaluation = rt.evaluate(scores, truth, "mrr")
    assert evaluation["mrr"] == rt.evaluate(scores, sp.csr_matrix(truth), "mrr")["mrr"] == 1
    assert "by position" in evaluation.ledger.notes["read as"]
    with pytest.raises(BadArgument, match="the same shape"):
        rt.evaluate(scores, truth[:, :2], "mrr")


def test_lists_of_floats_may_be_scores() -> None:
    with pytest.raises(BadTable, match=r"np\.array\(predictions\)") as caught:
        rt.evaluate([[0.1, 0.2], [0.3, 0.1]], [[0], [1]], "mrr")
    assert "rt.Scores(np.array(predictions)" in str(caught.value)
    with pytest.raises(BadTable, match="begin with a fraction") as caught:
        rt.evaluate({1: [(0.1, 2), (0.3, 4)]}, {1: [2]}, "mrr")
    assert "pairs of whole numbers" not in str(caught.value)

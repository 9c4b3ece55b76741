"""Errors about dense predictions have counts, the first offender, and what to do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadIds,
    BadScores,
    BadTable,
    RectitudeError,
    UnreadableFile,
)

SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
TRUTH = {0: [1], 1: [0]}


def refused(kind: type[RectitudeError], *words: str, **given: Any) -> None:
    """Check that evaluating raises an error of this type with all of the words."""
    predictions = given.pop("predictions", None)
    if predictions is None:
        predictions = rt.Scores(given.pop("scores", SCORES))
    metrics = given.pop("metrics", "mrr")
    with pytest.raises(kind) as caught:
        rt.evaluate(predictions, given.pop("truth", TRUTH), metrics, **given)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "\n  " in message  # what was expected, or what to do


@pytest.mark.parametrize("columns", [40, 3000])
def test_nan_is_counted_and_the_first_is_named(columns: int, kernels: str) -> None:
    scores = np.random.default_rng(0).normal(size=(5, columns))
    scores[3, [7, 9]] = np.nan
    scores[4, columns - 1] = np.nan
    named = rt.Scores(scores, users=list("vwxyz"), items=[f"i{n}" for n in range(columns)])
    words = ("2 of 5 rows", "3 values in all", "row 3, list 'y', item 'i7'", "-inf")
    for metrics in ("mrr", "ndcg@3"):
        for more in ({}, {"train": {"y": ["i7", "i9"], "z": ["i1"]}}):  # also where it is masked
            given: dict[str, Any] = {"truth": {"v": ["i1"], "z": ["i2"]}, **more}
            refused(BadScores, *words, predictions=named, metrics=metrics, **given)
    words = (
        f"2 of 5 rows of logits (5 x {columns}, float64) contain NaN, 3 values in all",
        "row 3",
        "item 7",
    )
    refused(BadScores, *words, predictions=rt.Logits(scores), truth=[0] * 5)
    interests = np.stack([scores, np.zeros_like(scores)], axis=1)
    refused(BadScores, "2 of 5 rows", "3 values in all", scores=interests)


def test_nan_among_candidates_is_named() -> None:
    scores = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    offered = {0: [0, 1]}
    refused(BadScores, "1 of 2 rows", "NaN", "item 1", scores=scores, candidates=offered)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (SCORES[0], "scores has the shape (3,)"),
        (SCORES[None, None], "scores has the shape (1, 1, 2, 3)"),
        (SCORES[:0], "scores is empty: its shape is (0, 3)"),
        (SCORES[:, :0], "scores is empty: its shape is (2, 0)"),
        (SCORES.astype(complex), "scores has the type complex128"),
        (SCORES.astype(str), "scores has the type <U"),
        (SCORES.astype(object), "scores has the type object"),
        (SCORES.astype("datetime64[s]"), "scores has the type datetime64[s]"),
        ([[1, 2], [3]], "scores is of type list, which NumPy cannot read"),
        (None, "scores is of type NoneType"),
        ((row for row in SCORES), "scores is of type generator"),
        (np.array([[2**53 + 1, 0]] * 2), "the integer 9007199254740993"),
        (np.array([[2**64 - 1, 0]] * 2, np.uint64), "the integer 18446744073709551615"),
        (np.ma.masked_greater(SCORES, 2), "scores is a masked array"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_scores_that_are_not_a_matrix_of_numbers_are_refused(scores: Any, words: str) -> None:
    refused(BadScores, words, scores=scores)


def test_the_error_for_a_tensor_says_how_to_convert_it() -> None:
    class Tensor:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    refused(BadScores, "is of type Tensor", "cuda:0", ".detach().cpu()", scores=Tensor())
    refused(BadScores, "logits is of type Tensor", predictions=rt.Logits(Tensor()), truth=[0])
    refused(BadScores, "targets is of type Tensor", predictions=rt.Logits(SCORES), truth=Tensor())


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([0, -1], ("1 of 2 targets are negative (first: row 1, -1)", "leave out rows")),
        ([-100, -100], ("2 of 2 targets are negative (first: row 0, -100)",)),
        ([0, 1.5], ("1 of 2 targets are not whole numbers (first: row 1, 1.5)",)),
        ([np.nan, 1.0], ("1 of 2 targets are not whole numbers (first: row 0, nan)",)),
        ([np.inf, 1.0], ("1 of 2 targets are not whole numbers (first: row 0, inf)",)),
        ([0], ("targets has length 1, but there are 2 rows of logits", "one target per row")),
        ([0, 1, 2], ("targets has length 3, but there are 2 rows",)),
        ([], ("targets is empty",)),
        ([[0, 1]], ("targets has the shape (1, 2)",)),
        (["a", "b"], ("targets has the type <U1",)),
        ({0: 1, 1: 0}, ("targets is of type dict",)),
    ],
)
def test_targets_that_are_not_classes_are_refused(targets: Any, words: tuple[str, ...]) -> None:
    refused(BadScores, *words, predictions=rt.Logits(SCORES), truth=targets)


def test_a_target_beyond_any_integer_is_outside_the_classes() -> None:
    evaluation = rt.evaluate(rt.Logits(SCORES), np.array([0, 2**64 - 1], np.uint64), "accuracy@1")
    assert evaluation.ledger["items_unknown"] == 1


@pytest.mark.parametrize("what", ["train", "candidates", "truth"])
def test_sparse_matrices_of_another_shape_are_refused(what: str) -> None:
    words = (f"{what} is a sparse matrix of shape (3, 3)", "scores are 2 x 3", "by position")
    refused(BadTable, *words, **{what: sp.csr_array(np.eye(3))})


@pytest.mark.parametrize("what", ["train", "candidates"])
def test_masks_that_name_unknown_items_are_refused(what: str) -> None:
    words = ("2 of 3 rows", "first: row 2, item 8", "name the columns with items=")
    refused(BadTable, *words, **{what: {0: [1, 8], 1: [9]}})
    strangers = {5: [77]}  # not a user of the scores, so it masks nothing anyway
    assert (
        rt.evaluate(rt.Scores(SCORES), TRUTH, "mrr", train=strangers)["mrr"] == (1 / 2 + 1 / 3) / 2
    )


@pytest.mark.parametrize("what", ["train", "candidates"])
def test_masks_that_are_arrays_are_refused(what: str) -> None:
    mask = np.zeros((2, 3), bool)
    refused(BadTable, f"{what} is a NumPy array.", "sparse matrix", **{what: mask})


@pytest.mark.parametrize(
    ("names", "kind", "words"),
    [
        ({"users": [1]}, BadScores, "users= has length 1, but there are 2 rows"),
        ({"items": [1, 2]}, BadScores, "items= has length 2, but there are 3 columns"),
        ({"users": [4, 4]}, BadIds, "2 of 2 ids in users= occur more than once (first: 4)"),
        ({"users": [4, 4]}, BadIds, "lists= with a key for each row"),
        (
            {"users": [(1, 2), (1, 2)]},
            BadIds,
            "2 of 2 ids in users= occur more than once (first: (1, 2))",
        ),
        (
            {"items": ["a", "b", "a"]},
            BadIds,
            "2 of 3 ids in items= occur more than once (first: 'a')",
        ),
        ({"users": [1, None]}, BadIds, "1 of 2 ids in users= are missing"),
        ({"lists": [1, 2], "users": [1]}, BadScores, "users= has length 1, but there are 2 rows"),
        ({"items": ["a", 1, 2]}, BadIds, "1 of type str (first: 'a'), 2 of type int (first: 1)"),
        ({"padding": 7}, BadScores, "the padding item 7 is not a column (first item: 0)"),
        ({"padding": "pad"}, BadScores, "the padding item 'pad' is not a column"),
    ],
)
def test_ids_that_do_not_fit_are_refused(
    names: dict[str, Any], kind: type[RectitudeError], words: str
) -> None:
    refused(kind, words, predictions=rt.Scores(SCORES, **names))


def test_ids_without_an_order_cannot_break_ties() -> None:
    sets = [frozenset("a"), frozenset("b"), frozenset("ab")]
    unordered = rt.Scores(SCORES * 0, items=sets)
    given: dict[str, Any] = {"truth": {0: sets[:1]}, "convention": {"ties": "item_ascending"}}
    refused(BadIds, "cannot be sorted", predictions=unordered, **given)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([SCORES[:1]], "is 1, not 2"),
        ([SCORES, SCORES], "is at least 4, not 2"),
        ([SCORES[:1], SCORES[1:, :2]], "block 1 of the scores has 2 columns, but block 0 has 3"),
        ([SCORES[:1], SCORES[:0]], "block 1 of the scores is empty"),
        ([], "returned no blocks"),
        (None, "returned a NoneType"),
        (SCORES, "the first block of scores has the shape (3,)"),
    ],
)
def test_functions_that_return_wrong_blocks_are_refused(blocks: Any, words: str) -> None:
    refused(BadScores, words, predictions=rt.Scores(lambda: blocks, users=[0, 1]))


def test_functions_must_start_again_and_need_the_number_of_rows() -> None:
    spent: Iterator[Any] = iter([SCORES])
    words = ("is 0, not 2", "start from the beginning each time")
    refused(BadScores, *words, predictions=rt.Scores(lambda: spent, users=[0, 1]))
    refused(BadScores, "users= with the user", predictions=rt.Scores(lambda: [SCORES]))
    refused(BadScores, "rows= with the number", predictions=rt.Logits(lambda: [SCORES]), truth=[0])
    three = rt.Logits(lambda: [SCORES, SCORES[None]], rows=2)
    refused(BadScores, "block 1 of the logits has the shape (1, 2, 3)", predictions=three,
            truth=[0, 1])  # fmt: skip


def damaged(whole: bytes) -> dict[str, bytes]:
    """The file of an array, damaged in different ways."""
    return {"half": whole[: len(whole) // 2], "short": whole[:-1], "none": b"", "text": b"a,b\n1,2"}


@pytest.mark.parametrize("how", ["half", "short", "none", "text"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_damaged_files_are_refused(ending: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores.{ending}"
    (np.save if ending == "npy" else np.savez)(path, SCORES)
    path.write_bytes(damaged(path.read_bytes())[how])
    for predictions, truth in ((rt.Scores(path), TRUTH), (rt.Logits(path), [0, 1])):
        refused(UnreadableFile, str(path), "expected", predictions=predictions, truth=truth)


class Trap:
    """An object that records that it was unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return setattr, (Trap, "sprung", True)


@pytest.mark.parametrize("form", ["npy", "npz", "ids", "pickle"])
def test_objects_in_files_are_refused_without_loading_them(form: str, tmp_path: Path) -> None:
    path = tmp_path / ("scores.npz" if form in ("npz", "ids") else "scores.npy")
    trap = np.array([[Trap(), Trap()]], object)
    if form == "npy":
        np.save(path, trap)
    elif form == "pickle":
        path.write_bytes(pickle.dumps(Trap()))
    else:
        np.savez(path, scores=trap if form == "npz" else SCORES[:1], users=trap[0, :1])
    words = (
        ("is a pickle", "never opens") if form == "pickle" else ("Python objects", "never loads")
    )
    refused(UnreadableFile, *words, predictions=rt.Scores(path))
    refused(UnreadableFile, words[0], predictions=rt.Logits(SCORES), truth=path)
    assert not Trap.sprung


def test_archives_without_the_array_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, left=SCORES, right=SCORES)
    refused(BadScores, "contains left, right", "named 'scores'", predictions=rt.Scores(path))
    refused(
        BadScores, "contains left, right", "'logits'", predictions=rt.Logits(path), truth=[0, 1]
    )


def test_missing_files_are_named() -> None:
    refused(UnreadableFile, "nowhere.npy does not exist", predictions=rt.Scores("nowhere.npy"))


@pytest.mark.parametrize("name", ["train", "candidates"])
def test_logits_have_no_masks(name: str) -> None:
    words = (f"{name}= is given, but the predictions are logits", "rt.Scores")
    refused(BadArgument, *words, predictions=rt.Logits(SCORES), truth=[0, 1], **{name: {0: [1]}})


def test_lists_have_no_recorded_order() -> None:
    words = ("ranking= is given, but the predictions are lists", "rt.Scores")
    refused(BadArgument, *words, predictions={0: [1]}, ranking={0: [1]})


@pytest.mark.parametrize(
    "order",
    [np.array([[0, 3], [1, 2]]), np.array([[0, -2], [1, 2]]), np.array([[0, 1]]),
     np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[True], [False]])],
    ids=["too high", "too low", "too few rows", "floats", "flags"],
)  # fmt: skip
def test_recorded_orders_that_are_not_columns_are_refused(order: Any) -> None:
    words = ("ranking= has the shape", "numbers from", "2 rows of column numbers below 3")
    refused(BadTable, *words, ranking=order)
    refused(BadTable, *words, ranking=order, predictions=rt.Logits(SCORES), truth=[0, 1])


def test_contradictory_inputs_are_refused() -> None:
    both = {"candidates": {0: [1]}, "ranking": np.array([[0], [1]])}
    refused(BadArgument, "candidates= and ranking= are both given", **both)
    last = {"candidates": {0: [1]}, "train": {0: [1]}, "convention": {"seen": "last"}}
    refused(BadArgument, "seen='last'", "seen='removed' or seen='kept'", **last)
    refused(BadArgument, "unjudged='dropped'", "candidates=", convention={"unjudged": "dropped"})


def test_baselines_without_rows_or_classes_are_refused() -> None:
    for make in (lambda: rt.Logits.random(0, 3), lambda: rt.Logits.majority([1], 0)):
        with pytest.raises(BadScores, match="at least 1 of each"):
            make()

"""Batches that are counted now and judged later are those that are judged at once: the same values,
ledger, manifest and errors."""

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.evaluation.counted import CountedBatch

METRICS = ("ndcg@{1,3,10}", "recall@3", "map", "mrr@5", "hit@2", "f1@2")
TIES = ("pessimistic", "optimistic", "average", "given", "item_ascending", "item_descending")


@st.composite
def batches(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Batches of some rows each, with truth and perhaps seen items by position."""
    columns, trained = draw(st.integers(2, 12)), draw(st.booleans())
    grade = st.sampled_from([0, 1, 1, 1, 2])
    made = []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.sampled_from([3, 3, 5]))
        random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        scores = random.integers(0, draw(st.sampled_from([3, 1000])), (rows, columns))
        wanted = random.random((rows, columns)) < draw(st.sampled_from([0.0, 0.3, 0.7]))
        grades = np.where(wanted, draw(grade) or random.integers(-1, 3, (rows, columns)), 0)
        batch = {
            "predictions": rt.Scores(
                scores.astype(draw(st.sampled_from([np.float32, np.float64])))
            ),
            "truth": csr_array(grades.astype(np.float32)),
        }
        if trained:
            batch["train"] = csr_array((random.random((rows, columns)) < 0.3).astype(np.int8))
        made.append(batch)
    return made


@settings(max_examples=150)
@given(
    batches(),
    st.fixed_dictionaries(
        {},
        optional={
            "ties": st.sampled_from(TIES),
            "seen": st.sampled_from(["removed", "kept", "last"]),
            "undefined": st.sampled_from(["zero", "skip", "error"]),
            "unknown_items": st.sampled_from(["keep", "drop", "error"]),
            "score_precision": st.sampled_from(["float32", "float64"]),
            "negative_grades": st.sampled_from(["nonrelevant", "unjudged"]),
            "relevant_from": st.sampled_from([1.0, 2.0]),
        },
    ),
)
def test_counting_first_and_judging_later_changes_nothing(
    given_batches: list[dict[str, Any]], convention: dict[str, Any]
) -> None:
    later = rt.Evaluator(METRICS, convention)
    now = rt.Evaluator(METRICS, convention, check="now")
    late = 0
    for batch in given_batches:
        at_once = _error(now, batch)
        found = _error(later, batch)
        if at_once != found:  # of measuring, which waits
            assert at_once and not found
            late += 1
    if not now.batches:
        return
    if late:
        with pytest.raises(RectitudeError, match="left out"):
            later.compute()
    assert later.batches == now.batches
    one, other = later.compute().as_dict(), now.compute().as_dict()
    assert one == other


def _error(evaluator: rt.Evaluator, batch: dict[str, Any]) -> str:
    before = evaluator.batches
    try:
        evaluator.update(**batch)
    except RectitudeError as error:
        assert evaluator.batches == before
        return str(error)
    return ""


def test_plain_batches_are_counted_and_wait() -> None:
    evaluator = rt.Evaluator(["ndcg@2"])
    truth = csr_array(np.eye(3, 4, dtype=np.float32))
    evaluator.update(rt.Scores(np.random.default_rng(1).random((3, 4))), truth)
    assert isinstance(evaluator._pending[0], CountedBatch)


@pytest.mark.parametrize(
    "train",
    [
        pl.DataFrame({"user": [0, 2], "item": [3, 1]}),
        pa.table({"user": [0, 2], "item": [3, 1]}),
        {"user": [0, 2], "item": [3, 1]},
        {0: [3], 2: [1]},
        csr_array(([1.0, 1.0, 1.0], ([0, 2, 2], [3, 1, 1])), (3, 4)),
        csr_array((np.ones(3), np.array([3, 1, 1]), np.array([0, 1, 1, 3])), (3, 4)),
    ],
    ids=["polars", "arrow", "columns", "lists", "csr", "duplicate csr"],
)
def test_train_may_be_of_another_kind_than_the_truth(train: object) -> None:
    scores = rt.Scores(np.random.default_rng(1).random((3, 4)))
    truth = csr_array(np.eye(3, 4, dtype=np.float32))
    evaluator = rt.Evaluator(METRICS)
    evaluator.update(scores, truth, train=train)
    whole = rt.evaluate(scores, truth, METRICS, train=train)
    assert evaluator.compute().table().equals(whole.table())


@pytest.mark.parametrize(
    "truth",
    [
        pl.DataFrame({"user": [0, 2], "item": [3, 1]}),
        csr_array((np.ones(3), np.array([3, 1, 0]), np.array([0, 3, 3, 3])), (3, 4)),
        csr_array((np.ones(3), np.array([3, 1, 1]), np.array([0, 1, 1, 3])), (3, 4)),
    ],
    ids=["table", "unsorted", "duplicates"],
)
def test_the_truth_may_be_a_table_or_an_untidy_matrix(truth: Any) -> None:
    scores = rt.Scores(np.random.default_rng(1).random((3, 4)))
    now, later = (rt.Evaluator(METRICS, check=check) for check in ("now", "later"))
    batch = {"predictions": scores, "truth": truth, "train": csr_array(np.eye(3, 4, 1))}
    assert _error(now, batch) == _error(later, batch)
    if now.batches:
        assert later.compute().as_dict() == now.compute().as_dict()


def test_scores_may_be_overwritten_once_update_returned() -> None:
    scores = np.array([[0.1, 0.9, 0.2], [0.3, 0.1, 0.7]])
    truth = csr_array(np.array([[0, 1, 0], [0, 0, 1.0]]))
    evaluator = rt.Evaluator(["mrr"])
    evaluator.update(rt.Scores(scores), truth)
    scores[:] = 0
    truth.data[:] = 0
    truth.indices[:] = 0
    assert evaluator.compute()["mrr"] == 1.0


def test_logits_after_scores_are_refused_by_their_update() -> None:
    evaluator = rt.Evaluator(["mrr"])
    evaluator.update(rt.Scores(np.array([[0.1, 0.9]])), csr_array(np.array([[0, 1.0]])))
    with pytest.raises(RectitudeError, match="classes"):
        evaluator.update(rt.Logits(np.array([[0.1, 0.9]])), np.array([1]))
    assert evaluator.batches == 1

"""Counted batches are judged on all threads, in shares; the evaluation is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import rectitude as rt
from rectitude.evaluation import stream

METRICS = ["ndcg@5", "recall@3", "mrr@4"]
ROWS, COLUMNS, BATCHES = 6, 12, 7


def evaluate(monkeypatch: pytest.MonkeyPatch, threads: str) -> rt.Evaluation:
    monkeypatch.setenv("RECTITUDE_THREADS", threads)
    monkeypatch.setattr(stream, "_LISTS_PER_SHARE", 2)
    random, evaluator = np.random.default_rng(0), rt.Evaluator(METRICS, {"undefined": "zero"})
    for _ in range(BATCHES):
        scores = random.normal(size=(ROWS, COLUMNS)).round(1)
        truth, train = (csr_array(random.random((ROWS, COLUMNS)) < share) for share in (0.2, 0.1))
        evaluator.update(rt.Scores(scores), truth.astype(float), train=train.astype(float))
    return evaluator.compute()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches were judged together, in the order in which that began."""
    found: list[int] = []
    measure = stream.Evaluator._measure

    def note(evaluator: Any, pieces: Any) -> Any:
        found.append(len(pieces))
        return measure(evaluator, pieces)

    monkeypatch.setattr(stream.Evaluator, "_measure", note)
    return found


def test_any_number_of_threads_gives_the_same_evaluation(
    monkeypatch: pytest.MonkeyPatch, measured: list[int]
) -> None:
    alone = evaluate(monkeypatch, "1")
    assert measured == [BATCHES]
    for threads, shares in (("2", [3, 4]), ("3", [2, 2, 3])):
        measured.clear()
        assert evaluate(monkeypatch, threads) == alone
        assert sorted(measured) == shares

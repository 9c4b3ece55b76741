"""Bad batches are refused with a clear error, in `update` or `compute`, and change nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch_ways import OnDevice, content

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadIds,
    BadLists,
    BadScores,
    BadTruth,
    DuplicateTruth,
    NotComparable,
    NothingToEvaluate,
    RectitudeError,
)
from rectitude.torch import Evaluator, Ranked

METRICS = ["ndcg@2", "mrr"]
GOOD = (rt.Scores(torch.eye(3)), torch.tensor([0, 1, 0]))
NAN = torch.tensor([[0.0, 1.0, 2.0], [0.0, float("nan"), float("nan")]])
BOTH = pytest.mark.parametrize("make", [Evaluator, OnDevice])

EYE, SCORES = torch.eye(3), rt.Scores(torch.eye(3))
ONE = Ranked(torch.tensor([[1, 2]]))


def columns(*rows: Any) -> torch.Tensor:
    return torch.tensor(rows)


WRONG: list[tuple[Any, Any, dict[str, Any], type[RectitudeError], str]] = [
    (NAN, columns(0, 1), {}, BadScores, "1 of 2 rows of logits (2 x 3, float32) contain NaN, 2"),
    (rt.Scores(NAN), columns(0, 1), {}, BadScores, "(first: row 1, list 1, item 1)"),
    (
        EYE,
        columns(0, 3, -100),
        {},
        BadTruth,
        "2 of 3 numbers in targets are not columns of the sco",
    ),
    (SCORES, columns([0, 9], [1, -1], [2, -2]), {}, BadTruth, "of the scores (first: row 0, 9)"),
    (EYE, columns(0, 1), {}, BadScores, "targets is a tensor of shape (2,), but the scores are 3"),
    (SCORES, columns(0, 1), {}, BadScores, "truth is a tensor of shape"),
    (SCORES, torch.rand(3, 4), {}, BadScores, "(3, 4) and type float32"),
    (SCORES, torch.eye(4).to_sparse(), {}, BadScores, "sparse tensor of shape"),
    (SCORES, columns([0, 0], [1, -1], [2, -1]), {}, DuplicateTruth, ""),
    (SCORES, columns([0, -1, 1], [0, 1, 2], [0, 1, 2]), {}, BadTruth, "it could hold column indic"),
    (rt.Logits(EYE), EYE, {}, BadArgument, "the truth of logits is a tensor of shape (3, 3)"),
    (
        EYE.long(),
        columns(0, 1, 2),
        {},
        BadScores,
        "of type int64, which could hold scores or items",
    ),
    (EYE.to(torch.complex64), EYE, {}, BadScores, "complex64"),
    (rt.Scores(EYE.to(torch.complex64)), EYE, {}, BadScores, "complex64"),
    (torch.ones(0, 3), EYE[:0], {}, BadScores, "empty"),
    (torch.ones(0, 3), columns([0])[:0], {}, BadScores, "empty"),
    (rt.Logits(torch.ones(0, 3)), torch.arange(0), {}, BadScores, "logits is empty"),
    (EYE[0], columns(0, 1, 2), {}, BadScores, "logits has the shape (3,)"),
    (torch.ones(1, 1, 1, 1), EYE, {}, BadScores, "scores has the shape (1, 1, 1, 1)"),
    (EYE, EYE, {"users": [0, 1]}, BadArgument, "users= says whom to evaluate"),
    (rt.Scores(EYE, users=[1, 2, 3]), EYE, {"ids": [1, 2, 3]}, BadArgument, "ids= was given"),
    (EYE, EYE, {"ids": [1, 1, 2]}, BadIds, "occur more than once (first: 1)"),
    (EYE, EYE, {"ids": [1, 2]}, BadScores, "users= has length 2, but there are 3 rows"),
    (SCORES, EYE, {"train": columns([7], [7], [7])}, BadScores, "3 of 3 numbers in train are not"),
    (rt.Embeddings(EYE, torch.eye(4)), torch.ones(3, 4), {}, BadScores, "dimensions"),
    (rt.Embeddings(NAN, EYE), EYE[:2], {}, BadScores, "1 of 2 user vectors are not finite (first"),
    (Ranked(torch.rand(3, 2)), EYE, {}, BadLists, "items is a tensor of shape (3, 2) and"),
    (Ranked(columns([1, -7])), columns(1), {}, BadLists, "negative (first: row 0)"),
    (ONE, columns(-100), {}, BadTruth, "negative (first: row 0, -100)"),
    (Ranked(columns([1, 2]), torch.rand(1, 3)), columns(1), {}, BadScores, "(1, 3)"),
    (ONE, columns(1), {"train": columns([1])}, BadArgument, "train is a tensor"),
    (torch.empty(3, 3, device="meta"), EYE, {}, BadScores, "holds no values"),
    (EYE, torch.empty(3, 3, device="meta"), {}, BadScores, "holds no values"),
]


@BOTH
@pytest.mark.parametrize(("predictions", "truth", "more", "error", "words"), WRONG)
def test_a_bad_batch_is_refused_and_changes_nothing(
    make: Any, predictions: Any, truth: Any, more: Any, error: Any, words: str
) -> None:
    evaluator = make(METRICS)
    evaluator.update(*GOOD)
    before = content(evaluator.compute())
    with pytest.raises(error) as raised:
        evaluator.update(predictions, truth, **more)
        evaluator.compute()
    assert words in str(raised.value)
    assert content(evaluator.compute()) == before


def test_a_pending_batch_is_refused_in_compute() -> None:
    evaluator = OnDevice(METRICS)
    evaluator.update(*GOOD)
    evaluator.update(rt.Scores(NAN), torch.tensor([0, 1]))
    evaluator.update(*GOOD)
    assert evaluator.batches == 3
    with pytest.raises(BadScores, match="batch 1: 1 of 2 rows of scores"):
        evaluator.compute()
    assert evaluator.compute().manifest["batches"] == 2


def test_a_batch_is_refused_in_update_on_request() -> None:
    evaluator = OnDevice(METRICS, check="now")
    evaluator.update(*GOOD)
    with pytest.raises(BadScores, match="batch 1: "):
        evaluator.update(rt.Scores(NAN), torch.tensor([0, 1]))
    evaluator.update(*GOOD)
    assert evaluator.compute().manifest["batches"] == 2


def test_reset_forgets_pending_batches() -> None:
    evaluator = OnDevice(METRICS)
    evaluator.update(rt.Scores(NAN), torch.tensor([0, 1]))
    evaluator.reset()
    with pytest.raises(NothingToEvaluate):
        evaluator.compute()


@BOTH
def test_a_repeated_user_with_different_truth_is_refused(make: Any) -> None:
    evaluator = make(METRICS, repeats="once")
    evaluator.update(torch.eye(3), torch.eye(3), ids=[1, 2, 3])
    evaluator.update(torch.eye(3), torch.eye(3), ids=[4, 2, 5])
    assert evaluator.compute().manifest["lists"] == 5
    evaluator.update(torch.eye(3), torch.ones(3, 3), ids=[6, 7, 1])
    with pytest.raises(BadTruth, match=r"1 lists occur more than once .* \(first: 1\)"):
        evaluator.compute()


@BOTH
def test_a_cutoff_above_the_catalogue_gives_the_result_of_arrays(make: Any) -> None:
    evaluator = make(["ndcg@100", "precision@100"])
    evaluator.update(*GOOD)
    expected = rt.evaluate(
        rt.Scores(torch.eye(3).numpy()),
        {"user": [0, 1, 2], "item": [0, 1, 0]},
        ["ndcg@100", "precision@100"],
    )
    assert evaluator.compute().values() == expected.values()
    assert evaluator.compute().ledger["lists_short"] == 3


@pytest.mark.parametrize("more", [{"check": "later"}, {"repeats": "never"}, {"per_list": "some"}])
def test_choices_that_do_not_exist(more: Any) -> None:
    with pytest.raises(BadArgument):
        Evaluator(METRICS, **more)


def test_evaluators_of_different_metrics_are_not_added() -> None:
    with pytest.raises(NotComparable, match="cannot be added"):
        Evaluator("mrr") + Evaluator("map")
    with pytest.raises(TypeError):
        Evaluator("mrr") + 1  # type: ignore[operator]


def test_metrics_of_shown_items_require_lists_if_repeats_are_removed() -> None:
    items = {"item": [0, 1, 2], "category": ["a", "b", "a"]}
    evaluator = Evaluator("category_diversity@2", repeats="once")
    with pytest.raises(BadArgument, match="not kept while"):
        evaluator.update(torch.eye(3), torch.eye(3), items=items)
    evaluator.update(Ranked(torch.tensor([[0, 1], [0, 2]])), torch.tensor([0, 2]), items=items)
    assert evaluator.compute()["category_diversity@2"] == 0.5


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("Evaluator", "torch", "pip install 'rectitude[torch]'"),
        ("RankingMetric", "torchmetrics", "pip install 'rectitude[torch]'"),
        ("RankingCallback", "lightning", "pip install lightning"),
    ],
)
def test_a_missing_package_is_named_with_the_command(name: str, package: str, command: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import rectitude.torch, rectitude.errors\n"
        f"try:\n    rectitude.torch.{name}\n"
        "except rectitude.errors.MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"rectitude.torch.{name} needs {package}, which is not installed." in done.stdout
    assert command in done.stdout

"""Lists that were grouped on their device give exactly the evaluation of all lists."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_ways import OnDevice, content

import rectitude as rt
from rectitude.errors import BadScores, BadTruth
from rectitude.evaluation import grouped
from rectitude.torch import Evaluator, grouping
from rectitude.torch import evaluator as module
from rectitude.torch.kernels import count_ranks

METRICS = ["ndcg@{5,10}", "recall@5", "precision@3", "f1@5", "map@10", "mrr@10", "hit@3"]
COLUMNS = 60


def draw_columns(rows: int, width: int, seed: int) -> torch.Tensor:
    """Return different columns in each row; some positions are empty."""
    order = torch.rand(rows, COLUMNS, generator=torch.Generator().manual_seed(seed))
    columns = order.topk(width).indices
    columns[::3, width // 2 :] = -1
    return columns


def draw_batch(rows: int, seed: int, decimals: int = 1) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, COLUMNS, generator=generator).round(decimals=decimals)
    seen = draw_columns(rows, 8, seed + 50)
    seen[1::7] = -1
    return scores, draw_columns(rows, 4, seed), seen


def feed(evaluator: Any, batches: list[Any], train: bool) -> Any:
    for scores, truth, seen in batches:
        evaluator.update(rt.Scores(scores), truth, **({"train": seen} if train else {}))
    return evaluator


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("sizes", [(30, 30, 30), (40, 7), (1,)])
@pytest.mark.parametrize(
    "convention",
    [
        {},
        {"ties": "item_descending"},
        {"ties": "optimistic", "undefined": "zero", "truth_needed": "judged"},
        {"list_needed": "hit", "undefined": "skip"},
        {"seen": "kept", "unknown_users": "keep"},
        {"score_precision": "float32"},
    ],
    ids=str,
)
def test_grouped_lists_give_the_evaluation_of_all(
    convention: Any, sizes: tuple[int, ...], train: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes_found: list[int] = []
    inner = module.group_lists

    def group(*arguments: Any) -> Any:
        sound, lists = inner(*arguments)
        sizes_found.append(int(lists.times.sum() + lists.untied.times.sum()))
        return sound, lists

    monkeypatch.setattr(module, "group_lists", group)
    batches = [draw_batch(rows, seed) for seed, rows in enumerate(sizes)]
    expected = feed(Evaluator(METRICS, convention), batches, train).compute()
    found = feed(OnDevice(METRICS, convention), batches, train).compute()
    assert content(found) == content(expected)
    assert sum(sizes_found) == (0 if train and "seen" in convention else sum(sizes))


def test_lists_that_stand_alike_are_judged_once() -> None:
    scores = torch.arange(COLUMNS).flip(0).float().repeat(50, 1)
    truth = torch.tensor([[0, 3]]).repeat(50, 1)
    truth[10] = torch.tensor([1, 2])
    counts = count_ranks(scores, truth).counts
    tensors = {"truth/column": truth, "0/counts": counts, "0/rows": torch.zeros(5, 50)}
    kept = grouping.KeptBatch((50, COLUMNS), "scores", None, tensors)
    sound, lists = grouping.group_lists([kept, kept], 10)
    assert sound == [True, True]
    assert lists is not None
    found = zip(lists.untied.times.tolist(), lists.untied.above.tolist(), strict=True)
    assert sorted(found) == [(2, [1, 2]), (98, [0, 3])]


def test_a_collision_of_hashes_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_hash", lambda numbers: numbers[:, 0] * 0)
    batches = [draw_batch(30, seed) for seed in range(3)]
    expected = feed(Evaluator(METRICS), batches, train=True).compute()
    assert content(feed(OnDevice(METRICS), batches, train=True).compute()) == content(expected)


def test_what_the_caller_writes_later_changes_nothing() -> None:
    batches = [draw_batch(30, seed) for seed in range(2)]
    expected = feed(Evaluator(METRICS), batches, train=True).compute()
    evaluator = feed(OnDevice(METRICS), batches, train=True)
    for tensor in (part for batch in batches for part in batch):
        tensor.fill_(3)
    assert content(evaluator.compute()) == content(expected)


def test_full_memory_is_grouped_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [draw_batch(30, seed) for seed in range(4)]
    expected = feed(Evaluator(METRICS), batches, train=True).compute()
    monkeypatch.setattr(module, "KEPT_BYTES", 12_000)
    evaluator = feed(OnDevice(METRICS), batches, train=True)
    assert evaluator.sums.batches > 0
    assert evaluator.batches == 4
    assert content(evaluator.compute()) == content(expected)


def spoil_score(scores: torch.Tensor, truth: torch.Tensor, seen: torch.Tensor) -> None:
    scores[3, 5] = float("nan")


def spoil_truth(scores: torch.Tensor, truth: torch.Tensor, seen: torch.Tensor) -> None:
    truth[3, 0] = COLUMNS


def spoil_seen(scores: torch.Tensor, truth: torch.Tensor, seen: torch.Tensor) -> None:
    seen[3, 0] = -2


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (spoil_score, BadScores, r"batch 1: 1 of 30 rows .* \(first: row 3, list 3, item 5\)"),
        (spoil_truth, BadTruth, r"batch 1: 1 of 120 numbers in truth .* \(first: row 3, 60\)"),
        (spoil_seen, BadScores, r"batch 1: 1 of 240 numbers in train .* \(first: row 3, -2\)"),
    ],
)
def test_a_bad_batch_is_named_and_left_out(spoil: Any, error: Any, words: str) -> None:
    batches = [draw_batch(30, seed) for seed in range(3)]
    spoil(*batches[1])
    evaluator = feed(OnDevice(METRICS), batches, train=True)
    with pytest.raises(error, match=words):
        evaluator.compute()
    expected = feed(Evaluator(METRICS), batches[::2], train=True).compute()
    assert content(evaluator.compute()) == content(expected)


def test_a_truth_with_an_item_twice_is_judged_alone() -> None:
    batches = [draw_batch(30, seed) for seed in range(2)]
    batches[1][1][4, :2] = 7
    convention = {"duplicate_truth": "once"}
    expected = feed(Evaluator(METRICS, convention), batches, train=True).compute()
    found = feed(OnDevice(METRICS, convention), batches, train=True).compute()
    assert content(found) == content(expected)


def test_many_lists_are_measured_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_LISTS_PER_BLOCK", 7)
    batches = [draw_batch(30, seed, decimals=3) for seed in range(3)]
    expected = feed(Evaluator(METRICS), batches, train=True).compute()
    assert content(feed(OnDevice(METRICS), batches, train=True).compute()) == content(expected)


def test_vectors_are_grouped_too() -> None:
    generator = torch.Generator().manual_seed(0)
    users = torch.randint(0, 4, (20, 6), generator=generator).float()
    items = torch.randint(0, 4, (COLUMNS, 6), generator=generator).float()
    evaluators = [Evaluator(METRICS), OnDevice(METRICS)]
    for evaluator in evaluators:
        evaluator.update(rt.Embeddings(users, items), draw_columns(20, 4, 1))
    expected, found = (content(evaluator.compute()) for evaluator in evaluators)
    assert found == expected

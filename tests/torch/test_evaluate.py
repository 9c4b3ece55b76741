"""A model, or embeddings, evaluated in one call gives what the loop written by hand gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from scipy.sparse import csr_array

import rectitude as rt
from rectitude.errors import BadArgument, BadIds, BadScores
from rectitude.torch import evaluate

METRICS = ["ndcg@3", "recall@5", "mrr@5"]
USERS, ITEMS = 20, 30


def vectors() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = ((USERS, 4), (ITEMS, 4))
    return tuple(torch.randint(-3, 4, s, generator=generator).float() for s in sizes)  # type: ignore[return-value]


def padded(width: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.rand(USERS, ITEMS, generator=generator).topk(width).indices
    chosen[::4, 1:] = -1
    return chosen


def table(columns: torch.Tensor) -> pl.DataFrame:
    row, place = np.nonzero(columns.numpy() >= 0)
    return pl.DataFrame({"user": row, "item": columns.numpy()[row, place]})


def matrix(columns: torch.Tensor) -> Any:
    row, place = np.nonzero(columns.numpy() >= 0)
    cells = (np.ones(len(row)), (row, columns.numpy()[row, place]))
    return csr_array(cells, shape=(USERS, ITEMS))


def values(evaluation: rt.Evaluation) -> dict[str, str]:
    return {name: evaluation[name].hex() for name in METRICS}


def whole(truth: object, train: object = None) -> rt.Evaluation:
    users, items = (side.numpy() for side in vectors())
    return rt.evaluate(rt.Embeddings(users, items), truth, METRICS, train=train)


@pytest.mark.parametrize("size", [None, 1, 7, 20])
def test_embeddings_are_evaluated_in_blocks_of_any_size(size: int | None) -> None:
    truth, seen = padded(3, 1), padded(6, 2)
    found = evaluate(vectors(), None, truth, METRICS, train=seen, batch_size=size)
    assert values(found) == values(whole(matrix(truth), matrix(seen)))


@pytest.mark.parametrize("size", [3, 20])
def test_a_table_is_divided_by_users_and_nobody_is_lost(size: int) -> None:
    truth = table(padded(3, 1))
    outside = pl.DataFrame({"user": [77, 78], "item": [1, 2]})
    both = pl.concat([outside, truth.sample(fraction=1, shuffle=True, seed=1)])
    found = evaluate(rt.Embeddings(*vectors()), range(USERS), both, METRICS, batch_size=size)
    arrays = (side.numpy() for side in vectors())
    expected = rt.evaluate(rt.Embeddings(*arrays, users=range(USERS)), both, METRICS)
    with pytest.raises(BadIds, match=r"2 of 52 rows .* \(first: 77\)"):
        evaluate(vectors(), None, both, METRICS)
    assert values(found) == values(expected)
    assert found.ledger["users_without_list"] == expected.ledger["users_without_list"] == 2


def test_users_with_ids_of_their_own_match_the_table() -> None:
    names = [f"u{n}" for n in range(USERS)]
    truth = table(padded(3, 1)).with_columns(user="u" + pl.col("user").cast(pl.String))
    found = evaluate(vectors(), names, truth, METRICS, batch_size=6)
    assert values(found) == values(whole(table(padded(3, 1))))


class Model(torch.nn.Module):
    """Scores from vectors of users; it refuses to work while training."""

    def __init__(self) -> None:
        super().__init__()
        users, items = vectors()
        self.users, self.items = torch.nn.Parameter(users), torch.nn.Parameter(items)
        self.calls: list[int] = []

    def forward(self, users: torch.Tensor) -> torch.Tensor:
        assert not self.training
        assert torch.is_inference_mode_enabled()
        self.calls.append(len(users))
        return self.users[users] @ self.items.T


def test_a_model_scores_user_ids_and_returns_to_training() -> None:
    model, truth = Model().train(), padded(3, 1)
    steps: list[tuple[int, int]] = []
    found = evaluate(
        model, torch.arange(USERS), truth, METRICS, batch_size=8,
        progress=lambda done, total: steps.append((done, total)),
    )  # fmt: skip
    assert values(found) == values(whole(matrix(truth)))
    assert model.training
    assert steps == [(8, 20), (16, 20), (20, 20)]


def test_a_loader_brings_inputs_truth_and_seen_items() -> None:
    truth, seen = padded(3, 1), padded(6, 2)
    data = torch.utils.data.TensorDataset(torch.arange(USERS), truth, seen)
    loader = torch.utils.data.DataLoader(data, batch_size=6)
    found = evaluate(Model(), loader, metrics=METRICS)
    assert values(found) == values(whole(matrix(truth), matrix(seen)))


def test_a_step_makes_the_arguments_of_any_batch() -> None:
    truth = padded(3, 1)
    batches = [{"who": torch.arange(USERS), "wanted": truth}]

    def step(model: Any, batch: Any) -> dict[str, Any]:
        return {"predictions": model(batch["who"]), "truth": batch["wanted"], "loss": 0.5}

    found = evaluate(Model(), batches, metrics=METRICS, step=step)
    assert values(found) == values(whole(matrix(truth)))


def test_logits_with_targets_are_classified() -> None:
    logits, targets = torch.randn(40, 5), torch.randint(0, 5, (40,))
    data = [(logits[:30], targets[:30]), (logits[30:], targets[30:])]
    found = evaluate(lambda inputs: inputs, data, metrics=["accuracy@1"])
    expected = rt.evaluate(rt.Logits(logits.numpy()), targets.numpy(), ["accuracy@1"])
    assert found["accuracy@1"] == expected["accuracy@1"]


def short_of_memory(most: int) -> Any:
    model = Model()

    def score(users: torch.Tensor) -> torch.Tensor:
        if len(users) > most:
            raise torch.cuda.OutOfMemoryError("no memory")
        return model.eval()(users)

    return score, model


def test_half_as_many_rows_are_tried_once_if_memory_runs_out() -> None:
    truth = padded(3, 1)
    score, model = short_of_memory(8)
    found = evaluate(score, torch.arange(USERS), truth, METRICS, batch_size=16)
    assert values(found) == values(whole(matrix(truth)))
    assert model.calls == [8, 8, 4]


def test_the_error_of_too_little_memory_names_the_setting() -> None:
    score, _ = short_of_memory(3)
    with pytest.raises(BadArgument, match=r"blocks of 16 and of 8 rows") as raised:
        evaluate(score, torch.arange(USERS), padded(3, 1), METRICS, batch_size=16)
    assert "batch_size=2" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((vectors(), None, None), "truth is missing"),
        ((vectors(), None, padded(3, 1)[:5]), "5 rows, for 20 users"),
        ((vectors(), [1, 2], padded(3, 1)), "2 ids for 20 users"),
        (((vectors()[0],), None, padded(3, 1)), "tuple of 1"),
        ((tuple(v.numpy() for v in vectors()), None, padded(3, 1)), "of type ndarray"),
        ((Model(), 3, None), "data is of type int"),
        ((Model(), [(torch.arange(3),)], None), "a batch is a list of 1"),
        ((Model(), [(torch.arange(3), padded(3, 1)[:3])], padded(3, 1)), "beside a loader"),
        (("model", torch.arange(USERS), padded(3, 1)), "model is of type str"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        evaluate(*arguments, METRICS)


def test_a_block_size_below_one_and_an_odd_step_are_refused() -> None:
    with pytest.raises(BadArgument, match="batch_size is 0"):
        evaluate(vectors(), None, padded(3, 1), METRICS, batch_size=0)
    with pytest.raises(BadArgument, match="step= returned"):
        evaluate(Model(), [1], metrics=METRICS, step=lambda *_: {"scores": 1})


def test_a_score_that_is_nan_is_reported() -> None:
    users, items = vectors()
    users[3, 0] = float("nan")
    with pytest.raises(BadScores):
        evaluate((users, items), None, padded(3, 1), METRICS)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"] * USERS, "of type str"),
        ([0, None, *range(2, USERS)], "of type NoneType and int"),
        (np.arange(USERS) / 2, "of type float64"),
        ([2**70, *range(1, USERS)], "whole numbers"),
    ],
)
def test_a_model_is_called_with_whole_numbers_only(ids: object, message: str) -> None:
    with pytest.raises(BadIds, match=message):
        evaluate(lambda users: torch.zeros(len(users), ITEMS), ids, {0: [1]}, METRICS)


def test_missing_ids_of_vectors_are_counted() -> None:
    with pytest.raises(BadIds, match=f"1 of {USERS} ids are missing"):
        evaluate(vectors(), [0, None, *range(2, USERS)], {0: [1]}, METRICS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": "7"}, "batch_size is '7'"),
        ({"batch_size": 1.5}, "batch_size is 1.5"),
        ({"batch_size": True}, "batch_size is True"),
        ({"actors": 0}, "actors is 0"),
        ({"actors": "two"}, "actors is 'two'"),
        ({"step": 3}, "step is of type int"),
        ({"device": "cpu"}, "device='cpu' is given beside vectors"),
    ],
)
def test_options_that_are_wrong_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        evaluate(vectors(), None, padded(3, 1), METRICS, **options)


def test_a_device_that_does_not_exist_is_named() -> None:
    model = torch.nn.Embedding(USERS, ITEMS)
    with pytest.raises(BadArgument, match="device is 'nope'"):
        evaluate(model, torch.arange(USERS), padded(3, 1), METRICS, device="nope")

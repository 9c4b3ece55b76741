"""A torchmetrics metric: alone, in collections, in checkpoints, in Lightning's log."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics import MeanMetric, MetricCollection

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadScores,
    NotComparable,
    NothingToEvaluate,
    UnreadableFile,
)
from rectitude.torch import RankingCallback, RankingMetric

METRICS = ["accuracy@{1,3}", "mrr", "weighted_f1"]
GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randn(20, 6, generator=GENERATOR).round(decimals=1)
TARGETS = torch.randint(0, 6, (20,), generator=GENERATOR)
IDS = torch.arange(20) + 50
WHOLE = rt.evaluate(rt.Logits(LOGITS.numpy()), TARGETS.numpy(), METRICS)
VALUES = WHOLE.values()
BATCHES = [slice(0, 7), slice(7, 14), slice(14, 20)]


def add_batches(metric: RankingMetric, ids: bool = False) -> RankingMetric:
    for rows in BATCHES:
        metric.update(LOGITS[rows], TARGETS[rows], **({"ids": IDS[rows]} if ids else {}))
    return metric


def pickled(metric: RankingMetric) -> Any:
    return pickle.loads(pickle.dumps(metric))  # noqa: S301


def numbers(values: Any) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def test_values_are_those_of_one_evaluation() -> None:
    metric = add_batches(RankingMetric(METRICS))
    assert numbers(metric.compute()) == VALUES
    assert metric.evaluation().values() == VALUES
    assert metric.evaluation().ledger["users_in_truth"] == 20


def test_one_metric_is_a_scalar() -> None:
    value = add_batches(RankingMetric("mrr")).compute()
    assert value.ndim == 0
    assert value.dtype == torch.float64
    assert float(value) == VALUES["mrr"]


def test_forward_gives_the_batch_and_adds_it() -> None:
    metric = RankingMetric(METRICS)
    for rows in BATCHES:
        batch = rt.evaluate(rt.Logits(LOGITS[rows].numpy()), TARGETS[rows].numpy(), METRICS)
        assert numbers(metric(LOGITS[rows], TARGETS[rows])) == batch.values()
    assert numbers(metric.compute()) == VALUES
    assert metric.update_count == 3


def test_reset_starts_again() -> None:
    metric = add_batches(RankingMetric(METRICS))
    metric.reset()
    with pytest.raises(NothingToEvaluate), pytest.warns(UserWarning, match="before the ``update``"):
        metric.compute()
    assert numbers(add_batches(metric).compute()) == VALUES


def test_an_error_does_not_change_the_metric() -> None:
    metric = add_batches(RankingMetric(METRICS))
    with pytest.raises(BadScores):
        metric.update(torch.full((2, 6), float("nan")), TARGETS[:2])
    with pytest.raises(BadScores):
        metric(torch.full((2, 6), float("nan")), TARGETS[:2])
    assert numbers(metric.compute()) == VALUES


def test_collections() -> None:
    members = {"classes": RankingMetric(METRICS), "rank": RankingMetric("mean_rank")}
    metrics = MetricCollection(members, prefix="val/")
    for rows in BATCHES:
        metrics.update(LOGITS[rows], TARGETS[rows])
    values = numbers(metrics.compute())
    ranks = rt.evaluate(rt.Logits(LOGITS.numpy()), TARGETS.numpy(), "mean_rank")
    assert values == {**{f"val/{n}": v for n, v in VALUES.items()}, "val/rank": ranks["mean_rank"]}
    again = metrics.clone(prefix="test/")
    again.reset()
    assert numbers(again(LOGITS, TARGETS))["test/mrr"] == VALUES["mrr"]


@pytest.mark.parametrize("repeats", ["once", "counted"])
def test_copies_and_pickles_go_on(repeats: Any) -> None:
    for copied in (copy.deepcopy, RankingMetric.clone, pickled):
        metric = RankingMetric(METRICS, repeats=repeats)
        metric.update(LOGITS[:7], TARGETS[:7], ids=IDS[:7])
        other = copied(metric)
        other.update(LOGITS[7:], TARGETS[7:], ids=IDS[7:])
        assert numbers(other.compute()) == VALUES
        assert metric.evaluation().manifest["lists"] == 7


@pytest.mark.parametrize("repeats", ["once", "counted"])
def test_checkpoints(repeats: Any) -> None:
    metric = RankingMetric(METRICS, repeats=repeats)
    metric.update(LOGITS[:7], TARGETS[:7], ids=IDS[:7])
    assert metric.state_dict() == {}
    metric.persistent(True)
    state = metric.state_dict(prefix="metric.")
    assert list(state) == ["metric.evaluator"]
    assert state["metric.evaluator"].dtype == torch.uint8
    other = RankingMetric(METRICS, repeats=repeats)
    other.load_state_dict({"evaluator": state["metric.evaluator"]})
    other.update(LOGITS[7:], TARGETS[7:], ids=IDS[7:])
    assert numbers(other.compute()) == VALUES
    other.update(LOGITS[:3], TARGETS[:3], ids=IDS[:3])
    lists = 20 if repeats == "once" else 23
    assert other.evaluation().manifest["lists"] == lists


def test_scores_and_lists_survive_a_checkpoint() -> None:
    truth = {"user": ["a", "b"], "item": [1, 2]}
    scores = rt.Scores(LOGITS[:2], users=["a", "b"], padding=0)
    for predictions in (
        scores,
        rt.Lists({"user": ["a", "b"], "item": [1, 3], "score": [1.0, 2.0]}),
    ):
        metric = RankingMetric(["ndcg@3", "recall@2"], repeats="once")
        train = {"user": ["a"], "item": [4]} if predictions is scores else None
        metric.update(predictions, truth, train=train)
        metric.persistent(True)
        other = RankingMetric(["ndcg@3", "recall@2"], repeats="once")
        other.load_state_dict(metric.state_dict())
        other.update(predictions, truth, train=train)
        assert numbers(other.compute()) == numbers(metric.compute())
        assert other.evaluation().ledger["lists_repeated"] == 2


def test_a_damaged_checkpoint_is_refused() -> None:
    metric = RankingMetric(METRICS)
    with pytest.raises(UnreadableFile, match="damaged"):
        metric.load_state_dict({"evaluator": torch.zeros(9, dtype=torch.uint8)})


def test_values_are_on_the_device_of_the_metric() -> None:
    metric = add_batches(RankingMetric(METRICS)).to("meta")
    assert metric.compute()["mrr"].device.type == "meta"
    assert numbers(add_batches(RankingMetric(METRICS).to("cpu").half()).compute()) == VALUES


def test_states_are_merged_by_adding() -> None:
    metric, other = RankingMetric(METRICS), RankingMetric(METRICS)
    metric.update(LOGITS[:7], TARGETS[:7])
    other.update(LOGITS[7:], TARGETS[7:])
    metric.merge_state(other)
    assert numbers(metric.compute()) == VALUES
    with pytest.raises(NotComparable, match="MeanMetric"):
        metric.merge_state(MeanMetric())


class Module(pl.LightningModule):
    """Its weights are the logits, so all values are known."""

    def __init__(self, returns: str = "dict") -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(LOGITS.clone())
        self.ranks = RankingMetric("mrr")
        self.returns = returns

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        rows, targets = batch
        return 0 * torch.nn.functional.cross_entropy(self.logits[rows], targets)

    def validation_step(self, batch: Any, _: int, dataloader_idx: int = 0) -> Any:
        rows, targets = batch
        if self.returns == "dict":
            self.ranks(self.logits[rows], targets)
            self.log("own", self.ranks, on_step=False, on_epoch=True)
            return {"predictions": self.logits[rows], "truth": targets, "ids": rows}
        return self.logits[rows] if self.returns == "tensor" else None

    def test_step(self, batch: Any, _: int) -> Any:
        rows, targets = batch
        return {"predictions": self.logits[rows], "truth": targets, "loss": 0.0}

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.0)


LOADER: Any = DataLoader(TensorDataset(torch.arange(20), TARGETS), batch_size=7)


def trainer(callback: Any) -> Any:
    return pl.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=[callback],
    )  # fmt: skip


quiet = pytest.mark.filterwarnings(
    "ignore:.*does not have many workers", "ignore:.*logging interval",
    "ignore:.*isinstance.treespec", "ignore::DeprecationWarning", "ignore::FutureWarning",
)  # fmt: skip


@quiet
def test_lightning_logs_what_steps_return() -> None:
    callback = RankingCallback(METRICS)
    run = trainer(callback)
    run.fit(Module(), LOADER, LOADER)
    logged = numbers(run.callback_metrics)
    assert {f"val/{name}": logged[f"val/{name}"] for name in VALUES} == pytest.approx(
        {f"val/{name}": value for name, value in VALUES.items()}, abs=1e-7
    )  # Lightning logs with 32 bits
    assert logged["own"] == pytest.approx(VALUES["mrr"], abs=1e-7)
    assert callback.evaluations["val"].values() == VALUES
    run.test(Module(), LOADER, verbose=False)
    assert callback.evaluations["test"].values() == VALUES


@quiet
def test_lightning_steps_may_return_anything_that_inputs_understands() -> None:
    callback = RankingCallback(
        METRICS, inputs=lambda out, batch: {"predictions": out, "truth": batch[1]}
    )
    trainer(callback).validate(Module("tensor"), [LOADER, LOADER], verbose=False)
    assert callback.evaluations["val/dataloader_0"].values() == VALUES
    assert callback.evaluations["val/dataloader_1"].values() == VALUES


@quiet
@pytest.mark.parametrize("returns", ["tensor", "nothing"])
def test_lightning_steps_that_return_nothing_useful(returns: str) -> None:
    with pytest.raises(BadArgument, match="validation_step returned a"):
        trainer(RankingCallback(METRICS)).validate(Module(returns), LOADER, verbose=False)

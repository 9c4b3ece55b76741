"""Evaluators as the training frameworks expect them: `RankingMetric` is a torchmetrics metric that
is exact over any number of processes, and `RankingCallback` evaluates and logs what the steps of a
LightningModule return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torchmetrics import Metric

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadArgument, NotComparable, NothingToEvaluate
from rectitude.evaluation.stream import Evaluator as Sums
from rectitude.torch.evaluator import Check, Evaluator, Repeated

_STATE = "evaluator"
Stage = Literal["val", "test"]
Inputs = Callable[[Any, Any], Mapping[str, Any]]


class RankingMetric(Metric):
    """Ranking metrics for `MetricCollection`, `self.log` and anything else that takes a metric.

    The arguments and `update` are those of `rectitude.torch.Evaluator`. `compute` returns a scalar
    for one metric and a dict by name for several; `evaluation` returns the whole evaluation. With
    several processes, sums and counts are gathered and added, never averaged, and lists that a
    sampler repeats are counted once (see `repeats`).
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        intervals: bool = False,
        per_list: Literal["kept", "dropped"] = "dropped",
        check: Check = "compute",
        repeats: Repeated | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.evaluator = Evaluator(
            metrics,
            convention,
            intervals=intervals,
            per_list=per_list,
            check=check,
            repeats=repeats,
        )
        self._persistent[_STATE] = False
        self._gathered: Sums | None = None

    def update(self, predictions: object, truth: object, **more: Any) -> None:
        """Add a batch, as `Evaluator.update` does."""
        self.evaluator.update(predictions, truth, **more)

    def compute(self) -> Tensor | dict[str, Tensor]:
        """Return the value of the metric, or a dict of all values by name."""
        with self._safely():
            return self._values(self._sums().compute())

    def evaluation(self) -> Evaluation:
        """Return the whole evaluation, over all processes; every process must call this."""
        with self.sync_context(should_sync=self.sync_on_compute), self._safely():
            return self._sums().compute()

    def forward(self, *args: Any, **kwargs: Any) -> Tensor | dict[str, Tensor]:
        """Add a batch, and return the value of that batch alone."""
        batch = self.evaluator.like()
        batch.update(*args, **kwargs)
        sums = batch.gathered(self.process_group) if self.dist_sync_on_step else batch.settled()
        value = self._values(sums.compute())
        self.evaluator = self.evaluator + batch
        self._computed = None
        self._update_count += 1
        self._forward_cache = cast("Any", value)
        return value

    def reset(self) -> None:
        """Forget all batches."""
        super().reset()
        self.evaluator.reset()
        self._gathered = None

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the batches of another metric."""
        if not isinstance(incoming_state, RankingMetric):
            raise NotComparable(
                f"the state to merge is of type {type(incoming_state).__name__}.",
                "a RankingMetric.",
            )
        self.evaluator = self.evaluator + incoming_state.evaluator
        self._computed = None

    def state_dict(  # type: ignore[override]
        self, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return what torchmetrics saves; after `persistent`, also everything added so far."""
        state = super().state_dict(destination, prefix, keep_vars)
        if self._persistent[_STATE]:
            packed = bytearray(self.evaluator.as_bytes())
            state[prefix + _STATE] = torch.frombuffer(packed, dtype=torch.uint8)
        return state

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        packed = state_dict.pop(prefix + _STATE, None)
        if packed is not None:
            self.evaluator.from_bytes(packed.cpu().numpy().tobytes())
            self._update_count = self.evaluator.batches
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _sync_dist(self, _: Any = None, process_group: Any = None) -> None:
        """Combine the batches of all processes; this replaces the gathering of tensors."""
        self._gathered = self.evaluator.gathered(process_group or self.process_group)

    def unsync(self, should_unsync: bool = True) -> None:
        """Go back to the batches of this process."""
        super().unsync(should_unsync)
        if should_unsync:
            self._gathered = None

    def _sums(self) -> Sums:
        return self.evaluator.settled() if self._gathered is None else self._gathered

    @contextmanager
    def _safely(self) -> Iterator[None]:
        """Go back to the batches of this process after an error; torchmetrics does not."""
        try:
            yield
        except Exception:
            if self._is_synced:
                self.unsync()
            raise

    def _values(self, evaluation: Evaluation) -> Tensor | dict[str, Tensor]:
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        values = {
            name: torch.tensor(evaluation[name], dtype=kind, device=self.device)
            for name in self.evaluator.sums.names
        }
        return values if len(values) > 1 else next(iter(values.values()))


class RankingCallback(Callback):
    """Evaluate during validation and test, and log `val/ndcg@10` and so on.

    `validation_step` and `test_step` return the arguments of `Evaluator.update` by name:
    `{"predictions": scores, "truth": targets, "ids": users}`. Alternatively, `inputs` makes these
    arguments from what a step returns and its batch. `evaluations` holds the last evaluation of
    each stage.
    """

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        inputs: Inputs | None = None,
        **options: Any,
    ) -> None:
        self._template = Evaluator(metrics, convention, **options)
        self._inputs = inputs
        self._running: dict[int, Evaluator] = {}
        self.evaluations: dict[str, Evaluation] = {}

    def on_validation_epoch_start(self, *_: Any) -> None:
        """Discard the batches of the previous epoch."""
        self._running = {}

    def on_test_epoch_start(self, *_: Any) -> None:
        """Discard the batches of the previous epoch."""
        self._running = {}

    def on_validation_batch_end(self, *args: Any, **more: Any) -> None:
        """Add what `validation_step` returned."""
        self._add("validation_step", *args[2:], **more)

    def on_test_batch_end(self, *args: Any, **more: Any) -> None:
        """Add what `test_step` returned."""
        self._add("test_step", *args[2:], **more)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values of the epoch."""
        self._log("val", trainer, pl_module)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values of the test."""
        self._log("test", trainer, pl_module)

    def _add(self, step: str, outputs: Any, batch: Any, _: int, dataloader_idx: int = 0) -> None:
        arguments = outputs if self._inputs is None else self._inputs(outputs, batch)
        if not isinstance(arguments, Mapping) or not {"predictions", "truth"} <= set(arguments):
            raise BadArgument(
                f"{step} returned {_describe(arguments)}.",
                "a dict with 'predictions', 'truth' and any other argument of Evaluator.update.",
                "return {'predictions': scores, 'truth': targets, 'ids': users}, or pass inputs=.",
            )
        update = {name: value for name, value in arguments.items() if name != "loss"}
        self._running.setdefault(dataloader_idx, self._template.like()).update(**update)

    def _log(self, stage: Stage, trainer: Trainer, pl_module: LightningModule) -> None:
        loaders = getattr(trainer, f"num_{stage}_batches")
        for number in range(len(loaders)):
            where = stage if len(loaders) == 1 else f"{stage}/dataloader_{number}"
            sums = self._running.get(number, self._template.like()).gathered()
            if not sums.batches:
                raise NothingToEvaluate(
                    f"no process had a batch of {where}.", "at least one batch in one process."
                )
            evaluation = sums.compute()
            self.evaluations[where] = evaluation
            values = {f"{where}/{name}": evaluation[name] for name in self._template.sums.names}
            pl_module.log_dict(values, on_epoch=True, on_step=False, add_dataloader_idx=False)


def _describe(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a dict with {', '.join(map(repr, value)) or 'nothing'}"
    return f"a {type(value).__name__}"

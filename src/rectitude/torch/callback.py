"""`RankingCallback`: what the steps of a LightningModule return is evaluated and logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from lightning.pytorch import Callback, LightningModule, Trainer

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.torch.evaluator import Evaluator

Stage = Literal["val", "test"]
Inputs = Callable[[Any, Any], Mapping[str, Any]]


class RankingCallback(Callback):
    """Evaluates in validation and test, and logs `val/ndcg@10` and so on.

    `validation_step` and `test_step` return the arguments of `Evaluator.update` by name:
    `{"predictions": scores, "truth": targets, "ids": users}`. Or `inputs` makes them from what a
    step returns and its batch. `evaluations` holds the last evaluation of each stage.
    """

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        inputs: Inputs | None = None,
        **options: Any,
    ) -> None:
        self._first = Evaluator(metrics, convention, **options)
        self._inputs = inputs
        self._running: dict[int, Evaluator] = {}
        self.evaluations: dict[str, Evaluation] = {}

    def on_validation_epoch_start(self, *_: Any) -> None:
        """Begin anew."""
        self._running = {}

    def on_test_epoch_start(self, *_: Any) -> None:
        """Begin anew."""
        self._running = {}

    def on_validation_batch_end(self, *given: Any, **more: Any) -> None:
        """Add what `validation_step` returned."""
        self._add("validation_step", *given[2:], **more)

    def on_test_batch_end(self, *given: Any, **more: Any) -> None:
        """Add what `test_step` returned."""
        self._add("test_step", *given[2:], **more)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values of the epoch."""
        self._log("val", trainer, pl_module)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values of the test."""
        self._log("test", trainer, pl_module)

    def _add(self, step: str, outputs: Any, batch: Any, _: int, dataloader_idx: int = 0) -> None:
        given = outputs if self._inputs is None else self._inputs(outputs, batch)
        if not isinstance(given, Mapping) or not {"predictions", "truth"} <= set(given):
            raise BadName(
                f"{step} returned {_words(given)}.",
                "a dict with 'predictions' and 'truth', and what else Evaluator.update takes.",
                "return {'predictions': scores, 'truth': targets, 'ids': users}, or pass inputs=.",
            )
        update = {name: value for name, value in given.items() if name != "loss"}
        self._running.setdefault(dataloader_idx, self._first.like()).update(**update)

    def _log(self, stage: Stage, trainer: Trainer, pl_module: LightningModule) -> None:
        loaders = getattr(trainer, f"num_{stage}_batches")
        for number in range(len(loaders)):
            where = stage if len(loaders) == 1 else f"{stage}/dataloader_{number}"
            sums = self._running.get(number, self._first.like()).gathered()
            if not sums.batches:
                raise NothingToEvaluate(f"no process had a batch of {where}.", "a batch.")
            evaluation = sums.compute()
            self.evaluations[where] = evaluation
            values = {f"{where}/{name}": evaluation[name] for name in self._first.sums.names}
            pl_module.log_dict(values, on_epoch=True, on_step=False, add_dataloader_idx=False)


def _words(given: object) -> str:
    if isinstance(given, Mapping):
        return f"a dict with {', '.join(map(repr, given)) or 'nothing'}"
    return f"a {type(given).__name__}"

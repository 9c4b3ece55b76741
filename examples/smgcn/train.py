"""Train SMGCN, watch it with `rt.History`, and see what its numbers are under each convention.

    python examples/smgcn/train.py                                     small made data, seconds
    python examples/smgcn/train.py herb --train train_id.txt           trained without validation
    python examples/smgcn/train.py herb --train train.txt              with it, as published

`herb` is a folder with train.txt, train_id.txt, valid_id.txt and test.txt. The epoch is chosen on
the validation rows, and its numbers on the test rows are what a model is worth.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from model import SMGCN, Graphs, herb_weights, multi_label_loss
from numpy.typing import NDArray
from prescriptions import Prescriptions, generate, multi_hot, read

import rectitude as rt

METRICS = [f"{name}@{{5,10,15,20}}" for name in ("precision", "recall", "f1", "rmrr", "ndcg")]
CONVENTIONS = ("default", "smgcn", "smgcn-f1", "smgcn-icde")
BATCH = 1024


class Training:
    """A model, what it learns from, and its optimiser."""

    def __init__(self, train: Prescriptions, sizes: tuple[int, int], words: argparse.Namespace):
        torch.manual_seed(words.seed)
        self.order = np.random.default_rng(words.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train, self.decay = train, words.decay
        self.graphs = Graphs.of(train, *sizes).to(self.device)
        self.targets = multi_hot(train.herbs, sizes[1])
        self.weights = herb_weights(train, sizes[1]).to(self.device)
        self.model = SMGCN(*sizes)
        self.model.start_at(torch.from_numpy(self.targets.mean(axis=0)))
        self.model.to(self.device)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=words.lr)

    def epoch(self) -> dict[str, float]:
        """Learn from every prescription once; the losses, added up over batches."""
        total = torch.zeros(2, device=self.device)
        rows = self.order.permutation(len(self.train))
        for batch in np.split(rows, range(BATCH, len(rows), BATCH)):
            logits, length = self.model(self.graphs, [self.train.symptoms[row] for row in batch])
            targets = torch.from_numpy(self.targets[batch].toarray()).to(self.device)
            error = multi_label_loss(logits, targets, self.weights)
            parts = torch.stack([error, self.decay * length / BATCH])
            self.optimiser.zero_grad()
            parts.sum().backward()
            self.optimiser.step()
            total += parts.detach()
        error, length = total.tolist()
        return {"loss": error + length, "mf_loss": error, "emb_loss": length, "reg_loss": 0.0}

    @torch.inference_mode()
    def scores(self, rows: Prescriptions) -> NDArray[np.float32]:
        """(rows, herbs) the scores of every herb for every row."""
        logits: torch.Tensor = self.model(self.graphs, rows.symptoms)[0]
        return logits.cpu().numpy()


def trained(training: Training, validation: Prescriptions, words: argparse.Namespace) -> rt.History:
    """Train, evaluate now and then, stop when nothing gets better, and keep the best weights."""
    history, truth, start = rt.History("recall@5"), validation.truth(), perf_counter()
    kept = {}
    for epoch in range(words.epochs):
        losses = training.epoch()
        if (epoch + 1) % words.every:
            continue
        learnt = perf_counter()
        evaluation = rt.evaluate(rt.Scores(training.scores(validation)), truth, METRICS)
        seconds = learnt - start, perf_counter() - learnt
        start = perf_counter()
        history.add(epoch, evaluation, losses, seconds)
        print(history.line("smgcn-f1"), f" ndcg@5={evaluation['ndcg@5']:.5f}", flush=True)
        if history.best().number == epoch:
            kept = {name: value.clone() for name, value in training.model.state_dict().items()}
        if history.stop(words.patience):
            break
    if kept:
        training.model.load_state_dict(kept)
    return history


def report(training: Training, parts: dict[str, Prescriptions]) -> None:
    """The numbers of the best epoch under each convention, and why NDCG differs."""
    for name, rows in parts.items():
        scores, truth = rt.Scores(training.scores(rows)), rows.truth()
        for convention in CONVENTIONS:
            evaluation = rt.evaluate(scores, truth, METRICS, convention=convention)
            print(f"\n{name}, {len(rows):,} rows, convention {convention}")
            for metric, values in evaluation.arrays().items():
                print(f"  {metric:10}", *(f"{value:.5f}" for value in values))
    for convention in ("smgcn", "smgcn-icde"):
        print(f"\n{rt.explain(scores, truth, 'ndcg@20', 'default', convention)}")


def arguments() -> argparse.Namespace:
    """What was asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, help="a folder; small made data without it")
    parser.add_argument("--train", default="train_id.txt", help="the file to learn from")
    parser.add_argument("--epochs", type=int, default=100, help="at most")
    parser.add_argument("--every", type=int, default=2, help="epochs from evaluation to evaluation")
    parser.add_argument("--patience", type=int, default=10, help="evaluations without a better one")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--decay", type=float, default=7e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="a folder for the history and the scores")
    return parser.parse_args()


def opened(words: argparse.Namespace) -> dict[str, Prescriptions]:
    """The prescriptions to learn from, to choose an epoch by, and to test with."""
    files = {"train": words.train, "validation": "valid_id.txt", "test": "test.txt"}
    with tempfile.TemporaryDirectory() as made:
        if words.data is None:
            generate(Path(made), words.seed)
        folder = words.data or Path(made)
        return {name: read(folder / file) for name, file in files.items()}


def main() -> None:
    """Read, train, report."""
    words = arguments()
    parts = opened(words)
    symptoms = 1 + max(max(ids) for part in parts.values() for ids in part.symptoms)
    herbs = 1 + max(max(ids) for part in parts.values() for ids in part.herbs)
    training = Training(parts.pop("train"), (symptoms, herbs), words)
    history = trained(training, parts["validation"], words)
    print(history.best_line("smgcn-f1"))
    report(training, parts)
    if words.save:
        words.save.mkdir(parents=True, exist_ok=True)
        history.save(words.save / "history.json")
        history.plot(path=words.save / "history.html")
        for name, rows in parts.items():
            np.save(words.save / f"{name}.npy", training.scores(rows))


if __name__ == "__main__":
    main()

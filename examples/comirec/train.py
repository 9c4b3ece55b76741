"""Train ComiRec's models, and report them under ComiRec's own definitions and the default ones.

    python examples/comirec/train.py                 small made data, seconds
    python examples/comirec/train.py Video.txt       a file of lines `user item`, minutes

Needs `pip install 'rectitude[torch,faiss]'`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from games import Games, Side, batches, clusters, read, write_tiny
from interests import MODELS, Recommender
from measures import (
    CUTOFFS,
    Numbers,
    Vectors,
    by_coefficient,
    by_index,
    evaluated,
    text,
    under_profiles,
)
from retrieval import exact

import rectitude as rt
from rectitude.explanation.diagnose import diagnose


def train(name: str, games: Games, options: argparse.Namespace) -> tuple[Recommender, rt.History]:
    """The model of the best epoch, by recall of the validation users."""
    torch.manual_seed(options.seed)
    random = np.random.default_rng(options.seed)
    model = MODELS[name](games.items, options.size, options.interests)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    history, best = rt.History(f"recall@{CUTOFFS[-1]}"), model.state_dict()
    for epoch in range(options.epochs):
        start = time.perf_counter()
        losses = [step(model, optimizer, *batch) for batch in batches(games.sequences, 256, random)]
        if (epoch + 1) % options.every:
            continue
        found = evaluated(predicted(model, games.validation), games.validation, [history.metric])
        seconds = time.perf_counter() - start
        history.add(epoch, found, losses={"loss": float(np.mean(losses))}, seconds=seconds)
        print(f"{name} epoch {epoch + 1}: loss {np.mean(losses):.4f}, {history.metric} "
              f"{found[history.metric]:.4f}", file=sys.stderr)  # fmt: skip
        if history.best().number == epoch:
            best = {key: value.clone() for key, value in model.state_dict().items()}
        if history.stop(patience=options.patience):
            break
    model.load_state_dict(best)
    return model, history


def step(
    model: Recommender, optimizer: torch.optim.Optimizer, seen: np.ndarray, next_items: np.ndarray
) -> float:
    optimizer.zero_grad()
    loss = model.loss(torch.from_numpy(seen), torch.from_numpy(next_items))
    loss.backward()
    optimizer.step()
    return loss.item()


def vectors_of(model: Recommender, side: Side) -> Vectors:
    """The interests of the users, and the vectors of the items."""
    with torch.inference_mode():
        interests = model(torch.from_numpy(side.histories)).numpy()
        return interests, model.vectors.weight.numpy()


def predicted(model: Recommender, side: Side) -> rt.Scores | rt.Embeddings:
    return exact(*vectors_of(model, side), side.users)


def report(name: str, games: Games, options: argparse.Namespace) -> dict[str, Numbers]:
    """Train a model, and print and return its numbers."""
    start = time.perf_counter()
    model, history = train(name, games, options)
    best, took = history.best(), time.perf_counter() - start
    print(f"\n{name}: best epoch {best.number + 1} of {history[-1].number + 1}, {took:.0f} s")
    predictions, vectors = predicted(model, games.test), vectors_of(model, games.test)
    results = {
        "definitions": under_profiles(predictions, games.test),
        "index": by_index(vectors, games.test, options.probes),
        "variety": by_coefficient(vectors, games.test, options.categories, options.coefficients),
    }
    print(text(f"{name} under five definitions", results["definitions"]))
    print(text(f"{name} from a faiss index, as comirec counts", results["index"]))
    print(text(f"{name} re-ranked by category, as comirec counts", results["variety"]))
    truth, seen = games.test.truth, games.test.fold_in
    print(f"\n{diagnose(predictions, truth, CUTOFFS[0], train=seen)}")
    asked = (f"ndcg@{CUTOFFS[0]}", "comirec", "default")
    print(f"\n{rt.explain(predictions, truth, *asked, train=seen)}")
    return results


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("data", type=Path, nargs="?", help="a file of lines `user item`, in the order of time")
    add("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    add("--interests", type=int, default=4)
    add("--size", type=int, default=32, help="of vectors")
    add("--rate", type=float, default=0.005, help="of learning")
    add("--epochs", type=int, default=60)
    add("--every", type=int, default=2, help="epochs from one evaluation to the next")
    add("--patience", type=int, default=3, help="evaluations without a better one")
    add("--clusters", type=int, default=30, help="that stand in for categories")
    add("--coefficients", type=float, nargs="+", default=[0, 0.05, 0.1, 0.25, 0.5, 1])
    add("--probes", type=int, nargs="+", default=[1, 4, 16])
    add("--seed", type=int, default=1)
    add("--output", type=Path, help="write all numbers as JSON")
    return parser.parse_args(words)


def opened(options: argparse.Namespace) -> Games:
    if options.data is not None:
        return read(options.data, seed=options.seed)
    with tempfile.TemporaryDirectory() as folder:
        write_tiny(Path(folder, "tiny.txt"))
        return read(Path(folder, "tiny.txt"), seed=options.seed)


def main(words: list[str]) -> None:
    options = options_of(words)
    games = opened(options)
    users = [len(games.sequences), len(games.validation.users), len(games.test.users)]
    print(f"{games.items:,} items; users to learn from, to choose by, to report: {users}")
    options.categories = clusters(games, min(options.clusters, games.items // 10), options.seed)
    results = {name: report(name, games, options) for name in options.models}
    if options.output:
        options.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])

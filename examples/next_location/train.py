"""Next places from one day and from seven days of history, by counts of steps and by attention.

    python examples/next_location/train.py
    python examples/next_location/train.py --users 20 --days 28 --epochs 3

Needs `pip install 'rectitude[torch]'`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from checkins import CheckIns, Samples, generate, samples
from predictors import Attention, Markov, tensors, trained
from torch import Tensor

import rectitude as rt
from rectitude.comparison.improvement import improvement
from rectitude.comparison.improvement import text as describe
from rectitude.render import Grid
from rectitude.reports.guide import guide
from rectitude.reports.guide import text as guide_text
from rectitude.torch import Evaluator

METRICS = ["accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy"]
BESIDE = ["macro_f1", "mean_rank"]  # what the guide's seven do not show
HISTORIES = (1, 7)
Predict = Callable[[Samples], Tensor]


def streamed(predict: Predict, test: Samples) -> rt.Evaluation:
    """All metrics, batch by batch: no more logits are held than those of one batch."""
    evaluator = Evaluator([*METRICS, *BESIDE])
    with torch.inference_mode():
        for batch in test.batches(500):
            logits = predict(batch)
            targets = torch.from_numpy(batch.target).to(logits.device)
            evaluator.update(rt.Logits(logits), targets)
    return evaluator.compute()


def by_counts(steps: Markov) -> Predict:
    return lambda batch: torch.from_numpy(steps.logits(batch))


def by_attention(model: Attention) -> Predict:
    return lambda batch: model(*tensors(batch, model.again.device))


def evaluations(visits: CheckIns, options: argparse.Namespace) -> dict[str, rt.Evaluation]:
    """Every predictor on the same visits of the last days; earlier days are learnt from."""
    cut = int(options.days * 0.8)
    found: dict[str, rt.Evaluation] = {}
    for days in HISTORIES:
        train = samples(visits, days, 1, cut)
        test = samples(visits, days, cut, options.days)
        if not found:
            commonest = rt.Logits.majority(train.target, visits.places, len(test))
            found["commonest place"] = rt.evaluate(commonest, test.target, [*METRICS, *BESIDE])
            found["markov"] = streamed(by_counts(Markov(train, visits.places)), test)
        own = Markov(train, visits.places, own=0.8)
        found[f"per-user markov, {days}d"] = streamed(by_counts(own), test)
        model = trained(train, visits.places, options.epochs, options.seed)
        found[f"attention, {days}d"] = streamed(by_attention(model), test)
    return found


def table(found: dict[str, rt.Evaluation]) -> str:
    """Every predictor, shares in percent."""
    names = list(next(iter(found.values())).results)
    rows = [[label, *(_shown(one, name) for name in names)] for label, one in found.items()]
    return Grid(["", *names], rows).text()


def _shown(evaluation: rt.Evaluation, name: str) -> str:
    share = rt.METRICS[evaluation.results[name].metric].bounds == (0.0, 1.0)
    return f"{100 * evaluation[name]:.2f}%" if share else f"{evaluation[name]:.3f}"


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--users", type=int, default=100)
    add("--days", type=int, default=56)
    add("--epochs", type=int, default=8)
    add("--seed", type=int, default=0)
    add("--output", type=Path, help="write all numbers as JSON")
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    options = options_of(words)
    visits = generate(options.users, options.days, options.seed)
    share = np.bincount(visits.place).max() / len(visits)
    homes = float((visits.place <= options.users).mean())
    print(f"{len(visits):,} visits of {options.users} people to {visits.places} places; "
          f"{homes:.0%} are at home, the commonest place has {share:.1%}\n")  # fmt: skip
    found = evaluations(visits, options)
    print(table(found))
    for kind in ("per-user markov", "attention"):
        change = improvement(*(found[f"{kind}, {days}"] for days in ("1d", "7d")))
        print(f"\n{kind}, one day of history -> seven:\n{describe(change)}", end="")
    print(f"\n{guide_text([guide()[-1]])}")
    if options.output:
        numbers = {label: one.values() for label, one in found.items()}
        options.output.write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])

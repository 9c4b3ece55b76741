"""The line that SMGCN's evaluation prints: one array per metric, by cutoff.

recall=[0.14138\t0.22451], precision=[...], F1=[...], RMRR=[...]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName
from rectitude.metrics.names import Name, parse_all

CUTOFFS = (5, 10, 15, 20)
PLACES = {"recall": "recall", "precision": "precision", "f1": "F1", "ndcg": "ndcg", "rmrr": "RMRR"}
"""the metrics of the line in their order, and what they are called there"""
ALWAYS = ("recall", "precision", "f1", "rmrr")


def names(asked: Sequence[str] = ()) -> list[str]:
    """The names to evaluate: the metrics of the line at the cutoffs asked; NDCG only if asked."""
    wanted = [_placed(name) for name in parse_all(asked)] if asked else []
    cutoffs = list(dict.fromkeys(name.cutoff for name in wanted)) or CUTOFFS
    metrics = {*ALWAYS, *(name.base for name in wanted)}
    return [f"{metric}@{k}" for metric in PLACES if metric in metrics for k in cutoffs]


def _placed(name: Name) -> Name:
    if name.base not in PLACES or name.variants or name.at is None:
        raise BadName(
            f"the SMGCN line has no place for {str(name)!r}.",
            f"{', '.join(PLACES)} at a cutoff, such as recall@20.",
        )
    return name


def line(evaluation: Evaluation) -> str:
    """The line of one evaluation, made of the names that `names` gives."""
    arrays: dict[str, list[str]] = {}
    for name in names([*evaluation.results, *evaluation.failures]):
        arrays.setdefault(PLACES[name.partition("@")[0]], []).append(written(evaluation, name))
    joined = {name: "\t".join(values) for name, values in arrays.items()}
    return ", ".join(f"{name}=[{values}]" for name, values in joined.items())


def written(evaluation: Evaluation, name: str) -> str:
    """A number as SMGCN writes it, or a word in its place."""
    if name in evaluation.failures:
        return "failed"
    value = evaluation[name]
    return "undefined" if math.isnan(value) else f"{value:.5f}"


def lines(evaluations: Mapping[str, Evaluation]) -> str:
    """The lines of several evaluations, each behind its label."""
    return "".join(f"{label}: {line(one)}\n" for label, one in evaluations.items())

"""Actors of Ray that rank blocks of users, each with its own copy of the model or of the item
vectors, on a GPU where it has one.

An actor keeps nothing between blocks: it returns the sums of each, which this process adds. If an
actor is lost, Ray starts another, which ranks the blocks that were not returned, so each counts
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import Module

from rectitude.engines.ray import cluster_resources, started
from rectitude.errors import BadArgument, MissingExtra, RectitudeError
from rectitude.evaluation.stream import Evaluator as Sums
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.torch.evaluator import Evaluator

RETRIES = 3
"""how often a lost actor is started again, and a block ranked again"""
_AHEAD = 2
"""blocks that wait for each actor, so that it never waits for one"""


class Actors(NamedTuple):
    """How many actors rank, and how many GPUs each of them has."""

    number: int
    gpus: float | None = None
    """None for one if the cluster has any; a fraction lets actors share one"""


@dataclass(frozen=True, slots=True)
class OfVectors:
    """Ranks users by the products of their vectors with those of all items."""

    embeddings: Embeddings

    def predict(self, inputs: Tensor, names: object) -> Embeddings:
        """Return what is evaluated for some user vectors."""
        return replace(self.embeddings, user_vectors=inputs, users=names)

    def moved_to(self, device: torch.device) -> OfVectors:
        """Return the same with the item vectors on a device."""
        vectors = cast("Tensor", self.embeddings.item_vectors).to(device)
        return OfVectors(replace(self.embeddings, item_vectors=vectors))


@dataclass(frozen=True, slots=True)
class OfModel:
    """Ranks users by the scores of a model."""

    score: Callable[..., Any]

    def predict(self, inputs: Tensor, names: object) -> Scores:
        """Return the scores of some users."""
        return Scores(self.score(inputs), users=names)

    def moved_to(self, device: torch.device) -> OfModel:
        """Return the same with the model on a device."""
        return OfModel(self.score.to(device)) if isinstance(self.score, Module) else self


@dataclass(frozen=True, slots=True)
class Block:
    """Some users: what the model takes, their names, and the other arguments of an update."""

    inputs: Tensor
    names: object
    arguments: Mapping[str, Any]


class Ranker:
    """An actor: it ranks blocks on its device."""

    def __init__(self, evaluator: Evaluator, ranks: OfVectors | OfModel) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.evaluator, self.ranks = evaluator, ranks.moved_to(self.device)

    def rank(self, block: Block, shared: Mapping[str, Any]) -> Sums:
        """Return the sums of a block; `shared` are arguments that all blocks have."""
        evaluator = self.evaluator.like()
        with torch.inference_mode():
            predictions = self.ranks.predict(block.inputs.to(self.device), block.names)
            evaluator.update(predictions, **{**shared, **block.arguments})
            return evaluator.settled()


def add_in_actors(
    evaluator: Evaluator,
    ranks: OfVectors | OfModel,
    blocks: Iterable[Block],
    shared: Mapping[str, Any],
    actors: Actors,
) -> Iterator[int]:
    """Rank blocks in actors, and add their sums to an evaluator; yield the rows of each block that
    was added."""
    if actors.number < 1:
        raise BadArgument(f"actors is {actors.number}.", "a whole number of at least 1.")
    try:
        import ray  # noqa: PLC0415  (for actors only)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "actors= needs ray, which is not installed.", "", "pip install 'rectitude[ray]'"
        ) from error
    with started():
        usual = 1 if cluster_resources().get("GPU", 0) else 0
        gpus = usual if actors.gpus is None else actors.gpus
        kind: Any = ray.remote(Ranker)
        kind = kind.options(num_gpus=gpus, max_restarts=RETRIES, max_task_retries=RETRIES)
        made_of = ray.put(evaluator.like()), ray.put(ranks.moved_to(torch.device("cpu")))
        common, running = ray.put({**shared}), [kind.remote(*made_of) for _ in range(actors.number)]
        free: list[Any] = running * _AHEAD
        pending: dict[Any, Any] = {}
        for block in blocks:
            if not free:
                yield from _add_done(evaluator, pending, free)
            actor = free.pop()
            pending[actor.rank.remote(block, common)] = (actor, len(block.inputs))
        while pending:
            yield from _add_done(evaluator, pending, free)


def _add_done(evaluator: Evaluator, pending: dict[Any, Any], free: list[Any]) -> Iterator[int]:
    """Add the sums of a block that is done; its actor is free for another."""
    import ray  # noqa: PLC0415  (for actors only)

    (done,), _ = ray.wait([*pending])
    actor, rows = pending.pop(done)
    free.append(actor)
    try:
        evaluator.sums = evaluator.sums + ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, RectitudeError):
            raise error.cause from error
        raise
    yield rows

"""ComiRec's models: histories in, one or several vectors per user out.

Cen et al., Controllable multi-interest framework for recommendation, KDD 2020.
"""

from __future__ import annotations

import torch
from games import HISTORY, PADDING
from torch import Tensor, nn


class Recommender(nn.Module):
    """Item vectors, and the loss that all models share."""

    def __init__(self, items: int, size: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(items + 1, size, padding_idx=PADDING)
        nn.init.normal_(self.vectors.weight, std=size**-0.5)

    def forward(self, histories: Tensor) -> Tensor:
        """(users, interests, size) the interests behind (users, HISTORY) items."""
        raise NotImplementedError

    def loss(self, histories: Tensor, targets: Tensor) -> Tensor:
        """Sampled softmax: the target among negatives drawn for the whole batch, ten for each
        target, as the interest that is nearest to the target scores them."""
        right = self.vectors(targets)
        interests = self(histories)
        nearest = (interests @ right[..., None]).squeeze(-1).argmax(1)
        chosen = interests[torch.arange(len(targets)), nearest]
        others = torch.randint(1, self.vectors.num_embeddings, (10 * len(targets),))
        logits = chosen @ self.vectors(others).T
        logits = logits.masked_fill(others == targets[:, None], -torch.inf)
        first = (chosen * right).sum(1, keepdim=True)
        return nn.functional.cross_entropy(torch.cat([first, logits], 1), torch.zeros_like(targets))


class DNN(Recommender):
    """One vector: the mean of the history, through a layer."""

    def __init__(self, items: int, size: int, interests: int = 1) -> None:
        super().__init__(items, size)
        self.layer = nn.Linear(size, size)

    def forward(self, histories: Tensor) -> Tensor:
        there = (histories != PADDING)[..., None]
        mean = (self.vectors(histories) * there).sum(1) / there.sum(1).clamp(min=1)
        return self.layer(mean)[:, None]


class SelfAttention(Recommender):
    """ComiRec-SA: each interest is a weighted mean of the history, with weights of its own."""

    def __init__(self, items: int, size: int, interests: int) -> None:
        super().__init__(items, size)
        self.places = nn.Parameter(torch.randn(HISTORY, size) * size**-0.5)
        self.hidden = nn.Linear(size, 4 * size)
        self.weights = nn.Linear(4 * size, interests)

    def forward(self, histories: Tensor) -> Tensor:
        vectors = self.vectors(histories)
        weights = self.weights(torch.tanh(self.hidden(vectors + self.places)))
        weights = weights.masked_fill((histories == PADDING)[..., None], -torch.inf)
        return weights.softmax(1).transpose(1, 2) @ vectors


class DynamicRouting(Recommender):
    """ComiRec-DR: interests are capsules, to which the items of the history are routed."""

    rounds = 3

    def __init__(self, items: int, size: int, interests: int) -> None:
        super().__init__(items, size)
        # near the identity, so that capsules begin as means of the history: learnt in minutes
        noise = torch.randn(HISTORY, interests, size, size) * 0.3 * size**-0.5
        self.layers = nn.Parameter(torch.eye(size) + noise)

    def forward(self, histories: Tensor) -> Tensor:
        vectors = self.vectors(histories)
        votes = torch.einsum("utd,tied->uite", vectors, self.layers)
        fixed = votes.detach()  # routing itself is not learnt
        missing = (histories == PADDING)[:, None]
        logits = votes.new_zeros(votes.shape[:3])
        for _ in range(self.rounds - 1):
            capsules = squash(_routed(logits, missing, fixed))
            logits = logits + (fixed @ capsules[..., None]).squeeze(-1)
        return squash(_routed(logits, missing, votes))


def _routed(logits: Tensor, missing: Tensor, votes: Tensor) -> Tensor:
    weights = logits.softmax(1).masked_fill(missing, 0.0)
    return (weights[..., None] * votes).sum(2)


def squash(capsules: Tensor) -> Tensor:
    """The same directions, with lengths below 1."""
    square = capsules.square().sum(-1, keepdim=True)
    return capsules * square / (1 + square) / (square + 1e-9).sqrt()


MODELS = {"dnn": DNN, "sa": SelfAttention, "dr": DynamicRouting}

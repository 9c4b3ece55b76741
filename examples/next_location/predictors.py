"""Predictors of the next place: counts of steps, and a small attention model."""

from __future__ import annotations

import numpy as np
import torch
from checkins import PADDING, WEEK, Samples
from torch import Tensor, nn


class Markov:
    """Where people go from a place: steps of everybody, and with `own` those in the history shown.

    Three distributions are mixed: the person's own steps from the last place, the places of their
    history, and everybody's steps from the last place with one more for every place.
    """

    def __init__(self, train: Samples, places: int, own: float = 0.0) -> None:
        steps = np.ones((places + 1, places))
        np.add.at(steps, (train.place[:, -1], train.target), 1)
        self.everybody = steps / steps.sum(axis=1, keepdims=True)
        self.weights = (own * 0.7, own * 0.3, 1 - own)

    def logits(self, batch: Samples) -> np.ndarray:
        """(samples, places) logarithms of probabilities."""
        before, after = batch.place[:, :-1], batch.place[:, 1:]
        same = (before == batch.place[:, -1:]) & (before != PADDING)
        everybody = self.everybody[batch.place[:, -1]]
        parts = (
            shares(after, same, everybody),
            shares(batch.place, batch.place != PADDING, everybody),
            everybody,
        )
        mixed = sum(w * part for w, part in zip(self.weights, parts, strict=True))
        return np.log(mixed).astype(np.float32)


def shares(place: np.ndarray, counted: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """(samples, places) how often each place is counted, as a share; something else in rows in
    which nothing is."""
    counts = np.zeros((len(place), otherwise.shape[1] + 1))
    rows = np.broadcast_to(np.arange(len(place))[:, None], place.shape)
    np.add.at(counts, (rows, place), counted)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts[:, 1:] / np.maximum(total, 1), otherwise)


class Attention(nn.Module):
    """The last visit looks back at the history; places that it looks at are likelier."""

    def __init__(self, places: int, size: int = 32) -> None:
        super().__init__()
        self.place = nn.Embedding(places + 1, size, padding_idx=PADDING)
        self.hour, self.weekday = nn.Embedding(24, size), nn.Embedding(WEEK, size)
        self.age = nn.Embedding(WEEK, size)
        self.query, self.key = nn.Linear(size, size), nn.Linear(size, size)
        self.hidden, self.out = nn.Linear(2 * size, 2 * size), nn.Linear(2 * size, places)
        self.again = nn.Parameter(torch.tensor(5.0))

    def forward(self, place: Tensor, hour: Tensor, weekday: Tensor, age: Tensor) -> Tensor:
        """(samples, places) logits, from (samples, length) visits."""
        visits = self.place(place) + self.hour(hour) + self.weekday(weekday) + self.age(age)
        last = visits[:, -1]
        looks = (self.key(visits) @ self.query(last)[..., None]).squeeze(-1) / last.shape[1] ** 0.5
        # a visit is looked at for what came after it, which for the last one is not known
        after = torch.cat([place[:, 1:], torch.zeros_like(place[:, :1])], 1)
        weights = looks.masked_fill(place == PADDING, -1e9).softmax(1)
        context = (weights[..., None] * visits).sum(1)
        logits = self.out(torch.relu(self.hidden(torch.cat([context, last], 1))))
        copied = weights.new_zeros(len(place), logits.shape[1] + 1).scatter_add(1, after, weights)
        return logits + self.again * copied[:, 1:]


def tensors(batch: Samples, device: torch.device) -> tuple[Tensor, ...]:
    columns = (batch.place, batch.hour, batch.weekday, batch.age)
    return tuple(torch.from_numpy(column).to(device) for column in columns)


def trained(train: Samples, places: int, epochs: int, seed: int) -> Attention:
    """A model after some epochs of cross-entropy, on a GPU if there is one."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Attention(places).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(epochs):
        for batch in train.take(random.permutation(len(train))).batches(256):
            optimizer.zero_grad()
            logits = model(*tensors(batch, device))
            loss = nn.functional.cross_entropy(logits, torch.from_numpy(batch.target).to(device))
            loss.backward()
            optimizer.step()
    return model.eval()

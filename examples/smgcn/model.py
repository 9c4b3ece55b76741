"""SMGCN: herbs for a set of symptoms (Jin, Zhang, He et al., ICDE 2020).

Symptoms and herbs get vectors from two sources that are added up: the graph of which herb was given
for which symptom, in several layers with weights of their own for either side, and the graphs of
symptoms, and of herbs, that often go together. The vectors of the symptoms in a set are averaged
and turned by an MLP into one vector, the syndrome, whose products with herbs are the scores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from prescriptions import Prescriptions, met_together, multi_hot
from scipy.sparse import csr_array, eye_array
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, normalize

SYMPTOMS_TOGETHER, HERBS_TOGETHER = 5, 40
"""How often two must stand in one prescription to be synergistic."""


class Graphs(NamedTuple):
    """What is known of training: sparse adjacency matrices."""

    herbs_of_symptoms: Tensor
    symptoms_of_herbs: Tensor
    symptoms: Tensor
    herbs: Tensor

    @staticmethod
    def of(train: Prescriptions, symptoms: int, herbs: int) -> Graphs:
        """The graphs of training prescriptions, and of nothing else."""
        left, right = multi_hot(train.symptoms, symptoms), multi_hot(train.herbs, herbs)
        given = (left.T @ right).sign()
        pairs = met_together(left, SYMPTOMS_TOGETHER), met_together(right, HERBS_TOGETHER)
        own = (graph + eye_array(graph.shape[0], format="csr") for graph in pairs)
        return Graphs(*map(_tensor, (_averaging(given), _averaging(given.T.tocsr()), *own)))

    def to(self, device: torch.device) -> Graphs:
        """The graphs on a device."""
        return Graphs(*(graph.to(device) for graph in self))


def _averaging(graph: csr_array) -> csr_array:
    """Rows that add up to 1, so that a product is the mean over neighbours."""
    degree = np.maximum(graph.sum(axis=1), 1.0)
    return graph.multiply(1.0 / degree[:, None]).tocsr()


def _tensor(graph: csr_array) -> Tensor:
    entries = graph.tocoo()
    places = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    values = torch.from_numpy(entries.data.astype(np.float32))
    shape = entries.shape
    return torch.sparse_coo_tensor(places, values, shape, check_invariants=True).coalesce()


class Side(nn.Module):
    """The weights of one kind of node: symptoms, or herbs."""

    def __init__(self, nodes: int, sizes: list[int]) -> None:
        super().__init__()
        self.vectors = nn.Parameter(nn.init.xavier_uniform_(torch.empty(nodes, sizes[0])))
        self.messages = nn.ModuleList(nn.Linear(size, size, bias=False) for size in sizes[:-1])
        self.layers = nn.ModuleList(nn.Linear(2 * a, b) for a, b in pairwise(sizes))
        self.synergy = nn.Linear(sizes[0], sizes[-1], bias=False)

    def step(self, layer: int, own: Tensor, neighbours: Tensor) -> Tensor:
        """The vectors after a layer, from those before it and the mean of their neighbours'."""
        message = torch.tanh(self.messages[layer](neighbours))
        return torch.tanh(self.layers[layer](torch.cat([own, message], dim=1)))

    def fused(self, from_graph: Tensor, together: Tensor) -> Tensor:
        """What the graph of both sides says, plus what the graph of this side says."""
        synergy = torch.tanh(self.synergy(torch.sparse.mm(together, self.vectors)))
        return normalize(from_graph, dim=1) + synergy


class SMGCN(nn.Module):
    """Scores of all herbs for sets of symptoms."""

    def __init__(self, symptoms: int, herbs: int, sizes: tuple[int, ...] = (64, 128, 256)) -> None:
        super().__init__()
        self.symptoms, self.herbs = (Side(nodes, [*sizes]) for nodes in (symptoms, herbs))
        self.syndrome = nn.Linear(sizes[-1], sizes[-1])
        nn.init.xavier_uniform_(self.syndrome.weight, gain=0.1)
        self.usual = nn.Parameter(torch.zeros(herbs))

    def start_at(self, shares: Tensor) -> None:
        """Let every herb start as likely as it is in training.

        An addition to the paper, like the small first weights of the syndrome: there all herbs
        start at about one half, the first steps push the sigmoid deep into saturation, and hundreds
        of epochs go by before anything is learnt.
        """
        with torch.no_grad():
            self.usual.copy_(torch.logit(shares, eps=1e-6))

    def vectors(self, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """The vectors of symptoms and herbs."""
        left: Tensor = self.symptoms.vectors
        right: Tensor = self.herbs.vectors
        for layer in range(len(self.symptoms.layers)):
            to_left = torch.sparse.mm(graphs.herbs_of_symptoms, right)
            to_right = torch.sparse.mm(graphs.symptoms_of_herbs, left)
            left, right = (
                self.symptoms.step(layer, left, to_left),
                self.herbs.step(layer, right, to_right),
            )
        return self.symptoms.fused(left, graphs.symptoms), self.herbs.fused(right, graphs.herbs)

    def forward(self, graphs: Graphs, sets: list[list[int]]) -> tuple[Tensor, Tensor]:
        """(sets, herbs) logits, and half the squared length of all vectors that were used."""
        left, right = self.vectors(graphs)
        flat = torch.tensor([one for ids in sets for one in ids], device=left.device)
        starts = torch.tensor(np.cumsum([0, *map(len, sets[:-1])]), device=left.device)
        syndromes = torch.relu(self.syndrome(embedding_bag(flat, left, starts, mode="mean")))
        used = left[torch.unique(flat)].square().sum() + right.square().sum()
        return syndromes @ right.T + self.usual, used / 2


def herb_weights(train: Prescriptions, herbs: int) -> Tensor:
    """(herbs,) the commonest herb's count over the herb's own: rare herbs count as much."""
    counts = multi_hot(train.herbs, herbs).sum(axis=0)
    return torch.from_numpy(counts.max() / np.maximum(counts, 1.0)).float()


def multi_label_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The weighted squared error of a set, on average."""
    return ((targets - torch.sigmoid(logits)).square() @ weights).mean()

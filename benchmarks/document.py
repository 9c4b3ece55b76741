"""The functions printed in the next-location evaluation guide, as they stand there.

Only annotations are added and docstrings shortened. Each takes logits [N, locations] and targets
[N], and sorts or searches the rows anew.
"""

from __future__ import annotations

from typing import Any

import torch
from sklearn.metrics import f1_score
from torch import nn


def accuracy_at_k(logits: Any, targets: Any, k: int) -> Any:
    """Accuracy@k as percentage."""
    # Get top-k predictions
    _, top_k_indices = torch.topk(logits, k=k, dim=-1)  # [N, k]

    # Check if target is in top-k
    targets_expanded = targets.unsqueeze(1)  # [N, 1]
    hits = (targets_expanded == top_k_indices).any(dim=1)  # [N]

    # Calculate accuracy
    accuracy = hits.float().mean() * 100
    return accuracy  # noqa: RET504


def mean_reciprocal_rank(logits: Any, targets: Any) -> Any:
    """MRR as percentage."""
    # Sort predictions in descending order
    sorted_indices = torch.argsort(logits, dim=-1, descending=True)  # [N, num_locations]

    # Find rank of each target
    targets_expanded = targets.unsqueeze(1)  # [N, 1]
    matches = sorted_indices == targets_expanded  # [N, num_locations]

    # Get rank (1-indexed)
    ranks = matches.nonzero()[:, 1] + 1  # [N]

    # Calculate MRR
    reciprocal_ranks = 1.0 / ranks.float()
    mrr = reciprocal_ranks.mean() * 100

    return mrr  # noqa: RET504


def ndcg_at_k(logits: Any, targets: Any, k: int = 10) -> Any:
    """NDCG@k as percentage."""
    # Sort predictions
    sorted_indices = torch.argsort(logits, dim=-1, descending=True)

    # Find ranks
    targets_expanded = targets.unsqueeze(1)
    matches = sorted_indices == targets_expanded
    ranks = matches.nonzero()[:, 1] + 1  # 1-indexed

    # Calculate NDCG
    ndcg = 1.0 / torch.log2(ranks.float() + 1)

    # Zero out ranks beyond k
    ndcg[ranks > k] = 0

    return ndcg.mean() * 100


def weighted_f1(logits: Any, targets: Any) -> Any:
    """Weighted F1 as percentage."""
    # Get top-1 predictions
    predictions = torch.argmax(logits, dim=-1)  # [N]

    # Calculate weighted F1
    f1 = f1_score(targets.cpu().numpy(), predictions.cpu().numpy(), average="weighted")

    return f1 * 100


def cross_entropy_loss(logits: Any, targets: Any) -> Any:
    """Average cross-entropy loss."""
    criterion = nn.CrossEntropyLoss()
    loss = criterion(logits, targets)
    return loss.item()

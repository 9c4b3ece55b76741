"""From interests to lists: all products, or an index; and lists made again with more variety."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import rectitude as rt
from rectitude.candidate_sets.reranking import Pool, merge_searches, pool_interests, rerank
from rectitude.errors import MissingExtra

Lists = dict[int, list[int]]


def exact(
    interests: np.ndarray, vectors: np.ndarray, users: list[int]
) -> rt.Scores | rt.Embeddings:
    """The products of all interests and items, made block by block as they are needed.

    `vectors` begins with the padding, which is left out.
    """
    named = {"users": users, "items": np.arange(1, len(vectors))}
    if interests.shape[1] == 1:
        return rt.Embeddings(interests[:, 0], vectors[1:], **named)
    return rt.Scores(lambda: blocks(interests, vectors[1:]), **named)


def blocks(interests: np.ndarray, vectors: np.ndarray, step: int = 100) -> Iterator[np.ndarray]:
    users, number, size = interests.shape
    for first in range(0, users, step):
        part = interests[first : first + step].reshape(-1, size)
        yield (part @ vectors.T).reshape(-1, number, len(vectors))


def exact_pool(interests: np.ndarray, vectors: np.ndarray, k: int) -> Pool:
    """The best k items of every interest; their numbers count from 1 again."""
    pools = [pool_interests(block, k) for block in blocks(interests, vectors[1:])]
    items = np.concatenate([pool.items for pool in pools])
    scores = np.concatenate([pool.scores for pool in pools])
    return Pool(np.where(items >= 0, items + 1, -1), scores)


def index_pool(interests: np.ndarray, vectors: np.ndarray, k: int, probes: int) -> Pool:
    """The same from a faiss index, which looks into `probes` of its cells only."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra(
            "the index needs faiss, which is not installed.",
            advice="pip install 'rectitude[faiss]'.",
        ) from error
    size, cells = vectors.shape[1], max(1, int(len(vectors) ** 0.5))
    faiss.omp_set_num_threads(1)  # cells are trained alike on every machine
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(size), size, cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1
    index.train(vectors[1:])
    index.add(vectors[1:])
    index.nprobe = min(probes, cells)
    scores, items = index.search(interests.reshape(-1, size), k)
    found = np.where(items >= 0, items + 1, -1)
    return merge_searches(found.reshape(len(interests), -1), scores.reshape(len(interests), -1))


def lists_of(pool: Pool, users: list[int], k: int) -> Lists:
    """The best k of a pool, by user."""
    return _by_user(pool.items[:, :k], users)


def varied(
    pool: Pool, users: list[int], categories: np.ndarray, k: int, coefficient: float
) -> Lists:
    """The best k of a pool if each item costs the coefficient for every item of its category that
    stands above it."""
    return _by_user(rerank(pool, categories, k, coefficient), users)


def _by_user(items: np.ndarray, users: list[int]) -> Lists:
    rows = (row[row >= 0].tolist() for row in items)
    return dict(zip(users, rows, strict=True))

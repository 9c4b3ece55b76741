"""The numbers of a model: under five definitions, from an index, and with more variety."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from games import Side
from retrieval import exact_pool, index_pool, lists_of, varied

import rectitude as rt
from rectitude.render import Grid

CUTOFFS = (20, 50)
PROFILES = (
    "comirec",  # master: the ideal of NDCG is made of the hits
    "comirec-paper",  # the publication: the order of the list plays no part
    "comirec-hit",  # over users with a hit alone
    "comirec-torch",  # the port: right but for users without truth and full masks
    "default",
)
Numbers = dict[str, dict[str, float]]
Vectors = tuple[np.ndarray, np.ndarray]  # (users, interests, size) and (items + 1, size)


def evaluated(
    predictions: object, side: Side, names: list[str], convention: str = "default", **more: object
) -> rt.Evaluation:
    """What was shown counts as seen: most definitions leave it in the lists, ours does not."""
    return rt.evaluate(predictions, side.truth, names, convention, train=side.fold_in, **more)


def under_profiles(predictions: object, side: Side) -> Numbers:
    """The same scores under each definition."""
    names = [f"{name}@{k}" for k in CUTOFFS for name in ("recall", "hit", "ndcg")]
    return {profile: evaluated(predictions, side, names, profile).values() for profile in PROFILES}


def by_index(vectors: Vectors, side: Side, probes: list[int]) -> Numbers:
    """What an index finds of the exact lists, and what that does to the metrics."""
    k, names = CUTOFFS[-1], [f"recall@{CUTOFFS[-1]}", f"ndcg@{CUTOFFS[-1]}"]
    whole = lists_of(exact_pool(*vectors, k), side.users, k)
    tables: Numbers = {"exact": {f"found@{k}": 1.0, **values(whole, side, names)}}
    for number in probes:
        lists = lists_of(index_pool(*vectors, k, number), side.users, k)
        found = rt.evaluate(lists, whole, [f"recall@{k}"])[f"recall@{k}"]
        own = values(lists, side, names)
        tables[f"nprobe {number}"] = {f"found@{k}": found, **own}
    return tables


def values(lists: object, side: Side, names: list[str], **more: object) -> dict[str, float]:
    """As ComiRec's master counts: what was shown may be recommended again."""
    return evaluated(lists, side, names, "comirec", **more).values()


def by_coefficient(
    vectors: Vectors, side: Side, categories: np.ndarray, tried: list[float]
) -> Numbers:
    """What variety costs: the coefficient of the categories against recall."""
    k = CUTOFFS[-1]
    items = pl.DataFrame({"item": np.arange(1, len(categories)), "category": categories[1:]})
    names = [f"{name}@{k}" for name in ("recall", "hit", "ndcg", "diversity")]
    pool = exact_pool(*vectors, k)
    return {
        f"{coefficient:g}": values(
            varied(pool, side.users, categories, k, coefficient), side, names, items=items
        )
        for coefficient in tried
    }


def text(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Numbers as a table, one row each."""
    names = list(next(iter(rows.values())))
    cells = [[label, *(f"{row[name]:.4f}" for name in names)] for label, row in rows.items()]
    return f"\n{title}\n\n{Grid(['', *names], cells).text()}"

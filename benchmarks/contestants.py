"""One function per contestant: from two Parquet files to the values, as a user would write it.

Each maker below imports its library (not timed) and returns the function that is timed. A worker
calls it in the contestant's own environment, so this file imports nothing but NumPy by itself.
Metrics a peer does not have are left out, to the peer's advantage. Where a peer offers the choice,
its definition is set to ours: gain 0 or 1, discount log2(rank + 1), the ideal over what the user's
truth allows, precision over k, average precision over the relevant items.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CUTOFFS = (10, 20, 50, 100)
NAMES = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
METRICS = tuple(f"{name}@{k}" for name in NAMES for k in CUTOFFS)

Values = dict[str, float]
Evaluate = Callable[[Path], Values]


def rectitude() -> Evaluate:
    """This library, from the files."""
    import rectitude as rt

    def evaluate(folder: Path) -> Values:
        found = rt.evaluate(
            str(folder / "recs.parquet"), str(folder / "truth.parquet"), metrics=list(METRICS)
        )
        return {name: float(found[name]) for name in METRICS}

    return evaluate


def read_polars() -> Evaluate:
    """The lower limit: read both files and do nothing with them."""
    import polars as pl

    def evaluate(folder: Path) -> Values:
        pl.read_parquet(folder / "recs.parquet"), pl.read_parquet(folder / "truth.parquet")
        return {}

    return evaluate


def recbole() -> Evaluate:
    """RecBole's evaluator. It has no table input: the hit matrix it wants is built with pandas."""
    np.float = float  # type: ignore[attr-defined]  # an alias RecBole uses and NumPy 1.24 removed
    import torch
    from recbole.evaluator.collector import DataStruct
    from recbole.evaluator.evaluator import Evaluator

    metrics = ["Precision", "Recall", "Hit", "MRR", "MAP", "NDCG"]
    evaluator = Evaluator({"metrics": metrics, "topk": list(CUTOFFS), "metric_decimal_place": 10})

    def evaluate(folder: Path) -> Values:
        recs, truth = _pandas(folder)
        recs = recs.sort_values(["user", "score"], ascending=[True, False], kind="stable")
        marked = recs[["user", "item"]].merge(truth.assign(hit=1), on=["user", "item"], how="left")
        hits = marked["hit"].fillna(0).to_numpy(np.int32).reshape(-1, CUTOFFS[-1])
        relevant = truth.groupby("user").size().to_numpy(np.int32)
        judged = DataStruct()
        matrix = np.concatenate([hits, relevant[:, None]], axis=1)
        judged.set("rec.topk", torch.from_numpy(matrix))
        return {name: float(value) for name, value in evaluator.evaluate(judged).items()}

    return evaluate


def pytrec_eval() -> Evaluate:
    """trec_eval through pytrec_eval: per-user dictionaries in and out; no F1, MRR only uncut."""
    import pytrec_eval

    ours = {"P": "precision", "recall": "recall", "success": "hit", "map_cut": "map",
            "ndcg_cut": "ndcg"}  # fmt: skip
    measures = {f"{theirs}.{','.join(map(str, CUTOFFS))}" for theirs in ours} | {"recip_rank"}

    def evaluate(folder: Path) -> Values:
        run, truth = _dictionaries(folder)
        users = pytrec_eval.RelevanceEvaluator(truth, measures).evaluate(run).values()

        def mean(measure: str) -> float:
            return sum(user[measure] for user in users) / len(users)

        found = {f"{ours[name]}@{k}": mean(f"{name}_{k}") for name in ours for k in CUTOFFS}
        # Lists end at rank 100, so the uncut reciprocal rank is the one at 100.
        return found | {f"mrr@{CUTOFFS[-1]}": mean("recip_rank")}

    return evaluate


def rectools() -> Evaluate:
    """RecTools' calc_metrics on pandas frames; ranks are numbered from the scores first."""
    from rectools import metrics as m

    makers: dict[str, Callable[[int], Any]] = {
        "precision": lambda k: m.Precision(k=k),
        "recall": lambda k: m.Recall(k=k),
        "f1": lambda k: m.F1Beta(k=k),
        "hit": lambda k: m.HitRate(k=k),
        "mrr": lambda k: m.MRR(k=k),
        "map": lambda k: m.MAP(k=k),
        "ndcg": lambda k: m.NDCG(k=k, divide_by_achievable=True),
    }
    metrics = {f"{name}@{k}": make(k) for name, make in makers.items() for k in CUTOFFS}
    columns = {"user": "user_id", "item": "item_id"}

    def evaluate(folder: Path) -> Values:
        recs, truth = (table.rename(columns=columns) for table in _pandas(folder))
        recs = recs.sort_values(["user_id", "score"], ascending=[True, False], kind="stable")
        recs["rank"] = recs.groupby("user_id", sort=False).cumcount() + 1
        found = m.calc_metrics(metrics, reco=recs, interactions=truth)
        return {name: float(value) for name, value in found.items()}

    return evaluate


def replay() -> Evaluate:
    """RePlay's OfflineMetrics on Polars frames; no F1."""
    import polars as pl
    from replay import metrics as m

    ours = {"Precision": "precision", "Recall": "recall", "HitRate": "hit", "MRR": "mrr",
            "MAP": "map", "NDCG": "ndcg"}  # fmt: skip
    metrics = [getattr(m, theirs)(list(CUTOFFS)) for theirs in ours]
    offline = m.OfflineMetrics(
        metrics, query_column="user", item_column="item", rating_column="score"
    )

    def evaluate(folder: Path) -> Values:
        recs = pl.read_parquet(folder / "recs.parquet")
        truth = pl.read_parquet(folder / "truth.parquet")
        split = {name.partition("@")[::2]: value for name, value in offline(recs, truth).items()}
        return {f"{ours[name]}@{k}": float(value) for (name, k), value in split.items()}

    return evaluate


def ranx() -> Evaluate:
    """ranx on dictionaries, which it takes in faster than data frames."""
    from ranx import Qrels, Run
    from ranx import evaluate as ranx_evaluate

    theirs = {f"{name}@{k}": f"{'hit_rate' if name == 'hit' else name}@{k}"
              for name in NAMES for k in CUTOFFS}  # fmt: skip

    def evaluate(folder: Path) -> Values:
        run, truth = _dictionaries(folder)
        found = ranx_evaluate(Qrels(truth), Run(run), list(theirs.values()), make_comparable=False)
        return {name: float(found[their]) for name, their in theirs.items()}

    return evaluate


OWN: dict[str, Callable[[], Evaluate]] = {"rectitude": rectitude, "read_polars": read_polars}
CONTESTANTS: dict[str, Callable[[], Evaluate]] = {
    **OWN,
    "recbole": recbole,
    "pytrec_eval": pytrec_eval,
    "rectools": rectools,
    "replay": replay,
    "ranx": ranx,
}


def _pandas(folder: Path) -> tuple[Any, Any]:
    """Both tables as pandas frames."""
    import pandas as pd

    return pd.read_parquet(folder / "recs.parquet"), pd.read_parquet(folder / "truth.parquet")


def _dictionaries(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Both tables as {user: {item: score}} and {user: {item: 1}}, ids as text."""
    recs, truth = _pandas(folder)
    run: dict[str, dict[str, float]] = {}
    users, items = recs["user"].astype(str).tolist(), recs["item"].astype(str).tolist()
    for user, item, score in zip(users, items, recs["score"].tolist(), strict=True):
        run.setdefault(user, {})[item] = score
    relevant: dict[str, dict[str, int]] = {}
    users, items = truth["user"].astype(str).tolist(), truth["item"].astype(str).tolist()
    for user, item in zip(users, items, strict=True):
        relevant.setdefault(user, {})[item] = 1
    return run, relevant

"""RecBole: its collector and evaluator on batches of scores, as its trainer calls them.

Column 0 is RecBole's padding, so items move up by one. The training data is masked with -inf; with
candidates, everything else is -inf.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import numpy as np
import torch

np.float = float  # type: ignore[attr-defined]  # an alias RecBole uses and NumPy 1.24 removed

from recbole.evaluator.collector import Collector  # noqa: E402  (after the alias)
from recbole.evaluator.evaluator import Evaluator  # noqa: E402

from golden.fixtures import Case, Fixture  # noqa: E402

FRAMEWORK = "RecBole"
CUTOFFS = (1, 3)
"""every user has more items than that to rank"""
METRICS = {
    "recall": "Recall", "mrr": "MRR", "ndcg": "NDCG", "hit": "Hit", "precision": "Precision",
    "map": "MAP",
}  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("recbole")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate users with truth, over all items or over candidates."""
    if fixture.kind == "empty":  # a user without truth is not in the test data
        return
    options: dict[str, Any] = {"decimals": None}
    if fixture.kind == "candidates":
        options["candidates"] = "candidates.parquet"
    else:
        options["mask"] = "train"
    case = Case("recbole", fixture, "scores", CUTOFFS, options=options)
    scores = _scores(fixture)
    if "ties" in fixture.kind:
        _, best = torch.topk(scores, max(CUTOFFS), dim=-1)
        case.record_order("ranking-recbole", dict(enumerate((best - 1).tolist())))
        options |= {"order": "given", "ranking": "ranking-recbole.parquet"}
    values = _evaluate(fixture, scores)
    for name, own in METRICS.items():
        for k in CUTOFFS:
            reported = f"{own.lower()}@{k}"
            case.put(f"{name}@{k}", reported, values[reported])
    case.put("gauc", "gauc", values["gauc"])
    case.tolerances["gauc"] = 2e-6
    yield case


def _evaluate(fixture: Fixture, scores: Any) -> dict[str, float]:
    settings = {
        "metrics": [*METRICS.values(), "GAUC"],
        "topk": list(CUTOFFS),
        "metric_decimal_place": 17,
        "device": "cpu",
        "eval_args": {"mode": "full"},
    }
    rows = sorted(set(fixture.rows("truth", "user", "item")))
    users, items = (torch.tensor(column) for column in zip(*rows, strict=True))
    collector = Collector(settings)
    collector.eval_batch_collect(scores.clone(), None, users, items + 1)
    return dict(Evaluator(settings).evaluate(collector.get_data_struct()))


def _scores(fixture: Fixture) -> Any:
    drawn = np.array(fixture.scores, dtype=np.float32)
    scores = np.full((drawn.shape[0], drawn.shape[1] + 1), -np.inf, dtype=np.float32)
    truth = set(fixture.rows("truth", "user", "item"))
    if fixture.kind == "candidates":
        offered = truth | set(fixture.rows("candidates", "user", "item"))
    else:
        seen = set(fixture.rows("train", "user", "item")) - truth
        everything = {(user, item) for user, item in np.ndindex(drawn.shape)}
        offered = everything - seen
    for user, item in offered:
        scores[user, item + 1] = drawn[user, item]
    return torch.from_numpy(scores)

"""implicit: `ranking_metrics_at_k` of a model whose scores are the drawn ones.

The model is implicit's own, with the scores as factors of users and unit vectors as factors of
items, so that `recommend` masks the training data and ranks as it always does.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix

from golden.fixtures import Case, Fixture

FRAMEWORK = "implicit"
CUTOFFS = (1, 3, 5, 10)


def version() -> str:
    """The release that is installed."""
    return installed("implicit")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate with the training data masked, and with nothing masked."""
    if fixture.kind == "candidates":
        return
    for variant, mask in (("", "train"), ("nothing-masked", "none")):
        yield _case(fixture, variant, mask)


def _case(fixture: Fixture, variant: str, mask: str) -> Case:
    model, shape = _model(fixture)
    test = _matrix(fixture, "truth", shape)
    train = _matrix(fixture, "train", shape) if mask == "train" else csr_matrix(shape)
    options: dict[str, Any] = {"mask": mask}
    case = Case("implicit", fixture, "scores", CUTOFFS, variant, options)
    files = {}
    for k in CUTOFFS:
        values = ranking_metrics_at_k(model, train, test, K=k, show_progress=False, num_threads=1)
        for name in ("precision", "map", "ndcg", "auc"):
            case.put(f"{name}@{k}", f"{name}@{k}", values[name])
        if "ties" in fixture.kind or fixture.kind == "reseen":  # masked items tie with each other
            ids, _ = model.recommend(np.arange(shape[0]), train, N=k)
            file = f"ranking-implicit-{mask}-at{k}"
            case.record_order(file, dict(enumerate(ids.tolist())))
            files[f"@{k}"] = f"{file}.parquet"
    if files:
        options |= {"order": "given", "ranking": files}
    return case


def _model(fixture: Fixture) -> tuple[AlternatingLeastSquares, tuple[int, int]]:
    scores = np.array(fixture.scores, dtype=np.float32)
    users, items = scores.shape
    model = AlternatingLeastSquares(factors=items, num_threads=1)
    model.user_factors, model.item_factors = scores, np.eye(items, dtype=np.float32)
    return model, (users, items)


def _matrix(fixture: Fixture, table: str, shape: tuple[int, int]) -> csr_matrix:
    """Every row is stored, also one with grade 0."""
    rows = list(fixture.rows(table, "user", "item", "grade"))
    users, items, grades = (np.array(column) for column in zip(*rows, strict=True))
    return csr_matrix((grades.astype(np.float32), (users, items)), shape=shape)

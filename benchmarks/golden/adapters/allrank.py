"""allRank: the functions of `allrank.models.metrics` on padded slates.

The module imports the value of padding from `allrank.data.dataset_loading`, which imports much that
is only needed for loading data, in releases of 2021. A stand-in with that value is enough here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version as installed
from types import ModuleType
from typing import Any

import torch

PADDING = -1
loading = ModuleType("allrank.data.dataset_loading")
loading.PADDED_Y_VALUE = PADDING  # type: ignore[attr-defined]
sys.modules[loading.__name__] = loading

from allrank.models import metrics as allrank  # noqa: E402  (after the stand-in)

from golden.fixtures import Case, Fixture  # noqa: E402
from golden.groups import groups_of  # noqa: E402

FRAMEWORK = "allRank"
CUTOFFS = (1, 3, 5, 10)


def version() -> str:
    """The release that is installed."""
    return installed("allrank")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate; torch's order of ties is not portable, so inputs with ties are left out."""
    if fixture.kind in ("ties", "zero-scores", "weights"):
        return
    groups = groups_of(fixture)
    queries = list(dict.fromkeys(groups.queries))
    rectangles = groups.slates(max(groups.sizes), filler=PADDING)
    scores, labels = (torch.tensor(rectangle) for rectangle in rectangles)
    case = Case("allrank", fixture, "lists", CUTOFFS, tolerance=2e-6)
    for name in ("ndcg", "dcg", "mrr"):
        function = getattr(allrank, name)
        _add(case, name, queries, function(scores, labels))
        for k in CUTOFFS:
            _add(case, f"{name}@{k}", queries, function(scores, labels, ats=[k]))
    _add(case, "ndcg[linear]", queries, allrank.ndcg(scores, labels, gain_function=lambda x: x))
    filled = allrank.ndcg(scores, labels, filler_value=0.0)
    _add(case, "ndcg[filler=0]", queries, filled)
    yield case


def _add(case: Case, name: str, queries: list[int], values: Any) -> None:
    users = dict(zip(queries, values[:, 0].tolist(), strict=True))
    case.put(name, name, values.mean(), users)

"""ranx: `evaluate` with make_comparable, so that every judged query counts.

Lists are short enough (at most 15) for ranx's sort to keep the given order of ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import ranx

from golden.fixtures import Case, Fixture

FRAMEWORK = "ranx"
CUTOFFS = (1, 3, 5, 10)
NAMES = {
    "hits": "hits", "hit": "hit_rate", "precision": "precision", "recall": "recall", "f1": "f1",
    "mrr": "mrr", "map": "map", "dcg": "dcg", "ndcg": "ndcg",
}  # fmt: skip
BURGES = {"dcg[burges]": "dcg_burges", "ndcg[burges]": "ndcg_burges"}
WHOLE = {
    "rprec": "r-precision", "bpref": "bpref", "rbp[p=0.5]": "rbp.50", "rbp[p=0.8]": "rbp.80",
    "rprec[rel=2]": "r-precision-l2",
}  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("ranx")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate each metric at both levels of relevance, with and without a cutoff."""
    qrels: dict[str, dict[str, int]] = {}
    for query, document, grade in fixture.rows("truth", "user", "item", "grade"):
        qrels.setdefault(query, {})[document] = grade
    run = {
        query: dict(rows)
        for query, rows in fixture.grouped("recommendations", "item", "score").items()
    }
    options = {"users": "judged", "without_list": "zero"}
    case = Case("ranx", fixture, "lists", CUTOFFS, options=options)
    for name, own in WHOLE.items():
        _add(case, name, own, qrels, run)
    for at in ("", *(f"@{k}" for k in CUTOFFS)):
        for name, own in (NAMES | BURGES).items():
            _add(case, name + at, own + at, qrels, run)
            variant = name[:-1] + ",rel=2]" if name in BURGES else f"{name}[rel=2]"
            _add(case, variant + at, f"{own}{at}-l2", qrels, run)
    yield case


def _add(case: Case, name: str, own: str, qrels: Any, run: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        judged, found = ranx.Qrels(qrels), ranx.Run(run)
        mean = ranx.evaluate(judged, found, own, make_comparable=True)
        return mean, dict(found.scores[own])

    case.add_all(name, own, compute)

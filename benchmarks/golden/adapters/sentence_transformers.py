"""sentence-transformers: `InformationRetrievalEvaluator.compute_metrics` on given results."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed

from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from golden.fixtures import Case, Fixture

FRAMEWORK = "sentence-transformers"
CUTOFFS = (1, 3, 5, 10)
NAMES = {
    "accuracy": "accuracy@k", "precision": "precision@k", "recall": "recall@k", "ndcg": "ndcg@k",
    "mrr": "mrr@k", "map": "map@k",
}  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("sentence-transformers")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate; the evaluator itself leaves out queries without relevant documents."""
    relevant: dict[str, set[str]] = {}
    for query, document, grade in fixture.rows("truth", "user", "item", "grade"):
        if grade >= 1:  # what users put into `relevant_docs`
            relevant.setdefault(query, set()).add(document)
    queries = {query: query for query in fixture.tables["users"]["user"]}
    cutoffs = list(CUTOFFS)
    evaluator = InformationRetrievalEvaluator(
        queries, {}, relevant, mrr_at_k=cutoffs, ndcg_at_k=cutoffs, accuracy_at_k=cutoffs,
        precision_recall_at_k=cutoffs, map_at_k=cutoffs,
    )  # fmt: skip
    found = fixture.grouped("recommendations", "item", "score")
    results = [
        [{"corpus_id": item, "score": score} for item, score in found.get(query, [])]
        for query in evaluator.queries_ids
    ]
    case = Case("sentence-transformers", fixture, "lists", CUTOFFS, options={"relevant_from": 1})
    values = evaluator.compute_metrics(results)
    for name, key in NAMES.items():
        for k in CUTOFFS:
            case.put(f"{name}@{k}", key.replace("@k", f"@{k}"), values[key][k])
    yield case

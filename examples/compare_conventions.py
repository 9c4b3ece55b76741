"""One run, one truth, several conventions: the same metric names, other numbers.

python examples/compare_conventions.py
"""

import polars as pl

import rectitude as rt

# Three users who differ in what frameworks disagree on: ann has graded items, bob tied scores and
# one relevant item, cat no list at all.
run = pl.DataFrame(
    [
        ("ann", "a", 9.0, 1), ("ann", "b", 8.0, 2), ("ann", "c", 7.0, 3), ("ann", "d", 6.0, 4),
        ("bob", "a", 5.0, 1), ("bob", "b", 5.0, 2), ("bob", "c", 5.0, 3), ("bob", "d", 1.0, 4),
    ],
    schema=["user", "item", "score", "rank"], orient="row",
)  # fmt: skip
truth = pl.DataFrame(
    [("ann", "b", 3.0), ("ann", "d", 1.0), ("ann", "e", 2.0), ("bob", "c", 1.0), ("cat", "a", 1.0)],
    schema=["user", "item", "grade"],
    orient="row",
)
metrics = ["ndcg@5", "map@5", "recall@5", "mrr"]

for name, evaluation in rt.evaluate(run, truth, metrics, convention=list(rt.PROFILES)).items():
    print(
        f"{name:15}", *(f"{metric} {value:.4f} " for metric, value in evaluation.values().items())
    )
    for metric, error in evaluation.failures.items():
        print(f"{'':15} {metric} failed: {error.found}")

# A single switch, on top of a profile, and what a number then means.
start = {"profile": "trec_eval-9", "list_needed": "none"}  # as trec_eval -c: cat counts as a miss
evaluation = rt.evaluate(run, truth, "ndcg@5", convention=start)
print(f"\ntrec_eval-9 with list_needed=none: {evaluation['ndcg@5']:.4f}")
print(evaluation.definition("ndcg@5"))

"""A metric of your own: a function on judged lists, in ten lines.

python examples/custom_metric.py
"""

import rectitude as rt
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio


@rt.metric(
    "Complete lists",
    formula="1 if all relevant items stand in the top {k} and the last of them by rank {within}",
    reading="0.3 means that 30% of the users find everything they want, soon enough.",
    breaks=("perfect_is_best",),  # more relevant items than ranks: even a perfect list fails
)
def complete(lists: Judged, k: int | None, *, within: float = 5.0) -> Ratio:
    """Whether everything relevant was found early."""
    early = lists.total((lists.hit & (lists.rank <= within)).astype(float), upto=k)
    return Ratio.of((early == lists.relevant).astype(float))


predictions = {"ann": ["jam", "rye", "tea"], "bob": ["oil", "tea"], "cat": ["rye", "oil"]}
truth = {"ann": ["tea", "jam"], "bob": ["tea"], "cat": ["jam"]}

# It has cutoffs, a number that its name can set, a definition, values per user, a row in tables.
evaluation = rt.evaluate(
    predictions, truth, ["complete@3", "complete[within=2]@3", "recall@3", "ndcg@3"]
)
print(evaluation)
print(evaluation.definition("complete[within=2]@3"))
print(evaluation.per_user())

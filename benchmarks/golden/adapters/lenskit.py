"""LensKit: `RunAnalysis` with each metric, one at a time, so that an error spoils only its own.

Means are those of `list_summary`, values of users are those before defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import numpy as np
import structlog
from lenskit import metrics as lenskit
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import ranking
from lenskit.metrics.reranking import least_item_promoted, rank_biased_overlap

from golden.fixtures import Case, Fixture

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors only

FRAMEWORK = "LensKit"
CUTOFFS = (1, 3, 5, 10)
METRICS: Mapping[str, Any] = {
    "precision": lenskit.Precision,
    "recall": lenskit.Recall,
    "hit": lenskit.Hit,
    "mrr": lenskit.RecipRank,
    "map": ranking.AveragePrecision,
    "ndcg": lenskit.NDCG,
    "ndcg[gain=rating]": lambda n: lenskit.NDCG(n, gain="rating"),
    "ndcg[log2(rank+1)]": lambda n: lenskit.NDCG(n, weight=ranking.LogRankWeight(offset=1)),
    "ndcg[gain=rating,log2(rank+1)]": lambda n: lenskit.NDCG(
        n, gain="rating", weight=ranking.LogRankWeight(offset=1)
    ),
    "dcg": lenskit.DCG,
    "rbp": lenskit.RBP,
    "rbp[p=0.5]": lambda n: lenskit.RBP(n, patience=0.5),
    "rbp[normalized]": lambda n: lenskit.RBP(n, normalize=True),
    "rbp[normalized,p=0.5]": lambda n: lenskit.RBP(n, normalize=True, patience=0.5),
}
FRAGILE = ("map", "rbp[normalized]", "rbp[normalized,p=0.5]")
"""metrics that fail for the whole run where one user has no list or no truth"""


def version() -> str:
    """The release that is installed."""
    return installed("lenskit")


def profile() -> str:
    """The release decides how undefined values count."""
    return f"lenskit-{version().partition('.')[0]}"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists against the truth or another model's lists, or predicted ratings."""
    if fixture.kind in ("gaps", "repeated-ranks"):  # an ItemList has an order, no ranks
        return
    case = Case(profile(), fixture, "lists", CUTOFFS)
    if fixture.kind == "reference":
        _add_overlaps(case, fixture)
    elif fixture.family == "ratings":
        case.cutoffs = ()
        _add(case, fixture, "rmse", lenskit.RMSE())
        _add(case, fixture, "mae", lenskit.MAE())
    else:
        _add_all(case, fixture, METRICS)
        usable = Case(
            profile(), fixture, "lists", CUTOFFS, "usable", {"users": "with_list_and_truth"}
        )
        _add_all(usable, _usable(fixture), FRAGILE)
        yield usable
    yield case


def _add_all(case: Case, fixture: Fixture, names: Iterable[str]) -> None:
    for name in names:
        for k in CUTOFFS:
            _add(case, fixture, f"{name}@{k}", METRICS[name](k))
        _add(case, fixture, name, METRICS[name](None))


def _usable(fixture: Fixture) -> Fixture:
    """Return the fixture with only those users that have items in their list and in the truth."""
    truth, lists = fixture.grouped("truth"), fixture.ranked()
    handed = [bool(lists.get(user)) and user in truth for user in fixture.tables["users"]["user"]]
    kept = {user for user, has in zip(fixture.tables["users"]["user"], handed, strict=True) if has}
    rows = fixture.tables["recommendations"]
    places = [place for place, user in enumerate(rows["user"]) if user in kept]
    tables = {
        **fixture.tables,
        "users": {**fixture.tables["users"], "has_list": handed},
        "recommendations": {
            name: [column[place] for place in places] for name, column in rows.items()
        },
    }
    return Fixture(fixture.name, tables)


def _add(case: Case, fixture: Fixture, name: str, metric: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        analysis = lenskit.RunAnalysis(metric)
        result = analysis.measure(*_collections(fixture))
        label = result.list_summary().index[0]
        values = result.list_metrics(fill_missing=False)[label]
        if fixture.family == "ratings" and f"{label}.global" in result.global_metrics():
            case.put(
                f"{name}[global]", f"{label}.global", result.global_metrics()[f"{label}.global"]
            )
        return result.list_summary().loc[label, "mean"], values.to_dict()

    case.add_all(name, repr(metric) if "object at" not in repr(metric) else name, compute)


def _collections(fixture: Fixture) -> tuple[Any, Any]:
    lists: Any = ItemListCollection.empty(["user"])
    scores = fixture.grouped("recommendations", "item", "score")
    for user in fixture.ranked():
        rows = scores.get(user, [])
        items, values = ([row[place] for row in rows] for place in (0, 1))
        lists.add(
            ItemList(np.array(items, dtype=np.int64), scores=np.array(values), ordered=True),
            user=user,
        )
    truth: Any = ItemListCollection.empty(["user"])
    for user, rows in fixture.grouped("truth", "item", "grade").items():
        grades = np.array([float(grade) for _, grade in rows])
        relevant = np.array([item for item, _ in rows], dtype=np.int64)
        truth.add(ItemList(relevant, rating=grades), user=user)
    return lists, truth


def _add_overlaps(case: Case, fixture: Fixture) -> None:
    """Compare with the other model's lists; a user without one has an empty reference."""
    reference = fixture.grouped("truth", "item")
    for name, function in (("rbo", rank_biased_overlap), ("lip", least_item_promoted)):
        for k in CUTOFFS:
            values = {}
            for user, items in fixture.ranked().items():
                other = [item for (item,) in reference.get(user, [])]
                before = ItemList(np.array(other, dtype=np.int64), ordered=True)
                after = ItemList(np.array(items, dtype=np.int64), ordered=True)
                values[user] = function(before, after, n=k)
            reported = f"{function.__name__}@{k}"
            case.put(f"{name}@{k}", reported, None, values)

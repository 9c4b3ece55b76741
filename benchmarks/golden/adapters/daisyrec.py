"""DaisyRec: the functions of `daisy.utils.metrics`, one user at a time.

The rows of its table of lists are equally long, so users whose lists are shorter than others are
evaluated by themselves; the means are those of the functions' own `np.mean`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from daisy.utils import metrics as functions

from golden.fixtures import Case, Fixture

FRAMEWORK = "DaisyRec"
PROFILE = "daisyrec"
CUTOFFS = (1, 3, 5, 10)
RANKING = {
    "recall": functions.Recall,
    "precision": functions.Precision,
    "mrr": functions.MRR,
    "ndcg": functions.NDCG,
    "map": functions.MAP,
    "hit": functions.HR,
    "f1": functions.F1,
    "auc": functions.AUC,
}
WITHOUT = ("gaps", "repeated-ranks", "reference", "unseen", "unseen-repeats")


def version() -> str:
    """The checkout (golden.environments)."""
    return "v2.0 repository snapshot"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate the lists of users with a list and a truth, which is all that it can evaluate."""
    if fixture.kind in WITHOUT:
        return
    truth = {user: {item for (item,) in rows} for user, rows in _truth(fixture).items()}
    lists = {user: items for user, items in fixture.ranked().items() if items and user in truth}
    options = {"users": "with_list_and_truth"}
    case = Case(PROFILE, fixture, "lists", CUTOFFS, options=options)
    for k in CUTOFFS:
        cut = {user: items[:k] for user, items in lists.items()}
        for name, function in RANKING.items():
            _add(case, f"{name}@{k}", function, truth, cut)
        case.add(f"coverage@{k}", f"coverage@{k}", partial(_cover, fixture, cut))
    yield case


def _truth(fixture: Fixture) -> dict[Any, list[tuple[Any, ...]]]:
    return fixture.grouped("truth", "item")


def _add(
    case: Case, name: str, function: Any, truth: Mapping[Any, set[Any]], lists: Mapping[Any, Any]
) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        users = {user: function(truth, np.array([items]), [user]) for user, items in lists.items()}
        return np.mean([*users.values()]), users

    case.add_all(name, name, compute)


def _cover(fixture: Fixture, lists: Mapping[Any, list[Any]]) -> Any:
    """The function counts distinct items of the whole table, whatever its shape."""
    flat = np.array([item for items in lists.values() for item in items])
    return functions.Coverage(flat, len(fixture.tables["items"]["item"]))

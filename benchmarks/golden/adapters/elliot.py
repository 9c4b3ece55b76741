"""Elliot: its metric classes with its own `Relevance` and `Popularity`, as its evaluator does.

The data set is an object with what these classes read; Elliot's own reads everything from files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from elliot.evaluation import metrics as elliot
from elliot.evaluation.popularity_utils.popularity import Popularity
from elliot.evaluation.relevance import Relevance
from scipy.sparse import csr_matrix

from golden.fixtures import Case, Fixture

FRAMEWORK = "Elliot"
CUTOFFS = (1, 3, 5, 10)
METRICS = {
    "ndcg": elliot.nDCG, "ndcg[binary]": elliot.nDCGRendle2020, "precision": elliot.Precision,
    "recall": elliot.Recall, "hit": elliot.HR, "mrr": elliot.MRR, "map": elliot.MAP,
    "mar": elliot.MAR, "f1": elliot.F1, "lauc": elliot.LAUC, "gauc": elliot.GAUC,
    "auc": elliot.AUC, "coverage": elliot.ItemCoverage, "user_coverage": elliot.UserCoverage,
    "user_coverage[at_n]": elliot.UserCoverageAtN, "num_retrieved": elliot.NumRetrieved,
    "gini": elliot.GiniIndex, "entropy": elliot.ShannonEntropy, "efd": elliot.EFD,
    "epc": elliot.EPC, "arp": elliot.ARP, "aplt": elliot.APLT, "aclt": elliot.ACLT,
    "pop_rsp": elliot.PopRSP, "pop_reo": elliot.PopREO,
}  # fmt: skip
WITHOUT = ("gaps", "repeated-ranks", "reference")
THRESHOLDS = (0, 1, 3)


def version() -> str:
    """The checkout (golden.environments)."""
    return "repository snapshot (setup 1.0.0, modules 0.3.1)"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists, with truth rows relevant from several grades on."""
    if fixture.kind in WITHOUT:
        return
    for threshold in THRESHOLDS:
        data = _data(fixture)
        scores = fixture.grouped("recommendations", "item", "score")
        lists = {user: scores.get(user, []) for user in fixture.ranked() if user in data.users}
        lists = {user: rows for user, rows in lists.items() if data.test.get(user)}
        if not any(lists.values()):  # there is nothing to evaluate
            continue
        options = {"relevant_from": threshold}
        case = Case(
            "elliot", fixture, "lists", CUTOFFS, variant=f"from-{threshold}", options=options
        )
        for k in CUTOFFS:
            given = SimpleNamespace(
                relevance=Relevance(data.test, threshold), pop=Popularity(data),
                num_items=data.num_items, data=data, cutoff=k,
            )  # fmt: skip
            for name, metric in METRICS.items():
                _add(case, f"{name}@{k}", metric, lists, given)
        yield case


def _data(fixture: Fixture) -> SimpleNamespace:
    """Return the data set: a pair has one rating, that of its last row."""
    train = {user: dict(rows) for user, rows in fixture.grouped("train", "item", "grade").items()}
    truth = fixture.grouped("truth", "item", "grade")
    users, items = [*train], sorted({item for rows in train.values() for item in rows})
    places = {item: place for place, item in enumerate(items)}
    pairs = [(u, places[item]) for u, user in enumerate(users) for item in train[user]]
    rows, columns = zip(*pairs, strict=True)
    shape = (len(users), len(items))
    data = SimpleNamespace(
        users=users, items=items, num_users=len(users), num_items=len(items), train_dict=train,
        private_items=dict(enumerate(items)), public_items=places,
        transactions=sum(map(len, train.values())),
        sp_i_train=csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape, dtype="float32"),
        test={user: dict(truth.get(user, [])) for user in users},
    )  # fmt: skip
    data.get_test = lambda: data.test
    return data


def _add(case: Case, name: str, metric: Any, lists: Mapping[Any, Any], given: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        made = metric(lists, SimpleNamespace(), SimpleNamespace(), given)
        users = made.eval_user_metric() if isinstance(made, elliot.StatisticalMetric) else {}
        return metric(lists, SimpleNamespace(), SimpleNamespace(), given).eval(), users

    case.add_all(name, f"{metric.name()}@{given.cutoff}", compute)

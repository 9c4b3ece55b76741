"""Elliot: its metric classes with its own `Relevance` and `Popularity`, as its evaluator does.

The data set is an object with what these classes read; Elliot's own reads everything from files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
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
MEANS = {
    "item_mad_rating[by=cluster]": ("item", elliot.ItemMADrating),
    "item_mad_ranking[by=cluster]": ("item", elliot.ItemMADranking),
    "user_mad_rating[by=cluster]": ("user", elliot.UserMADrating),
    "user_mad_ranking[by=cluster]": ("user", elliot.UserMADranking),
}
"""Differences between clusters, of items or of users"""
RATES = {"reo": elliot.REO, "rsp": elliot.RSP}
"""A value for each cluster of items, and the inequality between these"""
DISPARITIES = {
    "bias_disparity_bs": elliot.BiasDisparityBS, "bias_disparity_br": elliot.BiasDisparityBR,
    "bias_disparity_bd": elliot.BiasDisparityBD,
}  # fmt: skip
"""A value for each cluster of users and of items"""
WITHOUT = ("gaps", "repeated-ranks", "reference")
THRESHOLDS = (0, 1, 3)
CONFIG = SimpleNamespace(config_test=True)


def version() -> str:
    """The checkout (golden.environments)."""
    return "repository snapshot (setup 1.0.0, modules 0.3.1)"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists, with truth rows relevant from several grades on."""
    if fixture.kind in WITHOUT:
        return
    with TemporaryDirectory() as folder:
        files = _write_attributes(fixture, Path(folder))
        yield from _evaluate(fixture, files)


def _evaluate(fixture: Fixture, files: Mapping[str, str]) -> Iterator[Case]:
    for threshold in THRESHOLDS:
        data = _data(fixture)
        scores = fixture.grouped("recommendations", "item", "score")
        lists = {user: scores.get(user, []) for user in fixture.ranked() if user in data.users}
        lists = {user: rows for user, rows in lists.items() if data.test.get(user)}
        options = {"relevant_from": threshold}
        case = Case(
            "elliot", fixture, "lists", CUTOFFS, variant=f"from-{threshold}", options=options
        )
        # A case of its own: a catalogue beside the training data would change AUC.
        groups = Case(
            "elliot", fixture, "lists", CUTOFFS, f"groups-from-{threshold}", options=options
        )
        for k in CUTOFFS:
            given = SimpleNamespace(
                relevance=Relevance(data.test, threshold), pop=Popularity(data),
                num_items=data.num_items, data=data, cutoff=k,
            )  # fmt: skip
            for name, metric in METRICS.items():
                _add(case, f"{name}@{k}", metric, lists, given)
            _add_groups(groups, k, lists, given, files)
        yield case
        yield groups


def _write_attributes(fixture: Fixture, folder: Path) -> Mapping[str, str]:
    """Write the clusters of users and of items, and the topics of items; return the files."""
    topics = fixture.rows("items", "item", "topics")
    rows = {
        "user": [row for row in fixture.rows("users", "user", "cluster") if row[1] is not None],
        "item": [row for row in fixture.rows("items", "item", "cluster") if row[1] is not None],
        "topics": [(item, *several) for item, several in topics if several],
    }
    for name, lines in rows.items():
        text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
        (folder / f"{name}.tsv").write_text(text)
    return {name: str(folder / f"{name}.tsv") for name in rows}


def _add_groups(
    case: Case, k: int, lists: Mapping[Any, Any], given: Any, files: Mapping[str, str]
) -> None:
    """Record the metrics of clusters and of topics."""
    for name, (side, metric) in MEANS.items():
        more = {"clustering_file": files[side], "clustering_name": side}
        _add(case, f"{name}@{k}", metric, lists, given, more)
    more = {"feature_data": files["topics"]}
    _add(case, f"srecall[by=topics]@{k}", elliot.SRecall, lists, given, more)
    more = {"clustering_file": files["item"], "clustering_name": "item"}
    for name, metric in RATES.items():
        *rates, overall = _made(metric, lists, given, more)
        case.put(f"{name}[by=cluster]@{k}", f"{overall.name()}@{k}", overall.eval())
        for place, rate in enumerate(rates):
            ours = f"{name}[by=cluster,item_group={place}]@{k}"
            case.put(ours, f"{rate.name()}@{k}", rate.eval())
    more = {
        f"{side}_clustering_{part}": value
        for side in ("user", "item")
        for part, value in (("file", files[side]), ("name", side))
    }
    for name, metric in DISPARITIES.items():
        for place, rate in enumerate(_made(metric, lists, given, more)):
            user, item = divmod(place, len({*case.fixture.tables["items"]["cluster"]} - {None}))
            groups = f"users_by=cluster,items_by=cluster,user_group={user},item_group={item}"
            case.put(f"{name}[{groups}]@{k}", f"{rate.name()}@{k}", rate.eval())


def _made(metric: Any, lists: Mapping[Any, Any], given: Any, more: Mapping[str, str]) -> Any:
    """Return the values that a metric of clusters consists of."""
    return metric(lists, CONFIG, SimpleNamespace(), given, more).get()


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


def _add(
    case: Case,
    name: str,
    metric: Any,
    lists: Mapping[Any, Any],
    given: Any,
    more: Mapping[str, str] | None = None,
) -> None:
    words = (lists, CONFIG, SimpleNamespace(), given, *([more] if more else []))

    def compute() -> tuple[Any, Mapping[Any, Any]]:
        made = metric(*words)
        users = made.eval_user_metric() if isinstance(made, elliot.StatisticalMetric) else {}
        return metric(*words).eval(), users

    label = metric.name() if more is None else metric.__name__
    case.add_all(name, f"{label}@{given.cutoff}", compute)

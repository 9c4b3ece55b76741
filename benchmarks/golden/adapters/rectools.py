"""RecTools: every metric class on data frames, with the rank column as it was drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version as installed
from typing import Any

import pandas as pd
from rectools import Columns
from rectools import metrics as rectools

from golden.fixtures import Case, Fixture

FRAMEWORK = "RecTools"
CUTOFFS = (1, 3, 5, 10)
ON_TRUTH: Mapping[str, Callable[..., Any]] = {
    "precision": rectools.Precision,
    "precision[r_precision]": partial(rectools.Precision, r_precision=True),
    "recall": rectools.Recall,
    "f1": rectools.F1Beta,
    "f1[beta=2]": partial(rectools.F1Beta, beta=2),
    "f1[beta=0.5]": partial(rectools.F1Beta, beta=0.5),
    "hit": rectools.HitRate,
    "map": rectools.MAP,
    "map[divide_by_k]": partial(rectools.MAP, divide_by_k=True),
    "ndcg": rectools.NDCG,
    "ndcg[log_base=3]": partial(rectools.NDCG, log_base=3),
    "ndcg[divide_by_achievable]": partial(rectools.NDCG, divide_by_achievable=True),
    "ndcg[divide_by_achievable,log_base=3]": partial(
        rectools.NDCG, divide_by_achievable=True, log_base=3
    ),
    "mrr": rectools.MRR,
    "pauc": rectools.PartialAUC,
    "pauc[exclude]": partial(rectools.PartialAUC, insufficient_handling="exclude"),
    "pap": rectools.PAP,
    "pap[exclude]": partial(rectools.PAP, insufficient_handling="exclude"),
    "covered_users": rectools.CoveredUsers,
}
ON_CATALOGUE = {"accuracy": rectools.Accuracy, "mcc": rectools.MCC}
ON_HISTORY: Mapping[str, Callable[..., Any]] = {
    "miuf": rectools.MeanInvUserFreq,
    "arp": rectools.AvgRecPopularity,
    "arp[normalize]": partial(rectools.AvgRecPopularity, normalize=True),
}
ON_LISTS: Mapping[str, Callable[..., Any]] = {
    "sufficient": rectools.SufficientReco,
    "sufficient[deep]": partial(rectools.SufficientReco, deep=True),
    "unrepeated": rectools.UnrepeatedReco,
    "unrepeated[deep]": partial(rectools.UnrepeatedReco, deep=True),
}
COVERAGE: Mapping[str, Callable[..., Any]] = {
    "coverage": rectools.CatalogCoverage,
    "coverage[normalize]": partial(rectools.CatalogCoverage, normalize=True),
}


def version() -> str:
    """The release that is installed."""
    return installed("rectools")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists against the truth, or against the lists of another model."""
    reco = _frame(fixture, "recommendations", "user", "item")
    ranks = fixture.tables["recommendations"]
    reco[Columns.Rank] = ranks.get("rank") or [place + 1 for place in ranks["position"]]
    case = Case("rectools", fixture, "lists", CUTOFFS, options={"catalogue": "train_items"})
    if fixture.kind == "reference":
        _add_intersections(case, fixture, reco)
    else:
        _add_metrics(case, fixture, reco)
    yield case


def _add_metrics(case: Case, fixture: Fixture, reco: pd.DataFrame) -> None:
    truth = _frame(fixture, "truth", "user", "item")
    train = _frame(fixture, "train", "user", "item")
    catalogue = train[Columns.Item].unique()
    for k in CUTOFFS:
        for table, arguments in (
            (ON_TRUTH, (reco, truth)),
            (ON_CATALOGUE, (reco, truth, catalogue)),
            (ON_HISTORY, (reco, train)),
            (ON_LISTS, (reco,)),
            ({"serendipity": rectools.Serendipity}, (reco, truth, train, catalogue)),
        ):
            for name, metric in table.items():
                _add(case, name, metric(k=k), arguments)
        for name, metric in COVERAGE.items():
            coverage = metric(k=k)
            case.add(f"{name}@{k}", repr(coverage), partial(coverage.calc, reco, catalogue))


def _add_intersections(case: Case, fixture: Fixture, reco: pd.DataFrame) -> None:
    reference = _frame(fixture, "truth", "user", "item")
    reference[Columns.Rank] = reference.groupby(Columns.User).cumcount() + 1
    for k in CUTOFFS:
        _add(case, "intersection", rectools.Intersection(k=k), (reco, reference))


def _add(case: Case, name: str, metric: Any, arguments: tuple[Any, ...]) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        return metric.calc(*arguments), metric.calc_per_user(*arguments).to_dict()

    case.add_all(f"{name}@{metric.k}", repr(metric), compute)


def _frame(fixture: Fixture, table: str, *columns: str) -> pd.DataFrame:
    rows = list(fixture.rows(table, *columns))
    return pd.DataFrame(rows, columns=[Columns.User, Columns.Item]).astype("int64")

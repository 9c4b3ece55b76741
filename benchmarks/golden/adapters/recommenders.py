"""recommenders: the functions of `recommenders.evaluation.python_evaluation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version as installed
from typing import Any

import numpy as np
import pandas as pd
from recommenders.evaluation import python_evaluation as functions

from golden.fixtures import Case, Fixture

FRAMEWORK = "Microsoft recommenders"
CUTOFFS = (1, 3, 5, 10)
AT_K: Mapping[str, Any] = {
    "precision": functions.precision_at_k,
    "recall": functions.recall_at_k,
    "rprec": functions.r_precision_at_k,
    "map": functions.map_at_k,
    "map[all_relevant]": functions.map,
    "ndcg": functions.ndcg_at_k,
}
RATINGS = {
    "rmse": functions.rmse,
    "mae": functions.mae,
    "rsquared": functions.rsquared,
    "exp_var": functions.exp_var,
}
BEYOND = {
    "diversity": (functions.diversity, functions.user_diversity),
    "novelty": (functions.novelty, None),
    "serendipity": (functions.serendipity, functions.user_serendipity),
    "catalog_coverage": (functions.catalog_coverage, None),
    "distributional_coverage": (functions.distributional_coverage, None),
}


def version() -> str:
    """The release that is installed."""
    return installed("recommenders")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists, or predicted ratings."""
    if fixture.kind in ("gaps", "repeated-ranks", "reference"):  # there is no rank column
        return
    case = Case("recommenders", fixture, "lists", CUTOFFS)
    truth = _frame(fixture, "truth", "grade", "rating")
    lists = _frame(fixture, "recommendations", "score", "prediction")
    if fixture.family == "ratings":
        for name, function in RATINGS.items():
            case.add(name, function.__name__, partial(function, truth, lists))
    elif fixture.kind.startswith("unseen"):
        _add_beyond(case, _frame(fixture, "train", "grade", "rating"), lists, fixture)
    else:
        _add_ranking(case, truth, lists)
    yield case


def _add_ranking(case: Case, truth: pd.DataFrame, lists: pd.DataFrame) -> None:
    for k in CUTOFFS:
        for name, function in AT_K.items():
            case.add(
                f"{name}@{k}", f"{function.__name__}@{k}", partial(function, truth, lists, k=k)
            )
        for gain in ("binary", "raw", "exp"):
            for discount in ("log2", "loge"):
                case.add(
                    f"ndcg[{gain},{discount}]@{k}",
                    f"ndcg_at_k@{k}|{gain}|{discount}",
                    partial(
                        functions.ndcg_at_k, truth, lists, k=k, score_type=gain,
                        discfun_type=discount,
                    ),
                )  # fmt: skip


def _add_beyond(case: Case, train: pd.DataFrame, lists: pd.DataFrame, fixture: Fixture) -> None:
    """These functions take whole lists; 20 is beyond the end of each, so both names mean that."""
    features = [column for column in fixture.tables["items"] if column.startswith("feature")]
    vectors = pd.DataFrame({"itemID": fixture.tables["items"]["item"]})
    vectors["features"] = [np.array(row, dtype=float) for row in fixture.rows("items", *features)]
    by_features = {"item_feature_df": vectors, "item_sim_measure": "item_feature_vector"}
    for suffix in ("", "@20"):
        for name, (function, per_user) in BEYOND.items():
            _add(case, name + suffix, function, per_user, (train, lists), {})
        for name in ("diversity", "serendipity"):
            function, per_user = BEYOND[name]
            _add(case, f"{name}[features]{suffix}", function, per_user, (train, lists), by_features)


def _add(
    case: Case, name: str, function: Any, per_user: Any, frames: Any, options: Mapping[str, Any]
) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        users = {}
        if per_user is not None:
            table = per_user(*frames, **options)
            users = dict(zip(table["userID"], table.iloc[:, -1], strict=True))
        return function(*frames, **options), users

    reported = name.replace("[features]", "|item_feature_vector")
    case.add_all(name, reported, compute)


def _frame(fixture: Fixture, table: str, column: str, name: str) -> pd.DataFrame:
    rows = list(fixture.rows(table, "user", "item", column))
    frame = pd.DataFrame(rows, columns=["userID", "itemID", name])
    return frame.astype({"userID": "int64", "itemID": "int64", name: "float64"})

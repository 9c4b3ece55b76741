"""LensKit: samples and folds of users and records, with and without training data.

LensKit draws with NumPy's generator, so the properties of the parts are recorded, not their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import pandas as pd
from lenskit.data import from_interactions_df
from lenskit.splitting import (
    LastN,
    SampleN,
    crossfold_records,
    crossfold_users,
    sample_records,
    sample_users,
)

from golden.fixtures import Case, Fixture

FRAMEWORK = "LensKit"
HOLDOUTS = {"SampleN": SampleN, "LastN": LastN}


def version() -> str:
    """The release that is installed."""
    return installed("lenskit")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Sample users and records, with and without repeats, overlap and training data."""
    table = pd.DataFrame(fixture.tables["interactions"])
    data = from_interactions_df(
        table[["user", "item", "rating", "timestamp"]], user_col="user", item_col="item"
    )
    for test_only in (False, True):
        for holdout in HOLDOUTS:
            for disjoint in (False, True):
                options = {"size": 3, "repeats": 2, "disjoint": disjoint, "test_only": test_only}
                yield _of_users(fixture, data, "sample_users", holdout, options)
            for disjoint in (False, True):  # disjoint samples would take all users: folds
                options = {"size": 6, "repeats": 4, "disjoint": disjoint, "test_only": test_only}
                yield _of_users(fixture, data, "sample_users", holdout, options)
            options = {"size": 3, "test_only": test_only}
            yield _of_users(fixture, data, "sample_users", holdout, options)
            options = {"partitions": 3, "test_only": test_only}
            yield _of_users(fixture, data, "crossfold_users", holdout, options)
        for disjoint in (False, True):
            options = {"size": 9, "repeats": 2, "disjoint": disjoint, "test_only": test_only}
            yield _of_records(fixture, data, "sample_records", options)
        many = {"size": 999, "repeats": 3, "disjoint": True, "test_only": test_only}
        yield _of_records(fixture, data, "sample_records", many)
        yield _of_records(fixture, data, "sample_records", {"size": 9, "test_only": test_only})
        yield _of_records(
            fixture, data, "crossfold_records", {"partitions": 4, "test_only": test_only}
        )


def _of_users(
    fixture: Fixture, data: Any, method: str, holdout: str, options: dict[str, Any]
) -> Case:
    split = {"sample_users": sample_users, "crossfold_users": crossfold_users}[method]
    words = {**options}
    number = words.pop("size", None) or words.pop("partitions")
    case = _case(fixture, f"{method}-{holdout}", method, options)
    case.data["operation"]["holdout"] = {"method": holdout, "n": 1}
    splits = split(data, number, HOLDOUTS[holdout](1), rng=5, **words)
    users = _record(case, splits)
    case.data["properties"] |= {"fold_users": users, "rows_per_user": {"test": {"n": 1}}}
    if options.get("disjoint", method == "crossfold_users"):
        case.data["properties"]["folds_users_disjoint"] = True
    return case


def _of_records(fixture: Fixture, data: Any, method: str, options: dict[str, Any]) -> Case:
    words = {**options}
    number = words.pop("size", None) or words.pop("partitions")
    split = {"sample_records": sample_records, "crossfold_records": crossfold_records}[method]
    case = _case(fixture, method, method, options)
    _record(case, split(data, number, rng=5, **words))
    if options.get("disjoint", method == "crossfold_records"):
        case.data["properties"]["folds_disjoint"] = True
    return case


def _record(case: Case, splits: Any) -> list[int]:
    """Record the sizes of the parts, of one split or of several; return the users of each."""
    series = [*splits] if isinstance(splits, Iterator) else [splits]
    tests = [split.test.to_df() for split in series]
    sizes = [len(test) for test in tests]
    case.data["properties"] = {"fold_sizes": sizes}
    trains = [int(split.train.interaction_count) for split in series]
    if len({*trains}) == 1:  # which of the folds is larger says nothing
        case.data["folds"] = [{"n_train": rows} for rows in trains]
    return [test["user_id"].nunique() for test in tests]


def _case(fixture: Fixture, title: str, method: str, options: dict[str, Any]) -> Case:
    words = "-".join(f"{key}_{value}" for key, value in options.items())
    year = version().partition(".")[0]
    case = Case(f"lenskit-{year}", fixture, "data", variant=f"{title}-{words}")
    case.data["operation"] = {"name": "split", "method": method, **options, "rng": 5}
    case.data["check"] = "properties"
    return case

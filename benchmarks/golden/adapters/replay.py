"""RePlay: metric classes on dictionaries, pandas and Polars frames, and TorchMetricsBuilder.

On tensors all lists must be equally long, so shorter ones are left out and longer ones cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version as installed
from typing import Any

import pandas as pd
import polars as pl
import torch
from replay import metrics as replay
from replay.metrics.torch_metrics_builder import TorchMetricsBuilder

from golden.fixtures import Case, Fixture

FRAMEWORK = "RePlay"
CUTOFFS = (1, 3, 5, 10)
TENSOR_LENGTH = 4
ON_TRUTH = {
    "precision": replay.Precision,
    "recall": replay.Recall,
    "hit": replay.HitRate,
    "mrr": replay.MRR,
    "map": replay.MAP,
    "ndcg": replay.NDCG,
    "auc": replay.RocAuc,
}
OVERALL = {"novelty": replay.Novelty, "coverage": replay.Coverage}
"""metrics whose mean is not over lists: that of novelty is over the users in the training data"""
ON_TENSORS = ("recall", "precision", "ndcg", "map", "mrr", "novelty", "coverage")
LISTS = ("user", "item", "score")
FRAME = ["query_id", "item_id", "rating"]


def version() -> str:
    """The release that is installed."""
    return installed("replay-rec")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate the same lists in four containers."""
    if fixture.kind in ("gaps", "repeated-ranks"):  # there is no rank column
        return
    yield _case("replay", "dict", fixture, _dictionary)
    yield _case("replay-frame", "pandas", fixture, partial(_frame, pd.DataFrame))
    yield _case("replay-frame", "polars", fixture, _polars)
    if fixture.kind != "reference":
        yield from _tensor_case(fixture)


def _case(profile: str, container: str, fixture: Fixture, table: Callable[..., Any]) -> Case:
    variant = "" if container == "dict" else container
    case = Case(profile, fixture, "lists", CUTOFFS, variant, {"container": container})
    lists, truth = table(fixture, "recommendations", LISTS), table(fixture, "truth", LISTS[:2])
    train = table(fixture, "train", LISTS[:2])
    for k in CUTOFFS:
        if fixture.kind == "reference":
            reference = table(_scored(fixture), "truth", LISTS)
            _add(case, "unexpectedness", replay.Unexpectedness, k, (lists, reference))
            continue
        for name, metric in ON_TRUTH.items():
            _add(case, name, metric, k, (lists, truth))
        _add(case, "surprisal", replay.Surprisal, k, (lists, train))
        for name, metric in OVERALL.items():
            named = f"{name}[polars]" if (name, container) == ("coverage", "polars") else name
            compute = partial(_mean, metric, k, lists, train)
            reported = named.replace(name, metric.__name__)
            case.add(f"{named}@{k}", f"{reported}@{k}", compute)
    return case


def _mean(metric: Any, k: int, *arguments: Any) -> float:
    value: float = metric(topk=k)(*arguments)[f"{metric.__name__}@{k}"]
    return value


def _scored(fixture: Fixture) -> Fixture:
    """Return the fixture with falling scores beside the other model's lists."""
    truth = fixture.tables["truth"]
    scores = [float(-place) for place in range(len(truth["user"]))]
    return Fixture(fixture.name, {**fixture.tables, "truth": {**truth, "score": scores}})


def _add(case: Case, name: str, metric: Any, k: int, arguments: tuple[Any, Any]) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        mean = _mean(metric, k, *arguments)
        users = metric(topk=k, mode=replay.PerUser())(*arguments)
        return mean, users[f"{metric.__name__}-PerUser@{k}"]

    case.add_all(f"{name}@{k}", f"{metric.__name__}@{k}", compute)


def _dictionary(fixture: Fixture, table: str, columns: tuple[str, ...]) -> dict[Any, Any]:
    if table == "recommendations":
        lists: dict[Any, Any] = {user: [] for user in fixture.ranked()}
    else:
        lists = {}
    for user, item, *score in fixture.rows(table, *columns):
        lists.setdefault(user, []).append((item, *score) if score else item)
    return lists


def _frame(make: Any, fixture: Fixture, table: str, columns: tuple[str, ...]) -> Any:
    named = zip(FRAME, columns, strict=False)
    return make({name: fixture.tables[table][column] for name, column in named})


def _polars(fixture: Fixture, table: str, columns: tuple[str, ...]) -> pl.DataFrame:
    named = zip(FRAME, columns, strict=False)
    kinds = {"query_id": pl.Int64, "item_id": pl.Int64, "rating": pl.Float64}
    return pl.DataFrame(
        {name: fixture.tables[table][column] for name, column in named},
        schema={name: kinds[name] for name in FRAME[: len(columns)]},
    )


def _tensor_case(fixture: Fixture) -> Iterator[Case]:
    cutoffs = tuple(k for k in CUTOFFS if k <= TENSOR_LENGTH)
    truth, train = fixture.grouped("truth", "item"), fixture.grouped("train", "item")
    lists = {
        user: items[:TENSOR_LENGTH]
        for user, items in fixture.ranked().items()
        if len(items) >= TENSOR_LENGTH and user in truth
    }
    if not any(train.get(user) for user in lists):  # coverage would divide by 0
        return
    items = len(fixture.tables["items"]["item"])
    builder = TorchMetricsBuilder(metrics=list(ON_TENSORS), top_k=list(cutoffs), item_count=items)
    builder.add_prediction(
        torch.tensor(list(lists.values())),
        _padded([truth[user] for user in lists], -1),
        _padded([train.get(user, []) for user in lists], -2),
    )
    options = {"users": "with_truth", "min_list_length": TENSOR_LENGTH}
    case = Case("replay-torch", fixture, "lists", cutoffs, "", options, tolerance=2e-6)
    for name, value in builder.get_metrics().items():
        case.put(name, name, value)
    yield case


def _padded(rows: list[list[tuple[Any, ...]]], filler: int) -> Any:
    width = max(1, *(len(row) for row in rows))
    return torch.tensor([[item for (item,) in row] + [filler] * (width - len(row)) for row in rows])

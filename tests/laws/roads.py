"""Every road by which a case can reach a number: objects, files, dense scores, batches, slices."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from strategies import Case

import rectitude as rt

Values = dict[str, float | None]
"""The value of every metric; None where it has none."""
Road = Callable[[Case, list[str], dict[str, Any]], Values]
WIDTH = 8
"""Items of a case are numbers below this."""


def _values(evaluation: rt.Evaluation) -> Values:
    return {**dict.fromkeys(evaluation.failures), **evaluation.values()}


def _tables(case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    return (
        pl.DataFrame(list(case.predictions), ["user", "item", "score"], orient="row"),
        pl.DataFrame(list(case.truth), ["user", "item", "grade"], orient="row"),
    )


def _nested(rows: tuple[tuple[Any, Any, float], ...]) -> dict[Any, dict[Any, float]]:
    nested: dict[Any, dict[Any, float]] = {}
    for user, item, number in rows:
        nested.setdefault(user, {})[item] = number
    return nested


def by_objects(make: Callable[[pl.DataFrame], Any]) -> Road:
    """A road that hands both tables over as other objects."""

    def evaluate(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
        lists, truth = map(make, _tables(case))
        return _values(rt.evaluate(lists, truth, metrics, switches))

    return evaluate


def by_mappings(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
    """Dicts of dicts."""
    return _values(rt.evaluate(_nested(case.predictions), _nested(case.truth), metrics, switches))


def by_files(ending: str, write: Callable[[pl.DataFrame, Path], object]) -> Road:
    """A road through two files."""

    def evaluate(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
        with TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{name}{ending}" for name in ("lists", "truth")]
            for path, table in zip(paths, _tables(case), strict=True):
                write(table, path)
            return _values(rt.evaluate(*map(str, paths), metrics, switches))

    return evaluate


def by_trec(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
    """A run and qrels; the ranks in the file say nothing."""
    with TemporaryDirectory() as folder:
        run, qrels = Path(folder) / "a.run", Path(folder) / "a.qrels"
        run.write_text("".join(f"{u} Q0 {i} 1 {s} x\n" for u, i, s in case.predictions))
        qrels.write_text("".join(f"{u} 0 {i} {g:g}\n" for u, i, g in case.truth))
        return _values(rt.evaluate(str(run), str(qrels), metrics, {**switches, "order": "score"}))


def _write_nested(table: pl.DataFrame, path: Path) -> None:
    path.write_text(json.dumps(_nested(tuple(table.iter_rows()))))


def by_sparse(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
    """A sparse matrix of scores, which are moved away from 0."""
    users, items, scores = zip(*case.predictions, strict=True)
    shape = (max(case.users()) + 1, WIDTH)
    matrix = sp.csr_array((np.array(scores) + 100, (users, items)), shape=shape)
    return _values(rt.evaluate(rt.Lists(matrix), _tables(case)[1], metrics, switches))


def by_dense(make: Callable[[np.ndarray, list[Any]], Any]) -> Road:
    """A road with a score for every cell, of which the candidates are the lists."""

    def evaluate(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
        _, truth = _tables(case)
        scores, users, pairs = _dense(case)
        return _values(rt.evaluate(make(scores, users), truth, metrics, switches, candidates=pairs))

    return evaluate


def _dense(case: Case) -> tuple[np.ndarray, list[Any], pl.DataFrame]:
    users = case.users()
    scores = np.full((len(users), WIDTH), 99.0)  # what is no candidate would win
    for user, item, score in case.predictions:
        scores[users.index(user), item] = score
    pairs = pl.DataFrame([row[:2] for row in case.predictions], ["user", "item"], orient="row")
    return scores, users, pairs


def _scores(scores: np.ndarray, users: list[Any]) -> rt.Scores:
    return rt.Scores(scores, users=users, items=range(WIDTH))


def _embeddings(scores: np.ndarray, users: list[Any]) -> rt.Embeddings:
    return rt.Embeddings(scores, np.eye(WIDTH), users=users, items=range(WIDTH))


def _tensor(scores: np.ndarray, users: list[Any]) -> rt.Scores:
    import torch

    return rt.Scores(torch.from_numpy(scores), users=users, items=range(WIDTH))


def by_batches(size: int) -> Road:
    """Lists in batches of users."""

    def evaluate(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
        evaluator, users = rt.Evaluator(metrics, switches), case.users()
        for start in range(0, len(users), size):
            evaluator.update(*_tables(case.of(set(users[start : start + size]))))
        return _values(evaluator.compute())

    return evaluate


def by_tensors(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
    """Tensors of scores in batches of two users, with candidates."""
    import torch

    from rectitude.torch import Evaluator

    evaluator = Evaluator(metrics, switches)
    scores, users, pairs = _dense(case)
    truth = _tables(case)[1]
    for start in range(0, len(users), 2):
        mine = users[start : start + 2]
        batch = rt.Scores(
            torch.from_numpy(scores[start : start + 2]), users=mine, items=range(WIDTH)
        )
        some = [table.filter(pl.col("user").is_in(mine)) for table in (truth, pairs)]
        evaluator.update(batch, some[0], candidates=some[1])
    return _values(evaluator.compute())


def by_slice(case: Case, metrics: list[str], switches: dict[str, Any]) -> Values:
    """The case as one of two slices, beside users of whom it knows nothing."""
    others = {user: user + 100 for user in case.users()}
    both = [
        pl.concat([table, table.with_columns(user=pl.col("user") + 100, item=7 - pl.col("item"))])
        for table in _tables(case)
    ]
    sides = ["ours"] * len(others) + ["theirs"] * len(others)
    users = {"user": [*others, *others.values()], "side": sides}
    whole = rt.evaluate(*both, metrics, switches, users=pl.DataFrame(users), slices=["side"])
    return {name: whole.slices.values("side", name)["ours"] for name in metrics}


ROADS: dict[str, Road] = {
    "Polars": by_objects(lambda table: table),
    "pandas": by_objects(lambda table: table.to_pandas()),
    "Arrow": by_objects(lambda table: table.to_arrow()),
    "rows": by_objects(lambda table: table.rows(named=True)),
    "mappings": by_mappings,
    "csv": by_files(".csv", pl.DataFrame.write_csv),
    "tsv": by_files(".tsv", partial(pl.DataFrame.write_csv, separator="\t")),
    "csv.zst": by_files(".csv.zst", partial(pl.DataFrame.write_csv, compression="zstd")),
    "parquet": by_files(".parquet", pl.DataFrame.write_parquet),
    "arrow": by_files(".arrow", pl.DataFrame.write_ipc),
    "jsonl": by_files(".jsonl", pl.DataFrame.write_ndjson),
    "json": by_files(".json", _write_nested),
    "trec": by_trec,
    "sparse": by_sparse,
    "scores": by_dense(_scores),
    "embeddings": by_dense(_embeddings),
    "tensor": by_dense(_tensor),
    "batches of 1": by_batches(1),
    "batches of 3": by_batches(3),
    "batches of tensors": by_tensors,
    "slice": by_slice,
}
BY_POSITION = ("sparse", "scores", "embeddings", "tensor", "batches of tensors")
"""Roads on which items have an order of their own, so that rows have none."""

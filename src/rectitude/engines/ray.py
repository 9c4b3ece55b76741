"""Ray: tasks divide the blocks of each dataset by list, or by user, and a task for every part
evaluates its rows.

A task that is lost with its worker is run again by Ray. The outcome of a part is asked for once, so
it counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from logging import ERROR, WARNING, getLogger
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

import polars as pl

from rectitude.data.frames import open_frame, rename_columns
from rectitude.data.read import TableReader
from rectitude.data.table import Source, Table
from rectitude.engines.cut import Cut, divide_users, plan_cuts
from rectitude.engines.given import refuse_other, refuse_unreadable, take_users, unwrap, wrap
from rectitude.engines.tasks import HEAD, Outcomes, PartTask, add_outcomes, evaluate_moved
from rectitude.errors import MissingExtra
from rectitude.evaluation.engines import engine_of
from rectitude.evaluation.evaluate import EvaluatePlans, columns_for
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import Side, count_rows, join_ids, open_sides
from rectitude.evaluation.plan import Slicings

PART_ROWS = 5_000_000
"""rows of all tables that a part holds at most, on average"""
_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json"}
"""how Ray reads a path with this suffix; other paths are Parquet"""


@contextmanager
def open_tables(given: RawInputs, slicings: Slicings) -> Iterator[EvaluatePlans]:
    """Open datasets, or paths, which Ray reads; a Ray that was started here ends at the end."""
    with started():
        sources = {name: unwrap(table) for name, table in given.inputs.items() if table is not None}
        datasets = {
            name: dataset
            for name, source in sources.items()
            if (dataset := _find_dataset(source, name)) is not None
        }
        yield partial(evaluate_moved, tables=_open(given, slicings, datasets))


@contextmanager
def started() -> Iterator[None]:
    """Use the cluster that this process is connected to; otherwise connect to one that is known to
    the environment or start one here, and leave it at the end."""
    import ray

    if ray.is_initialized():
        yield
        return
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def cluster_resources() -> Mapping[str, float]:
    """Return how many CPUs and GPUs the cluster has."""
    import ray

    resources: Mapping[str, float] = ray.cluster_resources()
    return resources


def _find_dataset(source: object, name: str) -> Any:
    """Return an input as a dataset; None if it is read here and handed to every part."""
    if engine_of(source) == "ray":
        return source
    if isinstance(source, str | PathLike) and name != "candidates":
        import ray.data

        path = fspath(source)
        form = _FORMATS.get(PurePath(path).suffix, "parquet")
        try:
            dataset = getattr(ray.data, f"read_{form}")(path)
            dataset.schema()  # looks at the files
        except (OSError, ValueError, ray.exceptions.RayError) as error:
            raise refuse_unreadable(path, "Ray", error) from error
        return dataset
    refuse_other(source, name, "Ray", "a Ray Dataset", f"ray.data.from_arrow({name}.to_arrow())")
    return None


def _open(given: RawInputs, slicings: Slicings, datasets: Mapping[str, Any]) -> RayTables:
    heads = {name: _collect(dataset.limit(HEAD)) for name, dataset in datasets.items()}
    cut = {name: wrap(given.inputs[name], _source_of(head.clear())) for name, head in heads.items()}
    readers = open_sides(replace(given, inputs={**given.inputs, **cut}), columns_for(slicings))
    whole = {
        name: wrap(given.inputs[name], _collected(dataset, heads[name]))
        for name, dataset in datasets.items()
    }
    given = replace(given, inputs={**given.inputs, **whole})
    return RayTables(given, readers, datasets, heads, take_users(given))


@dataclass(frozen=True)
class RayTables:
    """Datasets of Ray, and their first rows."""

    given: RawInputs
    readers: Mapping[Side, TableReader]
    datasets: Mapping[str, Any]
    heads: Mapping[str, pl.DataFrame]
    users: pl.Series | None = None

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""
        return self.readers[side].build(_source_of(self.heads[side].head(rows)))

    def distinct(self, side: Side, role: str) -> pl.Series:
        """Return the ids of a column, each once."""
        import ray

        reader = self.readers[side]
        if reader.source.take({role: reader.columns[role]})[role].dtype.is_nested():
            table = _collected(self.datasets[side], self.heads[side])  # whole lists in a row
            return reader.build(table).frame[role].unique()
        name = reader.columns[role]
        blocks = _blocks(self.datasets[side].select_columns([name]))
        unique = ray.remote(_unique)
        columns = _get([unique.remote(block) for block in blocks])
        return join_ids([pl.from_arrow(column)[name] for column in columns]).unique()  # type: ignore[index]

    def counts(self, side: Side, role: str) -> Sequence[pl.DataFrame]:
        """Return the ids of a column, and how many rows have each, by block."""
        import ray

        reader, name = self.readers[side], self.readers[side].columns[role]
        if reader.source.take({role: name})[role].dtype.is_nested():  # whole lists in a row
            table = reader.build(_collected(self.datasets[side], self.heads[side]))
            return [count_rows(table.frame[role])]
        count = ray.remote(_count)
        blocks = _blocks(self.datasets[side].select_columns([name]))
        return [pl.DataFrame(found) for found in _get([count.remote(block) for block in blocks])]

    def run(self, task: PartTask, roles: Mapping[Side, str]) -> Iterable[Outcomes]:
        """Move the rows of each part to a task, and return the sum of the outcomes."""
        import ray

        blocks = {
            side: _blocks(self.datasets[side].select_columns(task.columns(side))) for side in roles
        }
        cuts = plan_cuts(self.readers, roles, self.parts, self.users)
        users = divide_users(cuts, self.users)
        divided = {side: [_divide(block, cuts[side]) for block in blocks[side]] for side in roles}
        held = ray.put(task.for_workers())
        evaluate, add = ray.remote(evaluate_part), ray.remote(add_outcomes)
        outcomes = [
            evaluate.remote(
                held, users.get(part), {side: len(divided[side]) for side in roles},
                *(pieces[part] for side in roles for pieces in divided[side]),
            )
            for part in range(self.parts)
        ]  # fmt: skip
        while len(outcomes) > 1:
            pairs = zip(outcomes[::2], outcomes[1::2], strict=False)
            last = outcomes[-1:] if len(outcomes) % 2 else []
            outcomes = [add.remote(*pair) for pair in pairs] + last
        return [found for found in _get(outcomes) if found]

    @cached_property
    def parts(self) -> int:
        """One part for every worker, or more if their rows are many."""
        import ray

        rows = sum(
            dataset.count() for name, dataset in self.datasets.items() if name in self.readers
        )
        workers = int(ray.cluster_resources().get("CPU", 1))
        return int(max(workers, -(-rows // PART_ROWS)))


def evaluate_part(
    task: PartTask, users: pl.Series | None, blocks: Mapping[Side, int], *pieces: Any
) -> Outcomes:
    """Return the outcomes of the part with these pieces, so many of each table, and with these
    users; none if there are none. Runs on a worker."""
    rows, first = {}, 0
    for side, count in blocks.items():
        frames = [pl.DataFrame(piece) for piece in pieces[first : first + count] if len(piece)]
        rows[side] = pl.concat(frames, how="vertical_relaxed") if frames else task.empty(side)
        first += count
    empty = users is None and not any(map(len, rows.values()))
    return [] if empty else task.evaluate(rows, users)


def _divide(block: Any, cut: Cut) -> list[Any]:
    """Divide a block on a worker; return the references of its parts."""
    import ray

    divide = ray.remote(divide_block).options(num_returns=cut.parts)
    divided: Any = divide.remote(block, cut)
    return [divided] if cut.parts == 1 else list(divided)


def divide_block(block: Any, cut: Cut) -> Any:
    """Return the rows of a block by part, as many tables as there are parts."""
    rows = pl.DataFrame(block)
    divided = dict(cut.divide(rows))
    empty = rows.clear()
    tables = [divided.get(part, empty).to_arrow() for part in range(cut.parts)]
    return tables[0] if cut.parts == 1 else tables


def _unique(block: Any) -> Any:
    return pl.DataFrame(block).unique().to_arrow()


def _count(block: Any) -> Any:
    return count_rows(pl.DataFrame(block).to_series().drop_nulls()).to_arrow()


# datasets


def _collect(dataset: Any) -> pl.DataFrame:
    """Return all rows of a dataset."""
    blocks = _get(_blocks(dataset))
    if not blocks:
        return pl.DataFrame(schema=dict.fromkeys(dataset.columns() or (), pl.Null))
    return pl.concat([pl.DataFrame(block) for block in blocks], how="vertical_relaxed")


def _blocks(dataset: Any) -> list[Any]:
    """Run a dataset; return the references of its blocks as Arrow tables, in order. Ray does not
    print the progress of every one of these runs."""
    context, log = dataset.context, getLogger("ray.data")
    execution, level, bars = context.execution_options, log.level, context.enable_progress_bars
    ordered = execution.preserve_order
    execution.preserve_order, context.enable_progress_bars = True, False
    log.setLevel(WARNING)
    try:
        return [*dataset.to_arrow_refs()]
    finally:
        execution.preserve_order, context.enable_progress_bars = ordered, bars
        log.setLevel(level)


def _source_of(head: pl.DataFrame) -> Source:
    """Return rows of a dataset as a source."""
    source = open_frame(head)
    if source is None:
        raise ValueError("a frame that is no frame")
    return replace(source, label="ray dataset")


def _collected(dataset: Any, head: pl.DataFrame) -> Source:
    """Return a dataset as a source that collects the columns that are taken."""

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        names = [*dict.fromkeys(chosen.values())]
        return rename_columns(_collect(dataset.select_columns(names)), chosen)

    return Source("ray dataset", head.columns, take)


def _get(references: Sequence[Any]) -> list[Any]:
    """Return what tasks returned; say what to install if a worker lacks a package."""
    import ray

    try:
        return list(ray.get(list(references)))
    except ray.exceptions.RayError as error:
        missing = re.search(r"No module named '(\w+)", str(error))
        if missing is None:
            raise
        raise MissingExtra(
            f"a worker of Ray has no package {missing[1]!r}.",
            "rectitude[ray] on every node.",
            "install it there, or let Ray do it: ray.init(runtime_env={'py_modules': [rectitude],"
            " 'pip': ['polars', 'narwhals', 'numba', 'scipy', ...]}).",
        ) from error

"""Compare values per list that are too many for memory: from Parquet files, or folders of parts.

The rows of all models are cut into parts by a hash of the user, so that all values of a user are
together; only one part is in memory at a time. What a part says about the differences are exact
sums, so the number of parts and the order of rows do not matter.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import (
    EXPECTED,
    FORMAT,
    Evaluation,
    Result,
    attach_lists,
    from_dict,
)
from rectitude.aggregate.stored import (
    BELONGS,
    WEIGHT,
    fingerprint,
    lists_path,
    require_values_per_list,
)
from rectitude.comparison.moments import Moments
from rectitude.comparison.opening import choose_metrics, label_models, load_evaluations
from rectitude.comparison.pairing import Paired, Runs, pair_users
from rectitude.data.formats.columnar import scan_parquet
from rectitude.data.ledger import Ledger
from rectitude.errors import (
    BadArgument,
    BadTable,
    MissingNeed,
    NotComparable,
    RectitudeError,
    UnreadableFile,
)
from rectitude.evaluation.scratch import Scratch, open_scratch
from rectitude.memory import memory_limit
from rectitude.metrics.names import Names, parse
from rectitude.profiles import PROFILES
from rectitude.storage import read_stored

_PIECE = 1 << 20
"""how many rows are read at a time"""
_SHARE = 6
"""a part takes about this many times its columns while it is compared"""
_IDS = ("list", "user")
_ADVICE = "write them with `rectitude evaluate --per-list`, or Evaluation.save(per_list='kept')."


@dataclass(frozen=True, slots=True, eq=False)
class ListValues:
    """The values per list of one model, which are read piece by piece."""

    name: str
    evaluation: Evaluation | None
    """the evaluation that the values belong to, without them; None if it is not known"""
    files: Sequence[Path] = ()
    frame: pl.DataFrame | None = None
    """the values, if they are in memory"""
    mark: str = ""
    """the fingerprint that its files bear, if it is known"""
    chosen: Sequence[str] | None = None
    """the metrics to compare; None for all"""

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of the first file."""
        return dict(self._schema_of(self.files[0]) if self.frame is None else self.frame.schema)

    @property
    def metrics(self) -> list[str]:
        """The metrics that have values."""
        names = [name for name in self.schema if name not in (*_IDS, WEIGHT)]
        return names if self.chosen is None else [name for name in names if name in self.chosen]

    def _schema_of(self, file: Path) -> Mapping[str, pl.DataType]:
        try:
            return pl.read_parquet_schema(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            cause = str(error).strip().partition("\n")[0].rstrip(".")
            raise UnreadableFile(f"{file} cannot be read: {cause}.", "a Parquet file.") from error

    def count_rows(self) -> int:
        """Return how many lists there are; every file must have the columns of the first."""
        if self.frame is not None:
            return self.frame.height
        first, rows = self.schema, 0
        for file in self.files:
            columns = dict(self._schema_of(file))
            if columns.keys() != first.keys():
                differing = ", ".join(sorted(columns.keys() ^ first.keys()))
                raise UnreadableFile(
                    f"{file} has other columns than {self.files[0].name}: {differing}.",
                    "the same columns in all parts.",
                )
            self._require_own(file)
            rows += int(pl.scan_parquet(file).select(pl.len()).collect().item())
        return rows

    def _require_own(self, file: Path) -> None:
        """Raise an error if a file says that it belongs to another evaluation."""
        mark = pl.read_parquet_metadata(file).get(BELONGS)
        if mark is not None and self.mark and mark != self.mark:
            raise NotComparable(
                f"{file} holds the values of another evaluation than that of {self.name}.",
                "values and evaluation that were written together.",
                "evaluate again and save both.",
            )

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield all rows, some at a time."""
        if self.frame is not None:
            yield self.frame
        ids = [name for name in self.schema if name in (*_IDS, WEIGHT)]
        columns = {name: name for name in [*ids, *self.metrics]}
        for file in self.files:
            source = scan_parquet(file, [file])
            for piece in source.parts.each(_PIECE) if source.parts is not None else ():
                yield require_values_per_list(piece.take(columns), str(file))


def find_list_values(models: Any) -> dict[str, object] | None:
    """Return the models by name if the values per list of any are in files to be read in parts;
    None if there is nothing of that kind."""
    if not isinstance(models, Mapping | list | tuple):
        return None
    labels = [
        name.removesuffix(".parquet").removesuffix(".lists") for name in label_models([*models])
    ]
    named = models if isinstance(models, Mapping) else dict(zip(labels, models, strict=True))
    single = {str(name): _single(source) for name, source in named.items()}
    return single if any(map(is_in_parts, single.values())) else None


def _single(source: object) -> object:
    several = isinstance(source, list | tuple) and len(source) == 1
    return source[0] if several else source  # type: ignore[index]


def is_in_parts(source: object) -> bool:
    """Return whether a path leads to values per list as Parquet, or to an evaluation whose values
    are in a folder beside it."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(source)
    if path.suffix.lower() == ".json":
        return lists_path(path).is_dir()
    files = _find_files(path)
    return bool(files) and _holds_metrics(files[0])


def _find_files(path: Path) -> list[Path]:
    """Return a Parquet file, or those in a folder; none if there are other files, too."""
    if path.is_file():
        return [path] if path.suffix.lower() == ".parquet" else []
    if not path.is_dir():
        return []
    inside = [
        file for file in sorted(path.rglob("*")) if file.is_file() and file.name[0] not in "._"
    ]
    return inside if all(file.suffix.lower() == ".parquet" for file in inside) else []


def _holds_metrics(file: Path) -> bool:
    """Return whether all columns of a Parquet file but the ids are metrics."""
    try:
        columns = pl.read_parquet_schema(file)
    except (OSError, pl.exceptions.PolarsError):
        return False
    values = {name: kind for name, kind in columns.items() if name not in (*_IDS, WEIGHT)}
    if "user" not in columns or not values:
        return False
    return all(kind.is_float() and _is_metric(name) for name, kind in values.items())


def _is_metric(name: str) -> bool:
    try:
        return len(parse(name)) == 1 and PROFILES["default"].resolve(parse(name)[0]) is not None
    except RectitudeError:
        return False


def open_list_values(models: Mapping[str, object], metrics: Names | None) -> list[ListValues]:
    """Open the values per list of every model."""
    return [_open_values(name, source, metrics) for name, source in models.items()]


def _open_values(name: str, source: object, metrics: Names | None) -> ListValues:
    if isinstance(source, list | tuple):
        raise BadArgument(
            f"{name} has {len(source)} runs, and values per list are read from files in parts.",
            "one run of each model.",
        )
    if is_in_parts(source):
        values = _open_files(name, Path(str(source)))
        return values if metrics is None else _keep_metrics(values, metrics)
    found = {"": source} if isinstance(source, Evaluation) else load_evaluations(source)
    if found is None or len(found) != 1:
        raise MissingNeed(
            f"{name} is not an evaluation, and other models are values per list in files.",
            "stored evaluations or values per list for all models.",
            _ADVICE,
        )
    evaluation: Evaluation = next(iter(found.values()))
    if metrics is not None:
        evaluation = choose_metrics(evaluation, metrics, None, name)
    return ListValues(name, evaluation, frame=evaluation.stored().frame())


def _open_files(name: str, path: Path) -> ListValues:
    document = path
    if path.suffix.lower() != ".json":
        document = path.with_name(
            path.name.removesuffix(".parquet").removesuffix(".lists") + ".json"
        )
    else:
        path = lists_path(path)
    files = _find_files(path)
    if not files:
        raise UnreadableFile(f"{path} contains no Parquet file.", "values per list.", _ADVICE)
    if not document.is_file():
        return ListValues(name, None, files)
    stored = read_stored(document, "evaluation", EXPECTED)
    if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
        return ListValues(name, None, files)
    return ListValues(name, from_dict(stored, str(document)), files, mark=fingerprint(stored))


def _keep_metrics(values: ListValues, metrics: Names) -> ListValues:
    """Return the values of some metrics only."""
    described = choose_metrics(
        values.evaluation or _describe(values, {}), metrics, None, values.name
    )
    known = None if values.evaluation is None else described
    return replace(values, evaluation=known, chosen=[*described.results])


def _describe(values: ListValues, known: Mapping[str, Result]) -> Evaluation:
    """Return an evaluation for values that come without: each metric by its name, under the
    default convention or that of another model."""
    results = {}
    for name in values.metrics:
        asked = PROFILES["default"].resolve(parse(name)[0])
        results[name] = known.get(name) or Result(
            asked.name, np.nan, asked.metric.name, "", "", asked.convention.as_dict(), asked.numbers
        )
    return Evaluation(results, Ledger(), {})


@dataclass(eq=False)
class Streams:
    """The values per list of all models, cut into parts."""

    tables: Sequence[ListValues]
    scratch: Scratch
    count: int
    """how many parts there are"""

    @cached_property
    def runs(self) -> Runs:
        """The evaluations of all models, without values."""
        documented = [table.evaluation for table in self.tables if table.evaluation is not None]
        known = {name: one for run in documented for name, one in run.results.items()}
        runs: dict[str, list[Evaluation]] = {}
        for table in self.tables:
            evaluation = table.evaluation or _describe(table, known)
            runs[table.name] = [attach_lists(evaluation, self._empty(table))]
        return runs

    def _empty(self, table: ListValues) -> pl.DataFrame:
        return pl.DataFrame(schema=table.schema).drop(
            [name for name in table.schema if name not in (*_IDS, WEIGHT, *table.metrics)]
        )

    @property
    def notes(self) -> list[str]:
        """Which models come without their definitions."""
        unknown = [table.name for table in self.tables if table.evaluation is None]
        if not unknown:
            return []
        note = (
            f"{', '.join(unknown)}: values per list without their evaluation (NAME.json beside "
            "NAME.lists.parquet), so that definitions and truth cannot be checked."
        )
        return [note]

    def cut(self) -> None:
        """Write the rows of all models to temporary files, by part."""
        for number, table in enumerate(self.tables):
            for piece, frame in enumerate(table.pieces()):
                part = frame["user"].cast(pl.String).hash() % self.count
                rows = frame.with_columns(part.alias("part of a table"))
                by_part = rows.partition_by("part of a table", as_dict=True, include_key=False)
                for (which,), some in by_part.items():
                    self.scratch.write(str(number), int(which), piece, some)

    def runs_of(self, part: int) -> Runs:
        """Return the evaluations of all models with the values of one part."""
        return {
            table.name: [attach_lists(self.runs[table.name][0], self._load(number, part))]
            for number, table in enumerate(self.tables)
        }

    def _load(self, number: int, part: int) -> pl.DataFrame:
        table = self.tables[number]
        whole = self.count == 1
        frames = [*table.pieces()] if whole else self.scratch.read(str(number), part)
        frame = pl.concat([self._empty(table), *frames], how="vertical_relaxed")
        _require_once(frame, table.name)
        return frame

    def parts(self, metrics: Sequence[str], baseline: str | None) -> Iterator[Paired]:
        """Yield what is compared, part by part."""
        for part in range(self.count):
            yield pair_users(self.runs_of(part), metrics, baseline)

    def add_up(self, metrics: Sequence[str], baseline: str | None) -> Paired:
        """Return the sums over all parts."""
        return reduce(add, self.parts(metrics, baseline))

    def with_numbers(self, metrics: Sequence[str]) -> Runs:
        """Return the evaluations of all models; values without an evaluation get the mean of their
        lists."""
        runs = {name: [*evaluations] for name, evaluations in self.runs.items()}
        for number, table in enumerate(self.tables):
            (evaluation,) = runs[table.name]
            means = self._means(number, metrics) if table.evaluation is None else {}
            results = {
                name: replace(result, value=means.get(name, result.value))
                for name, result in evaluation.results.items()
            }
            runs[table.name] = [replace(evaluation, results=results)]
        return runs

    def _means(self, number: int, metrics: Sequence[str]) -> dict[str, float]:
        totals = dict.fromkeys(metrics, Moments())
        for part in range(self.count):
            frame = self._load(number, part)
            for name in metrics:
                totals[name] += Moments.of(frame[name].drop_nulls().drop_nans().to_numpy())
        return {name: moments.mean for name, moments in totals.items() if moments.users}


def _require_once(frame: pl.DataFrame, name: str) -> None:
    """Raise an error if a list has several rows: a part would be counted twice."""
    key = "list" if "list" in frame.columns else "user"
    repeated = frame[key].is_duplicated()
    if repeated.any():
        first = frame[key][int(repeated.arg_max() or 0)]
        raise BadTable(
            f"{name}: {frame[key].filter(repeated).n_unique():,} lists have several rows (first: "
            f"{first!r}).",
            "one row for each list.",
            "remove the file that was written twice.",
        )


@contextmanager
def cut_list_values(tables: Sequence[ListValues]) -> Iterator[Streams]:
    """Cut the values of all models into parts that fit into memory; temporary files are removed at
    the end."""
    size = sum(8 * table.count_rows() * (len(table.schema) + 2) for table in tables)
    count = max(1, -(-_SHARE * size // memory_limit()))
    with open_scratch(f"compare-{secrets.token_hex(6)}") as scratch:
        streams = Streams(tables, scratch, count)
        if count > 1:
            streams.cut()
        yield streams

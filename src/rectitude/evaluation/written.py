"""Values per list that are written to files instead of being held: `per_list=`.

The result then has the numbers alone. The rows of a file are in no particular order: of tables that
are evaluated part by part, they come part by part.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from rectitude.aggregate.evaluation import Evaluation, Keys, tabulate_lists
from rectitude.aggregate.stored import WEIGHT, mark_lists
from rectitude.errors import BadArgument, BadIds, RectitudeError, UnwritableFile
from rectitude.evaluation.evaluate import EvaluatePlans
from rectitude.evaluation.measure import has_values
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import KeptValues
from rectitude.storage import explain_unwritable, write_all

_SUFFIXES = (".parquet", ".csv", "")
_LONGEST_NAME = 100
"""characters of the name of a convention that a file is called by"""


def require_target(per_list: object, convention: object) -> Path:
    """Return where values per list are to be written; raise an error if they cannot be, before
    anything is computed."""
    if not isinstance(per_list, str | PathLike):
        raise BadArgument(
            f"per_list is {per_list!r}.", "the path of a .parquet or .csv file, or of a new folder."
        )
    path = Path(fspath(per_list)).expanduser()
    if path.suffix.lower() not in _SUFFIXES:
        raise BadArgument(
            f"per_list is {str(path)!r}, whose ending is {path.suffix!r}.",
            ".parquet or .csv, or no ending: a folder of Parquet files.",
        )
    if isinstance(convention, list | tuple) and path.suffix:
        raise BadArgument(
            f"per_list is {str(path)!r}, and several conventions were given.",
            "a name without an ending: a new folder with a Parquet file for each convention.",
        )
    if not path.parent.is_dir() or not _is_free(path):
        found = "it has files in it" if path.parent.is_dir() else f"{path.parent} is no folder"
        raise UnwritableFile(
            f"per_list {path} cannot be written: {found}.",
            "a file in a folder that exists, or a new folder.",
        )
    return path


def _is_free(path: Path) -> bool:
    """Return whether a file, which may be replaced, or a new folder can be written."""
    if path.suffix:
        return not path.is_dir()
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def evaluate_to_file(plan: Plan, evaluate: Callable[[Plan], Evaluation]) -> Evaluation:
    """Evaluate a plan, write the values per list if that was not done part by part, and return the
    evaluation without them."""
    _require_values(plan)
    evaluation = evaluate(plan)
    if plan.per_list is None or evaluation.lists is None:
        return evaluation
    return _write_held(evaluation, evaluation.lists, plan.per_list)


def evaluate_to_files(
    plans: Mapping[str, Plan], evaluate_plans: EvaluatePlans
) -> list[Evaluation | RectitudeError]:
    """Evaluate a plan for each convention, by name, and write the values per list of each to a file
    of its own, in a new folder."""
    (target,) = {plan.per_list for plan in plans.values() if plan.per_list is not None}
    for plan in plans.values():
        _require_values(plan)
    with _new_folder(target) as folder:
        named = [
            replace(plan, per_list=folder / f"{name}.parquet")
            for plan, name in zip(plans.values(), _name_files([*plans]), strict=True)
        ]
        found = [*evaluate_plans(named)]
        errors = [one for one in found if isinstance(one, RectitudeError)]
        if len(errors) == len(found):
            raise errors[0]
        for number, (one, plan) in enumerate(zip(found, named, strict=True)):
            if isinstance(one, Evaluation) and one.lists is not None and plan.per_list is not None:
                found[number] = _write_held(one, one.lists, plan.per_list)
        return found


def _name_files(labels: Sequence[str]) -> list[str]:
    """Return a file name for each convention, in characters that every system allows."""
    names: list[str] = []
    for label in labels:
        name = re.sub(r"[^\w.,=+-]+", "_", label)[:_LONGEST_NAME]
        names.append(f"{name}-{len(names) + 1}" if name in names else name)
    return names


def _require_values(plan: Plan) -> None:
    """Raise an error if no metric has a value for every list."""
    if not any(has_values(asked) for asked in plan.measured.values() if asked in plan.asked):
        names = ", ".join(str(asked.name) for asked in plan.asked)
        raise BadArgument(
            f"per_list={str(plan.per_list)!r} is given, and {names} has no value for every list.",
            "at least one metric with a value for every list, such as ndcg@10.",
        )


def tabulate_kept(kept: KeptValues, names: Sequence[str]) -> pl.DataFrame | None:
    """Return the values of some metrics as a table with a row per list; None if there are none."""
    keys = kept.keys()
    if keys is None:
        return None
    values = {name: kept.values(name) for name in kept.names() if name in names}
    return tabulate_lists(keys, values, "added")


def _write_held(evaluation: Evaluation, lists: Keys, path: Path) -> Evaluation:
    values = {n: r.values for n, r in evaluation.results.items() if r.values is not None}
    frame = tabulate_lists(lists, values, "added")
    objects = [name for name, kind in frame.schema.items() if kind == pl.Object]
    if objects:
        raise BadIds(
            f"{objects[0]} ids are Python objects, which cannot be written.", "text or numbers."
        )
    results = {name: replace(result, values=None) for name, result in evaluation.results.items()}
    dropped = replace(evaluation, lists=None, results=results)
    write_tables([frame.lazy()], dropped, path)
    return dropped


def write_tables(tables: Sequence[pl.LazyFrame], evaluation: Evaluation, path: Path) -> None:
    """Write tables of values per list as one file, or as a folder of one file each; they are read
    one after another. Nothing is left behind if that fails."""
    if not tables:  # every metric failed
        return
    frames = [*_select_shared(tables, [*evaluation.results])]
    if path.suffix:
        whole = pl.concat(frames, how="vertical_relaxed")
        write_all({path: _writer(whole, evaluation, path.suffix.lower())})
        return
    with _new_folder(path) as folder:
        for number, frame in enumerate(frames):
            target = folder / f"part-{number:05d}.parquet"
            with explain_unwritable(path / target.name, target):
                frame.sink_parquet(target)


def _select_shared(
    tables: Sequence[pl.LazyFrame], metrics: Sequence[str]
) -> Iterator[pl.LazyFrame]:
    """Yield the tables with the columns of all of them: a metric that failed in one failed for
    all lists. Metrics come in their order."""
    schemas = [table.collect_schema() for table in tables]
    names = [name for name in schemas[0] if all(name in schema for schema in schemas)]
    ids = [name for name in ("list", "user") if name in names]
    values = [name for name in metrics if name in names]
    weight = [name for name in names if name == WEIGHT and name not in metrics]
    types = {name: {schema[name] for schema in schemas} for name in ids}
    as_text = [name for name, kinds in types.items() if pl.String in kinds]
    for table in tables:
        yield table.select(*ids, *values, *weight).with_columns(pl.col(as_text).cast(pl.String))


def _writer(whole: pl.LazyFrame, evaluation: Evaluation, suffix: str) -> Callable[[Path], object]:
    if suffix == ".csv":
        return whole.sink_csv
    return lambda target: whole.sink_parquet(target, metadata=mark_lists(evaluation.to_json()))


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder under a temporary name, which gets its own name once it is complete."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with explain_unwritable(path, unfinished):
            unfinished.mkdir()
            yield unfinished
            if path.is_dir():
                path.rmdir()
            unfinished.replace(path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)

"""What was handed over to be audited: every table is read once, ids become common codes, and what
is evaluated as it is stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.auditing.dense import learnt_targets, opened_dense, targets_of, with_scores
from rectitude.auditing.parts import BY_LIST, TIME, USER, AuditCase, CodedTable, Parts, coded
from rectitude.auditing.ranked import cleaned, once, placed, popular_lists, sound_weights
from rectitude.data.dense import Dense
from rectitude.data.formats.file import opened
from rectitude.data.formats.folders import files_left, holds_table, part_files
from rectitude.data.formats.lines import numbered_lines
from rectitude.data.log import ROW, Log
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadName, BadTable
from rectitude.evaluation.restrict import named, table_made
from rectitude.metrics.names import Name, parse_all
from rectitude.predictions.lists import order_of
from rectitude.predictions.masks import by_position
from rectitude.predictions.scores import column_of
from rectitude.profiles import Profile, profile_of
from rectitude.splits.split import Split

LENIENT = {
    "duplicate_truth": "once", "duplicates": "first", "ties": "pessimistic",
    "unknown_users": "keep", "unknown_items": "keep",
}  # fmt: skip
"""What is done where the convention says error: an audit counts what an evaluation refuses."""
DEPTH = 10
METRICS, TARGET_METRICS = ("ndcg@10", "recall@10"), ("accuracy@1", "mrr")


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed over, as it came."""

    train: object = None
    truth: object = None
    predictions: object = None
    validation: object = None
    items: object = None
    users: object = None
    folds: object = None
    weights: object = None
    list_key: str = USER
    columns: Mapping[str, str] | None = None
    shown: object = None
    """what is shown of the evaluated users: it counts as train"""
    noun: str = "item"
    """what is ranked: items, or classes"""
    left_out: tuple[str, ...] = ()
    """files of the folder that was given which are no part"""

    @property
    def keyed(self) -> bool:
        """Whether lists have a key of their own."""
        return self.list_key != USER


def unpacked(handed: Handed) -> dict[str, Handed]:
    """What is audited, by name: one thing, or every split of a series or of a folder with folds."""
    held = handed.train
    if isinstance(held, (str, PathLike)) and Path(held).is_dir() and not holds_table(Path(held)):
        found = part_files(Path(held))
        told = replace(handed, left_out=files_left(Path(held), found))
        return _series(told, {one.name: one.files for one in found})
    splits = [held] if isinstance(held, Split) else held if isinstance(held, list) else []
    if splits and all(isinstance(one, Split) for one in splits):
        names = [one.name for one in splits]
        own = len({*names}) == len(names)
        named = zip(names if own else map(str, range(1, len(names) + 1)), splits, strict=True)
        return _series(handed, {name: dict(one.parts()) for name, one in named})
    if all(part is None for part in (held, handed.truth, handed.predictions)):
        raise BadName("nothing to audit was given.", "train, truth or predictions.")
    return {"": handed}


def _series(handed: Handed, series: Mapping[str, Mapping[str, object]]) -> dict[str, Handed]:
    """The parts of every split; what the truths have in common is looked at with the first."""
    found = {name: _with_parts(handed, parts) for name, parts in series.items()}
    if len(found) == 1:
        return found
    if handed.predictions is not None:
        raise BadName(
            f"predictions were given, and {len(found)} splits ({', '.join([*found][:4])}, ...).",
            "predictions for one split.",
            "name the split, or its folder.",
        )
    first = next(iter(found))
    folds = {name: parts["truth"] for name, parts in series.items()}
    folds_of = folds if handed.folds is None else handed.folds
    return {**found, first: replace(found[first], folds=folds_of)}


def _with_parts(handed: Handed, parts: Mapping[str, object]) -> Handed:
    """The parts of a split: what is shown of users counts as train, what a model is chosen by is
    no part of it."""
    named = {"truth": "truth", "validation": "validation_truth", "shown": "fold_in"}
    free = [name for name in named if getattr(handed, name) is None]
    rest: Any = {name: parts.get(named[name]) for name in free}
    return replace(handed, train=parts.get("validation_train", parts["train"]), **rest)


def open_parts(handed: Handed, metrics: str | Iterable[str] | None, convention: object) -> Parts:
    """Everything that was handed over, with common codes, and what is evaluated as it is."""
    dense = opened_dense(handed.predictions)
    logits = dense is not None and dense.kind == "logits"
    profile = profile_of(convention)
    usual = TARGET_METRICS if logits else METRICS
    names = parse_all(usual if metrics is None else metrics)
    if logits:
        handed, tables, wrong = _with_targets(handed, dense)
    else:
        tables, wrong = tables_of(handed, dense), None
    codes = coded(tables, dense, handed.list_key)
    parts = _parts(codes, handed, profile, names)
    if dense is None:
        return _with_base(_with_lists(parts, tables, codes))
    return _with_base(with_scores(parts, dense, codes, _padding(dense, profile), wrong))


def _with_targets(handed: Handed, dense: Any) -> tuple[Handed, dict[str, Table], dict[int, Any]]:
    """Logits go by row, their truth is a target for each, and train the targets of training."""
    refused = ("validation", "items", "users", "folds", "weights")
    given = [name for name in refused if getattr(handed, name) is not None]
    if given or handed.truth is None:
        raise BadName(
            f"{given[0]} was given, and the predictions are logits." if given
            else "logits were given without a truth.",
            "the target of each row as truth, and the targets of training as train.",
        )  # fmt: skip
    truth, wrong = targets_of(dense, handed.truth)
    tables = {"truth": truth}
    if handed.train is not None:
        tables["train"] = learnt_targets(handed.train)
    return replace(handed, list_key="row", noun="class"), tables, wrong


def _parts(codes: CodedTable, handed: Handed, profile: Profile, names: list[Name]) -> Parts:
    cutoffs = [cutoff for name in names if (cutoff := profile.resolve(name).cutoff) is not None]
    frames = codes.frames
    train = frames.get("train")
    return Parts(
        codes.users, codes.lists, codes.items, _lenient(profile), profile, tuple(map(str, names)),
        max(cutoffs, default=DEPTH), handed.list_key, handed.noun,
        train=train if train is not None and USER in train.columns else None, learnt=train,
        truth=_chosen(frames, "truth"), validation=_chosen(frames, "validation"),
        catalogue=frames.get("items"), evaluated=frames.get("users"), weights=frames.get("weights"),
        folds={n.removeprefix("fold "): f for n, f in frames.items() if n.startswith("fold ")},
    )  # fmt: skip


def _chosen(frames: Mapping[str, pl.DataFrame], name: str) -> pl.DataFrame | None:
    """A part to evaluate against, with the users who are to be evaluated."""
    frame, users = frames.get(name), frames.get("users")
    if frame is None or users is None:
        return frame
    if USER not in frame.columns:
        raise BadName(
            f"users= was given, and {name} does not say whose lists it holds.",
            "a user column beside the key of lists.",
        )
    return frame.join(users, on=USER, how="semi", maintain_order="left")


def _lenient(profile: Profile) -> Profile:
    refused = {
        switch: choice
        for switch, choice in LENIENT.items()
        if getattr(profile.convention, switch) == "error"
    }
    return profile.replace(**refused) if refused else profile


def _padding(dense: Dense, profile: Profile) -> int | None:
    """The column that stands for no item, by the scores or by the profile."""
    if dense.padding is not None or profile.padding is None or dense.kind == "logits":
        return dense.padding if dense.padding is None else int(dense.padding)
    return column_of(dense.items, profile.padding)


def _with_lists(parts: Parts, tables: Mapping[str, Table], codes: CodedTable) -> Parts:
    """The parts with ranked lists, if there are any."""
    if "predictions" not in tables:
        return parts
    order = order_of(tables["predictions"], parts.profile.convention.order)
    lists = placed(_chosen(codes.frames, "predictions"), order)
    handed = codes.frames.get("handed")
    known = None if handed is None else handed[handed.columns[0]].unique().alias("list")
    ranked = cleaned(lists, order)
    if "duplicates" in parts.relaxed:
        ranked = ranked.filter(~ranked["again"])
    return replace(parts, lists=lists, handed=known, order=order, ranked=ranked)


def _with_base(parts: Parts) -> Parts:
    """The parts with what is evaluated as it is; popular items stand in for predictions."""
    truth = parts.truth
    if truth is None:
        return parts
    if "duplicate_truth" in parts.relaxed:
        truth = once(truth)
    lists = parts.ranked
    if lists is None and parts.train is not None:
        lists = popular_lists(parts.train, truth, parts.depth, parts.seen)
    if lists is None:
        return parts
    if parts.weights is not None:
        truth = truth.join(
            sound_weights(parts.weights), on="list", how="semi", maintain_order="left"
        )
    return replace(parts, base=AuditCase(truth, lists, parts.handed))


def tables_of(handed: Handed, dense: Dense | None) -> dict[str, Table]:
    """Every part, read."""
    listed: What = "truth" if handed.keyed else "log"
    sources: dict[str, tuple[object, What]] = {
        "train": (handed.train, "log"), "shown": (handed.shown, "log"),
        "truth": (handed.truth, listed), "validation": (handed.validation, listed),
        "items": (handed.items, "items"), "users": (handed.users, "users"),
        "weights": (handed.weights, "weights"),
        **{f"fold {name}": (one, "log") for name, one in _named(handed.folds).items()},
        "predictions": (None if dense is not None else handed.predictions, "predictions"),
    }  # fmt: skip
    tables = {
        name: _table(name, source, what, handed, dense)
        for name, (source, what) in sources.items()
        if source is not None
    }
    if "predictions" in tables and any(map(_holds_sets, tables.values())):
        raise BadName(
            "a part holds two sets a line, and predictions go by line.",
            "an audit of the parts alone, or tables with a column for the user.",
        )
    return _joined(tables)


def _named(folds: object) -> dict[str, object]:
    if folds is None:
        return {}
    if isinstance(folds, Mapping):
        return {str(name): one for name, one in folds.items()}
    if isinstance(folds, Sequence) and not isinstance(folds, str):
        return {str(number): one for number, one in enumerate(folds, 1)}
    raise BadName(f"folds is a {type(folds).__name__}.", "a dict or a list of tables.")


def _table(name: str, source: object, what: What, handed: Handed, dense: Dense | None) -> Table:
    if isinstance(source, Log):
        frame = source.frame.drop(ROW, strict=False).rename({USER: "list"})
        return Table(frame, dict.fromkeys(frame.columns, ""), source.source, False, False, None)
    if dense is not None and hasattr(source, "tocoo"):
        return _by_position(source, dense)
    # A truth that goes by list takes its times where they bear the usual name, or are named.
    hints = {TIME: TIME, **(handed.columns or {})}
    table = read(source, what, hints=hints, list_key=handed.list_key)
    if table.frame.is_empty():  # nothing says what kind of times its column would hold
        table = replace(table, frame=table.frame.drop(TIME, strict=False))
    path = getattr(source, "source", source)
    if isinstance(path, (str, PathLike)) and _holds_sets(table):
        return _by_first_set(path, table)
    if handed.keyed and name in BY_LIST and "list" not in table.frame.columns:
        raise BadTable(
            f"{name} ({table.source}) has no column {handed.list_key!r}.",
            "the key of lists in predictions and in truth: an audit goes by list.",
        )
    return table


def _by_position(source: Any, dense: Dense) -> Table:
    """A sparse matrix of the scores' shape, whose rows and columns are those of the scores."""
    cells = by_position(dense, source, "a part").tocoo()
    return table_made(named(dense, cells.row, cells.col), "sparse matrix")


def _holds_sets(table: Table) -> bool:
    """Whether a table was read from a file of two sets a line, such as symptoms and herbs."""
    return table.recognised.partition(" ")[0] == "sets"


def _by_first_set(path: str | PathLike[str], table: Table) -> Table:
    """Such a table with the first set of each line as its user, numbers ascending: the numbers of
    lines, by which it was read, say nothing across files."""
    lines = numbered_lines(opened(Path(fspath(path)).expanduser()))
    halves = lines.select(pl.col("line").str.split("\t"))
    first, second = (pl.col("line").list.get(side).str.extract_all(r"\S+") for side in (0, 1))
    user = first.list.eval(pl.element().sort_by(pl.element().cast(pl.Int64))).list.join(" ")
    frame = halves.select(user.alias("list"), second.alias("item"))
    return replace(table, frame=frame.filter(pl.col("item").list.len() > 0).explode("item"))


def _joined(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables, what is shown of users added to train."""
    shown = tables.pop("shown", None)
    if shown is not None:
        frames = [tables["train"].frame, shown.frame]
        tables["train"] = replace(tables["train"], frame=pl.concat(frames, how="diagonal_relaxed"))
    return tables

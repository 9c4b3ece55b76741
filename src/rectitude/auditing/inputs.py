"""Open the inputs of an audit: read every table once, turn ids into common codes, and prepare the
predictions and the truth that are evaluated unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.auditing.dense import open_dense, targets_of, training_targets, with_scores
from rectitude.auditing.parts import BY_LIST, TIME, USER, AuditCase, CodedTable, Parts, code_tables
from rectitude.auditing.ranked import clean_lists, once, place_items, popular_lists, sound_weights
from rectitude.data.columns import find_unused
from rectitude.data.dense import Dense
from rectitude.data.formats.file import open_content
from rectitude.data.formats.folders import holds_table, part_files, unused_files
from rectitude.data.formats.lines import number_lines
from rectitude.data.log import ROW, Log
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadArgument, BadTable
from rectitude.evaluation.restrict import make_table, name_cells
from rectitude.metrics.names import Name, parse_all
from rectitude.predictions.lists import order_of
from rectitude.predictions.masks import by_position
from rectitude.predictions.scores import column_of
from rectitude.profiles import Profile, profile_of
from rectitude.splits.files import require_unchanged
from rectitude.splits.split import Split

LENIENT = {
    "duplicate_truth": "once", "duplicates": "first", "ties": "pessimistic",
    "unknown_users": "keep", "unknown_items": "keep",
}  # fmt: skip
"""Choices that replace "error": an audit counts what an evaluation would refuse."""
DEPTH = 10
METRICS, TARGET_METRICS = ("ndcg@10", "recall@10"), ("accuracy@1", "mrr")


@dataclass(frozen=True, slots=True)
class AuditArguments:
    """The arguments of an audit, unopened."""

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
    """the fold-in rows of the evaluated users: they count as train"""
    noun: str = "item"
    """what is ranked: items, or classes"""
    left_out: tuple[str, ...] = ()
    """files of the audited folder that are not parts of a split"""

    @property
    def keyed(self) -> bool:
        """Whether lists have another key than the user."""
        return self.list_key != USER


def unpack(handed: AuditArguments) -> dict[str, AuditArguments]:
    """Return what is audited, by name: one split, or every split of a series or of a folder."""
    train = handed.train
    if isinstance(train, (str, PathLike)) and Path(train).is_dir() and not holds_table(Path(train)):
        folder = part_files(Path(train))
        for split in folder:
            require_unchanged(split)
        handed = replace(handed, left_out=unused_files(Path(train), folder))
        return _series(handed, {split.name: split.files for split in folder})
    splits = [train] if isinstance(train, Split) else train if isinstance(train, list) else []
    if splits and all(isinstance(split, Split) for split in splits):
        names = [split.name for split in splits]
        unique = len({*names}) == len(names)
        named = zip(names if unique else map(str, range(1, len(names) + 1)), splits, strict=True)
        return _series(handed, {name: dict(split.parts()) for name, split in named})
    if all(part is None for part in (train, handed.truth, handed.predictions)):
        raise BadArgument(
            "there is nothing to audit: no train, no truth and no predictions were given.",
            "at least one of train, truth and predictions.",
        )
    return {"": handed}


def _series(
    handed: AuditArguments, series: Mapping[str, Mapping[str, object]]
) -> dict[str, AuditArguments]:
    """Return the parts of every split; the first one also compares the truths as folds."""
    splits = {name: _with_parts(handed, parts) for name, parts in series.items()}
    if len(splits) == 1:
        return splits
    if handed.predictions is not None:
        raise BadArgument(
            f"predictions were given for {len(splits)} splits ({', '.join([*splits][:4])}, ...).",
            "one split to go with the predictions.",
            "pass one split or its folder, or leave out the predictions.",
        )
    first = next(iter(splits))
    truths = {name: parts["truth"] for name, parts in series.items()}
    folds = truths if handed.folds is None else handed.folds
    return {**splits, first: replace(splits[first], folds=folds)}


def _with_parts(handed: AuditArguments, parts: Mapping[str, object]) -> AuditArguments:
    """Fill in the parts of a split: fold-in rows count as train, validation rows do not."""
    named = {"truth": "truth", "validation": "validation_truth", "shown": "fold_in"}
    free = [name for name in named if getattr(handed, name) is None]
    rest: Any = {name: parts.get(named[name]) for name in free}
    return replace(handed, train=parts.get("validation_train", parts["train"]), **rest)


def open_parts(
    handed: AuditArguments, metrics: str | Iterable[str] | None, convention: object
) -> Parts:
    """Open everything with common codes, and prepare what is evaluated unchanged."""
    dense = open_dense(handed.predictions)
    logits = dense is not None and dense.kind == "logits"
    profile = profile_of(convention)
    usual = TARGET_METRICS if logits else METRICS
    names = parse_all(usual if metrics is None else metrics)
    if logits:
        handed, tables, wrong = _with_targets(handed, dense)
    else:
        tables, wrong = tables_of(handed, dense), None
    codes = code_tables(tables, dense, handed.list_key)
    parts = _parts(codes, handed, profile, names)
    if dense is None:
        return _with_base(_with_lists(parts, tables, codes))
    return _with_base(with_scores(parts, dense, codes, _padding(dense, profile), wrong))


def _with_targets(
    handed: AuditArguments, dense: Any
) -> tuple[AuditArguments, dict[str, Table], dict[int, Any]]:
    """Read logits: each row has a target as truth, and train has the training targets."""
    unsupported = ("validation", "items", "users", "folds", "weights")
    extra = [name for name in unsupported if getattr(handed, name) is not None]
    extra += ["list_key"] if handed.keyed else []
    extra += ["columns"] if handed.columns else []
    if extra or handed.truth is None:
        raise BadArgument(
            f"{extra[0]} was given together with logits." if extra
            else "logits were given without a truth.",
            "only the target of each row as truth, and the training targets as train.",
            f"leave out {extra[0]}." if extra else "pass the target of each row as truth.",
        )  # fmt: skip
    truth, wrong = targets_of(dense, handed.truth)
    tables = {"truth": truth}
    if handed.train is not None:
        tables["train"] = training_targets(handed.train)
    return replace(handed, list_key="row", noun="class"), tables, wrong


def _parts(codes: CodedTable, handed: AuditArguments, profile: Profile, names: list[Name]) -> Parts:
    cutoffs = [cutoff for name in names if (cutoff := profile.resolve(name).cutoff) is not None]
    frames = codes.frames
    train = frames.get("train")
    return Parts(
        codes.users, codes.lists, codes.items, _lenient(profile), profile, tuple(map(str, names)),
        max(cutoffs, default=DEPTH), handed.list_key, handed.noun,
        train=train if train is not None and USER in train.columns else None, learnt=train,
        truth=_choose_part(frames, "truth"), validation=_choose_part(frames, "validation"),
        catalogue=frames.get("items"), evaluated=frames.get("users"), weights=frames.get("weights"),
        folds={n.removeprefix("fold "): f for n, f in frames.items() if n.startswith("fold ")},
    )  # fmt: skip


def _choose_part(frames: Mapping[str, pl.DataFrame], name: str) -> pl.DataFrame | None:
    """Return a part, restricted to the users to evaluate."""
    frame, users = frames.get(name), frames.get("users")
    if frame is None or users is None:
        return frame
    if USER not in frame.columns:
        raise BadArgument(
            f"users= was given, but {name} does not say which user each list belongs to.",
            "a user column in addition to the list key.",
            f"add a user column to {name}, or leave out users=.",
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
    """Return the padding column that the scores or the profile name."""
    if dense.padding is not None or profile.padding is None or dense.kind == "logits":
        return dense.padding if dense.padding is None else int(dense.padding)
    return column_of(dense.items, profile.padding)


def _with_lists(parts: Parts, tables: Mapping[str, Table], codes: CodedTable) -> Parts:
    """Add ranked lists to the parts, if there are any."""
    if "predictions" not in tables:
        return parts
    order = order_of(tables["predictions"], parts.profile.convention.order)
    lists = place_items(_choose_part(codes.frames, "predictions"), order)
    handed = codes.frames.get("handed")
    keys = None if handed is None else handed[handed.columns[0]].unique().alias("list")
    ranked = clean_lists(lists, order)
    if "duplicates" in parts.relaxed:
        ranked = ranked.filter(~ranked["is_repeat"])
    return replace(parts, lists=lists, handed=keys, order=order, ranked=ranked)


def _with_base(parts: Parts) -> Parts:
    """Add what is evaluated unchanged; popular items replace missing predictions."""
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


def tables_of(handed: AuditArguments, dense: Dense | None) -> dict[str, Table]:
    """Read every part."""
    by_list: What = "truth" if handed.keyed else "log"
    sources: dict[str, tuple[object, What]] = {
        "train": (handed.train, "log"), "shown": (handed.shown, "log"),
        "truth": (handed.truth, by_list), "validation": (handed.validation, by_list),
        "items": (handed.items, "items"), "users": (handed.users, "users"),
        "weights": (handed.weights, "weights"),
        **{f"fold {name}": (fold, "log") for name, fold in _name_folds(handed.folds).items()},
        "predictions": (None if dense is not None else handed.predictions, "predictions"),
    }  # fmt: skip
    tables = {
        name: _table(name, source, what, handed, dense)
        for name, (source, what) in sources.items()
        if source is not None
    }
    _require_used_names(handed, sources, tables)
    if "predictions" in tables and any(map(_holds_sets, tables.values())):
        raise BadArgument(
            "a part has two sets per line, so predictions could only be matched by line.",
            "an audit of the parts alone, or tables with a user column.",
            "leave out the predictions, or convert the parts to tables.",
        )
    return _join_shown(tables)


def _require_used_names(
    handed: AuditArguments,
    sources: Mapping[str, tuple[object, What]],
    tables: Mapping[str, Table],
) -> None:
    """Raise an error if `columns=` names a column that no part has."""
    unused = find_unused(handed.columns or {}, tables.values())
    for source, what in sources.values():
        if unused and source is not None and not isinstance(source, Log):
            read(source, what, columns=unused, list_key=handed.list_key)  # names all its columns


def _name_folds(folds: object) -> dict[str, object]:
    if folds is None:
        return {}
    if isinstance(folds, Mapping):
        return {str(name): fold for name, fold in folds.items()}
    if isinstance(folds, Sequence) and not isinstance(folds, str):
        return {str(number): fold for number, fold in enumerate(folds, 1)}
    raise BadArgument(
        f"folds is of type {type(folds).__name__}.",
        "the truth of each fold: a dict by name, or a list.",
    )


def _table(
    name: str, source: object, what: What, handed: AuditArguments, dense: Dense | None
) -> Table:
    if isinstance(source, Log):
        frame = source.frame.drop(ROW, strict=False).rename({USER: "list"})
        return Table(frame, dict.fromkeys(frame.columns, ""), source.source, False, False, None)
    if dense is not None and hasattr(source, "tocoo"):
        return _by_position(source, dense)
    # A truth with list keys has timestamps only if their column has the usual name or is named.
    hints = {TIME: TIME, **(handed.columns or {})}
    table = read(source, what, hints=hints, list_key=handed.list_key)
    if table.frame.is_empty():  # the type of its timestamps is unknown
        table = replace(table, frame=table.frame.drop(TIME, strict=False))
    path = getattr(source, "source", source)
    if isinstance(path, (str, PathLike)) and _holds_sets(table):
        return _by_first_set(path, table)
    if handed.keyed and name in BY_LIST and "list" not in table.frame.columns:
        raise BadTable(
            f"{name} ({table.source}) has no column {handed.list_key!r}.",
            "the list key in predictions and in truth, because list_key= was given.",
            "add the column, or leave out list_key=.",
        )
    return table


def _by_position(source: Any, dense: Dense) -> Table:
    """Read a sparse matrix whose rows and columns are those of the scores."""
    cells = by_position(dense, source, "a part")
    return make_table(name_cells(dense, *cells.columns.pairs()), "sparse matrix")


def _holds_sets(table: Table) -> bool:
    """Return whether a table was read from a file with two sets per line, as symptoms and herbs."""
    return table.recognised.partition(" ")[0] == "sets"


def _by_first_set(path: str | PathLike[str], table: Table) -> Table:
    """Use the first set of each line, with sorted numbers, as the user.

    Line numbers, which identify the lists by default, mean nothing across files.
    """
    lines = number_lines(open_content(Path(fspath(path)).expanduser()))
    halves = lines.select(pl.col("line").str.split("\t"))
    first, second = (pl.col("line").list.get(side).str.extract_all(r"\S+") for side in (0, 1))
    user = first.list.eval(pl.element().sort_by(pl.element().cast(pl.Int64))).list.join(" ")
    frame = halves.select(user.alias("list"), second.alias("item"))
    return replace(table, frame=frame.filter(pl.col("item").list.len() > 0).explode("item"))


def _join_shown(tables: dict[str, Table]) -> dict[str, Table]:
    """Add the fold-in rows to train."""
    shown = tables.pop("shown", None)
    if shown is not None:
        frames = [tables["train"].frame, shown.frame]
        tables["train"] = replace(tables["train"], frame=pl.concat(frames, how="diagonal_relaxed"))
    return tables

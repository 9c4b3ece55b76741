"""Opening what is audited: tables are read once, and their ids become common codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from rectitude.auditing.ordered import cleaned, once, placed
from rectitude.auditing.pairs import with_pairs
from rectitude.auditing.parts import Case, Parts
from rectitude.auditing.popular import popular_lists
from rectitude.auditing.products import opened_products
from rectitude.auditing.scored import opened_scores
from rectitude.auditing.sets import by_first_set, holds_sets
from rectitude.auditing.times import with_times
from rectitude.data.ids import Column, Ids, align
from rectitude.data.log import ROW, Log
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadName
from rectitude.metrics.names import parse_all
from rectitude.predictions.dense import Embeddings, Scores
from rectitude.predictions.logits import Logits
from rectitude.predictions.order import order_of
from rectitude.profiles import Profile, profile_of
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

LENIENT = {
    "duplicate_truth": "once", "duplicates": "first", "ties": "pessimistic",
    "unknown_users": "keep", "unknown_items": "keep",
}  # fmt: skip
"""What is done where the convention says error: an audit counts what an evaluation refuses."""
DEPTH = 10
_LOGS = ("train", "truth", "validation")


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
    columns: Mapping[str, str] | None = None


def opened(handed: Handed, metrics: str | Iterable[str], convention: object) -> Parts:
    """Everything that was handed over, with common codes, and what is evaluated as it is."""
    handed = _unpacked(handed)
    profile, names = profile_of(convention), parse_all(metrics)
    cutoffs = [cutoff for name in names if (cutoff := profile.resolve(name).cutoff) is not None]
    dense = _dense(handed.predictions)
    tables = _tables(handed, dense)
    _require_users(tables)
    users, items = _ids(tables, "list", "user", dense), _ids(tables, "item", "item", dense)
    coded = {name: _coded(name, tables, users, items) for name in tables}
    frames = with_times(with_pairs(coded))
    parts = Parts(
        users, items, _lenient(profile), profile, tuple(map(str, names)),
        max(cutoffs, default=DEPTH), frames.get("train"), _chosen(frames, "truth"),
        _chosen(frames, "validation"), catalogue=frames.get("items"),
        evaluated=frames.get("users"),
        folds={n.removeprefix("fold "): f for n, f in frames.items() if n.startswith("fold ")},
    )  # fmt: skip
    if dense is not None:
        return opened_scores(parts, dense, _padding(dense, profile))
    return _with_lists(parts, tables, frames)


def _unpacked(handed: Handed) -> Handed:
    """The parts of a split, if one was handed over, one by one."""
    if isinstance(handed.train, Split):
        handed = _of_split(handed, handed.train)
    if all(part is None for part in (handed.train, handed.truth, handed.predictions)):
        raise BadName("nothing to audit was given.", "train, truth or predictions.")
    if isinstance(handed.predictions, Logits):
        raise BadName(
            "the predictions are logits, of which every class counts.",
            "ranked lists, rt.Scores or rt.Embeddings.",
        )
    return handed


def _of_split(handed: Handed, split: Split) -> Handed:
    """The parts of a split: what is shown of users counts as train, what a model is chosen by is
    no part of it."""
    import polars as pl

    inner = split if split.validation is None else split.validation
    shown = [split.fold_in.frame] if split.fold_in is not None else []
    train = split.train.with_frame(pl.concat([inner.train.frame, *shown], how="diagonal"))
    validation = None if split.validation is None else split.validation.truth
    return replace(
        handed,
        train=train,
        truth=split.truth if handed.truth is None else handed.truth,
        validation=validation if handed.validation is None else handed.validation,
    )


def _dense(predictions: object) -> Any:
    """Dense predictions, opened; None if they are lists or absent."""
    if not isinstance(predictions, (Scores, Embeddings)):
        return None
    if predictions.lists is not None:
        raise BadName("the scores have lists=.", "one row for each user: an audit goes by users.")
    if isinstance(predictions, Embeddings):
        return opened_products(predictions)
    return predictions.opened()


def _tables(handed: Handed, dense: Any) -> dict[str, Table]:
    """Every part, read."""
    sources: dict[str, tuple[object, What]] = {
        name: (getattr(handed, name), "log") for name in _LOGS
    }
    sources |= {"items": (handed.items, "items"), "users": (handed.users, "users")}
    sources |= {f"fold {name}": (one, "log") for name, one in _named(handed.folds).items()}
    sources["predictions"] = (None if dense is not None else handed.predictions, "predictions")
    return {
        name: _table(source, what, handed.columns, dense)
        for name, (source, what) in sources.items()
        if source is not None
    }


def _named(folds: object) -> dict[str, object]:
    if folds is None:
        return {}
    if isinstance(folds, Mapping):
        return {str(name): one for name, one in folds.items()}
    if isinstance(folds, Sequence) and not isinstance(folds, str):
        return {str(number): one for number, one in enumerate(folds, 1)}
    raise BadName(f"folds is a {type(folds).__name__}.", "a dict or a list of tables.")


def _table(source: object, what: What, columns: Mapping[str, str] | None, dense: Any) -> Table:
    if isinstance(source, Log):
        frame = source.frame.drop(ROW, strict=False).rename({"user": "list"})
        return Table(frame, dict.fromkeys(frame.columns, ""), source.source, False, False, None)
    if dense is not None and hasattr(source, "tocoo"):
        return _by_position(source, dense)
    table = read(source, what, hints=columns)
    if isinstance(source, (str, PathLike)) and holds_sets(table):
        return by_first_set(source, table)
    return table


def _require_users(tables: Mapping[str, Table]) -> None:
    """Predictions for the lines of a file of sets cannot be told by user."""
    if "predictions" in tables and any(map(holds_sets, tables.values())):
        raise BadName(
            "a part holds two sets a line, and predictions go by line.",
            "an audit of the parts alone, or tables with a column for the user.",
        )


def _by_position(source: Any, dense: Any) -> Table:
    """A sparse matrix of the scores' shape, whose rows and columns are those of the scores."""
    from rectitude.engines.cells import named, table_made
    from rectitude.predictions.top import by_position

    cells = by_position(dense, source, "a part").tocoo()
    return table_made(named(dense, cells.row, cells.col), "sparse matrix")


def _ids(tables: Mapping[str, Table], role: str, what: str, dense: Any) -> Ids:
    """All columns of one kind of id in common codes."""
    columns = {
        name: Column(table.frame[role], table.source, table.text)
        for name, table in tables.items()
        if role in table.frame.columns
    }
    listed = tables.get("predictions")
    if role == "list" and listed is not None and listed.handed is not None:
        columns["handed"] = Column(listed.handed, listed.source, listed.text)
    if dense is not None:
        ids = dense.items if role == "item" else dense.table.frame["list"]
        columns["scores"] = Column(ids, dense.source)
    return align(columns, what)


def _coded(name: str, tables: Mapping[str, Table], users: Ids, items: Ids) -> pl.DataFrame:
    """A table with codes in the place of ids; its other columns as they are."""
    import polars as pl

    frame = tables[name].frame
    coded = {
        column: pl.Series(column, ids.codes[name].whole)
        for column, ids in (("user", users), ("item", items))
        if name in ids.codes
    }
    return frame.drop("list", "user", "item", strict=False).with_columns(**coded)


def _chosen(frames: Mapping[str, pl.DataFrame], name: str) -> pl.DataFrame | None:
    """A part to evaluate against, with the users who are to be evaluated."""
    frame, users = frames.get(name), frames.get("users")
    if frame is None or users is None:
        return frame
    return frame.join(users, on="user", how="semi")


def _lenient(profile: Profile) -> Profile:
    refused = {
        switch: choice
        for switch, choice in LENIENT.items()
        if getattr(profile.convention, switch) == "error"
    }
    return profile.replace(**refused) if refused else profile


def _padding(dense: Any, profile: Profile) -> int | None:
    """The column that stands for no item, by the scores or by the profile."""
    from rectitude.predictions.rows import column_of

    if dense.padding is not None or profile.padding is None:
        return dense.padding if dense.padding is None else int(dense.padding)
    return column_of(dense.items, profile.padding)


def _with_lists(
    parts: Parts, tables: Mapping[str, Table], frames: Mapping[str, pl.DataFrame]
) -> Parts:
    """The parts with ranked lists, or with popular items in their place."""
    import polars as pl

    if "predictions" not in tables:
        if parts.train is None or parts.truth is None:
            return parts
        lists = popular_lists(parts.train, parts.truth, parts.depth, parts.seen)
        return replace(parts, base=Case(_judged(parts), lists))
    table = tables["predictions"]
    order = order_of(table, parts.profile.convention.order)
    lists = placed(_chosen(frames, "predictions"), order)
    handed = parts.users.codes.get("handed")
    known = None if handed is None else pl.Series("user", handed.whole).unique()
    ranked = cleaned(lists, order)
    if "duplicates" in parts.relaxed:
        ranked = ranked.filter(~pl.col("again"))
    parts = replace(parts, lists=lists, handed=known, order=order, ranked=ranked)
    return (
        parts if parts.truth is None else replace(parts, base=Case(_judged(parts), ranked, known))
    )


def _judged(parts: Parts) -> pl.DataFrame:
    """The truth that can be evaluated against."""
    truth: Any = parts.truth
    return once(truth) if "duplicate_truth" in parts.relaxed else truth

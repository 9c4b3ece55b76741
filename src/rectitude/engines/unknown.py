"""What a convention makes of users and items that a row of scores, or training, says nothing of.

It is settled while inputs are opened, for all metrics alike: other columns make other rankings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense
from rectitude.data.table import Table
from rectitude.errors import BadName
from rectitude.judge.judged import is_relevant
from rectitude.predictions.top import has_column, has_row
from rectitude.profiles import Asked

if TYPE_CHECKING:
    import polars as pl


def settled_when_opened(convention: Convention, offered: bool) -> dict[str, object]:
    """The choices that opening looks at: under others, the same inputs must be opened anew.

    `offered` says whether candidates were handed over.
    """
    masks = convention.seen_items
    return {
        "candidates": convention.candidates if offered else None,
        "seen": convention.seen if offered else None,
        "seen_items": masks,
        "relevant_from": None if masks == "all" else convention.relevant_from,
        "unknown_items": convention.unknown_items == "lowest",
        "unknown_users": convention.unknown_users == "tied",
    }


def require_settled(asked: Asked, convention: Convention, offered: bool) -> None:
    """An error if a metric wants a choice for itself that is made for all metrics at once."""
    own, common = (settled_when_opened(c, offered) for c in (asked.convention, convention))
    for switch in [name for name in own if own[name] != common[name]]:
        value = getattr(asked.convention, switch)
        what = "candidates are taken" if offered else "scores are opened"
        raise BadName(
            f"{str(asked.name)!r} sets {switch}={value!r} for itself, and {what} once.",
            "the same choice for all metrics.",
            f"pass convention={{'{switch}': {value!r}}} to an evaluation of its own.",
        )


def relevant_rows(train: Table, convention: Convention) -> Table:
    """The training data, without rows that are not relevant if those do not mask their items."""
    return relevant_of(train, convention) if _by_grade(convention) else train


def relevant_of(table: Table, convention: Convention) -> Table:
    """The relevant rows of a table; without grades, all."""
    if "grade" not in table.frame.columns:
        return table
    grades = table.frame["grade"].cast(float).to_numpy()
    return replace(table, frame=table.frame.filter(is_relevant(grades, convention.relevant_from)))


def _by_grade(convention: Convention) -> bool:
    return convention.seen_items == "relevant_outside_truth"


def relevant_cells(train: Any, convention: Convention) -> Any:
    """The same of a sparse matrix, whose values are the grades."""
    if not _by_grade(convention):
        return train
    kept = train.tocsr(copy=True)
    kept.data = is_relevant(kept.data, convention.relevant_from).astype(np.int8)
    return kept


def with_unknown(dense: Dense, truth: Table, train: Table | None, convention: Convention) -> Dense:
    """The scores with a column for every item of the truth that has none, at the lowest score of
    the row, and with equal scores for users not met in training, where the convention says so."""
    missing, known = None, None
    if convention.unknown_items == "lowest":
        missing = _without_column(dense, truth)
    if convention.unknown_users == "tied" and train is not None:
        known = has_row(dense, train)
    if missing is None and known is None:
        return dense
    more = 0 if missing is None else len(missing)

    def blocks() -> Iterator[Block]:
        for first, last, block in dense.spans():
            real = block if dense.padding is None else np.delete(block, dense.padding, axis=1)
            lowest = np.repeat(real.min(axis=1, keepdims=True), more, axis=1)
            wide = np.concatenate((block, lowest), axis=1)
            if known is not None:
                wide[~known[first:last]] = 0
            yield wide

    items = dense.items if missing is None else dense.items.append(missing)
    return replace(dense, columns=dense.columns + more, items=items, blocks=blocks)


def _without_column(dense: Dense, truth: Table) -> pl.Series:
    """The items of the truth that no column stands for, each once, in the type of the columns."""
    items = truth.frame["item"].filter(~has_column(dense, truth)).unique(maintain_order=True)
    return items.cast(dense.items.dtype)

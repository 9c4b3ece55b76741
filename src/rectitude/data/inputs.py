"""`Inputs`: the tables of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.data.dense import Dense
from rectitude.data.ledger import Ledger
from rectitude.data.table import Table, What


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tables of one evaluation."""

    predictions: Table
    truth: Table
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None
    weights: Table | None = None
    dense: Dense | None = None
    """the scores, if they are dense; `predictions` then has one row for each of theirs"""
    seen: Ragged | None = None
    """the cells of the scores that training held"""
    recorded: Integers | None = None
    """(rows, places) the columns in an order that was recorded, in place of the logits' own"""
    beside: Callable[[], Floats] | None = None
    """(rows of the predictions) the scores of lists that were recorded in another order"""
    lists: Literal["cut", "complete"] = "cut"
    """whether lists that were handed over end somewhere, or hold all that could be ranked"""
    key: str = "user"
    """what tells lists apart"""
    offered: Mapping[str, Any] | None = None
    """where candidates came from; None if all items compete"""
    ledger: Ledger = field(default_factory=Ledger)
    """what was met while tables were brought into this form"""
    left: Literal["all", "some"] = "all"
    """whether these are all lists that came together, or what is left of lists once judged"""

    def given(self) -> dict[str, Table]:
        """The tables that were handed over, by name."""
        named = {side: getattr(self, side, None) for side in get_args(What)}
        return {side: table for side, table in named.items() if table is not None}

"""What stands behind the numbers of judged lists: the items, those of the truth, and the users."""

from __future__ import annotations

from typing import Any

import numpy as np

from rectitude.data.ids import Column
from rectitude.data.people import people
from rectitude.data.stock import stock
from rectitude.judge.match import Ranking
from rectitude.judge.sides import Sides
from rectitude.judge.truth import Truth


def behind(
    sides: Sides, ranking: Ranking | None, truth: Truth, needs: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of `Judged` that name items and users, as far as metrics need them."""
    found: dict[str, Any] = {}
    users = people(sides.users, sides.sources) if "people" in needs else None
    if users is not None:
        found = {"people": users, "owner": users.listed[sides.owners]}
    if "stock" in needs or "wanted" in needs:
        wanted = _wanted(sides, truth) if "wanted" in needs else None
        listed = _listed(sides, ranking)
        found["stock"], found["wanted"] = stock(listed, sides.sources, wanted, users)
    return found


def _listed(sides: Sides, ranking: Ranking | None) -> Column:
    """The items in the order of their numbers in `Judged.shown`: the columns of dense scores, or
    the items of given lists, see `shown_in_lists`."""
    dense, predictions = sides.sources.dense, sides.sources.predictions
    if dense is not None or ranking is None:
        ids = predictions.frame["item"] if dense is None else dense.items
        return Column(ids, predictions.source)
    rows = ranking.lists.rows(ranking.numbered.row)
    return Column(predictions.frame["item"][rows], predictions.source, predictions.text)


def _wanted(sides: Sides, truth: Truth) -> Column:
    """The items of the truth, by place."""
    table, rows = sides.sources.truth, truth.rows.rows(np.arange(len(truth.items)))
    return Column(table.frame["item"][rows], table.source, table.text)

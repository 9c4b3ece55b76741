"""`Model`: what learns from a log and recommends, whoever wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars as pl

    from rectitude.candidates.value import Candidates
    from rectitude.data.log import Log

UnknownUsers = Literal["popular", "empty"]
"""What users get of whom a model knows nothing: what most users had, or no list."""
UnknownItems = Literal["left_out", "scored"]
"""Whether items that train does not hold are never recommended, or can be."""
Rest = Literal["popular", "left_out"]
"""What follows on the items that a model has a score for: popular ones, or nothing."""
OPTIONAL = ("history", "progress")
"""What `fit` and `recommend` are handed beside the rest, if they take it."""


@runtime_checkable
class Model(Protocol):
    """Two methods make a model.

    It may have more: `update(train)` learns from further rows, `unknown_users` and `unknown_items`
    say in words what it does with users and items that train does not hold, and `ledger` holds what
    it counted. `recommend` may take
    `history`, a log of what is shown of users beside train, and `fit` and `recommend` may take
    `progress`, which is called with what is done and with all.
    """

    def fit(self, train: Log) -> Any:
        """Learn from interactions, and forget what was learnt before; return the model, or
        nothing."""

    def recommend(
        self,
        users: pl.Series,
        k: int,
        *,
        candidates: Candidates | None = None,
        seen: pl.DataFrame | None = None,
    ) -> object:
        """A table of user, item, and score or rank: for each user at most k items, each once.

        Nothing but the candidates of a user may be recommended to him, if there are any, and
        nothing that `seen` (user, item) holds; None means what the model has met of the user.
        """

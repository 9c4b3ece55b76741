"""`Lists`: recommendations with their columns named, and with the users who were handed an empty
list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Lists:
    """Ranked lists, when a bare table does not say enough.

    Name columns that are not recognised (`user="visitor"`); say with `users` which lists were
    handed over, so that an empty list differs from no list; say `ordered=True` when the rows of
    each list stand in its order and neither rank nor score shall be looked for.
    """

    source: object
    _: KW_ONLY
    user: str | None = None
    item: str | None = None
    score: str | None = None
    rank: str | None = None
    list_key: str | None = None
    users: object | None = None
    ordered: bool = False
    format: str | None = None

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that were named, by role."""
        named = {
            "user": self.user,
            "item": self.item,
            "score": self.score,
            "rank": self.rank,
            "list": self.list_key,
        }
        return {role: name for role, name in named.items() if name is not None}

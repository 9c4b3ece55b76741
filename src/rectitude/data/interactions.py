"""The public wrapper that names the columns of a table of interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Interactions:
    """A table of who met what, with its columns named explicitly.

    The source is anything `rectitude` reads: a frame, a path, a dict, a sparse matrix. Columns that
    are not named here are recognised as usual.
    """

    source: object
    _: KW_ONLY
    user: str | None = None
    item: str | None = None
    grade: str | None = None
    timestamp: str | None = None
    list_key: str | None = None
    weight: str | None = None
    format: str | None = None
    """The format of a file, such as "recbole", in place of what its content suggests."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Role -> column, for the roles that were named."""
        named = {
            "user": self.user,
            "item": self.item,
            "grade": self.grade,
            "timestamp": self.timestamp,
            "list": self.list_key,
            "weight": self.weight,
        }
        return {role: name for role, name in named.items() if name is not None}

    @property
    def users(self) -> None:
        """Interactions say nothing about lists that hold none."""
        return None

    @property
    def ordered(self) -> bool:
        """The rows of interactions are in no particular order."""
        return False

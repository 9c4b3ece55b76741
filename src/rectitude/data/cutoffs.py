"""The first places of lists, up to several cutoffs: what one pass finds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from rectitude.arrays import Integers
from rectitude.threads import Once

Made = TypeVar("Made")
Ends = tuple[int, ...]
"""how many places cutoffs leave, ascending"""


class Places(NamedTuple):
    """The places up to one cutoff, and those up to others that are looked at, too."""

    shown: Integers
    """(lists, K) the number of the item in each place, up to the last cutoff"""
    ends: Ends
    own: int
    """how many places are looked at here"""
    kept: Once

    def each(self, key: Hashable, compute: Callable[[Integers, Ends], Sequence[Made]]) -> Made:
        """What is found of the places up to this cutoff; `compute(shown, ends)` finds it for every
        cutoff, in their order, and is called once for all of them."""
        found = self.kept((key, self.ends), lambda: compute(self.shown, self.ends))
        return found[self.ends.index(self.own)]


def up_to(shown: Integers, own: int, others: Sequence[int], kept: Once) -> Places:
    """The places up to a cutoff, and up to others; lists may be shorter than that."""
    most = shown.shape[1]
    ends = sorted({min(end, most) for end in (own, *others)})
    return Places(shown[:, : ends[-1]], tuple(ends), min(own, most), kept)

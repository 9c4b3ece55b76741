"""RecBole's `eval_args`, as its configuration files spell them, as parameters of its protocol.

`split = { RS = [0.8, 0.1, 0.1] }` with `group_by = "user"` is the method `RS_0.8_0.1_0.1_user`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rectitude.errors import BadArgument
from rectitude.options import fits

SHARED = ("RS", "TS")
"""Ways to split that take three shares; LS, the other one, takes a mode."""
WAYS = (*SHARED, "LS")
MODES = ("valid_and_test", "valid_only", "test_only")
"""What LS holds out: one row of each user for each of these parts."""


def read_eval_args(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with `method` in place of `split`, `RS`, `LS`, `TS` and `group_by`; without
    any of these, the parameters as they are."""
    words = dict(given)
    if "split" in words:
        words |= _require_table(words.pop("split"))
    ways = [way for way in WAYS if way in words]
    if not ways:
        return words
    if len(ways) > 1 or "method" in words:
        names = [*ways, *(["method"] if "method" in words else [])]
        raise BadArgument(f"{' and '.join(names)} were given together.", "one way to split.")
    (way,) = ways
    _require_full(words.pop("mode", "full"))
    group = _read_group(words.pop("group_by", "user"))
    words["method"] = _name_method(way, words.pop(way), group)
    return words


def _name_method(way: str, value: object, group: str) -> str:
    if way not in SHARED:
        if value not in MODES:
            raise BadArgument(f"{way} is {value!r}.", f"one of: {', '.join(MODES)}.")
        return f"{way}_{value}"
    # A share of 0 is written without decimals: the patterns of the protocol look for it.
    shares = [str(share) if share else "0" for share in _require_shares(way, value)]
    return "_".join([way, *shares, *([group] if way == "RS" else [])])


def _require_shares(way: str, value: object) -> list[float]:
    shares = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(shares) != len(("train", "validation", "test")) or not all(map(_is_share, shares)):
        raise BadArgument(
            f"{way} is {value!r}.",
            f"three shares, of train, validation and test, as in {way}=[0.8, 0.1, 0.1].",
        )
    if not shares[0] or not any(shares[1:]):
        raise BadArgument(
            f"{way} is {value!r}.", "a share above 0 for train, and for validation or test."
        )
    return [float(share) for share in shares]


def _is_share(value: Any) -> bool:
    return fits(value, float) and 0 <= value < math.inf


def _read_group(group: object) -> str:
    """Return by what RecBole groups rows before it takes shares: "user" or "none"."""
    if group == "user" or str(group).lower() == "none":
        return str(group).lower()
    raise BadArgument(f"group_by is {group!r}.", "'user' or 'none'.")


def _require_table(split: object) -> Mapping[str, Any]:
    if isinstance(split, Mapping) and len(split) == 1 and set(split) <= set(WAYS):
        return split
    raise BadArgument(
        f"split is {split!r}.", f"one of {', '.join(WAYS)}, as in split={{'RS': [0.8, 0.1, 0.1]}}."
    )


def _require_full(mode: object) -> None:
    """Raise an error for candidates: they are drawn apart from the split."""
    if mode != "full":
        raise BadArgument(
            f"mode is {mode!r}.",
            "no mode, or 'full': it says which items are ranked, not how rows are split.",
            "draw candidates from the split with rt.candidates.",
        )

"""What other libraries call our ways to split and their parameters.

These names are only suggested, never accepted: leave-one-out may hold out the latest row of each
user or a random one, and the reader should say which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SPLITS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("loo", "leave_one_out", "leave_n_out", "leave_k_out"),
                    ("leave_last", "leave_random")),
    **dict.fromkeys(("lastn", "last", "last_n", "leave_last_out", "last_item",
                     "temporal_leave_one_out"), ("leave_last",)),
    **dict.fromkeys(("rs", "random", "holdout", "hold_out", "ratio", "train_test_split",
                     "random_split", "random_subsampling"), ("random_ratio",)),
    **dict.fromkeys(("temporal", "time", "timestamp", "temporal_split", "fixed_timestamp",
                     "global_time", "global_timeline", "time_split"), ("at_time", "time_ratio")),
    **dict.fromkeys(("temporal_hold_out", "temporal_user", "user_temporal"),
                    ("last_ratio", "leave_last")),
    **dict.fromkeys(("kfold", "cv", "cross_validation", "crossfold", "folds"), ("k_fold",)),
    **dict.fromkeys(("time_series", "rolling", "sliding", "sliding_window", "time_range"),
                    ("windows",)),
    **dict.fromkeys(("user_split", "cold_start", "cold_user"), ("cold_users",)),
    **dict.fromkeys(("weak_generalisation", "weak_generalization"), ("random_ratio",)),
    "strong_generalization": ("strong_generalisation",),
    "given": ("fixed",),
}  # fmt: skip
"""Our ways to split, by the names of others; the likeliest first."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("test_size", "test_ratio", "test_frac", "test_fraction", "fraction", "frac",
                     "share", "holdout", "test_percentage"), ("ratio",)),
    **dict.fromkeys(("k", "leave_n_out", "n_out", "num", "n_items"), ("n",)),
    **dict.fromkeys(("n_folds", "n_splits", "num_folds", "splits", "cv"), ("folds", "repeats")),
    **dict.fromkeys(("timestamp", "time", "split_time", "cutoff", "date", "at", "test_timestamp",
                     "time_threshold"), ("t",)),
    **dict.fromkeys(("test_days", "window", "window_size", "length", "duration"), ("span",)),
    **dict.fromkeys(("random_state", "rng", "random_seed"), ("seed",)),
    **dict.fromkeys(("by", "group_by", "per", "groupby"), ("level",)),
    **dict.fromkeys(("min_rows", "min_interactions", "min_interactions_per_group"), ("least",)),
    "test": ("truth",),
    "val_size": ("validation",),
}  # fmt: skip
"""Our parameters, by the names of others; the likeliest first."""


def meant_split(name: str) -> str:
    """Return the ways to split that another name stands for, quoted; empty if there are none."""
    folded = _fold(name)
    return _quote(next((ours for other, ours in SPLITS.items() if _fold(other) == folded), ()))


def meant_parameter(name: str, known: Iterable[str]) -> str:
    """Return the known parameters that another name stands for, quoted; empty if there are none."""
    return _quote(ours for ours in PARAMETERS.get(name.lower(), ()) if ours in known)


def _fold(name: str) -> str:
    """Return a name without case and without the signs between words."""
    return re.sub(r"[\s_-]", "", name.lower())


def _quote(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))

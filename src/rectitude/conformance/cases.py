"""Golden cases, and the meaning of their options. A case is a JSON file with the values that a
framework computed for one input."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rectitude.errors import UnreadableFile
from rectitude.metrics.names import parse
from rectitude.texts import parse_json, read_text


@dataclass(frozen=True, slots=True)
class Case:
    """The content of a case file."""

    path: Path
    profile: str
    kind: str
    inputs: Path
    cutoffs: tuple[int, ...]
    """the cutoffs that the framework was asked for in one call, in this order"""
    options: Mapping[str, Any]
    expected: Mapping[str, float | None]
    per_user: Mapping[str, Mapping[str, float | None]]
    tolerance: float
    tolerances: Mapping[str, float]

    def tolerance_of(self, name: str) -> float:
        """Return how far a value may be from the framework's, relative to max(1, value)."""
        return self.tolerances.get(name, self.tolerance)

    @property
    def size(self) -> int:
        """The number of values in the case."""
        return len(self.expected) + sum(len(values) for values in self.per_user.values())

    @property
    def has_undefined_users(self) -> bool:
        """Whether a metric is undefined for some user."""
        return any(None in users.values() for users in self.per_user.values())


def load(folder: str | Path, profiles: Iterable[str] = ()) -> list[Case]:
    """Read the cases of a golden tree, sorted by profile and name."""
    root = Path(folder)
    cases = root / "cases"
    if not cases.is_dir():
        raise UnreadableFile(
            f"{root} contains no folder 'cases'.",
            "a golden tree: cases/<profile>/*.json and inputs/.",
        )
    selected = set(profiles)
    files = sorted(p for p in cases.glob("*/*.json") if not selected or p.parent.name in selected)
    if not files:
        raise UnreadableFile(
            f"{cases} contains no case of {', '.join(sorted(selected)) or 'any profile'}.",
            "JSON files in a folder with the name of the profile.",
        )
    return [_read_case(path, root) for path in files]


def _read_case(path: Path, root: Path) -> Case:
    expected = "a golden case in JSON."
    stored = parse_json(read_text(path, "case", expected), str(path), expected)
    if not isinstance(stored, dict):
        raise UnreadableFile(f"{path} contains a {type(stored).__name__}.", expected)
    missing = [key for key in ("profile", "kind", "input") if not isinstance(stored.get(key), str)]
    if missing:
        raise UnreadableFile(
            f"{path} has no {', '.join(missing)}.",
            "a golden case with the keys profile, kind and input.",
        )
    return Case(
        path,
        stored["profile"],
        stored["kind"],
        root / "inputs" / stored["input"],
        tuple(stored.get("cutoffs", ())),
        stored.get("options", {}),
        stored.get("expected", {}) if isinstance(stored.get("expected", {}), dict) else {},
        stored.get("per_user", {}),
        stored.get("tolerance", 1e-12),
        stored.get("tolerances", {}),
    )


_USERS = {
    "with_truth": {"truth_needed": "relevant", "list_needed": "none"},
    "with_list": {"list_needed": "items"},
    "with_list_and_truth": {"truth_needed": "relevant", "list_needed": "items"},
    "has_list_and_truth": {"truth_needed": "relevant", "list_needed": "handed"},
    "judged": {"truth_needed": "judged"},
}
_WITHOUT_LIST = {"zero": {"list_needed": "none"}, "skip": {"list_needed": "handed"}}
_EMPTY_TARGET = {
    "zero": {"truth_needed": "none", "without_relevant": "undefined", "undefined": "zero"},
    "one": {"truth_needed": "none", "without_relevant": "undefined", "undefined": "one"},
    "skip": {"truth_needed": "none", "without_relevant": "undefined", "undefined": "skip"},
}
_EXCLUDE_UNKNOWNS: Mapping[bool | None, Mapping[str, str]] = {
    True: {"unknown_users": "drop", "unknown_items": "drop"},
    False: {"unknown_users": "tied", "unknown_items": "lowest"},
}
_MASK = {
    "train_relevant": {"seen_items": "relevant_outside_truth"},
    "train_removed": {"seen": "removed"},
    "none": {"seen": "kept"},
}
_RENAMED = ("relevant_from", "scores_from", "ties", "decimals", "undefined")
_EVERYWHERE = {"users", "without_list", "order", "ranking", "grades", "popularity_order", *_RENAMED}
_OF_LISTS = {
    "judged_only", "container", "catalogue", "list_items", "min_list_length", "candidates",
    "empty_target", "weights",
}  # fmt: skip
_OF_SCORES = {
    "mask", "candidates", "batch_size", "empty_target", "exclude_unknowns", "coef", "rows",
}  # fmt: skip
_HANDLED = {
    "lists": {*_EVERYWHERE, *_OF_LISTS},
    "scores": {*_EVERYWHERE, *_OF_SCORES},
    "logits": {*_EVERYWHERE, "empty_target"},
}


def changes(case: Case) -> dict[str, Any] | None:
    """Return the switches that the options of a case set; None if rectitude cannot evaluate cases
    of this kind or with these options."""
    options = case.options
    offered = "candidates" in options or options.get("users") != "in_candidates"
    cut = "coef" not in options or all("@" in name for name in (*case.expected, *case.per_user))
    if case.kind not in _HANDLED or set(options) - _HANDLED[case.kind] or not (offered and cut):
        return None
    switches: dict[str, Any] = {name: options[name] for name in _RENAMED if name in options}
    switches |= _USERS.get(options.get("users", ""), {})
    switches |= _WITHOUT_LIST.get(options.get("without_list", ""), {})
    if "min_list_length" in options:
        switches["list_needed"] = "items"  # shorter lists are not passed to evaluate
    if case.kind != "lists":
        switches.pop("list_needed", None)  # every row of scores is a list
    switches |= _EMPTY_TARGET.get(options.get("empty_target", ""), {})
    switches |= _EXCLUDE_UNKNOWNS.get(options.get("exclude_unknowns"), {})
    switches |= _MASK.get(options.get("mask", ""), {})
    if options.get("judged_only"):
        switches["unjudged"] = "dropped"
    if options.get("order") == "given" and case.kind == "lists":
        switches["order"] = "rank"
    if options.get("order") == "score":
        switches["order"] = "score"
    if "candidates" in options:
        switches["candidates"] = "with_truth"
    if "batch_size" in options:
        switches["seen"] = "removed"  # the masked items are fillers, not items of the training data
    return switches


_BY_SCORES = (
    "auc", "gauc", "lauc", "num_retrieved", "user_coverage", "mae", "mse", "rmse",
)  # fmt: skip
"""Metrics that need the scores themselves: a recorded ranking may be truncated, lack tied items, or
be filled up with masked items."""


def rankings(case: Case, from_lists: Collection[str] = ()) -> dict[str, list[str]]:
    """Group the metric names of a case by the file whose order they use, "" for the lists as given.
    If lists are made separately for each cutoff, group by the cutoff. Metrics that need the scores
    themselves use a file only if the case names one for them; those in `from_lists` do not need the
    scores."""
    names = list(dict.fromkeys([*case.expected, *case.per_user]))
    recorded = case.options.get("ranking", "")
    grouped: dict[str, list[str]] = {}
    for name in names:
        file = recorded
        base, _, cut = name.partition("@")
        by_scores = (
            case.kind == "scores" and name not in from_lists and parse(name)[0].base in _BY_SCORES
        )
        if isinstance(recorded, Mapping):
            own = recorded.get(base.partition("[")[0], "")
            file = own if by_scores else recorded.get(f"@{cut}", own)
        elif by_scores:
            file = ""
        if "coef" in case.options:
            file = f"@{parse(name)[0].cutoff}"
        grouped.setdefault(file, []).append(name)
    return grouped


def in_order(case: Case, names: list[str]) -> list[str]:
    """Sort the names to put the case's last cutoff at the end; add a name with it if none has it.

    The values of some frameworks depend on which cutoff is last.
    """
    if not case.cutoffs:
        return names
    end = f"@{case.cutoffs[-1]}"
    last = [name for name in names if name.endswith(end)]
    others = [name for name in names if not name.endswith(end)]
    return [*others, *(last or [f"precision{end}"])]

"""Golden cases: one JSON file for a framework's values on one input, and what its options mean."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rectitude.errors import UnreadableFile
from rectitude.metrics.names import parse


@dataclass(frozen=True, slots=True)
class Case:
    """One case file."""

    path: Path
    profile: str
    kind: str
    inputs: Path
    cutoffs: tuple[int, ...]
    """the cutoffs that were asked together, in this order"""
    options: Mapping[str, Any]
    expected: Mapping[str, float | None]
    per_user: Mapping[str, Mapping[str, float | None]]
    tolerance: float
    tolerances: Mapping[str, float]

    def tolerance_of(self, name: str) -> float:
        """How far a value may lie from the framework's, relative to max(1, value)."""
        return self.tolerances.get(name, self.tolerance)

    @property
    def size(self) -> int:
        """How many values the case holds."""
        return len(self.expected) + sum(len(values) for values in self.per_user.values())

    @property
    def has_undefined_users(self) -> bool:
        """Whether a metric is undefined for some user."""
        return any(None in users.values() for users in self.per_user.values())


def load(folder: str | Path, profiles: Iterable[str] = ()) -> list[Case]:
    """The cases of a golden tree, by profile and name."""
    root = Path(folder)
    cases = root / "cases"
    if not cases.is_dir():
        raise UnreadableFile(
            f"{root} holds no folder 'cases'.", "a golden tree: cases/<profile>/*.json and inputs/."
        )
    wanted = set(profiles)
    files = sorted(p for p in cases.glob("*/*.json") if not wanted or p.parent.name in wanted)
    if not files:
        raise UnreadableFile(f"{cases} holds no case of {sorted(wanted) or 'any profile'}.")
    return [_case(path, root) for path in files]


def _case(path: Path, root: Path) -> Case:
    try:
        stored = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UnreadableFile(f"{path} is not JSON: {error}.") from error
    missing = [key for key in ("profile", "kind", "input") if key not in stored]
    if missing:
        raise UnreadableFile(f"{path} has no {', '.join(missing)}.", "a golden case.")
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
_MASK = {"train_relevant": {"seen_items": "relevant_outside_truth"}, "none": {"seen": "kept"}}
_RENAMED = ("relevant_from", "ties", "decimals", "undefined")
_EVERYWHERE = {"users", "without_list", "order", "ranking", "grades", "popularity_order", *_RENAMED}
_OF_LISTS = {"judged_only", "container", "catalogue", "list_items", "min_list_length"}
_OF_SCORES = {"mask", "candidates", "batch_size", "empty_target", "exclude_unknowns", "coef"}
_HANDLED = {
    "lists": {*_EVERYWHERE, *_OF_LISTS},
    "scores": {*_EVERYWHERE, *_OF_SCORES},
    "logits": {*_EVERYWHERE, "empty_target"},
}


def changes(case: Case) -> dict[str, Any] | None:
    """The switches that the options of a case set; None if a case of this kind or with these
    options cannot be evaluated here."""
    options = case.options
    offered = "candidates" in options or options.get("users") != "in_candidates"
    cut = "coef" not in options or all("@" in name for name in (*case.expected, *case.per_user))
    if case.kind not in _HANDLED or set(options) - _HANDLED[case.kind] or not (offered and cut):
        return None
    switches: dict[str, Any] = {name: options[name] for name in _RENAMED if name in options}
    switches |= _USERS.get(options.get("users", ""), {})
    switches |= _WITHOUT_LIST.get(options.get("without_list", ""), {})
    if "min_list_length" in options:
        switches["list_needed"] = "items"  # shorter lists are not handed over
    if case.kind != "lists":
        switches.pop("list_needed", None)  # every row of scores is a list
    switches |= _EMPTY_TARGET.get(options.get("empty_target", ""), {})
    switches |= _EXCLUDE_UNKNOWNS.get(options.get("exclude_unknowns"), {})
    switches |= _MASK.get(options.get("mask", ""), {})
    if options.get("judged_only"):
        switches["unjudged"] = "dropped"
    if options.get("order") == "given" and case.kind == "lists":
        switches["order"] = "rank"
    if "candidates" in options:
        switches["candidates"] = "with_truth"
    if "batch_size" in options:
        switches["seen"] = "removed"  # what is masked are fillers, not items of train
    return switches


_BY_SCORES = (
    "auc", "gauc", "lauc", "num_retrieved", "user_coverage", "mae", "mse", "rmse",
)  # fmt: skip
"""What a recorded ranking of scores says nothing of: it may end, leave out equals, or be filled up
with items that are masked."""


def rankings(case: Case) -> dict[str, list[str]]:
    """The metric names of a case, by the file whose order they use ("" for the lists as they
    are); where lists are made again for each cutoff, by that."""
    names = list(dict.fromkeys([*case.expected, *case.per_user]))
    recorded = case.options.get("ranking", "")
    grouped: dict[str, list[str]] = {}
    for name in names:
        file = recorded
        if isinstance(recorded, Mapping):
            base, _, cut = name.partition("@")
            file = recorded.get(f"@{cut}", recorded.get(base.partition("[")[0], ""))
        if case.kind == "scores" and parse(name)[0].base in _BY_SCORES:
            file = ""
        if "coef" in case.options:
            file = f"@{parse(name)[0].cutoff}"
        grouped.setdefault(file, []).append(name)
    return grouped


def in_order(case: Case, names: list[str]) -> list[str]:
    """The names so that the cutoff asked for last is the case's last one, by a name more if need
    be: to some frameworks it matters."""
    if not case.cutoffs:
        return names
    end = f"@{case.cutoffs[-1]}"
    last = [name for name in names if name.endswith(end)]
    others = [name for name in names if not name.endswith(end)]
    return [*others, *(last or [f"precision{end}"])]

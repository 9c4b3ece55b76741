"""Golden cases: one JSON file for a framework's values on one input, and how to hand that input
over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.errors import UnreadableFile
from rectitude.predictions.lists import Lists

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Case:
    """One case file."""

    path: Path
    profile: str
    kind: str
    inputs: Path
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
_WITHOUT_LIST = {"zero": {"list_needed": "none"}, "skip": {"list_needed": "items"}}
_RENAMED = {
    "relevant_from": "relevant_from",
    "ties": "ties",
    "decimals": "decimals",
    "undefined": "undefined",
}
_HANDLED = {
    "users",
    "without_list",
    "judged_only",
    "order",
    "ranking",
    "grades",
    "container",
    "catalogue",
}


def changes(case: Case) -> dict[str, Any] | None:
    """The switches that the options of a case set; None if an option does not exist here yet."""
    options = case.options
    if set(options) - _HANDLED - set(_RENAMED) or options.get("users") == "in_candidates":
        return None
    switches: dict[str, Any] = {
        new: options[old] for old, new in _RENAMED.items() if old in options
    }
    switches |= _USERS.get(options.get("users", ""), {})
    switches |= _WITHOUT_LIST.get(options.get("without_list", ""), {})
    if options.get("judged_only"):
        switches["unjudged"] = "dropped"
    if options.get("order") == "given":
        switches["order"] = "rank"
    return switches


def rankings(case: Case) -> dict[str, list[str]]:
    """The metric names of a case, by the file whose order they use ("" for the lists as they
    are)."""
    names = list(dict.fromkeys([*case.expected, *case.per_user]))
    recorded = case.options.get("ranking", "")
    grouped: dict[str, list[str]] = {}
    for name in names:
        file = recorded
        if isinstance(recorded, Mapping):
            base, _, cut = name.partition("@")
            file = recorded.get(f"@{cut}", recorded.get(base.partition("[")[0], ""))
        grouped.setdefault(file, []).append(name)
    return grouped


def arguments(case: Case, ranking: str) -> dict[str, Any]:
    """What `evaluate` is handed for a case: predictions, truth and catalogue."""
    import polars as pl

    file = ranking or "recommendations.parquet"
    lists = _parquet(case, file).filter(pl.col("item").cast(pl.String) != "-1")
    truth = _parquet(case, "truth.parquet")
    if case.options.get("grades") == "binary":
        truth = truth.drop("grade")
    given: dict[str, Any] = {"truth": truth, "predictions": _lists(case, lists)}
    if case.options.get("catalogue") == "train_items":
        given["items"] = _parquet(case, "train.parquet").select("item").unique()
    return given


def _lists(case: Case, lists: pl.DataFrame) -> Lists:
    """The lists with the users who were handed one, and in the given order where rows are the
    order."""
    users = case.inputs / "users.parquet"
    handed = None
    if users.exists():
        table = _parquet(case, users.name)
        handed = table.filter("has_list")["user"] if "has_list" in table.columns else None
    return Lists(lists.sort("position", maintain_order=True), users=handed, rank="position")


def _parquet(case: Case, name: str) -> pl.DataFrame:
    import polars as pl

    path = case.inputs / name
    if not path.exists():
        raise UnreadableFile(
            f"{case.path.name} of profile {case.profile!r} needs {path}, which does not exist.",
            "every input that a case names.",
        )
    return pl.read_parquet(path)

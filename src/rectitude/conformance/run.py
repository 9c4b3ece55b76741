"""Run golden cases through the public interface and count what agrees."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rectitude.aggregate.evaluation import Evaluation
from rectitude.conformance.cases import Case, changes, in_order, load, rankings
from rectitude.conformance.data import Check, checks, declared
from rectitude.conformance.inputs import arguments, needed
from rectitude.conformance.reports import report_checks
from rectitude.conformance.significance import significance_values
from rectitude.conformance.windows import window_values
from rectitude.data.ledger import Ledger
from rectitude.engines.local import evaluate
from rectitude.errors import RectitudeError
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES, Profile, is_file, named


class Comparison(NamedTuple):
    """One value of a framework and ours; None stands for undefined."""

    case: str
    name: str
    user: str
    expected: float | None
    got: float | None
    tolerance: float

    @property
    def error(self) -> float:
        """How far apart they are, relative to max(1, value); infinite if only one is defined."""
        if self.expected is None or self.got is None:
            return 0.0 if self.expected is self.got else math.inf
        return abs(self.got - self.expected) / max(1.0, abs(self.expected))

    @property
    def agrees(self) -> bool:
        """Whether they are equal within the tolerance."""
        return self.error <= self.tolerance


@dataclass(slots=True)
class Standing:
    """How a profile stands: what was compared, what agrees, what is declared, what is not there
    yet."""

    profile: str
    cases: int = 0
    compared: int = 0
    agree: int = 0
    declared: int = 0
    unsupported: int = 0
    largest_error: float = 0.0
    wrong: list[Comparison] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The standing for JSON."""
        error = self.largest_error if math.isfinite(self.largest_error) else None
        return {
            "profile": self.profile,
            "cases": self.cases,
            "compared": self.compared,
            "agree": self.agree,
            "declared": self.declared,
            "unsupported": self.unsupported,
            "largest_error": error,
        }


def conformance(folder: str | Path, profiles: Sequence[str] = ()) -> list[Standing]:
    """Compare every case of a golden tree with the profile of its name, which may be a file of
    one's own (.toml)."""
    standings: dict[str, Standing] = {}
    own = {profile.name: profile for profile in (named(p) for p in profiles if is_file(p))}
    for case in load(folder, [Path(p).stem if is_file(p) else p for p in profiles]):
        standing = standings.setdefault(case.profile, Standing(case.profile))
        standing.cases += 1
        try:
            _add(standing, case, own.get(case.profile) or PROFILES.get(case.profile))
        except OSError:  # a tree that lacks files cannot be compared
            raise
        except Exception as error:  # its own failure, and no other case's
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            standing.compared += 1
            standing.wrong.append(Comparison(case.path.stem, said, "", 0.0, None, 0.0))
    return list(standings.values())


def _add(standing: Standing, case: Case, profile: Profile | None) -> None:
    if case.kind == "data":
        _add_checks(standing, case, checks(case), declared(case))
        return
    if case.kind == "report":
        _add_checks(standing, case, report_checks(case, profile), False)
        return
    if case.kind == "significance":
        tested = [*significance_values(case)]
        done = [Comparison(case.path.stem, *one) for one in tested if one.got is not None]
        standing.unsupported += len(tested) - len(done)
        _count(standing, done, {})
        return
    if "windows" in case.options:
        windowed = [*window_values(case, profile)]
        done = [Comparison(case.path.stem, *one) for one in windowed if one.got is not None]
        standing.unsupported += len(windowed) - len(done)
        _count(standing, done, {})
        return
    switches = changes(case)
    if profile is None or switches is None:
        standing.unsupported += case.size
        return
    profile = _in_order_of_popularity(case, profile)
    for file, names in rankings(case).items():
        known = [name for name in names if profile.has(name)]
        standing.unsupported += sum(_values(case, name) for name in names if name not in known)
        if known:
            convention = {"profile": profile, **switches}
            asked = in_order(case, known)
            given = arguments(case, file)
            given |= needed(case, _needs(case, file, known, profile) - set(given))
            evaluation = _evaluated(given, asked, convention)
            unfilled = evaluation
            if case.has_undefined_users:
                convention |= {"undefined": "skip"}
                unfilled = _evaluated(given, asked, convention)
            found = compare(case, evaluation, known, unfilled)
            _count(standing, found, profile.known_differences)


def _in_order_of_popularity(case: Case, profile: Profile) -> Profile:
    """The profile for a case, with the recorded order of equally popular items where one is."""
    if "popularity_order" not in case.options:
        return profile
    entries = {
        key: METRICS[own.get("metric", parse(key)[0].base)] for key, own in profile.metrics.items()
    }
    order = {
        key: {"equals": "popularity_order"}
        for key, m in entries.items()
        if "equals" in m.parameters
    }
    return replace(
        profile, metrics={k: {**own, **order.get(k, {})} for k, own in profile.metrics.items()}
    )


def _add_checks(
    standing: Standing, case: Case, checked: Iterable[Check], is_declared: bool
) -> None:
    """What a case of data or text says, each thing as a count of what is otherwise here: none, if
    it agrees.

    Differences are declared by case, in the protocol of the framework.
    """
    for check in checked:
        if check.wrong is None:
            standing.unsupported += 1
            continue
        one = Comparison(case.path.stem, check.name, "", 0.0, float(check.wrong), 0.0)
        standing.compared += 1
        standing.agree += one.agrees
        if not one.agrees and is_declared:
            standing.declared += 1
        elif not one.agrees:
            standing.largest_error = max(standing.largest_error, one.error)
            standing.wrong.append(one)


def _evaluated(
    given: Mapping[str, Any], asked: Sequence[str], convention: Mapping[str, Any]
) -> Evaluation:
    """The evaluation of a case; where there is none, every value is undefined."""
    try:
        return evaluate(**given, metrics=asked, convention=convention)
    except RectitudeError as error:
        return Evaluation({}, Ledger(), {}, dict.fromkeys(asked, error))


def _needs(case: Case, ranking: str, names: Iterable[str], profile: Profile) -> set[str]:
    """The tables that metrics need beside the lists."""
    metrics = [profile.resolve(parse(name)[0]).metric for name in names]
    needs = {need for one in metrics for need in one.requires}
    listed = case.kind == "lists" or ranking != ""  # scores are their own catalogue
    more = {"items"} if listed and "catalogue" in needs else set()
    if "people" in needs and (case.inputs / "users.parquet").exists():
        more |= {"users"}
    return needs & {"items", "train", "users"} | more


def _values(case: Case, name: str) -> int:
    return (name in case.expected) + len(case.per_user.get(name, {}))


def compare(
    case: Case, evaluation: Evaluation, names: Iterable[str], unfilled: Evaluation
) -> Iterator[Comparison]:
    """Each value of a case beside ours.

    A user whom the case calls undefined is looked up in `unfilled`, where 0/0 is left as it is:
    some frameworks show it so, and still count it as 0 in the mean.
    """
    rows = _rows(evaluation) if case.per_user and evaluation.lists else {}
    for name in names:
        tolerance = case.tolerance_of(name)
        if name in case.expected:
            failed = name in evaluation.failures
            got = None if failed else _defined(evaluation.result(name).value)
            yield Comparison(case.path.stem, name, "", case.expected[name], got, tolerance)
        for user, expected in case.per_user.get(name, {}).items():
            got = _of_user(unfilled if expected is None else evaluation, name, rows.get(user))
            yield Comparison(case.path.stem, name, user, expected, got, tolerance)


def _of_user(evaluation: Evaluation, name: str, row: int | None) -> float | None:
    values = None if name in evaluation.failures else evaluation.result(name).values
    return None if values is None or row is None else _defined(float(values[row]))


def _rows(evaluation: Evaluation) -> dict[str, int]:
    """The row of each user's values; users by the text that JSON holds for them."""
    keys = evaluation.per_list()["user"].to_list()
    users = [key if isinstance(key, str) else json.dumps(key) for key in keys]
    return {user: row for row, user in enumerate(users)}


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(
    standing: Standing, comparisons: Iterable[Comparison], declared: Mapping[str, str]
) -> None:
    for one in comparisons:
        listed = one.name in declared or parse(one.name)[0].base in declared
        standing.compared += 1
        standing.agree += one.agrees
        if one.agrees or not listed:
            standing.largest_error = max(standing.largest_error, one.error)
        if not one.agrees and listed:
            standing.declared += 1
        elif not one.agrees:
            standing.wrong.append(one)

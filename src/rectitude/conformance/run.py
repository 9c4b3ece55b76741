"""Run golden cases through the public interface and count what agrees.

Most cases are values of metrics. Others are the lines that a framework's training prints, its tests
of values per user, or windows: the users of the truth in groups, one evaluation each and together.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.comparison.significance import TESTS
from rectitude.conformance.cases import Case, changes, in_order, load, rankings
from rectitude.conformance.data import PropertyCheck, checks, declared
from rectitude.conformance.inputs import arguments, needed
from rectitude.data.ledger import Ledger
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment.windows import Windows
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES, Profile, is_file, named
from rectitude.reports.history import History
from rectitude.reports.smgcn import STYLES, Style, chosen_by

_TESTS = {
    "paired_t_test": "t",
    "wilcoxon_test": "wilcoxon",
    "whitney_u_test": "mann_whitney",
    "kruskal_test": "kruskal",
}
_NAME = re.compile(
    r"(?P<metric>\w+)\[(?:(?P<mean>macro|micro)|window=(?P<window>\d+))\](?P<at>@\d+)?"
)
_USERS = "num_user"


class Agreement(NamedTuple):
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
class Tallied:
    """How a profile stands: what was compared, what agrees, what is declared, what is not there
    yet."""

    profile: str
    cases: int = 0
    compared: int = 0
    agree: int = 0
    declared: int = 0
    unsupported: int = 0
    largest_error: float = 0.0
    wrong: list[Agreement] = field(default_factory=list)

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


def conformance(folder: str | Path, profiles: Sequence[str] = ()) -> list[Tallied]:
    """Compare every case of a golden tree with the profile of its name, which may be a file of
    one's own (.toml)."""
    standings: dict[str, Tallied] = {}
    own = {profile.name: profile for profile in (named(p) for p in profiles if is_file(p))}
    for case in load(folder, [Path(p).stem if is_file(p) else p for p in profiles]):
        standing = standings.setdefault(case.profile, Tallied(case.profile))
        standing.cases += 1
        try:
            _add(standing, case, own.get(case.profile) or PROFILES.get(case.profile))
        except OSError:  # a tree that lacks files cannot be compared
            raise
        except Exception as error:  # its own failure, and no other case's
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            standing.compared += 1
            standing.wrong.append(Agreement(case.path.stem, said, "", 0.0, None, 0.0))
    return list(standings.values())


def _add(standing: Tallied, case: Case, profile: Profile | None) -> None:
    if case.kind == "data":
        _add_checks(standing, case, checks(case), declared(case))
    elif case.kind == "report":
        _add_checks(standing, case, report_checks(case, profile), False)
    elif case.kind == "significance":
        _add_supported(standing, [*significance_values(case)])
    elif "windows" in case.options:
        _add_supported(standing, [*window_values(case, profile)])
    else:
        _add_metrics(standing, case, profile)


def _add_supported(standing: Tallied, values: Sequence[Agreement]) -> None:
    """The values of a case; what has none of ours is not there yet."""
    done = [one for one in values if one.got is not None]
    standing.unsupported += len(values) - len(done)
    _count(standing, done, {})


def _add_metrics(standing: Tallied, case: Case, profile: Profile | None) -> None:
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
) -> Iterator[Agreement]:
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
            yield Agreement(case.path.stem, name, "", case.expected[name], got, tolerance)
        for user, expected in case.per_user.get(name, {}).items():
            got = _of_user(unfilled if expected is None else evaluation, name, rows.get(user))
            yield Agreement(case.path.stem, name, user, expected, got, tolerance)


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
    standing: Tallied, comparisons: Iterable[Agreement], declared: Mapping[str, str]
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


def _add_checks(
    standing: Tallied, case: Case, checked: Iterable[PropertyCheck], is_declared: bool
) -> None:
    """What a case of data or text says, each thing as a count of what is otherwise here: none, if
    it agrees.

    Differences are declared by case, in the protocol of the framework.
    """
    for check in checked:
        if check.wrong is None:
            standing.unsupported += 1
            continue
        one = Agreement(case.path.stem, check.name, "", 0.0, float(check.wrong), 0.0)
        standing.compared += 1
        standing.agree += one.agrees
        if not one.agrees and is_declared:
            standing.declared += 1
        elif not one.agrees:
            standing.largest_error = max(standing.largest_error, one.error)
            standing.wrong.append(one)


def report_checks(case: Case, profile: Profile | None) -> list[PropertyCheck]:
    """Everything that a report case says: 0 where the same is printed or chosen here, 1 if not."""
    stored = json.loads(case.path.read_text("utf-8"))
    form = case.profile + case.path.stem.partition("--report")[2]
    said = {"best_index": stored["expected_best_index"], **stored["expected_lines"]}
    scored = replace(case, kind="scores")
    switches = changes(scored)
    if profile is None or form not in STYLES or switches is None:
        return [PropertyCheck(name, None) for name in said]
    history = _history(scored, stored, {"profile": profile, **switches}, STYLES[form])
    found = _printed(history, stored["given"], form)
    return [
        PropertyCheck(name, int(found[name] != said[name]) if name in found else None)
        for name in said
    ]


def _history(
    case: Case, stored: Mapping[str, Any], convention: Mapping[str, Any], style: Style
) -> History:
    """The evaluations that stand for epochs; the one whose line is printed has what was given."""
    given, history = stored["given"], History()
    metrics = [f"{metric}@{k}" for metric in style.epoch for k in case.cutoffs]
    for index, fixture in enumerate(stored["epochs"]):
        given_there = arguments(replace(case, inputs=case.inputs.parent / fixture), "")
        evaluation = evaluate(**given_there, metrics=metrics, convention=convention)
        number = given["epoch"] + index - given["epoch_line_of"]
        history.add(number, evaluation, given["losses"], given["elapsed"])
    return history


def _printed(history: History, given: Mapping[str, Any], form: Any) -> dict[str, object]:
    seconds, first = given["total_seconds"], history[0].evaluation
    return {
        "best_index": history.best(chosen_by(first, STYLES[form])).index,
        "perf_str": history.line(form, given["epoch_line_of"]),
        "final_perf": history.best_line(form, seconds=seconds),
        "result_file_text": history.record(
            STYLES[form].arguments, form, seconds=seconds, time=given["time"]
        ),
    }


def significance_values(case: Case) -> Iterator[Agreement]:
    """Every statistic, p-value and verdict of a case, None where there is no such test here;
    verdicts are 1 or 0 and must be equal."""
    stored = json.loads(case.path.read_text("utf-8"))
    operation = stored["operation"]
    limits = {"significant": operation["alpha"]}
    limits["significant_bonferroni"] = operation["alpha"] / operation["family"]
    frame = pl.read_parquet(case.inputs / "per_user.parquet").cast(pl.Float64)
    for row in stored["expected_rows"]:
        names = [f"{row[side]}:{row['metric']}" for side in ("a", "b")]
        one, other = (frame[name].to_numpy() for name in names)
        there = np.isfinite(one) & np.isfinite(other)
        found: dict[str, float] = {}
        if operation["name"] in _TESTS:
            outcome = TESTS[_TESTS[operation["name"]]](one[there], other[there])
            found = {"statistic": outcome.statistic, "p": outcome.p}
            found |= {name: float(outcome.p < limit) for name, limit in limits.items()}
        for what in [what for what in ("statistic", "p", *limits) if what in row]:
            tolerance = 0.0 if what in limits else case.tolerance
            told, expected = f"{what} of {row['a']} and {row['b']}", float(row[what])
            yield Agreement(
                case.path.stem, row["metric"], told, expected, found.get(what), tolerance
            )


def window_values(case: Case, profile: Profile | None) -> Iterator[Agreement]:
    """Every number of a case of windows: of each window, their mean, and the mean over lists; None
    where there is no such number here."""
    found = {name: _NAME.fullmatch(name) for name in case.expected}
    plain = replace(case, options={n: v for n, v in case.options.items() if n != "windows"})
    switches = changes(replace(plain, expected={}))
    asked = {one["metric"] + (one["at"] or "") for one in found.values() if one} - {_USERS}
    windows = None
    if profile is not None and switches is not None:
        known = sorted(name for name in asked if profile.has(name))
        windows = _evaluated_windows(case, plain, {"profile": profile, **switches}, known)
    for name, expected in case.expected.items():
        got = None if windows is None else _got(windows, found[name])
        yield Agreement(case.path.stem, name, "", expected, got, case.tolerance_of(name))


def _evaluated_windows(
    case: Case, plain: Case, convention: Mapping[str, Any], names: list[str]
) -> Windows:
    """An evaluation of each window; in the mean, one without users is worth 0."""
    recorded = case.options.get("ranking", "")
    cut = names[0].rpartition("@")[2] if names else ""
    ranking = recorded.get(f"@{cut}", "") if isinstance(recorded, Mapping) else recorded
    given = arguments(plain, ranking)
    truth = given.pop("truth")
    windows: dict[str, Evaluation | None] = {}
    for number, (low, high) in enumerate(pairwise(case.options["windows"]), 1):
        part = truth.filter(truth["user"].is_between(low, high, closed="left"))
        try:
            windows[str(number)] = evaluate(
                **given, truth=part, metrics=names, convention=convention
            )
        except NothingToEvaluate:
            windows[str(number)] = None
    return Windows(windows, empty="zero")


def _got(windows: Windows, name: re.Match[str] | None) -> float | None:
    if name is None:
        return None
    metric = f"{name['metric']}{name['at'] or ''}"
    if name["metric"] != _USERS and metric not in windows.names:
        return None
    if name["window"] is None:
        return (windows.macro if name["mean"] == "macro" else windows.micro)(metric)
    evaluation = windows.evaluations.get(name["window"])
    if name["metric"] == _USERS:
        first = None if evaluation is None else evaluation.result(windows.names[0])
        return 0.0 if first is None else float(first.counted or 0)
    return windows.values(metric)[name["window"]]

"""Run golden cases through the public interface and count how many values agree.

Most cases contain metric values. Others contain the lines that a training script prints, the
results of significance tests, or values of windows: groups of users that are evaluated separately
and together.
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
from rectitude.conformance.data import PropertyCheck, checks, is_declared
from rectitude.conformance.inputs import arguments, tables_needed
from rectitude.data.ledger import Ledger
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment.windows import Windows
from rectitude.extensions import import_nothing_for
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES, Profile, find_profile, is_file
from rectitude.reports.history import History
from rectitude.reports.smgcn import STYLES, Style, selection_metric

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
REFUSED = "nothing to evaluate"
"""The known difference of profiles whose framework returns a constant where no list counts. Such an
evaluation is refused here, since it is usually a mistake: ids that do not match."""


class Agreement(NamedTuple):
    """One value of a framework and our value; None means undefined."""

    case: str
    name: str
    user: str
    expected: float | None
    got: float | None
    tolerance: float
    cause: str = ""
    """why there is no value of ours, if that can be a known difference"""

    @property
    def error(self) -> float:
        """The difference, relative to max(1, value); infinite if only one value is defined."""
        if self.expected is None or self.got is None:
            return 0.0 if self.expected is self.got else math.inf
        return abs(self.got - self.expected) / max(1.0, abs(self.expected))

    @property
    def agrees(self) -> bool:
        """Whether the values are equal within the tolerance."""
        return self.error <= self.tolerance


@dataclass(slots=True)
class ProfileTally:
    """How well a profile reproduces its framework: the number of values that were compared, that
    agree, that differ for a declared reason, and that are not supported yet."""

    profile: str
    cases: int = 0
    compared: int = 0
    agree: int = 0
    declared: int = 0
    unsupported: int = 0
    largest_error: float = 0.0
    wrong: list[Agreement] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as a dict for JSON."""
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


def conformance(folder: str | Path, profiles: Sequence[str] = ()) -> list[ProfileTally]:
    """Compare every case of a golden tree with the profile of the same name; `profiles` are names
    or custom profile files (.toml)."""
    tallies: dict[str, ProfileTally] = {}
    custom = {
        profile.name: profile for profile in (find_profile(p) for p in profiles if is_file(p))
    }
    for case in load(folder, [Path(p).stem if is_file(p) else p for p in profiles]):
        tally = tallies.setdefault(case.profile, ProfileTally(case.profile))
        tally.cases += 1
        try:
            with import_nothing_for(str(case.path)):
                _add(tally, case, custom.get(case.profile) or PROFILES.get(case.profile))
        except OSError:  # files are missing: the tree cannot be compared
            raise
        except Exception as error:  # only this case counts as wrong; the others continue
            message = f"{type(error).__name__}: {error}".splitlines()[0]
            tally.compared += 1
            tally.wrong.append(Agreement(case.path.stem, message, "", 0.0, None, 0.0))
    return list(tallies.values())


def _add(tally: ProfileTally, case: Case, profile: Profile | None) -> None:
    if case.kind == "data":
        _add_checks(tally, case, checks(case), is_declared(case))
    elif case.kind == "report":
        _add_checks(tally, case, report_checks(case, profile), False)
    elif case.kind == "significance":
        _count_supported(tally, [*significance_values(case)])
    elif "windows" in case.options:
        _count_supported(tally, [*window_values(case, profile)])
    else:
        _add_metrics(tally, case, profile)


def _count_supported(tally: ProfileTally, values: Sequence[Agreement]) -> None:
    """Count the values of a case; those that rectitude does not compute are unsupported."""
    computed = [value for value in values if value.got is not None]
    tally.unsupported += len(values) - len(computed)
    _count(tally, computed, {})


def _add_metrics(tally: ProfileTally, case: Case, profile: Profile | None) -> None:
    switches = changes(case)
    if profile is None or switches is None:
        tally.unsupported += case.size
        return
    profile = _use_popularity_order(case, profile)
    for file, names in rankings(case, _metrics_of_lists(case, profile)).items():
        supported = [name for name in names if profile.has(name)]
        missing = [name for name in names if name not in supported]
        tally.unsupported += sum(_count_values(case, name) for name in missing)
        if supported:
            convention = {"profile": profile, **switches}
            metrics = in_order(case, supported)
            inputs = arguments(case, file)
            inputs |= tables_needed(case, _needs(case, file, supported, profile) - set(inputs))
            evaluation = _evaluate_case(inputs, metrics, convention)
            unfilled = evaluation
            if case.has_undefined_users:
                convention |= {"undefined": "skip"}
                unfilled = _evaluate_case(inputs, metrics, convention)
            agreements = compare(case, evaluation, supported, unfilled)
            _count(tally, agreements, profile.known_differences)


def _metrics_of_lists(case: Case, profile: Profile) -> set[str]:
    """Return the names whose metric needs lists and the number of items, but no scores."""
    known = [name for name in (*case.expected, *case.per_user) if profile.has(name)]
    return {name for name in known if "choices" in profile.resolve(parse(name)[0]).metric.requires}


def _use_popularity_order(case: Case, profile: Profile) -> Profile:
    """Return the profile, with the recorded order of equally popular items if the case has one."""
    if "popularity_order" not in case.options:
        return profile
    metrics = {
        key: METRICS[entry.get("metric", parse(key)[0].base)]
        for key, entry in profile.metrics.items()
    }
    order = {
        key: {"equals": "popularity_order"}
        for key, metric in metrics.items()
        if "equals" in metric.parameters
    }
    return replace(
        profile,
        metrics={key: {**entry, **order.get(key, {})} for key, entry in profile.metrics.items()},
    )


def _evaluate_case(
    inputs: Mapping[str, Any], metrics: Sequence[str], convention: Mapping[str, Any]
) -> Evaluation:
    """Evaluate a case; if that raises an error, every value is undefined."""
    try:
        return evaluate(**inputs, metrics=metrics, convention=convention)
    except RectitudeError as error:
        return Evaluation({}, Ledger(), {}, dict.fromkeys(metrics, error))


def _needs(case: Case, ranking: str, names: Iterable[str], profile: Profile) -> set[str]:
    """Return the tables that metrics need besides the lists."""
    metrics = [profile.resolve(parse(name)[0]).metric for name in names]
    needs = {need for metric in metrics for need in metric.requires}
    has_lists = case.kind == "lists" or ranking != ""  # scores define the catalogue themselves
    of_lists = has_lists and needs & {"catalogue", "choices"}
    tables = {"items"} if of_lists or "size" in needs else set()
    if "people" in needs and (case.inputs / "users.parquet").exists():
        tables |= {"users"}
    return needs & {"items", "train", "users"} | tables


def _count_values(case: Case, name: str) -> int:
    return (name in case.expected) + len(case.per_user.get(name, {}))


def compare(
    case: Case, evaluation: Evaluation, names: Iterable[str], unfilled: Evaluation
) -> Iterator[Agreement]:
    """Yield each value of a case together with ours.

    If the value of a user is undefined in the case, ours is taken from `unfilled`, which keeps 0/0
    undefined. Some frameworks show such values as undefined but count them as 0 in the mean.
    """
    rows = _user_rows(evaluation) if case.per_user and evaluation.lists else {}
    for name in names:
        tolerance = case.tolerance_of(name)
        if name in case.expected:
            error = _error_of(evaluation, name)
            got = None if error else _value_or_none(evaluation.result(name).value)
            cause = REFUSED if isinstance(error, NothingToEvaluate) else ""
            yield Agreement(case.path.stem, name, "", case.expected[name], got, tolerance, cause)
        for user, expected in case.per_user.get(name, {}).items():
            got = _user_value(unfilled if expected is None else evaluation, name, rows.get(user))
            yield Agreement(case.path.stem, name, user, expected, got, tolerance)


def _error_of(evaluation: Evaluation, name: str) -> RectitudeError | None:
    """Return why there is no value; an evaluation that failed as a whole goes by the names of the
    case."""
    errors = evaluation.failures
    return errors.get(name) or errors.get(evaluation.find_name(name))


def _user_value(evaluation: Evaluation, name: str, row: int | None) -> float | None:
    values = None if _error_of(evaluation, name) else evaluation.result(name).values
    return None if values is None or row is None else _value_or_none(float(values[row]))


def _user_rows(evaluation: Evaluation) -> dict[str, int]:
    """Return the row of each user's values; keys are users as text, as in JSON."""
    keys = evaluation.per_list()["user"].to_list()
    users = [key if isinstance(key, str) else json.dumps(key) for key in keys]
    return {user: row for row, user in enumerate(users)}


def _value_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(
    tally: ProfileTally, agreements: Iterable[Agreement], declared: Mapping[str, str]
) -> None:
    for value in agreements:
        name = parse(value.name)[0]
        is_declared = not declared.keys().isdisjoint(
            (value.name, str(replace(name, at=None)), name.base, value.cause)
        )
        tally.compared += 1
        tally.agree += value.agrees
        if value.agrees or not is_declared:
            tally.largest_error = max(tally.largest_error, value.error)
        if not value.agrees and is_declared:
            tally.declared += 1
        elif not value.agrees:
            tally.wrong.append(value)


def _add_checks(
    tally: ProfileTally, case: Case, checked: Iterable[PropertyCheck], is_declared: bool
) -> None:
    """Count the checks of a data or report case as values: the number of differences, expected 0.

    Differences are declared by case, in the protocol of the framework.
    """
    for check in checked:
        if check.wrong is None:
            tally.unsupported += 1
            continue
        value = Agreement(case.path.stem, check.name, "", 0.0, float(check.wrong), 0.0)
        tally.compared += 1
        tally.agree += value.agrees
        if not value.agrees and is_declared:
            tally.declared += 1
        elif not value.agrees:
            tally.largest_error = max(tally.largest_error, value.error)
            tally.wrong.append(value)


def report_checks(case: Case, profile: Profile | None) -> list[PropertyCheck]:
    """Check every line and the best epoch of a report case: 0 if ours is the same, 1 if not."""
    stored = json.loads(case.path.read_text("utf-8"))
    form = case.profile + case.path.stem.partition("--report")[2]
    expected = {"best_index": stored["expected_best_index"], **stored["expected_lines"]}
    scores_case = replace(case, kind="scores")
    switches = changes(scores_case)
    if profile is None or form not in STYLES or switches is None:
        return [PropertyCheck(name, None) for name in expected]
    history = _history(scores_case, stored, {"profile": profile, **switches}, STYLES[form])
    printed = _print_history(history, stored["given"], form)
    return [
        PropertyCheck(name, int(printed[name] != expected[name]) if name in printed else None)
        for name in expected
    ]


def _history(
    case: Case, stored: Mapping[str, Any], convention: Mapping[str, Any], style: Style
) -> History:
    """Evaluate every epoch; the epoch whose line is printed gets the recorded epoch number."""
    recorded, history = stored["given"], History()
    metrics = [f"{metric}@{k}" for metric in style.epoch for k in case.cutoffs]
    for index, fixture in enumerate(stored["epochs"]):
        inputs = arguments(replace(case, inputs=case.inputs.parent / fixture), "")
        evaluation = evaluate(**inputs, metrics=metrics, convention=convention)
        number = recorded["epoch"] + index - recorded["epoch_line_of"]
        history.add(number, evaluation, recorded["losses"], recorded["elapsed"])
    return history


def _print_history(history: History, recorded: Mapping[str, Any], form: Any) -> dict[str, object]:
    seconds, first = recorded["total_seconds"], history[0].evaluation
    return {
        "best_index": history.best(selection_metric(first, STYLES[form])).index,
        "perf_str": history.line(form, recorded["epoch_line_of"]),
        "final_perf": history.best_line(form, seconds=seconds),
        "result_file_text": history.record(
            STYLES[form].arguments, form, seconds=seconds, time=recorded["time"]
        ),
    }


def significance_values(case: Case) -> Iterator[Agreement]:
    """Yield every statistic, p-value and verdict of a case; ours is None if rectitude does not have
    the test. Verdicts are 1 or 0 and must be equal."""
    stored = json.loads(case.path.read_text("utf-8"))
    operation = stored["operation"]
    limits = {"significant": operation["alpha"]}
    limits["significant_bonferroni"] = operation["alpha"] / operation["family"]
    frame = pl.read_parquet(case.inputs / "per_user.parquet").cast(pl.Float64)
    for row in stored["expected_rows"]:
        names = [f"{row[side]}:{row['metric']}" for side in ("a", "b")]
        first, second = (frame[name].to_numpy() for name in names)
        in_both = np.isfinite(first) & np.isfinite(second)
        ours: dict[str, float] = {}
        if operation["name"] in _TESTS:
            outcome = TESTS[_TESTS[operation["name"]]](first[in_both], second[in_both])
            ours = {"statistic": outcome.statistic, "p": outcome.p}
            ours |= {name: float(outcome.p < limit) for name, limit in limits.items()}
        for what in [what for what in ("statistic", "p", *limits) if what in row]:
            tolerance = 0.0 if what in limits else case.tolerance
            label, expected = f"{what} of {row['a']} and {row['b']}", float(row[what])
            yield Agreement(
                case.path.stem, row["metric"], label, expected, ours.get(what), tolerance
            )


def window_values(case: Case, profile: Profile | None) -> Iterator[Agreement]:
    """Yield every value of a case with windows: of each window, the mean over windows, and the mean
    over lists. Ours is None if rectitude does not compute it."""
    parsed = {name: _NAME.fullmatch(name) for name in case.expected}
    plain = replace(case, options={n: v for n, v in case.options.items() if n != "windows"})
    switches = changes(replace(plain, expected={}))
    names = {match["metric"] + (match["at"] or "") for match in parsed.values() if match}
    windows = None
    if profile is not None and switches is not None:
        supported = sorted(name for name in names - {_USERS} if profile.has(name))
        windows = _evaluate_windows(case, plain, {"profile": profile, **switches}, supported)
    for name, expected in case.expected.items():
        got = None if windows is None else _mean_of_windows(windows, parsed[name])
        yield Agreement(case.path.stem, name, "", expected, got, case.tolerance_of(name))


def _evaluate_windows(
    case: Case, plain: Case, convention: Mapping[str, Any], names: list[str]
) -> Windows:
    """Evaluate each window separately; in the mean, a window without users counts as 0."""
    recorded = case.options.get("ranking", "")
    cut = names[0].rpartition("@")[2] if names else ""
    ranking = recorded.get(f"@{cut}", "") if isinstance(recorded, Mapping) else recorded
    inputs = arguments(plain, ranking)
    truth = inputs.pop("truth")
    windows: dict[str, Evaluation | None] = {}
    for number, (low, high) in enumerate(pairwise(case.options["windows"]), 1):
        window_truth = truth.filter(truth["user"].is_between(low, high, closed="left"))
        try:
            windows[str(number)] = evaluate(
                **inputs, truth=window_truth, metrics=names, convention=convention
            )
        except NothingToEvaluate:
            windows[str(number)] = None
    return Windows(windows, empty="zero")


def _mean_of_windows(windows: Windows, name: re.Match[str] | None) -> float | None:
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

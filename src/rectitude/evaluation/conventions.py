"""Evaluate the same predictions under several conventions.

Lists are opened and aligned once. Dense scores and candidates are opened again for conventions that
mask other items, or treat unknown ones differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rectitude.aggregate.evaluation import Evaluation
from rectitude.aggregate.evaluations import Evaluations
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadArgument, RectitudeError
from rectitude.evaluation.evaluate import (
    EvaluatePlans,
    evaluate_aligned,
    open_for,
    require_slices,
)
from rectitude.evaluation.inputs import RawInputs, choices_at_opening
from rectitude.evaluation.plan import Plan
from rectitude.judge.align import Aligned, align_inputs
from rectitude.metrics.names import Names, parse_all
from rectitude.profiles import Profile, profile_of

Ask = Callable[..., Plan]
"""Returns the plan for metrics under a profile."""
Failures = Mapping[str, RectitudeError]


def evaluate_conventions(
    conventions: Sequence[object],
    metrics: Names | None,
    given: RawInputs,
    ask: Ask,
    evaluate_plans: EvaluatePlans | None = None,
) -> Evaluations:
    """Evaluate under each convention, with a function of its own for plans if there is one. A
    metric that fails under one of them is kept with its error; an error under all of them is
    raised."""
    requests = _requests(conventions, metrics, ask)
    plans = {label: request.plan for label, request in requests.items() if request.plan is not None}
    exact_items = any(plan.exact_items for plan in plans.values())
    evaluate_plans = evaluate_plans or _Opened(given, exact_items).evaluate
    if any(plan.per_list is not None for plan in plans.values()):
        from rectitude.evaluation.written import evaluate_to_files  # noqa: PLC0415  (for files only)

        evaluated: Sequence[Evaluation | RectitudeError] = evaluate_to_files(plans, evaluate_plans)
    else:
        evaluated = evaluate_plans([*plans.values()])
    found = dict(zip(plans, evaluated, strict=True))
    errors = [error for error in found.values() if isinstance(error, RectitudeError)]
    if len(errors) == len(plans):
        raise errors[0]
    evaluations = {}
    for label, request in requests.items():
        outcome = found.get(label)
        if outcome is None or request.plan is None:
            evaluation = Evaluation({}, Ledger(), {"profile": label}, request.failures)
        elif isinstance(outcome, RectitudeError):
            evaluation = _without_values(label, request.plan, outcome)
        else:
            evaluation = outcome
        failures = {**request.failures, **evaluation.failures}
        evaluations[label] = replace(evaluation, failures=failures)
    return Evaluations(evaluations)


@dataclass(frozen=True)
class _Request:
    """What is asked under one convention: the metrics that it defines, and why it lacks others."""

    plan: Plan | None
    failures: Failures = field(default_factory=dict)


def _requests(
    conventions: Sequence[object], metrics: Names | None, ask: Ask
) -> dict[str, _Request]:
    """Return what is asked under each convention; raise the error of a metric that none defines."""
    profiles = _profiles_by_label(conventions)
    metrics = [*metrics] if isinstance(metrics, Iterator) else metrics
    requests, errors = {}, []
    for label, profile in profiles.items():
        try:
            requests[label] = _Request(ask(metrics, profile))
        except RectitudeError as error:
            errors.append(error)
    if len(requests) == len(profiles):
        return requests
    if not requests and metrics is None:
        raise errors[0]
    complete = next(iter(requests.values()), None)
    if complete is not None and complete.plan is not None:
        names = [str(asked.typed or asked.name) for asked in complete.plan.asked]
        ask = partial(ask, cutoffs=None)  # these names have their cutoffs
    else:
        names = [str(name) for name in parse_all(metrics or ())]
    requests = {label: _request_each(names, profile, ask) for label, profile in profiles.items()}
    for name in names:
        failures = [request.failures.get(name) for request in requests.values()]
        if first := failures[0] if None not in failures else None:
            raise first
    return requests


def _request_each(names: Sequence[str], profile: Profile, ask: Ask) -> _Request:
    """Ask for each metric alone, to learn which ones a profile lacks."""
    failures: dict[str, RectitudeError] = {}
    for name in names:
        try:
            ask([name], profile)
        except RectitudeError as error:
            failures[name] = error
    defined = [name for name in names if name not in failures]
    return _Request(ask(defined, profile) if defined else None, failures)


def _profiles_by_label(conventions: Sequence[object]) -> dict[str, Profile]:
    profiles = [profile_of(convention) for convention in conventions]
    if not profiles:
        raise BadArgument("convention is an empty list.", "at least one convention.")
    labels = [profile.label for profile in profiles]
    for label in labels:
        if labels.count(label) > 1:
            raise BadArgument(
                f"{labels.count(label)} of the {len(labels)} conventions are called {label!r}.",
                "a different name for each.",
                "name a profile once; write your own conventions as dicts, which are named by "
                "their switches.",
            )
    return dict(zip(labels, profiles, strict=True))


def _without_values(label: str, plan: Plan, error: RectitudeError) -> Evaluation:
    failures = {str(asked.name): error for asked in plan.asked}
    return Evaluation({}, Ledger(), {"profile": label}, failures)


@dataclass
class _Opened:
    """Inputs that are opened and aligned once for all conventions that open them alike."""

    given: RawInputs
    exact_items: bool
    aligned: list[tuple[object, Aligned]] = field(default_factory=list)

    def evaluate(self, plans: Sequence[Plan]) -> list[Evaluation | RectitudeError]:
        """Return the evaluation under each plan, or why there is none."""
        found: list[Evaluation | RectitudeError] = []
        for plan in plans:
            try:
                found.append(evaluate_aligned(plan, self.align_for(plan)))
            except RectitudeError as error:
                found.append(error)
        return found

    def align_for(self, plan: Plan) -> Aligned:
        """Return the aligned inputs for a plan."""
        wanted = self._choices(plan)
        for choices, aligned in self.aligned:
            if choices == wanted or not _depends_on_convention(aligned.sources):
                return aligned
        inputs = open_for(plan, self.given)
        require_slices(plan, inputs)
        aligned = align_inputs(inputs, self.exact_items)
        self.aligned.append((wanted, aligned))
        return aligned

    def _choices(self, plan: Plan) -> object:
        offered = self.given.inputs.get("candidates") is not None
        choices = choices_at_opening(plan.convention, offered)
        return plan.profile.padding, plan.reach, tuple(choices.values())


def _depends_on_convention(inputs: Inputs) -> bool:
    """Return whether opening depends on the convention: lists alone do not."""
    return not (inputs.dense is None and inputs.offered is None and inputs.beside is None)

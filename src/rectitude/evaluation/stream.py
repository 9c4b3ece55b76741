"""`Evaluator`: an evaluation that comes in batches, adds up exactly, and can be merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Literal

from rectitude.aggregate.evaluation import Evaluation
from rectitude.aggregate.sums import State, Total, state_by_user
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.evaluation.axes import kept_columns, require_axes
from rectitude.evaluation.axes import parse_slicings as parse_slices
from rectitude.evaluation.evaluate import Part, computed, part_of, results_of
from rectitude.evaluation.inputs import Given, opened
from rectitude.evaluation.slices import Asking, Sums, settled, slices_of, sums_of
from rectitude.evaluation.state import Batches, merged_ledger, merged_manifest
from rectitude.metrics.names import parse_all
from rectitude.metrics.registry import Facts
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import Asked, profile_of


class Evaluator:
    """Metrics over predictions that come in batches.

    Each `update` is handed predictions of any kind and the truth of the same lists; a user of the
    truth without a prediction in the batch counts as `evaluate` would count him, as a miss. Where
    the truth holds more users than the batch, name those of the batch with `users=`.

    What is kept does not grow with the number of batches: exact sums, and counts. Only
    `unit="user"`, where the mean of a user's lists needs all of them, and `per_list="kept"` keep a
    value for each list. Batches may come in any order, in any number of evaluators: added up, they
    give the bits of `evaluate`.
    """

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        intervals: bool = False,
        per_list: Literal["kept", "dropped"] = "dropped",
        slices: object = None,
    ) -> None:
        if per_list not in ("kept", "dropped"):
            raise BadName(f"per_list cannot be {per_list!r}.", "'kept' or 'dropped'.")
        self.profile = profile_of(convention)
        self.names = [str(name) for name in parse_all(metrics)]
        self.intervals = intervals
        self.per_list = per_list
        self.slices = parse_slices(slices)
        self.asked = [self.profile.resolve(name) for name in parse_all(self.names)]
        self._computed = computed(self.asked, self.profile)
        _require_groups_of_lists(self._computed)
        self._bounds = {name: _bounds(name, one) for name, one in self._computed.items()}
        self._of_bounds = {
            name: one for both in self._bounds.values() for name, one in both.items()
        }
        by_list = {name: _by_list(one) for name, one in self._computed.items()}
        self.wanted = by_list | self._of_bounds
        by_user = [n for n, one in self._computed.items() if one.convention.unit == "user"]
        self._asking = Asking(self.asked, self.profile, by_list, by_user)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self.batches = 0
        self.totals: dict[str, Total] = {}
        self.ledger = Ledger()
        self.manifest: Mapping[str, object] = {}
        self.kept = Batches()
        self.sliced = Sums()

    def update(
        self,
        predictions: object,
        truth: object,
        *,
        train: object = None,
        items: object = None,
        users: object = None,
        candidates: object = None,
        ranking: object = None,
        list_key: str = "user",
        weights: object = None,
        columns: Mapping[str, str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Add a batch; the arguments are those of `evaluate`. An error leaves everything as it
        was."""
        inputs = {
            "predictions": predictions, "truth": truth, "train": train, "items": items,
            "users": users, "weights": weights, "candidates": candidates,
        }  # fmt: skip
        beside = (self.profile.padding, kept_columns(self.slices))
        self.add(self.opened(Given(inputs, ranking, list_key, columns, progress, *beside)))

    def opened(self, given: Given) -> Inputs:
        """A batch as it is judged."""
        self._require_named(given.inputs["predictions"])
        return opened(given, list(self.wanted.values()), self.profile.convention)

    def add(self, sources: Inputs) -> None:
        """Judge a batch that was opened, and add it."""
        require_axes(self.slices, sources)
        spread = self.intervals or bool(self.slices)
        part = part_of(sources, self.asked, self.profile, self.wanted, spread)
        for name, error in part.failures.items():
            if name not in self._of_bounds:  # else there is a value, without bounds
                raise error
        sliced = sums_of(self.slices, part, sources, self._asking)
        self._take(part.totals, part.ledger, part.manifest, self._kept_of(part), sliced, 1)

    def __add__(self, other: Evaluator) -> Evaluator:
        """Both evaluators' batches together."""
        if not isinstance(other, Evaluator):
            return NotImplemented
        self._require_same(other)
        both = Evaluator(
            self.names, self.profile, intervals=self.intervals, per_list=self.per_list,
            slices=self.slices,
        )  # fmt: skip
        for one in (self, other):
            both._take(one.totals, one.ledger, one.manifest, one.kept, one.sliced, one.batches)
        return both

    def __radd__(self, other: object) -> Evaluator:
        """So that `sum` can add evaluators up."""
        return self if other == 0 else NotImplemented

    def compute(self) -> Evaluation:
        """The evaluation of all batches so far."""
        if not self.batches:
            raise NothingToEvaluate("no batch has been added.", "an update before compute.")
        totals = dict(self.totals)
        for name, one in self._computed.items():
            rest = totals[name].sum
            if one.convention.unit == "user" and isinstance(rest, State):
                bounds = [self._by_user(bound) for bound in self._bounds[name] if bound in totals]
                both = (bounds[0], bounds[1]) if len(bounds) == 2 else None
                totals[name] = Total(self._by_user(name), both)
        shown = self.kept if self.per_list == "kept" else Batches()
        keys = shown.keys()
        values = {name: shown.values(name) for name in shown.names()}
        ledger = self.ledger + Ledger()  # results write into it, and more batches may come
        part = Part(totals, values, {}, ledger, keys, self.manifest, Facts())
        results, failures = results_of(self.asked, self.profile, part, self.intervals)
        manifest = {**self.manifest, "batches": self.batches}
        sums = settled(self.sliced, self._asking.kept)
        parted = slices_of(sums, part, self.asked, self.profile)
        return Evaluation(results, ledger, manifest, failures, keys, parted)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything added so far as JSON, whole or not at all."""
        from rectitude.evaluation.saved import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Evaluator:
        """An evaluator that `save` wrote."""
        from rectitude.evaluation.saved import load

        return load(path)

    def _by_user(self, name: str) -> State:
        """The sums over users of a metric of which values per list were kept."""
        spread = self.intervals or bool(self.slices)
        state = state_by_user(*self.kept.by_user(name), spread)
        rest = self.totals[name].sum
        return (
            replace(state, skipped=rest.skipped, nan=rest.nan) if isinstance(rest, State) else state
        )

    def _kept_of(self, part: Part) -> Batches:
        """The values per list that must be kept of a batch."""
        every = self.per_list == "kept"
        own = [n for n, one in self._computed.items() if every or one.convention.unit == "user"]
        names = [name for name in (*self._of_bounds, *own) if name in part.values]
        return Batches.of(part.keys, {name: part.values[name] for name in names})

    def _take(
        self,
        totals: Mapping[str, Total],
        ledger: Ledger,
        manifest: Mapping[str, object],
        kept: Batches,
        sliced: Sums,
        batches: int,
    ) -> None:
        if not batches:
            return
        everything, parted = self.kept + kept, self.sliced + sliced  # first, as they may refuse
        if self.batches:
            both = [name for name in self.totals if name in totals]
            totals = {name: self.totals[name] + totals[name] for name in both}
            ledger = merged_ledger(self.ledger, ledger)
            manifest = merged_manifest(self.manifest, manifest)
        self.totals, self.ledger, self.manifest = dict(totals), ledger, manifest
        self.kept, self.sliced = everything, parted
        self.batches += batches

    def _require_named(self, predictions: object) -> None:
        """Refuse rows without names where those of one user must be known in every batch."""
        by_user = any(one.convention.unit == "user" for one in self.asked)
        if by_user and _nameless(predictions):
            raise BadName(
                "unit='user' brings the lists of a user together, and these rows have no users: "
                "row 0 of one batch is not row 0 of another.",
                "users= that are the same in every batch.",
                "set unit='list' where every row is a user of its own.",
            )

    def _require_same(self, other: Evaluator) -> None:
        if self.names != other.names:
            raise BadName(
                f"evaluators of {self.names} and {other.names} cannot be added.",
                "the same metrics in the same order.",
            )
        for what in ("intervals", "per_list", "slices"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise BadName(
                    f"evaluators with {what}={mine!r} and {what}={theirs!r} cannot be added.",
                    f"the same {what}=.",
                )
        for ours, others in zip(self.asked, other.asked, strict=True):
            differ = ours.convention.differences(others.convention)
            if differ or ours.numbers != others.numbers or ours.metric.name != others.metric.name:
                raise BadName(
                    f"{ours.name} is defined differently in the two evaluators: "
                    f"{differ or 'another formula'}.",
                    "the same convention.",
                )


def _require_groups_of_lists(wanted: Mapping[str, Asked]) -> None:
    """Refuse groups whose users would have to be brought together over batches."""
    for name, one in wanted.items():
        if one.by and one.convention.unit == "user":
            raise BadName(
                f"{name.partition('/')[0]!r} compares groups of users, and unit='user' brings the "
                "lists of a user together, which may lie in several batches.",
                "unit='list' in batches, or evaluate() of all lists at once.",
            )


def _nameless(predictions: object) -> bool:
    """Whether rows are known by their numbers only. A file may hold names beside the scores."""
    if isinstance(predictions, Scores) and isinstance(predictions.source, (str, PathLike)):
        return False
    if isinstance(predictions, (Scores, Embeddings)):
        return predictions.users is None and predictions.lists is None
    return isinstance(predictions, Logits)


def _bounds(name: str, asked: Asked) -> dict[str, Asked]:
    """The metric with ties broken against and for the lists, where users are averaged at the end
    and ties matter; named after it."""
    convention, metric = asked.convention, asked.metric
    settled = convention.unit == "list" or convention.ties == "error"
    if settled or metric.kind == "counts" or "moving_up_helps" in metric.breaks:
        return {}
    rules = ("pessimistic", "optimistic")
    return {
        f"{name}/{rule}": replace(asked, convention=convention.replace(unit="list", ties=rule))
        for rule in rules
    }


def _by_list(asked: Asked) -> Asked:
    """The metric over lists, where it will be averaged over users once all batches are there."""
    if asked.convention.unit == "list":
        return asked
    return replace(asked, convention=asked.convention.replace(unit="list"))

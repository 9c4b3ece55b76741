"""`Evaluator`: an evaluation that comes in batches, adds up exactly, and can be merged.

Every batch is judged when it comes. Judged lists are kept, joined and measured many at a time, so
that a batch costs its judging and little else; what is kept is bounded, in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from os import PathLike
from typing import Any, Literal

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadName, NothingToEvaluate, RectitudeError
from rectitude.evaluation.account import identify, manifest_of
from rectitude.evaluation.axes import require_axes
from rectitude.evaluation.batch import Batch, join_batches, joinable, judge_batch
from rectitude.evaluation.evaluate import columns_kept, evaluation_of, parse_slices
from rectitude.evaluation.inputs import Arguments, Given, given_of, opened
from rectitude.evaluation.measure import Measurement, measure
from rectitude.evaluation.plan import Plan, Slicings, resolve
from rectitude.evaluation.slices import measure_slices, relevant_in, slice_batch
from rectitude.evaluation.state import KeptValues, State, average_users, merged_manifest
from rectitude.metrics.names import parse_all
from rectitude.metrics.registry import Facts
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import Asked, Profile, profile_of

BLOCK_BYTES = 1 << 24
"""how much of judged lists is kept before they are measured"""
_PIECE_BYTES = 1 << 14
"""what a batch takes beside its arrays: ledger, manifest and objects"""


class Evaluator:
    """Metrics over predictions that come in batches.

    Each `update` is handed predictions of any kind and the truth of the same lists; a user of the
    truth without a prediction in the batch counts as `evaluate` would count them, as a miss. Where
    the truth holds more users than the batch, name those of the batch with `users=`.

    What is kept does not grow with the number of batches: exact sums, counts, and a bounded block
    of judged lists that are measured together. Only `unit="user"`, where the mean of a user's lists
    needs all of them, and `per_list="kept"` keep a value for each list. Batches may come in any
    order, in any number of evaluators: added up, they give the bits of `evaluate`.

    What is wrong with a batch is raised by its `update`, and the batch is left out. A metric that
    fails on judged lists is noticed when these are measured, by a later `update` or by `compute`:
    the error names the batch, which is left out, and the others stay. `check="now"` measures every
    batch at once.
    """

    def __init__(
        self,
        metrics: str | Iterable[str],
        convention: object = None,
        *,
        intervals: bool = False,
        per_list: Literal["kept", "dropped"] = "dropped",
        slices: object = None,
        check: Literal["later", "now"] = "later",
    ) -> None:
        if per_list not in ("kept", "dropped"):
            raise BadName(f"per_list cannot be {per_list!r}.", "'kept' or 'dropped'.")
        if check not in ("later", "now"):
            raise BadName(f"check cannot be {check!r}.", "'later' or 'now'.")
        profile = profile_of(convention)
        self.names = [str(name) for name in parse_all(metrics)]
        self.per_list = per_list
        self.check = check
        self.plan = Plan.of(resolve(self.names, profile), profile, intervals, parse_slices(slices))
        _require_groups_of_lists(self.plan.measured)
        self._batch_plan = self.plan.in_batches()
        self.reset()

    @property
    def profile(self) -> Profile:
        """The profile whose conventions are followed."""
        return self.plan.profile

    @property
    def intervals(self) -> bool:
        """Whether every number has an interval."""
        return self.plan.intervals

    @property
    def slices(self) -> Slicings:
        """The axes of every slicing."""
        return self.plan.slicings

    @property
    def wanted(self) -> Mapping[str, Asked]:
        """The metrics that are measured in every batch."""
        return self._batch_plan.measured

    @property
    def batches(self) -> int:
        """How many batches were added."""
        return self._state.batches + len(self._pending)

    @property
    def state(self) -> State:
        """Everything added up so far; what is kept is measured first."""
        self._settle()
        return self._state

    def reset(self) -> None:
        """Forget all batches."""
        self._state = State()
        self._pending: list[_Piece] = []
        self._failed: list[_Failed] = []
        self._bytes = 0
        self._updates = 0

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
        """Add a batch; the arguments are those of `evaluate`. A batch that cannot be judged raises
        an error and leaves everything as it was."""
        beside: Arguments = {
            "train": train, "items": items, "users": users, "candidates": candidates,
            "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
        }  # fmt: skip
        given = given_of(predictions, truth, beside, self.profile.padding)
        self.add(self.opened(replace(given, progress=progress, keep=columns_kept(self.plan))))

    def opened(self, given: Given) -> Inputs:
        """A batch as it is judged."""
        self._require_named(given.inputs["predictions"])
        return opened(given, self._batch_plan.reach, self.plan.convention)

    def add(self, inputs: Inputs) -> None:
        """Judge a batch that was opened, and keep it to be measured with others."""
        require_axes(self.slices, inputs)
        self._updates += 1
        batch = judge_batch(self._batch_plan, inputs)
        self._raise_first(batch.failures)
        if self.check == "now" or self._batch_plan.apart or not batch.of_ranks:
            self._add_now(batch, inputs)
            return
        piece = _Piece(self._batch_plan, batch, self._updates)
        self._require_addable(piece)
        whole = not self._pending or joinable(self._pending[-1].batch, piece.batch)
        self._pending.append(piece)
        self._bytes += piece.bytes
        if not whole or self._bytes > BLOCK_BYTES:
            self._settle()

    def _add_now(self, batch: Batch, inputs: Inputs) -> None:
        plan = self._batch_plan
        found = measure(plan, batch)
        self._raise_first(found.failures)
        state = self._state_of(found, batch, [_Piece(plan, batch, self._updates)])
        if plan.slicings:
            sliced = slice_batch(plan, batch, inputs)
            slices = measure_slices(plan, sliced, found.failures, self.plan.by_user)
            state = replace(state, slices=slices, relevant=relevant_in(plan, batch))
        late: RectitudeError | None = None
        try:
            self._settle()  # first, so that lists stay in their order
        except RectitudeError as error:  # of an earlier batch: this one counts all the same
            late = error
        self._state = self._state + replace(state, failures={})  # of bounds: there is a value
        if late is not None:
            raise late

    def __add__(self, other: Evaluator) -> Evaluator:
        """Both evaluators' batches together."""
        if not isinstance(other, Evaluator):
            return NotImplemented
        self._require_same(other)
        both = self.like()
        both._state = self.state + other.state
        both._updates = self._updates + other._updates
        return both

    def __radd__(self, other: object) -> Evaluator:
        """So that `sum` can add evaluators up."""
        return self if other == 0 else NotImplemented

    def like(self) -> Evaluator:
        """Another evaluator of the same metrics, without any batch."""
        return Evaluator(
            self.names, self.profile, intervals=self.intervals, per_list=self.per_list,
            slices=self.slices, check=self.check,
        )  # fmt: skip

    def compute(self) -> Evaluation:
        """The evaluation of all batches so far."""
        state = self.state
        if not state.batches:
            raise NothingToEvaluate("no batch has been added.", "an update before compute.")
        shown = state.kept if self.per_list == "kept" else KeptValues()
        values = {name: shown.values(name) for name in shown.names()}
        state = replace(
            average_users(state, self.plan),
            ledger=state.ledger + Ledger(),  # results write into it, and more batches may come
            manifest={**state.manifest, "batches": state.batches},
        )
        return evaluation_of(self.plan, state, Facts(), values, shown.keys())

    def restore(self, state: State) -> None:
        """Go on from a state that was added up before."""
        self.reset()
        self._state, self._updates = state, state.batches

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything added so far as JSON, whole or not at all."""
        from rectitude.evaluation.saved import save  # noqa: PLC0415  (a cycle)

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Evaluator:
        """An evaluator that `save` wrote."""
        from rectitude.evaluation.saved import load  # noqa: PLC0415  (a cycle)

        return load(path)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: sums, once everything is measured."""
        self._settle()
        return self.__dict__.copy()

    def _settle(self) -> None:
        """Measure the judged lists that are kept. Where a metric fails, batches are measured one by
        one, and those on which it does are left out.

        An interruption loses nothing: what is not measured stays, and so does what must be told.
        """
        while self._pending:
            together = _joinable(self._pending)
            states, failed = self._measured_apart(together)
            state, left = reduce(add, states, self._state), self._pending[len(together) :]
            self._state, self._pending = state, left
            self._failed += failed
        self._bytes = 0
        failed, self._failed = self._failed, []
        if failed:
            raise _left_out(failed)

    def _measured_apart(self, pieces: Sequence[_Piece]) -> tuple[list[State], list[_Failed]]:
        """The state of pieces together, or where a metric fails, of each on which none does."""
        state = self._measured(join_batches([one.batch for one in pieces]), pieces)
        if not self._failures(state.failures):
            return [replace(state, failures={})], []
        states: list[State] = []
        failed: list[_Failed] = []
        for piece in pieces:
            state = self._measured(piece.batch, [piece])
            errors = self._failures(state.failures)
            if errors:
                failed.append((piece.number, errors[0]))
            else:
                states.append(replace(state, failures={}))
        return states, failed

    def _measured(self, batch: Batch, pieces: Sequence[_Piece]) -> State:
        """The state of the lists of some pieces, which `batch` holds together."""
        return self._state_of(measure(self._batch_plan, batch), batch, pieces)

    def _state_of(self, found: Measurement, batch: Batch, pieces: Sequence[_Piece]) -> State:
        every = self.plan.measured if self.per_list == "kept" else self.plan.by_user
        names = [name for name in (*self.plan.bounds, *every) if name in found.values]
        return replace(
            reduce(add, [piece.header for piece in pieces]),
            totals=found.totals,
            failures=found.failures,
            kept=KeptValues.of(batch.lists, {name: found.values[name] for name in names}),
            lists=batch.size,
        )

    def _failures(self, failures: Mapping[str, RectitudeError]) -> list[RectitudeError]:
        """Why metrics have no value; a bound that fails is no metric of its own."""
        return [failures[name] for name in self.plan.measured if name in failures]

    def _raise_first(self, failures: Mapping[str, RectitudeError]) -> None:
        for error in self._failures(failures):
            raise error

    def _require_addable(self, piece: _Piece) -> None:
        """Refuse a batch whose classes or ids are of another kind than those before it."""
        manifest, kept = self._state.manifest, self._state.kept
        if self._pending:
            before = self._pending[-1]
            manifest, kept = before.header.manifest, KeptValues((before.batch.lists,))
        merged_manifest(manifest, piece.header.manifest)
        if self.per_list == "kept" or self.plan.by_user:
            kept + KeptValues((piece.batch.lists,))  # an error where they do not go together

    def _require_named(self, predictions: object) -> None:
        """Refuse rows without names where those of one user must be known in every batch."""
        by_user = any(one.convention.unit == "user" for one in self.plan.asked)
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
        for ours, others in zip(self.plan.asked, other.plan.asked, strict=True):
            differ = ours.convention.differences(others.convention)
            if differ or ours.numbers != others.numbers or ours.metric.name != others.metric.name:
                raise BadName(
                    f"{ours.name} is defined differently in the two evaluators: "
                    f"{differ or 'another formula'}.",
                    "the same convention.",
                )


class _Piece:
    """A batch that is judged, without the inputs it came from, and what was counted in it."""

    def __init__(self, plan: Plan, batch: Batch, number: int) -> None:
        prints: dict[str, str] = {}
        aligned = batch.aligned
        if aligned is not None:
            for task in identify(aligned, prints):
                task()
        manifest = {} if aligned is None else manifest_of(aligned, plan.profile, prints)
        self.header = State(ledger=batch.full_ledger(), manifest=manifest, batches=1)
        self.batch = batch.alone()
        self.bytes = self.batch.bytes + _PIECE_BYTES
        self.number = number


_Failed = tuple[int, RectitudeError]
"""The number of a batch, and why it could not be measured."""


def _joinable(pieces: Sequence[_Piece]) -> list[_Piece]:
    """The first pieces, as many as can be measured together."""
    run = [pieces[0]]
    for piece in pieces[1:]:
        if not joinable(run[-1].batch, piece.batch):
            break
        run.append(piece)
    return run


def _left_out(failed: Sequence[_Failed]) -> RectitudeError:
    """The error of the first batch that could not be measured."""
    number, error = failed[0]
    others = f" (and of {len(failed) - 1} more)" if len(failed) > 1 else ""
    which = "it is" if len(failed) == 1 else "they are"
    advice = f"{which} left out, and all other batches are counted."
    return type(error)(
        f"batch {number}{others}: {error.found}",
        error.expected,
        f"{error.advice}\n  {advice}" if error.advice else advice,
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

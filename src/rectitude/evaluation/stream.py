"""`Evaluator`: an evaluation in batches that adds up exactly and can be merged.

Every batch is checked when it arrives, and judged or at least counted. The results are kept, joined
and measured many at a time, so the cost of a batch is little more than counting. The memory for
kept batches is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from os import PathLike
from typing import Any, Literal

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import is_held
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadArgument, NotComparable, NothingToEvaluate, RectitudeError
from rectitude.evaluation.account import identify, manifest_of
from rectitude.evaluation.axes import require_axes
from rectitude.evaluation.batch import Batch, join_batches, joinable, judge_aligned, judge_batch
from rectitude.evaluation.counted import CountedBatch, align_counted, can_defer_judging, count_batch
from rectitude.evaluation.evaluate import columns_kept, evaluation_of, parse_slices
from rectitude.evaluation.grouped import GroupedLists, may_group, measure_grouped
from rectitude.evaluation.inputs import Arguments, RawInputs, gather_arguments, open_inputs
from rectitude.evaluation.measure import Measurement, counts_alike, measure
from rectitude.evaluation.plan import Plan, Slicings, answer_keywords, resolve
from rectitude.evaluation.slices import measure_slices, relevant_in, slice_batch
from rectitude.evaluation.state import KeptValues, State, average_users, require_same_classes
from rectitude.evaluation.targets import (
    CountedTargets,
    cutoffs_of,
    kinds_of,
    measure_targets,
)
from rectitude.metrics.names import Names
from rectitude.metrics.registry import Facts
from rectitude.parallel import run_tasks, thread_count
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Kind, Scores
from rectitude.profiles import Asked, Profile, profile_of

BLOCK_BYTES = 16 << 20
"""how many bytes of batches are kept before they are measured; measuring takes a few times as
much"""
_PIECE_BYTES = 1 << 14
"""what a batch takes besides its arrays: ledger, manifest and objects"""
_LISTS_PER_SHARE = 1 << 14
"""with fewer lists, a thread saves less time than it takes to add its sums"""


class Evaluator:
    """Metrics over predictions that arrive in batches.

    Each `update` takes predictions of any kind and the truth of the same lists. A user of the truth
    without a prediction in the batch counts as a miss, as in `evaluate`. If the truth contains more
    users than the batch, pass the users of the batch as `users=`.

    Memory does not grow with the number of batches: the evaluator keeps exact sums, counts, and a
    limited block of judged lists that are measured together. Only `unit="user"`, where the mean of
    a user needs all of their lists, and `per_list="kept"` keep a value for each list. Batches may
    arrive in any order, in any number of evaluators: added up, they give exactly the result of
    `evaluate`.

    If a batch is invalid, its `update` raises an error and the batch is left out. A metric that
    fails on judged lists is noticed when these are measured, by a later `update` or by `compute`:
    the error names the batch, which is left out, and the others stay. `check="now"` measures every
    batch at once.
    """

    @answer_keywords
    def __init__(
        self,
        metrics: Names,
        convention: object = None,
        *,
        cutoffs: object = None,
        intervals: bool = False,
        per_list: Literal["kept", "dropped"] = "dropped",
        slices: object = None,
        check: Literal["later", "now"] = "later",
    ) -> None:
        if per_list not in ("kept", "dropped"):
            raise BadArgument(f"per_list is {per_list!r}.", "'kept' or 'dropped'.")
        if check not in ("later", "now"):
            raise BadArgument(f"check is {check!r}.", "'later' or 'now'.")
        profile = profile_of(convention)
        self.per_list = per_list
        self.check = check
        asked = resolve(metrics, profile, cutoffs=cutoffs)
        self.names = [str(request.name) for request in asked]
        self.plan = Plan.of(asked, profile, intervals, parse_slices(slices))
        _require_groups_of_lists(self.plan.measured)
        self._batch_plan = self.plan.in_batches()
        waits = per_list == "dropped" and check == "later"
        kinds: tuple[Kind, ...] = ("scores", "logits")
        self._judged_later = {k for k in kinds if waits and can_defer_judging(self._batch_plan, k)}
        self.reset()

    def __repr__(self) -> str:
        convention = self.profile.label
        return f"Evaluator({self.names!r}, {convention!r}) with {self.batches:,} batches"

    @property
    def profile(self) -> Profile:
        """The profile whose convention is used."""
        return self.plan.profile

    @property
    def intervals(self) -> bool:
        """Whether every number has a confidence interval."""
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
        """Everything added up so far; batches that are still pending are measured first."""
        self._settle()
        return self._state

    def reset(self) -> None:
        """Forget all batches."""
        self._state = State()
        self._pending: list[_Piece | CountedBatch] = []
        self._failed: list[_Failed] = []
        self._bytes = 0
        self._updates = 0

    def update(
        self,
        predictions: object,
        truth: object,
        *,
        train: object = None,
        seen: object = None,
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
        an error and changes nothing."""
        options: Arguments = {
            "train": train, "seen": seen, "items": items, "users": users,
            "candidates": candidates,
            "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
        }  # fmt: skip
        given = gather_arguments(predictions, truth, options, self.profile.padding)
        self.take(replace(given, progress=progress, keep=columns_kept(self.plan)))

    def take(self, given: RawInputs) -> None:
        """Add a batch: count it now and judge it later if that cannot raise an error, otherwise
        judge it now."""
        later = self.judges_later("scores")
        counted = count_batch(self._batch_plan, given) if later else None
        if counted is None:
            self.add(self.open(given))
        else:
            self.add_counted(counted)

    def judges_later(self, kind: Kind) -> bool:
        """Return whether scores or logits can be counted now and judged later, with others."""
        return kind in self._judged_later

    def add_counted(self, counted: CountedBatch) -> None:
        """Keep a batch that is counted, to be judged and measured with others."""
        self._updates += 1
        self._keep(replace(counted, number=self._updates))

    def may_group(self) -> bool:
        """Return whether lists that stand alike can be grouped where they are counted."""
        return self.judges_later("scores") and may_group(self._batch_plan)

    def add_grouped(self, grouped: GroupedLists | CountedTargets) -> bool:
        """Add the lists of several batches that were grouped where they were counted. Add nothing
        and return False if a metric fails, because its error counts all lists."""
        plan = self._batch_plan
        try:
            if isinstance(grouped, CountedTargets):
                state = measure_targets(plan, grouped)
            else:
                state = measure_grouped(plan, grouped)
        except RectitudeError:
            return False
        self._updates += state.batches
        self._state = self._state + state
        return True

    def hit_cutoffs(self) -> tuple[int, ...] | None:
        """Return the last ranks that count as hits in metrics of classes; None if logits cannot be
        added up where they are counted."""
        kinds = kinds_of(self._batch_plan) if self.judges_later("logits") else None
        return None if kinds is None else cutoffs_of(self._batch_plan, kinds)

    def open(self, given: RawInputs) -> Inputs:
        """Open the inputs of a batch, ready to be judged."""
        self._require_named(given.inputs["predictions"])
        return open_inputs(given, self._batch_plan.reach, self.plan.convention)

    def add(self, inputs: Inputs) -> None:
        """Judge a batch that is open, and keep it to be measured with others."""
        require_axes(self.slices, inputs)
        self._updates += 1
        if inputs.left == "all":
            inputs = replace(inputs, left="batch")
        batch = judge_batch(self._batch_plan, inputs)
        self._raise_first(batch.failures)
        if self.check == "now" or self._batch_plan.batches_one_by_one or not batch.of_ranks:
            self._add_now(batch, inputs)
            return
        piece = _Piece(self._batch_plan, batch, self._updates)
        if self.per_list == "kept" or self.plan.by_user:
            self._require_same_ids(piece)
        self._keep(piece)

    def _keep(self, piece: _Piece | CountedBatch) -> None:
        """Keep a batch, to be measured with similar ones. Raise an error if it cannot be added."""
        before = self._pending[-1].manifest if self._pending else self._state.manifest
        require_same_classes(before, piece.manifest)
        fits = not self._pending or self._pending[-1].goes_with(piece)
        self._pending.append(piece)
        self._bytes += piece.bytes
        if not fits or self._bytes > BLOCK_BYTES:
            self._settle()

    def _add_now(self, batch: Batch, inputs: Inputs) -> None:
        plan = self._batch_plan
        measurement = measure(plan, batch)
        self._raise_first(measurement.failures)
        state = self._state_of(measurement, batch, [_Piece(plan, batch, self._updates)])
        if plan.slicings:
            sliced = slice_batch(plan, batch, inputs)
            slices = measure_slices(plan, sliced, measurement.failures, self.plan.by_user)
            state = replace(state, slices=slices, relevant=relevant_in(plan, batch))
        earlier_error: RectitudeError | None = None
        try:
            self._settle()  # first, to keep the order of lists
        except RectitudeError as error:  # about an earlier batch: this one counts anyway
            earlier_error = error
        self._state = self._state + replace(state, failures={})  # only bounds may have failed
        if earlier_error is not None:
            raise earlier_error

    def __add__(self, other: Evaluator) -> Evaluator:
        """Return an evaluator with the batches of both."""
        if not isinstance(other, Evaluator):
            return NotImplemented
        self._require_same(other)
        merged = self.like()
        merged._state = self.state + other.state
        merged._updates = self._updates + other._updates
        return merged

    def __radd__(self, other: object) -> Evaluator:
        """Support `sum` over evaluators."""
        return self if other == 0 else NotImplemented

    def like(self) -> Evaluator:
        """Return another evaluator with the same settings, without any batch."""
        return Evaluator(
            self.names, self.profile, intervals=self.intervals, per_list=self.per_list,
            slices=self.slices, check=self.check,
        )  # fmt: skip

    def compute(self) -> Evaluation:
        """Return the evaluation of all batches so far."""
        state = self.state
        if not state.batches:
            raise NothingToEvaluate(
                "no batch has been added.", "at least one update() before compute()."
            )
        if not state.ledger.entries["truth_rows"].count:
            raise NothingToEvaluate(
                f"the truth of {state.batches:,} batches has no rows for the lists to evaluate.",
                "at least one row with a user and an item.",
            )
        kept = state.kept if self.per_list == "kept" else KeptValues()
        values = {name: kept.values(name) for name in kept.names()}
        state = replace(
            average_users(state, self.plan),
            ledger=state.ledger + Ledger(),  # a copy: results write into it
            manifest={**state.manifest, "batches": state.batches},
        )
        return evaluation_of(self.plan, state, Facts(), values, kept.keys())

    def restore(self, state: State) -> None:
        """Continue from a state that was added up before."""
        self.reset()
        self._state, self._updates = state, state.batches

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything added so far as JSON; the file is written completely or not at all."""
        from rectitude.evaluation.saved import save  # noqa: PLC0415  (a cycle)

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Evaluator:
        """Read an evaluator that `save` wrote."""
        from rectitude.evaluation.saved import load  # noqa: PLC0415  (a cycle)

        return load(path)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is copied and pickled: the sums, after all batches are measured."""
        self._settle()
        return self.__dict__.copy()

    def _settle(self) -> None:
        """Measure the pending batches. If a metric fails, measure them one by one and leave out
        those on which it fails.

        An interruption loses nothing: batches that are not measured yet stay pending, and errors
        that are not raised yet are kept.
        """
        while self._pending:
            pieces = _take_joinable(self._pending)
            states, failed = self._measure_apart(pieces)
            state, remaining = reduce(add, states, self._state), self._pending[len(pieces) :]
            self._state, self._pending = state, remaining
            self._failed += failed
        self._bytes = 0
        failed, self._failed = self._failed, []
        if failed:
            raise _error_of_failed(failed)

    def _measure_apart(self, pieces: Sequence[_Pending]) -> tuple[list[State], list[_Failed]]:
        """Return the state of several pieces together; if a metric fails, the state of each piece
        without a failure."""
        state = self._measure_shares(_share_out(pieces))
        if not self._failures(state.failures):
            return [replace(state, failures={})], []
        states: list[State] = []
        failed: list[_Failed] = []
        for piece in pieces:
            state = self._measure([piece])
            errors = self._failures(state.failures)
            if errors:
                failed.append((piece.number, errors[0]))
            else:
                states.append(replace(state, failures={}))
        return states, failed

    def _measure_shares(self, shares: Sequence[Sequence[_Pending]]) -> State:
        """Return the state of all pieces; every share is judged and measured by one thread."""
        states: dict[int, State] = {}

        def work(number: int) -> None:
            states[number] = self._measure(shares[number])

        run_tasks([partial(work, number) for number in range(len(shares))])
        return reduce(add, [states[number] for number in range(len(shares))])

    def _measure(self, pieces: Sequence[_Pending]) -> State:
        """Return the state of the lists of several similar pieces."""
        plan = self._batch_plan
        judged = [piece for piece in pieces if isinstance(piece, _Piece)]
        counted = [piece for piece in pieces if isinstance(piece, CountedBatch)]
        if counted:
            batch = judge_aligned(plan, align_counted(counted, plan))
            judged.append(_Piece(plan, batch, counted[0].number, len(counted)))
        batch = join_batches([piece.batch for piece in judged])
        return self._state_of(self._measure_different(batch), batch, judged)

    def _measure_different(self, batch: Batch) -> Measurement:
        """Measure a batch; lists that stand alike are measured once if nothing tells them apart."""
        plan, depth = self._batch_plan, self._batch_plan.reach.depth
        if depth is not None and self.per_list == "dropped" and counts_alike(plan, batch):
            different = batch.different(depth)
            if different is not None:
                measurement = measure(plan, different)
                if not measurement.failures:  # errors count lists, so they come from all of them
                    return measurement
        return measure(plan, batch)

    def _state_of(self, measurement: Measurement, batch: Batch, pieces: Sequence[_Piece]) -> State:
        with_values = self.plan.measured if self.per_list == "kept" else self.plan.by_user
        names = [name for name in (*self.plan.bounds, *with_values) if name in measurement.values]
        return replace(
            reduce(add, [piece.header for piece in pieces]),
            totals=measurement.totals,
            failures=measurement.failures,
            kept=KeptValues.of(batch.lists, {name: measurement.values[name] for name in names}),
            lists=batch.size,
        )

    def _failures(self, failures: Mapping[str, RectitudeError]) -> list[RectitudeError]:
        """Return the errors of metrics without a value; a bound that fails is not a metric."""
        return [failures[name] for name in self.plan.measured if name in failures]

    def _raise_first(self, failures: Mapping[str, RectitudeError]) -> None:
        for error in self._failures(failures):
            raise error

    def _require_same_ids(self, piece: _Piece) -> None:
        """Raise an error if the ids of a batch have a different type from those before it."""
        before = [pending for pending in self._pending if isinstance(pending, _Piece)]
        kept = KeptValues((before[-1].batch.lists,)) if before else self._state.kept
        kept + KeptValues((piece.batch.lists,))  # raises an error if they do not match

    def _require_named(self, predictions: object) -> None:
        """Raise an error for rows without users if the lists of a user must be matched across
        batches."""
        by_user = any(asked.convention.unit == "user" for asked in self.plan.asked)
        if by_user and _has_no_ids(predictions):
            raise BadArgument(
                "unit='user' averages all lists of a user, but these rows have no user ids, and "
                "row numbers start again in every batch.",
                "users= with the same ids in every batch.",
                "if every row is a different user, set unit='list'.",
            )

    def _require_same(self, other: Evaluator) -> None:
        if self.names != other.names:
            raise NotComparable(
                f"evaluators for {self.names} and {other.names} cannot be added.",
                "the same metrics in the same order.",
            )
        for setting in ("intervals", "per_list", "slices"):
            left, right = getattr(self, setting), getattr(other, setting)
            if left != right:
                raise NotComparable(
                    f"evaluators with {setting}={left!r} and {setting}={right!r} cannot be added.",
                    f"the same {setting}= in both.",
                )
        for asked, other_asked in zip(self.plan.asked, other.plan.asked, strict=True):
            differences = asked.convention.differences(other_asked.convention)
            if (
                differences
                or asked.numbers != other_asked.numbers
                or asked.metric.name != other_asked.metric.name
            ):
                raise NotComparable(
                    f"{asked.name} is defined differently in the two evaluators: "
                    f"{differences or 'its formula differs'}.",
                    "the same convention in both.",
                )


class _Piece:
    """A batch that is judged, without its inputs, and with its ledger."""

    def __init__(self, plan: Plan, batch: Batch, number: int, batches: int = 1) -> None:
        fingerprints: dict[str, str] = {}
        aligned = batch.aligned
        if aligned is not None:
            for task in identify(aligned, fingerprints):
                task()
        self.manifest = {} if aligned is None else manifest_of(aligned, plan.profile, fingerprints)
        ledger = batch.full_ledger()
        self.header = State(ledger=ledger, manifest=self.manifest, batches=batches)
        self.batch = batch.alone()
        self.bytes = self.batch.bytes + _PIECE_BYTES
        self.number = number

    def goes_with(self, other: object) -> bool:
        """Return whether both can be measured as one batch."""
        return isinstance(other, _Piece) and joinable(self.batch, other.batch)


_Pending = _Piece | CountedBatch
_Failed = tuple[int, RectitudeError]
"""The number of a batch, and why it could not be measured."""


def _take_joinable(pieces: Sequence[_Pending]) -> list[_Pending]:
    """Return the first pieces, as many as can be measured together."""
    run = [pieces[0]]
    for piece in pieces[1:]:
        if not run[-1].goes_with(piece):
            break
        run.append(piece)
    return run


def _share_out(pieces: Sequence[_Pending]) -> list[Sequence[_Pending]]:
    """Divide counted batches among the threads, in order; leave other pieces together.

    Judging counted batches, unlike measuring them, is the work of one thread.
    """
    counted = [piece for piece in pieces if isinstance(piece, CountedBatch)]
    lists = sum(piece.shape[0] for piece in counted)
    shares = min(thread_count(), len(pieces), lists // _LISTS_PER_SHARE)
    if len(counted) < len(pieces) or shares < 2:
        return [pieces]
    ends = [len(pieces) * number // shares for number in range(shares + 1)]
    return [pieces[first:last] for first, last in pairwise(ends)]


def _error_of_failed(failed: Sequence[_Failed]) -> RectitudeError:
    """Return the error of the first batch that could not be measured."""
    number, error = failed[0]
    others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    subject = "it is" if len(failed) == 1 else "they are"
    advice = f"{subject} left out; all other batches count."
    return type(error)(
        f"batch {number}{others}: {error.found}",
        error.expected,
        f"{error.advice}\n  {advice}" if error.advice else advice,
    )


def _require_groups_of_lists(wanted: Mapping[str, Asked]) -> None:
    """Raise an error for groups whose users would have to be matched across batches."""
    for name, asked in wanted.items():
        if asked.by and asked.convention.unit == "user":
            raise BadArgument(
                f"{name.partition('/')[0]!r} compares groups of users, and with unit='user' the "
                "lists of a user may be in several batches.",
                "unit='list' for batches, or evaluate() for all lists at once.",
            )


def _has_no_ids(predictions: object) -> bool:
    """Return whether rows are identified only by their numbers. A file may contain ids together
    with the scores, and a frame has labels."""
    if isinstance(predictions, list):  # of lists, whose users are positions
        return bool(predictions) and not isinstance(predictions[0], (Mapping, tuple))
    if isinstance(predictions, Scores) and (
        isinstance(predictions.source, (str, PathLike)) or is_held(predictions.source)
    ):
        return False
    if isinstance(predictions, (Scores, Embeddings)):
        return predictions.users is None and predictions.lists is None
    return isinstance(predictions, Logits)

"""`Batch`: lists that came together, judged in every way that the metrics of a plan ask for.

`evaluate` judges one batch; `Evaluator` judges many, and joins them before it measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Keys
from rectitude.arrays import Integers
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadName, MissingNeed, RectitudeError, TiedItems
from rectitude.evaluation.account import account, account_for_attributes
from rectitude.evaluation.plan import Plan, own_judging, places_shown
from rectitude.judge.align import Aligned, align_inputs, label_of
from rectitude.judge.judge import Judging, Verdict, join_verdicts, judge
from rectitude.judge.judged import Judged
from rectitude.metrics.predicted import tell_unpredicted
from rectitude.metrics.registry import Facts, require_in
from rectitude.parallel import Once
from rectitude.profiles import Asked


@dataclass(eq=False)
class Batch:
    """Judged lists, and what travels beside them: their keys, facts about items and users, what was
    counted on the way, and which metrics cannot be measured on them, and why."""

    lists: Keys
    facts: Facts
    aligned: Aligned | None
    """the inputs in common codes, to judge in other ways; None for batches that were joined"""
    verdicts: dict[Judging, Verdict] = field(default_factory=dict)
    failures: dict[str, RectitudeError] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    """what judging counted; see `full_ledger`"""
    bounds: bool = True
    """whether the worst and the best that ties allow are wanted, too"""
    views: Once = field(default_factory=Once, repr=False)
    """the lists under thresholds and list ends, which metrics share"""

    @staticmethod
    def of(aligned: Aligned, bounds: bool = True) -> Batch:
        """A batch of which nothing is judged yet."""
        tables = (aligned.sources.items, aligned.sources.users, aligned.sources.train)
        facts = Facts(*(None if table is None else table.frame for table in tables))
        return Batch(keys_of(aligned), facts, aligned, bounds=bounds)

    @property
    def size(self) -> int:
        """How many lists there are."""
        return len(self.lists.keys)

    def label(self, number: int) -> str:
        """A list as errors and ledger name it."""
        return label_of(self.lists.keys, number)

    def afresh(self) -> Batch:
        """The same lists, with nothing judged."""
        return replace(self, verdicts={}, views=Once())

    def full_ledger(self) -> Ledger:
        """What judging counted, who has no value of the attributes that metrics looked at, and what
        opening counted: once, after measuring."""
        account_for_attributes(self.verdicts.values(), self.ledger)
        return self.ledger if self.aligned is None else self.ledger + self.aligned.sources.ledger

    def alone(self) -> Batch:
        """The judged lists without the inputs that they came from."""
        return replace(self, aligned=None, facts=Facts(), ledger=Ledger(), views=Once())

    @property
    def of_ranks(self) -> bool:
        """Whether the lists hold nothing but ranks: the numbers of items and users mean something
        only beside the tables of their batch."""
        every = [verdict.judged.extras for verdict in self.verdicts.values()]
        return all(known.stock is None and known.people is None for known in every)

    @property
    def bytes(self) -> int:
        """How much memory the judged lists take."""
        keys = int(self.lists.keys.estimated_size() + self.lists.users.estimated_size())
        return keys + sum(verdict.bytes for verdict in self.verdicts.values())

    def only(self, lists: Integers) -> Batch:
        """Some of the lists, judged as they are; nothing is judged again."""
        keys = self.lists
        users, owners = np.unique(keys.owners[lists], return_inverse=True)
        weights = None if keys.weights is None else keys.weights[lists]
        some = Keys(
            keys.keys.gather(lists), owners, keys.users.gather(users), keys.by_user, weights
        )
        verdicts = {
            way: Verdict(one.judged.only(lists), None) for way, one in self.verdicts.items()
        }
        return Batch(some, self.facts, None, verdicts, dict(self.failures), bounds=False)

    def block(self, first: int, last: int) -> Batch:
        """Lists that follow one another; nothing is copied that is large."""
        keys, which = self.lists, slice(first, last)
        weights = None if keys.weights is None else keys.weights[which]
        some = Keys(keys.keys[which], keys.owners[which], keys.users, keys.by_user, weights)
        return Batch(some, self.facts, None, bounds=False)


def keys_of(aligned: Aligned) -> Keys:
    """The lists, their users and weights."""
    return Keys(aligned.keys, aligned.owners, aligned.users, aligned.by_user, aligned.weights)


def judge_batch(plan: Plan, inputs: Inputs) -> Batch:
    """Judge lists in every way that the plan asks for.

    An error that concerns all metrics is raised; one that concerns some is kept as their failure.
    """
    batch = _judge_for_all(plan, Batch.of(align_inputs(inputs, plan.exact_items)))
    aligned = _aligned(batch)
    first = judged_for_all(plan, batch)
    account(aligned, first, max(plan.cutoffs, default=None), batch.ledger)
    offered = inputs.offered is not None
    if inputs.dense is not None or offered:
        batch.failures |= plan.unsettled(offered)
    for way, asked_so in plan.ways.items():
        demanding = plan.demanding if way in batch.verdicts else asked_so
        for name, asked in asked_so.items():
            if name in demanding:
                _judge_for(plan, batch, name, asked)
    return batch


def _judge_for_all(plan: Plan, batch: Batch) -> Batch:
    """Judge once for all metrics; where what some of them need cannot be had, without it, so that
    the others are measured."""
    way, plain = plan.judging, Judging.of(plan.convention)
    aligned = _aligned(batch)
    try:
        aligned, verdict = judge(aligned, way, batch.ledger)
    except RectitudeError:
        batch.ledger = Ledger()
        aligned, verdict = judge(aligned, plain, batch.ledger)
    batch.aligned = aligned
    batch.verdicts[plain] = verdict
    if verdict.judged.extras.stock is not None:
        batch.verdicts[way] = verdict
    return batch


def _aligned(batch: Batch) -> Aligned:
    if batch.aligned is None:
        raise MissingNeed("these lists were judged and joined.", "lists that can be judged again.")
    return batch.aligned


def judged_for_all(plan: Plan, batch: Batch) -> Judged:
    """The lists as the profile judges them."""
    return batch.verdicts[Judging.of(plan.convention)].judged


def judged_for(plan: Plan, batch: Batch, asked: Asked) -> Verdict:
    """The lists judged as a metric wants them, once for all metrics that want the same."""
    try:
        return _judged_by(plan.judging_for(asked), batch)
    except RectitudeError:  # perhaps of what others need
        return _judged_by(own_judging(asked), batch)


def _judge_for(plan: Plan, batch: Batch, name: str, asked: Asked) -> None:
    """Judge for a metric, count the pairs of which it has no predicted score, and keep as its
    failure why it cannot be measured."""
    with suppress(RectitudeError):  # said below, after what else is wrong
        judged = judged_for(plan, batch, asked).judged
        if "predicted" in asked.metric.requires:
            tell_unpredicted(batch.ledger, judged.list, judged.truth.lengths, batch.label)
    try:
        require_measurable(plan, batch, asked)
    except RectitudeError as error:
        batch.failures.setdefault(name, error)


def _judged_by(way: Judging, batch: Batch) -> Verdict:
    if way not in batch.verdicts:
        _, batch.verdicts[way] = judge(_aligned(batch), way, Ledger())
    return batch.verdicts[way]


def view_of(plan: Plan, batch: Batch, asked: Asked, lists: Judged) -> Judged:
    """The lists under the metric's threshold, ended where the convention ends them."""
    convention = asked.convention
    ends = {"none": None, "cutoff": asked.cutoff, "last_cutoff": plan.last_cutoff}
    end, places = ends[convention.list_end], places_shown(asked)
    key = (id(lists), convention.relevant_from, end)

    def seen() -> Judged:
        view = lists.at_threshold(convention.relevant_from)
        return view if end is None else view.ended(end)

    view = batch.views(key, seen)
    if places is None:
        return view
    others = plan.shown_upto.get(asked.metric.name, ())
    return batch.views((*key, places, others), lambda: view.showing(places, others))


def require_measurable(plan: Plan, batch: Batch, asked: Asked) -> None:
    """An error if a metric cannot be measured on lists that were judged: something that it needs is
    not there, or ties have no mean."""
    batch.facts.require(asked.metric)
    verdict = judged_for(plan, batch, asked)
    if asked.metric.kind == "counts" and batch.lists.weights is not None:
        raise BadName(
            f"{str(asked.name)!r} counts whole lists, and weights= was given.",
            "no weights, or a metric that is a mean over lists.",
        )
    lists = view_of(plan, batch, asked, verdict.judged)
    require_closed_form(asked, lists)
    require_in(lists, asked.metric)


def require_closed_form(asked: Asked, lists: Judged) -> None:
    """An error if ties are to be averaged, there are some, and the metric has no mean over them."""
    if asked.convention.ties != "average" or asked.metric.can_average:
        return
    tied = lists.last is not None and (lists.last > lists.rank).any()
    if tied:
        raise TiedItems(
            f"{str(asked.name)!r} has no closed form under ties='average', and there are ties.",
            "distinct scores, or a metric such as ndcg, recall or auc.",
            "set ties='pessimistic' or another rule.",
        )


def join_batches(batches: Sequence[Batch]) -> Batch:
    """The lists of several batches one behind the other, judged as they are.

    They must have been judged in the same ways, of the same items, users and train; a user who
    comes in several of them stands there as often.
    """
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    users = np.cumsum([0, *(len(one.lists.users) for one in batches)])
    keys = Keys(
        pl.concat([one.lists.keys for one in batches]),
        np.concatenate([b.lists.owners + n for b, n in zip(batches, users, strict=False)]),
        pl.concat([one.lists.users for one in batches]),
        first.lists.by_user,
        None if first.lists.weights is None else np.concatenate([_weights(b) for b in batches]),
    )
    verdicts = {way: join_verdicts([b.verdicts[way] for b in batches]) for way in first.verdicts}
    return Batch(keys, first.facts, None, verdicts, dict(first.failures))


def _weights(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.ones(batch.size) if batch.lists.weights is None else batch.lists.weights


def joinable(one: Batch, other: Batch) -> bool:
    """Whether two batches can be measured as one."""
    mine, theirs = one.lists, other.lists
    return (
        (mine.keys.dtype, mine.users.dtype) == (theirs.keys.dtype, theirs.users.dtype)
        and pl.Object not in (mine.keys.dtype, mine.users.dtype)
        and mine.by_user == theirs.by_user
        and (mine.weights is None) == (theirs.weights is None)
        and one.failures.keys() == other.failures.keys()
        and one.verdicts.keys() == other.verdicts.keys()
        and all(
            verdict.judged.kind == other.verdicts[way].judged.kind
            for way, verdict in one.verdicts.items()
        )
    )

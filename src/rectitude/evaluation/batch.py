"""`Batch`: lists that arrived together, judged in every way that the metrics of a plan need.

`evaluate` judges one batch; `Evaluator` judges many and joins them before it measures them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Keys
from rectitude.aggregate.sums import counts_in_mean
from rectitude.arrays import Flags, Integers
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadArgument, MissingNeed, RectitudeError, TiedItems
from rectitude.evaluation.account import account, account_for_attributes
from rectitude.evaluation.plan import Plan, own_judging, ranks_shown
from rectitude.judge.align import Aligned, align_inputs, label_of
from rectitude.judge.alike import find_alike
from rectitude.judge.judge import Judging, Verdict, join_verdicts, judge
from rectitude.judge.judged import TIED_BY_GRADE, TIED_BY_ID, Judged
from rectitude.metrics.predicted import count_unpredicted
from rectitude.metrics.registry import Facts, require_in
from rectitude.parallel import Once
from rectitude.profiles import Asked


@dataclass(eq=False)
class Batch:
    """Judged lists with their keys, facts about items and users, the ledger, and the metrics that
    cannot be measured on them, with the reason."""

    lists: Keys
    facts: Facts
    aligned: Aligned | None
    """the inputs in common codes, to judge them in other ways; None for batches that were joined"""
    verdicts: dict[Judging, Verdict] = field(default_factory=dict)
    failures: dict[str, RectitudeError] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    """what judging counted; see `full_ledger`"""
    bounds: bool = True
    """whether to compute the lowest and highest value that ties allow"""
    times: Integers | None = None
    """(lists,) how often each list occurs, if each different list is kept only once"""
    views: Once = field(default_factory=Once, repr=False)
    """the lists at each relevance threshold and list end, shared by metrics"""

    @staticmethod
    def of(aligned: Aligned, bounds: bool = True) -> Batch:
        """Return a batch in which nothing is judged yet."""
        tables = (aligned.sources.items, aligned.sources.users, aligned.sources.train)
        items, users, train = (None if table is None else table.frame for table in tables)
        facts = Facts(items, users, train, aligned.sources.width)
        return Batch(keys_of(aligned), facts, aligned, bounds=bounds)

    @property
    def size(self) -> int:
        """How many lists there are."""
        return len(self.lists.keys)

    def label(self, number: int) -> str:
        """Return the name of a list for errors and the ledger."""
        return label_of(self.lists.keys, number)

    def afresh(self) -> Batch:
        """Return the same lists with nothing judged."""
        return replace(self, verdicts={}, views=Once())

    def full_ledger(self) -> Ledger:
        """Return what judging and opening counted, and who lacks the attributes that metrics need.
        Call it once, after measuring."""
        account_for_attributes(self.verdicts.values(), self.ledger)
        return self.ledger if self.aligned is None else self.ledger + self.aligned.sources.ledger

    def alone(self) -> Batch:
        """Return the judged lists without their inputs."""
        return replace(self, aligned=None, facts=Facts(), ledger=Ledger(), views=Once())

    @property
    def of_ranks(self) -> bool:
        """Whether the lists contain only ranks. Item and user numbers are meaningful only with the
        tables of their own batch."""
        extras = [verdict.judged.extras for verdict in self.verdicts.values()]
        return all(extra.stock is None and extra.people is None for extra in extras)

    @property
    def bytes(self) -> int:
        """How much memory the judged lists take."""
        keys = int(self.lists.keys.estimated_size() + self.lists.users.estimated_size())
        return keys + sum(verdict.bytes for verdict in self.verdicts.values())

    def only(self, lists: Integers) -> Batch:
        """Return some of the lists as they were judged; nothing is judged again."""
        keys = self.lists
        users, owners = np.unique(keys.owners[lists], return_inverse=True)
        weights = None if keys.weights is None else keys.weights[lists]
        chosen = Keys(
            keys.keys.gather(lists), owners, keys.users.gather(users), keys.by_user, weights
        )
        verdicts = {
            way: Verdict(verdict.judged.only(lists), None) for way, verdict in self.verdicts.items()
        }
        return Batch(chosen, self.facts, None, verdicts, dict(self.failures), bounds=False)

    def different(self, depth: int) -> Batch | None:
        """Return each different list once, with how often it occurs; None if that costs more.

        Lists with ties are kept as they are. The metrics must look only at ranks and grades, and no
        deeper than the rank `depth`.
        """
        ((way, verdict),) = self.verdicts.items()
        ties = verdict.ties
        tied = np.empty(0, np.int64) if ties is None else ties.lists
        alike = find_alike(verdict.judged, depth, tied)
        if alike is None:
            return None
        chosen = self.only(alike.lists)
        if ties is not None:
            ties = ties._replace(lists=np.searchsorted(alike.lists, ties.lists))
        verdicts = {way: Verdict(chosen.verdicts[way].judged, ties)}
        return replace(chosen, verdicts=verdicts, bounds=self.bounds, times=alike.times)

    def block(self, first: int, last: int) -> Batch:
        """Return consecutive lists; no large array is copied."""
        keys, which = self.lists, slice(first, last)
        weights = None if keys.weights is None else keys.weights[which]
        chosen = Keys(keys.keys[which], keys.owners[which], keys.users, keys.by_user, weights)
        times = None if self.times is None else self.times[which]
        return Batch(chosen, self.facts, None, bounds=False, times=times)


def keys_of(aligned: Aligned) -> Keys:
    """Return the keys of the lists, with their users and weights."""
    return Keys(aligned.keys, aligned.owners, aligned.users, aligned.by_user, aligned.weights)


def judge_batch(plan: Plan, inputs: Inputs) -> Batch:
    """Judge lists in every way that the plan needs.

    An error that affects all metrics is raised. An error that affects some is kept as their
    failure.
    """
    return judge_aligned(plan, align_inputs(inputs, plan.exact_items))


def judge_aligned(plan: Plan, aligned: Aligned) -> Batch:
    """Judge inputs that are already in common codes, like `judge_batch`."""
    batch = _judge_for_all(plan, Batch.of(aligned))
    aligned = _require_aligned(batch)
    inputs = aligned.sources
    first = lists_for_all(plan, batch)
    account(aligned, first, max(plan.cutoffs, default=None), batch.ledger)
    has_candidates = inputs.offered is not None
    if inputs.dense is not None or has_candidates:
        batch.failures |= plan.find_conflicts(has_candidates)
    for way, metrics in plan.ways.items():
        beyond_ranks = plan.metrics_beyond_ranks if way in batch.verdicts else metrics
        for name, asked in metrics.items():
            if name in beyond_ranks:
                _try_judge_for(plan, batch, name, asked)
    _account_for_shown(plan, batch)
    return batch


def _judge_for_all(plan: Plan, batch: Batch) -> Batch:
    """Judge once for all metrics. If something that some of them need is missing, judge without it,
    so the other metrics can be measured."""
    way, plain = plan.judging, Judging.of(plan.convention)
    aligned = _require_aligned(batch)
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


def _require_aligned(batch: Batch) -> Aligned:
    if batch.aligned is None:
        raise MissingNeed("these lists were joined from several batches.", "lists of one batch.")
    return batch.aligned


def lists_for_all(plan: Plan, batch: Batch) -> Judged:
    """Return the lists as judged under the convention of the profile."""
    return batch.verdicts[Judging.of(plan.convention)].judged


def judge_for(plan: Plan, batch: Batch, asked: Asked) -> Verdict:
    """Return the lists as judged for a metric, once for all metrics with the same needs."""
    try:
        return _judge_by(plan.judging_for(asked), batch)
    except RectitudeError:  # maybe about the needs of other metrics
        return _judge_by(own_judging(asked), batch)


def _try_judge_for(plan: Plan, batch: Batch, name: str, asked: Asked) -> None:
    """Judge for a metric, count the pairs without a predicted score if it needs scores, and record
    why it cannot be measured, if so."""
    with suppress(RectitudeError):  # reported below, after other errors
        judged = judge_for(plan, batch, asked).judged
        if "predicted" in asked.metric.requires:
            count_unpredicted(batch.ledger, judged.list, judged.truth.lengths, batch.label)
    try:
        require_measurable(plan, batch, asked)
    except RectitudeError as error:
        batch.failures.setdefault(name, error)


def _judge_by(way: Judging, batch: Batch) -> Verdict:
    if way not in batch.verdicts:
        _, batch.verdicts[way] = judge(_require_aligned(batch), way, Ledger())
    return batch.verdicts[way]


def view_of(plan: Plan, batch: Batch, asked: Asked, lists: Judged) -> Judged:
    """Return the lists at the metric's relevance threshold, ended where the convention ends
    them."""
    convention = asked.convention
    ends = {"none": None, "cutoff": asked.cutoff, "last_cutoff": plan.last_cutoff}
    end, ranks = ends[convention.list_end], ranks_shown(asked)
    key = (id(lists), convention.relevant_from, end)

    def make_view() -> Judged:
        view = lists.at_threshold(convention.relevant_from)
        return view if end is None else view.end_at(end)

    view = batch.views(key, make_view)
    if ranks is None:
        return view
    cutoffs = plan.shown_upto.get(asked.metric.name, ())
    return batch.views((*key, ranks, cutoffs), lambda: view.showing(ranks, cutoffs))


def require_measurable(plan: Plan, batch: Batch, asked: Asked) -> None:
    """Raise an error if a metric cannot be measured on judged lists: an input that it needs is
    missing, or it cannot average over ties."""
    _require_users(batch, asked)
    batch.facts.require(asked.metric)
    verdict = judge_for(plan, batch, asked)
    if asked.metric.kind == "counts" and batch.lists.weights is not None:
        raise BadArgument(
            f"{str(asked.name)!r} counts lists and cannot use weights=.",
            "no weights, or a metric that is a mean over lists.",
        )
    lists = view_of(plan, batch, asked, verdict.judged)
    require_closed_form(asked, lists)
    _require_decided(asked, lists, batch.label)
    require_in(lists, asked.metric)


def _require_users(batch: Batch, asked: Asked) -> None:
    """Raise an error if a metric needs the training data of users, and the predictions are
    logits."""
    dense = None if batch.aligned is None else batch.aligned.sources.dense
    if dense is not None and dense.kind == "logits" and "train" in asked.metric.needs:
        raise MissingNeed(
            f"{str(asked.name)!r} needs the training data of users, and rows of logits have no "
            "users.",
            "rt.Scores with train=.",
        )


def require_closed_form(asked: Asked, lists: Judged) -> None:
    """Raise an error if ties must be averaged, their order can change the value, and the metric has
    no closed form for their mean."""
    if asked.convention.ties != "average" or asked.metric.can_average:
        return
    if "shown" in asked.metric.requires:
        tied = bool(open_ties(asked, lists).any())
    else:
        tied = _has_average_ranks(asked, lists)
    if tied:
        raise TiedItems(
            f"there are ties, and {str(asked.name)!r} has no closed form for ties='average'.",
            "distinct scores, or a metric such as ndcg, recall or auc.",
            "set ties='pessimistic' or another rule.",
        )


def _has_average_ranks(asked: Asked, lists: Judged) -> bool:
    """Return whether a tie reaches into the ranks that a metric looks at."""
    if lists.last is None:
        return False
    deepest = asked.cutoff if asked.metric.reach == "cutoff" else None
    rows, _ = lists.within(deepest)
    return bool((lists.last > lists.rank)[rows].any())


def open_ties(
    asked: Asked, lists: Judged, how: Sequence[int] = (TIED_BY_GRADE, TIED_BY_ID)
) -> Flags:
    """Flag the lists that count and in which equal scores leave open which items a metric sees, or
    in which order if that matters."""
    shown, k = lists.extras.shown, asked.cutoff
    counted = counts_in_mean(lists, asked.convention, k)
    matters = asked.metric.tie_order
    if shown is None or matters == "none":
        return np.zeros_like(counted)
    tied = np.zeros_like(counted) if k is None else shown.tied_across(k, how)
    if matters == "any" and asked.numbers.get("patience") != 1:  # 1 gives all ranks one weight
        tied |= shown.tied_within(k or shown.items.shape[1] + 1, how)
    return counted & tied


def _require_decided(asked: Asked, lists: Judged, label: Callable[[int], str]) -> None:
    """Raise an error if ties are not allowed and leave open which items a metric sees."""
    if asked.convention.ties != "error" or "shown" not in asked.metric.requires:
        return
    tied = np.flatnonzero(open_ties(asked, lists))
    if len(tied):
        raise error_of_ties(asked, len(tied), lists.size, label(tied[0]))


def error_of_ties(asked: Asked, tied: int, size: int, first: str) -> TiedItems:
    """Return the error for a metric whose value depends on the order of ties."""
    return TiedItems(
        f"{tied} of {size} lists have equal scores whose order affects {str(asked.name)!r} (first: "
        f"list {first}).",
        "distinct scores.",
        "set ties='pessimistic' or another rule, or provide a rank column.",
    )


def _account_for_shown(plan: Plan, batch: Batch) -> None:
    """Count the lists whose shown items are chosen by id among items of equal score and grade."""
    chosen, cutoffs = np.zeros(batch.size, bool), set[int]()
    for name, asked in plan.measured.items():
        by_grade = asked.convention.ties in ("pessimistic", "optimistic")
        if "shown" in asked.metric.requires and by_grade and name not in batch.failures:
            lists = view_of(plan, batch, asked, judge_for(plan, batch, asked).judged)
            chosen |= open_ties(asked, lists, (TIED_BY_ID,))
            cutoffs.add(asked.cutoff or 0)
    if cutoffs:
        numbers = map(str, sorted(cutoffs))
        first = batch.label(int(np.flatnonzero(chosen)[0])) if chosen.any() else ""
        about = (
            f"lists have items of equal score and grade at a cutoff ({', '.join(numbers)}): their "
            "ids decide which of them are shown; break ties in the model, or set ties='error' to "
            "refuse them"
        )
        size = int(lists_for_all(plan, batch).handed.sum())
        batch.ledger.count("shown_by_id", int(chosen.sum()), about, size, first, "notice")


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Concatenate the lists of several batches as they were judged.

    The batches must have been judged in the same ways, with the same items, users and training
    data. A user with lists in several batches appears several times.
    """
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    users = np.cumsum([0, *(len(batch.lists.users) for batch in batches)])
    keys = Keys(
        pl.concat([batch.lists.keys for batch in batches]),
        np.concatenate([b.lists.owners + n for b, n in zip(batches, users, strict=False)]),
        pl.concat([batch.lists.users for batch in batches]),
        first.lists.by_user,
        None
        if first.lists.weights is None
        else np.concatenate([_weights_or_ones(b) for b in batches]),
    )
    verdicts = {way: join_verdicts([b.verdicts[way] for b in batches]) for way in first.verdicts}
    return Batch(keys, first.facts, None, verdicts, dict(first.failures))


def _weights_or_ones(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.ones(batch.size) if batch.lists.weights is None else batch.lists.weights


def joinable(one: Batch, other: Batch) -> bool:
    """Return whether two batches can be measured as one."""
    left, right = one.lists, other.lists
    return (
        (left.keys.dtype, left.users.dtype) == (right.keys.dtype, right.users.dtype)
        and pl.Object not in (left.keys.dtype, left.users.dtype)
        and left.by_user == right.by_user
        and (left.weights is None) == (right.weights is None)
        and one.failures.keys() == other.failures.keys()
        and one.verdicts.keys() == other.verdicts.keys()
        and all(
            verdict.judged.kind == other.verdicts[way].judged.kind
            for way, verdict in one.verdicts.items()
        )
    )

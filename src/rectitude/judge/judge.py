"""Judge predictions: apply a convention to both sides and find the ranks of the judged items."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.convention import SWITCHES, Convention
from rectitude.data.columns import SEVERAL, normal
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, BadTable, DuplicateItems, NothingToEvaluate, TiedItems
from rectitude.judge.align import Aligned, Collision, align_inputs
from rectitude.judge.dense import (
    RankedLists,
    keeping_scores,
    rank_dense,
    require_sortable,
    single_targets,
)
from rectitude.judge.items import Stock, behind, times_met, unseen_items
from rectitude.judge.judged import Extras, Judged, Shown, is_relevant
from rectitude.judge.judged import join as join_judged
from rectitude.judge.match import Matches, Ranking, join, match, ranks, repeat_flags, undecided
from rectitude.judge.shown import scored_in_lists, scored_in_scores, shown_in_lists, shown_in_scores
from rectitude.judge.truth import Truth, truth_under
from rectitude.parallel import together
from rectitude.predictions.lists import describe, order_of, require_finite, sort_key

_MANY_LISTS = 20_000


NEEDS = ("unseen", "met", "stock", "wanted", "people", "predicted", "scored")
"""What metrics may need of judged lists beyond ranks, in order; each costs time to find."""
_SWITCHES = [
    switch.name
    for switch in SWITCHES.values()
    if switch.stage in ("truth", "order", "judge")
    and switch.name not in ("relevant_from", "list_end", "candidates")
]


@dataclass(frozen=True, slots=True)
class Judging:
    """One way of judging: what the ranks of a list depend on, how many of its places are shown, and
    what else metrics need. Equal ways give equal lists.

    Thresholds and list ends are views of judged lists, and no part of it.
    """

    switches: tuple[object, ...]
    shown: int | None
    needs: tuple[str, ...]
    convention: Convention = field(compare=False, repr=False)

    @staticmethod
    def of(
        convention: Convention, shown: int | None = None, needs: Collection[str] = ()
    ) -> Judging:
        """The way of judging under a convention."""
        switches = tuple(getattr(convention, switch) for switch in _SWITCHES)
        return Judging(switches, shown, tuple(n for n in NEEDS if n in needs), convention)


class Ties(NamedTuple):
    """The lists of the users who have ties that matter: as judged, and as they would stand with
    every tie broken against and for them. All other lists are the same under every rule."""

    lists: Integers
    own: Judged
    worst: Judged
    best: Judged


class Verdict(NamedTuple):
    """The lists as judged, and what ties could change."""

    judged: Judged
    ties: Ties | None

    @property
    def bytes(self) -> int:
        """How much memory the lists take; those with ties stand there again."""
        again = () if self.ties is None else {id(one): one for one in self.ties[1:]}.values()
        return self.judged.bytes + sum(one.bytes for one in again)


def join_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """The lists of several verdicts, one behind the other."""
    before = np.cumsum([0, *(one.judged.size for one in verdicts)])
    judged = join_judged([one.judged for one in verdicts])
    tied = [(one.ties, n) for one, n in zip(verdicts, before, strict=False) if one.ties is not None]
    if not tied:
        return Verdict(judged, None)
    lists = np.concatenate([ties.lists + n for ties, n in tied])
    own = join_judged([ties.own for ties, _ in tied])
    worst, best = (
        own if all(one is ties.own for one, (ties, _) in zip(ends, tied, strict=True))
        else join_judged(ends)
        for ends in ([ties.worst for ties, _ in tied], [ties.best for ties, _ in tied])
    )  # fmt: skip
    return Verdict(judged, Ties(lists, own, worst, best))


def judge(aligned: Aligned, judging: Judging, ledger: Ledger) -> tuple[Aligned, Verdict]:
    """The lists as judged, and the inputs as they were compared: with exact codes in place of
    hashes, should two hashes have collided."""
    try:
        return aligned, _judge(aligned, judging, ledger)
    except Collision:
        exact = align_inputs(aligned.sources, exact_items=True)
        return exact, _judge(exact, judging, ledger)
    except DuplicateItems as error:
        raise _of_several_models(error, aligned.sources.predictions.left) from None


def _of_several_models(error: DuplicateItems, left: Sequence[str]) -> DuplicateItems:
    """The error, with the column that may be the reason: lists of several models in one table."""
    apart = [name for name in left if normal(name) in SEVERAL]
    if not apart:
        return error
    advice = f"if the column {apart[0]!r} tells them apart, evaluate the rows of each value alone."
    return DuplicateItems(error.found, error.expected, f"{advice}\n  else {error.advice}")


def _judge(sides: Aligned, judging: Judging, ledger: Ledger) -> Verdict:
    """Where the judged items of each list stand, with what else metrics need."""
    convention, shown, needs = judging.convention, judging.shown, judging.needs
    truth = truth_under(sides, convention, ledger)
    dense, as_ranked = sides.sources.dense, convention
    if "predicted" in needs:
        as_ranked = keeping_scores(convention, needs)
    if dense is None:
        ranked = _rank_lists(sides, truth, as_ranked, ledger)
    else:
        ranked = rank_dense(sides, dense, truth, as_ranked, ledger)
    matches = ranked.matches
    grades = truth.grades[matches.truth]
    tied = undecided(matches, grades, is_relevant(grades, convention.relevant_from))
    _account_for_ties(sides, ranked, tied, convention, ledger)

    def under(rule: str) -> Judged:
        made = _judged(sides, truth, ranked, ranks(matches, grades, rule), rule, convention)
        return made if "predicted" in needs else _knowing(made, score=None)

    judged = under(ranked.rule)
    if shown or needs:
        judged = _with_extras(sides, truth, ranked, judged, convention, shown, needs)
    if not len(tied):
        return Verdict(judged, None)
    lists = np.flatnonzero(np.isin(sides.owners, sides.owners[tied]))
    own = judged.only(lists)
    names = ("unseen", "wanted", "stock", "people", "owner")
    same = {name: getattr(own.extras, name) for name in names}
    worst, best = (
        own if rule == ranked.rule else _knowing(under(rule).only(lists), **same)
        for rule in ("pessimistic", "optimistic")
    )
    return Verdict(judged, Ties(lists, own, worst, best))


def _knowing(judged: Judged, **parts: Any) -> Judged:
    """The lists as judged, with other parts of what is known beyond ranks."""
    return replace(judged, extras=replace(judged.extras, **parts))


def _with_extras(
    sides: Aligned,
    truth: Truth,
    ranked: RankedLists,
    judged: Judged,
    convention: Convention,
    shown: int | None,
    needs: tuple[str, ...],
) -> Judged:
    """The lists as judged, with the items shown and what else metrics need."""
    parts: dict[str, Any] = {}

    def show(places: int) -> None:
        rank = ranks(ranked.matches, truth.grades[ranked.matches.truth], ranked.rule)
        items = _shown(sides, ranked, rank, convention, places)
        if items is not None:
            parts["shown"] = Shown(items)

    def name() -> None:
        parts.update(behind(sides, ranked.ranking, truth, needs))

    tasks = [*([partial(show, shown)] if shown else ()), *([name] if needs else ())]
    together(tasks, len(sides.keys) > _MANY_LISTS)
    if "unseen" in needs:
        parts["unseen"] = unseen_items(sides)
    if "scored" in needs and "shown" in parts:
        scores = _scored(sides, ranked, parts["shown"].items, convention)
        parts["shown"] = replace(parts["shown"], scores=scores)
    if "met" in needs:
        parts["met"] = _met(sides, truth, judged, parts.get("stock"), parts.get("wanted"))
    return _knowing(judged, **parts)


def _met(
    sides: Aligned, truth: Truth, judged: Judged, stock: Stock | None, wanted: Integers | None
) -> Integers | None:
    """(found,) how often training holds the item."""
    if sides.sources.train is None or stock is None or wanted is None:
        return times_met(sides, truth.rows.rows(judged.where))
    return stock.rows[wanted[judged.where]]


def _account_for_ties(
    sides: Aligned, ranked: RankedLists, tied: Integers, convention: Convention, ledger: Ledger
) -> None:
    ledger.count(
        "lists_with_ties",
        len(tied),
        "lists have equal scores whose order matters",
        int((ranked.returned > 0).sum()),
        sides.label(tied[0]) if len(tied) else "",
        "notice",
    )
    if len(tied) and convention.ties == "error":
        raise TiedItems(
            f"{len(tied)} of {int(sides.handed.sum())} lists have equal scores whose order matters "
            f"(first: list {sides.label(tied[0])}).",
            "distinct scores.",
            "set ties='pessimistic' or another rule, or hand over a rank column.",
        )


def _shown(
    sides: Aligned, ranked: RankedLists, rank: Integers, convention: Convention, k: int
) -> Integers | None:
    if ranked.dense is not None:
        return shown_in_scores(sides, ranked.dense, ranked.matches, rank, convention, k)
    if ranked.ranking is not None:
        return shown_in_lists(ranked.ranking, ranked.matches, rank, k)
    return None


def _scored(
    sides: Aligned, ranked: RankedLists, shown: Integers, convention: Convention
) -> Floats | None:
    if ranked.dense is not None:
        return scored_in_scores(sides, ranked.dense, shown, convention)
    if ranked.ranking is None:
        return None
    return scored_in_lists(ranked.ranking, shown, _given_scores(sides))


def _rank_lists(
    sides: Aligned, truth: Truth, convention: Convention, ledger: Ledger
) -> RankedLists:
    """The truth's items in lists that were handed over."""
    ranking = _ranking(sides, convention, ledger)
    ranking, matches = matched(sides, ranking, truth, convention, ledger)
    rule = "given" if ranking.key is None else convention.ties
    score = None
    if convention.hit_scores == "positive":
        score = _scores(sides, ranking, matches)
    return RankedLists(matches, ranking.lists.length, rule, ranking=ranking, score=score)


def _scores(sides: Aligned, ranking: Ranking, matches: Matches) -> Floats:
    """The score of each match."""
    rows = ranking.lists.rows(ranking.lists.start[matches.list] + matches.position)
    return _given_scores(sides)[rows]


def _given_scores(sides: Aligned) -> Floats:
    """The scores of the predictions, by row."""
    predictions, beside = sides.sources.predictions, sides.sources.beside
    if "score" not in predictions.frame.columns and beside is not None:
        return beside()
    if "score" not in predictions.frame.columns:
        raise BadTable(
            f"{predictions.source} has no score column, and scores are looked at.",
            "a score for every item.",
            "leave out metrics of predicted scores, and set hit_scores='any'.",
        )
    found: Floats = predictions.frame["score"].cast(float).to_numpy()
    return found


def _judged(
    sides: Aligned,
    truth: Truth,
    ranked: RankedLists,
    rank: Integers,
    rule: str,
    convention: Convention,
) -> Judged:
    offsets = np.append(truth.rows.start, len(truth.items))
    matches = ranked.matches
    complete = ranked.dense is not None or sides.sources.lists == "complete"
    order: Integers | slice = slice(None)
    key = matches.list * (int(rank.max(initial=0)) + 1) + rank
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
    if ranked.score is not None and convention.hit_scores == "positive":
        everything = np.arange(len(rank))[order]
        order = everything[ranked.score[everything] > 0]
    lists, rows = matches.list[order], matches.truth[order]
    return Judged(
        list=lists,
        rank=rank[order],
        grade=truth.grades[rows],
        place=rows - offsets[lists],
        returned=ranked.returned,
        truth=Ragged(offsets, truth.grades),
        handed=sides.handed & truth.allowed,
        in_truth=truth.there,
        relevant_from=convention.relevant_from,
        last=(matches.above + matches.tied)[order] if rule == "average" else None,
        taken=_taken(ranked)[order] if rule == "average" else None,
        extras=Extras(
            candidates=ranked.returned if complete else None,
            score=None if ranked.score is None else ranked.score[order],
            single=None if ranked.dense is None else single_targets(ranked, rank),
        ),
    )


def _taken(ranked: RankedLists) -> Integers:
    """Ranks with equals in the order given."""
    return (
        ranked.matches.above + ranked.matches.before + 1 if ranked.taken is None else ranked.taken
    )


def _ranking(sides: Aligned, convention: Convention, ledger: Ledger) -> Ranking:
    """The lists with what orders them."""
    predictions = sides.sources.predictions
    if not predictions.frame.height and sides.sources.left == "all":
        raise NothingToEvaluate(
            f"the predictions ({predictions.source}) are empty.", "at least one recommended item."
        )
    order = order_of(predictions, convention.order)
    ledger.note("order", describe(predictions, order))
    ledger.count("prediction_rows", predictions.frame.height, "rows in the predictions")
    items = sides.column("item")
    if order == "given":
        return Ranking(sides.lists, items, None)
    require_finite(predictions, order)
    if convention.score_precision == "logistic":
        raise BadName(
            "score_precision='logistic' looks at all scores of a row, and these are lists.",
            "rt.Scores, or another precision.",
        )
    key = sort_key(sides.column(order), order, convention.score_precision)
    sequence = None
    if convention.ties.startswith("item"):
        require_sortable(sides, convention)
    if convention.ties == "item_ascending":
        sequence = items
    elif convention.ties == "item_descending":
        sequence = items.map(lambda part: -1 - part)
    return Ranking(sides.lists, items, key, sequence)


def matched(
    sides: Aligned, ranking: Ranking, truth: Truth, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """Matches, once duplicates and unjudged items are dealt with."""
    matches, repeated = match(ranking, truth.rows, truth.items)
    if repeated.any():
        _account_for_duplicates(sides, ranking, repeated, convention, ledger)
        ranking, matches = _with_duplicates(ranking, truth, convention)
    else:
        ledger.count("lists_with_duplicates", 0, "lists hold an item twice")
    if convention.unjudged == "dropped":
        ranking, matches = _judged_only(ranking, truth, matches, convention, ledger)
    _confirm(sides, ranking, truth, matches)
    return ranking, matches


def _account_for_duplicates(
    sides: Aligned, ranking: Ranking, repeated: Integers, convention: Convention, ledger: Ledger
) -> None:
    number = int(np.flatnonzero(repeated)[0])
    low, size = ranking.lists.start[number], ranking.lists.length[number]
    mine = ranking.items.whole[low : low + size]
    again = repeat_flags(np.zeros(size, np.int64), mine, np.arange(size))
    place = low + np.flatnonzero(again)[:1]
    row = int(ranking.lists.rows(place)[0])
    if not sides.items.exact:
        raise Collision
    lists, handed = int((repeated > 0).sum()), int(sides.handed.sum())
    first = f"list {sides.label(number)}, item {sides.items.label('predictions', row)!r}"
    fate = {"error": "", "first": "removed", "counted": "each counted"}[convention.duplicates]
    about = f"lists hold an item twice, {int(repeated.sum()):,} rows in all: {fate}"
    ledger.count("lists_with_duplicates", lists, about, handed, first, "warning")
    if convention.duplicates == "error":
        raise DuplicateItems(
            f"{lists} of {handed} lists contain an item twice (first: {first}).",
            "each item once per list.",
            "set duplicates='first' to keep the higher rank, or fix the predictions.",
        )


def _with_duplicates(
    ranking: Ranking, truth: Truth, convention: Convention
) -> tuple[Ranking, Matches]:
    if convention.duplicates == "counted":
        return ranking, join(ranking, truth.rows, truth.items)
    lists, where = ranking.lists.expand()
    preference = np.arange(len(where)) if ranking.key is None else -ranking.key.whole[where]
    again = repeat_flags(lists, ranking.items.whole[where], preference)
    ranking = ranking.keep(lists[~again], where[~again])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _judged_only(
    ranking: Ranking, truth: Truth, matches: Matches, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """The lists without the items that the truth does not judge."""
    lists, where = ranking.lists.expand()
    judged = np.zeros(len(ranking.items), bool)
    told = (truth.grades[matches.truth] >= 0) | (convention.negative_grades != "sampled")
    judged[(ranking.lists.start[matches.list] + matches.position)[told]] = True
    keep = judged[where]
    ledger.count(
        "rows_unjudged",
        int((~keep).sum()),
        "recommended items are not judged: removed before ranking",
        len(keep),
        weight="notice",
    )
    ranking = ranking.keep(lists[keep], where[keep])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _confirm(sides: Aligned, ranking: Ranking, truth: Truth, matches: Matches) -> None:
    """Look at the ids themselves where codes are hashes."""
    rows = ranking.lists.rows(ranking.lists.start[matches.list] + matches.position)
    if not sides.items.same("predictions", rows, "truth", truth.rows.rows(matches.truth)):
        raise Collision

"""Judge predictions: apply a convention to lists and truth, and rank the judged items."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers, Pieces, Ragged, run_starts
from rectitude.convention import SWITCHES, Convention
from rectitude.data.columns import SEVERAL, normal
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import (
    BadArgument,
    BadName,
    BadTable,
    DuplicateItems,
    NothingToEvaluate,
    TiedItems,
)
from rectitude.judge.align import Aligned, Collision, align_inputs
from rectitude.judge.dense import (
    RankedLists,
    keep_scores,
    rank_dense,
    require_sortable,
    single_targets,
    squash,
)
from rectitude.judge.items import (
    Stock,
    count_choices,
    count_in_training,
    find_entries,
    unseen_items,
)
from rectitude.judge.judged import WHOLE_LIST, Extras, Judged, Shown, is_relevant
from rectitude.judge.judged import join as join_judged
from rectitude.judge.match import (
    Matches,
    Ranking,
    SortKeys,
    find_undecided,
    flag_repeated_hits,
    join,
    match,
    ranks,
    repeat_flags,
)
from rectitude.judge.rank_column import account_for_ranks, count_shown, keep_ranks, lay_out_ranks
from rectitude.judge.shown import score_lists, score_scores, show_lists, show_scores
from rectitude.judge.subtopics import find_subtopics
from rectitude.judge.truth import Truth, truth_under
from rectitude.parallel import run_tasks
from rectitude.predictions.lists import describe, order_of, require_finite, sort_key

_MANY_LISTS = 20_000


NEEDS = (
    "unseen", "choices", "met", "stock", "wanted", "people", "predicted", "scored", "subtopics",
)  # fmt: skip
"""What metrics may need besides ranks, in this order; each takes time to compute."""
_SWITCHES = [
    switch.name
    for switch in SWITCHES.values()
    if switch.stage in ("truth", "order", "judge")
    and switch.name not in ("relevant_from", "list_end", "candidates")
]


@dataclass(frozen=True, slots=True)
class Judging:
    """One way of judging: the switches that ranks depend on, the number of ranks whose items are
    shown, and what else metrics need. Equal ways give equal lists.

    Relevance thresholds and list ends do not belong here: they are views of judged lists.
    """

    switches: tuple[object, ...]
    shown: int | None
    needs: tuple[str, ...]
    convention: Convention = field(compare=False, repr=False)

    @staticmethod
    def of(
        convention: Convention, shown: int | None = None, needs: Collection[str] = ()
    ) -> Judging:
        """Return the way of judging under a convention."""
        switches = tuple(getattr(convention, switch) for switch in _SWITCHES)
        switches = (*switches, convention.sorts_ties_by_id)
        return Judging(switches, shown, tuple(n for n in NEEDS if n in needs), convention)


class Ties(NamedTuple):
    """The lists of users with ties that matter: as judged, and with ties broken in the worst and
    the best way. All other lists are the same under every tie rule."""

    lists: Integers
    own: Judged
    worst: Judged
    best: Judged


class Verdict(NamedTuple):
    """The judged lists, and what ties could change."""

    judged: Judged
    ties: Ties | None

    @property
    def bytes(self) -> int:
        """The memory of all lists, including the versions of those with ties."""
        versions = (
            () if self.ties is None else {id(lists): lists for lists in self.ties[1:]}.values()
        )
        return self.judged.bytes + sum(lists.bytes for lists in versions)


def join_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Concatenate the lists of several verdicts."""
    offsets = np.cumsum([0, *(verdict.judged.size for verdict in verdicts)])
    judged = join_judged([verdict.judged for verdict in verdicts])
    tied = [
        (verdict.ties, n)
        for verdict, n in zip(verdicts, offsets, strict=False)
        if verdict.ties is not None
    ]
    if not tied:
        return Verdict(judged, None)
    lists = np.concatenate([ties.lists + n for ties, n in tied])
    as_judged = join_judged([ties.own for ties, _ in tied])
    worst, best = (
        as_judged if all(end is ties.own for end, (ties, _) in zip(ends, tied, strict=True))
        else join_judged(ends)
        for ends in ([ties.worst for ties, _ in tied], [ties.best for ties, _ in tied])
    )  # fmt: skip
    return Verdict(judged, Ties(lists, as_judged, worst, best))


def judge(aligned: Aligned, judging: Judging, ledger: Ledger) -> tuple[Aligned, Verdict]:
    """Judge lists; return the inputs as they were compared, and the verdict.

    If two hashes of ids collide, the inputs are aligned again with exact codes.
    """
    try:
        return aligned, _judge(aligned, judging, ledger)
    except Collision:
        exact = align_inputs(aligned.sources, exact_items=True)
        return exact, _judge(exact, judging, ledger)
    except DuplicateItems as error:
        raise _advise_on_several_models(error, aligned.sources.predictions.left) from None


def _advise_on_several_models(
    error: DuplicateItems, unused_columns: Sequence[str]
) -> DuplicateItems:
    """Add advice to the error if the table seems to contain the lists of several models."""
    model_columns = [name for name in unused_columns if normal(name) in SEVERAL]
    if not model_columns:
        return error
    column = model_columns[0]
    advice = f"if the column {column!r} separates several runs, evaluate each value on its own."
    return DuplicateItems(error.found, error.expected, f"{advice}\n  otherwise, {error.advice}")


def _judge(sides: Aligned, judging: Judging, ledger: Ledger) -> Verdict:
    """Rank the judged items of each list, and add what else metrics need."""
    convention, shown, needs = judging.convention, judging.shown, judging.needs
    truth = truth_under(sides, convention, ledger)
    dense, ranking_convention = sides.sources.dense, convention
    if "predicted" in needs:
        ranking_convention = keep_scores(convention, needs)
    if dense is None:
        ranked = _rank_lists(sides, truth, ranking_convention, ledger)
    else:
        ranked = rank_dense(sides, dense, truth, ranking_convention, ledger)
    if convention.duplicates == "joined":
        truth, ranked = _repeat_truth(truth, ranked)
    matches = ranked.matches
    grades, ids = truth.grades[matches.truth], _ids_of(sides, truth, matches)
    tied = find_undecided(matches, grades, is_relevant(grades, convention.relevant_from), ids)
    _account_for_ties(sides, ranked, tied, convention, ledger)

    def judge_under(rule: str, ids: SortKeys = ids) -> Judged:
        rank = ranks(matches, grades, rule, ids) if ranked.kept is None else ranked.kept.rank
        lists = _make_judged(sides, truth, ranked, rank, rule, convention)
        return lists if "predicted" in needs else _replace_extras(lists, score=None)

    judged = judge_under(ranked.rule)
    if shown or needs:
        judged = _with_extras(sides, truth, ranked, judged, convention, shown, needs)
    if convention.ties == "error":
        return Verdict(judged, _turn_ties(sides, truth, matches, judged, judge_under, ids))
    if not len(tied):
        return Verdict(judged, None)
    lists = np.flatnonzero(np.isin(sides.owners, sides.owners[tied]))
    as_judged = judged.only(lists)
    worst, best = (
        as_judged
        if rule == ranked.rule
        else _replace_extras(judge_under(rule).only(lists), **_shared_extras(as_judged))
        for rule in ("pessimistic", "optimistic")
    )
    return Verdict(judged, Ties(lists, as_judged, worst, best))


def _turn_ties(
    sides: Aligned,
    truth: Truth,
    matches: Matches,
    judged: Judged,
    judge_under: Callable[[str, SortKeys], Judged],
    ids: SortKeys,
) -> Ties | None:
    """Return the lists with ties between judged items of any grade, as judged and turned around:
    if they must not matter, a metric has the same value for both."""
    tied = np.unique(matches.list[matches.tied > 1])
    if not len(tied):
        return None
    lists = np.flatnonzero(np.isin(sides.owners, sides.owners[tied]))
    turned, extras = judge_under("optimistic", lambda rows: -1 - ids(rows)), judged.extras
    if extras.met is not None:
        met = _count_met(sides, truth, turned, extras.stock, extras.wanted)
        turned = _replace_extras(turned, met=met)
    as_judged = judged.only(lists)
    turned = _replace_extras(turned.only(lists), **_shared_extras(as_judged))
    return Ties(lists, as_judged, as_judged, turned)


def _shared_extras(judged: Judged) -> dict[str, Any]:
    """Return the extras that do not depend on the order of ties."""
    names = ("unseen", "choices", "wanted", "stock", "people", "owner", "subtopics")
    return {name: getattr(judged.extras, name) for name in names}


def _ids_of(sides: Aligned, truth: Truth, matches: Matches) -> SortKeys:
    """Return how the items of matches sort by id; it is asked only about ties."""

    def sort_keys(chosen: Integers) -> Integers:
        return sides.items.sort_keys("truth", truth.rows.rows(matches.truth[chosen]))

    return sort_keys


def _replace_extras(judged: Judged, **extras: Any) -> Judged:
    """Replace some extras of judged lists."""
    return replace(judged, extras=replace(judged.extras, **extras))


def _with_extras(
    sides: Aligned,
    truth: Truth,
    ranked: RankedLists,
    judged: Judged,
    convention: Convention,
    shown: int | None,
    needs: tuple[str, ...],
) -> Judged:
    """Add the shown items, and what else metrics need, to judged lists."""
    extras: dict[str, Any] = {}

    def show_items(ranks_shown: int) -> None:
        extras["shown"] = _show_items(sides, truth, ranked, convention, ranks_shown)

    def number_entries() -> None:
        extras.update(find_entries(sides, ranked.ranking, truth, needs))

    tasks = [*([partial(show_items, shown)] if shown else ()), *([number_entries] if needs else ())]
    run_tasks(tasks, len(sides.keys) > _MANY_LISTS)
    if "unseen" in needs:
        extras["unseen"] = unseen_items(sides)
    if "subtopics" in needs:
        extras["subtopics"] = find_subtopics(sides, truth)
    if "choices" in needs:
        extras["choices"] = count_choices(sides)
    if "scored" in needs and extras.get("shown") is not None:
        scores = _score_shown(sides, ranked, extras["shown"].items, convention)
        extras["shown"] = replace(extras["shown"], scores=scores)
    if "met" in needs:
        extras["met"] = _count_met(sides, truth, judged, extras.get("stock"), extras.get("wanted"))
    return _replace_extras(judged, **extras)


def _count_met(
    sides: Aligned, truth: Truth, judged: Judged, stock: Stock | None, wanted: Integers | None
) -> Integers | None:
    """Count how often each matched item appears in the training data."""
    if sides.sources.train is None or stock is None or wanted is None:
        return count_in_training(sides, truth.rows.rows(judged.where))
    return stock.rows[wanted[judged.where]]


def _account_for_ties(
    sides: Aligned, ranked: RankedLists, tied: Integers, convention: Convention, ledger: Ledger
) -> None:
    ledger.count(
        "lists_with_ties",
        len(tied),
        "lists have tied items whose order affects the result",
        int((ranked.returned > 0).sum()),
        sides.first_label(tied),
        "notice",
    )
    if len(tied) and convention.ties == "error":
        raise TiedItems(
            f"{len(tied)} of {int(sides.handed.sum())} lists have tied items whose order "
            f"affects the result (first: list {sides.label(tied[0])}).",
            "distinct scores.",
            "set ties='pessimistic' or another rule, or provide a rank column.",
        )


def _show_items(
    sides: Aligned, truth: Truth, ranked: RankedLists, convention: Convention, k: int
) -> Shown | None:
    """Return the items at the top ranks. Averaged ties have no single order, so any order will do:
    a metric for which it matters is refused."""
    matches, rule = ranked.matches, ranked.rule.replace("average", "pessimistic")
    grade = truth.grades[matches.truth]
    rank = ranks(matches, grade, rule, _ids_of(sides, truth, matches))
    if ranked.dense is not None:
        _require_cutoff(k)
        return show_scores(sides, ranked, ranked.dense, rank, grade, convention, k)
    if ranked.ranking is None:
        return None
    k = min(k, max(int(ranked.ranking.lists.length.max(initial=1)), 1)) if k == WHOLE_LIST else k
    if ranked.kept is None:
        return show_lists(sides, ranked, ranked.ranking, rank, grade, k)
    listed = ranked.kept.listed
    shown = show_lists(sides, ranked, ranked.ranking, rank, grade, count_shown(listed, k))
    return replace(shown, ranks=lay_out_ranks(listed, shown.items.shape[1]))


def _require_cutoff(k: int) -> None:
    """Raise an error about whole lists of dense scores: each would be the catalogue."""
    if k == WHOLE_LIST:
        raise BadName(
            "a metric without a cutoff looks at whole lists, and dense scores rank all items.",
            "a cutoff, such as @10.",
        )


def _score_shown(
    sides: Aligned, ranked: RankedLists, shown: Integers, convention: Convention
) -> Floats | None:
    if ranked.dense is not None:
        return score_scores(sides, ranked.dense, shown, convention)
    if ranked.ranking is None:
        return None
    return score_lists(ranked.ranking, shown, _read_scores(sides))


def _rank_lists(
    sides: Aligned, truth: Truth, convention: Convention, ledger: Ledger
) -> RankedLists:
    """Find the truth's items in lists."""
    ranking = _read_ranking(sides, convention, ledger)
    ranking, matches = match_lists(sides, ranking, truth, convention, ledger)
    rule, kept = "given" if ranking.key is None else convention.ties, None
    if _keeps_ranks(sides, convention):
        above, alone = matches.above + matches.before, np.ones_like(matches.tied)
        matches = replace(matches, above=above, tied=alone, before=np.zeros_like(above))
        rule, kept = "item_ascending", keep_ranks(sides, ranking, matches)
    score, taken = None, None
    if convention.score_precision == "logistic" and _is_by_score(sides, convention):
        taken = matches.above + matches.before + 1
        ranking = replace(ranking, key=_squash_lists(ranking))
        matches = match(ranking, truth.rows, truth.items)[0]
    if convention.hit_scores == "positive":
        score = _score_matches(sides, ranking, matches)
    returned = ranking.lists.length
    return RankedLists(
        matches, returned, rule, ranking=ranking, score=score, taken=taken, kept=kept
    )


def _keeps_ranks(sides: Aligned, convention: Convention) -> bool:
    by_rank = order_of(sides.sources.predictions, convention.order) == "rank"
    return by_rank and convention.ranks == "kept"


def _repeat_truth(truth: Truth, ranked: RankedLists) -> tuple[Truth, RankedLists]:
    """Return the truth with one row for each match, so that no two matches share a row."""
    matches = ranked.matches
    times = np.maximum(np.bincount(matches.truth, minlength=len(truth.items)), 1)
    if times.max(initial=1) == 1:
        return truth, ranked
    lists, positions = truth.rows.expand()
    source = np.repeat(np.arange(len(times)), times)
    by_row = np.argsort(matches.truth, kind="stable")
    ordered = matches.truth[by_row]
    starts = run_starts(ordered)
    nth = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    row = np.empty_like(ordered)
    row[by_row] = (np.cumsum(times) - times)[ordered] + nth
    rows = truth.rows.keep(lists[source], positions[source])
    repeated = truth._replace(rows=rows, items=truth.items[source], grades=truth.grades[source])
    return repeated, ranked._replace(matches=replace(matches, truth=row))


def _is_by_score(sides: Aligned, convention: Convention) -> bool:
    return order_of(sides.sources.predictions, convention.order) == "score"


def _squash_lists(ranking: Ranking) -> Pieces | None:
    """Return the logistic function of the scores in lists that have one outside 0 to 1."""
    if ranking.key is None:
        return None
    scores = ranking.key.whole.copy()
    lists, positions = ranking.lists.expand()
    outside = np.zeros(len(ranking.lists.start), bool)
    outside[lists[(scores[positions] < 0) | (scores[positions] > 1)]] = True
    chosen = positions[outside[lists]]
    scores[chosen] = squash(scores[chosen])
    return Pieces(scores)


def _score_matches(sides: Aligned, ranking: Ranking, matches: Matches) -> Floats:
    """Return the score of each match."""
    rows = ranking.lists.rows(ranking.lists.start[matches.list] + matches.position)
    return _read_scores(sides)[rows]


def _read_scores(sides: Aligned) -> Floats:
    """Return the scores of the predictions, by row."""
    predictions, read_separately = sides.sources.predictions, sides.sources.beside
    if "score" not in predictions.frame.columns and read_separately is not None:
        return read_separately()
    if "score" not in predictions.frame.columns:
        raise BadTable(
            f"{predictions.source} has no score column, but a metric or a switch needs scores.",
            "a score for every item.",
            "leave out metrics that need predicted scores; set hit_scores='any' and "
            "scores_from=None.",
        )
    scores: Floats = predictions.frame["score"].cast(float).to_numpy()
    return scores


def _make_judged(
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
    kept = ranked.kept
    standing = rank if kept is None else kept.slot
    order = _order_matches(matches, standing, truth.grades, _ids_of(sides, truth, matches))
    if ranked.score is not None and convention.hit_scores == "positive":
        matched = np.arange(len(rank))[order]
        order = matched[ranked.score[matched] > 0]
    order = _keep_single_hits(matches, order, rank, truth.grades, rule, convention)
    lists, rows = matches.list[order], matches.truth[order]
    return Judged(
        list=lists,
        rank=rank[order],
        grade=truth.grades[rows],
        place=rows - offsets[lists],
        returned=ranked.returned,
        truth=Ragged(offsets, truth.grades),
        handed=sides.handed & truth.allowed,
        in_truth=truth.in_truth,
        relevant_from=convention.relevant_from,
        slot=None if kept is None else kept.slot[order],
        listed=None if kept is None else kept.listed,
        slots=None if kept is None else kept.slots,
        last=(matches.above + matches.tied)[order] if rule == "average" else None,
        taken=_rank_as_taken(ranked)[order] if rule == "average" else None,
        extras=Extras(
            candidates=ranked.returned if complete else None,
            score=None if ranked.score is None else ranked.score[order],
            single=None if ranked.dense is None else single_targets(ranked, rank),
        ),
    )


def _keep_single_hits(
    matches: Matches,
    order: Integers | slice,
    rank: Integers,
    grades: Floats,
    rule: str,
    convention: Convention,
) -> Integers | slice:
    """Drop the matches that repeat a hit, if the convention counts repeats as one hit."""
    of_truth, of_lists = (
        choice == "one_hit" for choice in (convention.duplicate_truth, convention.duplicates)
    )
    if not (of_truth or of_lists):
        return order
    repeated = flag_repeated_hits(matches, rank, grades[matches.truth], of_truth, of_lists)
    if rule == "average" and of_lists and np.any(repeated & (matches.tied > 1)):
        raise BadArgument(
            "ties='average' has no closed form here: an item that is in a list twice is tied.",
            "each item once per list, or another tie rule.",
            "set duplicates='first', or another tie rule, such as ties='pessimistic'.",
        )
    chosen = np.arange(len(rank))[order]
    return chosen[~repeated[chosen]]


def _order_matches(
    matches: Matches, rank: Integers, grades: Floats, ids: SortKeys
) -> Integers | slice:
    """Return the order by list and rank. Items that share a rank are in the order of grades and
    ids, because the last bits of sums depend on it."""
    key = matches.list * (int(rank.max(initial=0)) + 1) + rank
    if np.all(key[1:] > key[:-1]):
        return slice(None)
    order = np.argsort(key, kind="stable")
    if np.all(np.diff(key[order]) > 0):
        return order
    grade, item = grades[matches.truth], ids(np.arange(len(key)))
    return np.lexsort((item, grade, key))


def _rank_as_taken(ranked: RankedLists) -> Integers:
    """Return the ranks with tied items in the order in which they are taken if lists are cut."""
    return (
        ranked.matches.above + ranked.matches.before + 1 if ranked.taken is None else ranked.taken
    )


def _require_lists(sources: Inputs) -> None:
    """Raise an error about empty predictions. In a batch, the users may have seen all of their
    candidates."""
    found = f"the predictions ({sources.predictions.source}) are empty"
    if sources.offered is not None and sources.left == "all":
        raise NothingToEvaluate(
            f"{found}: all candidates are in the training data of their users.",
            "at least one candidate to rank.",
            "to rank items of the training data, too, set seen='kept'.",
        )
    if sources.offered is None and sources.left not in ("part", "some"):
        raise NothingToEvaluate(f"{found}.", "at least one recommended item.")


def _read_ranking(sides: Aligned, convention: Convention, ledger: Ledger) -> Ranking:
    """Return the lists with the column that orders them."""
    predictions = sides.sources.predictions
    if not predictions.frame.height:
        _require_lists(sides.sources)
    order = order_of(predictions, convention.order)
    ledger.note("order", describe(predictions, order))
    ledger.count("prediction_rows", predictions.frame.height, "rows in the predictions")
    items = sides.column("item")
    if order == "given":
        return Ranking(sides.lists, items, None)
    require_finite(predictions, order)
    key = sort_key(sides.column(order), order, convention.score_precision)
    if order == "rank":
        account_for_ranks(sides, Ranking(sides.lists, items, key), convention, ledger)
    if _keeps_ranks(sides, convention):
        require_sortable(sides, convention.replace(ties="item_ascending"))
        return Ranking(sides.lists, items, key, items)
    sequence = None
    if convention.ties.startswith("item"):
        require_sortable(sides, convention)
    if convention.sorts_ties_by_id and convention.ties != "item_descending":
        sequence = items
    elif convention.ties == "item_descending":
        sequence = items.map(lambda part: -1 - part)
    return Ranking(sides.lists, items, key, sequence)


def match_lists(
    sides: Aligned, ranking: Ranking, truth: Truth, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """Match lists with the truth, and handle items with low scores or the key of their list,
    duplicates and unjudged items."""
    if convention.own_item == "removed":
        ranking = _drop_own_items(sides, ranking, ledger)
    if convention.scores_from is not None:
        ranking = _drop_low_scores(sides, ranking, convention.scores_from, ledger)
    matches, repeated = match(ranking, truth.rows, truth.items)
    if repeated.any():
        _account_for_duplicates(sides, ranking, repeated, convention, ledger)
        ranking, matches = _match_with_duplicates(ranking, truth, convention)
    else:
        handed = int(sides.handed.sum())
        ledger.count("lists_with_duplicates", 0, "lists contain an item twice", handed)
    if convention.unjudged == "dropped":
        ranking, matches = _drop_unjudged(ranking, truth, matches, convention, ledger)
    _require_same_ids(sides, ranking, truth, matches)
    return ranking, matches


def _drop_own_items(sides: Aligned, ranking: Ranking, ledger: Ledger) -> Ranking:
    """Remove the items whose id is the key of their list."""
    lists, positions = ranking.lists.expand()
    items = sides.sources.predictions.frame["item"].cast(pl.String)
    keys = sides.keys.cast(pl.String)
    keep = (items.gather(ranking.lists.rows(positions)) != keys.gather(lists)).to_numpy()
    ledger.count(
        "rows_own_item",
        int((~keep).sum()),
        "items have the id of their list: removed before ranking",
        len(keep),
        weight="notice",
    )
    return ranking.keep(lists[keep], positions[keep])


def _drop_low_scores(
    sides: Aligned, ranking: Ranking, scores_from: float, ledger: Ledger
) -> Ranking:
    """Remove items with a score below the threshold from the lists."""
    lists, positions = ranking.lists.expand()
    keep = _read_scores(sides)[ranking.lists.rows(positions)] >= scores_from
    ledger.count(
        "rows_below_score",
        int((~keep).sum()),
        f"items have a score below {scores_from:g}: not recommended",
        len(keep),
        weight="notice",
    )
    return ranking.keep(lists[keep], positions[keep])


def _account_for_duplicates(
    sides: Aligned, ranking: Ranking, repeated: Integers, convention: Convention, ledger: Ledger
) -> None:
    number = int(np.flatnonzero(repeated)[0])
    low, size = ranking.lists.start[number], ranking.lists.length[number]
    list_items = ranking.items.whole[low : low + size]
    is_repeat = repeat_flags(np.zeros(size, np.int64), list_items, np.arange(size))
    rows = ranking.lists.rows(low + np.flatnonzero(is_repeat))
    if not sides.items.exact:
        raise Collision
    lists, handed = int((repeated > 0).sum()), int(sides.handed.sum())
    first = f"list {sides.label(number)}, item {sides.first_item('predictions', rows)}"
    fate = {
        "error": "", "first": "removed", "counted": "each counted",
        "one_hit": "each ranked, with one hit at most", "joined": "each counted as relevant",
    }[convention.duplicates]  # fmt: skip
    about = f"lists contain an item twice, {int(repeated.sum()):,} rows in all: {fate}"
    ledger.count("lists_with_duplicates", lists, about, handed, first, "warning")
    if convention.duplicates == "error":
        raise DuplicateItems(
            f"{lists} of {handed} lists contain an item twice (first: {first}).",
            "each item once per list.",
            "set duplicates='first' to keep the better rank, or fix the predictions.",
        )


def _match_with_duplicates(
    ranking: Ranking, truth: Truth, convention: Convention
) -> tuple[Ranking, Matches]:
    if convention.duplicates != "first":
        return ranking, join(ranking, truth.rows, truth.items)
    lists, positions = ranking.lists.expand()
    preference = np.arange(len(positions)) if ranking.key is None else -ranking.key.whole[positions]
    is_repeat = repeat_flags(lists, ranking.items.whole[positions], preference)
    ranking = ranking.keep(lists[~is_repeat], positions[~is_repeat])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _drop_unjudged(
    ranking: Ranking, truth: Truth, matches: Matches, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """Remove the items that the truth does not judge from the lists."""
    lists, positions = ranking.lists.expand()
    judged_positions = np.zeros(len(ranking.items), bool)
    is_judged = (truth.grades[matches.truth] >= 0) | (convention.negative_grades != "sampled")
    judged_positions[(ranking.lists.start[matches.list] + matches.position)[is_judged]] = True
    keep = judged_positions[positions]
    ledger.count(
        "rows_unjudged",
        int((~keep).sum()),
        "recommended items are not judged: removed before ranking",
        len(keep),
        weight="notice",
    )
    ranking = ranking.keep(lists[keep], positions[keep])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _require_same_ids(sides: Aligned, ranking: Ranking, truth: Truth, matches: Matches) -> None:
    """Compare the ids themselves if the codes are hashes."""
    rows = ranking.lists.rows(ranking.lists.start[matches.list] + matches.position)
    if not sides.items.same("predictions", rows, "truth", truth.rows.rows(matches.truth)):
        raise Collision

"""Judged lists from dense scores, by plain sorting: what metrics see, without the package's own
judging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, fsum, inf, log

import numpy as np

from rectitude.arrays import Ragged
from rectitude.judge.judged import Extras, Judged, Single

TIES = ("pessimistic", "optimistic", "average", "item_ascending", "item_descending")


def ordered(row: Sequence[float], wanted: Sequence[int], ties: str) -> list[int]:
    """The columns of a row, best first, equals as the rule says."""
    tie = {
        "pessimistic": lambda c: (c in wanted, c),
        "optimistic": lambda c: (c not in wanted, c),
        "average": lambda c: (c in wanted, c),
        "item_ascending": lambda c: c,
        "item_descending": lambda c: -c,
    }[ties]
    return sorted(range(len(row)), key=lambda c: (-row[c], tie(c)))


def judged(
    scores: Sequence[Sequence[float]],
    relevant: Sequence[Sequence[int]],
    ties: str = "pessimistic",
    told: Sequence[bool] | None = None,
) -> Judged:
    """Dense rows with their relevant columns; one outside the columns is relevant and not found.

    A row that is not told has no truth."""
    lists, ranks, lasts, places, lengths = [], [], [], [], []
    for number, row in enumerate(scores):
        wanted = relevant[number] if told is None or told[number] else ()
        order = ordered(row, wanted, ties)
        lengths.append(len(wanted))
        found = []
        for place, column in enumerate(wanted):
            if column in order:
                rank = last = order.index(column) + 1
                if ties == "average":
                    rank = 1 + sum(s > row[column] for s in row)
                    last = sum(s >= row[column] for s in row)
                found.append((rank, last, place))
        found.sort()
        lists += [number] * len(found)
        ranks += [rank for rank, _, _ in found]
        lasts += [last for _, last, _ in found]
        places += [place for _, _, place in found]
    size = len(lengths)
    widths = np.array([len(row) for row in scores], np.int64)
    return Judged(
        list=np.array(lists, np.int64),
        rank=np.array(ranks, np.int64),
        grade=np.ones(len(lists)),
        place=np.array(places, np.int64),
        returned=widths,
        truth=Ragged(np.concatenate(([0], np.cumsum(lengths))), np.ones(sum(lengths))),
        handed=np.ones(size, bool),
        in_truth=np.array(lengths) > 0,
        last=np.array(lasts, np.int64) if ties == "average" else None,
        extras=Extras(candidates=widths),
    )


def classified(
    logits: Sequence[Sequence[float]],
    targets: Sequence[int],
    ties: str = "pessimistic",
    told: Sequence[bool] | None = None,
) -> Judged:
    """Rows of logits with one target each."""
    classes = len(logits[0])
    lists = judged(logits, [[t] for t in targets], ties, told)
    top = [ordered(row, [t], ties)[0] for row, t in zip(logits, targets, strict=True)]
    loss = [log_loss(row, target) for row, target in zip(logits, targets, strict=True)]
    single = Single(
        np.minimum(np.array(targets, np.int64), classes), np.array(top, np.int64), classes,
        np.array(loss),
    )  # fmt: skip
    return replace(lists, extras=replace(lists.extras, single=single))


def log_loss(row: Sequence[float], target: int) -> float:
    """-ln of the target's probability."""
    if target >= len(row) or row[target] == -inf:
        return inf
    highest = max(row)
    return highest + log(fsum(exp(score - highest) for score in row)) - row[target]

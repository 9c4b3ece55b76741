"""How frameworks make candidates, each under its name, with what is odd about it counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Integers
from rectitude.candidates.catalogue import full, given, train_items
from rectitude.candidates.drawing import Groups, Urn, draw
from rectitude.candidates.estimators import warning
from rectitude.candidates.parts import Parts, parts_of
from rectitude.candidates.sampling import finished, sampled
from rectitude.candidates.value import Candidates
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, unknown_name
from rectitude.prepare.draws import numbers
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl


def elliot(split: Split, count: int = 99, *, seed: int = 0) -> Candidates:
    """Elliot's random negatives: distinct items of the whole table for every user of it, none of
    them in his training or truth, future items included. The truth is not among them: evaluate
    with the switch candidates='with_truth'."""
    drawn = sampled(split, count, known="ever", users="all", positives="left_out", seed=seed)
    return replace(drawn, settings={**drawn.settings, "kind": "elliot"})


def recbole(split: Split, count: int = 100, *, popular: float = 0.0, seed: int = 0) -> Candidates:
    """RecBole's uniN and popN: N negatives for each positive with replacement, from all items the
    user never met, future items included. Repeats collapse when scores are ranked, so that fewer
    than N are. `popular` is the exponent of popN, 0 for uniN."""
    weight = "popularity" if popular else "uniform"
    drawn = sampled(
        split, count, per="positive", replacement="with", known="ever", weight=weight,
        exponent=popular, seed=seed,
    )  # fmt: skip
    return replace(drawn, settings={**drawn.settings, "kind": "recbole"})


def daisyrec(split: Split, count: int = 1000, *, seed: int = 0) -> Candidates:
    """DaisyRec's candidate sets: `count` rows for each user, his truth among them.

    Negatives are drawn with replacement, so that some repeat, and future items are drawn too. A
    user with `count` positives or more has positives only, drawn with replacement: some are lost.
    """
    if count < 1:
        raise BadName(f"{count} candidates were asked for.", "a number from 1 on.")
    parts = parts_of(split)
    owner, size = np.unique(parts.truth["user"].to_numpy(), return_counts=True)
    many = size >= count
    groups = Groups(owner, np.full(len(owner), -1), np.where(many, 0, count - size))
    urn = Urn(np.ones(len(parts.items)), np.union1d(*map(parts.keys, (parts.train, parts.truth))))
    _require_negatives(urn, groups, parts)
    group, item = draw(urn, groups, seed, "with")
    crowded = owner[many]
    whole = parts.truth.filter(~parts.truth["user"].is_in(crowded))
    lists = [
        (owner[group], item),
        (whole["user"].to_numpy(), whole["item"].to_numpy()),
        _positives_again(parts, crowded, size[many], count, seed),
    ]
    frame = finished(parts, [_unlinked(*rows) for rows in lists], linked=False)
    ledger = _oddities(parts, frame, item, count, int(many.sum()))
    settings = {"kind": "daisyrec", "count": count}
    return Candidates(frame, parts.users.gather(owner).alias("user"), settings, seed, ledger)


def _require_negatives(urn: Urn, groups: Groups, parts: Parts) -> None:
    left = urn.left(len(parts.users))[groups.owner]
    none = np.flatnonzero((left < 1) & (groups.count > 0))
    if len(none):
        raise BadName(
            f"{len(none):,} of {len(left):,} users have met every item, so that nothing is left to "
            f"draw (first: user {parts.users[int(groups.owner[none[0]])]!r}).",
            "items that the user has neither in training nor in the truth.",
        )


def _positives_again(
    parts: Parts, users: Integers, size: Integers, count: int, seed: int
) -> tuple[Integers, Integers]:
    """Positives of some users, drawn with replacement."""
    mine = parts.truth.filter(parts.truth["user"].is_in(users))
    row = np.repeat(np.arange(len(users)), count)
    number = np.tile(np.arange(count), len(users))
    chance = numbers(seed, users[row], np.zeros_like(row), number)
    at = (np.cumsum(size) - size)[row] + (chance * size[row]).astype(np.int64)
    return users[row], mine["item"].to_numpy()[at]


def _unlinked(user: Integers, item: Integers) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({"user": user, "item": item, "positive": np.full(len(user), -1)})


def _oddities(
    parts: Parts, frame: pl.DataFrame, negatives: Integers, count: int, crowded: int
) -> Ledger:
    ledger = Ledger()
    users = parts.truth["user"].n_unique()
    distinct = frame.n_unique()
    found = frame.unique().join(_named(parts), on=["user", "item"], how="semi").height
    ahead = int(np.isin(negatives, parts.future).sum())
    ledger.count("repeated", frame.height - distinct, "candidates are repeats and count once",
                 of=frame.height, weight="warning")  # fmt: skip
    ledger.count("positives_lost", parts.truth.height - found, "positives were not drawn",
                 of=parts.truth.height, weight="warning")  # fmt: skip
    ledger.count("crowded", crowded, f"users have {count} positives or more, and no negatives",
                 of=users, weight="warning")  # fmt: skip
    ledger.count("future_items", ahead, "negatives are met in the truth for the first time",
                 of=len(negatives), weight="warning")  # fmt: skip
    ledger.note("sampling", warning(count, len(parts.items)))
    return ledger


def _named(parts: Parts) -> pl.DataFrame:
    import polars as pl

    users, items = parts.users.gather(parts.truth["user"]), parts.items.gather(parts.truth["item"])
    return pl.DataFrame({"user": users, "item": items})


CANDIDATES: Mapping[str, Callable[..., Candidates]] = {
    "full": full,
    "train_items": train_items,
    "given": given,
    "sampled": sampled,
    "daisyrec": daisyrec,
    "elliot": elliot,
    "recbole": recbole,
}
"""Ways to make candidates, by the names that recipes use."""


def candidates_of(split: Split, kind: str, **settings: object) -> Candidates:
    """Candidates of a named kind or of a framework's protocol."""
    if kind not in CANDIDATES:
        raise unknown_name("kind of candidates", kind, CANDIDATES)
    return CANDIDATES[kind](split, **settings)

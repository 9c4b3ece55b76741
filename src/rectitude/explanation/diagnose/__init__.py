"""`diagnose`: what stands behind an NDCG: whom it is over, what it is divided by, where hits are.

One NDCG can be low because lists have no hit, because hits are few, or because they stand low; and
two NDCGs can differ because they are two quantities. All of it is measured here on the same lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np

from rectitude.aggregate.sums import counted
from rectitude.arrays import Floats
from rectitude.convention import Convention
from rectitude.errors import RectitudeError
from rectitude.evaluation.inputs import Arguments, given_of
from rectitude.explanation.diagnose.reference import ReferenceCheck, compared_with, differing
from rectitude.explanation.diagnose.result import Diagnosis, Quantity, Ranks, verdict
from rectitude.explanation.trials import Trials
from rectitude.judge.judged import Judged
from rectitude.metrics.names import Name
from rectitude.metrics.targets import middle_rank
from rectitude.profiles import Asked, profile_of

IDEALS = {
    "truth": ("reachable", "ideal from the truth"),
    "hits": ("found", "ideal from the hits: items missed cost nothing"),
    "ranks": ("k", "ideal of a hit at every rank"),
}
"""The ideal lists that are tried: the choice of the switch, and its words."""
LISTS = {"all": "over all lists", "hit": "over lists with a hit"}
BY_TRUTH = "over all lists, discounted by the place in the truth, ideal from the hits"


def diagnose(
    predictions: object,
    truth: object,
    k: int = 10,
    convention: object = None,
    reference: float | str | None = None,
    *,
    reference_convention: object = None,
    **inputs: Unpack[Arguments],
) -> Diagnosis:
    """Take NDCG at a cutoff apart, and compare it with a published value.

    `reference` is that value, as text if the zeros at its end count; `reference_convention` says
    under which convention it was computed, if that is known. The other arguments are those of
    `evaluate`.

    >>> diagnose({"ann": ["a", "b"]}, {"ann": ["b"]}).ranks.mean
    2.0
    """
    profile, name = profile_of(convention), Name("ndcg", at=str(k))
    asked = profile.resolve(name)
    known = reference_convention is not None
    theirs = profile_of(reference_convention).resolve(name) if known else None
    tried = _tried(asked)
    given = given_of(predictions, truth, inputs, profile.padding)
    deepest = [one for _, one in tried.values()] + ([] if theirs is None else [theirs])
    trials = Trials(given, deepest)
    quantities = {name: _quantity(trials, words, one) for name, (words, one) in tried.items()}
    everyone = tried["all_truth"][1]
    lists = trials.judged(everyone)
    comparison = None
    if reference is not None:
        comparison = _compared(trials, reference, quantities, asked, theirs)
    weights = trials.keys(everyone).weights
    rate, ranks = _hit_rate(lists, everyone, k, weights), _ranks(lists, everyone, k)
    return _diagnosis(asked, profile.label, quantities, rate, ranks, comparison)


def _tried(asked: Asked) -> dict[str, tuple[str, Asked]]:
    """Every number to be computed: its words, and what is computed for it."""
    found = {"in_force": ("as the convention says", _under(asked, asked.convention))}
    for lists, whom in LISTS.items():
        for ideal, (choice, words) in IDEALS.items():
            convention = _population(asked.convention, lists).replace(ideal=choice)
            found[f"{lists}_{ideal}"] = (f"{whom}, {words}", _under(asked, convention))
    convention = _population(asked.convention, "all").replace(ideal="found", discount_by="place")
    found["all_by_truth"] = (BY_TRUTH, _under(asked, convention))
    return found


def _under(asked: Asked, convention: Convention) -> Asked:
    return replace(asked, convention=convention.replace(scale="fraction", decimals=None))


def _population(convention: Convention, lists: str) -> Convention:
    """The convention over all lists that it wants, or over those of them that have a hit.

    A list whose ideal is 0 counts 0, so that the number of lists is the same for every ideal; where
    the convention leaves 0/0 out, that is every list without relevant items.
    """
    needed = "hit" if lists == "hit" else convention.list_needed
    changes: dict[str, str] = {"undefined": "zero", "list_needed": needed}
    if lists == "all" and convention.list_needed == "hit":
        changes["list_needed"] = "none"
    if convention.undefined == "skip":
        changes["truth_needed"] = "relevant"
    return convention.replace(**changes)


def _quantity(trials: Trials, words: str, asked: Asked) -> Quantity:
    try:
        result = trials.result(asked)
    except RectitudeError as error:
        if words.startswith("over all lists, ideal from the truth"):
            raise
        return Quantity(words, None, why=error.found)
    if not result.counted:
        return Quantity(words, None, why="no list has a hit.")
    value = float(result.value)
    return Quantity(words, value if np.isfinite(value) else None, result.counted)


def _compared(
    trials: Trials,
    reference: float | str,
    quantities: Mapping[str, Quantity],
    asked: Asked,
    theirs: Asked | None,
) -> ReferenceCheck:
    """The published value beside the quantities, and beside what its own convention gives here."""
    if theirs is None:
        return compared_with(reference, _values(quantities))
    differs = differing(asked, theirs)
    own = _quantity(trials, "", _under(theirs, theirs.convention)).value
    changes = {
        switch: asked.convention.replace(**{switch: other})
        for switch, (_, other) in differs.items()
    }
    in_force = quantities["in_force"].value
    matter = {
        switch: differs[switch]
        for switch, changed in changes.items()
        if _quantity(trials, "", _under(asked, changed)).value != in_force
    }
    return compared_with(reference, _values(quantities), matter or differs, own)


def _values(quantities: Mapping[str, Quantity]) -> dict[str, tuple[str, float]]:
    return {
        name: (one.words, one.value) for name, one in quantities.items() if one.value is not None
    }


def _hit_rate(lists: Judged, asked: Asked, k: int, weights: Floats | None) -> float:
    """The share of the lists that count that have a hit, or may have one where ties are averaged,
    by their weights."""
    counts = counted(lists, asked.convention, k)
    weighed = None if weights is None else weights[counts]
    return float(np.average(lists.hits(k)[counts] > 0, weights=weighed))


def _ranks(lists: Judged, asked: Asked, k: int) -> Ranks:
    """Where hits stand, in the lists that count; where ties are averaged, in the middle of them."""
    counts = counted(lists, asked.convention, k)
    rank = middle_rank(lists)
    hits = rank[lists.hit & counts[lists.list] & (rank <= k)]
    return Ranks(
        len(hits),
        int(lists.relevant[counts].sum()),
        float(hits.mean()) if len(hits) else None,
        float(np.median(hits)) if len(hits) else None,
        tuple(np.bincount(hits.astype(np.int64), minlength=k + 1)[1:].tolist()),
    )


def _diagnosis(
    asked: Asked,
    label: str,
    quantities: Mapping[str, Quantity],
    hit_rate: float,
    ranks: Ranks,
    comparison: ReferenceCheck | None,
) -> Diagnosis:
    of = {name: quantity.value for name, quantity in quantities.items()}
    found = Diagnosis(
        metric=str(asked.name),
        profile=label,
        value=of["in_force"],
        lists=quantities["all_truth"].counted,
        hit_rate=hit_rate,
        quantities=quantities,
        ratio=_over(of["hit_truth"], of["all_truth"]),
        completeness=_over(of["hit_truth"], of["hit_hits"]),
        order=of["hit_hits"],
        ranks=ranks,
        reference=comparison,
        verdict=(),
    )
    return replace(found, verdict=verdict(found))


def _over(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below

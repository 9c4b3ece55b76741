"""`diagnose`: what is behind an NDCG value: which lists count, which ideal, and the ranks of hits.

NDCG can be low because lists have no hit, because they have few hits, or because hits have low
ranks. Two NDCG values can also differ because they are different quantities. All of this is
measured here on the same lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np

from rectitude.aggregate.sums import counts_in_mean
from rectitude.arrays import Floats
from rectitude.convention import Convention
from rectitude.errors import BadArgument, RectitudeError
from rectitude.evaluation.inputs import Arguments, gather_arguments
from rectitude.explanation.diagnose.reference import ReferenceCheck, compare_with, differing
from rectitude.explanation.diagnose.result import Diagnosis, Quantity, Ranks, verdict
from rectitude.explanation.trials import Trials
from rectitude.judge.judged import Judged
from rectitude.metrics.names import Name
from rectitude.metrics.targets import middle_rank
from rectitude.profiles import Asked, profile_of

IDEALS = {
    "truth": ("reachable", "ideal from the truth"),
    "hits": ("found", "ideal from the hits, so missed items cost nothing"),
    "ranks": ("k", "ideal with a hit at every rank"),
}
"""The ideals that are tried: the choice of the `ideal` switch, and its description."""
LISTS = {"all": "over all lists", "hit": "over lists with a hit"}
BY_TRUTH = "over all lists, discounted by the position in the truth, ideal from the hits"


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
    """Break down NDCG at a cutoff, and compare it with a published value.

    `reference` is the published value; pass it as text to keep trailing zeros.
    `reference_convention` is the convention under which it was computed, if you know it. The other
    arguments are those of `evaluate`.

    >>> diagnose({"ann": ["a", "b"]}, {"ann": ["b"]}).ranks.mean
    2.0
    """
    if isinstance(k, str) and not k.isdecimal():
        raise BadArgument(
            f"k is {k!r}.", "a whole number: diagnose is about NDCG, and k is its cutoff.",
            "for example: rt.diagnose(predictions, truth, k=10).",
        )  # fmt: skip
    profile, name = profile_of(convention), Name("ndcg", at=str(k))
    asked = profile.resolve(name)
    is_known = reference_convention is not None
    published = profile_of(reference_convention).resolve(name) if is_known else None
    variants = _list_variants(asked)
    arguments = gather_arguments(predictions, truth, inputs, profile.padding)
    deepest = [variant for _, variant in variants.values()]
    deepest += [] if published is None else [published]
    trials = Trials(arguments, deepest)
    quantities = {
        name: _quantity(trials, words, variant) for name, (words, variant) in variants.items()
    }
    over_all = variants["all_truth"][1]
    lists = trials.judged(over_all)
    comparison = None
    if reference is not None:
        comparison = _compare_reference(trials, reference, quantities, asked, published)
    weights = trials.keys(over_all).weights
    rate, ranks = _hit_rate(lists, over_all, k, weights), _ranks(lists, over_all, k)
    return _diagnosis(asked, profile.label, quantities, rate, ranks, comparison)


def _list_variants(asked: Asked) -> dict[str, tuple[str, Asked]]:
    """Return every variant of NDCG to compute: its description and its definition."""
    variants = {"in_force": ("as the convention defines it", _under(asked, asked.convention))}
    for lists, which_lists in LISTS.items():
        for ideal, (choice, words) in IDEALS.items():
            convention = _population(asked.convention, lists).replace(ideal=choice)
            variants[f"{lists}_{ideal}"] = (f"{which_lists}, {words}", _under(asked, convention))
    convention = _population(asked.convention, "all").replace(ideal="found", discount_by="place")
    variants["all_by_truth"] = (BY_TRUTH, _under(asked, convention))
    return variants


def _under(asked: Asked, convention: Convention) -> Asked:
    return replace(asked, convention=convention.replace(scale="fraction", decimals=None))


def _population(convention: Convention, lists: str) -> Convention:
    """Return the convention over all lists that it counts, or over those of them with a hit.

    A list whose ideal is 0 counts as 0, so the number of lists is the same for every ideal. If the
    convention skips 0/0, lists without relevant items are left out.
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


def _compare_reference(
    trials: Trials,
    reference: float | str,
    quantities: Mapping[str, Quantity],
    asked: Asked,
    published: Asked | None,
) -> ReferenceCheck:
    """Compare the published value with the quantities, and with what its convention gives here."""
    if published is None:
        return compare_with(reference, _values(quantities))
    differs = differing(asked, published)
    own = _quantity(trials, "", _under(published, published.convention)).value
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
    return compare_with(reference, _values(quantities), matter or differs, own)


def _values(quantities: Mapping[str, Quantity]) -> dict[str, tuple[str, float]]:
    return {
        name: (quantity.words, quantity.value)
        for name, quantity in quantities.items()
        if quantity.value is not None
    }


def _hit_rate(lists: Judged, asked: Asked, k: int, weights: Floats | None) -> float:
    """Return the weighted share of the counted lists that have a hit.

    If ties are averaged, a list that may have a hit is included.
    """
    counts = counts_in_mean(lists, asked.convention, k)
    counted_weights = None if weights is None else weights[counts]
    return float(np.average(lists.hits(k)[counts] > 0, weights=counted_weights))


def _ranks(lists: Judged, asked: Asked, k: int) -> Ranks:
    """Return the ranks of hits in the counted lists; averaged ties have their middle rank."""
    counts = counts_in_mean(lists, asked.convention, k)
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
    values = {name: quantity.value for name, quantity in quantities.items()}
    diagnosis = Diagnosis(
        metric=str(asked.name),
        profile=label,
        value=values["in_force"],
        lists=quantities["all_truth"].counted,
        hit_rate=hit_rate,
        quantities=quantities,
        ratio=_divide(values["hit_truth"], values["all_truth"]),
        completeness=_divide(values["hit_truth"], values["hit_hits"]),
        order=values["hit_hits"],
        ranks=ranks,
        reference=comparison,
        verdict=(),
    )
    return replace(diagnosis, verdict=verdict(diagnosis))


def _divide(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below

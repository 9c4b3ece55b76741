"""`Diagnosis`: what is behind an NDCG value, as numbers, tables and sentences."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.explanation.diagnose.reference import ReferenceCheck
from rectitude.render import Grid, Printable

_EVERY_RANK = 10
_CLOSE = 1e-9
_LOST = {
    "hit rate": "the largest loss comes from lists without a hit; more relevant items must get "
    "into the top {k} at all",
    "completeness": "the largest loss comes from lists with a hit that miss other relevant items",
    "order": "the largest loss comes from hits that are ranked below items that are not relevant",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """One of the quantities that are called NDCG."""

    words: str
    value: float | None
    """None if these lists have no such value"""
    counted: int = 0
    why: str = ""
    """why there is no value"""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of the hits up to the cutoff."""

    hits: int
    relevant: int
    """relevant items of all lists that count"""
    mean: float | None
    median: float | None
    at: tuple[int, ...]
    """the number of hits at rank 1, 2, ..."""


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Printable):
    """What is behind an NDCG value, and what follows from it."""

    metric: str
    profile: str
    value: float | None
    """the metric under the convention in force"""
    lists: int
    hit_rate: float
    quantities: Mapping[str, Quantity]
    """the values under each definition, by name: in_force, all_truth, hit_truth, ..."""
    ratio: float | None
    """NDCG over lists with a hit / NDCG over all lists, ideal from the truth"""
    completeness: float | None
    """ideal from the hits / ideal from the truth: how much of what could be found was found"""
    order: float | None
    """NDCG over lists with a hit, ideal from the hits: how well the hits are ordered"""
    ranks: Ranks
    reference: ReferenceCheck | None
    verdict: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the diagnosis as a dict for JSON."""
        return {"format": "rectitude.diagnosis", "version": 1, **asdict(self)}

    def to_json(self) -> str:
        """Return the diagnosis as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def _shown(self) -> Iterator[str | Grid]:
        return _shown(self)


def _shown(diagnosis: Diagnosis) -> Iterator[str | Grid]:
    """Yield the values, the ranks of hits, and the verdict."""
    value = _format(diagnosis.value)
    basis = f"profile: {diagnosis.profile}; lists: {diagnosis.lists:,}"
    yield from (f"{diagnosis.metric} = {value}  ({basis})", "")
    for missing in _describe_missing(diagnosis):
        yield from (missing, "")
    yield from (f"hit rate = {diagnosis.hit_rate:.6f}", "", _table(diagnosis), "")
    yield from (*_ranks(diagnosis.ranks), "", "Verdict")
    for sentence in diagnosis.verdict:
        yield textwrap.fill(sentence, 100, initial_indent="- ", subsequent_indent="  ")


def _format(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6f}"


def _describe_missing(diagnosis: Diagnosis) -> list[str]:
    """Say why values are missing, unless no list has a hit, which the verdict says."""
    reasons = dict.fromkeys(
        quantity.why for quantity in diagnosis.quantities.values() if quantity.why
    )
    return ["\n".join(f"! {why}" for why in reasons)] if reasons and diagnosis.hit_rate else []


def _table(diagnosis: Diagnosis) -> Grid:
    def cell(name: str) -> str:
        value = diagnosis.quantities[name].value
        return "none" if value is None else f"{value:.6f}"

    heading = ["ideal from", "over all lists", "over lists with a hit", "ratio"]
    rows = []
    for ideal, words in (
        ("truth", "the truth"), ("hits", "the hits"), ("ranks", "a hit at every rank"),
    ):  # fmt: skip
        over_all, over_hit = (
            diagnosis.quantities[f"{lists}_{ideal}"].value for lists in ("all", "hit")
        )
        ratio = "" if not over_all or over_hit is None else f"{over_hit / over_all:.4f}"
        rows.append([words, cell(f"all_{ideal}"), cell(f"hit_{ideal}"), ratio])
    by_truth = "the hits, discounted by the position in the truth"
    rows.append([by_truth, cell("all_by_truth"), "", ""])
    return Grid(heading, rows)


def _ranks(ranks: Ranks) -> list[str | Grid]:
    if ranks.mean is None or ranks.median is None:
        return [f"hits up to rank {len(ranks.at)}: none; relevant items: {ranks.relevant:,}"]
    rows = []
    for first, last in _rank_ranges(len(ranks.at)):
        hits = sum(ranks.at[first - 1 : last])
        label = str(first) if first == last else f"{first} to {last}"
        rows.append([label, f"{hits:,}", f"{hits / ranks.hits:.1%}"])
    summary = f"hits: {ranks.hits:,}; relevant items: {ranks.relevant:,}; rank of hits: mean "
    summary += f"{ranks.mean:.2f}, median {ranks.median:g}"
    return [summary, "", Grid(["rank", "hits", "share"], rows)]


def _rank_ranges(k: int) -> list[tuple[int, int]]:
    """Return single ranks up to 10, then growing ranges: 11 to 20, 21 to 50, 51 to 100."""
    ends, end = list(range(min(k, _EVERY_RANK) + 1)), _EVERY_RANK
    factors = [2.0, 2.5, 2.0]
    while end < k:
        end = int(end * factors[(len(ends) - _EVERY_RANK - 1) % 3])
        ends.append(min(end, k))
    return [(low + 1, high) for low, high in pairwise(ends)]


def verdict(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return what follows from the values, one or two sentences per topic."""
    sentences = [
        _describe_population(diagnosis), _describe_ideal(diagnosis),
        _describe_losses(diagnosis), _describe_ranks(diagnosis),
    ]  # fmt: skip
    if diagnosis.reference is not None:
        sentences.append(_describe_reference(diagnosis, diagnosis.reference))
    return tuple(sentence for sentence in sentences if sentence)


def _describe_population(diagnosis: Diagnosis) -> str:
    over_all, over_hit = (diagnosis.quantities[f"{lists}_truth"].value for lists in ("all", "hit"))
    if not diagnosis.hit_rate:
        return "No list has a hit, so NDCG over lists with a hit is undefined."
    if diagnosis.hit_rate == 1:
        return "Every list has a hit: NDCG over lists with a hit is the same."
    share = f"{diagnosis.hit_rate:.1%} of the lists have a hit"
    if over_hit is None or over_all is None or diagnosis.ratio is None:
        return f"{share}."
    exact = abs(diagnosis.ratio * diagnosis.hit_rate - 1) < _CLOSE
    because = "The factor is 1 / hit rate, because the same sum is divided by fewer lists"
    if not exact:
        because = "It is averaged over fewer lists"
    return (
        f"{share}. Over these lists alone, NDCG is {diagnosis.ratio:.2f} times as high "
        f"({over_hit:.6f}). {because}. Both are valid, but only the value over all lists "
        f"({over_all:.6f}) counts misses; the other one rises when a model misses hard lists "
        "completely."
    )


def _describe_ideal(diagnosis: Diagnosis) -> str:
    truth, hits = (diagnosis.quantities[f"all_{ideal}"].value for ideal in ("truth", "hits"))
    if truth is None or not hits:
        return ""
    if abs(hits - truth) < _CLOSE:
        return (
            "The ideal from the hits gives the same value here: lists with a hit contain every "
            "relevant item that fits."
        )
    return (
        f"If the ideal is built from the hits instead of the truth, NDCG is {hits:.6f} instead of "
        f"{truth:.6f}. Missed items then cost nothing, and one more hit at a low rank can even "
        "lower the value. It measures the order of the hits, not the quality of the list."
    )


def _describe_losses(diagnosis: Diagnosis) -> str:
    """Write the value as a product, and name its smallest factor."""
    whole, order, complete = (
        diagnosis.quantities["all_truth"].value, diagnosis.order, diagnosis.completeness,
    )  # fmt: skip
    if not whole or order is None or complete is None:
        return ""
    factors = {"hit rate": diagnosis.hit_rate, "completeness": complete, "order": order}
    product = diagnosis.hit_rate * complete * order
    if abs(product - whole) > _CLOSE * whole:
        return ""
    least = min(factors, key=lambda name: factors[name])
    shown = " x ".join(f"{value:.4f} ({name})" for name, value in factors.items())
    loss = _LOST[least].format(k=len(diagnosis.ranks.at))
    return f"Over all lists, ideal from the truth, NDCG is {whole:.6f} = {shown}: {loss}."


def _describe_ranks(diagnosis: Diagnosis) -> str:
    ranks, k = diagnosis.ranks, len(diagnosis.ranks.at)
    if ranks.mean is None or ranks.median is None:
        return ""
    return (
        f"The mean rank of hits is {ranks.mean:.2f}, the median {ranks.median:g}. If hits were "
        f"spread at random over the first {k} ranks, the mean would be {(k + 1) / 2:g}."
    )


def _describe_reference(diagnosis: Diagnosis, reference: ReferenceCheck) -> str:
    if reference.standing == "void":
        return _describe_void(diagnosis, reference)
    value, start = _format(diagnosis.value), f"Reference {reference.given}"
    nearest = f"{diagnosis.quantities[reference.nearest].words} ({reference.nearest_value:.6f})"
    return {
        "same": f"{start} equals your value to the printed decimals: it is the same quantity, "
        "unless they agree by accident.",
        "comparable": f"{start} was computed in a way that gives your value ({value}) on these "
        "lists: the two can be compared, given the same cutoff and the same data.",
        "doubtful": f"{start}, your value {value}: the comparison is doubtful. Of all variants, "
        f"the reference is closest to NDCG {nearest}, which is another quantity. Find out how it "
        "was computed (--reference-convention) before you interpret the difference.",
        "open": f"{start}, your value {value}: it is unknown whether they are the same quantity. "
        f"The variants above give {_describe_range(diagnosis, reference.value)}. If you know how "
        "the reference was computed, pass --reference-convention.",
    }[reference.standing]


def _describe_void(diagnosis: Diagnosis, reference: ReferenceCheck) -> str:
    """Say why the reference is another quantity than the value in force."""
    start = (
        f"Reference {reference.given}, your value {_format(diagnosis.value)}: the two cannot be "
        "compared, they are different quantities."
    )
    switches = reference.differs.items()
    if not switches:
        words = "; ".join(diagnosis.quantities[name].words for name in reference.fits)
        return f"{start} To the printed decimals, the reference is NDCG {words}."
    differs = "; ".join(_describe_switch(switch, *pair) for switch, pair in switches)
    start += f" The reference's convention differs in {differs}."
    if reference.theirs is None:
        return start
    return (
        f"{start} Under that convention these lists give {reference.theirs:.6f}: compare that "
        "with the reference."
    )


def _describe_range(diagnosis: Diagnosis, reference: float) -> str:
    """Return the range of all variants, and whether it covers the reference."""
    quantities = diagnosis.quantities.values()
    values = [quantity.value for quantity in quantities if quantity.value is not None]
    low, high = min(values), max(values)
    described = f"{low:.6f} to {high:.6f} on these lists"
    inside = low <= reference <= high
    return f"{described}, so they alone could explain the difference" if inside else described


def _describe_switch(switch: str, in_force: object, published: object) -> str:
    choices = SWITCHES[switch].choices
    meaning = f" ({choices[str(published)]})" if str(published) in choices else ""
    return f"{switch}: {published}{meaning} instead of {in_force}"

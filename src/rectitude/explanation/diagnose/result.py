"""`Diagnosis`: what stands behind an NDCG, in numbers, in words and in tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.explanation.diagnose.reference import ReferenceCheck
from rectitude.render import Grid

_EVERY_RANK = 10
_CLOSE = 1e-9
_LOST = {
    "hit rate": "most is lost in lists without any hit: more relevant items must get into the "
    "first {k} at all",
    "completeness": "most is lost because lists with a hit miss other relevant items",
    "order": "most is lost because hits stand below items that are not relevant",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """One of the numbers that go by the name of NDCG."""

    words: str
    value: float | None
    """None where these lists have no such number"""
    counted: int = 0
    why: str = ""
    """why there is none"""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where the hits up to the cutoff stand."""

    hits: int
    relevant: int
    """relevant items in all lists that count"""
    mean: float | None
    median: float | None
    at: tuple[int, ...]
    """how many hits stand at rank 1, 2, ..."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What stands behind an NDCG, and what can be said of it."""

    metric: str
    profile: str
    value: float | None
    """the metric under the convention in force"""
    lists: int
    hit_rate: float
    quantities: Mapping[str, Quantity]
    """the same lists under other definitions, by name: in_force, all_truth, hit_truth, ..."""
    ratio: float | None
    """NDCG over lists with a hit / NDCG over all lists, ideal from the truth"""
    completeness: float | None
    """ideal from the hits / ideal from the truth, in effect: what is found of what could be"""
    order: float | None
    """NDCG over lists with a hit, ideal from the hits: how well the hits are ordered"""
    ranks: Ranks
    reference: ReferenceCheck | None
    verdict: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis for JSON."""
        return {"format": "rectitude.diagnosis", "version": 1, **asdict(self)}

    def to_json(self) -> str:
        """The diagnosis as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return text(self)


def text(found: Diagnosis) -> str:
    """The numbers, where hits stand, and what follows."""
    shown = "undefined" if found.value is None else f"{found.value:.6f}"
    head = f"{found.metric} = {shown}  (profile: {found.profile}; lists: {found.lists:,})"
    parts = [head, *_missing(found), _table(found), _ranks(found.ranks)]
    verdict = "\n".join(
        textwrap.fill(sentence, 100, initial_indent="- ", subsequent_indent="  ")
        for sentence in found.verdict
    )
    return "\n\n".join([*parts, f"Verdict\n{verdict}"])


def _missing(found: Diagnosis) -> list[str]:
    """Why some of the numbers are not there; that no list has a hit is said anyway."""
    reasons = dict.fromkeys(one.why for one in found.quantities.values() if one.why)
    return ["\n".join(f"! {why}" for why in reasons)] if reasons and found.hit_rate else []


def _table(found: Diagnosis) -> str:
    def cell(name: str) -> str:
        value = found.quantities[name].value
        return "none" if value is None else f"{value:.6f}"

    heading = ["ideal from", "over all lists", "over lists with a hit", "ratio"]
    rows = []
    for ideal, words in (
        ("truth", "the truth"), ("hits", "the hits"), ("ranks", "a hit at every rank"),
    ):  # fmt: skip
        one, other = (found.quantities[f"{lists}_{ideal}"].value for lists in ("all", "hit"))
        ratio = "" if not one or other is None else f"{other / one:.4f}"
        rows.append([words, cell(f"all_{ideal}"), cell(f"hit_{ideal}"), ratio])
    rows.append(["the hits, discounted by the place in the truth", cell("all_by_truth"), "", ""])
    return f"hit rate = {found.hit_rate:.6f}\n\n{Grid(heading, rows).text()}"


def _ranks(ranks: Ranks) -> str:
    if ranks.mean is None or ranks.median is None:
        return f"hits up to rank {len(ranks.at)}: none; relevant items: {ranks.relevant:,}"
    rows = []
    for first, last in _stretches(len(ranks.at)):
        hits = sum(ranks.at[first - 1 : last])
        label = str(first) if first == last else f"{first} to {last}"
        rows.append([label, f"{hits:,}", f"{hits / ranks.hits:.1%}"])
    said = f"hits: {ranks.hits:,}; relevant items: {ranks.relevant:,}; rank of hits: mean "
    table = Grid(["rank", "hits", "share"], rows).text()
    return f"{said}{ranks.mean:.2f}, median {ranks.median:g}\n\n{table}"


def _stretches(k: int) -> list[tuple[int, int]]:
    """Every rank by itself up to 10, then stretches that grow: 11 to 20, 21 to 50, 51 to 100."""
    ends, end = list(range(min(k, _EVERY_RANK) + 1)), _EVERY_RANK
    factors = [2.0, 2.5, 2.0]
    while end < k:
        end = int(end * factors[(len(ends) - _EVERY_RANK - 1) % 3])
        ends.append(min(end, k))
    return [(low + 1, high) for low, high in pairwise(ends)]


def verdict(found: Diagnosis) -> tuple[str, ...]:
    """What follows from the numbers, one sentence or two each."""
    said = [_population_said(found), _ideal_said(found), _losses_said(found), _rank_said(found)]
    if found.reference is not None:
        said += _reference_said(found, found.reference)
    return tuple(sentence for sentence in said if sentence)


def _population_said(found: Diagnosis) -> str:
    everyone, some = (found.quantities[f"{whom}_truth"].value for whom in ("all", "hit"))
    if not found.hit_rate:
        return "No list has a hit, so that NDCG over lists with a hit is not defined."
    if found.hit_rate == 1:
        return "Every list has a hit: NDCG over lists with a hit is the same."
    share = f"{found.hit_rate:.1%} of the lists have a hit"
    if some is None or everyone is None or found.ratio is None:
        return f"{share}."
    exact = abs(found.ratio * found.hit_rate - 1) < _CLOSE
    because = (
        "one over the hit rate: the same sum over fewer lists" if exact else "over fewer lists"
    )
    return (
        f"{share}. Over those alone NDCG is {found.ratio:.2f} times as high ({some:.6f}), "
        f"{because}. Both are right, but only the one over all lists ({everyone:.6f}) counts "
        "misses; the other rises when hard lists are missed altogether."
    )


def _ideal_said(found: Diagnosis) -> str:
    truth, hits = (found.quantities[f"all_{ideal}"].value for ideal in ("truth", "hits"))
    if truth is None or not hits:
        return ""
    if abs(hits - truth) < _CLOSE:
        return (
            "The ideal from the hits gives the same number here: lists with a hit have found all "
            "that could be found."
        )
    return (
        f"With the ideal built from the hits instead of the truth it is {hits:.6f} instead of "
        f"{truth:.6f}: an item that is missed then costs nothing, a smaller ideal makes a higher "
        "value, and one more hit at a low rank can lower it. That is the order of the hits, not "
        "the quality of the list."
    )


def _losses_said(found: Diagnosis) -> str:
    """The value as a product, and its smallest factor."""
    whole, order, complete = (
        found.quantities["all_truth"].value, found.order, found.completeness,
    )  # fmt: skip
    if not whole or order is None or complete is None:
        return ""
    factors = {"hit rate": found.hit_rate, "completeness": complete, "order": order}
    product = found.hit_rate * complete * order
    if abs(product - whole) > _CLOSE * whole:
        return ""
    least = min(factors, key=lambda name: factors[name])
    shown = " x ".join(f"{value:.4f} ({name})" for name, value in factors.items())
    words = _LOST[least].format(k=len(found.ranks.at))
    return f"Over all lists, ideal from the truth, {whole:.6f} = {shown}: {words}."


def _rank_said(found: Diagnosis) -> str:
    ranks, k = found.ranks, len(found.ranks.at)
    if ranks.mean is None or ranks.median is None:
        return ""
    return (
        f"Hits stand at rank {ranks.mean:.2f} on average, half of them up to rank "
        f"{ranks.median:g}; strewn at random over the first {k} ranks they would stand at "
        f"{(k + 1) / 2:g}."
    )


def _reference_said(found: Diagnosis, one: ReferenceCheck) -> list[str]:
    own = "undefined" if found.value is None else f"{found.value:.6f}"
    start = f"Reference {one.given}"
    words = {name: quantity.words for name, quantity in found.quantities.items()}
    near = f"{words[one.nearest]} ({one.nearest_value:.6f})"
    differs = "; ".join(_switch_said(switch, *pair) for switch, pair in one.differs.items())
    theirs = "" if one.theirs is None else f"{one.theirs:.6f}"
    said = {
        "same": f"{start} is the number in force to the decimals printed: the same quantity, if "
        "not by accident.",
        "comparable": f"{start} was computed in a way that gives the number in force ({own}) on "
        "these lists: the comparison stands, at the same cutoff and on the same data.",
        "void": f"{start} against {own}: the comparison is void, these are two quantities. ",
        "doubtful": f"{start} against {own}: the comparison is doubtful. Of what these lists give, "
        f"the reference is nearest to NDCG {near}, another quantity. Find out how it was computed "
        "(--reference-convention) before reading anything into the difference.",
        "open": f"{start} against {own}: nothing says whether it is the same quantity; the "
        f"definitions above give {_span(found, one.value)}. --reference-convention says how it was "
        "computed.",
    }[one.standing]
    if one.standing == "void" and differs:
        said += f"Its convention differs in {differs}. "
        said += f"Under that convention these lists give {theirs}: compare that." * bool(theirs)
    elif one.standing == "void":
        fitting = "; ".join(words[name] for name in one.fits)
        said += f"To the decimals printed, it is what these lists give {fitting}."
    return [said.rstrip()]


def _span(found: Diagnosis, reference: float) -> str:
    """What the definitions give, and whether they alone can make the difference."""
    values = [one.value for one in found.quantities.values() if one.value is not None]
    said = f"{min(values):.6f} to {max(values):.6f} on these lists"
    inside = min(values) <= reference <= max(values)
    return f"{said}, so that they alone could make the difference" if inside else said


def _switch_said(switch: str, one: object, other: object) -> str:
    choices = SWITCHES[switch].choices
    words = f" ({choices[str(other)]})" if str(other) in choices else ""
    return f"{switch}: {other}{words} instead of {one}"

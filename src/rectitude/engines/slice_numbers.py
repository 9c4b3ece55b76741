"""The numbers that the sums of slices stand for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rectitude.aggregate.evaluation import Result
from rectitude.data.ledger import Ledger
from rectitude.data.sliced import WHOLE, Number, Slices
from rectitude.data.slicing import in_order, label
from rectitude.engines.part import Part, results_of
from rectitude.engines.sliced import Cell, Sliced, Sums
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.metrics.facts import Facts
from rectitude.profiles import Asked, Profile


def slices_of(sums: Sums, whole: Part, asked: Sequence[Asked], profile: Profile) -> Slices | None:
    """Every metric of all lists and of every slice; None where no slices were asked for."""
    if not sums.sliced:
        return None
    everything = Cell(whole.totals, whole.failures, sums.lists, sums.relevant)
    place = Number(by=WHOLE, slice=WHOLE, metric="", value=None, share=1.0)
    numbers = [*_numbers(place, everything, asked, profile, whole.facts)]
    for by, sliced in sums.sliced.items():
        for key in in_order(sliced.cells, sliced.orders):
            cell = sliced.cells[key]
            share = _share(cell, sliced, sums)
            place = Number(
                by=by, slice=label(key), metric="", value=None, of=sliced.of, share=share
            )
            numbers += _numbers(place, cell, asked, profile, whole.facts)
    return Slices(tuple(numbers), tuple(_notes(sums)))


def _share(cell: Cell, sliced: Sliced, sums: Sums) -> float | None:
    part, everything = cell.lists, sums.lists
    if sliced.of == "rows":
        part, everything = cell.relevant, sums.relevant
    return part / everything if everything else None


def _notes(sums: Sums) -> Iterator[str]:
    of_rows = [by for by, sliced in sums.sliced.items() if sliced.of == "rows"]
    if of_rows:
        yield (
            f"- {', '.join(of_rows)}: parts of the relevant rows; what a list holds of another "
            "slice takes its place and counts as not relevant."
        )
    for by, sliced in sums.sliced.items():
        what, everything = ("relevant", sums.relevant) if by in of_rows else ("lists", sums.lists)
        if sum(getattr(cell, what) for cell in sliced.cells.values()) > everything:
            told = "row" if by in of_rows else "list"
            yield f"- {by}: a {told} stands in every slice that it has a value of."


def _numbers(
    place: Number, cell: Cell, asked: Sequence[Asked], profile: Profile, facts: Facts
) -> Iterator[Number]:
    place = replace(place, lists=cell.lists, relevant=cell.relevant)
    results, failures = _results(cell, asked, profile, facts)
    for name in [str(one.name) for one in asked]:
        if name in failures:
            yield replace(place, metric=name, reason=failures[name].found)
            continue
        yield _number(replace(place, metric=name), results[name])


def _number(place: Number, result: Result) -> Number:
    if not math.isfinite(result.value):
        told = "is undefined for some list" if math.isnan(result.value) else "is infinite"
        return replace(place, counted=result.counted, reason=f"{result.name} {told}.")
    low, high = result.interval or (None, None)
    if low == high:  # equal values say nothing of their spread
        low, high = None, None
    return replace(place, value=result.value, counted=result.counted, low=low, high=high)


def _results(
    cell: Cell, asked: Sequence[Asked], profile: Profile, facts: Facts
) -> tuple[Mapping[str, Result], Mapping[str, RectitudeError]]:
    if not cell.lists:
        nobody = NothingToEvaluate("no list is in this slice.")
        return {}, {str(one.name): nobody for one in asked}
    part = Part(cell.totals, {}, cell.failures, Ledger(), None, {}, facts)
    return results_of(asked, profile, part, intervals=True)

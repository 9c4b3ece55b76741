"""What a finding does: the metrics of the same predictions with and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rectitude.auditing.finding import Pair
from rectitude.auditing.parts import Case, Compared, Parts
from rectitude.engines.local import evaluate
from rectitude.errors import RectitudeError
from rectitude.predictions.lists import Lists

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of one evaluation; a metric without a value says why."""

    values: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    lists: int = 0
    """how many lists count, for the metric for which most do"""


def effect_of(
    parts: Parts, compare: Compared, base: Measured
) -> tuple[dict[str, Pair], tuple[int, int] | None]:
    """Each metric as it is and without what was found, None where it has no value; and over how
    many lists. `base` are the numbers of what most is compared with, known already."""
    if compare is None:
        return {}, None
    one, two = (base if case is parts.base else measured(parts, case) for case in compare)
    pairs = {name: (one.values.get(name), two.values.get(name)) for name in parts.metrics}
    return pairs, (one.lists, two.lists)


def measured(parts: Parts, case: Case | None) -> Measured:
    """The metrics of a case; none where there is nothing that could be evaluated."""
    if case is None:
        return Measured()
    profile = parts.profile.replace(**case.switches)
    try:
        found = evaluate(
            _predictions(parts, case), case.truth, parts.metrics, profile,
            train=_train(parts), items=parts.catalogue, users=parts.evaluated,
        )  # fmt: skip
    except RectitudeError as error:
        return Measured(failures=dict.fromkeys(parts.metrics, error.found))
    return _numbers(found)


def _predictions(parts: Parts, case: Case) -> object:
    """Ranked lists with what has ordered them so far, or the scores as they are."""
    import polars as pl

    lists: Any = case.lists
    if not isinstance(lists, pl.DataFrame):
        return lists
    columns = [name for name in ("user", "item", "rank", "score") if name in lists.columns]
    given = parts.lists is not None and parts.order == "given"
    return Lists(lists.select(columns), ordered=given, users=case.handed)


def _train(parts: Parts) -> pl.DataFrame | None:
    """Training data; of items without a column dense scores cannot say anything."""
    if parts.train is None or parts.scored is None:
        return parts.train
    return parts.train.filter(parts.train["item"].is_in(parts.scored.items.implode()))


def _numbers(found: Evaluation) -> Measured:
    results = found.results
    return Measured(
        {name: one.value for name, one in results.items() if math.isfinite(one.value)},
        {name: one.ties for name, one in results.items() if one.ties is not None},
        {name: error.found for name, error in found.failures.items()},
        max((one.counted or 0 for one in results.values()), default=0),
    )

"""Metrics that are made of others on the same list, such as `hypervolume[precision,recall]@10`."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.convention import SWITCHES, Convention
from rectitude.data.halves import require_choice
from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS, Metric, Ratio
from rectitude.metrics.registry import values_of

if TYPE_CHECKING:
    from rectitude.profiles.profile import Asked, Variants


@dataclass(frozen=True, slots=True)
class Composed:
    """A function of the values of other metrics, as a function of lists.

    It is given the point of every part under the part's name, and the part's own numbers under
    `part.number`.
    """

    whole: str
    parts: tuple[str, ...]

    def __call__(self, lists: Judged, k: int | None, **given: Any) -> Ratio:
        """The value of each list; undefined where a part is."""
        ratios = [self._of_part(METRICS[part], lists, k, given) for part in self.parts]
        defined = np.all([ratio.below > 0 for ratio in ratios], axis=0)
        values = [r.above / np.where(r.below > 0, r.below, 1.0) for r in ratios]
        signs = [1.0 if METRICS[part].best == "high" else -1.0 for part in self.parts]
        points = [given[part] for part in self.parts]
        better = [s * (v - p) for s, v, p in zip(signs, values, points, strict=True)]
        ratio: Ratio = METRICS[self.whole].function(better)
        return ratio.where(defined)

    @staticmethod
    def _of_part(part: Metric, lists: Judged, k: int | None, given: dict[str, Any]) -> Ratio:
        own = {name: given[f"{part.name}.{name}"] for name in part.parameters}
        switches = {switch: given[switch] for switch in part.switches}
        return values_of(part.function, lists, k, **switches, **own)


def parts_in(variants: Variants, known: Container[str]) -> dict[str, str | None]:
    """The variants that name a metric, with the point that stands behind it."""
    return {
        key: point
        for key, point in variants
        if (key in METRICS or key in known) and (point is None or key not in SWITCHES)
    }


def composed(
    metric: Metric, parts: Mapping[str, Asked], points: Mapping[str, str | None], reference: str
) -> tuple[Metric, dict[str, float | str]]:
    """The metric of some parts, and its numbers: the point of each, and what each has of its
    own."""
    require_choice("reference", reference, ("worst", "best"))
    numbers: dict[str, float | str] = {}
    for name, part in parts.items():
        _require_by_list(metric, name, part.metric)
        numbers[part.metric.name] = _point(metric, name, part.metric, points[name], reference)
        numbers |= {f"{part.metric.name}.{own}": value for own, value in part.numbers.items()}
    of = tuple(part.metric.name for part in parts.values())
    every = [METRICS[name] for name in of]
    made = replace(
        metric,
        function=Composed(metric.name, of),
        of=of,
        needs=tuple(dict.fromkeys(need for one in every for need in one.requires)),
        switches=tuple(dict.fromkeys(switch for one in every for switch in one.switches)),
        reach="list" if any(one.reach == "list" for one in every) else "cutoff",
    )
    return made, {**numbers, "reference": reference}


def shared_convention(metric: Metric, parts: Mapping[str, Asked]) -> dict[str, Any]:
    """The switches of the parts, which are computed on the same lists in the same way."""
    shared: dict[str, Any] = {}
    whose: dict[str, str] = {}
    for name, part in parts.items():
        for switch, value in _matters(part).items():
            if shared.setdefault(switch, value) != value:
                raise BadName(
                    f"{whose[switch]} and {name} cannot be combined by {metric.name}: {switch} is "
                    f"{shared[switch]!r} in one and {value!r} in the other.",
                    "parts that judge and count the same lists in the same way.",
                )
            whose.setdefault(switch, name)
    return shared


def _matters(part: Asked) -> dict[str, Any]:
    convention: Convention = part.convention
    return {
        switch.name: getattr(convention, switch.name)
        for switch in SWITCHES.values()
        if switch.stage != "metrics" or switch.name in part.metric.obeys
    }


def _require_by_list(metric: Metric, name: str, part: Metric) -> None:
    one_by_one = part.kind == "list" and part.overall == "mean" and "parts" not in part.needs
    if not one_by_one or part.wants_facts:
        raise BadName(
            f"{metric.name} is made of values of each list, and {name} is no mean of such values.",
            "metrics with a value per list, such as precision, ndcg or epc.",
        )


def _usual_point(part: Metric, reference: str) -> float:
    """The point of a part that was given none: its worst or its best value."""
    low, high = part.bounds if part.best == "high" else part.bounds[::-1]
    return high if reference == "best" else low


def _point(metric: Metric, name: str, part: Metric, given: str | None, reference: str) -> float:
    try:
        point = _usual_point(part, reference) if given is None else float(given)
    except ValueError:
        point = float("nan")
    if not isfinite(point):
        low, high = part.bounds
        what = f"{given!r}" if given is not None else f"its {reference} value, which is infinite"
        raise BadName(
            f"the point of {name} in {metric.name} is {what}.",
            f"a number; {name} lies between {low:g} and {high:g}.",
            f"write {metric.name}[{name}=0.5,...], for example.",
        )
    return point

"""What a finding does: the metrics of the same predictions with and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rectitude.auditing.codes import USER
from rectitude.auditing.dense import Rows
from rectitude.auditing.parts import Case, Compared, Parts
from rectitude.auditing.ranked import sound_weights
from rectitude.auditing.result import Pair
from rectitude.engines.local import evaluate
from rectitude.errors import NothingToEvaluate, RectitudeError
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
    weights = parts.weights if case.weights == "given" else None
    try:
        found = evaluate(
            _predictions(parts, case), _truth(parts, case), parts.metrics, profile,
            train=_train(parts), items=parts.catalogue, users=parts.evaluated,
            weights=None if weights is None else _keyed(parts, sound_weights(weights)),
            list_key=USER if parts.key == USER or isinstance(case.lists, Rows) else "list",
        )  # fmt: skip
    except NothingToEvaluate:  # its words name codes
        about = f"no {parts.key} of the predictions has truth, or no row is left of one of them."
        return Measured(failures=dict.fromkeys(parts.metrics, about))
    except RectitudeError as error:
        return Measured(failures=dict.fromkeys(parts.metrics, error.found))
    return _numbers(found)


def _predictions(parts: Parts, case: Case) -> object:
    """Ranked lists with what has ordered them so far, the scores, or some rows of logits."""
    import polars as pl

    lists: Any = case.lists
    if isinstance(lists, Rows):
        return lists.chosen(parts.keys.labels(case.truth["list"].to_numpy()).to_numpy())
    if not isinstance(lists, pl.DataFrame):
        return lists
    keyed = _keyed(parts, lists)
    columns = [name for name in ("list", USER, "item", "rank", "score") if name in keyed.columns]
    given = parts.lists is not None and parts.order == "given"
    return Lists(keyed.select(columns), ordered=given, users=case.handed)


def _truth(parts: Parts, case: Case) -> object:
    if isinstance(case.lists, Rows):
        return parts.items.labels(case.truth["item"].to_numpy()).to_numpy()
    return _keyed(parts, case.truth)


def _keyed(parts: Parts, frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the key of lists, and with their users, where all of them are known."""
    if parts.key == USER:
        return frame.rename({"list": USER}) if USER not in frame.columns else frame.drop("list")
    return frame if parts.owned else frame.drop(USER, strict=False)


def _train(parts: Parts) -> pl.DataFrame | None:
    """Training data, unless it is unknown whose lists there are; of items without a column dense
    scores cannot say anything."""
    if parts.train is None or not parts.owned:
        return None
    return parts.trained()


def _numbers(found: Evaluation) -> Measured:
    results = found.results
    return Measured(
        {name: one.value for name, one in results.items() if math.isfinite(one.value)},
        {name: one.ties for name, one in results.items() if one.ties is not None},
        {name: error.found for name, error in found.failures.items()},
        max((one.counted or 0 for one in results.values()), default=0),
    )

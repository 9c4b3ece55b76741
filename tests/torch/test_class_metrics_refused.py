"""What metric classes refuse: at definition, at registration, and in `update`, which then changes
nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from class_samples import AbsoluteError, Found, GuidePrecision, batch

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadExtension,
    BadGrades,
    BadIds,
    BadName,
    BadScores,
    BadTruth,
    MetricFailed,
    MissingNeed,
    UndefinedValue,
    UnknownName,
)
from rectitude.torch.metrics import (
    BaseMetric,
    MetricSet,
    RatingMetric,
    TopKMetric,
    UserAverageTopKMetric,
    metric_registry,
)


@pytest.mark.parametrize("missing", ["torch", "torchmetrics"])
def test_a_missing_package_is_named_with_the_command_to_install_it(missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; import rectitude.torch.metrics"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert f"MissingExtra: rectitude.torch.metrics needs {missing}" in done.stderr
    assert "pip install 'rectitude[torch]'" in done.stderr


def without_compute() -> None:
    class Mine(TopKMetric):
        def update(self, preds: Any, **given: Any) -> None: ...


def without_update() -> None:
    class Mine(BaseMetric):
        def compute(self) -> Any: ...


def without_both() -> None:
    class Mine(TopKMetric):
        pass


def without_formula() -> None:
    class Mine(UserAverageTopKMetric):
        pass


def without_error() -> None:
    class Mine(RatingMetric):
        pass


MISSING = {
    "no compute": without_compute,
    "no update": without_update,
    "no update and no compute": without_both,
    "no compute_scores": without_formula,
    "no element_error": without_error,
}


@pytest.mark.parametrize("words", MISSING)
def test_a_class_that_forgets_a_method_is_refused_when_it_is_defined(words: str) -> None:
    with pytest.raises(BadExtension, match=f"metric class Mine has {words}"):
        MISSING[words]()


def test_a_class_with_its_own_update_needs_no_formula() -> None:
    class Mine(UserAverageTopKMetric):
        def update(self, preds: Any, **given: Any) -> None: ...

    assert Mine(1, 2).k == 1


@pytest.mark.parametrize("cls", [TopKMetric, UserAverageTopKMetric, RatingMetric, BaseMetric])
def test_an_unfinished_class_cannot_be_registered(cls: Any) -> None:
    with pytest.raises(BadExtension, match="still has abstract methods"):
        metric_registry.register("Mine")(cls)
    assert "Mine" not in metric_registry and "Mine" not in rt.METRICS


def test_what_is_not_a_metric_class_cannot_be_registered() -> None:
    with pytest.raises(BadExtension, match="a class that inherits from BaseMetric"):
        metric_registry.register("Mine")(dict)  # type: ignore[type-var]
    with pytest.raises(BadName, match="the name of a metric is <class"):
        metric_registry.register(Found)  # type: ignore[arg-type]  forgotten parentheses
    with pytest.raises(BadName, match="the name of a metric is 'my metric'"):
        metric_registry.register("my metric")


@pytest.mark.parametrize("name", ["precision", "Precision", "NDCG"])
def test_a_name_means_one_metric_in_any_case(name: str) -> None:
    with pytest.raises(BadName, match="exists already"):
        metric_registry.register(name)(Found)


def test_a_class_with_a_name_in_use_is_told_how_it_can_be_used() -> None:
    taken = type("Precision", (Found,), {})
    with pytest.raises(BadName) as caught:
        metric_registry.register()(taken)
    assert "@metric_registry.register('MyPrecision')" in str(caught.value)
    assert "MetricSet(Precision, cutoffs=(10,))" in str(caught.value)
    assert list(MetricSet(taken, cutoffs=(10,), num_users=3).members) == ["Precision@10"]


def test_a_class_by_its_import_path_is_registered_and_says_that_it_needs_a_cutoff() -> None:
    lists, truth = {"u": ["a", "x"], "v": ["x", "y"]}, {"u": ["a"], "v": ["z"]}
    try:
        evaluation = rt.evaluate(lists, truth, ["class_samples:Found@2"])
        assert list(evaluation) == ["Found@2"]
        assert rt.METRICS["Found"].cutoff == "needed"
        failed = rt.evaluate(lists, truth, ["class_samples:Found", "mrr"]).failures["Found"]
        assert "'Found' has no cutoff" in str(failed)
        at = rt.evaluate(lists, truth, ["class_samples:Found"], cutoffs=[1, 2])
        assert list(at) == ["Found@1", "Found@2"]
    finally:
        metric_registry.remove("Found")


def test_a_name_of_another_class_is_refused_and_the_same_class_is_not() -> None:
    metric_registry.register("Mine")(Found)
    try:
        metric_registry.register("Mine")(Found)  # as when a notebook cell runs twice
        with pytest.raises(BadName, match="exists already"):
            metric_registry.register("mine")(GuidePrecision)
        assert metric_registry.get_class("mine") is Found
    finally:
        metric_registry.remove("Mine")


def test_an_unknown_class_raises_an_error_with_the_nearest_name() -> None:
    metric_registry.register("FoundHere")(Found)
    try:
        with pytest.raises(UnknownName, match="did you mean 'FoundHere'"):
            metric_registry.get("FoundHare", 3)
    finally:
        metric_registry.remove("FoundHere")


@pytest.mark.parametrize("k", [0, -1, 2.5, None, True, "5"])
def test_a_cutoff_is_a_whole_number_of_at_least_1(k: Any) -> None:
    with pytest.raises(BadArgument, match="a whole number of at least 1"):
        Found(k, num_users=3)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(BadArgument, match="'user' or 'list'"):
        Found(3, num_users=3, unit="lists")  # type: ignore[arg-type]


def test_a_set_requires_metrics_and_cutoffs() -> None:
    with pytest.raises(BadArgument, match="metrics is empty"):
        MetricSet([], (5,))
    with pytest.raises(BadArgument, match="cutoffs, such as"):
        MetricSet([Found], num_users=3)
    with pytest.raises(MissingNeed, match="Found needs num_users"):
        MetricSet([Found], (5,))


def meta(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor on another device, on any machine."""
    return tensor.to("meta")


def with_value(tensor: torch.Tensor, value: float) -> torch.Tensor:
    changed = tensor.clone()
    changed[3, 2] = value
    return changed


Change = Callable[[torch.Tensor], Any]
WRONG: dict[str, tuple[str, Change, type[Exception], str]] = {
    "NaN": ("preds", lambda t: with_value(t, torch.nan), BadScores, "1 of 2400 .*row 3, column 2"),
    "an array": ("preds", lambda t: t.numpy(), BadScores, "given ndarray as preds"),
    "whole": ("preds", lambda t: t.long(), BadScores, "torch.int64"),
    "flat": ("preds", lambda t: t[0], BadScores, r"shape \(40,\)"),
    "few items": ("preds", lambda t: t[:, :9], BadScores, "needs 10 items per list.*has 9"),
    "sparse": ("ground", lambda t: t.to_sparse(), BadScores, r"ground.to_dense\(\)"),
    "elsewhere": ("preds", meta, BadScores, "preds is on meta, but Found is on cpu"),
    "NaN grade": ("ground", lambda t: with_value(t, torch.nan), BadGrades, "row 3, column 2"),
    "infinite": ("ground", lambda t: with_value(t, torch.inf), BadGrades, "row 3, column 2"),
    "no ground": ("ground", lambda t: None, BadArgument, "given no ground="),
    "short": ("ground", lambda t: t[:-1], BadTruth, r"\(59, 40\), but preds has \(60, 40\)"),
    "narrow": ("ground", lambda t: t[:, 1:], BadTruth, r"\(60, 39\)"),
    "ground elsewhere": ("ground", meta, BadScores, r"metric.to\('meta'\)"),
    "no users": ("user_indices", lambda t: None, BadArgument, "given no user_indices="),
    "too high": ("user_indices", lambda t: t + 1, BadIds, "contains 60, .*num_users=60"),
    "negative": ("user_indices", lambda t: t - 1, BadIds, "contains -1"),
    "fewer": ("user_indices", lambda t: t[1:], BadIds, "60 rows"),
    "real": ("user_indices", lambda t: t.double(), BadIds, "torch.float64"),
    "users elsewhere": ("user_indices", meta, BadScores, "user_indices is on meta"),
}


@pytest.mark.parametrize("make", ["update", "forward", "set", "set forward"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_bad_batch_is_refused_and_changes_nothing(wrong: str, make: str) -> None:
    name, change, error, words = WRONG[wrong]
    good = batch()
    member = Found(10, num_users=60)
    metric: Any = member
    if make.startswith("set"):
        metric = MetricSet([Found], (10,), num_users=60)
        member = metric.members["Found@10"]
    good.add_to(metric)
    before = {state: getattr(member, state).clone() for state in ("scores", "user_interactions")}
    bad = good._replace(**{name: change(getattr(good, name))})
    call = metric if "forward" in make else metric.update
    with pytest.raises(error, match=words):
        call(bad.preds, user_indices=bad.user_indices, ground=bad.ground)
    for state, value in before.items():
        assert torch.equal(getattr(member, state), value)


def test_positional_tensors_are_refused() -> None:
    data = batch()
    with pytest.raises(BadArgument, match="user_indices= and ground="):
        Found(3, num_users=60).update(data.preds, data.user_indices, data.ground)  # type: ignore[misc]


def test_a_set_adds_a_batch_to_all_metrics_or_to_none() -> None:
    data = batch(items=20)
    metrics = MetricSet([Found], (5, 30), num_users=60)
    with pytest.raises(BadScores, match="needs 30 items per list, but preds has 20 columns"):
        data.add_to(metrics)
    assert metrics.members["Found@5"].user_interactions.sum() == 0


def test_a_set_with_ratings_adds_a_batch_with_masked_ratings_to_none() -> None:
    data = batch()
    metrics = MetricSet([Found, AbsoluteError], (5,), num_users=60)
    bad = data._replace(preds=data.preds.masked_fill(data.ground > 2, -torch.inf))
    for call in (metrics.update, metrics):
        with pytest.raises(BadScores, match="rated items with an infinite score"):
            call(bad.preds, user_indices=bad.user_indices, ground=bad.ground)
    assert metrics.members["Found@5"].user_interactions.sum() == 0


@pytest.mark.parametrize("returned", [0.5, torch.ones(2), {"a": 1.0}, None])
def test_compute_must_return_tensors_by_name(returned: Any) -> None:
    class Mine(TopKMetric):
        def update(self, preds: Any, **given: Any) -> None: ...

        def compute(self) -> Any:
            return returned

    metric, metrics = Mine(3), MetricSet([Mine], (3,))
    batch().add_to(metric)
    batch().add_to(metrics)
    for ask in (metric.overall, metrics.overall, metrics.compute):
        with pytest.raises(MetricFailed, match="compute of Mine returned"):
            ask()


def test_infinite_values_are_named() -> None:
    class Mine(UserAverageTopKMetric):
        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Any:
            return 1 / top_k_rel.sum(dim=1)

    metric = Mine(3, num_users=60)
    batch().add_to(metric)
    with pytest.raises(UndefinedValue, match="of 60 values of Mine are infinite"):
        metric.overall()


def test_a_block_that_does_not_exist_is_named_when_the_class_is_defined() -> None:
    with pytest.raises(UnknownName, match="did you mean 'top_k_indices'"):

        class Mine(TopKMetric):
            blocks = ("top_k_indexes",)  # type: ignore[assignment]


def test_a_formula_must_give_a_value_for_each_row() -> None:
    class Mine(UserAverageTopKMetric):
        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Any:
            return top_k_rel.sum()

    metric = Mine(3, num_users=60)
    with pytest.raises(BadExtension, match="one value for each of 60 rows"):
        batch().add_to(metric)
    assert metric.user_interactions.sum() == 0


def test_a_rated_item_that_is_masked_is_refused() -> None:
    metric = AbsoluteError(num_users=1)
    with pytest.raises(BadScores, match="do not mask rated items"):
        metric.update(
            torch.tensor([[-torch.inf, 1.0]]),
            user_indices=torch.tensor([0]),
            ground=torch.tensor([[3.0, 0.0]]),
        )
    assert metric.total_count.sum() == 0

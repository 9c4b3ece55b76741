"""Metric classes in your own loop: accumulators, shared blocks, users in several batches."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from class_samples import AbsoluteError, ByKeyword, Found, GuidePrecision, batch, truth_of
from torchmetrics import MetricCollection

import rectitude as rt
from rectitude.torch.metrics import (
    BaseMetric,
    MetricSet,
    TopKMetric,
    UserAverageTopKMetric,
    metric_registry,
    sharing,
)
from rectitude.torch.metrics.blocks import best_of


@pytest.fixture
def topk_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of scores in every call of torch.topk."""
    calls: list[int] = []
    real = torch.Tensor.topk

    def counted(self: torch.Tensor, *args: Any, **given: Any) -> Any:
        if self.is_floating_point():
            calls.append(self.numel())
        return real(self, *args, **given)

    monkeypatch.setattr(torch.Tensor, "topk", counted)
    return calls


def test_the_guides_precision_runs_and_equals_the_built_in() -> None:
    data = batch()
    metric = GuidePrecision(5, num_users=60)
    for rows in torch.arange(60).split(17):
        data.add_to(metric, rows)
    built_in = rt.evaluate(
        rt.Scores(data.preds.numpy()), truth_of(data), "precision@5", {"ties": "item_ascending"}
    )
    assert metric.overall() == {"GuidePrecision": built_in["precision@5"]}
    values = metric.compute()["GuidePrecision"]
    assert values[::7].isnan().all()  # users without relevant items have no value
    expected = dict(built_in.per_user().select("user", "precision@5").iter_rows())
    assert {u: None if math.isnan(v) else v for u, v in enumerate(values.tolist())} == expected


def test_blocks_are_computed_once_per_batch_for_all_metrics_and_cutoffs(
    topk_calls: list[int],
) -> None:
    data = batch()
    metrics = MetricSet([GuidePrecision, Found, ByKeyword], cutoffs=(1, 5, 10, 20), num_users=60)
    for rows in torch.arange(60).split(20):
        data.add_to(metrics, rows)
    assert len(metrics.members) == 12
    assert len(topk_calls) == 3
    once = ["checks", "binary_relevance", "discounted_relevance", "valid_users", "top_20"]
    assert {name: metrics.computed[name] for name in once} == dict.fromkeys(once, 3)
    # relevance of the best columns: binary and discounted
    assert metrics.computed["top_20_relevance"] == 6
    assert set(metrics.computed) == {*once, "top_20_relevance"}


def test_shared_and_single_metrics_give_the_same_result() -> None:
    data = batch()
    together = MetricSet([GuidePrecision, Found], cutoffs=(3, 20), num_users=60)
    data.add_to(together)
    for cls in (GuidePrecision, Found):
        for k in (3, 20):
            alone = cls(k, num_users=60)
            data.add_to(alone)
            shared_values = together.compute()[f"{cls.__name__}@{k}"]
            assert torch.equal(
                alone.compute()[cls.__name__].nan_to_num(-1), shared_values.nan_to_num(-1)
            )
    assert list(together.overall()) == [
        "GuidePrecision@3", "GuidePrecision@20", "Found@3", "Found@20"
    ]  # fmt: skip


def test_a_tensor_changed_in_place_is_treated_as_another() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0]])
    with sharing() as shared:
        first = BaseMetric.top_k_values_indices(scores, 1)[1].item()
        scores[0, 2] = 0
        second = BaseMetric.top_k_values_indices(scores, 1)[1].item()
    assert (first, second) == (2, 1)
    assert shared.computed["top_1"] == 2


def test_the_best_columns_are_in_order_of_score_and_then_of_column() -> None:
    scores = batch(levels=4, items=100).preds
    by_hand = scores.sort(dim=1, descending=True, stable=True).indices
    for k in (1, 7, 50, 100):
        assert torch.equal(best_of(scores, k).columns, by_hand[:, :k])


def test_a_value_does_not_depend_on_the_other_cutoffs() -> None:
    data = batch(levels=3)
    values = set()
    for cutoffs in ((5,), (5, 10), (20, 5)):
        metrics = MetricSet([Found], cutoffs, num_users=60)
        data.add_to(metrics)
        values.add(metrics.overall()["Found@5"])
    assert len(values) == 1


def test_masked_items_are_in_no_list() -> None:
    scores = torch.tensor([[-torch.inf, 1.0, -torch.inf]])
    target = torch.tensor([[1.0, 0.0, 1.0]])
    assert BaseMetric.top_k_relevance(scores, target, 3).tolist() == [[0, 0, 0]]


def test_relevance_is_as_documented() -> None:
    grades = torch.tensor([[0.0, 1.0, 2.0], [0.0, -1.0, 0.0]])
    assert BaseMetric.binary_relevance(grades).tolist() == [[0, 1, 1], [0, 0, 0]]
    assert BaseMetric.discounted_relevance(grades).tolist() == [[0, 3, 7], [0, 0, 0]]
    assert BaseMetric.valid_users(grades).tolist() == [1, 0]
    assert BaseMetric.binary_relevance(grades).dtype == torch.float64


def test_blocks_are_passed_as_keywords_with_the_cutoff() -> None:
    data = batch(users=4)
    metric = ByKeyword(3)
    data.add_to(metric)
    assert set(metric.handed) == {
        "user_indices", "ground", "binary_relevance", "discounted_relevance", "valid_users",
        "top_3_indices", "top_3_values", "top_3_binary_relevance", "top_3_discounted_relevance",
    }  # fmt: skip
    assert torch.equal(metric.handed["top_3_indices"], best_of(data.preds, 3).columns)
    relevance = torch.ones_like(data.ground)
    metric.update(
        data.preds, user_indices=data.user_indices, ground=data.ground, binary_relevance=relevance
    )
    assert metric.handed["binary_relevance"] is relevance


@pytest.mark.parametrize(("unit", "expected"), [("user", 0.75), ("list", 2 / 3)])
def test_users_in_several_batches_accumulate_per_unit(unit: Any, expected: float) -> None:
    metric = Found(1, num_users=3, unit=unit)
    hit, miss = torch.tensor([[2.0, 1.0]]), torch.tensor([[1.0, 2.0]])
    ground = torch.tensor([[1.0, 0.0]])
    for preds, user in ((hit, 0), (miss, 0), (hit, 1)):
        metric.update(preds, user_indices=torch.tensor([user]), ground=ground)
    # contextual rows of one user, without relevant items
    metric.update(
        torch.cat([hit, miss]), user_indices=torch.tensor([2, 2]), ground=torch.zeros(2, 2)
    )
    values = metric.compute()["Found"].tolist()
    assert values[:2] == [0.5, 1.0] and math.isnan(values[2])
    assert metric.overall()["Found"] == pytest.approx(expected, rel=1e-15)


def test_a_list_whose_value_is_nan_does_not_affect_others() -> None:
    class PerHit(UserAverageTopKMetric):
        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Any:
            return top_k_rel[:, 0] / top_k_rel.sum(dim=1)

    hit, miss = torch.tensor([[2.0, 1.0]]), torch.tensor([[1.0, 2.0]])
    metric = PerHit(1, num_users=2)
    metric.update(
        torch.cat([hit, miss, miss]), user_indices=torch.tensor([0, 0, 1]),
        ground=torch.tensor([[1.0, 0.0]] * 3),
    )  # fmt: skip
    values = metric.compute()["PerHit"].tolist()
    assert values[0] == 1.0 and math.isnan(values[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_accumulators_stay_double_in_a_model_of_another_precision(dtype: torch.dtype) -> None:
    data = batch()
    model = torch.nn.ModuleDict({"metrics": MetricSet([Found], (5,), num_users=60)})
    model.to(dtype)
    metrics: Any = model["metrics"]
    data.add_to(metrics)
    exact = metrics.overall()
    model.to(dtype=dtype)
    assert metrics.overall() == exact == {"Found@5": exact["Found@5"]}
    assert metrics.members["Found@5"].scores.dtype == torch.float64
    metrics.reset()
    assert metrics.members["Found@5"].scores.dtype == torch.float64


def test_the_mean_is_nan_if_no_user_has_a_value() -> None:
    metric = Found(1, num_users=2)
    metric.update(torch.rand(2, 3), user_indices=torch.tensor([0, 1]), ground=torch.zeros(2, 3))
    assert math.isnan(metric.overall()["Found"])


def test_only_rated_items_count_even_next_to_masked_items() -> None:
    metric = AbsoluteError(num_users=3)
    preds = torch.tensor([[3.0, -torch.inf, 5.0], [1.0, 1.0, 1.0]])
    ground = torch.tensor([[4.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    metric.update(preds, user_indices=torch.tensor([0, 1]), ground=ground)
    values = metric.compute()["AbsoluteError"].tolist()
    assert values[0] == 1.5 and math.isnan(values[1]) and math.isnan(values[2])
    assert metric.overall() == {"AbsoluteError": 1.5}


def test_accumulators_are_double_unless_they_are_integers() -> None:
    class Counted(BaseMetric):
        def __init__(self) -> None:
            super().__init__()
            self.add_state("share", torch.zeros(2), dist_reduce_fx="sum")
            self.add_state("number", torch.zeros(2, dtype=torch.int32), dist_reduce_fx="sum")

        def update(self, preds: Any, **given: Any) -> None: ...

        def compute(self) -> Any: ...

    assert Counted().share.dtype == torch.float64
    assert Counted().number.dtype == torch.int32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_may_have_any_precision(dtype: torch.dtype) -> None:
    data = batch()
    metric = Found(5, num_users=60)
    exact = Found(5, num_users=60)
    data.add_to(exact)
    data._replace(preds=data.preds.to(dtype), ground=data.ground.to(dtype)).add_to(metric)
    assert metric.overall() == exact.overall()


def under_inference(work: Callable[[], None]) -> None:
    with torch.inference_mode():
        work()


def under_autocast(work: Callable[[], None]) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        work()


@pytest.mark.parametrize("mode", [under_inference, under_autocast])
def test_modes_of_torch_change_nothing(mode: Any) -> None:
    data, metric, plain = batch(), Found(5, num_users=60), Found(5, num_users=60)
    data.add_to(plain)
    mode(lambda: data._replace(preds=data.preds * 1).add_to(metric))
    assert metric.overall() == plain.overall()


def test_a_call_returns_the_values_of_the_batch_and_adds_it() -> None:
    data = batch()
    metrics = MetricSet([Found], (5,), num_users=60)
    halves = [slice(0, 30), slice(30, 60)]
    for rows in halves:
        of_batch = metrics(
            data.preds[rows], user_indices=data.user_indices[rows], ground=data.ground[rows]
        )["Found@5"]
        assert of_batch[[u for u in range(60) if u not in range(*rows.indices(60))]].isnan().all()
    whole = Found(5, num_users=60)
    data.add_to(whole)
    assert metrics.overall() == {"Found@5": whole.overall()["Found"]}


def pickled(metric: Found) -> Found:
    other: Found = pickle.loads(pickle.dumps(metric))  # noqa: S301  our own
    return other


def test_metrics_can_be_reset_copied_and_saved() -> None:
    data = batch()
    metric = Found(5, num_users=60)
    data.add_to(metric)
    value = metric.overall()
    for other in (copy.deepcopy(metric), pickled(metric), metric.clone()):
        assert other.overall() == value
        assert other.num_users == 60
    metric.reset()
    assert metric.scores.sum() == 0
    data.add_to(metric)
    assert metric.overall() == value


def test_a_torchmetrics_collection_does_not_merge_two_metrics() -> None:
    """It groups metrics whose states are equal after the first batch: here both are 0."""
    collection = MetricCollection({"at1": Found(1, num_users=2), "at2": Found(2, num_users=2)})
    ground = torch.tensor([[0.0, 1.0, 0.0]])
    nothing = torch.tensor([[3.0, 1.0, 2.0]])
    second = torch.tensor([[3.0, 2.0, 1.0]])
    for user, preds in enumerate((nothing, second)):
        collection.update(preds, user_indices=torch.tensor([user]), ground=ground)
    values = {name: metric.overall()["Found"] for name, metric in collection.items()}
    assert values == {"at1": 0.0, "at2": 0.5}


def test_an_empty_batch_adds_nothing() -> None:
    data = batch()
    metrics = MetricSet([Found, GuidePrecision], (5,), num_users=60)
    data.add_to(metrics)
    before = metrics.overall()
    data.add_to(metrics, slice(0, 0))
    assert metrics.overall() == before


def test_classes_are_found_by_name_in_any_case() -> None:
    metric_registry.register("FoundHere")(Found)
    try:
        assert metric_registry.get_class("foundhere") is Found
        metric = metric_registry.get("FOUNDHERE", 3, num_users=2)
        assert isinstance(metric, Found) and metric.k == 3
        assert "FoundHere" in metric_registry.list_registered()
        assert list(MetricSet(["foundhere"], (1, 2), num_users=2).members) == [
            "FoundHere@1", "FoundHere@2"
        ]  # fmt: skip
    finally:
        metric_registry.remove("foundHERE")
    assert "foundhere" not in metric_registry
    assert "FoundHere" not in rt.METRICS


def test_a_copy_of_a_set_may_have_a_prefix() -> None:
    data = batch()
    metrics = MetricSet(Found, (5,), num_users=60).clone(prefix="val/")
    of_batch = metrics(data.preds, user_indices=data.user_indices, ground=data.ground)
    for values in (of_batch, metrics.compute(), metrics.overall()):
        assert list(values) == ["val/Found@5"]


def test_a_set_of_one_metric_needs_no_list() -> None:
    assert list(MetricSet(Found, (1, 2), num_users=2).members) == ["Found@1", "Found@2"]


def test_a_metric_without_cutoff_is_in_a_set_once() -> None:
    assert list(MetricSet([AbsoluteError, Found], (1, 2), num_users=3).members) == [
        "AbsoluteError", "Found@1", "Found@2"
    ]  # fmt: skip


def test_an_update_receives_only_the_keywords_that_it_takes() -> None:
    class Narrow(TopKMetric):
        def update(self, preds: Any, ground: Any, user_indices: Any) -> None:
            self.rows = len(user_indices)

        def compute(self) -> Any:
            return {self.name: torch.tensor(float(self.rows))}

    data = batch()
    metrics = MetricSet([Narrow, Found], (5,), num_users=60)
    metrics.update(
        data.preds, ground=data.ground, user_indices=data.user_indices, item_indices=None
    )
    assert metrics.overall()["Narrow@5"] == 60


def test_a_metric_may_work_without_ground_and_users() -> None:
    class Shown(TopKMetric):
        requires = ()

        def __init__(self, k: int, num_items: int):
            super().__init__(k)
            self.add_state("shown", torch.zeros(num_items, dtype=torch.long), "sum")

        def update(self, preds: Any, **given: Any) -> None:
            columns = self.top_k_values_indices(preds, self.k)[1].flatten()
            self.shown.index_add_(0, columns, torch.ones_like(columns))

        def compute(self) -> Any:
            return {self.name: (self.shown > 0).sum()}

    metric = Shown(1, num_items=4)
    metric.update(torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]))
    metric.update(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert metric.shown.tolist() == [1, 0, 0, 2]
    assert metric.overall() == {"Shown": 2.0}


def test_accumulators_can_be_saved_with_a_model() -> None:
    data = batch()
    metrics, other = (MetricSet([Found], (5, 10), num_users=60) for _ in range(2))
    metrics.persistent(mode=True)
    other.persistent(mode=True)
    data.add_to(metrics)
    other.load_state_dict(metrics.state_dict())
    data.add_to(other, slice(0, 0))
    assert other.overall() == metrics.overall()


def test_your_own_base_class_may_leave_methods_to_subclasses() -> None:
    from abc import abstractmethod

    class Half(TopKMetric):
        def compute(self) -> Any:
            return {self.name: torch.zeros(())}

        @abstractmethod
        def update(self, preds: Any, **given: Any) -> None: ...

    class Whole(Half):
        def update(self, preds: Any, **given: Any) -> None: ...

    assert Whole(3).k == 3

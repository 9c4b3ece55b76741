"""Metric classes in `evaluate`: judged lists as rows of tensors, under any convention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from class_samples import AbsoluteError, Found, GuidePrecision, batch, truth_of
from torch import Tensor

import rectitude as rt
from rectitude.errors import BadGrades, BadName, DuplicateTruth, MetricFailed, MissingNeed
from rectitude.torch.metrics import BaseMetric, TopKMetric, UserAverageTopKMetric, metric_registry
from rectitude.torch.metrics import bridge as rows_module

CUTOFFS = (1, 5, 10, 60)  # the last is above the catalogue
TIES = ["pessimistic", "optimistic", "item_ascending", "item_descending"]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    metric_registry.register("MyPrecision", title="Precision, as a class")(GuidePrecision)
    metric_registry.register("FarPrecision", reach="cutoff")(CutoffPrecision)
    metric_registry.register("MyRecall")(Found)
    before = set(metric_registry.list_registered())
    yield
    for name in {*metric_registry.list_registered(), *before}:
        metric_registry.remove(name)


class CutoffPrecision(GuidePrecision):
    """The same metric, registered to use only the ranks up to the cutoff."""


def compare(predictions: Any, truth: Any, **given: Any) -> None:
    """Check that the class and the built-in metric give equal values, per list and overall."""
    names = [f"{n}@{k}" for n in ("precision", "MyPrecision", "FarPrecision") for k in CUTOFFS]
    names += [f"{n}@{k}" for n in ("recall", "MyRecall") for k in CUTOFFS]
    evaluation = rt.evaluate(predictions, truth, names, **given)
    assert not evaluation.failures
    per_list = evaluation.per_list()
    pairs = [("precision", "MyPrecision"), ("precision", "FarPrecision"), ("recall", "MyRecall")]
    for built_in, custom in pairs:
        for k in CUTOFFS:
            assert evaluation[f"{built_in}@{k}"] == evaluation[f"{custom}@{k}"]
            expected, values = per_list[f"{built_in}@{k}"], per_list[f"{custom}@{k}"]
            assert expected.equals(values.alias(expected.name), null_equal=True)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("relevant_from", [None, 2])
def test_a_class_equals_the_built_in_metric_on_dense_scores(
    ties: str, relevant_from: float | None
) -> None:
    data = batch()
    convention = {"ties": ties, "relevant_from": relevant_from}
    compare(rt.Scores(data.preds.numpy()), truth_of(data), convention=convention)


def test_a_class_equals_the_built_in_metric_if_training_items_are_masked() -> None:
    data = batch()
    random = np.random.default_rng(3)
    seen = (random.random((60, 40)) < 0.5).nonzero()
    train = {"user": seen[0], "item": seen[1]}
    for seen_items in ("removed", "last", "kept"):
        convention = {"seen": seen_items, "unknown_users": "keep", "unknown_items": "keep"}
        compare(rt.Scores(data.preds.numpy()), truth_of(data), train=train, convention=convention)


def test_a_class_equals_the_built_in_metric_on_lists() -> None:
    lists = {
        "ann": list("abcdef"), "bob": ["a"], "cem": [], "dot": list("zyx"), "eve": list("edcba"),
    }  # fmt: skip
    truth = {"ann": ["f", "b", "q"], "bob": ["z", "y"], "cem": ["a"], "eve": ["e"], "gil": ["a"]}
    compare(lists, truth)


def test_a_class_equals_the_built_in_metric_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "CELLS", 500)
    data = batch()
    compare(rt.Scores(data.preds.numpy()), truth_of(data))


def test_a_class_equals_the_built_in_metric_if_users_have_several_lists() -> None:
    data = batch()
    lists = [f"s{n}" for n in range(60)]
    users = [n % 25 for n in range(60)]
    truth = truth_of(data)
    truth = {
        "session": [lists[u] for u in truth["user"]],
        "user": [users[u] for u in truth["user"]],
        "item": truth["item"],
    }
    for unit in ("list", "user"):
        compare(
            rt.Scores(data.preds.numpy(), users=users, lists=lists),
            truth,
            list_key="session",
            convention={"unit": unit},
        )


def test_batches_of_an_evaluator_give_the_same_value() -> None:
    data = batch()
    whole = rt.evaluate(rt.Scores(data.preds.numpy()), truth_of(data), "MyPrecision@5")
    evaluator = rt.Evaluator("MyPrecision@5")
    for rows in np.array_split(np.arange(60), 4):
        part = data._replace(ground=data.ground[rows])
        truth = truth_of(part)
        truth["user"] = rows[truth["user"]]
        evaluator.update(rt.Scores(data.preds.numpy()[rows], users=rows), truth)
    assert evaluator.compute()["MyPrecision@5"] == whole["MyPrecision@5"]


def test_a_class_that_uses_the_whole_list_sees_all_ranks() -> None:
    @metric_registry.register("MyMrr")
    class MyMrr(BaseMetric):
        """One over the rank of the first hit, at any rank."""

        def __init__(self, num_users: int) -> None:
            super().__init__()
            self.add_state("best", torch.zeros(num_users), dist_reduce_fx="sum")

        def update(self, preds: Tensor, *, user_indices: Any, ground: Any, **_: Any) -> None:
            order = preds.argsort(dim=1, descending=True, stable=True)
            hit = ground.gather(1, order) * (preds.gather(1, order) > -torch.inf) > 0
            ranks = torch.arange(1, preds.shape[1] + 1).double()
            self.best.index_add_(0, user_indices, (hit / ranks).max(dim=1).values)

        def compute(self) -> dict[str, Tensor]:
            return {self.name: self.best}

    data = batch()
    evaluation = rt.evaluate(rt.Scores(data.preds.numpy()), truth_of(data), ["mrr", "MyMrr"])
    assert evaluation["MyMrr"] == evaluation["mrr"]
    lists = {"ann": ["a", "b"], "bob": ["b", "a"]}
    evaluation = rt.evaluate(lists, {"ann": ["b", "q"], "bob": ["q"]}, ["mrr", "MyMrr"])
    assert evaluation["MyMrr"] == evaluation["mrr"]


def test_numbers_of_the_constructor_are_set_in_the_name() -> None:
    @metric_registry.register("Mixed", formula="{alpha} of {first} places")
    class Mixed(UserAverageTopKMetric):
        def __init__(self, k: int, num_users: int, *, alpha: float = 0.5, first: int = 1):
            super().__init__(k, num_users)
            self.alpha, self.first = alpha, first

        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Tensor:
            return self.alpha * top_k_rel[:, : self.first].any(dim=1)

    lists, truth = {"u": ["a", "b"]}, {"u": ["b"]}
    evaluation = rt.evaluate(lists, truth, ["Mixed@2", "Mixed[alpha=0.25,first=2]@2"])
    assert evaluation.values() == {"Mixed@2": 0.0, "Mixed[alpha=0.25,first=2]@2": 0.25}
    assert "0.25 of 2 places" in evaluation.definition("Mixed[alpha=0.25,first=2]@2")
    failed = rt.evaluate(lists, truth, "Mixed[first=1.5]@2").failures["Mixed[first=1.5]@2"]
    assert "first of Mixed is 1.5" in str(failed)


def test_the_definition_of_a_class_depends_on_its_source() -> None:
    lists = {"u": ["a"]}
    evaluation = rt.evaluate(lists, lists, ["MyPrecision@1", "FarPrecision@1", "MyRecall@1"])
    prints = {result.fingerprint for result in evaluation.results.values()}
    assert len(prints) == 3
    assert "Precision, as a class" in str(evaluation.definition("MyPrecision@1"))


def failure(name: str, lists: Any = None, truth: Any = None, **given: Any) -> Exception:
    lists, truth = lists or {"u": ["a", "b"]}, truth or {"u": ["a"]}
    evaluation = rt.evaluate(lists, truth, [name, "mrr"], **given)
    assert "mrr" in evaluation.values()  # other metrics are not affected
    return evaluation.failures[name]


def test_a_class_with_a_cutoff_requires_one() -> None:
    error = failure("MyPrecision")
    assert isinstance(error, BadName) and "MyPrecision@10" in str(error)


def test_a_class_of_ratings_says_that_lists_have_none() -> None:
    metric_registry.register("MyError")(AbsoluteError)
    error = failure("MyError")
    assert isinstance(error, MissingNeed) and "predicted ratings" in str(error)


def test_a_class_with_one_number_for_all_says_where_it_works() -> None:
    @metric_registry.register("Total")
    class Total(TopKMetric):
        def update(self, preds: Any, **given: Any) -> None: ...

        def compute(self) -> dict[str, Tensor]:
            return {self.name: torch.tensor(1.0)}

    error = failure("Total@1")
    assert isinstance(error, MetricFailed) and "MetricSet" in str(error)


@pytest.mark.parametrize("returned", [0.5, {}, {"a": 1.0}, {"a": torch.ones(1), "b": 1}])
def test_a_class_that_returns_something_else_gets_an_error_with_the_right_form(
    returned: Any,
) -> None:
    @metric_registry.register("Odd")
    class Odd(TopKMetric):
        def update(self, preds: Any, **given: Any) -> None: ...

        def compute(self) -> Any:
            return returned

    assert "{self.name: values}" in str(failure("Odd@1"))


def test_a_class_that_raises_is_reported_by_name() -> None:
    @metric_registry.register("Broken")
    class Broken(UserAverageTopKMetric):
        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Tensor:
            return top_k_rel @ torch.ones(3, 3, 3)[0][0, :2].double()

    error = failure("Broken@1")
    assert isinstance(error, MetricFailed) and "Broken@1" in str(error)


def test_a_class_that_needs_more_says_what() -> None:
    @metric_registry.register("Popular")
    class Popular(UserAverageTopKMetric):
        def __init__(self, k: int, num_users: int, item_interactions: Tensor):
            super().__init__(k, num_users)

        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Tensor:
            return top_k_rel.sum(dim=1)

    error = failure("Popular@1")
    assert isinstance(error, MissingNeed) and "item_interactions" in str(error)


def test_relevant_grades_that_a_tensor_cannot_represent_are_refused() -> None:
    truth = {"user": ["u", "u"], "item": ["a", "b"], "rating": [0.0, 1.0]}
    error = failure("MyPrecision@1", truth=truth, convention={"relevant_from": 0})
    assert isinstance(error, BadGrades) and "1 relevant items" in str(error)


def test_a_truth_with_repeated_items_is_refused() -> None:
    error = failure(
        "MyPrecision@1",
        truth={"user": ["u", "u"], "item": ["a", "a"]},
        convention={"duplicate_truth": "counted"},
    )
    assert isinstance(error, DuplicateTruth)

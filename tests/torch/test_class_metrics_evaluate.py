"""Metric classes in `evaluate`: judged lists as rows, and the convention around them."""

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
    metric_registry.register("FarPrecision", reach="cutoff")(Heir)
    metric_registry.register("MyRecall")(Found)
    before = set(metric_registry.list_registered())
    yield
    for name in {*metric_registry.list_registered(), *before}:
        metric_registry.remove(name)


class Heir(GuidePrecision):
    """The same, told to look no further than the cutoff."""


def both(predictions: Any, truth: Any, **given: Any) -> None:
    """The class and the built-in metric must give the same bits, per list and overall."""
    names = [f"{n}@{k}" for n in ("precision", "MyPrecision", "FarPrecision") for k in CUTOFFS]
    names += [f"{n}@{k}" for n in ("recall", "MyRecall") for k in CUTOFFS]
    found = rt.evaluate(predictions, truth, names, **given)
    assert not found.failures
    per_list = found.per_list()
    pairs = [("precision", "MyPrecision"), ("precision", "FarPrecision"), ("recall", "MyRecall")]
    for built_in, own in pairs:
        for k in CUTOFFS:
            assert found[f"{built_in}@{k}"] == found[f"{own}@{k}"]
            one, other = per_list[f"{built_in}@{k}"], per_list[f"{own}@{k}"]
            assert one.equals(other.alias(one.name), null_equal=True)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("relevant_from", [None, 2])
def test_a_class_equals_the_built_in_metric_on_dense_scores(
    ties: str, relevant_from: float | None
) -> None:
    given = batch()
    convention = {"ties": ties, "relevant_from": relevant_from}
    both(rt.Scores(given.preds.numpy()), truth_of(given), convention=convention)


def test_a_class_equals_the_built_in_metric_where_train_is_masked() -> None:
    given = batch()
    random = np.random.default_rng(3)
    seen = (random.random((60, 40)) < 0.5).nonzero()
    train = {"user": seen[0], "item": seen[1]}
    for seen_items in ("removed", "last", "kept"):
        convention = {"seen": seen_items, "unknown_users": "keep", "unknown_items": "keep"}
        both(rt.Scores(given.preds.numpy()), truth_of(given), train=train, convention=convention)


def test_a_class_equals_the_built_in_metric_on_lists() -> None:
    lists = {
        "ann": list("abcdef"), "bob": ["a"], "cem": [], "dot": list("zyx"), "eve": list("edcba"),
    }  # fmt: skip
    truth = {"ann": ["f", "b", "q"], "bob": ["z", "y"], "cem": ["a"], "eve": ["e"], "gil": ["a"]}
    both(lists, truth)


def test_a_class_equals_the_built_in_metric_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "CELLS", 500)
    given = batch()
    both(rt.Scores(given.preds.numpy()), truth_of(given))


def test_a_class_equals_the_built_in_metric_where_users_have_several_lists() -> None:
    given = batch()
    lists = [f"s{n}" for n in range(60)]
    users = [n % 25 for n in range(60)]
    truth = truth_of(given)
    truth = {
        "session": [lists[u] for u in truth["user"]],
        "user": [users[u] for u in truth["user"]],
        "item": truth["item"],
    }
    for unit in ("list", "user"):
        both(
            rt.Scores(given.preds.numpy(), users=users, lists=lists),
            truth,
            list_key="session",
            convention={"unit": unit},
        )


def test_batches_of_an_evaluator_give_the_same_bits() -> None:
    given = batch()
    whole = rt.evaluate(rt.Scores(given.preds.numpy()), truth_of(given), "MyPrecision@5")
    evaluator = rt.Evaluator("MyPrecision@5")
    for rows in np.array_split(np.arange(60), 4):
        part = given._replace(ground=given.ground[rows])
        truth = truth_of(part)
        truth["user"] = rows[truth["user"]]
        evaluator.update(rt.Scores(given.preds.numpy()[rows], users=rows), truth)
    assert evaluator.compute()["MyPrecision@5"] == whole["MyPrecision@5"]


def test_a_class_that_looks_through_the_list_sees_all_ranks() -> None:
    @metric_registry.register("MyMrr")
    class MyMrr(BaseMetric):
        """One over the rank of the first hit, however far down."""

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

    given = batch()
    found = rt.evaluate(rt.Scores(given.preds.numpy()), truth_of(given), ["mrr", "MyMrr"])
    assert found["MyMrr"] == found["mrr"]
    lists = {"ann": ["a", "b"], "bob": ["b", "a"]}
    found = rt.evaluate(lists, {"ann": ["b", "q"], "bob": ["q"]}, ["mrr", "MyMrr"])
    assert found["MyMrr"] == found["mrr"]


def test_numbers_of_the_constructor_are_set_in_the_name() -> None:
    @metric_registry.register("Mixed", formula="{alpha} of {first} places")
    class Mixed(UserAverageTopKMetric):
        def __init__(self, k: int, num_users: int, *, alpha: float = 0.5, first: int = 1):
            super().__init__(k, num_users)
            self.alpha, self.first = alpha, first

        def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Tensor:
            return self.alpha * top_k_rel[:, : self.first].any(dim=1)

    lists, truth = {"u": ["a", "b"]}, {"u": ["b"]}
    found = rt.evaluate(lists, truth, ["Mixed@2", "Mixed[alpha=0.25,first=2]@2"])
    assert found.values() == {"Mixed@2": 0.0, "Mixed[alpha=0.25,first=2]@2": 0.25}
    assert "0.25 of 2 places" in found.definition("Mixed[alpha=0.25,first=2]@2")
    failed = rt.evaluate(lists, truth, "Mixed[first=1.5]@2").failures["Mixed[first=1.5]@2"]
    assert "first of Mixed cannot be 1.5" in str(failed)


def test_the_definition_of_a_class_is_told_apart_by_its_source() -> None:
    given = {"u": ["a"]}
    found = rt.evaluate(given, given, ["MyPrecision@1", "FarPrecision@1", "MyRecall@1"])
    prints = {result.fingerprint for result in found.results.values()}
    assert len(prints) == 3
    assert "Precision, as a class" in str(found.definition("MyPrecision@1"))


def failure(name: str, lists: Any = None, truth: Any = None, **given: Any) -> Exception:
    lists, truth = lists or {"u": ["a", "b"]}, truth or {"u": ["a"]}
    found = rt.evaluate(lists, truth, [name, "mrr"], **given)
    assert "mrr" in found.values()  # the others go on
    return found.failures[name]


def test_a_class_with_a_cutoff_wants_one() -> None:
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
def test_a_class_that_returns_something_else_is_told_what_to_return(returned: Any) -> None:
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


def test_relevant_grades_that_a_tensor_cannot_tell_are_refused() -> None:
    truth = {"user": ["u", "u"], "item": ["a", "b"], "rating": [0.0, 1.0]}
    error = failure("MyPrecision@1", truth=truth, convention={"relevant_from": 0})
    assert isinstance(error, BadGrades) and "1 relevant items" in str(error)


def test_a_truth_that_counts_items_twice_is_refused() -> None:
    error = failure(
        "MyPrecision@1",
        truth={"user": ["u", "u"], "item": ["a", "a"]},
        convention={"duplicate_truth": "counted"},
    )
    assert isinstance(error, DuplicateTruth)

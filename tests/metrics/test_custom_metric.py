"""Custom metrics: in ten lines, with switches and parameters; one that fails fails alone."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, MetricFailed, MissingNeed, UnknownName
from rectitude.metrics import Ratio, derived_metric

LISTS = {"u": ["a", "x", "b"], "v": ["x", "a"]}
TRUTH = {"u": ["a", "b"], "v": ["a"]}


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Remove the metrics that a test has registered."""
    before = dict(rt.METRICS)
    yield
    for name in set(rt.METRICS) - set(before):
        rt.METRICS.remove(name)


def register(function: Callable[..., Any], **facts: Any) -> None:
    rt.metric("Mine", **{"name": "mine", **facts})(function)


def test_a_metric_in_ten_lines_works_in_evaluate() -> None:
    @rt.metric("Last hit", formula="1 / rank of the last hit in the top {k}")
    def last_hit(lists: Any, k: int | None) -> Ratio:
        """One over the rank of the last relevant item."""
        inside = lists.hit & (lists.rank <= (k or np.inf))
        last = np.zeros(lists.size)
        np.maximum.at(last, lists.list[inside], lists.rank[inside])
        return Ratio((last > 0).astype(float), np.maximum(last, 1))

    evaluation = rt.evaluate(LISTS, TRUTH, ["last_hit", "last_hit@2", "mrr"])
    assert evaluation["last_hit"] == (1 / 3 + 1 / 2) / 2
    assert evaluation["last_hit@2"] == (1 / 1 + 1 / 2) / 2
    assert evaluation["mrr"] == (1 + 1 / 2) / 2
    assert "1 / rank of the last hit in the top 2" in evaluation.definition("last_hit@2")
    assert "One over the rank" in evaluation.definition("last_hit")
    assert evaluation.per_list()["last_hit"].to_list() == [1 / 3, 1 / 2]


def test_a_keyword_without_a_default_is_a_switch_and_one_with_a_default_a_parameter() -> None:
    @rt.metric(
        "Mixture",
        name="mixture",
        formula="{alpha} * P + (1 - {alpha}) * hit, P over {precision_over}",
    )
    def _(lists: Any, k: int | None, *, precision_over: Any, alpha: float = 0.5) -> Ratio:
        precision = lists.hits(k) / precision_over(lists, k)
        return Ratio.of(alpha * precision + (1 - alpha) * (lists.hits(k) > 0))

    name = "mixture[alpha=0.25,precision_over=returned]@5"
    evaluation = rt.evaluate(LISTS, TRUTH, ["mixture@5", name])
    # u: 2 hits of 3 items, v: 1 of 2
    assert evaluation["mixture@5"] == pytest.approx(
        (0.5 * 2 / 5 + 0.5 + 0.5 * 1 / 5 + 0.5) / 2, rel=1e-15
    )
    by_hand = (0.25 * 2 / 3 + 0.75 + 0.25 * 1 / 2 + 0.75) / 2
    assert evaluation[name] == pytest.approx(by_hand, rel=1e-15)
    assert "0.25 * P" in evaluation.definition(name)
    with pytest.raises(UnknownName, match="beta"):
        rt.evaluate(LISTS, TRUTH, "mixture[beta=1]@5")
    with pytest.raises(BadArgument, match="'alpha' of metric 'mixture' is 'much'"):
        rt.evaluate(LISTS, TRUTH, "mixture[alpha=much]@5")


def test_an_unknown_switch_is_refused_when_the_metric_is_registered() -> None:
    def mine(lists: Any, k: int | None, *, precison_over: Any) -> Ratio:
        raise AssertionError

    with pytest.raises(UnknownName, match="did you mean 'precision_over'"):
        register(mine)


def test_a_metric_without_its_table_says_which_one_it_needs() -> None:
    def mine(lists: Any, k: int | None, *, facts: Any) -> Ratio:
        return Ratio.of(np.full(lists.size, float(facts.items.height)))

    register(mine, needs=("items",), bounds=(0, np.inf))
    evaluation = rt.evaluate(LISTS, TRUTH, ["mine", "mrr"])
    failure = evaluation.failures["mine"]
    assert isinstance(failure, MissingNeed) and isinstance(failure, ValueError)
    assert "'mine'" in str(failure) and "items=" in str(failure)
    assert evaluation["mrr"] == 3 / 4
    with pytest.raises(MissingNeed):
        evaluation["mine"]
    given = rt.evaluate(LISTS, TRUTH, "mine", items={"item": ["a", "b", "x"], "price": [1, 2, 3]})
    assert given["mine"] == 3


def test_an_unknown_need_is_refused_when_the_metric_is_registered() -> None:
    with pytest.raises(UnknownName, match="did you mean 'items'"):
        register(lambda lists, k: Ratio.of(np.ones(lists.size)), needs=("item",))


WRONG: dict[str, Callable[..., Any]] = {
    "raises": lambda lists, k: 1 / 0,
    "returns None": lambda lists, k: None,
    "returns a number": lambda lists, k: 0.5,
    "returns an array": lambda lists, k: np.ones(lists.size),
    "one number for all": lambda lists, k: Ratio(np.float64(1), np.float64(2)),
    "too few": lambda lists, k: Ratio.of(np.ones(lists.size - 1)),
    "two dimensions": lambda lists, k: Ratio.of(np.ones((lists.size, 1))),
    "text": lambda lists, k: Ratio(np.array(["a"] * lists.size), np.ones(lists.size)),
    "NaN": lambda lists, k: Ratio.of(np.full(lists.size, np.nan)),
    "NaN in one list": lambda lists, k: Ratio.of(np.where(np.arange(lists.size) == 1, np.nan, 1.0)),
    "NaN below": lambda lists, k: Ratio(np.ones(lists.size), np.full(lists.size, np.nan)),
    "infinite": lambda lists, k: Ratio.of(np.full(lists.size, np.inf)),
    "something over nothing": lambda lists, k: Ratio(np.ones(lists.size), np.zeros(lists.size)),
    "overflows": lambda lists, k: Ratio(np.full(lists.size, 1e308), np.full(lists.size, 1e-308)),
}


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("function", WRONG.values(), ids=list(WRONG))
def test_a_metric_that_fails_is_reported_by_name_and_the_others_return(
    function: Callable[..., Any], intervals: bool, average: str
) -> None:
    register(function, bounds=(-np.inf, np.inf))
    convention = {"undefined": "zero", "average": average}
    evaluation = rt.evaluate(
        LISTS, TRUTH, ["mrr", "mine@2", "hit"], convention, intervals=intervals
    )
    assert list(evaluation.values()) == ["mrr", "hit"]
    assert evaluation["mrr"] == 3 / 4
    failure = evaluation.failures["mine@2"]
    assert isinstance(failure, MetricFailed)
    assert "mine@2" in str(failure)
    assert "mine@2" in str(evaluation)
    assert "mine@2" in evaluation.to_json()


def test_a_metric_that_returns_a_number_did_not_raise_anything() -> None:
    register(lambda lists, k: 0.5)
    failure = str(rt.evaluate(LISTS, TRUTH, ["mrr", "mine@2"]).failures["mine@2"])
    assert failure.startswith(
        "the function of 'mine@2' returned a float; expected a rectitude.metrics.Ratio, such as "
        "Ratio.of(values) with one value per list."
    )


def test_a_name_belongs_to_one_metric() -> None:
    def mine(lists: Any, k: int | None) -> Ratio:
        return Ratio.of(np.ones(lists.size))

    def other(lists: Any, k: int | None) -> Ratio:
        return Ratio.of(np.zeros(lists.size))

    register(mine)
    register(mine)  # the same again, as when a notebook cell runs twice
    with pytest.raises(BadName, match="a metric named 'mine' exists already"):
        register(other)
    with pytest.raises(BadName, match="a metric named 'ndcg' exists already"):
        register(other, name="ndcg")
    assert rt.evaluate(LISTS, TRUTH, "mine")["mine"] == 1


def test_a_metric_can_be_removed() -> None:
    register(lambda lists, k: Ratio.of(np.ones(lists.size)))
    rt.METRICS.remove("mine")
    assert "mine" not in rt.METRICS
    with pytest.raises(UnknownName, match="no metric 'mine'"):
        rt.evaluate(LISTS, TRUTH, "mine")


class Plugin:
    """An entry point like that of an installed package."""

    name = "theirs"

    def load(self) -> None:
        register(lambda lists, k: Ratio.of(np.full(lists.size, 0.25)), name="theirs")


class BrokenPlugin:
    name = "broken"
    value = "their_package.metrics"

    def load(self) -> None:
        raise ImportError("no module named 'their_dependency'")


def install_plugins(monkeypatch: pytest.MonkeyPatch, *plugins: Any) -> None:
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: list(plugins) if group == "rectitude.metrics" else [],
    )
    monkeypatch.setattr(rt.METRICS, "_plugins_loaded", False)


def test_metrics_of_installed_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugins(monkeypatch, Plugin())
    assert rt.evaluate(LISTS, TRUTH, "theirs")["theirs"] == 1 / 4
    assert "theirs" in list(rt.METRICS)


def test_metrics_of_installed_packages_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugins(monkeypatch, Plugin())
    monkeypatch.setenv("RECTITUDE_PLUGINS", "off")
    with pytest.raises(UnknownName):
        rt.evaluate(LISTS, TRUTH, "theirs")
    assert rt.evaluate(LISTS, TRUTH, "mrr")["mrr"] == 3 / 4


def test_a_broken_package_does_not_affect_the_metrics_that_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_plugins(monkeypatch, BrokenPlugin(), Plugin())
    monkeypatch.setattr("warnings.warn", lambda *_, **__: None)
    assert {"mrr", "theirs"} <= set(rt.METRICS)
    assert rt.evaluate(LISTS, TRUTH, "theirs")["theirs"] == 1 / 4


def test_a_derived_metric_that_fails_is_reported_by_name_and_the_others_return() -> None:
    @derived_metric("Broken", of=("precision", "recall"))
    def broken(precision: float, recall: float) -> float:
        """Fails."""
        return precision / (recall - recall)

    try:
        evaluation = rt.evaluate(LISTS, TRUTH, ["mrr", "broken@2"])
    finally:
        rt.METRICS.remove("broken")
    assert list(evaluation.values()) == ["mrr"]
    assert "the function of 'broken@2' raised ZeroDivisionError" in str(
        evaluation.failures["broken@2"]
    )

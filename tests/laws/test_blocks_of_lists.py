"""Many lists are computed some at a time: every metric has the bits of all lists at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies import bits
from test_every_metric_in_batches import CONVENTIONS, SIZE, batch, every_metric, world

import rectitude as rt
from rectitude.evaluation import measure as adding


@pytest.fixture(params=["1", "3"])
def parted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that has lists computed some at a time from then on."""
    monkeypatch.setenv("RECTITUDE_THREADS", request.param)

    def part() -> None:
        for name, value in (("_LISTS_FOR_BLOCKS", 1), ("_MANY_LISTS", 1), ("_LISTS_PER_BLOCK", 4)):
            monkeypatch.setattr(adding, name, value)

    return part


def told(found: rt.Evaluation) -> Any:
    """Everything that an evaluation says."""
    ties = {str(name): result.ties for name, result in found.results.items()}
    failures = {name: str(error) for name, error in found.failures.items()}
    return bits(found), ties, failures, found.per_list().to_dicts(), str(found.ledger)


@pytest.mark.parametrize(
    "convention", [*CONVENTIONS, {"undefined": "error"}, {"unit": "user"}, {"ties": "average"}]
)
@pytest.mark.parametrize("kind", ["lists", "scores"])
def test_blocks_say_what_all_lists_say(kind: str, convention: Any, parted: Any) -> None:
    predictions, truth, tables = batch(world(3), np.arange(SIZE), kind)
    names = every_metric(kind)
    whole = rt.evaluate(predictions, truth, names, convention, **tables)
    parted()
    found = rt.evaluate(predictions, truth, names, convention, **tables)
    assert repr(told(found)) == repr(told(whole))


def test_blocks_of_logits_say_what_all_say(parted: Any) -> None:
    rng = np.random.default_rng(1)
    logits, targets = rng.normal(size=(SIZE, 5)).round(1), rng.integers(0, 5, SIZE).tolist()
    whole = rt.evaluate(rt.Logits(logits), targets, every_metric("logits"))
    parted()
    found = rt.evaluate(rt.Logits(logits), targets, every_metric("logits"))
    assert repr(told(found)) == repr(told(whole))


def test_ties_that_are_averaged_are_refused_by_whatever_counts_items(parted: Any) -> None:
    given = world(3)
    given["scores"] = np.floor(given["scores"] * 3)
    predictions, truth, tables = batch(given, np.arange(SIZE), "scores")
    names = ["gini@3", "reo@3", "group_gap[of=map]@3", "calibration_js@3", "ndcg@3"]
    for part in (lambda: None, parted):
        part()
        found = rt.evaluate(predictions, truth, names, {"ties": "average"}, **tables)
        assert sorted(found.failures) == sorted(names[:4])
        assert all("no closed form" in str(error) for error in found.failures.values())

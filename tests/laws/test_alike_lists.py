"""Lists whose judged items stand alike are measured once: every number stays the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rectitude as rt
from rectitude.arrays import Ragged
from rectitude.errors import RectitudeError
from rectitude.judge import alike
from rectitude.judge.judged import Judged

ROWS, COLUMNS = 60, 9


@pytest.fixture(autouse=True)
def _few_lists_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_WORTH_FROM", 1)
    monkeypatch.setattr(alike, "_WORTH_UPTO", 1.0)


def batch_of(seed: int, grades: int, levels: int) -> dict[str, Any]:
    """Scores of which many rows have the same ranks, with a truth and seen items."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, levels, (ROWS, COLUMNS)).astype(np.float32)
    wanted = random.random((ROWS, COLUMNS)) < 0.2
    truth = np.where(wanted, random.integers(1, grades + 1, wanted.shape), 0)
    seen = (random.random((ROWS, COLUMNS)) < 0.2) & ~wanted
    return {
        "predictions": rt.Scores(scores),
        "truth": csr_array(truth.astype(np.float64)),
        "train": csr_array(seen.astype(np.int8)),
    }


def numbers(evaluator: rt.Evaluator) -> object:
    try:
        return evaluator.compute().as_dict()
    except RectitudeError as error:
        return str(error)


CUT = sorted(
    f"{name}@2"
    for name, metric in rt.METRICS.items()
    if metric.kind == "list"
    and metric.cutoff in ("optional", "needed")
    and not (metric.requires or metric.needs)
)


@pytest.mark.parametrize("convention", [None, "recbole", "ranx", "elliot"])
def test_every_metric_of_ranks_has_the_same_sums(convention: str | None) -> None:
    for name in CUT:
        try:
            evaluators = [rt.Evaluator([name], convention, check=c) for c in ("later", "now")]
            for evaluator in evaluators:
                evaluator.update(**batch_of(1, 2, 1000))
        except RectitudeError:  # the convention refuses the metric
            continue
        later, now = map(numbers, evaluators)
        assert later == now, name


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=3),
    st.integers(1, 3),
    st.sampled_from([3, 1000]),
    st.fixed_dictionaries(
        {},
        optional={
            "ties": st.sampled_from(["pessimistic", "optimistic", "average", "item_ascending"]),
            "seen": st.sampled_from(["removed", "kept", "last"]),
            "undefined": st.sampled_from(["zero", "skip", "error", "nan"]),
            "truth_needed": st.sampled_from(["relevant", "judged", "none"]),
            "average": st.sampled_from(["macro", "micro"]),
            "discount_by": st.sampled_from(["rank", "place"]),
            "relevant_from": st.sampled_from([1.0, 2.0]),
        },
    ),
)
def test_values_and_ledger_do_not_depend_on_measuring_lists_once(
    seeds: list[int], grades: int, levels: int, convention: dict[str, Any]
) -> None:
    metrics = ("ndcg@{1,3}", "recall@3", "precision@5", "mrr@5", "f1@2", "map@4")
    try:
        later, now = (
            rt.Evaluator(metrics, convention),
            rt.Evaluator(metrics, convention, check="now"),
        )
        for seed in seeds:
            for evaluator in (later, now):
                evaluator.update(**batch_of(seed, grades, levels))
    except RectitudeError:  # the convention refuses these lists
        return
    one, other = numbers(later), numbers(now)
    if isinstance(one, dict):
        assert one == other


def test_lists_that_differ_in_any_way_are_kept_apart() -> None:
    different = Judged(
        list=np.array([0, 1, 2, 3, 4, 4]),
        rank=np.array([1, 1, 2, 1, 1, 2]),
        grade=np.array([1.0, 1, 1, 2, 1, 1]),
        place=np.zeros(6, int),
        returned=np.array([5, 5, 5, 5, 5, 1]),
        truth=_ragged([[1.0], [1.0], [1.0], [2.0], [1.0, 1.0], [1.0]]),
        handed=np.ones(6, bool),
        in_truth=np.ones(6, bool),
    )
    found = alike.find_alike(different, 3, np.empty(0, np.int64))
    assert found is not None
    assert found.lists.tolist() == [0, 2, 3, 4, 5]
    assert found.times.tolist() == [2, 1, 1, 1, 1]


def test_lists_whose_hashes_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = Judged(
        list=np.arange(4), rank=np.array([1, 2, 1, 2]), grade=np.ones(4), place=np.zeros(4, int),
        returned=np.full(4, 5), truth=_ragged([[1.0]] * 4), handed=np.ones(4, bool),
        in_truth=np.ones(4, bool),
    )  # fmt: skip
    monkeypatch.setattr(alike, "_mix", lambda codes: codes * np.uint64(0))
    found = alike.find_alike(lists, 9, np.empty(0, np.int64))
    assert found is not None
    assert found.lists.tolist() == [0, 1, 3]
    assert found.times.tolist() == [2, 1, 1]


def test_lists_with_ties_stay_alone() -> None:
    same = Judged(
        list=np.arange(4), rank=np.ones(4, int), grade=np.ones(4), place=np.zeros(4, int),
        returned=np.full(4, 5), truth=_ragged([[1.0]] * 4), handed=np.ones(4, bool),
        in_truth=np.ones(4, bool),
    )  # fmt: skip
    found = alike.find_alike(same, 3, np.array([1]))
    assert found is not None
    assert found.lists.tolist() == [0, 1]
    assert found.times.tolist() == [3, 1]


def test_few_lists_and_lists_that_mostly_differ_are_measured_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = Judged(
        list=np.arange(4), rank=np.arange(1, 5), grade=np.ones(4), place=np.zeros(4, int),
        returned=np.full(4, 5), truth=_ragged([[1.0]] * 4), handed=np.ones(4, bool),
        in_truth=np.ones(4, bool),
    )  # fmt: skip
    nobody = np.empty(0, np.int64)
    monkeypatch.setattr(alike, "_WORTH_UPTO", 0.5)
    assert alike.find_alike(lists, 9, nobody) is None
    monkeypatch.setattr(alike, "_WORTH_FROM", 5)
    assert alike.find_alike(lists, 9, nobody) is None


def _ragged(rows: list[list[float]]) -> Any:

    lengths = [len(row) for row in rows]
    return Ragged(np.append(0, np.cumsum(lengths)), np.concatenate(rows))

"""Dense scores give the bits of the same evaluation through sorted lists, however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import bits, conventions, environment, names

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases, ragged
from rectitude.errors import NothingToEvaluate, RectitudeError

EVERYWHERE = names((None, 1, 2, 3, 20))
AVERAGED = [name for name in names((None, 2)) if rt.METRICS[name.split("@")[0]].can_average]
WHOLE = [name for name in rt.METRICS if rt.METRICS[name].requires == ("scores",)]
OWN = {
    "ties": st.sampled_from(TIES),
    "seen": st.sampled_from(("removed", "last", "kept")),
    "candidates": st.sampled_from(("given", "with_truth")),
    "score_precision": st.sampled_from(("float64", "float32")),
}


@st.composite
def switches(draw: st.DrawFn) -> dict[str, Any]:
    """Conventions under which dense scores and lists both have values."""
    chosen = draw(conventions) | draw(st.fixed_dictionaries({}, optional=OWN))
    chosen.pop("unjudged", None)
    return chosen


def fit(case: DenseCase, chosen: dict[str, Any]) -> None:
    """Leave out what does not go together."""
    if case.candidates is not None and chosen.get("seen") == "last":
        chosen["seen"] = "kept"


def both(
    case: DenseCase, chosen: dict[str, Any], metrics: list[str], lists: rt.Lists, **more: Any
) -> Any:
    """The case through scores and through lists; an evaluation without any item is left out."""
    truth = case.truth_table()
    try:
        expected = rt.evaluate(lists, truth, metrics, chosen)
    except NothingToEvaluate:
        assume(False)
    return case.evaluate(metrics, chosen, **more), expected


@settings(max_examples=200)
@given(dense_cases(), switches())
def test_scores_give_the_bits_of_sorted_lists(case: DenseCase, chosen: dict[str, Any]) -> None:
    case.scores.setflags(write=False)
    before = case.scores.tobytes()
    fit(case, chosen)
    dense, lists = both(case, chosen, EVERYWHERE, case.sorted_lists(chosen))
    assert bits(dense) == bits(lists)
    assert case.scores.tobytes() == before


@settings(max_examples=100)
@given(dense_cases(), switches(), st.sampled_from((1, 2, 3)), st.sampled_from(("listed", "found")))
def test_a_cutoff_looks_no_less_deep_than_it_must(
    case: DenseCase, chosen: dict[str, Any], k: int, ideal: str
) -> None:
    fit(case, chosen)
    chosen["ideal"] = ideal
    cut = names((k,))
    dense, lists = both(case, chosen, cut, case.sorted_lists(chosen))
    assert bits(dense) == bits(lists)
    cut += [f"{name}@{k}" for name in WHOLE if rt.METRICS[name].cutoff == "optional"]
    for metrics in (cut, [f"ndcg@{k}"], [f"bpref_strict@{k}"], [f"limited_auc@{k}"]):
        alone, beside = (case.evaluate(asked, chosen) for asked in (metrics, [*metrics, "mrr"]))
        assert bits(alone).items() <= bits(beside).items()


@settings(max_examples=60)
@given(dense_cases(values=("six", "equal")), st.sampled_from(TIES))
def test_seen_items_that_are_put_last_follow_the_tie_rule(case: DenseCase, ties: str) -> None:
    seen = tuple((r, c) for r in range(len(case.users)) for c in range(len(case.items)) if c % 3)
    case = case.replace(train=seen, candidates=None)
    chosen = {"seen": "last", "ties": ties, "undefined": "zero"}
    dense, lists = both(case, chosen, EVERYWHERE, case.sorted_lists(chosen))
    assert bits(dense) == bits(lists)


@settings(max_examples=100)
@given(dense_cases(values=("six", "equal", "close")), switches(), st.booleans())
def test_ties_are_bounded_and_averaged_as_in_lists_with_scores(
    case: DenseCase, chosen: dict[str, Any], averaged: bool
) -> None:
    chosen |= {"ties": "average"} if averaged else {}
    chosen["seen"] = "kept" if chosen.get("seen") == "last" else chosen.get("seen", "removed")
    metrics = AVERAGED if averaged else EVERYWHERE
    dense, lists = both(case, chosen, metrics, case.scored_lists(chosen))
    assert bits(dense) == bits(lists)
    for name, result in lists.results.items():
        assert dense.results[name].ties == result.ties, name
        assert dense.results[name].state == result.state, name
    for entry in ("lists_with_ties", "users_in_truth", "users_with_list", "users_without_list",
                  "users_without_relevant", "lists_not_in_truth", "lists_empty"):  # fmt: skip
        assert dense.ledger[entry] == lists.ledger[entry], entry


@settings(max_examples=60)
@given(dense_cases(), switches(), st.booleans())
def test_a_recorded_order_gives_the_bits_of_the_lists_it_records(
    case: DenseCase, chosen: dict[str, Any], as_table: bool
) -> None:
    fit(case, chosen)
    orders = [case.order(row, chosen) for row in range(len(case.users))]
    filled = np.full((len(orders), len(case.items) + 1), -1)
    for row, order in enumerate(orders):
        filled[row, : len(order)] = order
    lists = case.sorted_lists(chosen)
    recorded = filled
    if as_table:
        rank = [n for order in orders for n in range(len(order))]
        recorded = lists.source.with_columns(rank=pl.Series(rank, dtype=pl.Int64))[::-1]
    case = case.replace(scores=np.zeros_like(case.scores), train=None, candidates=None)
    dense, expected = both(case, chosen, EVERYWHERE, lists, ranking=recorded)
    assert bits(dense) == bits(expected)


@settings(max_examples=60)
@given(dense_cases(), switches(), st.lists(st.integers(1, 3)), st.integers(1, 200))
def test_blocks_of_any_size_give_the_same_bits(
    case: DenseCase, chosen: dict[str, Any], cuts: list[int], size: int
) -> None:
    fit(case, chosen)
    whole = outcome(case, chosen)
    forms = [np.ascontiguousarray(case.scores), np.asfortranarray(case.scores), case.scores[:, ...]]
    forms += [case.scores.tolist(), ragged(case.scores, cuts)]
    if case.scores.dtype.kind == "f":
        forms.append(case.scores.astype(case.scores.dtype.newbyteorder()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rectitude.data.dense.VIEWED_BYTES", size)
        patch.setattr("rectitude.data.dense.COPIED_BYTES", size)
        patch.setattr("rectitude.predictions.scores.COPIED_BYTES", size)
        for form in forms:
            assert outcome(case, chosen, source=form) == whole


@settings(max_examples=60)
@given(dense_cases(), switches())
def test_compiled_kernels_and_threads_give_the_bits_of_the_numpy_twin(
    case: DenseCase, chosen: dict[str, Any]
) -> None:
    pytest.importorskip("numba")
    fit(case, chosen)
    seen = []
    for kernels, threads in (("numpy", "1"), ("numba", "1"), ("numpy", "3"), ("numba", "2")):
        chosen_by = environment(RECTITUDE_KERNELS=kernels, RECTITUDE_THREADS=threads)
        with chosen_by, pytest.MonkeyPatch.context() as patch:
            patch.setattr("rectitude.rowkernels.rows.BLOCK", 10)
            seen.append(outcome(case, chosen))
    assert seen[1:] == seen[:1] * 3


def outcome(case: DenseCase, chosen: dict[str, Any], **more: Any) -> Any:
    """Values, failures, ledger and fingerprints, or the error in words, without the source's."""
    try:
        evaluation = case.evaluate([*EVERYWHERE, *WHOLE], {**chosen, "undefined": "skip"}, **more)
    except RectitudeError as error:
        return type(error)
    prints = [side.get("fingerprint") for side in evaluation.manifest["inputs"].values()]
    counts = {entry.name: (entry.count, entry.of) for entry in evaluation.ledger}
    failed = {name: type(error) for name, error in evaluation.failures.items()}
    return {n: v.hex() for n, v in evaluation.values().items()}, failed, prints, counts


@pytest.mark.parametrize("depth", [None, 5, 100])
@pytest.mark.parametrize("values", [3, 6, 400, 10**6])
def test_long_rows_give_the_bits_of_sorted_lists(
    depth: int | None, values: int, kernels: str
) -> None:
    rng = np.random.default_rng(values)
    scores = rng.integers(0, values, (30, 2500)).astype(np.float32)
    pairs = [(u, int(i)) for u in range(30) for i in rng.choice(2500, 45, replace=False)]
    truth = tuple((u, i, float(n % 3)) for n, (u, i) in enumerate(pairs[::3]))
    case = DenseCase(scores, list(range(30)), list(range(2500)), truth, train=tuple(pairs[1::2]))
    metrics = names((depth,))
    for ties in TIES:
        expected = rt.evaluate(case.sorted_lists({"ties": ties}), case.truth_table(), metrics,
                               {"ties": "given"})  # fmt: skip
        assert case.evaluate(metrics, {"ties": ties}).values() == expected.values()


def test_threads_share_many_rows_without_changing_a_bit(kernels: str) -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 50, (3000, 800)).astype(np.float32)
    items = rng.integers(0, 800, 3000)
    truth = pl.DataFrame({"user": np.arange(3000), "item": items})
    seen = []
    for threads in "123":
        with environment(RECTITUDE_THREADS=threads):
            seen.append(rt.evaluate(rt.Scores(scores), truth, ["mrr", "hit@10", "auc", "ndcg@5"]))
    assert seen[0].to_json() == seen[1].to_json() == seen[2].to_json()
    ranks = (scores >= scores[np.arange(3000), items][:, None]).sum(axis=1)  # after its equals
    assert seen[0]["mrr"] == pytest.approx(np.mean(1 / ranks), rel=1e-12)
    assert seen[0]["hit@10"] == (ranks <= 10).sum() / 3000
    assert seen[0]["auc"] == pytest.approx(np.mean((800 - ranks) / 799), rel=1e-12)


@settings(max_examples=100)
@given(dense_cases(masks=False))
def test_auc_is_that_of_scikit_learn_row_by_row(case: DenseCase) -> None:
    from sklearn.metrics import roc_auc_score

    relevant = {(u, i) for u, i, grade in case.truth if grade > 0}
    assume(np.isfinite(case.best().astype(np.float64)).all())
    areas, weights = [], []
    for row, user in enumerate(case.users):
        label = [(user, item) in relevant for item in case.items]
        if 0 < sum(label) < len(label):
            areas.append(roc_auc_score(label, case.best()[row].astype(np.float64)))
            weights.append(sum(label))
    assume(areas)
    evaluation = case.evaluate(["auc", "gauc"], {"ties": "average", "undefined": "skip"})
    assert evaluation["auc"] == pytest.approx(np.mean(areas), rel=1e-12, abs=1e-15)
    assert evaluation["gauc"] == pytest.approx(np.average(areas, weights=weights), rel=1e-12)

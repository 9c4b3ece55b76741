"""Arrays, tensors on the CPU and tensors counted in torch give exactly the same evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from torch_ways import OnDevice, at, content, outcome

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases
from rectitude.torch import Evaluator, Ranked
from rectitude.torch import scored as counting

METRICS = [*at((None, 2)), "auc", "gauc", "mean_rank", "lrap"]
CLASSES = ["accuracy@{1,3}", "mrr", "ndcg@2", "weighted_f1", "macro_f1@2", "mcc", "mean_rank"]
SOME = ["ndcg@3", "recall@2", "map", "mrr"]
switches = st.fixed_dictionaries(
    {"undefined": st.just("zero")},
    optional={
        "ties": st.sampled_from((*TIES, "average")),
        "seen": st.sampled_from(("removed", "last", "kept")),
        "score_precision": st.sampled_from(("float64", "float32", "logistic")),
        "hit_scores": st.sampled_from(("any", "positive")),
        "candidates": st.sampled_from(("given", "with_truth")),
        "seen_items": st.sampled_from(("all", "outside_truth")),
        "unknown_items": st.sampled_from(("keep", "drop", "lowest")),
        "relevant_from": st.sampled_from((None, 2)),
        "truth_needed": st.sampled_from(("relevant", "judged")),
    },
)


def tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))


def ways(metrics: Any, chosen: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "on the CPU": Evaluator(metrics, chosen, **more),
        "counted in torch": OnDevice(metrics, chosen, **more),
        "kept for repeats": Evaluator(metrics, chosen, repeats="once", **more),
        "counted and kept": OnDevice(metrics, chosen, repeats="once", **more),
    }


@settings(max_examples=60)
@given(dense_cases(), switches, st.sampled_from((METRICS, SOME[:2])))
def test_scores_in_tensors(case: DenseCase, chosen: dict[str, Any], metrics: list[str]) -> None:
    if case.candidates is not None and chosen.get("seen") == "last":
        chosen["seen"] = "kept"
    if len(case.items) == 1 and case.padding == 0:  # no item is left that could be lowest
        chosen.pop("unknown_items", None)
    more = case.masks()
    plain = rt.Evaluator(metrics, chosen, intervals=True)
    batch = (case.truth_table(), more)
    expected = outcome(plain, (case.predictions(np.array(case.scores)), *batch))
    for way, evaluator in ways(metrics, chosen, intervals=True).items():
        predictions = case.predictions(tensor(case.scores))
        assert outcome(evaluator, (predictions, *batch)) == expected, way


@st.composite
def logits(draw: st.DrawFn) -> tuple[Any, Any]:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    pool = st.sampled_from((-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf))
    flat = draw(st.lists(pool, min_size=rows * columns, max_size=rows * columns))
    kind = draw(st.sampled_from(("float16", "float32", "float64")))
    target = draw(st.lists(st.integers(0, columns - 1), min_size=rows, max_size=rows))
    return np.array(flat, kind).reshape(rows, columns), np.array(target)


@settings(max_examples=60)
@given(logits(), switches)
def test_logits_in_tensors(case: tuple[Any, Any], chosen: dict[str, Any]) -> None:
    array, target = case
    expected = outcome(rt.Evaluator(CLASSES, chosen), (rt.Logits(array), target, {}))
    for way, evaluator in ways(CLASSES, chosen).items():
        batch = (tensor(array), tensor(target), {})
        assert outcome(evaluator, batch) == expected, way


def test_the_loss_agrees_to_the_documented_precision() -> None:
    generator = np.random.default_rng(0)
    array = generator.normal(size=(300, 2000)).astype(np.float32) * 5
    target = generator.integers(0, 2000, 300)
    expected = rt.evaluate(rt.Logits(array), target, "cross_entropy")["cross_entropy"]
    evaluator = OnDevice("cross_entropy")
    evaluator.update(tensor(array), tensor(target))
    assert evaluator.compute()["cross_entropy"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float8_e5m2])
@pytest.mark.parametrize("evaluator", [Evaluator, OnDevice])
@pytest.mark.parametrize("interests", [0, 3])
def test_narrow_floats_give_the_result_of_float32(
    kind: Any, evaluator: Any, interests: int
) -> None:
    shape = (40, interests, 100) if interests else (40, 100)
    narrow = torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(kind)
    truth = csr_array(np.random.default_rng(0).random((40, 100)) < 0.1).astype(np.float64)
    wide = narrow.float().numpy()
    expected = rt.evaluate(rt.Scores(wide), truth, SOME)
    result = evaluator(SOME)
    result.update(rt.Scores(narrow), torch.from_numpy(truth.toarray()))
    assert result.compute().values() == expected.values()
    assert str(kind).removeprefix("torch.") in result.compute().ledger.notes["predictions"]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("make", [Evaluator, OnDevice])
def test_the_truth_may_have_any_form(make: Any) -> None:
    scores = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    marked = torch.zeros(4, 6)
    marked[[0, 0, 1, 3], [2, 4, 0, 5]] = 1
    padded = torch.tensor([[2, 4, -1], [0, -1, -1], [-1, -1, -1], [-1, 5, -1]])
    table = {"user": [0, 0, 1, 3], "item": [2, 4, 0, 5]}
    forms = [marked, marked.bool(), marked.int(), padded, padded.short(), marked.to_sparse(),
             marked.to_sparse_csr(), table, csr_array(marked.numpy())]  # fmt: skip
    values = []
    for truth in forms:
        evaluator = make(SOME)
        evaluator.update(rt.Scores(scores), truth, train=torch.tensor([[1], [1], [2], [-1]]))
        values.append(evaluator.compute().values())
    assert all(value == values[0] for value in values)


@pytest.mark.parametrize("make", [Evaluator, OnDevice])
def test_one_target_a_row_may_be_masked_as_scores(make: Any) -> None:
    scores, targets = torch.eye(3), torch.tensor([0, 1, 0])
    evaluator = make(["mrr", "ndcg@2"])
    evaluator.update(rt.Scores(scores), targets, train=torch.tensor([[0], [2], [2]]))
    expected = rt.evaluate(
        rt.Scores(scores.numpy()),
        csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [0, 1, 0])), shape=(3, 3)),
        ["mrr", "ndcg@2"],
        train=csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [0, 2, 2])), shape=(3, 3)),
    )
    assert evaluator.compute().values() == expected.values()
    assert evaluator.compute().ledger["truth_masked"] == 1


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.int32])
def test_embeddings_in_tensors(kind: Any) -> None:
    generator = torch.Generator().manual_seed(1)
    users = torch.randint(-3, 4, (20, 5), generator=generator).to(kind)
    items = torch.randint(-3, 4, (50, 5), generator=generator).to(kind)
    truth = {"user": [3, 3, 7], "item": [1, 2, 49]}
    wide = [side.float().numpy() for side in (users, items)]
    expected = rt.Evaluator(SOME)
    expected.update(rt.Embeddings(*wide), truth, users=[3, 7])
    for evaluator in ways(SOME).values():
        evaluator.update(rt.Embeddings(users, items), truth, users=[3, 7])
        assert evaluator.compute().values() == expected.compute().values()


def test_lists_in_tensors() -> None:
    items = torch.tensor([[5, 3, 1], [2, -1, -1], [-1, -1, -1]])
    scores = torch.tensor([[0.1, 0.9, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    truth = torch.tensor([[3, 9], [2, -1], [7, -1]])
    users = torch.tensor([70, 80, 90])
    table = {"user": [70, 70, 80, 90], "item": [3, 9, 2, 7]}
    given = rt.Lists(
        {"user": [70, 70, 70, 80], "item": [5, 3, 1, 2]}, users=[70, 80, 90], ordered=True
    )
    by_score = rt.Lists(
        {"user": [70, 70, 70, 80], "item": [5, 3, 1, 2], "score": [0.1, 0.9, 0.5, 1.0]},
        users=[70, 80, 90],
    )
    for lists, item_scores in ((given, None), (by_score, scores)):
        expected = rt.evaluate(lists, table, SOME)
        for evaluator in ways(SOME).values():
            evaluator.update(Ranked(items, item_scores, users=users), truth)
            result = evaluator.compute()
            assert result.values() == expected.values()
            assert result.ledger["lists_empty"] == 1


def test_small_steps_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = torch.randn(9, 30, generator=torch.Generator().manual_seed(0)).round(decimals=1)
    truth = torch.randint(0, 30, (9,), generator=torch.Generator().manual_seed(0))
    results = []
    for step in (1, 70, 1 << 25):
        monkeypatch.setattr(counting, "STEP", step)
        evaluator = OnDevice([*CLASSES, "cross_entropy"])
        evaluator.update(scores, truth)
        results.append(content(evaluator.compute()))
    assert results[0] == results[1] == results[2]


def test_rows_of_a_user_have_their_own_keys() -> None:
    scores = torch.tensor([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3], [0.5, 0.1, 0.4]])
    in_tensors = rt.Scores(scores, users=torch.tensor([1, 1, 2]), lists=torch.tensor([10, 11, 12]))
    truth = pl.DataFrame({"session": [10, 11, 12], "user": [1, 1, 2], "item": [1, 2, 0]})
    in_arrays = rt.Scores(scores.numpy(), users=[1, 1, 2], lists=[10, 11, 12])
    chosen = {"unit": "user"}
    expected = rt.evaluate(in_arrays, truth, SOME, chosen, list_key="session")
    for evaluator in ways(SOME, chosen).values():
        evaluator.update(in_tensors, truth, list_key="session")
        assert evaluator.compute().values() == expected.values()


def test_targets_may_be_arrays_lists_or_files(tmp_path: Any) -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    targets = np.array([0, 3, 1, 2, 2])
    np.save(tmp_path / "targets.npy", targets)
    expected = rt.evaluate(rt.Logits(logits.numpy()), targets, CLASSES).values()
    for truth in (targets, targets.tolist(), str(tmp_path / "targets.npy")):
        for evaluator in ways(CLASSES).values():
            evaluator.update(rt.Logits(logits), truth)
            assert evaluator.compute().values() == expected

"""`Embeddings`: inner products as scores, computed block by block."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rectitude as rt
from rectitude.errors import BadArgument, BadIds, BadScores

METRICS = ["ndcg@{1,5}", "recall@3", "mrr", "map", "auc", "hit@2"]
WHOLE = st.integers(-3, 3)


@settings(max_examples=60)
@given(st.data(), st.sampled_from(("float16", "float32", "float64", "int8")), st.integers(1, 300))
def test_products_of_whole_numbers_equal_scores_in_blocks_of_any_size(
    data: st.DataObject, kind: str, size: int
) -> None:
    width, users, items = (data.draw(st.integers(1, 5)) for _ in range(3))
    left = data.draw(arrays(np.int64, (users, width), elements=WHOLE)).astype(kind)
    right = data.draw(arrays(np.int64, (items, width), elements=WHOLE)).astype(kind)
    names = [f"i{n}" for n in range(items)]
    truth = {user: names[user % items : user % items + 2] for user in range(users)}
    train = {user: names[(user + 2) % items :][:1] for user in range(users)}
    more: dict[str, Any] = {"train": train, "convention": {"undefined": "skip"}}
    scores = left.astype(np.float64) @ right.astype(np.float64).T
    expected = rt.evaluate(rt.Scores(scores, items=names), truth, METRICS, **more)
    before = left.tobytes(), right.tobytes()
    left.setflags(write=False)
    right.setflags(write=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rectitude.predictions.scores._PRODUCT_BYTES", size)
        evaluation = rt.evaluate(rt.Embeddings(left, right, items=names), truth, METRICS, **more)
        top = rt.Embeddings(left, right, items=names).top(3, train)
    assert evaluation.values() == expected.values()
    assert set(evaluation.failures) == set(expected.failures)
    assert top.tolist() == rt.Scores(scores, items=names).top(3, train).tolist()
    assert (left.tobytes(), right.tobytes()) == before


def test_real_vectors_give_the_values_of_their_products(kernels: str) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(80, 12)), rng.normal(size=(400, 12))
    truth = {user: rng.choice(400, 5, replace=False).tolist() for user in range(80)}
    train = {user: rng.choice(400, 30, replace=False).tolist() for user in range(80)}
    evaluation = rt.evaluate(rt.Embeddings(left, right), truth, METRICS, train=train)
    expected = rt.evaluate(rt.Scores(left @ right.T), truth, METRICS, train=train)
    assert evaluation.values() == pytest.approx(expected.values(), rel=1e-12)


def test_users_lists_padding_and_masks_are_those_of_scores() -> None:
    left, right = np.array([[1.0], [2.0], [-1.0]]), np.array([[3.0], [2.0], [1.0], [9.0]])
    vectors = rt.Embeddings(
        left, right, lists=["s", "t", "u"], users=["ann", "ann", "bob"],
        items=["a", "b", "c", "pad"], padding="pad",
    )  # fmt: skip
    truth = {"session": ["s", "t", "u"], "item": ["b", "b", "a"]}
    options: dict[str, Any] = {"list_key": "session", "train": {"ann": ["a"]}}
    evaluation = rt.evaluate(vectors, truth, "mrr", {"unit": "user"}, **options)
    # ann: without a, b is first in both; bob's scores are in reverse order: c, b, a.
    assert evaluation.per_user()["mrr"].to_list() == [1.0, 1 / 3]
    assert evaluation["mrr"] == pytest.approx((1 + 1 / 3) / 2, rel=1e-15)


def test_vectors_may_be_in_files(tmp_path: Path) -> None:
    left, right = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), np.eye(2, dtype=np.float16)
    np.save(tmp_path / "users.npy", left)
    np.save(tmp_path / "items.npy", right)
    vectors = rt.Embeddings(tmp_path / "users.npy", str(tmp_path / "items.npy"))
    assert rt.evaluate(vectors, {0: [0], 1: [0]}, "mrr")["mrr"] == (1 + 1 / 2) / 2


def test_the_full_matrix_is_never_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("RECTITUDE_KERNELS", "numba")
    monkeypatch.setattr("rectitude.predictions.scores._PRODUCT_BYTES", 1 << 22)
    rng = np.random.default_rng(0)
    left = rng.normal(size=(6000, 8)).astype(np.float32)
    right = rng.normal(size=(5000, 8)).astype(np.float32)
    truth = {"user": np.arange(6000), "item": np.arange(6000) % 5000}
    rt.evaluate(rt.Embeddings(left[:10], right), {0: [1]}, "ndcg@10")  # compiled before it counts
    told: list[int] = []
    tracemalloc.start()
    try:
        rt.evaluate(
            rt.Embeddings(left, right), truth, "ndcg@10", progress=lambda done, _: told.append(done)
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 6000 * 5000 * 4 / 4
    assert len(told) > 20
    assert told[-1] == 6000


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (np.ones((2, 3)), np.ones((4, 2)), "3 dimensions and item vectors 2"),
        (np.ones(3), np.ones((4, 3)), r"user vectors has the shape \(3,\)"),
        (np.ones((2, 3)), np.ones((0, 3)), r"item vectors is empty: its shape is \(0, 3\)"),
        (np.ones((2, 3), complex), np.ones((4, 3)), "user vectors has the type complex128"),
        (
            [[1.0], [np.nan], [np.inf]],
            [[1.0]],
            r"2 of 3 user vectors are not finite \(first: vec.* 1",
        ),
        ([[1.0]], [[np.nan]], r"1 of 1 item vectors are not finite"),
        ("missing.npy", [[1.0]], "missing.npy does not exist"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(left: Any, right: Any, words: str) -> None:
    with pytest.raises((BadScores, OSError), match=words):
        rt.evaluate(rt.Embeddings(left, right), {0: [0]}, "mrr")


def test_ids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadScores, match="items= has length 3, but there are 2 item vectors"):
        rt.evaluate(rt.Embeddings(np.eye(2), np.eye(2), items=[1, 2, 3]), {0: [1]}, "mrr")
    with pytest.raises(BadIds, match=r"2 of 2 ids in users= occur more than once \(first: 7\)"):
        rt.evaluate(rt.Embeddings(np.eye(2), np.eye(2), users=[7, 7]), {7: [1]}, "mrr")


def test_products_that_overflow_are_infinite_scores() -> None:
    vectors = rt.Embeddings([[1e200]], [[1e200], [1.0], [-1e200]])
    for item, rank in enumerate((1, 2, 3)):
        assert rt.evaluate(vectors, {0: [item]}, "mrr")["mrr"] == 1 / rank


def test_cosine_similarity_divides_vectors_by_their_length() -> None:
    people, things = np.array([[3.0, 0.0]]), np.array([[5.0, 5.0], [1.0, 0.0], [0.0, 0.0]])
    # Inner products: 15, 3, 0. Cosines: 0.71, 1, and 0 for the vector of zeros.
    assert rt.evaluate(rt.Embeddings(people, things), {0: [1]}, "mrr")["mrr"] == 1 / 2
    cosine = rt.Embeddings(people, things, similarity="cosine")
    evaluation = rt.evaluate(cosine, {0: [1]}, "mrr")
    assert evaluation["mrr"] == 1
    words = "embeddings (1 x 3, 2 dimensions, cosine similarity)"
    assert evaluation.ledger.notes["predictions"] == words
    np.testing.assert_allclose(next(cosine.open().blocks()), [[0.5**0.5, 1, 0]], rtol=1e-15)


def test_cosine_similarity_of_huge_and_tiny_vectors_is_finite() -> None:
    vectors = np.array([[1e200, 1e200], [1e-200, 1e-200]])
    cosine = rt.Embeddings(vectors, vectors, similarity="cosine")
    np.testing.assert_allclose(next(cosine.open().blocks()), np.ones((2, 2)), rtol=1e-15)


def test_an_unknown_similarity_is_refused() -> None:
    with pytest.raises(BadArgument, match="similarity is 'cos'") as caught:
        rt.Embeddings(np.eye(2), np.eye(2), similarity="cos")  # type: ignore[arg-type]
    assert "'dot' or 'cosine'" in str(caught.value)

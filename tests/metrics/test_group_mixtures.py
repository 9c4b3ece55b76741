"""Groups in lists and in their users' training data: in any blocks, compiled or not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.arrays import distinct, positions_in
from rectitude.judge import items
from rectitude.judge.items import different_pairs
from rectitude.metrics import calibration as mixtures
from rectitude.metrics import calibration as proportions

NAMES = [
    "calibration_kl@{3,5}", "calibration_js@{3,5}", "calibration_hellinger@5",
    "category_coverage@5", "distinct_categories@5", "reo@{3,5}", "rsp@{3,5}", "pop_reo@5",
    "pop_rsp@5", "bias_disparity_bd@5", "unseen_share@5", "unexpectedness@5",
]  # fmt: skip
LISTS, ITEMS = 400, 40


def given(seed: int, column: str) -> dict[str, Any]:
    """Return tables in random order; some items have no value, some users no training data."""
    rng = np.random.default_rng(seed)
    many = {"few": 6, "many": 30 * proportions.FEW, "several": 8}[column]
    values: list[Any] = [int(v) if v else None for v in rng.integers(0, many, ITEMS)]
    if column == "several":
        values = [rng.integers(0, many, size).tolist() for size in rng.integers(0, 4, ITEMS)]
    user, place = np.divmod(np.arange(LISTS * 5), 5)
    shown = np.argsort(rng.random((LISTS, ITEMS)), axis=1)[:, :5].reshape(-1)
    short = rng.random(LISTS * 5) < 0.9
    lists = pl.DataFrame({"user": user, "item": shown, "rank": place + 1}).filter(short)
    pairs = {
        what: pl.DataFrame({"user": rng.integers(0, users, n), "item": rng.integers(0, ITEMS, n)})
        for what, users, n in (("train", LISTS - 9, 3_600), ("truth", LISTS, 1_700))
    }
    return {
        "predictions": lists, "train": pairs["train"], "truth": pairs["truth"].unique(),
        "items": pl.DataFrame({"item": range(ITEMS), "category": values,
                               "group": rng.integers(0, 3, ITEMS)}),
        "users": pl.DataFrame({"user": range(LISTS), "group": rng.integers(0, 3, LISTS)}),
    }  # fmt: skip


def evaluated(tables: dict[str, Any]) -> rt.Evaluation:
    return rt.evaluate(**tables, metrics=NAMES, convention={"undefined": "skip"})


@pytest.mark.parametrize("column", ["few", "many", "several"])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_or_not_and_in_any_blocks_the_bits_are_the_same(
    column: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    tables = given(seed, column)
    monkeypatch.setenv("RECTITUDE_KERNELS", "numpy")
    whole = evaluated(tables)
    assert not whole.failures
    monkeypatch.setattr(mixtures, "_LISTS_OF_NUMPY", 7)
    found = [evaluated(tables)]
    monkeypatch.setenv("RECTITUDE_KERNELS", "numba")
    found += [evaluated(tables)]
    monkeypatch.setattr(mixtures, "_LISTS", 7)
    found += [evaluated(tables | {"train": tables["train"].sort("user", "item")})]
    for other in found:
        assert other.values() == whole.values()
        assert other.per_list().equals(whole.per_list())


@pytest.mark.parametrize("column", ["few", "many", "several"])
def test_the_distance_is_that_of_shares_counted_one_by_one(column: str, kernels: str) -> None:
    tables = given(5, column)
    found = evaluated(tables).per_list()
    values = dict(tables["items"].select("item", "category").iter_rows())

    def shares(items: list[int]) -> Counter[int]:
        counted: Counter[int] = Counter()
        for item in items:
            own = values[item] if isinstance(values[item], list) else [values[item]]
            own = sorted({value for value in own if value is not None})
            counted.update({value: 1 / len(own) for value in own})
        return Counter({value: n / sum(counted.values()) for value, n in counted.items()})

    judged = tables["truth"]["user"].unique().implode()
    found = found.filter(pl.col("user").is_in(judged))
    for user, distance in found.select("user", "calibration_hellinger@5").iter_rows():
        p, q = (
            shares(tables[side].filter(user=user)["item"].to_list())
            for side in ("train", "predictions")
        )
        expected = sum((p[v] ** 0.5 - q[v] ** 0.5) ** 2 for v in {*p, *q}) / 2
        assert (distance is None) == (not p or not q)
        if distance is not None:
            assert distance == pytest.approx(min(expected, 1.0) ** 0.5, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("order", ["ascending", "none"])
@pytest.mark.parametrize(("rows", "owners"), [(0, 1), (1, 1), (500, 2), (500, 90), (500, 500)])
def test_distinct_pairs_are_sorted(
    order: str, rows: int, owners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "_PAIRS", 16)
    rng = np.random.default_rng(rows + owners)
    owner, item = rng.integers(0, owners, rows), rng.integers(0, 20, rows)
    owner = np.sort(owner) if order == "ascending" else owner
    found = different_pairs(owner, item, 20)
    expected = sorted(set(zip(owner.tolist(), item.tolist(), strict=True)))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@pytest.mark.parametrize("apart", [1, 10**9])
def test_codes_are_found_with_any_gaps_between_them(apart: int) -> None:
    rng = np.random.default_rng(apart)
    for _ in range(50):
        parts = [rng.integers(-8, 9, size) * apart for size in rng.integers(0, 9, 3)]
        known = distinct(*parts)
        assert known.tolist() == sorted({code for part in parts for code in part.tolist()})
        codes = rng.integers(-9, 10, 12) * apart
        expected = [known.tolist().index(c) if c in known else -1 for c in codes]
        assert positions_in(known, codes).tolist() == expected


@pytest.mark.parametrize("turn", [1, -1])
def test_an_empty_train_does_not_share_a_cache(turn: int, kernels: str) -> None:
    tables = given(2, "few")
    names = ["category_coverage@3", "unseen_share@3", "calibration_js@3"][::turn]
    found = rt.evaluate(
        **tables | {"train": tables["train"].head(0)}, metrics=names,
        convention={"undefined": "zero"},
    )  # fmt: skip
    assert not found.failures
    assert (found["calibration_js@3"], found["unseen_share@3"]) == (0.0, 1.0)

"""Exposure metrics: by hand, for lists and scores, and added up over batches."""

from __future__ import annotations

from math import log, log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadIds, MissingNeed, NothingToEvaluate

LISTS = {"u": ["a", "b"], "v": ["a", "c"], "w": ["a", "x"]}
TRUTH = {"u": ["a"], "v": ["b"], "w": ["d"]}
ITEMS = pl.DataFrame({"item": ["a", "b", "c", "d", "e"]})
# a: three rows of train, b: two (of one user), c: one, d: one
TRAIN = pl.DataFrame(
    {"user": ["u", "v", "w", "w", "w", "u", "u"], "item": ["a", "a", "a", "b", "b", "c", "d"]}
)
SHOWING = tuple(f"rectitude.metrics.{name}" for name in ("exposure", "popularity", "peers"))
COUNTED = [
    name
    for name, metric in rt.METRICS.items()
    if metric.function.__module__ in SHOWING
    and {"shown"} <= set(metric.needs) <= {"shown", "stock", "train", "catalogue"}
]
NOVEL = ["epc", "efd"]


def value(name: str, lists: Any = LISTS, truth: Any = TRUTH, **given: Any) -> float:
    given = {"items": ITEMS, "train": TRAIN} | given
    return rt.evaluate(lists, truth, name, **given)[name]


# Times shown: a 3, b 1, c 1, x 1; x is neither in the catalogue nor in train.
PLACES = [
    ("distinct_items@2", 4),
    ("distinct_items@1", 1),
    ("item_coverage@2", 4 / 5),
    ("item_coverage[padding=3]@2", 4 / 8),
    ("train_coverage@2", 3 / 4),
    ("train_coverage[others=1]@2", 4 / 4),
    ("own_train_coverage@2", 3 / 4),
    ("entropy[base=2]@2", -(log2(1 / 2) / 2 + 3 * log2(1 / 6) / 6)),
    ("gini@2", (-2 * 1 + 0 * 1 + 2 * 1 + 4 * 3) / 6 / 5),
    ("gini[padding=1]@2", (-1 * 1 + 1 * 1 + 3 * 1 + 5 * 3) / 6 / 6),
    ("gini_corrected@1", 1),
    ("gini_corrected@2", (-2 * 1 + 0 * 1 + 2 * 1 + 4 * 3) / 6 / 4),
    ("train_gini@2", (-3 * 1 - 1 * 1 + 1 * 1 + 3 * 3) / 6 / 4),
    ("exposure_gini[patience=0.5]@2", (-3 * 0.5 - 1 * 0.5 + 1 * 0.5 + 3 * 3) / 4.5 / 4),
    ("gini_diversity@1", 0),
    ("gini_diversity@2", 1 - (-3 * 1 - 1 * 1 + 1 * 1 + 3 * 3) / 6 / 3),
    ("entropy@2", -(log(1 / 2) / 2 + 3 * log(1 / 6) / 6)),
    ("entropy@1", 0),
    ("entropy_per_item@2", -(log(1 / 2) / 2 + 3 * log(1 / 6) / 6) / 4),
    ("entropy_by_list@2", -(log2(1 / 2) / 2 + 3 * log2(1 / 6) / 6)),
    ("covered_users", 3),
    ("full_lists@3", 0),
    ("list_length@3", 2),
    ("average_popularity@2", (5 / 2 + 4 / 2 + 3 / 2) / 3),
    ("average_popularity[least=1]@2", (5 / 2 + 4 / 2 + 4 / 2) / 3),
    ("average_popularity[repeats=0]@2", (4 / 2 + 4 / 2 + 3 / 2) / 3),
    ("popularity_share@2", (5 / 2 + 4 / 2 + 3 / 2) / 3 / 7),
    ("popularity_rank@2", ((1 + 0.5) / 2 + (1 + 0.5) / 2 + 1 / 2) / 3),
    ("inverse_user_frequency@2", (log2(3) + log2(3) + log2(3)) / 2 / 3),
    ("surprisal@2", 1 / 2),
    ("surprisal@4", 1 / 4),
    ("long_tail_items@2", 0),
    ("long_tail_items[head=0.7]@2", 1 / 3),
    ("long_tail_items[head=0.4]@2", 2 / 3),
    ("long_tail_share[head=0.4]@2", 1 / 3),
    ("least_popular_share@2", 1 / 6),
    ("self_information@2", (log2(7 / 3) * 3 + log2(7 / 2) + log2(7) * 2) / 2 / 3),
    ("epc@2", (1 - 3 / 3) / (1 + 1 / log2(3)) / 3),
    ("efd@1", log2(7 / 3) / 3),
]


@pytest.mark.parametrize(("name", "expected"), PLACES, ids=[name for name, _ in PLACES])
def test_a_metric_has_the_value_found_by_hand(name: str, expected: float) -> None:
    assert value(name) == pytest.approx(expected, abs=1e-14)


def test_every_metric_of_items_shown_is_tried_by_hand() -> None:
    tried = {name.partition("@")[0].partition("[")[0] for name, _ in PLACES}
    assert {*COUNTED, *NOVEL} <= tried


def test_an_empty_list_counts_if_lists_are_counted() -> None:
    lists = rt.Lists(LISTS, users=["u", "v", "w", "z"])
    truth = {**TRUTH, "z": ["a"]}
    whole = value("entropy_by_list@2")
    assert value("entropy_by_list@2", lists, truth) == pytest.approx(whole * 3 / 4, abs=1e-14)
    assert value("covered_users", lists, truth) == 3
    assert value("distinct_items@2", lists, truth) == 4


def test_entropy_is_undefined_if_nothing_is_shown() -> None:
    lists, truth = rt.Lists({"u": ["a"]}, users=["u", "z"]), {"z": ["a"]}
    assert value("entropy_by_list@2", lists, truth) == 0
    assert value("distinct_items@2", lists, truth) == 0
    for name in ("entropy@2", "gini@2"):
        with pytest.raises(NothingToEvaluate, match="are empty"):
            value(name, lists, truth)


def test_short_lists_count_as_much_as_long_ones_in_the_entropy_by_list() -> None:
    found = value("entropy_by_list@2", {"u": ["a"], "v": ["b", "c"]}, {"u": ["a"], "v": ["a"]})
    assert found == pytest.approx(log2(3), abs=1e-14)


def test_the_least_popular_items_are_a_share_of_the_training_items() -> None:
    assert value("least_popular_share[lowest=0.5]@2") == pytest.approx(1 / 6)  # c and d
    assert value("least_popular_share[lowest=0.75]@2") == pytest.approx(2 / 6)  # b, too


def scored() -> tuple[rt.Scores, dict[str, Any]]:
    """Return the lists as rows of scores; training items are not masked."""
    items = ["a", "b", "c", "d", "e", "x"]
    rows = [[9, 8, 1, 2, 3, 0], [9, 1, 8, 2, 3, 0], [9, 1, 2, 3, 4, 8]]
    scores = rt.Scores(np.array(rows, float), users=["u", "v", "w"], items=items)
    return scores, {"convention": {"seen": "kept"}}


@pytest.mark.parametrize("name", [name for name, _ in PLACES if "@2" in name])
def test_scores_have_the_values_of_their_lists(name: str) -> None:
    scores, given = scored()
    assert value(name, scores, **given) == value(name)


def test_the_columns_of_scores_are_the_catalogue_without_padding() -> None:
    scores = np.array([[9.0, 1, 2, 3], [9, 1, 2, 3]])
    truth = {0: [1], 1: [2]}
    assert rt.evaluate(rt.Scores(scores), truth, "item_coverage@1")["item_coverage@1"] == 1 / 4
    padded = rt.evaluate(rt.Scores(scores, padding=0), truth, "item_coverage@1")
    assert padded["item_coverage@1"] == 1 / 3


@pytest.mark.parametrize(
    ("name", "given"),
    [("item_coverage@2", {"items": None}), ("gini@2", {"items": None})]
    + [(f"{name}@2", {"train": None}) for name in ("train_gini", "average_popularity", "epc")],
)
def test_a_metric_names_the_input_that_is_missing(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(MissingNeed, match=next(iter(given))):
        value(name, **given)


def random_tables(
    seed: int, text: bool
) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]], Any, Any]:
    """Return lists of different items and lengths, their truth, training data and catalogue."""
    random = np.random.default_rng(seed)
    named: Any = (lambda n: f"item {n}") if text else int
    lists = {
        user: [named(n) for n in random.permutation(30)[: random.integers(1, 7)]]
        for user in range(12)
    }
    truth = {user: [named(n) for n in random.permutation(30)[:4]] for user in lists}
    rows = [(user, named(n)) for user in lists for n in random.geometric(0.15, 6) % 30]
    train = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    return lists, truth, train, pl.DataFrame({"item": [named(n) for n in range(28)]})


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_batches_in_any_order_give_the_bits_of_one(seed: int, text: bool, tmp_path: Path) -> None:
    lists, truth, train, items = random_tables(seed, text)
    names = [f"{name}@{k}" for name in (*COUNTED, *NOVEL, "full_lists") for k in (1, 5)]
    given = {"train": train, "items": items}
    whole = rt.evaluate(lists, truth, names, **given)
    random = np.random.default_rng(seed)
    parts = np.array_split(random.permutation(12), random.integers(2, 6))
    evaluators = []
    for part in parts:
        evaluator = rt.Evaluator(names)
        own = [int(user) for user in part]
        evaluator.update({u: lists[u] for u in own}, {u: truth[u] for u in own}, **given)
        evaluator.save(tmp_path / "part.json")
        evaluators.append(rt.Evaluator.load(tmp_path / "part.json"))
    added: rt.Evaluation = sum(evaluators[1:], evaluators[0]).compute()
    assert {n: added[n].hex() for n in names} == {n: whole[n].hex() for n in names}


def test_batches_with_different_items_are_matched_by_id() -> None:
    evaluator = rt.Evaluator(["distinct_items@2", "entropy@2"])
    for user, items in (("u", ["a", "b"]), ("v", ["c", "d"]), ("w", ["b", "a"])):
        evaluator.update({user: items}, {user: ["a"]})
    found = evaluator.compute()
    assert found["distinct_items@2"] == 4
    assert found["entropy@2"] == pytest.approx(-(2 * log(1 / 3) / 3 + 2 * log(1 / 6) / 6))


def test_ids_of_different_types_are_not_added() -> None:
    evaluator = rt.Evaluator("distinct_items@1")
    evaluator.update({"u": ["1"]}, {"u": ["1"]})
    with pytest.raises(BadIds, match="item ids are"):
        evaluator.update({"v": [1]}, {"v": [1]})


@pytest.mark.parametrize("seed", range(5))
def test_values_stay_within_their_bounds_and_ginis_agree(seed: int) -> None:
    lists, truth, train, items = random_tables(seed, False)
    names = [f"{name}@3" for name in (*COUNTED, *NOVEL)]
    found = rt.evaluate(lists, truth, names, train=train, items=items)
    assert not found.failures
    for name in names:
        low, high = rt.METRICS[name.partition("@")[0]].bounds
        assert low <= found[name] <= high, name
    size = items.height
    assert found["gini_corrected@3"] == pytest.approx(found["gini@3"] * size / (size - 1))
    size = train["item"].n_unique()
    assert found["gini_diversity@3"] == pytest.approx(1 - found["train_gini@3"] * size / (size - 1))
    assert found["exposure_gini@3"] <= 1


def test_free_discovery_takes_unknown_items_to_be_as_rare_as_the_rarest_item() -> None:
    # 8 training rows: a has 6, b has 2. x is unknown: as efd with 1 row it has log2(8/1) = 3 bits,
    # as rare as b log2(8/2) = 2 bits.
    train = {"user": [*range(6), 0, 1], "item": ["a"] * 6 + ["b"] * 2}
    values = rt.evaluate(
        {"u": ["x"]},
        {"u": ["x"]},
        ["efd@1", "efd_as_rarest@1"],
        train=pl.DataFrame(train).cast(pl.String),
    ).values()
    assert values == {"efd@1": 3.0, "efd_as_rarest@1": 2.0}

"""AUC summed over hits, and the number of items that it is computed against."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import scipy.sparse as sp

import rectitude as rt
from rectitude.errors import MissingNeed

# Ten items; u has i8 and i9 in training, so 8 could be new to them. Two are relevant:
# N = 8 - 2 + 1 = 7. The list has hits at ranks 2 and 4, with 1 and 2 misses above.
ITEMS = [f"i{n}" for n in range(10)]
TRAIN = {"u": ["i8", "i9"], "v": ITEMS[:8]}
LIST = {"u": ["i0", "i1", "i2", "i3", "i4"]}
TRUTH = {"u": ["i1", "i3"]}


def values(lists: Any, truth: Any, names: list[str], **given: Any) -> list[float]:
    evaluation = rt.evaluate(lists, truth, names, given.pop("convention", None), **given)
    return [evaluation[name] for name in names]


def test_every_hit_adds_the_share_of_other_items_below_it() -> None:
    names = ["hit_auc", "hit_auc_within@4", "hit_auc_within@3", "hit_auc_within@1"]
    first, second = (7 - 1) / 7, (7 - 2) / 7
    expected = [(first + second) / 2, (first + second) / 2, first / 2, 0]
    assert values(LIST, TRUTH, names, train=TRAIN) == pytest.approx(expected, rel=1e-15)


def test_a_relevant_item_that_is_not_in_the_list_adds_nothing() -> None:
    truth = {"u": ["i1", "i7"]}
    found = values(LIST, truth, ["hit_auc", "hit_auc_within@5", "pooled_hit_auc"], train=TRAIN)
    assert found == pytest.approx([(6 / 7) / 2, (6 / 7) / 2, 6 / 7], rel=1e-15)


def test_the_whole_list_counts_at_any_cutoff() -> None:
    names = ["hit_auc", "hit_auc@1", "pooled_hit_auc", "pooled_hit_auc@1"]
    found = values(LIST, TRUTH, names, train=TRAIN)
    assert found[0] == found[1] and found[2] == found[3]


def test_pooled_hits_have_the_same_weight_for_all_users() -> None:
    # v has 8 items in training and one relevant item: N = 2 - 1 + 1 = 2; one miss is above.
    lists, truth = {**LIST, "v": ["i9", "i8"]}, {**TRUTH, "v": ["i8"]}
    names = ["pooled_hit_auc", "hit_auc"]
    terms = [6 / 7, 5 / 7, (2 - 1) / 2]
    expected = [sum(terms) / 3, ((terms[0] + terms[1]) / 2 + terms[2]) / 2]
    assert values(lists, truth, names, train=TRAIN) == pytest.approx(expected, rel=1e-15)


def test_the_catalogue_is_items_or_else_the_scores_or_else_train() -> None:
    name = ["hit_auc"]
    twenty = {"items": [f"i{n}" for n in range(20)], "train": TRAIN}
    assert values(LIST, TRUTH, name, **twenty) == pytest.approx([(16 / 17 + 15 / 17) / 2])
    scores = rt.Scores([[5.0, 4.0, 3.0, 2.0, 1.0]])
    assert values(scores, {0: [1]}, name) == [(5 - 1 + 1 - 1) / 5]
    assert values(scores, {0: [1]}, name, train={0: [0, 4]}) == [1]  # N = 3, first of three
    padded = rt.Scores([[5.0, 4.0, 3.0, 2.0, 1.0]], padding=4)
    assert values(padded, {0: [1]}, name) == [(4 - 1 + 1 - 1) / 4]


def test_train_counts_the_same_in_every_form() -> None:
    scores, truth = rt.Scores([[5.0, 4.0, 3.0], [1.0, 2.0, 3.0]]), {0: [1], 1: [0]}
    kept = {"seen": "kept"}
    table = pl.DataFrame({"user": [0, 1, 1, 0], "item": [2, 1, 2, 2]})
    cells = sp.csr_array(([1.0, 1.0, 1.0], ([0, 1, 1], [2, 1, 2])), shape=(2, 3))
    # N = 3 - 1 - 1 + 1 = 2 and 3 - 2 - 1 + 1 = 1; misses above: 1 and 2
    expected = [((2 - 1) / 2 + (1 - 2) / 1) / 2]
    for train in (table, cells, {0: [2], 1: [1, 2]}):
        assert values(scores, truth, ["hit_auc"], train=train, convention=kept) == expected
    lists, text = {0: [0, 1, 2], 1: [2, 1, 0]}, {"items": [0, 1, 2], "train": table}
    assert values(lists, truth, ["hit_auc"], **text) == expected


def test_users_are_found_by_the_owner_of_a_list() -> None:
    lists = {"user": ["u", "u", "v"], "session": [1, 2, 3], "item": ["i1", "i1", "i8"]}
    truth = {"user": ["u", "u", "v"], "session": [1, 2, 3], "item": ["i1", "i1", "i8"]}
    given = {"list_key": "session", "train": TRAIN}
    (value,) = values(lists, truth, ["hit_auc_within@1"], **given)
    assert value == 1


def test_masked_items_at_the_end_are_misses_above_each_other() -> None:
    # Items 0 and 1 were seen and come after 2 and 3; 1 is relevant: N = 4 - 2 - 1 + 1 = 2.
    scores, switches = rt.Scores([[9.0, 8.0, 2.0, 1.0]]), {"seen": "last", "ties": "item_ascending"}
    found = values(scores, {0: [1]}, ["hit_auc"], train={0: [0, 1]}, convention=switches)
    assert found == [(2 - 3) / 2]


def test_a_hit_without_items_to_compare_with_is_undefined() -> None:
    # All training items are the user's own: N = 2 - 2 - 1 + 1 = 0.
    given = {"train": {"u": ["a", "x"]}, "convention": {"undefined": "one"}}
    assert values({"u": ["a"]}, {"u": ["a"]}, ["hit_auc"], **given) == [1]
    assert values({"u": ["x"]}, {"u": ["a"]}, ["hit_auc"], **given) == [0]


@pytest.mark.parametrize("name", ["hit_auc", "hit_auc_within@5", "pooled_hit_auc"])
def test_a_missing_catalogue_is_named(name: str) -> None:
    evaluation = rt.evaluate(LIST, TRUTH, [name, "recall"])
    assert isinstance(evaluation.failures[name], MissingNeed)
    assert "pass train= or items=" in str(evaluation.failures[name])
    assert evaluation["recall"] == 1


def test_ties_are_bounded_as_in_other_metrics() -> None:
    # The relevant item is one of three tied items: N = 3 - 1 + 1 = 3.
    evaluation = rt.evaluate(rt.Scores([[1.0, 1.0, 1.0], [3.0, 2.0, 1.0]]), {0: [1], 1: [0]},
                             ["hit_auc"])  # fmt: skip
    result = evaluation.result("hit_auc")
    assert result.value == pytest.approx((1 / 3 + 1) / 2)
    assert result.ties == pytest.approx(((1 / 3 + 1) / 2, 1))


def test_hits_are_divided_by_the_catalogue() -> None:
    names = ["hits_per_item@4", "hits_per_item@2", "hits_per_item"]
    assert values(LIST, TRUTH, names, items=ITEMS) == [2 / 10, 1 / 10, 2 / 10]
    assert "hits_per_item" in rt.evaluate(LIST, TRUTH, ["hits_per_item", "hit"]).failures

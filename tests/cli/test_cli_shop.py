"""The made-up shop and the recommenders of the demo."""

from __future__ import annotations

import numpy as np

from rectitude.cli.recommenders import DEPTH, neighbours, popularity
from rectitude.data.synthetic import shop


def test_equal_seeds_give_equal_shops_and_leave_numpy_alone() -> None:
    before = np.random.get_state()[1].tolist()
    assert shop(seed=3).train.equals(shop(seed=3).train)
    assert not shop(seed=3).truth.equals(shop(seed=4).truth)
    assert np.random.get_state()[1].tolist() == before


def test_a_shop_has_favourites_and_a_new_item() -> None:
    train, truth = shop(users=200, items=60)
    sold = train["item"].value_counts(sort=True)["count"]
    assert sold[0] > 5 * sold[-1]
    assert len(set(truth["item"]) - set(train["item"])) == 1
    assert train.join(truth, on=["user", "item"]).is_empty()
    assert set(truth["grade"]) == {1, 2, 3}


def test_lists_hold_unseen_items_in_order() -> None:
    train, _ = shop(users=50, items=60)
    for lists in (popularity(train), neighbours(train)):
        assert set(lists["user"].value_counts()["count"]) == {DEPTH}
        assert lists.join(train, on=["user", "item"]).is_empty()
        assert not lists.select("user", "item").is_duplicated().any()
        assert lists.filter(
            (lists["score"].diff() > 0) & (lists["user"] == lists["user"].shift())
        ).is_empty()


def test_only_the_neighbours_leave_one_user_without_a_list() -> None:
    train, _ = shop(users=50, items=60)
    everyone = set(train["user"])
    assert set(popularity(train)["user"]) == everyone
    assert len(everyone - set(neighbours(train)["user"])) == 1

"""The small synthetic shop."""

from __future__ import annotations

import numpy as np

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

"""Statistics of the values of lists other than their mean: `mrr[stat=median]`."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest

import rectitude as rt
from rectitude.aggregate.spread import Spread
from rectitude.errors import BadArgument, BadName, UndefinedValue

# The relevant item of user n is at rank n + 1, so the values are 1, 1/2, 1/3, 1/4 and 1/5.
LISTS = {f"u{n}": [*(f"x{m}" for m in range(n)), "a"] for n in range(5)}
TRUTH = {user: ["a"] for user in LISTS}
BY_HAND = {
    "mrr[stat=mean]": (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5,
    "mrr[stat=median]": 1 / 3,
    "mrr[stat=min]": 1 / 5,
    "mrr[stat=max]": 1,
    "mrr[stat=p25]": 1 / 4,
    "mrr[stat=p90]": 1 / 2 + 0.6 * (1 - 1 / 2),  # place 0.9 * 4 = 3.6, counted from 0
    "mrr[stat=std]": statistics.stdev([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_statistic_has_the_value_computed_by_hand(name: str) -> None:
    assert rt.evaluate(LISTS, TRUTH, name)[name] == pytest.approx(BY_HAND[name], rel=1e-15)


def test_batches_in_any_order_give_the_same_bits(tmp_path: Path) -> None:
    names = [*BY_HAND, "ndcg[stat=std]@3", "ndcg[stat=p33.3]@3"]
    whole = rt.evaluate(LISTS, TRUTH, names).values()
    crew = [rt.Evaluator(names) for _ in range(2)]
    for number, user in enumerate(reversed(LISTS)):
        crew[number % 2].update({user: LISTS[user]}, {user: TRUTH[user]})
    crew[0].save(tmp_path / "half.json")
    assert (crew[1] + rt.Evaluator.load(tmp_path / "half.json")).compute().values() == whole


def test_spreads_add_in_any_order_and_store_equal_values_once() -> None:
    values = np.random.default_rng(3).integers(0, 9, 500).astype(np.float64) / 7
    whole = Spread.of(values)
    parts = [Spread.of(part) for part in np.split(values, [1, 40, 333])]
    added = parts[3] + parts[0] + parts[2] + parts[1]
    assert len(added.values) == 9 and added.counted == 500
    for stat in ("median", "p99", "std"):
        assert added.statistic(stat) == whole.statistic(stat)
    assert whole.statistic("p90") == pytest.approx(np.quantile(values, 0.9), rel=1e-15)
    assert whole.statistic("std") == pytest.approx(values.std(ddof=1), rel=1e-14)


def test_a_tiny_deviation_of_large_values_is_exact() -> None:
    # The values are 1, 1 + 2^-52 and 1 + 2^-51; their deviation is 2^-52.
    values = np.array([1.0, 1 + 2.0**-52, 1 + 2.0**-51])
    assert Spread.of(values).statistic("std") == 2.0**-52


def test_lists_without_a_value_count_as_the_convention_says() -> None:
    truth = {user: {"a": int(user != "u0")} for user in LISTS}
    name = "recall[stat=min]"
    conventions = {"skip": 1.0, "zero": 0.0}
    for undefined, expected in conventions.items():
        convention = {"truth_needed": "judged", "undefined": undefined}
        assert rt.evaluate(LISTS, truth, name, convention)[name] == expected
    nan = rt.evaluate(LISTS, truth, name, {"truth_needed": "judged", "undefined": "nan"})[name]
    assert np.isnan(nan)


def test_slices_have_statistics_of_their_own() -> None:
    users = {"user": list(LISTS), "half": ["top", "top", "low", "low", "low"]}
    found = rt.evaluate(LISTS, TRUTH, "mrr[stat=max]", users=users, slices=["half"])
    text = str(found.slices)
    assert "0.3333" in text and "1.0000" in text


def test_the_definition_and_the_fingerprint_tell_statistics_apart() -> None:
    found = rt.evaluate(LISTS, TRUTH, ["mrr", "mrr[stat=median]", "mrr[stat=mean]"])
    assert "over lists: median" in found.definition("mrr[stat=median]")
    prints = [found.result(name).fingerprint for name in found]
    assert prints[0] == prints[2] != prints[1]


@pytest.mark.parametrize("name", ["mrr[stat=mode]", "f1_of_means[stat=min]", "gm_map[stat=max]"])
def test_a_statistic_that_does_not_exist_is_an_error(name: str) -> None:
    with pytest.raises(BadName, match="statistic"):
        rt.evaluate(LISTS, TRUTH, name)


def test_weights_and_means_over_users_are_refused_with_the_reason() -> None:
    name = "mrr[stat=median]"
    weighted = rt.evaluate(LISTS, TRUTH, name, weights=dict.fromkeys(LISTS, 2.0))
    with pytest.raises(BadArgument, match="weights="):
        _ = weighted[name]
    with pytest.raises(BadName, match="unit='user'"):
        rt.evaluate(LISTS, TRUTH, name, {"unit": "user"})


def test_one_list_has_no_standard_deviation() -> None:
    with pytest.raises(UndefinedValue, match="one list has no standard deviation"):
        _ = rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "mrr[stat=std]")["mrr[stat=std]"]


def test_explanations_are_about_means() -> None:
    with pytest.raises(BadName, match="is the median of the values of lists"):
        rt.explain(LISTS, TRUTH, "mrr[stat=median]", "recbole", "elliot")
    with pytest.raises(BadName, match="write mrr@3"):
        rt.identify(LISTS, TRUTH, "mrr[stat=median]@3", "0.5000")

"""Fairness metrics: by hand, for lists and scores, and added up over batches."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadScores,
    BadTable,
    MissingNeed,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
)

SCORES = {"u": {"a": 0.9, "b": 0.5}, "v": {"a": 0.8, "c": 0.6}, "w": {"d": 0.7, "a": 0.1}}
ROWS = [(user, item, score) for user, items in SCORES.items() for item, score in items.items()]
LISTS = pl.DataFrame(ROWS, ["user", "item", "score"], orient="row")
TRUTH = {"u": ["a", "c"], "v": ["c"], "w": ["b", "d"]}
ITEMS = pl.DataFrame({"item": list("abcdef"), "group": ["x", "x", "y", "y", "y", None]})
USERS = pl.DataFrame({"user": list("uvwz"), "group": ["m", "m", "n", None]})
TRAIN = pl.DataFrame({"user": list("uwwvzz"), "item": list("ebeeab")})


def value(name: str, lists: Any = LISTS, truth: Any = TRUTH, **given: Any) -> float:
    given = {"items": ITEMS, "users": USERS, "train": TRAIN} | given
    return rt.evaluate(lists, truth, name, **given)[name]


# Hits are a of x, c and d of y; relevant a and b of x, where w has b in train, twice c and d of y.
BY_HAND = [
    ("reo@2", (1 - 2 / 3) / (1 + 2 / 3)),
    ("reo[below=all]@2", (2 / 3 - 1 / 2) / (2 / 3 + 1 / 2)),
    ("reo[item_group=x]@2", 1),
    ("reo[below=all,item_group=x]@2", 1 / 2),
    ("reo[item_group=y]@2", 2 / 3),
    ("reo@1", (1 - 1 / 3) / (1 + 1 / 3)),
    # x is shown 4 times and y twice; each list could show 2 items of x and 3 of y, less training
    ("rsp[item_group=x]@2", 4 / 5),
    ("rsp[item_group=y]@2", 2 / 6),
    ("rsp@2", (4 / 5 - 2 / 6) / (4 / 5 + 2 / 6)),
    ("rsp[below=all]@2", (4 / 6 - 2 / 9) / (4 / 6 + 2 / 9)),
    ("rsp[below=estimated,item_group=x]@2", 4 / (6 - 3)),
    ("rsp[below=estimated,item_group=y]@2", 2 / (9 - 3)),
    # with 0.6 of the rows e and b are the head, a the tail, and c, d and f are not in train
    ("pop_reo[below=all,head=0.6]@2", 1),
    ("pop_reo[below=all,head=0.6,item_group=tail]@2", 1),
    ("pop_reo[below=all,head=0.6,item_group=tail,tail=catalogue]@2", 3 / 4),
    ("pop_reo[below=all,head=0.6,item_group=head]@2", 0),
    ("pop_reo_places[below=all,head=0.6]@2", (3 - 1) / (3 + 1)),
    ("pop_rsp[head=0.6]@2", (1 - 1 / 2) / (1 + 1 / 2)),
    ("pop_rsp[below=all,head=0.6]@2", (1 - 1 / 6) / (1 + 1 / 6)),
    ("pop_rsp[below=all,head=0.5,item_group=head]@2", 0),
    ("pop_rsp[below=all,border=passed,head=0.5,item_group=head]@2", 1 / 6),
    ("long_tail_items[head=0.5]@2", 4 / 3),
    ("long_tail_items[border=passed,head=0.5]@2", 3 / 3),
    ("long_tail_items[head=0.5,tail=catalogue]@2", 6 / 3),
    ("long_tail_share[border=passed,head=0.5,tail=catalogue]@2", 5 / 6),
    # x is 2 of the 5 items with a group, y the others
    ("bias_disparity_br[item_group=x,user_group=m]@2", (3 / 4) / (2 / 5)),
    ("bias_disparity_br[item_group=y,user_group=m]@2", (1 / 4) / (3 / 5)),
    ("bias_disparity_br[user_group=n]@2", (1 / 4 + 1 / 6) / 2),
    ("bias_disparity_bs[item_group=x,user_group=m]", 0),
    ("bias_disparity_bs[item_group=y,user_group=m]", 5 / 3),
    ("bias_disparity_bs", (1 + 2 / 3 + 1 / 4 + 1 / 6) / 4),
    ("bias_disparity_bs[item_group=x,source=truth,user_group=m]@2", (1 / 3) / (2 / 5)),
    ("bias_disparity_bd[item_group=x,source=truth,user_group=m]@2", 1.25),
    ("bias_disparity_bd[item_group=y,source=truth,user_group=m]@2", -0.625),
    ("bias_disparity_bd[item_group=y,source=truth,user_group=n]@2", 0),
    ("bias_disparity_bd[source=truth]@2", (1.25 + 0.625) / 4),
    ("bias_disparity_bd@2", 0.75 / 3),
    ("bias_disparity_bd[endless=9,item_group=x,user_group=m]@2", 9),
    # a gains 1/3 per time shown, b nothing, c and d 1
    ("item_mad_ranking@2", 1 - 1 / 6),
    ("item_mad_ranking[gain=exp2_above]@2", 3 * (1 - 1 / 6)),
    ("item_mad_rating@2", 0.9 - 0.65),
    ("item_mad_rating[over=places]@2", 0.65 - 0.15),
    ("mean_score@2", (0.7 + 0.7 + 0.4) / 3),
    ("mean_score@1", (0.9 + 0.8 + 0.7) / 3),
    ("user_mad_rating@2", 0.3),
    ("user_mad_ranking[of=recall]@2", 0.75 - 0.5),
    ("user_mad_ranking@1", 0.5 - 0.5 + (1 - 0.5)),
    ("srecall[by=group]@2", (1 / 2 + 1 + 1 / 2) / 3),
    ("srecall[by=group,over=catalogue]@2", 1 / 2),
    ("srecall[by=group]@1", (1 / 2 + 0 + 1 / 2) / 3),
]
OWN = [name for name, _ in BY_HAND]
MINE = {name.partition("@")[0].partition("[")[0] for name in OWN}


@pytest.mark.parametrize(("name", "expected"), BY_HAND, ids=OWN)
def test_a_metric_has_the_value_found_by_hand(name: str, expected: float) -> None:
    assert value(name) == pytest.approx(expected, abs=1e-14)


def test_the_mean_absolute_difference_is_over_all_pairs_of_groups() -> None:
    items = pl.DataFrame({"item": list("abcd"), "group": ["p", "q", "r", "r"]})
    # means of the groups: 1/3, 0 and 1
    expected = (1 / 3 + 2 / 3 + 1) / 3
    assert value("item_mad_ranking@2", items=items) == pytest.approx(expected, abs=1e-14)


def test_an_item_may_have_several_topics() -> None:
    items = pl.DataFrame({"item": list("abcd"), "topic": [["p", "q"], ["q"], ["q", "r"], None]})
    # u finds p and q of p, q and r; v finds all; w finds nothing of q, as d has no topic
    found = value("srecall[by=topic]@2", items=items)
    assert found == pytest.approx((2 / 3 + 1 + 0) / 3, abs=1e-14)


def test_ties_in_popularity_can_be_broken_by_a_column() -> None:
    train = pl.DataFrame({"user": list("zzzz"), "item": list("abcd")})
    items = ITEMS.with_columns(pl.Series("before", [3, 2, 1, 0, 4, 5]))
    for equals, expected in (("item", 1 / 3 + 1 / 3), ("before", 4 / 3)):
        name = f"long_tail_items[head=0.5,equals={equals}]@2"  # a and b are the head, or c and d
        assert value(name, train=train, items=items) == pytest.approx(expected, abs=1e-14)


def test_rates_are_counted_once_for_every_list_of_a_user() -> None:
    lists = pl.DataFrame({"user": list("uu"), "session": [1, 2], "item": list("ab")})
    truth = pl.DataFrame({"user": list("uu"), "session": [1, 2], "item": list("ac")})
    train = pl.DataFrame({"user": ["u"], "item": ["c"]})
    given = {"train": train, "list_key": "session"}
    assert value("rsp[item_group=x]@1", lists, truth, **given) == 2 / 4
    with pytest.raises(UnknownName, match="'z'"):
        value("rsp[item_group=z]@1", lists, truth, **given)
    assert value("rsp[item_group=y]@1", lists, truth, **given) == 0 / 4


def scored() -> tuple[rt.Scores, dict[str, Any]]:
    """Return the lists as rows of scores; training items are not masked."""
    rows = np.full((3, 6), -1.0)
    for row, items in enumerate(SCORES.values()):
        for item, score in items.items():
            rows[row, "abcdef".index(item)] = score
    return rt.Scores(rows, users=list("uvw"), items=list("abcdef")), {"seen": "kept"}


@pytest.mark.parametrize("name", [name for name in OWN if "@" in name])
def test_scores_have_the_values_of_their_lists(name: str) -> None:
    scores, convention = scored()
    assert value(name, scores, convention=convention) == value(name)


@pytest.mark.parametrize("name", OWN)
def test_the_order_of_the_rows_changes_nothing(name: str) -> None:
    lists = LISTS.sample(fraction=1.0, shuffle=True, seed=4)
    assert value(name, lists).hex() == value(name).hex()


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_score_is_that_of_the_top_k(seed: int) -> None:
    lists, truth, given = random_tables(seed)
    best = lists.sort("score", descending=True).group_by("user").head(3)
    expected = best.group_by("user").agg(pl.col("score").mean())["score"].mean()
    assert value("mean_score@3", lists, truth, **given) == pytest.approx(expected, abs=1e-12)


def test_masked_items_that_fill_a_list_have_no_score() -> None:
    scores = rt.Scores(np.array([[0.9, 0.5, 0.1]]), users=["u"], items=["a", "b", "c"])
    train = pl.DataFrame({"user": ["u"], "item": ["a"]})
    given = {"train": train, "items": ITEMS, "convention": {"seen": "last"}}
    found = rt.evaluate(scores, {"u": ["b"]}, ["mean_score@2", "mean_score@3"], **given)
    assert found["mean_score@2"] == pytest.approx(0.3)
    with pytest.raises(BadScores, match="masked"):
        _ = found["mean_score@3"]


def test_a_recorded_order_keeps_its_scores() -> None:
    scores = rt.Scores(np.array([[0.9, 0.5, 0.1]]), users=["u"], items=["a", "b", "c"])
    order = np.array([[2, 1, 0]])
    given: dict[str, Any] = {"ranking": order, "items": ITEMS}
    found = rt.evaluate(scores, {"u": ["c"]}, ["mean_score@1", "mean_score@2"], **given)
    assert [found["mean_score@1"], found["mean_score@2"]] == [0.1, 0.3]
    train = pl.DataFrame({"user": ["u"], "item": ["c"]})
    masked = rt.evaluate(scores, {"u": ["c"]}, "mean_score@1", train=train, **given)
    with pytest.raises(BadScores, match="masked"):
        _ = masked["mean_score@1"]


def test_lists_without_scores_have_no_mean_score() -> None:
    lists = {"u": ["a", "b"]}
    with pytest.raises(Exception, match="score"):
        value("mean_score@2", lists, {"u": ["a"]})


@pytest.mark.parametrize("name", ["reo@2", "rsp@2", "item_mad_ranking@2", "bias_disparity_br@2"])
@pytest.mark.parametrize("items", [None, pl.DataFrame({"item": ["a"], "colour": ["x"]})])
def test_a_metric_names_the_column_that_is_missing(name: str, items: Any) -> None:
    with pytest.raises(MissingNeed, match="items="):
        value(name, items=items)


def test_missing_groups_of_users_are_named() -> None:
    for name in ("bias_disparity_bd@2", "user_mad_ranking@2"):
        with pytest.raises(MissingNeed, match="users="):
            value(name, users=None)


@pytest.mark.parametrize("name", ["pop_reo@2", "pop_rsp@2"])
def test_head_and_tail_need_train(name: str) -> None:
    with pytest.raises(MissingNeed, match="train"):
        value(name, train=None)


def test_a_single_group_cannot_be_compared() -> None:
    items = ITEMS.with_columns(group=pl.lit("x"))
    with pytest.raises(UndefinedValue, match="only 1 can be compared, 'x'"):
        value("rsp@2", items=items)
    for name in ("reo@2", "rsp@2", "item_mad_ranking@2", "item_mad_rating@2"):
        with pytest.raises(UndefinedValue, match="group"):
            value(name, items=items)
        assert value(name, items=items, convention={"undefined": "zero"}) == 0
        assert value(name, items=items, convention={"undefined": "one"}) == 1
    users = USERS.with_columns(group=pl.lit("m"))
    with pytest.raises(NothingToEvaluate, match="group"):
        value("user_mad_ranking@2", users=users)


def test_groups_with_a_denominator_of_0_are_left_out() -> None:
    items = pl.DataFrame({"item": list("abcdef"), "group": ["x", "x", "y", "y", "y", "lonely"]})
    assert value("reo@2", items=items) == value("reo@2")
    with pytest.raises(UnknownName, match="lonely"):
        value("reo[item_group=lonely]@2", items=items)
    assert value("rsp[item_group=lonely]@2", items=items) == 0


def test_equal_opportunity_is_undefined_without_hits() -> None:
    nothing = {user: ["e"] for user in TRUTH}
    with pytest.raises(UndefinedValue, match="none of the 2 groups has a rate above 0"):
        value("reo@2", nothing)
    assert value("reo@2", nothing, convention={"undefined": "zero"}) == 0
    assert value("item_mad_ranking@2", {**nothing, "u": ["b"]}) == 0


def test_unknown_groups_and_choices_are_named() -> None:
    for name in ("reo[item_group=xx]@2", "bias_disparity_bs[item_group=xx,user_group=m]"):
        with pytest.raises(UnknownName, match="'xx'"):
            value(name)
    for name in ("reo[below=none]@2", "rsp[below=some]@2", "item_mad_rating[over=all]@2",
                 "srecall[by=group,over=all]@2", "bias_disparity_bs[source=test]",
                 "pop_rsp[border=near]@2", "long_tail_items[tail=all]@2"):  # fmt: skip
        with pytest.raises(UnknownName, match="choice"):
            value(name)


def test_too_many_groups_are_refused() -> None:
    items = pl.DataFrame({"item": [f"i{n}" for n in range(600)]}).with_columns(group="item")
    for name in ("reo@2", "item_mad_ranking@2", "bias_disparity_br@2"):
        with pytest.raises(BadTable, match="600 different values"):
            value(name, items=items)


def test_a_group_that_was_never_chosen_has_no_disparity() -> None:
    with pytest.raises(UndefinedValue, match="'m'"):
        value("bias_disparity_bd[item_group=x,user_group=m]@2")


@pytest.mark.parametrize("name", ["bias_disparity_bs", "bias_disparity_br", "bias_disparity_bd"])
def test_an_unknown_group_of_users_is_named(name: str) -> None:
    with pytest.raises(UnknownName, match="no group of users 'nobody'"):
        value(f"{name}[user_group=nobody]@2", convention={"undefined": "zero"})


def test_items_and_users_without_a_group_are_counted() -> None:
    found = rt.evaluate(LISTS, TRUTH, ["reo@2", "bias_disparity_br@2"], items=ITEMS, users=USERS)
    assert found.ledger.entries["items_without_group"].count == 1


def random_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    """Return scored lists of different lengths, graded truth and groups of users and items."""
    random = np.random.default_rng(seed)
    rows, told, had = [], [], []
    for user in range(14):
        items = random.permutation(25)[: random.integers(1, 8)]
        rows += [(user, int(i), float(random.normal())) for i in items]
        told += [
            (user, int(i), float(random.choice([1, 2, 3.7]))) for i in random.permutation(25)[:5]
        ]
        had += [(user, int(i)) for i in random.geometric(0.2, 6) % 25]
    lists = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
    truth = pl.DataFrame(told, ["user", "item", "grade"], orient="row")
    groups = ["p", "q", "r", *random.choice(np.array(["p", "q", "r", None]), 22).tolist()]
    given = {
        "items": pl.DataFrame({"item": range(25), "group": groups}),
        "users": pl.DataFrame({"user": range(14), "group": random.choice([7, 8, 9], 14)}),
        "train": pl.DataFrame(had, ["user", "item"], orient="row"),
    }
    return lists, truth, given


SHARDED = [
    "reo", "rsp", "rsp[below=estimated]", "pop_reo[head=0.5]", "pop_reo_places[head=0.5]",
    "pop_rsp[head=0.5]", "reo[item_group=q]", "rsp[item_group=q]", "bias_disparity_bs",
    "bias_disparity_br", "bias_disparity_bd[source=truth]", "bias_disparity_bd",
    "bias_disparity_br[item_group=p,user_group=8]", "item_mad_ranking[gain=linear]",
    "item_mad_rating", "item_mad_rating[over=places]", "mean_score", "user_mad_ranking",
    "user_mad_rating", "srecall[by=group]",
]  # fmt: skip


def test_every_metric_of_groups_is_tried_in_batches() -> None:
    tried = {name.partition("[")[0] for name in SHARDED}
    assert tried == MINE - {"long_tail_items", "long_tail_share"}


@pytest.mark.parametrize("seed", range(6))
def test_batches_in_any_order_give_the_bits_of_one(seed: int, tmp_path: Path) -> None:
    lists, truth, given = random_tables(seed)
    names = [f"{name}@{k}" for name in SHARDED for k in (1, 5)]
    convention = {"undefined": "zero"}
    whole = rt.evaluate(lists, truth, names, convention, **given)
    random = np.random.default_rng(seed)
    parts = np.array_split(random.permutation(14), random.integers(2, 7))
    evaluators = []
    for part in parts:
        evaluator = rt.Evaluator(names, convention=convention)
        mine = pl.col("user").is_in(part.tolist())
        evaluator.update(lists.filter(mine), truth.filter(mine), **given)
        evaluator.save(tmp_path / "part.json")
        evaluators.append(rt.Evaluator.load(tmp_path / "part.json"))
    added: rt.Evaluation = sum(evaluators[1:], evaluators[0]).compute()
    assert not whole.failures
    assert {n: added[n].hex() for n in names} == {n: whole[n].hex() for n in names}


@pytest.mark.parametrize("seed", range(6))
def test_values_stay_within_their_bounds(seed: int) -> None:
    lists, truth, given = random_tables(seed)
    names = [f"{name}@{k}" for name in MINE for k in (1, 4)]
    convention = {"undefined": "zero"}
    renamed = [n.replace("srecall", "srecall[by=group]") for n in names]
    found = rt.evaluate(lists, truth, renamed, convention, **given)
    assert not found.failures
    for name, result in found.results.items():
        low, high = rt.METRICS[result.metric].bounds
        assert low <= result.value <= high + 1e-12, name


@pytest.mark.parametrize("seed", range(4))
def test_renaming_items_users_and_groups_changes_nothing(seed: int) -> None:
    lists, truth, given = random_tables(seed)
    names = [f"{name}@3" for name in SHARDED if "group=" not in name]
    whole = rt.evaluate(lists, truth, names, {"undefined": "zero"}, **given)

    def renamed(table: pl.DataFrame) -> pl.DataFrame:
        ids = [c for c in ("user", "item", "group") if c in table.columns]
        return table.with_columns(("_" + pl.col(c).cast(pl.String)).alias(c) for c in ids)

    others = {side: renamed(table) for side, table in given.items()}
    again = rt.evaluate(renamed(lists), renamed(truth), names, {"undefined": "zero"}, **others)
    popular = [n for n in names if n.startswith("pop")]  # these break ties by id
    for name in set(names) - set(popular):
        assert again[name] == pytest.approx(whole[name], abs=1e-12), name


def test_equal_groups_are_served_equally() -> None:
    lists = {"u": ["a", "c"], "v": ["c", "a"]}
    users = pl.DataFrame({"user": ["u", "v"], "group": ["m", "n"]})
    truth = {"u": ["a", "c"], "v": ["a", "c"]}
    items = pl.DataFrame({"item": ["a", "c"], "group": ["x", "y"]})
    given = {"items": items, "users": users, "train": None}
    for name in ("reo@2", "rsp@2", "bias_disparity_br@2", "item_mad_ranking@2",
                 "user_mad_ranking@2", "bias_disparity_bd[source=truth]@2"):  # fmt: skip
        assert value(name, lists, truth, **given) == 0


def test_ndcg_of_groups_is_what_the_slices_have() -> None:
    ndcg_v = (1 / log2(3)) / 1
    found = value("user_mad_ranking@2")
    ideal = 1 + 1 / log2(3)
    assert found == pytest.approx(abs((1 / ideal + ndcg_v) / 2 - 1 / ideal), abs=1e-14)


@pytest.mark.parametrize("name", ["bs", "br", "bd"])
def test_a_cluster_without_interactions_has_no_bias_in_warprec(name: str) -> None:
    users = pl.DataFrame({"user": list("uvw"), "cluster": [1, 2, 3]})
    items = pl.DataFrame({"item": list("abc"), "cluster": [1, 2, 2]})
    cutoff = "" if name == "bs" else "@2"
    metric = f"bias_disparity_{name}[user_group=3,item_group=1]{cutoff}"
    lists, truth = {"u": ["a"], "v": ["b"]}, {"u": ["b"], "v": ["a"]}
    tables = {"users": users, "items": items}
    assert rt.evaluate(lists, truth, [metric], "warprec", **tables)[metric] == 0.0

"""Ties under every rule, compared with all orders that are consistent with the scores."""

from __future__ import annotations

from itertools import chain, groupby, permutations, product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rectitude as rt
from rectitude.errors import TiedItems

# Metrics for which sorting tied items by grade gives the worst, or the best, value.
GRADED = ["ndcg[gain=linear]", "ndcg[gain=exp2]@3", "dcg[gain=linear]@2", "rbp[gain=linear]",
          "err[gain=linear]", "err[gain=exp2]@3"]  # fmt: skip
BINARY = ["ndcg", "ndcg@2", "map", "map@3", "mrr", "mrr@2", "precision@2", "recall@3", "f1@2",
          "hit@1", "rprec", "rbp", "err", "dcg@3", "bpref", "mrr[reciprocal_rank=sum]"]  # fmt: skip

lists = st.lists(
    st.tuples(st.sampled_from((1.0, 2.0)), st.sampled_from((None, 0, 1, 2))), min_size=1, max_size=6
)


def orders(scores: dict[str, float]) -> list[list[str]]:
    """Return every order of the items that is consistent with the scores."""
    ranked = sorted(scores, key=lambda item: -scores[item])
    ties = [list(tie) for _, tie in groupby(ranked, key=lambda item: scores[item])]
    return [list(chain(*chosen)) for chosen in product(*(permutations(tie) for tie in ties))]


def values(predictions: Any, truth: Any, convention: Any = None) -> dict[str, float]:
    return rt.evaluate(predictions, truth, [*GRADED, *BINARY], convention).values()


@given(lists)
def test_pessimistic_is_the_worst_and_optimistic_the_best_of_all_orders(
    rows: list[tuple[float, int | None]],
) -> None:
    scores = {f"i{n}": score for n, (score, _) in enumerate(rows)}
    grades = {f"i{n}": grade for n, (_, grade) in enumerate(rows) if grade is not None}
    truth = {"u": {**grades, "missed": 1, "bad": 0}}
    every = dict(enumerate(orders(scores)))
    values_of = rt.evaluate(every, dict.fromkeys(every, truth["u"]), [*GRADED, *BINARY]).per_list()
    worst = values({"u": scores}, truth, {"ties": "pessimistic"})
    best = values({"u": scores}, truth, {"ties": "optimistic"})
    for name in worst:
        assert worst[name] == values_of[name].min(), name
        assert best[name] == values_of[name].max(), name
    default = rt.evaluate({"u": scores}, truth, [*GRADED, *BINARY])
    for name in default:
        bounds = None if worst[name] == best[name] else (worst[name], best[name])
        assert default.result(name).ties == bounds, name


@given(lists, st.sampled_from(("given", "item_ascending", "item_descending")), st.randoms())
def test_rules_by_row_and_by_id_give_the_order_they_name(
    rows: list[tuple[float, int | None]], rule: str, random: Any
) -> None:
    names = [f"i{n}" for n in range(len(rows))]
    random.shuffle(names)
    scores = {name: score for name, (score, _) in zip(names, rows, strict=True)}
    grades = {
        name: grade for name, (_, grade) in zip(names, rows, strict=True) if grade is not None
    }
    truth = {"u": {**grades, "missed": 1}}
    first = {
        "given": names,
        "item_ascending": sorted(names),
        "item_descending": sorted(names, reverse=True),
    }[rule]
    order = sorted(first, key=lambda item: -scores[item])  # stable
    assert values({"u": scores}, truth, {"ties": rule}) == values({"u": order}, truth)


@given(lists)
def test_ties_are_an_error_exactly_if_their_order_matters(
    rows: list[tuple[float, int | None]],
) -> None:
    scores = {f"i{n}": score for n, (score, _) in enumerate(rows)}
    grades = {f"i{n}": float(grade) for n, (_, grade) in enumerate(rows) if grade is not None}
    truth = {"u": {**grades, "missed": 1}}
    profiles = {tuple(grades.get(item, 0) for item in order) for order in orders(scores)}
    matters = len(profiles) > 1
    ledger = rt.evaluate({"u": scores}, truth, "mrr").ledger
    assert ledger["lists_with_ties"] == int(matters)
    if matters:
        with pytest.raises(TiedItems, match=r"1 of 1 lists .* \(first: list 'u'\)"):
            rt.evaluate({"u": scores}, truth, "mrr", {"ties": "error"})
    else:
        evaluation = rt.evaluate({"u": scores}, truth, "mrr", {"ties": "error"})
        assert evaluation.result("mrr").ties is None


def test_a_constant_scorer_earns_nothing_by_default(kernels: str) -> None:
    users, items = range(50), range(20)
    predictions = pl.DataFrame(
        {"user": [u for u in users for _ in items], "item": list(items) * len(users), "score": 1.0}
    )
    truth = {u: [u % 20, (u + 7) % 20] for u in users}
    evaluation = rt.evaluate(predictions, truth, ["ndcg@10", "recall@18", "mrr", "hit@18"])
    # 20 items, 2 of them relevant: they are at ranks 19 and 20
    assert evaluation["ndcg@10"] == evaluation["recall@18"] == evaluation["hit@18"] == 0
    assert evaluation["mrr"] == 1 / 19
    assert evaluation.result("ndcg@10").ties == (0.0, 1.0)
    assert evaluation.ledger["lists_with_ties"] == 50


def test_the_ledger_counts_lists_in_which_the_order_of_ties_matters() -> None:
    predictions = {
        "apart": {"a": 2.0, "x": 1.0},
        "tied": {"a": 1.0, "x": 1.0},
        "tied but both relevant": {"a": 1.0, "b": 1.0},
        "tied but neither relevant": {"x": 1.0, "y": 1.0},
    }
    truth = {user: ["a", "b"] for user in predictions}
    evaluation = rt.evaluate(predictions, truth, "mrr")
    entry = evaluation.ledger.entries["lists_with_ties"]
    assert (entry.count, entry.of, entry.weight) == (1, 4, "notice")
    assert "tied" in entry.example
    # 1, 1/2 or 1, 1, 0
    assert evaluation.result("mrr").ties == ((1 + 1 / 2 + 1) / 4, (1 + 1 + 1) / 4)


def test_close_scores_are_ties_in_float32_only() -> None:
    predictions, truth = {"u": {"x": 1.0, "a": 1.0 + 1e-9}}, {"u": ["a"]}
    apart = rt.evaluate(predictions, truth, "mrr")
    assert (apart["mrr"], apart.ledger["lists_with_ties"]) == (1, 0)
    tied = rt.evaluate(predictions, truth, "mrr", {"score_precision": "float32"})
    assert (tied["mrr"], tied.ledger["lists_with_ties"]) == (1 / 2, 1)
    assert tied.result("mrr").ties == (1 / 2, 1)


def test_float32_scores_are_compared_unchanged(kernels: str) -> None:
    rows = pl.DataFrame({"user": [1, 1], "item": [1, 2], "score": [16777216.0, 16777217.0]})
    truth = {1: [2]}
    assert rt.evaluate(rows, truth, "mrr")["mrr"] == 1
    single = rows.with_columns(pl.col("score").cast(pl.Float32))
    assert rt.evaluate(single, truth, "mrr")["mrr"] == 1 / 2


def test_integer_scores_beyond_float_precision_stay_distinct() -> None:
    rows = pl.DataFrame({"user": [1, 1], "item": [1, 2], "score": [2**53, 2**53 + 1]})
    evaluation = rt.evaluate(rows, {1: [2]}, "mrr")
    assert (evaluation["mrr"], evaluation.ledger["lists_with_ties"]) == (1, 0)


def test_zero_and_minus_zero_are_equal_scores(kernels: str) -> None:
    rows = pl.DataFrame({"user": [1, 1], "item": [1, 2], "score": [-0.0, 0.0]})
    assert rt.evaluate(rows, {1: [2]}, "mrr")["mrr"] == 1 / 2


def test_equal_ranks_are_ties_too() -> None:
    rows = pl.DataFrame({"user": [1, 1, 1], "item": [1, 2, 3], "rank": [1, 1, 2]})
    evaluation = rt.evaluate(rows, {1: [1]}, "mrr")
    assert (evaluation["mrr"], evaluation.result("mrr").ties) == (1 / 2, (1 / 2, 1))


def test_ties_matter_even_if_grades_up_to_0_are_relevant() -> None:
    predictions, truth = {"u": {"a": 1.0, "x": 1.0}}, {"u": {"a": 0}}
    evaluation = rt.evaluate(predictions, truth, "mrr", {"relevant_from": 0})
    assert (evaluation["mrr"], evaluation.result("mrr").ties) == (1 / 2, (1 / 2, 1))
    with pytest.raises(TiedItems):
        rt.evaluate(predictions, truth, "mrr", {"relevant_from": 0, "ties": "error"})


def test_the_value_exists_even_if_one_of_its_bounds_does_not() -> None:
    # With the tie broken against it, no list has a hit in the top 1, and none would count.
    convention = {"ties": "optimistic", "list_needed": "hit"}
    evaluation = rt.evaluate({"u": {"a": 1.0, "x": 1.0}}, {"u": ["a"]}, "recall@1", convention)
    assert evaluation["recall@1"] == 1


@pytest.mark.parametrize("rule", ["pessimistic", "optimistic"])
def test_rmrr_does_not_depend_on_the_order_of_tied_rows(rule: str) -> None:
    truth = {"u": ["a", "b"]}
    seen = {
        rt.evaluate({"u": dict.fromkeys(order, 1.0)}, truth, "rmrr", {"ties": rule})["rmrr"]
        for order in ("ab", "ba")
    }
    assert len(seen) == 1


def test_ties_by_id_follow_the_order_of_ids_of_any_kind() -> None:
    # (1, "x") comes before (2, "x"); dates in order of time; text by its bytes; numbers by value
    for low, high in [((1, "x"), (2, "x")), ("B", "a"), (9, 10), (-1, 0), (2**63, 2**64 - 1)]:
        for rows in ({high: 1.0, low: 1.0}, {low: 1.0, high: 1.0}):
            for rule, expected in (("item_ascending", 1), ("item_descending", 1 / 2)):
                evaluation = rt.evaluate({"u": rows}, {"u": [low]}, "mrr", {"ties": rule})
                assert evaluation["mrr"] == expected, (low, high, rule)


@pytest.mark.parametrize("metric", ["judged@2", "unjudged@2", "num_nonrel_judged_ret@2"])
def test_counts_of_judgements_refuse_ties_that_change_them(metric: str) -> None:
    # b is judged 0 and x is not judged: either can be the second item
    predictions, truth = {"u": {"a": 2.0, "b": 1.0, "x": 1.0}}, {"u": {"a": 1, "b": 0}}
    whole, hit = metric.replace("2", "3"), "hit@2"
    evaluation = rt.evaluate(predictions, truth, [metric, whole, hit], {"ties": "error"})
    assert set(evaluation.failures) == {metric}
    assert evaluation.result(hit).ties is None
    with pytest.raises(TiedItems, match=rf"1 of 1 lists .* '{metric}' \(first: list 'u'\)"):
        evaluation[metric]


def test_metrics_that_tell_relevant_items_apart_refuse_ties_between_them() -> None:
    predictions, truth = {"u": {"a": 1.0, "b": 1.0}}, {"u": ["b", "a"]}
    train = {"x": ["a"], "y": ["a", "c"]}
    names = ["epc@1", "epc", "rmrr@1", "hit@1", "recall"]
    evaluation = rt.evaluate(predictions, truth, names, {"ties": "error"}, train=train)
    assert set(evaluation.failures) == {"epc@1", "epc", "rmrr@1"}


def test_graded_gains_of_averaged_ties_are_added_in_one_order() -> None:
    grades = {"a": 1, "b": 2, "c": 3, "d": 1, "e": 3}
    names = ["ndcg[gain=exp2]@3", "dcg[gain=linear]", "rbp[gain=linear]"]
    for convention, asked in (({"ties": "average"}, names), ("sklearn", ["ndcg@5", "dcg@5"])):
        seen = {
            tuple(rt.evaluate({"u": dict.fromkeys(order, 1.0)}, {"u": grades}, asked, convention)
                  .values().values())
            for order in list(permutations("abcde"))[::7]
        }  # fmt: skip
        assert len(seen) == 1

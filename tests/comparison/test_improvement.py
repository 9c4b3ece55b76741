"""The change from one evaluation to another: points, percent, units, directions, errors."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.aggregate.definition import definition, fingerprint
from rectitude.aggregate.evaluation import Result
from rectitude.comparison.improvement import improvement, improvements, latex, line, markdown, text
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument, NotComparable, NothingToEvaluate
from rectitude.metrics.names import parse
from rectitude.profiles import profile_of


def evaluation(values: dict[str, float], convention: Any = None) -> rt.Evaluation:
    """An evaluation with these numbers."""
    results = {}
    for name, value in values.items():
        asked = profile_of(convention).resolve(parse(name)[0])
        results[name] = Result(
            asked.name, value, asked.metric.name, definition(asked), fingerprint(asked),
            asked.convention.as_dict(), asked.numbers,
        )  # fmt: skip
    return rt.Evaluation(results, Ledger(), {})


def row(name: str, before: float, after: float, convention: Any = None) -> dict[str, Any]:
    (one,) = improvement(
        evaluation({name: before}, convention), evaluation({name: after}, convention)
    )
    return one


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        ("accuracy@1", 50.00, 56.58, "50.00% -> 56.58%  +6.58 pp (+13.2%)"),
        ("accuracy@5", 72.55, 82.18, "72.55% -> 82.18%  +9.63 pp (+13.3%)"),
        ("accuracy@10", 74.65, 85.16, "74.65% -> 85.16%  +10.51 pp (+14.1%)"),
        ("accuracy@5", 70.00, 81.18, "70.00% -> 81.18%  +11.18 pp (+16.0%)"),
        ("mrr", 59.97, 67.67, "59.97% -> 67.67%  +7.70 pp (+12.8%)"),
        ("ndcg@10", 61.60, 69.46, "61.60% -> 69.46%  +7.86 pp (+12.8%)"),
        ("weighted_f1", 45.51, 46.97, "45.51% -> 46.97%  +1.46 pp (+3.2%)"),
    ],
)
def test_shares_change_by_percentage_points_and_percent(
    name: str, before: float, after: float, told: str
) -> None:
    percent = row(name, before, after, {"scale": "percent"})
    fraction = row(name, before / 100, after / 100)
    assert line(percent) == line(fraction) == told
    assert percent["difference"] == pytest.approx(fraction["difference"], rel=1e-12)
    assert (percent["unit"], percent["better"]) == ("pp", True)


@pytest.mark.parametrize("convention", [None, {"scale": "percent"}, "next-location"])
def test_a_loss_changes_in_its_own_unit_and_is_better_when_lower(convention: Any) -> None:
    change = row("cross_entropy", 3.763, 2.874, convention)
    assert line(change) == "3.763 -> 2.874  -0.889 (-23.6%)"
    assert (change["unit"], change["better"]) == ("", True)
    assert row("cross_entropy", 2.874, 3.763, convention)["better"] is False


def test_ranks_and_correlations_change_in_their_own_unit() -> None:
    assert line(row("mean_rank", 4.5, 3.0)) == "4.500 -> 3.000  -1.500 (-33.3%)"
    change = row("mcc", -0.2, 0.1)
    assert line(change) == "-0.200 -> 0.100  +0.300 (+150.0%)"
    assert change["better"] is True


def test_nothing_changed_is_neither_better_nor_worse() -> None:
    same = row("mrr", 0.5, 0.5)
    assert (same["difference"], same["relative"], same["better"]) == (0, 0, None)
    assert line(same) == "50.00% -> 50.00%  +0.00 pp (+0.0%)"
    assert line(row("mrr", 0.5, 0.5 - 1e-9)) == "50.00% -> 50.00%  +0.00 pp (+0.0%)"


def test_there_is_no_percentage_of_0() -> None:
    change = row("recall@5", 0.0, 0.125)
    assert change["relative"] is None
    assert line(change) == "0.00% -> 12.50%  +12.50 pp"


def test_values_that_are_no_numbers_have_no_difference() -> None:
    change = row("median_rank", 3.0, inf)
    assert (change["difference"], change["relative"], change["better"]) == (None, None, None)
    assert line(change) == "3.000 -> infinite  undefined"
    assert line(row("mrr", nan, 0.5)) == "undefined -> 50.00%  undefined"


def test_numbers_that_are_defined_otherwise_are_refused_by_name() -> None:
    names = {"mrr": 0.5, "ndcg@10": 0.5, "recall@5": 0.5}
    other = evaluation(names, {"ideal": "k"})
    with pytest.raises(NotComparable, match=r"1 of 3 .*: ndcg@10 \(ideal: reachable and k\)"):
        improvement(evaluation(names), other)
    with pytest.raises(NotComparable, match="scale: fraction and percent"):
        improvement(evaluation(names), evaluation(names, {"scale": "percent"}))


def test_only_metrics_in_both_are_compared() -> None:
    one, two = evaluation({"mrr": 0.5, "recall@5": 0.5}), evaluation({"mrr": 0.6, "recall@9": 0.5})
    assert [change["metric"] for change in improvement(one, two)] == ["mrr"]
    with pytest.raises(NothingToEvaluate, match="no metric in common"):
        improvement(evaluation({"mrr": 0.5}), evaluation({"map": 0.5}))


def test_rows_are_shown_in_columns() -> None:
    rows = improvement(
        evaluation({"mrr": 0.0997, "cross_entropy": 2.874}),
        evaluation({"mrr": 0.6767, "cross_entropy": 3.763}),
    )
    assert text(rows) == (
        "mrr            9.97% -> 67.67%  +57.70 pp (+578.7%)  better\n"
        "cross_entropy  2.874 ->  3.763      +0.889 (+30.9%)   worse\n"
    )
    heading = markdown(rows, ("prev1", "prev7")).splitlines()[0]
    assert [cell.strip() for cell in heading.split("|")[1:5]] == [
        "metric", "prev1", "prev7", "change",
    ]  # fmt: skip


def test_every_run_is_compared_with_the_first() -> None:
    runs = {name: evaluation({"mrr": value}) for name, value in (("a", 0.5), ("b", 1.0), ("c", 0))}
    assert {label: line(rows[0]) for label, rows in improvements(runs).items()} == {
        "b": "50.00% -> 100.00%  +50.00 pp (+100.0%)",
        "c": "50.00% -> 0.00%  -50.00 pp (-100.0%)",
    }
    with pytest.raises(BadArgument, match="there is only 1 evaluation"):
        improvements({"a": runs["a"]})


def test_the_table_of_a_paper_has_proper_minus_signs() -> None:
    rows = improvement(evaluation({"cross_entropy": 3.763}), evaluation({"cross_entropy": 2.874}))
    body = r"cross\_entropy & 3.763 & 2.874 & $-$0.889 ($-$23.6\%) & better \\"
    assert latex(rows, ("prev1", "prev7")).splitlines()[4] == body


def test_evaluations_of_logits_are_compared() -> None:
    random = np.random.default_rng(5)
    logits, targets = random.normal(size=(50, 9)), random.integers(0, 9, 50)
    surer = logits.copy()
    surer[np.arange(50), targets] += 1
    names = ["accuracy@{1,5}", "mrr", "weighted_f1", "cross_entropy", "median_rank"]
    one, two = (rt.evaluate(rt.Logits(array), targets, names) for array in (logits, surer))
    assert [change["better"] for change in improvement(one, two)] == [True] * 6

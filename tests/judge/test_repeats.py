"""Items that are in a list twice, and pairs that are in the truth twice."""

from __future__ import annotations

import pytest

import rectitude as rt

LISTS = {"ann": ["tea", "rye", "tea", "jam"]}
TRUTH = {"user": ["ann"] * 4, "item": ["tea", "tea", "jam", "oil"]}


def values(names: list[str], **switches: str) -> list[float]:
    return [*rt.evaluate(LISTS, TRUTH, names, convention=switches).values().values()]


@pytest.mark.parametrize(
    "truth, lists, hits",
    [
        ("once", "first", [1, 2]),  # tea, rye, jam: hits at ranks 1 and 3
        ("once", "counted", [2, 3]),  # hits at ranks 1, 3 and 4
        ("once", "one_hit", [1, 2]),  # hits at ranks 1 and 4
        ("one_hit", "one_hit", [1, 2]),  # the same
        ("one_hit", "counted", [2, 3]),  # hits at ranks 1, 3 and 4
        ("counted", "one_hit", [2, 3]),  # rank 1 twice, for two rows of the truth, and rank 4
        ("counted", "counted", [4, 5]),  # ranks 1 and 3 twice, and rank 4
    ],
)
def test_repeats_count_as_the_convention_says(truth: str, lists: str, hits: list[int]) -> None:
    switches = {"duplicate_truth": truth, "duplicates": lists}
    relevant = 3 if truth == "once" else 4
    ends = [3, 4] if lists != "first" else [2, 3]
    names = [f"recall@{k}" for k in ends]
    assert values(names, **switches) == pytest.approx([count / relevant for count in hits])


def test_every_repeated_row_of_the_truth_is_in_the_denominator_of_average_precision() -> None:
    found = values(["map@4"], duplicate_truth="one_hit", duplicates="one_hit")
    assert found == pytest.approx([(1 / 1 + 2 / 4) / 4])


def test_one_hit_takes_the_highest_grade_of_a_repeated_row() -> None:
    truth = {"user": ["ann"] * 3, "item": ["tea", "tea", "jam"], "grade": [1, 3, 1]}
    switches = {"duplicate_truth": "one_hit", "duplicates": "one_hit", "gain": "linear"}
    assert rt.evaluate(LISTS, truth, "dcg@1", convention=switches)["dcg@1"] == 3


def test_the_ledger_says_that_repeats_are_one_hit() -> None:
    switches = {"duplicate_truth": "one_hit", "duplicates": "one_hit"}
    ledger = str(rt.evaluate(LISTS, TRUTH, "recall@3", convention=switches).ledger)
    assert "each counted as relevant, with one hit at most" in ledger
    assert "each ranked, with one hit at most" in ledger


def test_an_item_tied_with_itself_has_no_average_if_it_is_one_hit() -> None:
    table = {"user": ["ann"] * 3, "item": ["tea", "tea", "rye"], "score": [1.0, 1.0, 1.0]}
    switches = {"duplicates": "one_hit", "ties": "average"}
    with pytest.raises(rt.errors.BadArgument, match="no closed form"):
        rt.evaluate(table, {"ann": ["tea"]}, "recall@1", convention=switches)


def test_a_grade_below_0_lowers_signed_gains_and_their_ideal() -> None:
    truth = {"user": ["ann"] * 2, "item": ["tea", "jam"], "grade": [-1, 3]}
    switches = {"gain": "signed", "duplicates": "first", "relevant_from": -5.0}
    found = rt.evaluate(LISTS, truth, ["dcg@3", "ndcg@3"], convention=switches)
    dcg, ideal = -1 + 3 / 2, 3 - 1 / 1.584962500721156
    assert found["dcg@3"] == pytest.approx(dcg)
    assert found["ndcg@3"] == pytest.approx(dcg / ideal)

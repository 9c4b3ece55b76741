"""Numbers under an unknown name, in lists without score or rank, are asked about, not ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rectitude as rt
from rectitude.cli.app import main
from rectitude.data.formats.convert import convert
from rectitude.errors import BadGrades, BadTable

TRUTH = {1: ["a"], 2: ["b"]}
ROWS: dict[str, list[Any]] = {"user": [1, 1, 2], "item": ["x", "a", "b"]}
NUMBERS = [0.1, 0.9, 0.3]


def lists(**columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({**ROWS, **columns})


def refused(predictions: object, **options: Any) -> str:
    with pytest.raises(BadTable) as caught:
        rt.evaluate(predictions, TRUTH, "mrr", **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "name", ["model_score", "score_x", "value", "estimate", "cosine", "price", "count"]
)
def test_numbers_under_an_unknown_name_are_asked_about(name: str) -> None:
    message = refused(lists(**{name: NUMBERS}))
    assert f"no column was recognised as score or rank, but '{name}' contains numbers" in message
    for way_out in (
        f"columns={{'score': '{name}'}}", f"rt.Lists(table, score='{name}')",
        f"--columns score={name}", "rt.Lists(table, ordered=True)", "--convention order=given",
    ):  # fmt: skip
        assert way_out in message


def test_every_way_out_works() -> None:
    table = lists(model_score=NUMBERS)
    named = [
        rt.evaluate(table, TRUTH, "mrr", columns={"score": "model_score"}),
        rt.evaluate(rt.Lists(table, score="model_score"), TRUTH, "mrr"),
    ]
    in_order = [
        rt.evaluate(rt.Lists(table, ordered=True), TRUTH, "mrr"),
        rt.evaluate(table, TRUTH, "mrr", {"order": "given"}),
    ]
    assert [evaluation["mrr"] for evaluation in named] == [1, 1]
    assert [evaluation["mrr"] for evaluation in in_order] == [3 / 4, 3 / 4]


def test_a_number_that_looks_like_a_rank_is_to_be_named_as_one() -> None:
    assert "--columns rank=rnk" in refused(lists(rnk=[2, 1, 1]))


def test_a_number_that_is_best_when_low_must_be_negated() -> None:
    assert "'distance' orders the lists, lowest first, negate it" in refused(
        lists(distance=NUMBERS)
    )


@pytest.mark.parametrize(
    "name",
    [
        "Unnamed: 0", "index", "__index_level_0__", "level_0", "row", "id", "rank_id",
    ],
)  # fmt: skip
def test_an_index_that_agrees_with_the_rows_is_ignored(name: str) -> None:
    assert rt.evaluate(lists(**{name: [1, 2, 3]}), TRUTH, "mrr")["mrr"] == 3 / 4
    assert rt.evaluate(lists(**{name: [1, 2, 1]}), TRUTH, "mrr")["mrr"] == 3 / 4


@pytest.mark.parametrize(
    "name",
    [
        "rank_idx", "rank_id", "pos_id", "list_index", "order_index", "idx", "index", "level_1",
        "row", "num", "id", "order", "top", "rnk", "Unnamed: 0",
    ],
)  # fmt: skip
def test_an_index_that_contradicts_the_rows_is_asked_about_as_a_rank(name: str) -> None:
    table = lists(**{name: [2, 1, 1]})
    message = refused(table)
    assert f"columns={{'rank': '{name}'}}" in message
    assert "'score'" not in message
    assert rt.evaluate(table, TRUTH, "mrr", columns={"rank": name})["mrr"] == 1


@pytest.mark.parametrize("name", ["session_id", "itemIdx", "timestamp", "label", "fold"])
def test_indexes_ids_and_known_roles_are_no_scores(name: str) -> None:
    assert rt.evaluate(lists(**{name: [3, 2, 1]}), TRUTH, "mrr")["mrr"] == 3 / 4


def test_text_and_constant_columns_order_nothing() -> None:
    table = lists(title=["one", "two", "three"], k=[10, 10, 10], fresh=[True, False, True])
    assert rt.evaluate(table, TRUTH, "mrr")["mrr"] == 3 / 4


def test_lists_that_have_a_score_may_have_other_numbers() -> None:
    assert rt.evaluate(lists(score=NUMBERS, price=[1, 2, 3]), TRUTH, "mrr")["mrr"] == 1


def test_lists_in_one_cell_are_in_order() -> None:
    table = pl.DataFrame({"user": [1, 2], "item": [["x", "a"], ["b"]], "latency": [0.2, 0.1]})
    assert rt.evaluate(table, TRUTH, "mrr")["mrr"] == 3 / 4


@pytest.mark.parametrize("numbers", ["0.1 0.9 0.3", "0,1 0,9 0,3"])
def test_numbers_in_a_text_file_are_asked_about(tmp_path: Path, numbers: str) -> None:
    file = tmp_path / "recs.csv"
    rows = zip(ROWS["user"], ROWS["item"], numbers.split(), strict=True)
    lines = ["user;item;model_score", *(f"{user};{item};{value}" for user, item, value in rows)]
    file.write_text("\n".join(lines))
    assert "'model_score' contains numbers" in refused(file)


def test_the_command_line_asks_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recs, test = tmp_path / "recs.csv", tmp_path / "test.csv"
    lists(model_score=NUMBERS).to_csv(recs)
    test.write_text("user,item\n1,a\n2,b\n")
    call = ["evaluate", "--predictions", str(recs), "--truth", str(test), "--metrics", "mrr"]
    assert main(call) != 0
    assert "'model_score' contains numbers" in capsys.readouterr().err
    assert main([*call, "--columns", "score=model_score"]) == 0
    assert "1.0000" in capsys.readouterr().out
    assert main([*call, "--convention", "order=given"]) == 0
    assert "0.7500" in capsys.readouterr().out


def test_converting_lists_asks_too(tmp_path: Path) -> None:
    source = tmp_path / "recs.csv"
    lists(model_score=NUMBERS).to_csv(source)
    with pytest.raises(BadTable, match="'model_score' contains numbers"):
        convert(source, tmp_path / "recs.run", kind="predictions")


STARS = pd.DataFrame({"user": [1, 1, 2], "item": ["a", "x", "b"], "my_stars": [1, 5, 3]})
RANKED = pd.DataFrame({**ROWS, "score": NUMBERS})


def test_numbers_in_a_truth_without_grades_are_mentioned() -> None:
    evaluation = rt.evaluate(RANKED, STARS, "ndcg@10")
    line = next(str(entry) for entry in evaluation.ledger if entry.name == "truth_ungraded")
    assert "'my_stars' was not used" in line
    assert "columns={'grade': 'my_stars'}" in line
    named = rt.evaluate(RANKED, STARS, "ndcg@10", columns={"grade": "my_stars"})
    plain = rt.evaluate(RANKED, STARS[["user", "item"]], "ndcg@10")
    assert "truth_ungraded" not in named.ledger
    assert "truth_ungraded" not in plain.ledger


@pytest.mark.parametrize("choice", [{"gain": "exp2"}, {"relevant_from": 4}])
def test_choices_about_grades_need_grades_if_a_column_may_hold_them(choice: dict[str, Any]) -> None:
    with pytest.raises(BadGrades, match="'my_stars' was not used") as caught:
        rt.evaluate(RANKED, STARS, "ndcg@10", convention=choice)
    assert "columns={'grade': 'my_stars'}" in str(caught.value)
    rt.evaluate(RANKED, STARS, "ndcg@10", convention=choice, columns={"grade": "my_stars"})
    rt.evaluate(RANKED, STARS, "ndcg@10", convention="trec_eval-9")


def test_one_frame_may_hold_the_scores_and_the_labels() -> None:
    frame = RANKED.assign(label=[0, 1, 1])
    for table in (frame, frame[["label", "score", "item", "user"]]):
        evaluation = rt.evaluate(table, table, "mrr")
        assert evaluation["mrr"] == 1
        assert "grade = 'label'" in evaluation.ledger.notes["truth"]


def test_a_score_that_one_of_two_models_lacks_can_be_named_for_the_other() -> None:
    price = RANKED.rename(columns={"score": "price"})
    with pytest.raises(BadTable, match=r"rt\.Lists\(table, score='price'\)"):
        rt.compare({"a": price, "b": RANKED}, TRUTH, metrics="mrr")
    with pytest.raises(BadTable, match=r"one of several tables.*rt\.Lists\(table, score='price'\)"):
        rt.compare({"a": price, "b": RANKED}, TRUTH, metrics="mrr", columns={"score": "price"})
    rt.compare({"a": rt.Lists(price, score="price"), "b": RANKED}, TRUTH, metrics="mrr")


def test_a_score_with_a_decimal_comma_is_called_one() -> None:
    message = refused(lists(score=["1,5", "2,5", "0,5"]))
    assert "decimal comma" in message
    assert "decimal=','" in message

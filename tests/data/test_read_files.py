"""Text files and TREC files as other libraries write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rectitude.data.read import read
from rectitude.errors import BadIds, BadTable

CSV = "user,item,score\nu1,a,0.5\nu1,b,0.25\nu2,a,1\n"
ROWS = [("u1", "a", 0.5), ("u1", "b", 0.25), ("u2", "a", 1.0)]
RUN = "q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.25 bm25\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\n"


Writer = Callable[[str, str | bytes], Path]


# text


@pytest.mark.parametrize(
    ("name", "separator"),
    [("r.csv", ","), ("r.tsv", "\t"), ("r.txt", "|"), ("r.csv", ";"), ("r.txt", " "), ("r", "   ")],
)
def test_separators_are_detected(write: Writer, name: str, separator: str) -> None:
    table = read(write(name, CSV.replace(",", separator)), "predictions")
    assert table.frame.rows() == ROWS
    assert table.text
    assert table.source == name
    assert table.columns == {"list": "user", "item": "item", "score": "score"}


def test_a_path_may_be_a_string(write: Writer) -> None:
    assert read(str(write("r.csv", CSV)), "predictions").frame.rows() == ROWS


def test_a_name_with_brackets_is_not_a_pattern(write: Writer) -> None:
    assert read(write("r[1].csv", CSV), "predictions").frame.rows() == ROWS


def test_leading_zeros_survive(write: Writer) -> None:
    table = read(write("r.csv", "user,item\n007,01\n"), "truth")
    assert table.frame.rows() == [("007", "01")]


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_do_no_harm(write: Writer) -> None:
    odd = "\ufeff" + CSV.replace("\n", "\r\n").replace("u2", "\r\nu2") + "\r\n\r\n"
    assert read(write("r.csv", odd), "predictions").frame.rows() == ROWS


@pytest.mark.parametrize("before", ["\n", "\n\n"])
def test_blank_lines_around_the_header_do_no_harm(write: Writer, before: str) -> None:
    odd = before + CSV.replace("score\n", "score\n\n")
    assert read(write("r.csv", odd), "predictions").frame.rows() == ROWS


def test_quoted_fields_may_contain_separators(write: Writer) -> None:
    table = read(write("r.csv", 'user,item,score\n"u,1","say ""hi""",1\n'), "predictions")
    assert table.frame.rows() == [("u,1", 'say "hi"', 1.0)]


def test_a_typed_header_of_recbole_is_understood(write: Writer) -> None:
    content = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t2\t4.5\t99\n"
    table = read(write("x.inter", content), "truth")
    assert table.frame.rows() == [(1, 2, 4.5)]
    assert table.columns["grade"] == "rating:float"


@pytest.mark.parametrize("what", ["predictions", "truth"])
def test_a_file_without_header_is_read_by_position(write: Writer, what: str) -> None:
    table = read(write("recs.tsv", "1\t10\t0.5\t978\n2\t11\t0.25\t978\n"), what)  # type: ignore[arg-type]
    number = "score" if what == "predictions" else "grade"
    assert table.frame.rows() == [(1, 10, 0.5), (2, 11, 0.25)]
    assert table.columns == {"list": "column 1", "item": "column 2", number: "column 3"}


def test_columns_without_header_may_be_named(write: Writer) -> None:
    names = {"user": "column 2", "item": "column 1"}
    table = read(write("recs.tsv", "1\t10\t0.5\n"), "truth", columns=names)
    assert table.frame.rows() == [(10, 1, 0.5)]


def test_a_number_shows_that_a_line_of_text_ids_is_not_a_header(write: Writer) -> None:
    table = read(write("recs.tsv", "anna\tb7\t0.5\n"), "predictions")
    assert table.frame.rows() == [("anna", "b7", 0.5)]


def test_a_file_with_only_a_header_is_an_empty_table(write: Writer) -> None:
    for content in ("user,item,score\n", "user,item,score"):
        table = read(write("r.csv", content), "predictions")
        assert table.frame.is_empty()
        assert table.frame.columns == ["list", "item", "score"]


def test_one_id_per_line_is_a_table_of_items(write: Writer) -> None:
    assert read(write("items.txt", "12\n13\n"), "items").frame["item"].to_list() == ["12", "13"]


def test_other_columns_of_items_take_the_type_of_their_values(write: Writer) -> None:
    content = "item,price,genre,year,score\n01,1.5,war,1999,high\n02,,love,2000,\n"
    frame = read(write("items.csv", content), "items").frame
    assert frame["item"].to_list() == ["01", "02"]
    assert frame.schema["price"] == pl.Float64 and frame.schema["year"] == pl.Int64
    assert frame["score"].to_list() == ["high", None]


def test_empty_numbers_are_null_and_spaces_around_them_do_no_harm(write: Writer) -> None:
    table = read(write("r.csv", "user,item,score\nu,a,\nu,b, 2.5 \nu,c,nan\n"), "predictions")
    first, second, third = table.frame["score"].to_list()
    assert first is None and second == 2.5 and math.isnan(third)


def test_integer_scores_in_text_beyond_float64_keep_their_order(write: Writer) -> None:
    content = f"user,item,score\nu,a,{2**53 + 1}\nu,b,{2**53}\n"
    assert read(write("r.csv", content), "predictions").frame["score"].to_list() == [2.0, 1.0]


def test_a_fractional_rank_is_a_float(write: Writer) -> None:
    table = read(write("r.csv", "user,item,rank\nu,a,1.0\n"), "predictions")
    assert table.frame["rank"].dtype == pl.Float64


def test_an_empty_id_is_a_missing_id(write: Writer) -> None:
    with pytest.raises(BadIds, match=r"r.csv.*1 of 2 rows have no item \(first: row 2\)"):
        read(write("r.csv", "user,item,score\nu,a,1\nu,,1\n"), "predictions")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("u9,i9", "line 3 has 2 fields: 'u9,i9'"),
        ("u9,i9,1,2", "line 3 has 4 fields: 'u9,i9,1,2'"),
        ("u9,i9,best", "line 3 has 'best' for the score: 'u9,i9,best'"),
    ],
)
def test_a_wrong_line_is_named(write: Writer, line: str, problem: str) -> None:
    with pytest.raises(BadTable) as caught:
        read(write("r.csv", f"user,item,score\nu1,i1,1\n{line}\nu2,i2,1\n"), "predictions")
    assert f"r.csv, {problem}" in str(caught.value)


@pytest.mark.parametrize("line", ["u9,i9", "u9,i9,1", "u9,i9,1,2,3"])
def test_a_wrong_first_row_is_named(write: Writer, line: str) -> None:
    for before in (0, 1):
        with pytest.raises(BadTable, match=f"line {2 + before} has"):
            content = before * "\n" + f"user,item,score,time\n{line}\nu,i,1,2\n"
            read(write("r.csv", content), "predictions")


def test_a_blank_line_before_a_file_without_header_loses_no_row(write: Writer) -> None:
    assert read(write("r.tsv", "\n1\t2\t3\n4\t5\t6\n"), "truth").frame.height == 2


def test_a_line_with_too_many_fields_is_noticed(write: Writer) -> None:
    with pytest.raises(BadTable, match="line 3 has 5 fields"):
        read(write("r.csv", "user,item,score,time\nu,i,1,2\nu,j,1,2,3\n"), "predictions")


def test_a_header_that_is_not_understood_is_shown(write: Writer) -> None:
    with pytest.raises(BadTable, match="has no user column; its columns: 'who', 'what'") as caught:
        read(write("r.csv", "who,what\na,b\n"), "truth")
    assert "if the file has no header" in str(caught.value)


# TREC


@pytest.mark.parametrize("name", ["x.run", "x.trec", "run.txt", "input.bm25"])
def test_a_run_is_read(write: Writer, name: str) -> None:
    table = read(write(name, RUN), "predictions")
    assert table.frame.rows() == [("q1", "d1", 0.5, 1), ("q1", "d2", 0.25, 2)]
    assert table.frame.columns == ["list", "item", "score", "rank"]
    assert table.columns == {"list": "qid", "item": "docno", "score": "score", "rank": "rank"}
    assert not table.text


@pytest.mark.parametrize("name", ["x.qrels", "qrels.robust04.txt", "x.trec", "test.txt"])
def test_qrels_are_read(write: Writer, name: str) -> None:
    table = read(write(name, QRELS), "truth")
    assert table.frame.rows() == [("q1", "d1", 1.0), ("q1", "d2", 0.0)]
    assert not table.text


def test_tab_separated_qrels_are_detected_by_their_second_column(write: Writer) -> None:
    table = read(
        write("qrels.dev.tsv", "1102432\t0\t2026790\t1\n1102431\t0\t7066866\t1\n"), "truth"
    )
    assert table.frame["item"].to_list() == ["2026790", "7066866"]


def test_qrels_with_a_header_are_a_table(write: Writer) -> None:
    content = "query-id\tcorpus-id\tscore\nq1\td1\t2\n"
    assert read(write("qrels.tsv", content), "truth").frame.rows() == [("q1", "d1", 2.0)]


def test_trec_files_with_only_comments_are_empty_tables(write: Writer) -> None:
    assert read(write("x.run", "# nothing\n\n"), "predictions").frame.is_empty()


def test_trec_files_may_contain_comments_tabs_and_blank_lines(write: Writer) -> None:
    odd = "# made by hand\n\n" + RUN.replace(" ", "\t ").replace("\n", " \r\n\n#x y\n")
    assert read(write("x.run", odd), "predictions").frame.height == 2


def test_numeric_ids_in_trec_files_stay_text(write: Writer) -> None:
    table = read(write("x.qrels", "007 0 0012 1\n"), "truth")
    assert table.frame.rows() == [("007", "0012", 1.0)]


def test_quotes_have_no_meaning_in_trec_files(write: Writer) -> None:
    table = read(write("x.qrels", '1 0 "d 1\n1 0 d" 1\n'), "truth")
    assert table.frame["item"].to_list() == ['"d', 'd"']


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1 Q0 d3 0.5", "line 5 has 4 fields: 'q1 Q0 d3 0.5'"),
        ("q1 Q0 d3 3 high bm25", "line 5 has 'high' for the score"),
        ("q1 Q0 d3 third 1 bm25", "line 5 has 'third' for the rank"),
    ],
)
def test_a_wrong_line_of_a_run_is_named(write: Writer, line: str, problem: str) -> None:
    path = write("x.run", f"# comment\n\n{RUN}{line}\n")
    with pytest.raises(BadTable) as caught:
        read(path, "predictions")
    assert f"x.run, {problem}" in str(caught.value)


def test_reading_qrels_as_a_run_is_an_error(write: Writer) -> None:
    with pytest.raises(BadTable, match="the 6 fields of a run: qid Q0 docno rank score tag"):
        read(write("x.qrels", QRELS), "predictions")

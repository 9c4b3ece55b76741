"""Tables and numbers as text: the same table in every form, and escaping in each."""

from __future__ import annotations

import math

import pytest

from rectitude.render import Cell, Grid, csv, format_number, interval, number

MARKED = Grid(
    ["model", ""],
    [["a|b_1", Cell("0.5000", "best", "†")], ["<c>", Cell("-0.2500", "second")], ["d", Cell("")]],
    groups=["", "ndcg@5"],
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.2500"),
        (-1e-9, "0.0000"),
        (math.nan, "undefined"),
        (math.inf, "infinite"),
        (-math.inf, "-infinite"),
    ],
)
def test_a_number_is_never_minus_zero_and_never_a_bare_nan(value: float, text: str) -> None:
    assert format_number(value) == number(value) == text


def test_signs_stay_where_a_number_rounds_to_zero() -> None:
    assert format_number(-1e-9, "{:+.2f} pp") == "+0.00 pp"


def test_cells_of_other_kinds_are_shown_as_people_write_them() -> None:
    assert [number(value) for value in (None, 12345, "text")] == ["", "12,345", "text"]
    assert interval(-1e-9, 1.0) == "[0.0000, 1.0000]"


def test_a_terminal_shows_marks_as_signs_and_digits_align() -> None:
    assert MARKED.text().splitlines() == [
        "| model |    ndcg@5 |",
        "| ----- | --------: |",
        "| a|b_1 |  0.5000*† |",
        "| <c>   | -0.2500+  |",
        "| d     |           |",
    ]


def test_markdown_escapes_bars() -> None:
    assert MARKED.markdown().splitlines()[2:4] == [
        r"| a\|b_1 | **0.5000**<sup>†</sup> |",
        r"| <c>    |     <ins>-0.2500</ins> |",
    ]


def test_latex_escapes_words_sets_signs_and_keeps_room_for_marks() -> None:
    rows = MARKED.latex().splitlines()
    assert rows[4] == r"a|b\_1 & \textbf{0.5000}$^{\dagger}$ \\"
    assert rows[5] == (
        r"\textless{}c\textgreater{} & \underline{$-$0.2500}\phantom{$^{\dagger}$} \\"
    )


def test_html_escapes_words_and_numbers() -> None:
    assert "&lt;c&gt;</th>" in MARKED.html()
    assert "<strong>0.5000</strong><sup>†</sup></td>" in MARKED.html()


def test_columns_beside_each_other_stand_under_one_heading_in_latex() -> None:
    table = Grid(["model", "", "95%"], [["a", "1", "2"]], groups=["", "mrr", "mrr"])
    assert table.latex().splitlines()[2:5] == [
        r" & \multicolumn{2}{c}{mrr} \\",
        r"\cmidrule(lr){2-3}",
        r"model & mean & 95\% \\",
    ]
    assert table.text().splitlines()[0] == "| model | mrr | mrr 95% |"


def test_a_table_with_a_caption_floats() -> None:
    table = Grid(["a"], [["b"]], caption="5% ± 1")
    assert r"\caption{5\% $\pm$ 1}" in table.latex("x")
    assert r"\label{tab:x}" in table.latex("x")
    assert r"\begin{table}" not in Grid(["a"], [["b"]]).latex()


def test_words_of_the_last_column_continue_below() -> None:
    table = Grid(["n", "words"], [["1", "one two three four five six"]], left=[1])
    assert table.columns(24).splitlines() == [
        "n  words",
        "-  ---------------------",
        "1  one two three four",
        "   five six",
    ]


def test_a_table_without_rows_is_its_heading() -> None:
    empty = Grid(["a", "b"], [])
    assert empty.text() == empty.markdown() == "| a | b |\n| - | : |"
    assert empty.latex().count("\n") == 6


def test_csv_keeps_full_precision_and_leaves_none_empty() -> None:
    assert csv([{"a": 1 / 3, "b": None}]) == "a,b\n0.3333333333333333,\n"

"""Tables and numbers as text: the same table in every markup language, properly escaped."""

from __future__ import annotations

import io
import math
from csv import reader as csv_reader

import pytest

import rectitude as rt
from rectitude.render import (
    Cell,
    Grid,
    comment_latex,
    csv,
    escape_latex,
    escape_markdown,
    format_number,
    interval,
    number,
)

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


def test_a_plus_sign_stays_if_a_number_rounds_to_zero() -> None:
    assert format_number(-1e-9, "{:+.2f} pp") == "+0.00 pp"


def test_cells_of_other_types_are_formatted_for_people() -> None:
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


def test_markdown_escapes_bars_and_tags() -> None:
    assert MARKED.markdown().splitlines()[2:4] == [
        r"| a\|b_1 | **0.5000**<sup>†</sup> |",
        r"| \<c>   |     <ins>-0.2500</ins> |",
    ]


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        (r"a\|b", r"a\\\|b"),
        ("`rm`", r"\`rm\`"),
        ("two\nlines", r"two\\x0alines"),
        ("![x](http://y)", r"![x]\(http://y)"),
        ("</td>", r"\</td>"),
        ("price: <10", "price: <10"),
        ("ndcg[burges]@5", "ndcg[burges]@5"),
    ],
)
def test_markdown_shows_names_and_does_not_obey_them(name: str, escaped: str) -> None:
    assert escape_markdown(name) == escaped


def test_a_name_with_a_line_break_stays_in_its_cell() -> None:
    grid = Grid(["model\x1b", "value"], [["a\nb\x07", Cell("0.5")]])
    assert grid.text().splitlines()[0] == r"| model\x1b  | value |"
    for text in (grid.text(), grid.columns(), grid.markdown(), grid.latex()):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "a\nb" not in text


def test_a_latex_comment_has_one_line() -> None:
    assert comment_latex("a\n\\input{x}\r\x85\u2028b") == r"% a\x0a\input{x}\x0d\x85\u2028b"
    assert escape_latex("a\n\\b%") == r"a\textbackslash{}x0a\textbackslash{}b\%"


def test_latex_escapes_words_sets_signs_and_reserves_space_for_marks() -> None:
    rows = MARKED.latex().splitlines()
    assert rows[4] == r"a|b\_1 & \textbf{0.5000}$^{\dagger}$ \\"
    assert rows[5] == (
        r"\textless{}c\textgreater{} & \underline{$-$0.2500}\phantom{$^{\dagger}$} \\"
    )


def test_html_escapes_words_and_numbers() -> None:
    assert "&lt;c&gt;</th>" in MARKED.html()
    assert "<strong>0.5000</strong><sup>†</sup></td>" in MARKED.html()


def test_adjacent_columns_share_one_heading_in_latex() -> None:
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


def test_long_text_in_the_last_column_is_wrapped() -> None:
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


def test_csv_quotes_names_that_a_spreadsheet_would_run() -> None:
    starts = ["=1+1", "+a", "-b", "@c", "\td", "\re", "＝f"]
    rows = [{"=name": name, "value": -1.5} for name in [*starts, "-1.5", "+2", "g=1"]]
    lines = [*csv_reader(io.StringIO(csv(rows), newline=""))]
    assert [line[0] for line in lines] == [
        "'=name", *(f"'{name}" for name in starts), "-1.5", "+2", "g=1",
    ]  # fmt: skip
    assert {line[1] for line in lines[1:]} == {"-1.5"}
    kept = [*csv_reader(io.StringIO(csv(rows, "kept"), newline=""))]
    assert [line[0] for line in kept] == ["=name", *starts, "-1.5", "+2", "g=1"]


def test_printed_results_show_control_characters() -> None:
    users = {"user": [1, 2], "town": ["\x1b[31mx", "y\u202e"]}
    lists, truth = {1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["a"]}
    evaluation = rt.evaluate(lists, truth, "mrr", users=users, slices=["town"])
    models = {"a\x1b]0;title\x07": lists, "b\n\\input{x}": truth}
    comparison = rt.compare(models, truth, "mrr", by="town", users=users)
    for result in (evaluation, comparison):
        assert not {*"\x1b\x07\u202e"} & {*str(result), *repr(result)}
    assert not any(line.startswith("\\input") for line in comparison.to_latex().splitlines())
    assert r"\x1b[31mx" in str(evaluation)


def test_no_cell_is_wider_than_can_be_read() -> None:
    grid = Grid(["slice", "value"], [["x" * 10**6, "0.5"], ["y", "0.5"]])
    for text in (grid.text(), grid.columns(), grid.markdown(), grid.latex(), grid.html()):
        assert "x" * 300 in text
        assert len(text) < 2000


def test_an_example_in_a_ledger_is_cut_wherever_it_is_shown() -> None:
    lists, long = {"ann": ["a"]}, "x" * 10**6
    evaluation = rt.evaluate(lists, {"ann": ["a"], long: ["a"]}, "mrr")
    for text in (str(evaluation), evaluation.to_json()):
        assert "x" * 200 in text
        assert len(text) < 10_000


def test_csv_keeps_full_precision_and_leaves_none_empty() -> None:
    assert csv([{"a": 1 / 3, "b": None}]) == "a,b\n0.3333333333333333,\n"


def test_results_with_one_table_give_it_as_a_frame() -> None:
    lists = {user: ["a", "b"] if user % 2 else ["b"] for user in range(5)}
    truth = {user: ["b"] for user in range(5)}
    several = rt.evaluate(lists, truth, ["mrr", "ndcg@2"], convention=["default", "rectools"])
    users = {"user": [*range(5)], "town": [*"xxyyy"]}
    slices = rt.evaluate(lists, truth, "mrr", users=users, slices="town").slices
    assert slices is not None
    explained = rt.explain(lists, truth, "ndcg@2", "default", "rectools")
    found = rt.identify(lists, truth, "mrr", "0.8", profiles=["default", "rectools"])
    models = {"one": lists, "other": truth}
    sturdy = rt.robustness(models, truth, "mrr", profiles=["rectools"])
    columns = [
        (several, "default"), (slices, "too_small"), (explained, "share"), (found, "fits"),
        (sturdy, "order"), (rt.audit(lists, truth, metrics="mrr"), "severity"),
    ]  # fmt: skip
    for result, column in columns:
        assert column in result.to_polars().columns
        assert [*result.to_pandas().columns] == result.to_polars().columns


def test_evaluations_in_a_notebook_show_the_ledger() -> None:
    several = rt.evaluate({1: [2]}, {1: [2], 3: [4]}, "mrr", convention=["default", "rectools"])
    assert "<strong>! 1 of 2 users in the truth have no predictions" in several._repr_html_()

"""Comparisons for publication: marks, letters, intervals, captions, and no bare NaN."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.comparison.compare import Comparison
from rectitude.comparison.significance import interval
from rectitude.comparison.table import letters, rank_models
from rectitude.errors import BadArgument, UnknownName, UnwritableFile

USERS = 60
SKILLS = {"a_1": 0.0, "b&c": 0.35, "d<e": 0.4, "f": 0.95}
NAMES = ["ndcg@5", "recall@5"]


def truth() -> dict[int, list[int]]:
    chance = np.random.default_rng(0)
    return {user: chance.choice(30, 3, replace=False).tolist() for user in range(USERS)}


def lists(skill: float, seed: int) -> dict[int, list[int]]:
    chance, found = np.random.default_rng(seed), {}
    for user, wanted in truth().items():
        first = wanted[:1] if chance.random() < skill else []
        others = [int(item) for item in chance.permutation(30)]
        found[user] = list(dict.fromkeys([*first, *others]))[:10]
    return found


MODELS = {name: lists(skill, seed) for seed, (name, skill) in enumerate(SKILLS.items(), 1)}


def compared(**given: Any) -> Comparison:
    return rt.compare(MODELS, truth(), NAMES, **given)


def logits(**given: Any) -> Comparison:
    """Compare models by a metric for which low values are better, in its own unit."""
    targets = np.arange(30) % 4
    sure = np.eye(4)[targets] * np.linspace(0.5, 2, 30)[:, None]
    models = {"even": rt.Logits(np.zeros((30, 4))), "sure": rt.Logits(sure)}
    return rt.compare(models, targets, "cross_entropy", **given)


def test_letters_of_a_known_example() -> None:
    apart = {("a", "c"), ("a", "d"), ("b", "d")}
    assert letters(["a", "b", "c", "d"], apart) == {"a": "a", "b": "ab", "c": "bc", "d": "c"}
    assert letters(["a", "b"], set()) == {"a": "a", "b": "a"}
    assert letters(["a", "b"], {("b", "a")}) == {"a": "a", "b": "b"}


@settings(max_examples=200, deadline=None)
@drawn(st.integers(2, 7), st.data())
def test_models_share_a_letter_exactly_if_they_do_not_differ(count: int, data: Any) -> None:
    models = [f"m{number}" for number in range(count)]
    pairs = list(combinations(models, 2))
    apart = {pair for pair in pairs if data.draw(st.booleans())}
    found = letters(models, apart)
    for one, other in pairs:
        assert bool({*found[one]} & {*found[other]}) == ((one, other) not in apart)


def test_there_are_letters_for_many_models() -> None:
    models = [f"m{number}" for number in range(60)]
    found = letters(models, set(combinations(models, 2)))
    assert len({*found.values()}) == 60


def test_equal_numbers_share_a_rank_and_undefined_ones_have_none() -> None:
    values = {"a": 0.5, "b": 0.7, "c": 0.7, "d": float("nan"), "e": 0.1}
    assert rank_models(values, "high") == {"b": 1, "c": 1, "a": 2, "e": 3}
    assert rank_models(values, "low") == {"e": 1, "a": 2, "b": 3, "c": 3}


def test_letters_are_used_without_a_baseline_and_daggers_with_one() -> None:
    without, with_one = compared(), compared(baseline="a_1")
    given = without.letters("ndcg@5")
    for one in without.differences:
        if one.metric == "ndcg@5":
            shared = {*given[one.model]} & {*given[one.baseline]}
            assert without.significant(one) == (not shared)
    assert "models that share no letter differ significantly" in str(without)
    assert {*with_one.letters("ndcg@5").values()} == {""}
    assert "† significantly different from a_1" in str(with_one)
    assert "†" not in str(without)


def test_digits_are_aligned_in_a_terminal() -> None:
    for found in (compared(), compared(baseline="a_1")):
        rows = found.to_text(["models"]).splitlines()[2:6]
        for digits in (0, 1):
            ends = {[m.end() for m in re.finditer(r"\d\.\d{4}", row)][digits] for row in rows}
            assert len(ends) == 1


@pytest.mark.parametrize("how", ["t", "percentile", "bca"])
def test_intervals_of_models_are_those_of_their_users(how: Any) -> None:
    found = compared(interval=how, resamples=300)
    values = rt.evaluate(MODELS["f"], truth(), NAMES).per_user()["ndcg@5"].to_numpy()
    (expected,) = interval(values[:, None], how, resamples=300)
    assert found.intervals["ndcg@5"]["f"] == pytest.approx(tuple(expected), rel=1e-9)
    low, high = found.intervals["ndcg@5"]["f"]
    assert f"[{low:.4f}, {high:.4f}]" in found.to_text(show=["interval"])


def test_numbers_in_percent_have_intervals_in_percent() -> None:
    plain, percent = compared(), compared(convention={"scale": "percent"})
    low, high = plain.intervals["ndcg@5"]["f"]
    assert percent.intervals["ndcg@5"]["f"] == pytest.approx((100 * low, 100 * high))
    assert percent.of("ndcg@5", "f", "a_1") == plain.of("ndcg@5", "f", "a_1")
    assert "numbers differ" not in str(percent)


def test_changes_from_the_baseline_can_be_shown_next_to_numbers() -> None:
    found = compared(baseline="b&c")
    one = found.of("recall@5", "f")
    shown = found.to_text(["models"], ["points", "relative"])
    row = next(line for line in shown.splitlines() if line.startswith("| f "))
    assert f"{100 * one.difference:+.2f}" in row
    assert f"{one.relative:+.1f}" in row
    assert "recall@5 pp | recall@5 rel. % |" in shown.splitlines()[0]
    with pytest.raises(BadArgument, match="the column 'points' needs a baseline"):
        compared().to_text(show=["points"])


def test_lower_is_better_is_stated_and_changes_have_their_own_unit() -> None:
    found = logits(baseline="even")
    assert "lower is better: cross_entropy" in str(found)
    assert "cross_entropy change" in found.to_text(show=["points"])
    assert "Lower is better for cross\\_entropy." in found.to_latex()
    assert "sure is better than even" in found.words()


def cells(latex: str) -> list[list[str]]:
    """The cells of the first table, with only names and digits left."""
    body = latex.split(r"\midrule")[1].split(r"\bottomrule", maxsplit=1)[0].strip()
    return [line.removesuffix(r"\\").strip().split(" & ") for line in body.splitlines()]


@pytest.mark.parametrize("show", [(), ("interval",), ("interval", "points", "relative")])
def test_latex_is_well_formed(show: Any) -> None:
    found = compared(baseline="a_1").to_latex(show=show)
    assert found.count(r"\begin{table}") == found.count(r"\end{table}") == 2
    assert found.count("{") == found.count("}")
    for tabular in found.split(r"\begin{tabular}")[1:]:
        spec, _, rest = tabular.partition("}")
        width = len(spec.strip("{"))
        body = rest.split(r"\midrule")[1].split(r"\bottomrule")[0]
        assert {line.count(" & ") + 1 for line in body.strip().splitlines()} == {width}
        spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", rest)]
        assert not spans or sum(spans) + 1 == width
    for name in (r"a\_1", r"b\&c", r"d\textless{}e"):
        assert f"\n{name} & " in found
    plain = re.sub(r"\$[^$]*\$|\\cmidrule\S*", "", found)
    assert not re.search(r"-\d", plain), "a hyphen for a minus"
    assert not set(plain) & set("†±<>")


def test_latex_marks_and_leaves_room_for_marks() -> None:
    rows = {row[0]: row[1] for row in cells(compared(baseline="a_1").to_latex())}
    assert re.fullmatch(r"\\textbf\{0\.\d{4}\}\$\^\{\\dagger\}\$", rows["f"])
    assert re.fullmatch(r"0\.\d{4}\\phantom\{\$\^\{\\dagger\}\$\}", rows[r"a\_1"])
    by_letter = [row[1] for row in cells(compared().to_latex())]
    assert all(r"$^{\mathrm{" in cell for cell in by_letter)


def test_captions_say_how_models_were_tested() -> None:
    found = compared(baseline="a_1", test="wilcoxon", correct="benjamini_hochberg", alpha=0.01)
    for text in (found.to_latex(), found.to_html(), found.to_markdown()):
        assert "Wilcoxon signed-rank tests, Benjamini-Hochberg-corrected for 6 tests" in text
        assert "alpha 0.01" in text
        assert "significantly different from a" in text
        assert "Best bold, second best underlined." in text


class Page(HTMLParser):
    """Which tags are open, and how often each was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Keep a tag."""
        self.open.append(tag)
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        """Close the last one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        self.text += data


def test_html_is_well_formed_and_names_are_not_tags() -> None:
    page = Page()
    page.feed(compared(baseline="a_1").to_html())
    assert page.open == []
    assert (page.seen["table"], page.seen["caption"], page.seen["strong"]) == (2, 2, 2)
    assert "d<e" in page.text
    assert "b&c" in page.text
    assert "script" not in page.seen
    named = {"<script>alert(1)</script>": MODELS["f"], "b": MODELS["a_1"]}
    page = Page()
    page.feed(rt.compare(named, truth(), NAMES).to_html())
    assert "script" not in page.seen


def test_markdown_marks_and_keeps_its_columns() -> None:
    models = {"a|b": MODELS["a_1"], "c": MODELS["b&c"], "d": MODELS["f"]}
    found = rt.compare(models, truth(), NAMES, baseline="a|b").to_markdown()
    assert r"| a\|b " in found
    assert re.search(r"\*\*0\.\d{4}\*\*<sup>†</sup>", found)
    assert re.search(r"<ins>0\.\d{4}</ins>", found)


def test_csv_of_models_has_a_row_for_each_number() -> None:
    found = compared(baseline="a_1")
    rows = list(csv.DictReader(io.StringIO(found.to_csv("models"))))
    assert len(rows) == 8
    best = next(row for row in rows if row["model"] == "f" and row["metric"] == "ndcg@5")
    assert (best["place"], best["significant"]) == ("1", "True")
    assert float(best["value"]) == found.values["ndcg@5"]["f"]
    difference = found.of("ndcg@5", "f")
    assert (float(best["difference"]), best["unit"]) == (difference.difference, "fraction")
    assert float(best["relative_percent"]) == difference.relative
    own = next(row for row in rows if row["model"] == "a_1")
    assert (own["difference"], own["significant"]) == ("", "")


def test_unknown_tables_and_columns_raise_errors() -> None:
    with pytest.raises(UnknownName, match="a comparison has no table 'modells'"):
        compared().to_text(["modells"])  # type: ignore[list-item]
    with pytest.raises(UnknownName, match="a comparison has no column 'intervals'"):
        compared().to_latex(show=["intervals"])  # type: ignore[list-item]
    with pytest.raises(UnknownName, match="a comparison has no table 'both'"):
        compared().to_csv("both")  # type: ignore[arg-type]


def test_words_say_what_a_difference_means() -> None:
    said = compared(baseline="a_1", margin=0.02).words().splitlines()
    large = next(line for line in said if line.startswith("ndcg@5: f is better than a_1 by"))
    assert "statistically significant (corrected p < 0.0001, below 0.05)." in large
    assert "were not shown to be equivalent within the margin of 0.02" in large
    near = rt.compare({"b": MODELS["b&c"], "d": MODELS["d<e"]}, truth(), "ndcg@5").words()
    assert "The difference is not statistically significant (corrected p " in near
    assert "would often be missed" in near
    same = rt.compare({"b": MODELS["f"], "d": MODELS["f"]}, truth(), "ndcg@5").words()
    assert same == "ndcg@5: d and b have the same value for each of 60 users."


def everything(found: Comparison) -> str:
    """Return a comparison in every output format."""
    show: Any = ["interval", *(["points", "relative"] if found.baseline else [])]
    forms = [found.to_text, found.to_markdown, found.to_latex, found.to_html]
    texts = [form(show=show) for form in forms]
    return "\n".join(
        [*texts, found.to_csv(), found.to_csv("models"), found.words(), found.to_json()]
    )


@pytest.mark.parametrize("baseline", ["one", None])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"])
@pytest.mark.parametrize("how", ["t", "bca"])
@pytest.mark.parametrize(
    "kind", ["same", "constant", "all zero", "two users", "apart by one", "several runs"]
)
def test_no_text_contains_a_bare_nan(kind: str, test: Any, how: Any, baseline: str | None) -> None:
    wanted = {user: [1] for user in range(2 if kind == "two users" else 8)}
    hit, miss, late = (dict.fromkeys(wanted, items) for items in ([1, 2], [2, 3], [2, 1]))
    models: dict[str, Any] = {
        "same": {"one": hit, "two": hit},
        "constant": {"one": hit, "two": late},
        "all zero": {"one": miss, "two": miss, "three": miss},
        "two users": {"one": hit, "two": late},
        "apart by one": {"one": hit, "two": {**hit, 0: [2, 1]}},
        "several runs": {"one": [hit, late, miss], "two": [late, hit, hit]},
    }[kind]
    given: Any = {"test": test, "interval": how, "baseline": baseline, "margin": 0.1}
    found = rt.compare(models, wanted, ["mrr", "recall@1"], resamples=200, **given)
    text = everything(found)
    assert not re.search(r"\b(nan|inf|-inf|NaN|Infinity|None)\b", text)
    assert json.loads(found.to_json())["notes"] == [*found.notes]
    assert any("only large differences can be" in note for note in found.notes)
    if kind in ("same", "all zero"):
        assert any("have the same values for every user" in note for note in found.notes)
        assert {one.p for one in found.differences} == {1.0}


def test_a_test_that_cannot_be_significant_is_noted() -> None:
    wanted = {user: [1] for user in range(4)}
    models = {"one": {u: [1, 2] for u in wanted}, "two": {u: [2, 1] for u in wanted}}
    found = rt.compare(models, wanted, "mrr", test="sign_flip")
    assert "sign_flip cannot give a p-value below 0.1250 (users: 4)" in str(found)
    other = {**models["one"], 0: [2, 1]}
    found = rt.compare({"one": models["one"], "two": other}, wanted, "mrr", test="wilcoxon")
    assert "wilcoxon cannot give a p-value below 1.0000 (users with a difference: 1)" in str(found)
    found = compared(test="sign_flip", resamples=100)
    assert "100 sign flips cannot give a p-value below 0.0099, which may be too large" in str(found)
    assert "cannot give a p-value" not in str(compared(test="sign_flip"))


def test_bootstrap_intervals_of_few_users_are_noted_as_narrow() -> None:
    assert "bootstrap intervals of only 60 users tend to be too narrow" in str(
        compared(interval="bca", resamples=100)
    )
    assert "too narrow" not in str(compared())


def test_a_metric_that_failed_is_left_out_with_the_reason() -> None:
    found = rt.compare(MODELS, truth(), ["ndcg@5", "mean_rank"])
    (note,) = [note for note in found.notes if "mean_rank" in note]
    assert note.startswith("mean_rank is left out: it failed for a_1, b&c, d<e, f: metric")
    assert "\n" not in note


def test_a_number_of_a_model_is_found_by_metric_and_model() -> None:
    found = compared(baseline="a_1")
    assert found["ndcg@5"]["f"] == found.values["ndcg@5"]["f"]
    assert [*found] == [*found.values]
    assert "ndcg@5" in found
    with pytest.raises(UnknownName, match=r"no metric 'ndgc@5'[\s\S]*did you mean 'ndcg@5'"):
        found["ndgc@5"]


@pytest.mark.parametrize("table", ["models", "differences"])
def test_tables_of_a_comparison_become_frames(table: Any) -> None:
    found = compared(baseline="a_1")
    frame = found.table(table)
    assert frame.equals(found.to_polars(table))
    assert frame.height == len(found.rows(table))
    pandas = found.to_pandas(table)
    assert [*pandas.columns] == frame.columns
    assert pandas["model"].to_list() == frame["model"].to_list()


def test_exported_differences_are_in_the_unit_that_stands_beside_them() -> None:
    found = compared(baseline="a_1")
    (row,) = [r for r in found.rows() if (r["metric"], r["model"]) == ("ndcg@5", "f")]
    (model,) = [r for r in found.rows("models") if (r["metric"], r["model"]) == ("ndcg@5", "f")]
    values = found["ndcg@5"]
    assert row["unit"] == model["unit"] == "fraction"
    assert row["difference"] == model["difference"] == pytest.approx(values["f"] - values["a_1"])
    relative = 100 * (values["f"] / values["a_1"] - 1)
    assert row["relative_percent"] == model["relative_percent"] == pytest.approx(relative)
    assert "pp" not in set(row) | {str(value) for value in row.values()}


@pytest.mark.parametrize("name", ["c.csv", "c.parquet", "c"])
def test_a_comparison_is_only_saved_as_json(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"a name that ends in \.json[\s\S]*to_polars"):
        compared().save(tmp_path / name)

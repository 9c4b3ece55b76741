"""The report in a real browser: it needs nothing else, and everything on it works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rectitude.reports.content import Content

HOSTILE = "<script>alert(1)</script>"
SECTIONS = [
    "headline", "curves", "differences", "slices", "windows", "calibration", "audit", "flow",
    "explorer", "explain", "conventions", "details",
]  # fmt: skip


def texts(page: Any, selector: str) -> list[str]:
    return [one.strip() for one in page.locator(selector).all_inner_texts()]


def test_it_opens_from_disk_and_asks_nobody_for_anything(opened: Any, path: Path) -> None:
    opened.page.wait_for_timeout(200)
    assert opened.asked == [path.as_uri()]
    assert opened.said == []


def test_every_section_is_there_and_named_in_the_navigation(opened: Any) -> None:
    ids = opened.page.eval_on_selector_all("main section", "all => all.map(one => one.id)")
    assert ids == SECTIONS
    links = opened.page.eval_on_selector_all("nav a", "all => all.map(a => a.hash.slice(1))")
    assert links == SECTIONS


def test_numbers_on_the_page_are_those_of_its_json(opened: Any, content: Content) -> None:
    inside = json.loads(opened.page.locator("#content").text_content())
    assert inside["values"].keys() == content.values.keys()
    cells = opened.page.eval_on_selector_all(
        "#results tbody td",
        "all => all.map(td => [td.closest('tr').dataset.model, td.dataset.metric, "
        "Number(td.dataset.value), td.querySelector('.number').textContent])",
    )
    assert len(cells) == len(content.values) * len(content.models)
    for model, metric, value, shown in cells:
        assert value == inside["values"][metric][model]["value"]
        assert value == content.values[metric][model].value
        assert shown == f"{value:.4f}"


def test_the_best_of_each_metric_is_marked_once(opened: Any, content: Content) -> None:
    for metric, of in content.values.items():
        best = opened.page.eval_on_selector_all(
            f"#results td.best[data-metric='{metric}']",
            "all => all.map(td => Number(td.dataset.value))",
        )
        assert best == [max(value.value for value in of.values() if value.value is not None)]


def test_a_click_on_a_metric_sorts_by_it_and_another_turns_the_order(opened: Any) -> None:
    page = opened.page
    column = "all => all.map(tr => Number(tr.querySelector('td').dataset.value))"
    page.click("#results thead th:nth-child(2) button")
    falling = page.eval_on_selector_all("#results tbody tr", column)
    assert falling == sorted(falling, reverse=True)
    page.click("#results thead th:nth-child(2) button")
    assert page.eval_on_selector_all("#results tbody tr", column) == falling[::-1]
    assert page.locator("#results th[aria-sort]").count() == 1


def test_finding_a_model_hides_the_others_and_finding_a_metric_the_other_columns(
    opened: Any,
) -> None:
    page = opened.page
    page.fill("#filter", "neigh")
    assert texts(page, "#results tbody tr:visible th") == ["neighbours"]
    page.fill("#filter", "mrr")
    assert page.locator("#results thead th:visible").count() == 2
    page.fill("#filter", "")
    assert page.locator("#results tbody tr:visible").count() == 3


def test_differences_are_shown_in_points_and_percent_from_any_model(
    opened: Any, content: Content
) -> None:
    page, of = opened.page, content.values["ndcg@10"]
    own, base = (of[name].value or 0.0 for name in ("neighbours", "popularity"))
    cell = "#results tr[data-model='neighbours'] td[data-metric='ndcg@10'] .number"
    page.select_option("#mode", "points")
    assert page.inner_text(cell) == f"{100 * (own - base):+.2f} pp"
    page.select_option("#mode", "percent")
    assert page.inner_text(cell) == f"{100 * (own - base) / base:+.1f}%"
    page.select_option("#reference", "neighbours")
    assert page.inner_text(cell) == "0.0%"


def test_a_mark_under_the_pointer_says_its_value(opened: Any) -> None:
    page = opened.page
    mark = page.locator("#curves .mark").first
    mark.scroll_into_view_if_needed()
    mark.hover()
    said = page.inner_text("#tip")
    assert said == mark.get_attribute("data-tip")
    assert "neighbours" in said
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()


def test_the_theme_switches_and_switches_back(opened: Any) -> None:
    page = opened.page
    paper = "() => getComputedStyle(document.querySelector('section')).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) != light
    page.click("#theme")
    assert page.evaluate(paper) == light


def test_a_dark_desktop_gets_a_dark_page(browser: Any, path: Path) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(path.as_uri())
    dark = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    context.close()
    assert max(int(n) for n in dark.removeprefix("rgb(").rstrip(")").split(",")) < 60


def test_the_explorer_shows_each_model_under_the_chosen_convention(
    opened: Any, content: Content
) -> None:
    page, found = opened.page, content.robustness
    assert found is not None
    for number in (0, 1, len(found["standings"])):
        page.select_option("#convention", str(number))
        one = [found["base"], *found["standings"]][number]
        rows = page.eval_on_selector_all(
            "#standing .row", "all => all.map(r => [r.dataset.model, Number(r.dataset.value)])"
        )
        assert dict(rows) == dict(one["values"])
        assert [model for model, _ in rows] == [model for equal in one["order"] for model in equal]


def test_the_data_of_a_figure_can_be_saved(opened: Any, tmp_path: Path) -> None:
    page = opened.page
    with page.expect_download() as waiting:
        page.locator("#curves figure [data-save=csv]").first.click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert lines[0] == "metric,cutoff,model,value,low,high"
    assert len(lines) == 1 + 3 * 3


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_figure_can_be_saved_as_a_picture(opened: Any, kind: str, start: bytes) -> None:
    page = opened.page
    with page.expect_download() as waiting:
        page.locator(f"#flow figure [data-save={kind}]").first.click()
    assert Path(waiting.value.path()).read_bytes().startswith(start)
    assert opened.said == []


def test_the_results_can_be_saved_as_latex(opened: Any) -> None:
    page = opened.page
    with page.expect_download() as waiting:
        page.click("[data-save-table=latex]")
    text = Path(waiting.value.path()).read_text()
    assert r"\toprule" in text
    assert r"\textbf{" in text


def test_the_table_under_a_figure_has_its_numbers(opened: Any) -> None:
    page = opened.page
    page.locator("#flow figure details.table > summary").first.click()
    shown = texts(page, "#flow [data-table] tbody td")
    assert "k_core" in shown
    assert "700" in shown


def test_a_name_that_is_a_script_shows_as_text(opened: Any, path: Path) -> None:
    assert HOSTILE in texts(opened.page, "#results tbody th")
    assert opened.page.locator("script", has_text="alert(1)").count() <= 2  # the two JSON blocks
    assert (
        opened.page.evaluate("() => document.querySelectorAll('th script, td script').length") == 0
    )
    assert not any("dialog" in one for one in opened.said)
    assert HOSTILE not in path.read_text("utf-8")


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_nothing_overflows_whatever_the_width(browser: Any, path: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    context.close()


def test_the_printed_page_has_no_buttons_and_fits_the_paper(browser: Any, path: Path) -> None:
    context = browser.new_context(viewport={"width": 780, "height": 1000})
    page = context.new_page()
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".tools").first.is_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 780
    assert len(page.pdf()) > 10_000
    context.close()


def test_the_keyboard_reaches_the_results_and_sorts_them(opened: Any) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.locator("#results thead th:nth-child(3) button").focus()
    page.keyboard.press("Enter")
    assert page.locator("#results th[aria-sort=descending]").count() == 1


def test_every_picture_has_words_and_every_control_a_name(opened: Any) -> None:
    page = opened.page
    unnamed = page.eval_on_selector_all(
        "svg.chart", "all => all.filter(s => !s.getAttribute('aria-label')).length"
    )
    assert unnamed == 0
    nameless = page.evaluate(
        "() => [...document.querySelectorAll('button, select, input')].filter(one => !("
        "one.textContent.trim() || one.getAttribute('aria-label') || one.closest('label'))).length"
    )
    assert nameless == 0

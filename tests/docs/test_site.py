"""The documentation site: it builds strictly, nothing is missing, and it works in a browser."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TYPICAL = ("index.html", "formats.html", "metrics.html", "explain.html", "compare.html")


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page on a wide screen that fails the test if the console says anything."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield from watched(context, address)


@pytest.fixture
def phone(browser: Any, address: str) -> Iterator[Any]:
    """A page on a phone, without scripts, which most of the time goes into."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    yield from watched(context, address)


def watched(context: Any, address: str) -> Iterator[Any]:
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((address, "blob:", "data:"))] == []


def test_every_page_is_in_the_navigation() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        from contents import navigation, pages
    finally:
        sys.path.remove(str(DOCS))
    listed = {path for _, path in pages(navigation())}
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(written - listed) == [], "add a line to nav in mkdocs.yml"


@pytest.mark.parametrize(
    "page",
    [
        "guides/custom-metric.md#a-class", "diagnose.md", "how-to/papers-number.md", "scale.md",
        "guides/unknown-users-and-items.md", "how-to/training-loop.md",
    ],
)  # fmt: skip
def test_what_people_look_for_is_one_click_away(page: str) -> None:
    home = (DOCS / "README.md").read_text("utf-8").partition("<!-- contents -->")[0]
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Where to go")[2]
    assert f"({page})" in home
    assert f"(docs/{page})" in readme


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"?https?:|<link[^>]+href=\"?https?:[^>]+css"
    )
    built = sorted(site.rglob("*.html"))
    assert len(built) > 40
    assert [path.name for path in built if loads.search(path.read_text("utf-8"))] == []


def test_files_outside_docs_are_pages_and_source_files_are_no_links(site: Path) -> None:
    assert (site / "examples" / "smgcn" / "train.py.html").is_file()
    assert (site / "CHANGELOG.html").is_file()
    assert "src/rectitude" not in re.findall(
        r'href="([^"]*)"', (site / "messages.html").read_text("utf-8")
    )


@pytest.mark.browser
@pytest.mark.parametrize("name", TYPICAL)
def test_a_page_opens_fits_a_phone_and_says_nothing_in_the_console(
    page: Any, address: str, name: str
) -> None:
    page.goto(f"{address}/{name}")
    assert page.locator("article h1").first.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.scrollingElement.scrollWidth") == 390


FOUND = (
    ("cold start", "Unknown users and items"),
    ("ground truth", "Judged lists and the ground truth"),
    ("RecBole", "RecBole"),
    ("p-value", "p-value"),
)


@pytest.mark.browser
@pytest.mark.parametrize(("words", "expected"), FOUND)
def test_search_finds(page: Any, address: str, words: str, expected: str) -> None:
    titles = search(page, f"{address}/index.html", words)
    assert any(expected in title for title in titles[:5]), titles[:5]


@pytest.mark.browser
@pytest.mark.parametrize(("words", "expected"), FOUND)
def test_search_finds_the_same_in_a_page_opened_from_the_folder(
    browser: Any, site: Path, words: str, expected: str
) -> None:
    context = browser.new_context()
    for page in watched(context, site.as_uri()):
        titles = search(page, (site / "how-to" / "training-loop.html").as_uri(), words)
        assert any(expected in title for title in titles[:5]), titles[:5]


def search(page: Any, address: str, words: str) -> list[str]:
    """Open a page, type words into its search, and return what is found."""
    page.goto(address)
    page.locator(".md-search__input").fill(words)
    found = page.locator(".md-search-result__item")
    found.first.wait_for(state="attached")
    titles: list[str] = found.all_inner_texts()
    return titles


@pytest.mark.browser
def test_no_page_is_wider_than_a_phone(phone: Any, address: str, site: Path) -> None:
    wide = []
    names = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    for name in [name for name in names if not name.startswith("examples/")]:  # code alone
        phone.goto(f"{address}/{name}")
        width = phone.evaluate("document.querySelector('.md-container').scrollWidth")
        wide += [f"{name}: {width}"] * (width > 390)
    assert wide == []


@pytest.mark.browser
def test_a_dark_desktop_gets_a_dark_page(browser: Any, address: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{address}/index.html")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()
    assert max(map(int, re.findall(r"\d+", colour)[:3])) < 80, colour

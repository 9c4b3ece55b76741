"""THIRD_PARTY.md names what pyproject.toml asks for, with a reason."""

from __future__ import annotations

import third_party


def test_the_page_names_every_package_that_is_asked_for_and_no_other() -> None:
    page = third_party.PAGE.read_text("utf-8")
    assert third_party.disagreements(page) == [], "make docs writes the page anew"


def test_a_package_that_is_missing_or_left_over_is_named() -> None:
    page = third_party.PAGE.read_text("utf-8").replace("| scipy |", "| scipie |")
    assert third_party.disagreements(page) == [
        "scipy is not on the page as pyproject.toml asks for it",
        "scipie is on the page, and nothing asks for it",
    ]


def test_what_a_package_needs_is_counted_once() -> None:
    found = third_party.closure(["pydantic", "pydantic-core"])
    assert {"pydantic", "pydantic-core", "typing-extensions"} <= found
    assert third_party.megabytes(found) > third_party.megabytes(["pydantic"]) > 0


def test_the_default_installation_stays_below_its_limit() -> None:
    page = third_party.PAGE.read_text("utf-8")
    (total,) = [line for line in page.splitlines() if "Together: " in line]
    assert int(total.rpartition("Together: ")[2].removesuffix(" MB.")) < 450

"""The pages for those who come from another framework keep what they promise."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from rectitude.evaluation.plan import resolve
from rectitude.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "coming-from").glob("*.md"))
CASES = ROOT / "tests" / "conformance" / "golden" / "cases"
GOLDEN = re.compile(
    r"<!-- golden: (\S+) (.*?) -->\n\n```python\n.*?^```\n\n```text\n(.*?)\n",
    re.DOTALL | re.MULTILINE,
)
SECTIONS = ["Side by side", "Names", "Files", "What differs from our default", "Further"]
ids = [path.stem for path in PAGES]


def text_of(path: Path) -> str:
    return path.read_text("utf-8")


def profile_of(path: Path) -> str:
    return re.findall(r"<!-- golden: ([^/]+)/", text_of(path))[0]


def test_there_is_a_page_for_each() -> None:
    assert ids == [
        "cornac", "daisyrec", "elliot", "implicit", "lenskit", "ranx", "recbole", "recommenders",
        "recpack", "rectools", "replay", "sklearn", "spark", "torchmetrics", "trec_eval", "warprec",
    ]  # fmt: skip


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_a_page_has_the_same_shape_as_the_others(path: Path) -> None:
    headings = re.findall(r"^## (.*)$", text_of(path), re.MULTILINE)
    assert [one for one in headings if one in SECTIONS] == SECTIONS
    assert f"<!-- differs: {profile_of(path)} -->" in text_of(path)


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_the_printed_values_are_those_that_the_framework_computed(path: Path) -> None:
    case, names, printed = GOLDEN.findall(text_of(path))[0]
    facts = json.loads((CASES / f"{case}.json").read_text("utf-8"))
    values = ast.literal_eval(printed)
    assert list(values) == names.split()
    for name, value in values.items():
        tolerance = facts.get("tolerances", {}).get(name, facts["tolerance"])
        assert value == pytest.approx(facts["expected"][name], rel=0, abs=tolerance), name


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_the_names_work_under_the_profile(path: Path) -> None:
    table = text_of(path).partition("## Names")[2].partition("## Files")[0]
    ours = [row.split(" | ")[1] for row in table.splitlines() if row.startswith("| ")][1:]
    names = [name for cell in ours for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) >= 3
    for name in names:
        resolve(name.replace("@k", "@10"), PROFILES[profile_of(path)], ())


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_the_page_is_found_from_the_home_page(path: Path) -> None:
    assert f"(coming-from/{path.name})" in (ROOT / "docs" / "README.md").read_text("utf-8")

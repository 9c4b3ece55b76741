"""The documents do as they say: blocks run, outputs are true, pages are current, links lead on."""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rectitude.metrics import METRICS
from rectitude.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
WITH_BLOCKS = [
    path
    for path in DOCUMENTS
    if path.parent.name != "notebooks"  # run as notebooks
    and re.search(r"^```(python|console)$", path.read_text("utf-8"), re.MULTILINE)
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def run(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONUTF8": "1"}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=names(WITH_BLOCKS))
def test_blocks_run_and_print_what_the_document_says(path: Path) -> None:
    done = run(DOCS / "blocks.py", path)
    assert done.returncode == 0, f"{done.stderr}\nmake docs rewrites the outputs"


def test_the_first_block_of_the_readme_can_be_pasted_after_installing(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    install, block = text.index("\npip install "), text.index("\n```python\n")
    assert install < block
    done = run("-c", text[block:].split("```python\n")[1].partition("```")[0], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| ndcg@10   |" in done.stdout


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=names(WITH_BLOCKS))
def test_a_page_that_uses_the_sample_says_so_at_the_top(path: Path) -> None:
    text = path.read_text("utf-8")
    blocks = "".join(
        re.findall(r"^```(?:python|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    )
    used = re.search(
        r"(?<![\w/-])(nearest|popular|test|train)\.csv|scores\.npz|(long|short)\.npy", blocks
    )
    if used and path.name != "README.md":
        assert "`rectitude sample`" in "".join(text.splitlines(keepends=True)[:4])


def test_the_index_names_every_page() -> None:
    text = (DOCS / "README.md").read_text("utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert [page for page in pages if f"({page})" not in text and page != "README.md"] == []


def test_a_wrong_output_is_noticed_and_can_be_rewritten(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('a')\nprint('b')\n```\n\n```text\nc\n```\n")
    assert run(DOCS / "blocks.py", page).returncode == 1
    assert run(DOCS / "blocks.py", "--write", page).returncode == 0
    assert page.read_text() == "```python\nprint('a')\nprint('b')\n```\n\n```text\na\nb\n```\n"
    assert run(DOCS / "blocks.py", page).returncode == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=names(EXAMPLES))
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = run("-W", "error", path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


@pytest.mark.parametrize("path", EXAMPLES, ids=names(EXAMPLES))
def test_example_fits_a_screen(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 50


def test_the_same_lists_in_any_form_give_the_same_bits(tmp_path: Path) -> None:
    assert (
        "the same bits: True" in run(ROOT / "examples" / "evaluate_tables.py", cwd=tmp_path).stdout
    )


def test_generated_pages_are_up_to_date() -> None:
    done = run(DOCS / "generate.py", "--check")
    assert done.returncode == 0, done.stderr


def test_generated_pages_name_every_metric_and_profile() -> None:
    metrics, profiles = ((DOCS / page).read_text("utf-8") for page in ("metrics.md", "profiles.md"))
    assert all(f"\n## {name}\n" in metrics for name in METRICS if is_shipped(name))
    assert all(f"\n## {name}\n" in profiles for name in PROFILES if name != "default")


def is_shipped(name: str) -> bool:
    return METRICS[name].function.__module__.startswith("rectitude.")


def test_every_cited_source_has_an_entry() -> None:
    entries = set(
        re.findall(r"^\| `(\w+)` \|", (DOCS / "references.md").read_text("utf-8"), re.MULTILINE)
    )
    cited = {METRICS[name].cite for name in METRICS if is_shipped(name)} - {""}
    assert cited == entries


def test_the_readme_has_two_screens() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_readme_counts_the_profiles() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"{len(set(PROFILES) - {'default'})} [profiles](docs/profiles.md)" in text


def test_the_page_of_profiles_names_each() -> None:
    text = (DOCS / "profiles.md").read_text("utf-8")
    assert [name for name in PROFILES if name != "default" and f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#[^)\s]*)?\)", path.read_text("utf-8")):
        if target and "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_anchors_exist(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", path.read_text("utf-8")):
        page = path if not target else path.parent / target
        if "://" not in target:
            headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
            assert anchor in anchors, f"{path.name} links to {target}#{anchor}"


GLOSSARY = re.findall(
    r"^\| ([^|]+) \| [^|]+ \| `([\w.]+)` \|$",
    (DOCS / "glossary.md").read_text("utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("word", "where"), GLOSSARY, ids=[word for word, _ in GLOSSARY])
def test_word_of_the_glossary_exists_in_the_code(word: str, where: str) -> None:
    assert find(where), f"{word!r} should be rectitude.{where}"


def test_a_word_stands_once_in_the_glossary() -> None:
    words = [word for word, _ in GLOSSARY]
    assert len(words) > 40
    assert len(set(words)) == len(words)


def find(where: str) -> bool:
    """Whether a dotted path below rectitude is a module, or something inside one."""
    parts = where.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(["rectitude", *parts[:depth]]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
            if part in [field.name for field in fields]:
                return True
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False

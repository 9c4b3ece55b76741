"""What commands print: names in data and files are shown, and never control the terminal."""

from __future__ import annotations

import ast
import json
import re
import zipfile
from pathlib import Path

import pytest
from cli_files import Run

from rectitude.cli import output

NAME = "m\x1b[31m\x07\x9b"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def hostile(shop: Path) -> Path:
    """The shop, with names that would control a terminal."""
    for name in ("good", "poor"):
        (shop / f"{name}.csv").rename(shop / f"{name}{NAME}.csv")
    (shop / "users.csv").write_text(
        f"user,town{NAME}\nann,x\u202e{NAME}\nbob,=1+1\ncid,y\n", encoding="utf-8"
    )
    (shop / "mine.toml").write_text(
        'framework = "F\\u001b[2J"\nversions = ["1\\u0007"]\nabout = "A\\u009b."\n'
    )
    (shop / "e.toml").write_text('[data]\nshop = {}\n[models.a]\npython = "no\\u001bsuch:Model"\n')
    return shop


BOTH = (f"good{NAME}.csv", f"poor{NAME}.csv", "--truth", "truth.csv")


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", *BOTH, "--metrics", "mrr"),
        ("evaluate", *BOTH, "--metrics", "mrr", "--csv"),
        ("evaluate", *BOTH, "--metrics", "mrr", "--latex"),
        ("evaluate", *BOTH, "--metrics", f"mrr{NAME}"),
        ("evaluate", *BOTH, "--users", "users.csv", "--slices", f"town{NAME}", "--metrics", "mrr"),
        ("evaluate", f"missing{NAME}.csv", "--truth", "truth.csv"),
        ("compare", *BOTH, "--metrics", "mrr"),
        ("compare", *BOTH, "--metrics", "mrr", "--words"),
        ("compare", *BOTH, "--metrics", "mrr", "--slice", f"town{NAME}", "--users", "users.csv"),
        ("robustness", *BOTH, "--metric", "mrr"),
        ("trace", f"good{NAME}.csv", "--truth", "truth.csv", "--metric", "mrr", "--user", "ann"),
        ("profiles", "show", "mine.toml"),
        ("profiles", f"show{NAME}"),
        ("run", "e.toml"),
        ("run", "e.toml", "--dry-run"),
        ("report", f"missing{NAME}"),
        (f"evaluate{NAME}",),
        ("--debug", "evaluate", f"missing{NAME}.csv", "--truth", "truth.csv"),
    ],
)
@pytest.mark.usefixtures("hostile")
def test_no_control_character_is_printed(words: tuple[str, ...], run: Run) -> None:
    said = run(*words)
    printed = said.out + said.err + said.read
    assert printed
    assert RAW.findall(printed) == []


def test_items_in_a_trace_are_shown(shop: Path, run: Run) -> None:
    (shop / "lists.csv").write_text(f"user,item,score\nann,{NAME},1\n", encoding="utf-8")
    words = ("lists.csv", "--truth", "truth.csv", "--metric", "mrr", "--user", "ann")
    said = run("trace", *words)
    assert r"m\x1b[31m\x07\x9b" in said.out
    assert RAW.findall(said.out + said.err + said.read) == []


def test_names_and_conventions_in_stored_files_are_shown(shop: Path, run: Run) -> None:
    run("evaluate", "good.csv", "poor.csv", "--truth", "truth.csv", "--output", "both.zip")
    with zipfile.ZipFile("both.zip") as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile("bad.zip", "w") as archive:
        for name, text in texts.items():
            archive.writestr(name.replace("good", "good%1b%0a%5cinput{x}"), text)
    for form in ("table", "latex", "markdown"):
        said = run("compare", "bad.zip", "--format", form)
        assert RAW.findall(said.out + said.err) == []
        assert not any(line.startswith("\\input") for line in said.out.splitlines())
    for name in ("a", "b"):
        run("evaluate", "good.csv", "--truth", "truth.csv", "--output", f"{name}.json")
    stored = json.loads((shop / "a.json").read_text("utf-8"))
    for result in stored["results"].values():
        result["convention"]["ties"] = "t\x1b[31m"
    stored["manifest"]["profile"] = "p\x1b[31m"
    (shop / "a.json").write_text(json.dumps(stored))
    said = run("explain", "a.json", "b.json")
    assert r"p\x1b[31m" in said.out
    assert RAW.findall(said.out + said.err) == []


def test_csv_quotes_names_that_a_spreadsheet_would_run(hostile: Path, run: Run) -> None:
    words = ("evaluate", BOTH[0], *BOTH[2:], "--users", "users.csv", "--slices", f"town{NAME}")
    assert ",'=1+1," in run(*words, "--csv").out
    assert ",=1+1," in run(*words, "--csv", "--keep-formulas").out
    run(*words, "--per-list", "values.csv")
    assert (hostile / "values.csv").read_text("utf-8").startswith("user,")
    assert run(*words, "--keep-formulas").code == 2
    said = run("compare", *BOTH, "--metrics", "mrr", "--keep-formulas")
    assert "--keep-formulas is not available" in said.err


def test_a_file_keeps_names_as_they_are(hostile: Path, run: Run) -> None:
    run("evaluate", *BOTH, "--metrics", "mrr", "--output", "values.csv")
    assert NAME in (hostile / "values.csv").read_text("utf-8")


def test_commands_print_through_one_function() -> None:
    folder = Path(output.__file__).parent
    printing = {
        path.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.echo", "print")
    }
    assert printing == {"output.py"}

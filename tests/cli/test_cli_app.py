"""The application: help, verbs, exit codes, and how errors are shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import Run

import rectitude
from rectitude.cli import app

VERBS = [str(command.name) for command in app.app.registered_commands]


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(rectitude.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, "-m", "rectitude", *arguments],
        env={**os.environ, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_verb(run: Run) -> None:
    said = run("--help")
    assert said.code == 0
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", said.out, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_an_example(run: Run, verb: str) -> None:
    said = run(verb, "--help")
    assert said.code == 0
    assert f"  rectitude {verb}" in said.out.partition("Example")[2]


def test_without_a_verb_the_help_goes_to_stderr(run: Run) -> None:
    said = run()
    assert (said.code, said.out) == (2, "")
    assert "Commands:" in said.err


def test_the_version_is_the_package_version(run: Run) -> None:
    assert run("--version").out == f"rectitude {rectitude.__version__}\n"


def test_an_unknown_verb_is_answered_with_the_nearest(run: Run) -> None:
    said = run("evalute")
    assert said.code == 2
    assert said.err.startswith("error: UnknownName: rectitude has no command 'evalute'.\n")
    assert "did you mean 'evaluate'?" in said.err


def test_an_unknown_option_before_the_verb_is_answered_too(run: Run) -> None:
    said = run("--verson")
    assert said.code == 2
    assert "did you mean '--version'?" in said.err


def test_debug_shows_where_an_error_arose(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in run("metrics", "nope").err
    assert "Traceback" in run("--debug", "metrics", "nope").err
    monkeypatch.setenv("RECTITUDE_DEBUG", "1")
    assert "Traceback" in run("metrics", "nope").err


def test_an_interruption_exits_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "gathered", interrupted)
    assert run("metrics").code == 130


def test_an_interruption_inside_a_verb_exits_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rectitude.profiles.profile_of", interrupted)
    assert run("metrics").code == 130


def test_a_fault_of_ours_is_said_as_such(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("rectitude.profiles.profile_of", broken)
    said = run("metrics")
    assert said.code == 2
    assert said.err.startswith("error: ZeroDivisionError: oops\n  this is a fault of rectitude")


def test_the_module_runs_as_a_command() -> None:
    done = process("metrics", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {"ndcg", "recall", "rmrr"} <= {one["name"] for one in json.loads(done.stdout)["metrics"]}


def test_errors_of_the_process_go_to_stderr_with_code_2() -> None:
    done = process("profiles", "show", "rectool")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'rectools'" in done.stderr


def test_a_closed_pipe_ends_quietly() -> None:
    source = str(Path(rectitude.__file__).parent.parent)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "rectitude", "metrics"],
            env={**os.environ, "PYTHONPATH": source},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_help_loads_nothing_heavy() -> None:
    """Time is in the benchmark; here, what makes it: no NumPy, Polars, rich or pydantic."""
    code = (
        "import sys; from rectitude.cli import main; main(['--help']);"
        "heavy = {'numpy', 'polars', 'rich', 'pydantic', 'numba', 'narwhals'} & set(sys.modules);"
        "sys.exit(' '.join(heavy) or 0)"
    )
    source = str(Path(rectitude.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_shell_completes_verbs_and_options() -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        done = process(_RECTITUDE_COMPLETE="complete_bash", **words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert completed("rectitude ev") == ["evaluate"]
    assert "--train" in completed("rectitude evaluate --tr")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_json(run: Run, verb: str) -> None:
    assert "--json" in run(verb, "--help").out

"""The application: help, commands, exit codes, and error messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
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


def test_help_lists_every_command(run: Run) -> None:
    said = run("--help")
    assert said.code == 0
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", said.out, re.MULTILINE)


def test_help_shows_whole_sentences(run: Run) -> None:
    commands = run("--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert "..." not in commands
    sentences = re.sub(r"\n {3,}", " ", commands).splitlines()
    assert len(sentences) == len(VERBS)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_command_has_an_example(run: Run, verb: str) -> None:
    said = run(verb, "--help")
    assert said.code == 0
    assert f"  rectitude {verb}" in said.out.partition("Example")[2]


def test_without_a_command_the_help_goes_to_stderr(run: Run) -> None:
    said = run()
    assert (said.code, said.out) == (2, "")
    assert "Commands:" in said.err


def test_the_version_is_the_package_version(run: Run) -> None:
    assert run("--version").out == f"rectitude {rectitude.__version__}\n"


def test_an_unknown_command_is_answered_with_the_nearest(run: Run) -> None:
    said = run("evalute")
    assert said.code == 2
    assert said.err.startswith("error: UnknownName: rectitude has no command 'evalute'.\n")
    assert "did you mean 'evaluate'?" in said.err


def test_an_unknown_global_option_is_answered_with_the_nearest(run: Run) -> None:
    said = run("--verson")
    assert said.code == 2
    assert "did you mean '--version'?" in said.err


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in run("metrics", "nope").err
    assert "Traceback" in run("--debug", "metrics", "nope").err
    monkeypatch.setenv("RECTITUDE_DEBUG", "1")
    assert "Traceback" in run("metrics", "nope").err


def test_an_interruption_exits_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "spell_out", interrupted)
    assert run("metrics").code == 130


def test_an_interruption_inside_a_command_exits_130(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(name: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rectitude.profiles.profile_of", interrupted)
    assert run("metrics").code == 130


def test_an_interruption_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rectitude.profiles.profile_of", interrupted)
    monkeypatch.setattr(app.interruption, "_reported", threading.Event())
    assert run("metrics").err == "interrupted\n"


def test_too_little_memory_is_no_bug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(name: object) -> None:
        raise MemoryError("Unable to allocate 8.00 EiB")

    monkeypatch.setattr("rectitude.profiles.profile_of", fill)
    said = run("metrics")
    assert said.code == 2
    assert "MemoryError: Unable to allocate 8.00 EiB\n  end other programs" in said.err
    assert "bug" not in said.err


@pytest.mark.filterwarnings("default")
def test_a_low_limit_on_memory_is_mentioned_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.resource, "getrlimit", lambda _: (10**9, 10**9))
    said = run("metrics", "mrr")
    assert said.code == 0
    assert said.err.startswith("warning: this process may use 1.0 GB of address space (ulimit -v)")


def test_a_bug_is_reported_as_such(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("rectitude.profiles.profile_of", broken)
    said = run("metrics")
    assert said.code == 2
    assert said.err.startswith("error: ZeroDivisionError: oops\n  this is a bug in rectitude")


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
    """The benchmark measures the time; this checks its cause: NumPy, Polars, rich, pydantic."""
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


def test_the_shell_completes_commands_and_options() -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        done = process(_RECTITUDE_COMPLETE="complete_bash", **words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert completed("rectitude ev") == ["evaluate"]
    assert "--train" in completed("rectitude evaluate --tr")


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_can_print_json(run: Run, verb: str) -> None:
    assert "--json" in run(verb, "--help").out


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RECTITUDE_MEMORY", "nope", "RECTITUDE_MEMORY is 'nope'"),
        ("RECTITUDE_PLUGINS", "OFF", "RECTITUDE_PLUGINS is 'OFF'"),
        ("RECTITUDE_DEBUG", "maybe", "RECTITUDE_DEBUG"),
        ("POLARS_MAX_THREADS", "0", "POLARS_MAX_THREADS is 0"),
    ],
)
def test_a_wrong_setting_in_the_environment_is_refused_by_every_command(
    name: str,
    value: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    assert app.main(["profiles", "show", "ranx"]) == 2
    assert message in capsys.readouterr().err


def test_the_home_of_nobody_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["evaluate", "~nobody-here/lists.csv", "--truth", "truth.csv"]) == 2
    assert "write the whole path" in capsys.readouterr().err


def test_a_message_of_the_system_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["evaluate", "x" * 100_000, "--truth", "truth.csv"]) == 2
    assert len(capsys.readouterr().err) < 1000

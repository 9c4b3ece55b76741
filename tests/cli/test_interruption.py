"""Ctrl-C ends a command within a second, with one line, wherever it is."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for others")
PATIENCE = 30  # seconds; a second on an idle machine. What is interrupted would take minutes.

BEGIN = """
import os, signal, sys, time
sys.argv[1:] = ["evaluate", "lists.csv", "--truth", "truth.csv", "--metrics", "mrr"]
def interrupt():
    print(time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGINT)
"""
AT_IMPORT = """
class Finder:
    def find_spec(name, path, target=None):
        if name == "{module}":
            interrupt()
sys.meta_path.insert(0, Finder)
"""
IN_NATIVE_CODE = """
import hashlib, threading
import rectitude.evaluation.evaluate as evaluation
from rectitude.storage import write_all
from pathlib import Path
def write(path):
    path.write_text("half")
    threading.Timer(0.2, interrupt).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # like a kernel: it notices no signals
evaluation.align_inputs = lambda *_: write_all({Path("out.txt"): write})
"""
IGNORED = """
import rectitude.evaluation.evaluate as evaluation
def keep_on(*_):
    try:
        interrupt()
        time.sleep(600)
    except KeyboardInterrupt:
        interrupt()
        time.sleep(600)
evaluation.align_inputs = keep_on
"""
IN_DESTRUCTOR = """
import rectitude.evaluation.evaluate as evaluation
class Resource:
    def __del__(self):
        interrupt()
def drop(*_):
    Resource()
    time.sleep(600)
evaluation.align_inputs = drop
"""
IN_EXEC = """
import rectitude.evaluation.evaluate as evaluation
evaluation.align_inputs = lambda *_: exec("interrupt()", {"interrupt": interrupt})
"""
END = """
from rectitude.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "moment",
    [
        AT_IMPORT.format(module="typer"),
        AT_IMPORT.format(module="polars"),
        AT_IMPORT.format(module="rectitude.data.formats.separated"),
        IN_NATIVE_CODE,
        IGNORED,
        IN_DESTRUCTOR,
        IN_EXEC,
    ],
    ids=["imports", "heavy imports", "reading", "native code", "stubborn", "destructor", "exec"],
)
def test_ctrl_c_ends_a_command_at_once_with_one_line(moment: str, tmp_path: Path) -> None:
    for name in ("lists.csv", "truth.csv"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + moment + END],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "interrupted"
    assert time.time() - float(done.stdout.split()[0]) < PATIENCE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lists.csv", "truth.csv"]


def test_a_command_in_the_background_goes_on(tmp_path: Path) -> None:
    """A shell lets its background processes ignore interruptions."""
    ignore = 'signal.signal(signal.SIGINT, signal.SIG_IGN)\nsys.argv[1:] = ["--version"]\n'
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + ignore + AT_IMPORT.format(module="typer") + END],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_after_the_last_line_of_a_command_changes_nothing(tmp_path: Path) -> None:
    for name in ("lists.csv", "truth.csv"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    late = "import atexit\natexit.register(interrupt)\n"
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + late + END],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

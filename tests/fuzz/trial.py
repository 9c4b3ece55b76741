"""Run commands one by one, each in a forked process with limits, and judge how they ended.

`python trial.py` reads a command in JSON from each line of its input and answers each. It has
everything imported and nothing used: a fork then costs milliseconds, and Polars has no threads yet.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SECONDS, MEGABYTES, PATIENCE = 10.0, 1000, 3
NET = 6_000_000_000
"""Address space of a trial, so that a bomb cannot take the machine down."""
MESSAGE = 6000
"""Characters that a message may have and still be read."""
_SAID_OTHERWISE = {
    "Traceback (most recent": "a traceback",
    "PanicException": "a panic",
    "panicked at": "a panic",
    "bug in rectitude": "called a bug of rectitude",
    "fault of rectitude": "called a bug of rectitude",
}
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative: a signal), what it took, said and left.

    `seconds` are those that it worked, which do not depend on what else the machine does; `clock`
    are those that passed while it was not waiting for a processor. A command that is still there
    after three times its limit hangs.
    """

    code: int
    clock: float
    seconds: float
    megabytes: float
    out: str
    err: str
    left: list[str] = field(default_factory=list)

    def violations(self, certain: bool, kept: str = "", seconds: float = SECONDS) -> list[str]:
        """What the command must not have done; `kept` is a folder in which a run keeps stages."""
        ends, says = self._endings(certain, seconds), self._sayings()
        return [*ends, *says, *(f"left behind: {name}" for name in self._left_behind(kept)[:3])]

    def _left_behind(self, kept: str) -> list[str]:
        """Temporary files, and after an error all others, unless a run keeps them."""
        here = [name for name in self.left if kept and f"{name}/".startswith(kept)]
        left = [name for name in self.left if self.code == 2 and name not in here]
        return sorted({*left, *filter(_is_temporary, self.left)})

    def _endings(self, certain: bool, seconds: float) -> Iterator[str]:
        hangs = self.clock > PATIENCE * seconds
        if self.seconds > seconds or hangs:
            yield "hangs" if hangs else "slow"
        if self.megabytes > MEGABYTES:
            yield "memory"
        if self.code < 0 and not hangs:
            yield f"ended by signal {-self.code}"
        if self.code not in (0, 1, 2) and self.code >= 0:
            yield f"exit {self.code}"
        if self.code in (0, 1) and certain:
            yield f"accepted (exit {self.code})"

    def _sayings(self) -> Iterator[str]:
        yield from {words for part, words in _SAID_OTHERWISE.items() if part in self.err}
        if self.code == 2 and len(re.findall("^(error: |Usage: )", self.err, re.MULTILINE)) != 1:
            yield "no message, or several"
        if len(self.err) > MESSAGE:
            yield "a message that is too long"
        if _RAW.search(self.out + self.err):
            yield "raw control characters"


def _is_temporary(name: str) -> bool:
    return name.startswith("tmp/") or (Path(name).name[0] == "." and Path(name).name != ".lock")


class Worker:
    """A process that runs commands, with everything imported once."""

    def __init__(self, seconds: float = SECONDS, memory: str = "") -> None:
        source = Path(__file__).resolve().parents[2] / "src"
        environment = {
            **os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "2", "RECTITUDE_KERNELS": "numpy", "COLUMNS": "100",
            "RECTITUDE_MEMORY": memory,
        }  # fmt: skip
        command = [sys.executable, __file__, str(seconds)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(
        self, words: Sequence[str], folder: Path, settings: Mapping[str, str] | None = None
    ) -> Ended:
        """Run a command in a folder, with these settings in its environment."""
        (folder / "tmp").mkdir(exist_ok=True)
        before = _files(folder)
        asked = {"words": list(words), "folder": str(folder), "settings": {**(settings or {})}}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        ended = json.loads(self._process.stdout.readline())
        return Ended(**ended, left=sorted(_files(folder) - before))

    def close(self) -> None:
        """End the process."""
        with self._process:  # closes its pipes and waits
            pass


def _files(folder: Path) -> set[str]:
    """The names of everything below a folder; links are not followed."""
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, folders, names in os.walk(folder)
        for name in (*folders, *names)
    }


def serve(seconds: float) -> None:
    """Answer every line of the input with how its command ended."""
    import rectitude.cli.app
    import rectitude.evaluation.inputs
    from rectitude.cli import main

    _import_all(Path(rectitude.cli.app.__file__).parents[1])
    rectitude.evaluation.inputs.LEAST_MEMORY = 100  # so that small files are cut into parts
    base, environment = _idle_megabytes(), dict(os.environ)
    for line in sys.stdin:
        asked = json.loads(line)
        os.environ |= asked["settings"]
        ended = _fork(main, asked["words"], Path(asked["folder"]), seconds, base)
        os.environ.clear()
        os.environ |= environment
        sys.stdout.write(json.dumps(ended) + "\n")
        sys.stdout.flush()


def _idle_megabytes() -> float:
    """The memory of a fork that does nothing."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.wait4(child, 0)[2].ru_maxrss / 1024


def _import_all(source: Path) -> None:
    import importlib

    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source.parent).with_suffix("").parts)
        if "torch" not in name and "__main__" not in name and "lanes" not in name:
            importlib.import_module(name.removesuffix(".__init__"))
    for name in ("scipy.sparse", "yaml", "jinja2", "pydantic", "zstandard", "rich.console"):
        importlib.import_module(name)


def _fork(main, words: list[str], folder: Path, seconds: float, base: float) -> dict[str, object]:
    out, err = (folder.with_suffix(f".{name}") for name in ("out", "err"))
    child = os.fork()
    if child == 0:
        _become(main, words, folder, out, err)
    code, used, took = _wait(child, PATIENCE * seconds)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    said = [path.read_bytes().decode("utf-8", "backslashreplace")[:100_000] for path in (out, err)]
    out.unlink()
    err.unlink()
    return {
        "code": code, "clock": took, "seconds": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1024 - base, "out": said[0], "err": said[1],
    }  # fmt: skip


def _become(main, words: list[str], folder: Path, out: Path, err: Path) -> None:
    """Turn this fork into the command; it never returns."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (NET, NET))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        os.environ["TMPDIR"] = str(folder / "tmp")
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = main(words)
    except BaseException:  # as the interpreter would print it
        traceback.print_exc()
    with suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _wait(child: int, seconds: float) -> tuple[int, resource.struct_rusage, float]:
    """Wait for a process; kill it and all that it started when its time is over. Return its exit
    code, what it used, and the seconds that it took, without those in which other programs had the
    processors."""
    began, pause, queued = time.perf_counter(), 0.002, 0.0
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        took = time.perf_counter() - began - queued
        if done:
            return os.waitstatus_to_exitcode(status), used, took
        queued = max(queued, _queued(child))
        if took > seconds + 0.5:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
            return os.waitstatus_to_exitcode(status), used, took
        time.sleep(pause)
        pause = min(pause * 1.3, 0.05)


def _queued(process: int) -> float:
    """The seconds that a process waited for a processor: the most of all its threads."""
    with suppress(OSError, IndexError, ValueError):
        stats = Path(f"/proc/{process}/task").glob("*/schedstat")
        return max(int(stat.read_text().split()[1]) for stat in stats) / 1e9
    return 0.0


if __name__ == "__main__":
    serve(float(sys.argv[1]))

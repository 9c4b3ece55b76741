"""Run the code blocks of documents as written, and keep the outputs printed in them true.

    python docs/blocks.py README.md ...            runs them; exits 1 if an output differs
    python docs/blocks.py --write README.md ...    writes the outputs that were found

In a document, ```python blocks are executed in order in one namespace, and the `$ rectitude ...`
lines of ```console blocks are run, in an empty folder. If a document says outside its blocks that
`rectitude sample` writes its files, they are there from the start. A ```text block right after a
```python block is what that block prints; what follows a command in a ```console block is what the
command prints. An output ending in a line `...` is compared up to there. Other blocks are not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rectitude as rt

_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMAND = [sys.executable, "-m", "rectitude"]
_MORE = "...\n"


@dataclass(frozen=True)
class Output:
    """An output printed in a document: where it stands, what stands there, and what was found."""

    start: int
    end: int
    printed: str
    found: str

    @property
    def same(self) -> bool:
        """Whether the document is right."""
        if self.printed.endswith(_MORE):
            return self.found.startswith(self.printed.removesuffix(_MORE))
        return self.found == self.printed


def outputs(text: str, folder: Path) -> Iterator[Output]:
    """Run a document in a folder; every output that it prints, as it should be."""
    if "`rectitude sample`" in _ANY_BLOCK.sub("", text):
        rt.sample(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    before, printed = 0, ""
    for block in _BLOCK.finditer(text):
        kind, body = block[1], block[2]
        if kind == "python":
            printed = _python(body, names)
        elif kind == "text" and printed and not text[before : block.start()].strip():
            yield Output(block.start(2), block.end(2), body, printed)
        elif kind == "console":
            yield from _console(body, block.start(2), folder)
        before = block.end()


def _python(body: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, "block", "exec"), names)  # noqa: S102  (our own documents)
    return printed.getvalue()


def _console(body: str, at: int, folder: Path) -> Iterator[Output]:
    for part in re.finditer(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
        words = shlex.split(part[1].replace("\\\n", " "))
        found = run(words, folder)
        if part[2]:
            yield Output(at + part.start(2), at + part.end(2), part[2], found)


def run(words: list[str], folder: Path) -> str:
    """What a `rectitude` command prints; an error if it fails."""
    if words[0] != "rectitude":
        raise ValueError(f"only rectitude commands are run, not {words[0]!r}")
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    command = [*_COMMAND, *words[1:]]
    done = subprocess.run(  # noqa: S603  (our own documents)
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(words)} exits {done.returncode}: {done.stderr}")
    return done.stdout


def corrected(text: str, found: list[Output]) -> str:
    """The document with the outputs that were found."""
    for output in sorted(found, key=lambda one: one.start, reverse=True):
        if not output.same:
            lines = output.found.splitlines(keepends=True)
            if output.printed.endswith(_MORE):
                lines = [*lines[: output.printed.count("\n") - 1], _MORE]
            text = text[: output.start] + "".join(lines) + text[output.end :]
    return text


def main(arguments: list[str]) -> int:
    """Run documents; report or write."""
    wrong = 0
    for name in [argument for argument in arguments if argument != "--write"]:
        path, start = Path(name).resolve(), Path.cwd()
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                found = list(outputs(text, Path(folder)))
            finally:
                os.chdir(start)
        if "--write" in arguments:
            path.write_text(corrected(text, found), "utf-8")
            continue
        for output in found:
            if not output.same:
                wrong += 1
                sys.stderr.write(f"{name} prints\n{output.printed}but it is\n{output.found}\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

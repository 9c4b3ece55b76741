"""What happens in a run, told as it happens: to a log in its folder, and to whoever watches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from rectitude.errors import UnwritableFile

Event = Mapping[str, Any]
"""`event` is what happened (started, progress, done, cached, failed, left out, note), `stage` what
it happened to."""
Watcher = Callable[[Event], None]
Report = Callable[[int, int], None]
"""Is told how much is done, and how much there is in all."""


@dataclass(frozen=True)
class Watch:
    """Those who are told what happens."""

    watchers: tuple[Watcher, ...] = ()

    def tell(self, event: str, stage: str, **facts: Any) -> None:
        """Say that something happened."""
        told = {"event": event, "stage": stage, **facts}
        for watcher in self.watchers:
            watcher(told)

    @contextmanager
    def working(self, stage: str, **facts: Any) -> Iterator[Report]:
        """Say when something starts, how far it is, and when and how it ends."""
        self.tell("started", stage, **facts)
        start = time.monotonic()
        try:
            yield partial(self._progress, stage)
        except BaseException as error:
            kind = type(error).__name__
            seconds = round(time.monotonic() - start, 3)
            self.tell("failed", stage, seconds=seconds, kind=kind, message=str(error))
            raise
        self.tell("done", stage, seconds=round(time.monotonic() - start, 3))

    def _progress(self, stage: str, done: int, of: int) -> None:
        self.tell("progress", stage, done=done, of=of)


@contextmanager
def logged(path: Path) -> Iterator[Watcher]:
    """Whoever writes events to a file, a line of JSON each, but for progress."""
    with _writing(path):
        file = path.open("ab", buffering=0)  # nothing is left to be written when it is closed
    with file:
        yield partial(_write, file, path)


def _write(file: FileIO, path: Path, event: Event) -> None:
    if event["event"] != "progress":
        with _writing(path):
            file.write(f"{line(event)}\n".encode())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnwritableFile(
            f"{path} cannot be written: {error.strerror or error}.",
            "a folder that may be written to, with space left.",
        ) from error


def line(event: Event) -> str:
    """An event as a line of JSON, with the time."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, **event}, default=str)

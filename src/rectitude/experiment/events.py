"""Events of a run, sent as they happen to a log in its folder and to other watchers."""

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

from rectitude.storage import explain_unwritable

Event = Mapping[str, Any]
"""`event` is the kind of event (started, progress, done, cached, failed, left out, note), `stage`
the stage that it belongs to."""
Watcher = Callable[[Event], None]
Report = Callable[[int, int], None]
"""Reports progress: called with the number of steps done and the total."""


@dataclass(frozen=True)
class Watch:
    """Sends events to watchers."""

    watchers: tuple[Watcher, ...] = ()

    def tell(self, event: str, stage: str, **facts: Any) -> None:
        """Send an event to all watchers."""
        message = {"event": event, "stage": stage, **facts}
        for watcher in self.watchers:
            watcher(message)

    @contextmanager
    def working(self, stage: str, **facts: Any) -> Iterator[Report]:
        """Send events when a stage starts, makes progress, and ends or fails."""
        self.tell("started", stage, **facts)
        start = time.monotonic()
        try:
            yield partial(self._progress, stage)
        except GeneratorExit:  # interrupted before the stage began: the log may be closed by now
            raise
        except BaseException as error:
            kind = type(error).__name__
            seconds = round(time.monotonic() - start, 3)
            self.tell("failed", stage, seconds=seconds, kind=kind, message=str(error))
            raise
        self.tell("done", stage, seconds=round(time.monotonic() - start, 3))

    def _progress(self, stage: str, done: int, of: int) -> None:
        self.tell("progress", stage, done=done, of=of)


@contextmanager
def log_events(path: Path) -> Iterator[Watcher]:
    """Yield a watcher that appends events to a file as lines of JSON, except for progress."""
    with explain_unwritable(path):
        file = path.open("ab", buffering=0)  # unbuffered: closing never has to write
    with file:
        yield partial(_write_event, file, path)


def _write_event(file: FileIO, path: Path, event: Event) -> None:
    if event["event"] != "progress":
        with explain_unwritable(path):
            file.write(f"{line(event)}\n".encode())


def line(event: Event) -> str:
    """Format an event as a line of JSON with the current time."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, **event}, default=str)

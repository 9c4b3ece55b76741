"""Watch for forks: a fork copies no threads, so Polars would wait in the child for ever.

Polars starts its threads when they are first needed. A process forked before that works; in one
forked later, `parallel.require_polars` raises an error. `import rectitude` starts the watch.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_TASKS = Path("/proc/self/task")
_THREAD = re.compile(r"polars-\d+")
"""the name of a thread that computes; the others, such as polars-ooc-cleaner, are not waited for"""


class PolarsThreads:
    """What is known of the threads of Polars in this process."""

    used = False
    """whether rectitude has used them; decides on systems that do not name the threads"""
    at_fork = False
    """whether they existed when this process was last forked"""
    lost = False
    """whether they existed in a process that this one was forked from"""


def _have_threads() -> bool:
    if not _TASKS.is_dir():
        return PolarsThreads.used
    names = []
    for task in _TASKS.iterdir():
        with suppress(OSError):  # this thread has just ended
            names.append((task / "comm").read_text("utf-8", "replace").strip())
    return any(map(_THREAD.fullmatch, names))


def _before_fork() -> None:
    PolarsThreads.at_fork = _have_threads()


def _after_fork() -> None:
    PolarsThreads.lost |= PolarsThreads.at_fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)

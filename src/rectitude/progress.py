"""Progress bars: on the stderr of a terminal, in the output of a notebook cell, or not at all.

Programs whose output goes to a file or a pipe show none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module

from rectitude.errors import BadArgument, make_visible

Report = Callable[[int, int], None]
"""Called with the number of steps done and the total."""
PAUSE = 0.1
"""Seconds between two updates of a notebook cell."""


@contextmanager
def report_to(progress: object) -> Iterator[Report]:
    """Provide the function that reports progress: the given one, or a bar for True."""
    if progress is True:
        with show_progress("evaluating") as report:
            yield report or (lambda *_: None)
    elif callable(progress):
        yield progress
    else:
        raise BadArgument(
            f"progress is {progress!r}.",
            "True for a progress bar, or a function that is called with the rows done and the "
            "total.",
        )


@contextmanager
def show_progress(label: str) -> Iterator[Report | None]:
    """Provide a function that shows the steps done of all; None if nobody would see it.

    In a terminal the bar goes to stderr, because stdout may be piped. It disappears at the end.
    """
    show = find_cell()
    if show is not None:
        try:
            yield limit_rate(lambda done, of: show(bar_html(label, done, of)))
        finally:
            show("")
    elif sys.stderr.isatty():
        yield from _show_bar(label)
    else:
        yield None


def _show_bar(label: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    name = TextColumn("{task.description}")
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(make_visible(label)), total=None)
        yield lambda done, rows: bar.update(task, completed=done, total=rows)


def find_cell() -> Callable[[str], None] | None:
    """Return a function that replaces an output of the running notebook cell; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    display = import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    return lambda html: handle.update(display.HTML(html))


def bar_html(label: str, done: int, of: int) -> str:
    """Return a bar for a notebook, in the colours of the page."""
    bar = f'<progress value="{done}" max="{of}"></progress>'
    return f"<div>{escape(label)} {bar} {done:,} of {of:,}</div>"


def limit_rate(report: Report) -> Report:
    """Return a function that reports the end, and the steps before it not too often."""
    last = -PAUSE

    def report_seldom(done: int, of: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= of or now - last >= PAUSE:
            last = now
            report(done, of)

    return report_seldom

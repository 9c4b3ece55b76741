"""Ctrl-C: one line, exit code 130, and the end within a second.

Python notices a signal only between its own instructions. While Polars sorts or a kernel runs, that
can take long. So a thread waits for the signal, too, and ends the process if nothing else does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

INTERRUPTED = 130
_GRACE_SECONDS = 0.7
_SHOW_CURSOR = "\x1b[?25h"
"""what a terminal needs if a progress bar was shown"""
_reported = threading.Event()


def end_soon() -> None:
    """From now on, let the first Ctrl-C end this process; further ones are ignored.

    Does nothing if interruptions are ignored, as in the background of a shell, or handled already.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait_for_signal, args=(reading,), daemon=True).start()
    signal.signal(signal.SIGINT, _interrupt)


def ignore_from_now_on() -> None:
    """From now on, ignore Ctrl-C: the command is done, and Python only has to end."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def report() -> int:
    """Say that the command was interrupted, once, and return the exit code."""
    exec("")  # noqa: S102  an interrupted `exec` (of dataclasses) makes Python end by the signal
    if not _reported.is_set():
        _reported.set()
        sys.stderr.write(f"{_SHOW_CURSOR if sys.stderr.isatty() else ''}interrupted\n")
        sys.stderr.flush()
    return INTERRUPTED


def _interrupt(*_: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.unraisablehook = _ignore  # an interrupt inside a destructor is not worth a traceback
    raise KeyboardInterrupt


def _ignore(_: Any) -> None:
    pass


def _wait_for_signal(reading: int) -> None:
    while os.read(reading, 1) != bytes([signal.SIGINT]):
        pass  # another signal
    threading.Event().wait(_GRACE_SECONDS)  # the process usually ends meanwhile
    storage = sys.modules.get("rectitude.storage")
    if storage is not None:
        storage.remove_unfinished()
    report()
    os._exit(INTERRUPTED)

"""Work on several threads: blocks of an array, tasks, and what is computed once for all of them.

Kernels, NumPy and Polars let other threads run, so plain threads share the work. Linear algebra
runs on one thread where its last bits would show how many there are (`one_thread`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from importlib import import_module
from threading import Event, Lock, local
from typing import Any, TypeVar

import numpy as np

Task = Callable[[], object]
Made = TypeVar("Made")


def thread_count() -> int:
    """How many threads to use: `RECTITUDE_THREADS`, or the processors this process may use."""
    wanted = os.environ.get("RECTITUDE_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_blocks(work: Callable[[int, int], None], size: int, least: int = 4096) -> None:
    """Call `work(first, last)` on blocks that cover `range(size)`, on several threads if it
    pays. Threads that wait for something take blocks of others, see `Once`; a block is to ask for
    nothing that is computed once, and to call for no other blocks."""
    step = max(least, -(-size // (8 * thread_count())))
    tasks = [partial(work, first, min(first + step, size)) for first in range(0, size, step)]
    _share(tasks, thread_count(), _BLOCKS)


def together(tasks: Sequence[Task], pays: bool = True) -> None:
    """Run tasks, on several threads if it pays. Of several that fail, the first one is raised.

    The calling thread takes its share, and waits for no thread that has not begun: tasks may
    themselves call this.
    """
    _share(tasks, thread_count() if pays else 1, [])


def _share(tasks: Sequence[Task], threads: int, among: list[_Tasks]) -> None:
    """Run tasks on so many threads, to be found among others meanwhile."""
    if threads == 1 or len(tasks) < 2:
        for task in tasks:
            task()
        return
    shared = _Tasks(tasks)
    try:
        among.append(shared)
        for _ in tasks[1:threads]:
            _pool(threads - 1).submit(shared.work)
        shared.work()
    finally:
        try:
            shared.end()
        finally:
            among.remove(shared)
    if shared.failed:
        raise shared.failed[min(shared.failed)]


class _Tasks:
    """Tasks that wait for a thread, and those that threads are at."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.waiting = deque(enumerate(tasks))
        self.running = 0
        self.lock, self.ended = Lock(), Event()
        self.failed: dict[int, BaseException] = {}

    def work(self) -> None:
        """Run waiting tasks until none is left."""
        while self.take():
            pass

    def take(self) -> bool:
        """Run one task, and keep what it raises; whether there was one."""
        with self.lock:
            if not self.waiting:
                return False
            place, task = self.waiting.popleft()
            self.running += 1
        try:
            task()
        except BaseException as error:  # whoever asked for the task must know of interruptions, too
            self.failed[place] = error
            if not isinstance(error, Exception):
                raise
        finally:
            with self.lock:
                self.running -= 1
                if not (self.running or self.waiting):
                    self.ended.set()
        return True

    def end(self) -> None:
        """Begin no other task, as after an interruption, and wait for those that threads are at."""
        with self.lock:
            self.waiting.clear()
            if not self.running:
                self.ended.set()
        self.ended.wait()


_BLOCKS: list[_Tasks] = []
"""blocks that are being worked on, the newest last"""
_thread = local()
_PATIENCE = 0.001  # seconds


class Once:
    """What threads share: whoever asks first computes it, and others help, or wait.

    Waiting threads take blocks of whatever others are at. While at such a block they wait for
    nothing, but compute for themselves: two threads that wait for each other would wait forever.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: dict[Any, Any] = {}
        self.begun: dict[Hashable, Event] = {}

    def __call__(self, key: Hashable, compute: Callable[[], Made]) -> Made:
        """The value of a key, computed if nobody has."""
        while True:
            with self.lock:
                if key in self.made:
                    return self.made[key]  # type: ignore[no-any-return]
                begun = self.begun.get(key)
                if begun is None:
                    self.begun[key] = Event()
            if begun is None:
                return self._make(key, compute)
            if getattr(_thread, "helps", False):
                return compute()
            _help_until(begun)

    def clear(self) -> None:
        """Forget what is computed."""
        with self.lock:
            self.made.clear()

    def _make(self, key: Hashable, compute: Callable[[], Made]) -> Made:
        try:
            value = compute()
            with self.lock:
                self.made[key] = value
        finally:
            with self.lock:
                begun = self.begun.pop(key)
            begun.set()  # others try themselves where this failed
        return value


def _help_until(event: Event) -> None:
    """Wait for something, and take blocks of others meanwhile."""
    _thread.helps = True
    try:
        while not event.is_set():
            if not any(tasks.take() for tasks in reversed(_BLOCKS)):
                event.wait(_PATIENCE)
    finally:
        _thread.helps = False


_KEPT = 31 << 20  # bytes; of arrays from 32 MB on the allocator learns nothing


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: starting them anew takes longer than many a task.

    Where there is work for threads there are many arrays of some 100 KB for a moment. The GNU
    allocator hands such memory back to the system each time, and gets it again page by page, until
    a program has freed one larger array; this is that array, whose pages are never touched.
    """
    np.empty(_KEPT, np.uint8)
    return ThreadPoolExecutor(threads, thread_name_prefix="rectitude")


def _alone() -> None:
    """Threads do not live on in a fork, nor what they were at."""
    _pool.cache_clear()
    _BLOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)


_PACKAGE = "threadpoolctl"


def one_thread() -> AbstractContextManager[Any]:
    """While this lasts, linear algebra runs on one thread, if the package is there that can say
    so."""
    try:
        package = import_module(_PACKAGE)
    except ModuleNotFoundError:
        return nullcontext()
    import_module("scipy.linalg")  # only libraries that are loaded can be limited
    limits: AbstractContextManager[Any] = package.threadpool_limits(1)
    return limits


def note() -> dict[str, str]:
    """What is to be known about the bits of a model that was solved for."""
    try:
        import_module(_PACKAGE)
    except ModuleNotFoundError:
        words = (
            "on as many threads as it likes: with another number of them the last bits of scores"
            f" may differ; pip install {_PACKAGE} holds it to one"
        )
        return {"linear algebra": words}
    return {}

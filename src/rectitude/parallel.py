"""Work on several threads: blocks of an array, tasks, and values that are computed only once.

Kernels, NumPy and Polars release the GIL, so plain threads can share the work. The last bits of
linear algebra can depend on the number of threads; use `one_thread` if that matters.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from importlib import import_module
from threading import Event, get_ident, local
from typing import Any, TypeVar

import numpy as np

from rectitude.errors import BadArgument, ForkedProcess
from rectitude.forks import PolarsThreads

Task = Callable[[], object]
Item = TypeVar("Item")
Made = TypeVar("Made")


def thread_count() -> int:
    """Return the number of threads: `RECTITUDE_THREADS`, or the CPUs available to this process."""
    setting = os.environ.get("RECTITUDE_THREADS", "")
    if setting.isascii() and setting.isdigit() and len(setting) < 5 and int(setting) > 0:
        return int(setting)
    if setting:
        raise BadArgument(
            f"RECTITUDE_THREADS is {setting!r}.",
            "a number of threads from 1 to 9999.",
            "unset it, to use all processors of this process.",
        )
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_blocks(work: Callable[[int, int], None], size: int, least: int = 4096) -> None:
    """Call `work(first, last)` on blocks that cover `range(size)`, on several threads if it pays.

    Threads that are waiting for a value help with the blocks of other threads, see `Once`. A block
    must therefore neither use `Once` nor start other blocks.
    """
    step = max(least, -(-size // (8 * thread_count())))
    tasks = [partial(work, first, min(first + step, size)) for first in range(0, size, step)]
    _run_shared(tasks, thread_count(), _BLOCKS)


def run_tasks(tasks: Sequence[Task], pays: bool = True, most: int | None = None) -> None:
    """Run tasks, on several threads if it pays, and on `most` of them at most. If several fail,
    raise the error of the first one.

    The calling thread works on the tasks, too, and does not wait for threads that have not started.
    Tasks may therefore call this function themselves.
    """
    threads = min(thread_count(), most or thread_count()) if pays else 1
    _run_shared(tasks, threads, [])


def _run_shared(tasks: Sequence[Task], threads: int, shared_tasks: list[_Tasks]) -> None:
    """Run tasks on up to `threads` threads, listed in `shared_tasks` so that others can help."""
    if threads == 1 or len(tasks) < 2:
        for task in tasks:
            task()
        return
    pending = _Tasks(tasks)
    try:
        try:
            shared_tasks.append(pending)
            for _ in tasks[1:threads]:
                _pool(threads - 1).submit(pending.work)
            pending.work()
        finally:
            pending.end()
    finally:  # again, because an interrupt may have come before or during the first time
        pending.end()
        with suppress(ValueError):  # an interrupt came before it was listed
            shared_tasks.remove(pending)
    if pending.failed:
        raise pending.failed[min(pending.failed)]


def load_ahead(load: Callable[[Item], Made], items: Sequence[Item]) -> Generator[Made]:
    """Yield what `load` returns for each item, in order. While the caller uses one, a thread of its
    own loads the next. Close the iterator to wait for that thread."""
    if thread_count() == 1 or not items:
        yield from map(load, items)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="rectitude-next") as pool:
        waiting = pool.submit(load, items[0])
        for following in items[1:]:
            loaded = waiting.result()
            waiting = pool.submit(load, following)
            yield loaded
            del loaded
        yield waiting.result()


_UNKNOWN = -1
"""the number of a task between the decision to take one and taking it"""


class _Tasks:
    """Tasks that wait for a thread, and which thread runs which.

    An interrupt can fall between any two lines, but only in the main thread. So a thread states
    its claim before it takes a task, every step can be repeated, and no lock can stay locked. A
    task that an interrupt may have cut short has failed: its owner must not take it for done.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.waiting = deque(enumerate(tasks))
        self.running: dict[int, int] = {}
        """thread -> the number of its task"""
        self.failed: dict[int, BaseException] = {}
        self.ended = Event()

    def work(self) -> None:
        """Run waiting tasks until none is left."""
        while self.take():
            pass

    def take(self) -> bool:
        """Run one waiting task and record its error, if any; return False if there was no task."""
        try:
            return self._take()
        except BaseException as error:  # an interrupt between the lines of `_take`
            self._release(error)
            raise

    def _take(self) -> bool:
        thread = get_ident()
        self.running[thread] = _UNKNOWN
        try:
            number, task = self.waiting.popleft()
        except IndexError:
            self._release()
            return False
        self.running[thread] = number
        try:
            task()
        except Exception as error:
            self._release(error)
        else:
            self._release()
        return True

    def _release(self, error: BaseException | None = None) -> None:
        """Give up the claim of this thread. If it still had one, an error belongs to its task."""
        thread = get_ident()
        if error is not None and thread in self.running:
            self.failed[self.running[thread]] = error
        self.running.pop(thread, None)
        if not (self.running or self.waiting):
            self.ended.set()

    def end(self) -> None:
        """Start no more tasks, and wait for those that other threads are running."""
        self.waiting.clear()
        self.running.pop(get_ident(), None)
        while self.running:
            self.ended.wait(_PAUSE_SECONDS)


_PAUSE_SECONDS = 0.05
_BLOCKS: list[_Tasks] = []
"""Blocks that threads are working on, the newest last."""
_thread = local()
_WAIT_SECONDS = 0.001
_NOTHING = object()


class Once:
    """A cache that threads share: the first thread to need a value computes it; the others wait.

    Waiting threads help with the blocks that other threads are working on. A thread that helps
    never waits; it computes the value itself instead. Otherwise two threads could wait for each
    other forever.
    """

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.started: dict[Hashable, Event] = {}

    def __call__(self, key: Hashable, compute: Callable[[], Made]) -> Made:
        """Return the value of a key; compute it if no thread has done so."""
        while True:
            value = self.made.get(key, _NOTHING)
            if value is not _NOTHING:
                return value  # type: ignore[no-any-return]
            mine = Event()
            try:
                try:
                    started = self.started.setdefault(key, mine)
                    if started is mine and key not in self.made:
                        self.made[key] = compute()
                finally:  # if this failed, the waiting threads compute the value themselves
                    self._finish(key, mine)
            finally:  # again, because an interrupt may have come before or during the first time
                self._finish(key, mine)
            if started is not mine:
                if getattr(_thread, "helps", False):
                    return compute()
                _help_until(started)

    def _finish(self, key: Hashable, mine: Event) -> None:
        if self.started.get(key) is mine:
            del self.started[key]
        mine.set()

    def clear(self) -> None:
        """Forget all values."""
        self.made.clear()


def _help_until(event: Event) -> None:
    """Wait for an event, and help with the blocks of other threads meanwhile."""
    try:
        _thread.helps = True
        while not event.is_set():
            if not any(tasks.take() for tasks in reversed(_BLOCKS)):
                event.wait(_WAIT_SECONDS)
    finally:
        _thread.helps = False


_ARRAY_BYTES = 31 << 20  # bytes; the allocator ignores arrays of 32 MB and more


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads that stay alive: starting threads takes longer than many tasks.

    Work on threads allocates many short-lived arrays of about 100 KB. The GNU allocator returns
    such memory to the system each time and gets it back page by page, until the program has freed
    one larger array. The array below is allocated and freed for this reason alone; its pages are
    never touched.
    """
    np.empty(_ARRAY_BYTES, np.uint8)
    return ThreadPoolExecutor(threads, thread_name_prefix="rectitude")


def _reset_after_fork() -> None:
    """Forget threads and blocks after a fork: they do not exist in the child process."""
    _pool.cache_clear()
    _BLOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def require_polars() -> None:
    """Raise an error if Polars lost its threads in a fork, or may reserve too little memory for
    them; call this before Polars needs them.

    Tables need them, and so do ids. Dense scores with a matrix as truth do not.
    """
    if PolarsThreads.lost:
        raise ForkedProcess(
            f"process {os.getpid()} was forked after Polars had started its threads. The fork has "
            "none of them, so Polars would wait for ever.",
            "a process that was spawned, or forked before Polars was used.",
            "use multiprocessing.get_context('spawn') or 'forkserver'; for a DataLoader "
            "multiprocessing_context='spawn', or evaluate in the main process.",
        )
    if not PolarsThreads.used and _is_limited():
        from rectitude.memory import require_address_space  # noqa: PLC0415  (few processes are)

        require_address_space()
    PolarsThreads.used = True


def _is_limited() -> bool:
    """Whether this process has a limit on its address space."""
    if sys.platform == "win32":
        return False
    import resource  # noqa: PLC0415  (Windows has none)

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


_PACKAGE = "threadpoolctl"


def one_thread() -> AbstractContextManager[Any]:
    """Run linear algebra on one thread inside this block, if threadpoolctl is installed."""
    try:
        package = import_module(_PACKAGE)
    except ModuleNotFoundError:
        return nullcontext()
    import_module("scipy.linalg")  # only libraries that are already loaded can be limited
    limits: AbstractContextManager[Any] = package.threadpool_limits(1)
    return limits


def note() -> dict[str, str]:
    """Return a note for the manifest if the number of threads may change the bits of a model."""
    try:
        import_module(_PACKAGE)
    except ModuleNotFoundError:
        words = (
            "on any number of threads: the last bits of scores may depend on that number; "
            f"pip install {_PACKAGE} to limit it to one"
        )
        return {"linear algebra": words}
    return {}

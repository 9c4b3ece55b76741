"""Tasks on several threads: all are run, the first failure is raised, and they may nest."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from rectitude.errors import BadArgument
from rectitude.parallel import Once, in_blocks, load_ahead, run_tasks, thread_count


@pytest.fixture(params=["1", "2", "5"], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with any number of threads."""
    monkeypatch.setenv("RECTITUDE_THREADS", request.param)


def test_every_task_is_run_once() -> None:
    done: list[int] = []
    run_tasks([partial(done.append, n) for n in range(100)])
    assert sorted(done) == list(range(100))


def test_tasks_that_start_tasks_finish() -> None:
    done: list[int] = []
    inner = [partial(done.append, n) for n in range(20)]
    run_tasks([partial(run_tasks, inner) for _ in range(20)])
    assert len(done) == 400


def test_the_first_failing_task_is_the_one_raised() -> None:
    def fail(n: int) -> None:
        if n in (3, 7, 40):
            raise ValueError(f"task {n}")

    for _ in range(20):
        with pytest.raises(ValueError, match="task 3"):
            run_tasks([partial(fail, n) for n in range(50)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_starts_its_own_threads() -> None:
    run_tasks([threading.Event for _ in range(10)])
    child = os.fork()
    if child == 0:
        done: list[int] = []
        run_tasks([partial(done.append, n) for n in range(100)])
        os._exit(0 if len(done) == 100 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_shared_value_is_computed_once() -> None:
    once, made, found = Once(), list[int](), list[int]()

    def compute() -> int:
        made.append(1)
        time.sleep(0.01)
        return 7

    run_tasks([lambda: found.append(once("key", compute)) for _ in range(20)])
    assert (len(made), found) == (1, [7] * 20)


def test_waiting_threads_help_with_the_blocks_of_others() -> None:
    once, done, lock = Once(), list[int](), threading.Lock()

    def work(first: int, last: int) -> None:
        time.sleep(0.001)
        with lock:
            done.extend(range(first, last))

    def compute() -> int:
        in_blocks(work, 64, 1)
        return len(done)

    run_tasks([partial(once, "key", compute) for _ in range(10)])
    assert sorted(done) == list(range(64))
    assert once("key", compute) == 64


def test_if_a_computation_fails_the_next_thread_tries() -> None:
    once, tried = Once(), list[int]()

    def compute() -> int:
        tried.append(1)
        if len(tried) == 1:
            raise ValueError("the first")
        return 5

    with pytest.raises(ValueError, match="the first"):
        once("key", compute)
    assert once("key", compute) == 5
    once.clear()
    assert (once("key", compute), len(tried)) == (5, 3)


def test_computations_that_need_others_finish() -> None:
    once, done = Once(), list[int]()

    def deep(key: int) -> int:
        in_blocks(lambda first, last: done.extend(range(first, last)), 8, 1)
        return 1 + (once(key - 1, partial(deep, key - 1)) if key else 0)

    found: list[int] = []
    run_tasks([lambda n=n: found.append(once(n % 5, partial(deep, n % 5))) for n in range(30)])
    assert sorted(found) == sorted(1 + n % 5 for n in range(30))
    assert len(done) == 5 * 8


def test_an_interruption_of_a_helping_thread_reaches_the_caller() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([stop, *[threading.Event] * 10])


INTERRUPTS = '''
import sys, threading, time
from functools import partial
from rectitude import parallel
from rectitude.parallel import Once, in_blocks, run_tasks

class Interrupts:
    """Raises KeyboardInterrupt before the line of `parallel` with a number, in the main thread."""
    def __init__(self, number):
        self.left = number
    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != parallel.__file__:
            return None
        if event == "line":
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
        return self

def share(done):
    """Threads that wait for a value, and help with the blocks that it is computed in."""
    once = Once()
    def compute():
        parts = set()
        in_blocks(lambda first, last: parts.update(range(first, last)), 12, 1)
        return len(parts)
    tasks = [partial(once, "key", compute) for _ in range(4)]
    run_tasks([lambda task=task: done.append(task()) for task in tasks])

def help_another(done):
    """The main thread helps a thread that must not take an interrupted block for done."""
    once, started, finished = Once(), threading.Event(), []
    def compute():
        parts = set()
        def block(first, last):
            started.set()
            parts.update(range(first, last))
            threading.Event().wait(0.0005)
        in_blocks(block, 12, 1)
        return len(parts)
    def own():
        try:
            finished.append(once("key", compute))
        except KeyboardInterrupt:
            finished.append(12)
        started.set()
    thread = threading.Thread(target=own)
    thread.start()
    started.wait()
    try:
        done.append(once("key", compute))
    finally:
        thread.join(20)
        assert finished == [12], finished

for scenario in (share, help_another):
    number = interrupted = ended = 0
    while ended < 40:  # where threads are slow, a single run may have fewer lines than others
        number, done = number + 1, []
        interrupts = Interrupts(number)
        try:
            sys.settrace(interrupts)
            try:
                scenario(done)
            finally:
                sys.settrace(None)
        except KeyboardInterrupt:
            interrupted += 1
        else:
            assert set(done) == {12}, done
        again = []
        run_tasks([partial(again.append, n) for n in range(20)])
        assert sorted(again) == list(range(20))
        for _ in range(2000):  # a late worker may look for a task and find none
            if not any(tasks.waiting or tasks.running for tasks in parallel._BLOCKS):
                break
            time.sleep(0.01)
        else:
            raise SystemExit("a task is lost")
        ended = ended + 1 if interrupts.left > 0 else 0
    print(scenario.__name__, number, interrupted)
'''


def test_an_interrupt_at_any_line_loses_no_task_and_locks_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTS],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if os.environ["RECTITUDE_THREADS"] != "1":
        assert [int(line.split()[2]) > 50 for line in done.stdout.splitlines()] == [True, True]


@pytest.mark.parametrize("setting", ["abc", "0", "-2", "²", "1.5", "99999"])
def test_a_number_of_threads_that_is_none_is_an_error(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECTITUDE_THREADS", setting)
    with pytest.raises(BadArgument, match=f"RECTITUDE_THREADS is '{setting}'"):
        thread_count()


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_is_loaded_ahead_comes_in_order(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECTITUDE_THREADS", threads)
    loaded: list[int] = []

    def load(item: int) -> int:
        if item == 5:
            raise ValueError("five")
        loaded.append(item)
        return 10 * item

    assert [*load_ahead(load, range(4))] == [0, 10, 20, 30]
    loaded.clear()
    found = load_ahead(load, range(9))
    assert next(found) == 0
    found.close()
    assert loaded == ([0] if threads == "1" else [0, 1])
    with pytest.raises(ValueError, match="five"):
        [*load_ahead(load, range(9))]

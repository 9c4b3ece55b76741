"""Tasks on several threads: all are run, the first failure is told, and they may nest."""

from __future__ import annotations

import os
import threading
import time
from functools import partial

import pytest

from rectitude.parallel import Once, in_blocks, together


@pytest.fixture(params=["1", "2", "5"], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads there are."""
    monkeypatch.setenv("RECTITUDE_THREADS", request.param)


def test_every_task_is_run_once() -> None:
    done: list[int] = []
    together([partial(done.append, n) for n in range(100)])
    assert sorted(done) == list(range(100))


def test_tasks_that_call_for_tasks_end() -> None:
    done: list[int] = []
    inner = [partial(done.append, n) for n in range(20)]
    together([partial(together, inner) for _ in range(20)])
    assert len(done) == 400


def test_the_first_failing_task_is_the_one_raised() -> None:
    def fail(n: int) -> None:
        if n in (3, 7, 40):
            raise ValueError(f"task {n}")

    for _ in range(20):
        with pytest.raises(ValueError, match="task 3"):
            together([partial(fail, n) for n in range(50)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    together([threading.Event for _ in range(10)])
    child = os.fork()
    if child == 0:
        done: list[int] = []
        together([partial(done.append, n) for n in range(100)])
        os._exit(0 if len(done) == 100 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_threads_share_is_computed_once() -> None:
    once, made, found = Once(), list[int](), list[int]()

    def compute() -> int:
        made.append(1)
        time.sleep(0.01)
        return 7

    together([lambda: found.append(once("key", compute)) for _ in range(20)])
    assert (len(made), found) == (1, [7] * 20)


def test_threads_that_wait_take_blocks_of_others() -> None:
    once, done, lock = Once(), list[int](), threading.Lock()

    def work(first: int, last: int) -> None:
        time.sleep(0.001)
        with lock:
            done.extend(range(first, last))

    def compute() -> int:
        in_blocks(work, 64, 1)
        return len(done)

    together([partial(once, "key", compute) for _ in range(10)])
    assert sorted(done) == list(range(64))
    assert once("key", compute) == 64


def test_where_a_computation_fails_the_next_one_tries() -> None:
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


def test_computations_that_need_others_end() -> None:
    once, done = Once(), list[int]()

    def deep(key: int) -> int:
        in_blocks(lambda first, last: done.extend(range(first, last)), 8, 1)
        return 1 + (once(key - 1, partial(deep, key - 1)) if key else 0)

    found: list[int] = []
    together([lambda n=n: found.append(once(n % 5, partial(deep, n % 5))) for n in range(30)])
    assert sorted(found) == sorted(1 + n % 5 for n in range(30))
    assert len(done) == 5 * 8


def test_an_interruption_of_whoever_helps_is_told_to_who_asked() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together([stop, *[threading.Event] * 10])

"""Tasks on several threads: all are run, the first failure is told, and they may nest."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from rectitude.threads import together


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

"""Forks: what needs the threads of Polars says so at once, everything else works."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork"
)
PATIENCE = 120  # seconds; a hang lasts for ever, and a loaded machine is slow

BEGIN = """
import json, multiprocessing, os, sys, tempfile, warnings
import numpy as np, polars as pl, scipy.sparse as sp
import rectitude as rt
warnings.simplefilter("ignore")
fork = multiprocessing.get_context("fork")
scores = np.random.default_rng(0).random((4, 9))
matrix = sp.csr_matrix(np.eye(4, 9))
lists, wanted = {"ann": ["tea", "rye"]}, {"ann": ["rye"]}
def evaluate(road):
    try:
        return roads[road]()
    except rt.RectitudeError as error:
        return f"{type(error).__name__}: {error}"
"""
ROADS = """
log = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 3], "timestamp": [1, 2, 3, 1, 2, 3]}
)
split = rt.split(log, "leave_last")
evaluation = rt.evaluate(lists, wanted, "mrr")
folder = tempfile.mkdtemp()
def stream():
    evaluator = rt.Evaluator("mrr")
    evaluator.update(rt.Scores(scores), matrix)
    return evaluator.compute()["mrr"]
roads = {
    "lists": lambda: rt.evaluate(lists, wanted, "mrr")["mrr"],
    "scores, truth by id": lambda: rt.evaluate(rt.Scores(scores), {0: [1]}, "mrr")["mrr"],
    "scores with names": lambda: rt.evaluate(
        rt.Scores(scores, users=list("abcd"), items=list("ABCDEFGHI")), matrix, "mrr"
    )["mrr"],
    "candidates": lambda: rt.evaluate(scores, matrix, "mrr", candidates=matrix)["mrr"],
    "log": lambda: str(rt.split(log, "leave_last")),
    "split": lambda: str(rt.candidates(split, "full")),
    "comparison": lambda: str(rt.compare({"a": evaluation, "b": evaluation})),
    "saving": lambda: evaluation.save(folder + "/evaluation.zip"),
    "scores": lambda: rt.evaluate(scores, matrix, "mrr", train=matrix[::-1])["mrr"],
    "logits": lambda: rt.evaluate(rt.Logits(scores), np.arange(4), "macro_f1")["macro_f1"],
    "batches": stream,
}
here = {road: evaluate(road) for road in roads}
with fork.Pool(1) as pool:
    there = dict(zip(roads, pool.map(evaluate, roads)))
print(json.dumps([here, there]))
"""
UNUSED = """
roads = {"lists": lambda: rt.evaluate(lists, wanted, "mrr")["mrr"]}
with fork.Pool(1) as pool:
    first = pool.map(evaluate, roads)
evaluate("lists")
print(json.dumps(first))
"""
OWN = """
roads = {"lists": lambda: rt.evaluate(lists, wanted, "mrr")["mrr"]}
pl.DataFrame({"a": [1, 2]}).filter(pl.col("a") > 1)
def fork_again(_):
    child = os.fork()
    if not child:
        os._exit(evaluate("lists").startswith("ForkedProcess"))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with fork.Pool(1) as pool:
    print(json.dumps([pool.map(evaluate, roads), pool.map(fork_again, [0])]))
"""
LOADER = """
from torch.utils.data import DataLoader
class Users:
    def __len__(self):
        return 1
    def __getitem__(self, number):
        return rt.evaluate(lists, wanted, "mrr")["mrr"]
rt.evaluate(lists, wanted, "mrr")
try:
    list(DataLoader(Users(), num_workers=1))
except rt.RectitudeError as error:
    print(json.dumps(str(error)))
"""


def run(script: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        check=False, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_fork_refuses_what_polars_would_hang_in_and_does_the_rest() -> None:
    here, there = run(ROADS)
    works = [road for road, result in there.items() if "ForkedProcess" not in str(result)]
    assert works == ["scores", "logits", "batches"]
    assert {road: there[road] for road in works} == {road: here[road] for road in works}
    assert "get_context('spawn')" in there["lists"]
    assert "ForkedProcess" not in str(here)


def test_a_process_forked_before_polars_was_used_works() -> None:
    assert run(UNUSED) == [0.5]


def test_a_fork_of_a_fork_remembers_that_somebody_used_polars() -> None:
    (first,), (again,) = run(OWN)
    assert first.startswith("ForkedProcess")
    assert again == 1


def test_a_worker_of_a_data_loader_is_told_what_to_do() -> None:
    pytest.importorskip("torch", reason="missing: torch; pip install torch")
    assert "multiprocessing_context='spawn'" in run(LOADER)

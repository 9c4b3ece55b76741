"""No function that takes a path waits for a pipe or reads a device without end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.data.formats.convert import convert
from rectitude.errors import RectitudeError
from rectitude.models.retrieval import vectors_of
from rectitude.profiles import find_profile

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only Unix has named pipes")
SECONDS = 20  # a hang lasts for ever; a loaded machine takes a few seconds
NOT_A_FILE = "is a pipe or a device"
LISTS = {"ann": ["a", "b"], "bob": ["b", "c"]}
TRUTH = {"ann": ["b"], "bob": ["c"]}
SQUARE = np.array([[0.1, 0.2], [0.2, 0.1]])
CONFIG = """
[data]
path = "IN"
[split]
how = "leave_last"
[models.popularity]
[evaluate]
metrics = ["ndcg@2"]
"""


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Fails a test that waits, for example for somebody to write to a pipe."""

    def ring(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _evaluate(**inputs: Any) -> object:
    return rt.evaluate(**{"predictions": LISTS, "truth": TRUTH, "metrics": "ndcg@2", **inputs})


def _experiment(path: str) -> object:
    Path("e.toml").write_text(CONFIG.replace("IN", path))
    return rt.run("e.toml")


ROADS: dict[str, Callable[[str], object]] = {
    "predictions": lambda path: _evaluate(predictions=path),
    "lists": lambda path: _evaluate(predictions=rt.Lists(path, format="csv")),
    "ranx": lambda path: _evaluate(predictions=rt.Lists(path, format="ranx")),
    "several files": lambda path: _evaluate(predictions=[Path("good.csv"), Path(path)]),
    "pattern": lambda path: _evaluate(predictions=f"{path[:-1]}[{path[-1]}]"),
    "part by part": lambda path: _evaluate(predictions=path, memory="1MB"),
    "truth": lambda path: _evaluate(truth=path),
    "rows of letor": lambda path: _evaluate(predictions="numbers.txt", truth=f"{path}.letor"),
    "scores of letor": lambda path: _evaluate(predictions=path, truth="rows.letor"),
    "sizes": lambda path: _evaluate(predictions="numbers.txt", truth="sized.txt"),
    "train": lambda path: _evaluate(train=path),
    "seen": lambda path: _evaluate(predictions=rt.Scores(SQUARE), seen=path),
    "items": lambda path: _evaluate(items=path),
    "users": lambda path: _evaluate(users=path),
    "weights": lambda path: _evaluate(weights=path),
    "candidates": lambda path: _evaluate(candidates=path),
    "profile": lambda path: _evaluate(convention=f"{path}.toml"),
    "scores": lambda path: _evaluate(predictions=rt.Scores(f"{path}.npy")),
    "archive of scores": lambda path: _evaluate(predictions=rt.Scores(f"{path}.npz")),
    "logits": lambda path: _evaluate(predictions=rt.Logits(f"{path}.npy"), truth=[0, 1]),
    "targets": lambda path: _evaluate(predictions=rt.Logits(SQUARE), truth=path),
    "embeddings": lambda path: _evaluate(predictions=rt.Embeddings(f"{path}.npy", SQUARE)),
    "vectors": lambda path: vectors_of(f"{path}.parquet", None, pl.Int64(), "item"),
    "evaluator": lambda path: rt.Evaluator("ndcg@2").update(path, TRUTH),
    "stored evaluator": rt.Evaluator.load,
    "compare": lambda path: rt.compare({"a": path, "b": LISTS}, TRUTH, "ndcg@2"),
    "compare saved": lambda path: rt.compare({"a": f"{path}.zip", "b": LISTS}, TRUTH, "ndcg@2"),
    "explain": lambda path: rt.explain(path, TRUTH, "ndcg@2", "ranx", "recbole"),
    "identify": lambda path: rt.identify(path, TRUTH, "ndcg@2", "0.5"),
    "robustness": lambda path: rt.robustness({"a": LISTS, "b": path}, TRUTH, "ndcg@2"),
    "trace": lambda path: rt.trace(path, TRUTH, "ndcg@2", "ann"),
    "diagnose": lambda path: rt.diagnose(path, TRUTH),
    "audit": lambda path: rt.audit(train=path, truth=TRUTH),
    "split": lambda path: rt.split(path, "leave_last"),
    "prepare": lambda path: rt.prepare(path, [{"step": "deduplicate", "keep": "first"}]),
    "recipe": lambda path: rt.prepare(LISTS, f"{path}.toml"),
    "stored candidates": rt.Candidates.load,
    "convert": lambda path: convert(Path(path), Path("out.parquet")),
    "load": rt.load,
    "evaluation": rt.Evaluation.load,
    "evaluation in a zip": lambda path: rt.Evaluation.load(f"{path}.zip"),
    "comparison": rt.Comparison.load,
    "explanation": rt.Explanation.load,
    "history": rt.History.load,
    "report": rt.report,
    "report of a zip": lambda path: rt.report(f"{path}.zip"),
    "experiment": _experiment,
    "experiment in a file": lambda path: rt.run(f"{path}.toml"),
    "convention": lambda path: find_profile(f"{path}.toml"),
}


@pytest.mark.parametrize("kind", ["pipe", "zero"])
@pytest.mark.parametrize("road", ROADS)
def test_pipes_and_devices_are_refused_in_python(
    road: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("user,item,score\nann,a,1\nann,b,0\n")
    Path("rows.letor").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.5\n")
    Path("sized.txt").write_text("1 1:0.5\n0 1:0.5\n")
    Path("numbers.txt").write_text("0.5\n0.7\n")
    endings = ("", ".npy", ".npz", ".toml", ".json", ".zip", ".letor", ".parquet")
    for name in (*(kind + ending for ending in endings), "sized.txt.query"):
        if kind == "pipe":
            os.mkfifo(name)
        else:
            Path(name).symlink_to("/dev/zero")
    with pytest.raises(RectitudeError, match=NOT_A_FILE):
        ROADS[road](kind)

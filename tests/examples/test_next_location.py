"""The next-location example: made check-ins, counts of steps and attention, from one command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rectitude as rt

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'rectitude[torch]'"
)

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "next_location"
SEVEN = ["accuracy@1", "accuracy@5", "accuracy@10", "mrr", "ndcg@10", "weighted_f1",
         "cross_entropy"]  # fmt: skip


def train(*words: str | Path) -> str:
    """What the command prints."""
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "train.py"), *map(str, words)],
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """A short run: what it printed, and its numbers."""
    output = tmp_path_factory.mktemp("run") / "numbers.json"
    words = ("--users", "20", "--days", "28", "--epochs", "4", "--output", output)
    return train(*words), json.loads(output.read_text())


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """The modules of the example: checkins, predictors."""
    names = ("checkins", "predictors")
    monkeypatch.syspath_prepend(str(HERE))
    yield tuple(import_module(name) for name in names)
    for name in names:
        sys.modules.pop(name)


def test_every_predictor_has_the_seven_metrics_and_improvements_are_said_in_both_ways(
    run: tuple[str, dict[str, Any]],
) -> None:
    printed, numbers = run
    for values in numbers.values():
        assert list(values)[:7] == SEVEN
        assert values["accuracy@1"] <= values["accuracy@5"] <= values["accuracy@10"]
        assert values["accuracy@1"] <= values["mrr"] <= 1
    for kind in ("per-user markov", "attention"):
        assert f"{kind}, one day of history -> seven:" in printed
    short, long = (100 * numbers[f"attention, {days}d"]["mrr"] for days in (1, 7))
    told = f"{short:.2f}% -> {long:.2f}%  {long - short:+.2f} pp ({long / short - 1:+.1%})"
    assert " ".join(told.split()) in " ".join(printed.split())
    assert "In short\n========" in printed


def test_more_history_and_more_than_counts_help(run: tuple[str, dict[str, Any]]) -> None:
    accuracy = {label: values["accuracy@1"] for label, values in run[1].items()}
    assert accuracy["attention, 7d"] > accuracy["attention, 1d"]
    assert accuracy["attention, 7d"] > accuracy["per-user markov, 7d"]
    assert accuracy["per-user markov, 7d"] > accuracy["markov"] > accuracy["commonest place"]


def test_check_ins_are_unbalanced_seeded_and_in_order(parts: tuple[Any, Any]) -> None:
    visits, again = (parts[0].generate(10, 14, seed=3) for _ in range(2))
    assert (visits.place == again.place).all()
    assert (visits.place != parts[0].generate(10, 14, seed=4).place[: len(visits)]).any()
    time = visits.user * 10_000 + visits.day * 24 + visits.hour
    assert (np.diff(time) > 0).all()
    counts = np.sort(np.bincount(visits.place)[1:])[::-1]
    assert counts[:10].sum() > 0.4 * counts.sum()


def test_a_sample_shows_the_days_before_and_nothing_of_the_target(parts: tuple[Any, Any]) -> None:
    checkins = parts[0]
    visits = checkins.CheckIns(
        user=np.array([0, 0, 0, 0, 1, 1]), day=np.array([0, 1, 1, 2, 0, 2]),
        hour=np.array([9, 9, 22, 9, 9, 9]), place=np.array([1, 2, 3, 4, 5, 6]), places=6,
    )  # fmt: skip
    one, seven = (checkins.samples(visits, days, 1, 3, longest=4) for days in (1, 7))
    assert one.target.tolist() == seven.target.tolist() == [1, 2, 3, 5]  # classes: places from 0
    assert one.place.tolist() == [[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 2, 3], [0, 0, 0, 5]]
    assert seven.place.tolist() == [[0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3], [0, 0, 0, 5]]
    assert seven.age.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_counts_of_steps_are_probabilities(parts: tuple[Any, Any]) -> None:
    checkins, predictors = parts
    visits = checkins.generate(6, 10)
    train = checkins.samples(visits, 7, 1, 8)
    for own in (0.0, 0.8):
        logits = predictors.Markov(train, visits.places, own).logits(train)
        np.testing.assert_allclose(np.exp(logits).sum(axis=1), 1.0, rtol=1e-5)
    own = rt.evaluate(rt.Logits(logits), train.target, "accuracy@1")["accuracy@1"]
    rows = np.arange(len(train))
    assert own == pytest.approx(float((logits.argmax(1)[rows] == train.target).mean()), abs=0.02)


def test_attention_sees_no_padding(parts: tuple[Any, Any]) -> None:
    checkins, predictors = parts
    visits = checkins.generate(4, 10)
    batch = checkins.samples(visits, 1, 1, 10)
    torch.manual_seed(0)
    model = predictors.Attention(visits.places)
    before = model(*predictors.tensors(batch, torch.device("cpu")))
    assert before.shape == (len(batch), visits.places)
    with torch.no_grad():
        model.place.weight[0] = 9.0
    torch.testing.assert_close(model(*predictors.tensors(batch, torch.device("cpu"))), before)

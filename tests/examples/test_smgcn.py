"""The SMGCN example: runs from one command on small made data, in the format of the real files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
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
HERE = ROOT / "examples" / "smgcn"


def train(*words: str | Path) -> str:
    """What the command prints."""
    return command("train.py", *words)


def command(script: str, *words: str | Path) -> str:
    """What a script of the example prints."""
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / script), *map(str, words)],
        env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A short run: what it printed, and where it saved."""
    folder = tmp_path_factory.mktemp("run")
    return train("--epochs", "8", "--save", folder), folder


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """The modules of the example: prescriptions, model."""
    names = ("prescriptions", "model")
    monkeypatch.syspath_prepend(str(HERE))
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield import_module("prescriptions"), import_module("model")
    for name in names:
        sys.modules.pop(name)


def test_one_command_trains_and_prints_f1_where_the_document_puts_it(
    run: tuple[str, Path],
) -> None:
    lines = run[0].splitlines()
    assert lines[0].startswith("Epoch 1 [")
    assert ", F1=[" in lines[1]
    assert "ndcg" not in lines[1].partition(" ndcg@5=")[0]  # beside the line, not in it
    assert sum(line.startswith("Epoch ") for line in lines) == 4
    assert sum(line.startswith("Best Iter=[") for line in lines) == 1


def test_the_history_holds_all_metrics_at_all_cutoffs(run: tuple[str, Path]) -> None:
    history = rt.History.load(run[1] / "history.json")
    names = [f"{m}@{k}" for m in ("precision", "recall", "f1", "rmrr", "ndcg")
             for k in (5, 10, 15, 20)]  # fmt: skip
    assert list(history[0].evaluation) == names
    assert history.best_line("smgcn-f1") in run[0]
    losses = history.curves()["loss"].to_list()
    assert losses == sorted(losses, reverse=True), "it does not learn"
    assert (run[1] / "history.html").stat().st_size > 0


def test_it_learns_more_than_how_common_herbs_are(run: tuple[str, Path], parts: Any) -> None:
    prescriptions, _ = parts
    prescriptions.generate(run[1])
    learnt, test = (prescriptions.read(run[1] / f"{name}.txt") for name in ("train_id", "test"))
    common = prescriptions.multi_hot(learnt.herbs, 60).sum(axis=0)
    floor = rt.evaluate(rt.Scores(np.tile(common, (len(test), 1))), test.truth(), ["ndcg@5"])
    found = rt.evaluate(rt.Scores(run[1] / "test.npy"), test.truth(), ["ndcg@5"])
    assert found["ndcg@5"] > 1.2 * floor["ndcg@5"]


def test_the_same_seed_gives_the_same_bits(run: tuple[str, Path], tmp_path: Path) -> None:
    train("--epochs", "4", "--save", tmp_path)
    first, again = (rt.History.load(folder / "history.json") for folder in (run[1], tmp_path))
    for one, other in zip(list(first)[:2], again, strict=True):
        assert one.evaluation.values() == other.evaluation.values()
        assert one.losses == other.losses


def test_two_models_are_compared_with_one_command(
    run: tuple[str, Path], parts: Any, tmp_path: Path
) -> None:
    prescriptions, _ = parts
    prescriptions.generate(tmp_path)
    np.save(tmp_path / "validation.npy", -np.load(run[1] / "validation.npy"))
    np.save(tmp_path / "test.npy", np.load(run[1] / "test.npy"))
    shown = command("compare.py", tmp_path, run[1], tmp_path)
    assert "  ndcg@20      +0.0000  (+0.0000 to +0.0000)\n" in shown.partition("\ntest:")[2]
    assert "| predictions |" in shown
    assert "  ndcg@20      -0." in shown.partition("\ntest:")[0]


def test_only_the_ideal_of_ndcg_separates_the_document_from_the_textbook(
    run: tuple[str, Path],
) -> None:
    shown = run[0].partition("\nndcg@20\n")[2].partition("\nndcg@20\n")[0]
    assert "second  smgcn " in shown
    rows = [line for line in shown.splitlines() if line.startswith("| ")][2:]
    assert [row.split()[1] for row in rows] == ["ideal"]


def test_made_files_have_the_validation_rows_inside_train(parts: Any, tmp_path: Path) -> None:
    prescriptions, _ = parts
    prescriptions.generate(tmp_path)
    rows = {name: Counter((tmp_path / f"{name}.txt").read_text().splitlines())
            for name in ("train", "train_id", "valid_id", "test")}  # fmt: skip
    assert rows["train"] == rows["train_id"] + rows["valid_id"]
    assert not rows["train"] & rows["test"]


def test_pairs_are_those_met_together_often_enough(parts: Any) -> None:
    prescriptions, _ = parts
    sets = prescriptions.multi_hot([[0, 1], [0, 1, 2], [3]], 4)
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 1
    assert prescriptions.met_together(sets, 2).toarray().tolist() == expected.tolist()


def test_the_loss_weighs_rare_herbs_more(parts: Any) -> None:
    prescriptions, model = parts
    rows = prescriptions.Prescriptions([[0], [0], [1]], [[0], [0, 1], [0]])
    weights = model.herb_weights(rows, 3)
    assert weights.tolist() == [1.0, 3.0, 3.0]  # given 3, 1 and 0 times; 0 counts as 1
    # All herbs at one half: an error of 1/4 each, whatever is given.
    loss = model.multi_label_loss(torch.zeros(2, 3), torch.tensor([[1.0, 0, 0]] * 2), weights)
    assert loss.item() == 7 / 4


def test_a_set_of_symptoms_has_no_order(parts: Any) -> None:
    prescriptions, model = parts
    rows = prescriptions.Prescriptions([[0, 1], [2]], [[0, 1], [2]])
    torch.manual_seed(0)
    network = model.SMGCN(3, 3, (4, 8))
    logits, _ = network(model.Graphs.of(rows, 3, 3), [[0, 1, 2], [2, 0, 1], [1]])
    assert torch.allclose(logits[0], logits[1])
    assert not torch.allclose(logits[0], logits[2])


def test_published_pairs_are_made_of_all_training_rows(parts: Any, real_data: Path) -> None:
    prescriptions, model = parts
    train = prescriptions.read(real_data / "herb" / "train.txt")
    files = {"symPair-5.txt": (train.symptoms, 360, model.SYMPTOMS_TOGETHER),
             "herbPair-40.txt": (train.herbs, 753, model.HERBS_TOGETHER)}  # fmt: skip
    for name, (sets, size, times) in files.items():
        pairs = np.loadtxt(real_data / "herb" / name, dtype=int)
        published = np.zeros((size, size))
        published[pairs[:, 0], pairs[:, 1]] = published[pairs[:, 1], pairs[:, 0]] = 1
        made = prescriptions.met_together(prescriptions.multi_hot(sets, size), times)
        assert np.array_equal(made.toarray(), published), name


def test_published_validation_rows_are_inside_the_training_file(
    parts: Any, real_data: Path
) -> None:
    prescriptions, _ = parts
    rows = {name: prescriptions.read(real_data / "herb" / f"{name}.txt")
            for name in ("train", "train_id", "valid_id", "test")}  # fmt: skip
    counted = {name: Counter(zip(map(tuple, one.symptoms), map(tuple, one.herbs), strict=True))
               for name, one in rows.items()}  # fmt: skip
    assert counted["train"] == counted["train_id"] + counted["valid_id"]
    assert not counted["train"] & counted["test"]

"""The ComiRec example: trained from one command on small made data, in the format of the real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rectitude.errors import MissingExtra

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'rectitude[torch]'"
)
pytest.importorskip("faiss", reason="faiss is not installed: pip install 'rectitude[faiss]'")

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "comirec"
MODELS = ("dnn", "sa", "dr")


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
    """A short run of all models: what it printed, and its numbers."""
    output = tmp_path_factory.mktemp("run") / "numbers.json"
    return train("--epochs", "12", "--output", output), json.loads(output.read_text())


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any, Any]]:
    """The modules of the example: games, interests, retrieval."""
    names = ("games", "interests", "retrieval")
    monkeypatch.syspath_prepend(str(HERE))
    yield tuple(import_module(name) for name in names)
    for name in names:
        sys.modules.pop(name)


def test_every_model_is_reported_and_taken_apart(run: tuple[str, dict[str, Any]]) -> None:
    printed, numbers = run
    assert tuple(numbers) == MODELS
    for model in MODELS:
        assert f"{model}: best epoch" in printed
        assert f"{model} under five definitions" in printed
    assert printed.count("(hit rate) x") == printed.count("Verdict") == len(MODELS)


def test_definitions_differ_as_they_must(run: tuple[str, dict[str, Any]]) -> None:
    for model in MODELS:
        found = run[1][model]["definitions"]
        for name in ("recall@20", "hit@50"):
            assert found["comirec"][name] == found["comirec-paper"][name]
            assert found["comirec"][name] == found["comirec-hit"][name]
        for k in (20, 50):
            own, hit = (found[label][f"ndcg@{k}"] for label in ("comirec", "comirec-hit"))
            assert own == pytest.approx(hit * found["comirec"][f"hit@{k}"], abs=1e-12)
        # history cannot be recommended again, so that what is left moves up
        assert found["default"]["recall@50"] >= found["comirec"]["recall@50"]


def test_an_index_finds_more_with_more_probes_and_all_of_it_at_last(
    run: tuple[str, dict[str, Any]],
) -> None:
    for model in MODELS:
        index = run[1][model]["index"]
        found = [row["found@50"] for label, row in index.items() if label != "exact"]
        assert found == sorted(found)
        assert found[0] < found[-1] == 1.0
        assert index["nprobe 16"] == index["exact"]
        for name in ("recall@50", "ndcg@50"):
            whole = run[1][model]["definitions"]["comirec"][name]
            assert index["exact"][name] == pytest.approx(whole, abs=1e-12)


def test_a_coefficient_buys_diversity(run: tuple[str, dict[str, Any]]) -> None:
    for model in MODELS:
        variety = run[1][model]["variety"]
        assert variety["0"]["recall@50"] == run[1][model]["index"]["exact"]["recall@50"]
        found = [row["diversity@50"] for row in variety.values()]
        assert all(after >= before - 1e-3 for before, after in pairwise(found))
        assert found[-1] > found[0] or model == "dnn"  # its pool is the list: only the order moves


def test_the_same_seed_gives_the_same_numbers(
    run: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    train("--epochs", "12", "--models", "sa", "--output", tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == {"sa": run[1]["sa"]}


def test_users_are_split_and_the_first_80_percent_of_the_others_are_shown(
    parts: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    games = parts[0]
    games.write_tiny(tmp_path / "tiny.txt")
    found = games.read(tmp_path / "tiny.txt")
    sizes = [len(found.sequences), len(found.validation.users), len(found.test.users)]
    assert sizes == [240, 30, 30]
    assert not {*found.test.users} & {*found.validation.users}
    for side in (found.validation, found.test):
        counted = (one.group_by("user").len().iter_rows() for one in (side.fold_in, side.truth))
        shown, truth = map(dict, counted)
        for user in side.users:
            assert shown[user] == (shown[user] + truth[user]) * 8 // 10
    everything = (tmp_path / "tiny.txt").read_text().split("\n")
    assert len(everything) == len(set(everything))


def test_histories_hold_the_latest_and_targets_come_after_them(parts: tuple[Any, Any, Any]) -> None:
    games = parts[0]
    assert games.latest(np.arange(1, 31)).tolist() == list(range(11, 31))
    assert games.latest(np.array([5, 6])).tolist() == [5, 6] + [games.PADDING] * 18
    sequences = [np.arange(1, 9), np.arange(1, 4)]
    for histories, targets in games.batches(sequences, 2, np.random.default_rng(0)):
        assert [len(row[row > 0]) for row in histories] == [target - 1 for target in targets]


@pytest.mark.parametrize("name", MODELS)
def test_padding_says_nothing_and_interests_differ(name: str, parts: tuple[Any, Any, Any]) -> None:
    games, interests, _ = parts
    torch.manual_seed(0)
    model = interests.MODELS[name](9, 8, 3)
    history = torch.from_numpy(games.latest(np.array([1, 2, 3, 4])))[None]
    before = model(history)
    assert before.shape == (1, 1 if name == "dnn" else 3, 8)
    assert len(torch.unique(before[0], dim=0)) == before.shape[1]
    with torch.no_grad():
        model.vectors.weight[games.PADDING] = 7.0
    torch.testing.assert_close(model(history), before)
    if name == "dr":
        assert (before.norm(dim=-1) < 1).all()


def test_routing_follows_agreement(parts: tuple[Any, Any, Any]) -> None:
    interests = parts[1]
    torch.manual_seed(0)
    model = interests.DynamicRouting(9, 4, 2)
    with torch.no_grad():  # two capsules that see the same, but for a sign in one direction
        model.layers.copy_(torch.eye(4))
        model.layers[:, 1, 0, 0] = -1.0
        model.vectors.weight[1] = torch.tensor([2.0, 0.1, 0.0, 0.0])
    history = torch.zeros(1, parts[0].HISTORY, dtype=torch.long)
    history[0, :3] = 1
    first, second = model(history)[0].tolist()
    assert first[0] == pytest.approx(-second[0], abs=1e-6)
    assert first[0] > 0.5


def test_a_missing_index_names_the_command(
    parts: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rectitude\[faiss\]'"):
        parts[2].index_pool(np.zeros((1, 1, 2)), np.zeros((3, 2)), 1, 1)


def test_the_real_file_is_read_and_split(parts: tuple[Any, Any, Any]) -> None:
    path = Path(os.environ.get("RECTITUDE_DATA", "nowhere"), "amazon-video-games", "Video.txt")
    if not path.exists():
        pytest.skip("RECTITUDE_DATA holds no amazon-video-games/Video.txt")
    found = parts[0].read(path)
    sizes = [len(found.sequences), len(found.validation.users), len(found.test.users)]
    assert (found.items, sizes) == (10_672, [19_443, 2_430, 2_430])
    assert min(map(len, found.sequences)) >= 5
    assert found.test.truth.height == 5_431

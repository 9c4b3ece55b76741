"""No input hangs or takes the machine down: pipes, devices, links that loop, endless numbers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run, Said

SECONDS = 30  # a hang lasts for ever; a loaded machine takes a few seconds
NOT_A_FILE = "is a pipe or a device"


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


def refused(said: Said) -> bool:
    return said.code == 2 and "Traceback" not in said.err and "bug in rectitude" not in said.err


ROADS = {
    "predictions": "evaluate IN --truth truth.csv",
    "named format": "evaluate csv:IN --truth truth.csv",
    "truth": "evaluate good.csv --truth IN",
    "train": "evaluate good.csv --truth truth.csv --train IN",
    "sparse train": "evaluate good.csv --truth truth.csv --train IN.npz",
    "items": "evaluate good.csv --truth truth.csv --items IN",
    "users": "evaluate good.csv --truth truth.csv --users IN",
    "candidates": "evaluate good.csv --truth truth.csv --candidates IN",
    "convention": "evaluate good.csv --truth truth.csv --convention IN.toml",
    "scores": "evaluate --scores IN --truth truth.csv",
    "score items": "evaluate --scores scores.npy --truth truth.csv --score-items IN",
    "logits": "evaluate --logits IN.npz --targets targets.npy",
    "targets": "evaluate --logits scores.npy --targets IN.npy",
    "seen": "evaluate --scores scores.npy --truth truth.csv --seen IN",
    "weights": "evaluate good.csv --truth truth.csv --weights IN",
    "part by part": "evaluate IN --truth truth.csv --memory 20MB",
    "rows of letor": "evaluate good.csv --truth letor:IN",
    "z-scores": "evaluate good.csv --truth truth.csv --format trec_eval -Z IN",
    "preferences": "evaluate good.csv --truth IN --format trec_eval -R prefs",
    "second model": "robustness good.csv IN --truth truth.csv --metric ndcg@3",
    "other predictions": "explain good.csv --other IN --truth truth.csv --metric ndcg@3",
    "saved evaluation": "explain good.csv --truth truth.csv --metric ndcg@3 --first IN.json",
    "identify": "identify IN --truth truth.csv --metric ndcg@3 --value 0.5",
    "trace": "trace IN --truth truth.csv --metric ndcg@3 --user ann",
    "diagnose": "diagnose IN --truth truth.csv",
    "folds": "audit --train good.csv --truth truth.csv --folds truth.csv IN",
    "validation": "audit --train good.csv --truth truth.csv --validation IN",
    "fold in": "candidates --train good.csv --truth truth.csv --fold-in IN",
    "given candidates": "candidates --train good.csv --truth truth.csv --how given --given IN",
    "split": "split IN",
    "compare": "compare IN good.csv --truth truth.csv",
    "report": "report IN --output page.html",
    "run": "run IN.toml",
    "run yaml": "run IN.yaml",
    "recipe": "split good.csv --recipe IN.toml --output parts",
    "profile": "profiles show IN.toml",
    "convert": "convert IN x.csv",
    "audit": "audit --train good.csv --truth IN",
    "parts of a split": "audit --split parts-IN",
    "results": "report run-IN",
}


@pytest.mark.parametrize("kind", ["pipe", "zero"])
@pytest.mark.parametrize("road", ROADS)
def test_pipes_and_devices_are_refused_on_every_road(
    road: str, kind: str, shop: Path, run: Run
) -> None:
    np.save("scores.npy", np.eye(3))
    np.save("targets.npy", np.arange(3))
    for folder in (f"parts-{kind}", f"run-{kind}"):
        Path(folder).mkdir()
    Path(f"parts-{kind}/test.csv").write_text("user,item\n1,2\n")
    endings = ("", ".npy", ".npz", ".toml", ".yaml", ".json")
    for name in (*(kind + ending for ending in endings), f"parts-{kind}/train.csv"):
        make_special(Path(name), kind)
    make_special(Path(f"run-{kind}/results.json"), kind)
    said = run(*ROADS[road].replace("IN", kind).split())
    assert refused(said), said.err
    assert NOT_A_FILE in said.err


def make_special(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


def test_process_substitution_is_told_to_write_a_file(shop: Path, run: Run) -> None:
    reading, writing = os.pipe()  # what a shell makes of <(command)
    os.write(writing, b"user,item\n")
    os.close(writing)
    said = run("evaluate", "good.csv", "--truth", f"/dev/fd/{reading}")
    os.close(reading)
    assert refused(said)
    assert "write the content of the pipe to a file first" in said.err


def test_folders_whose_links_lead_back_are_walked_once(shop: Path, run: Run) -> None:
    Path("loop").mkdir()
    for name in "ab":
        Path("loop", name).symlink_to(".")
    assert refused(run("compare", "loop", "good.csv", "--truth", "truth.csv"))
    run("evaluate", "good.csv", "--truth", "truth.csv", "--output", "loop/good.zip")
    run("evaluate", "poor.csv", "--truth", "truth.csv", "--output", "poor.zip")
    said = run("compare", "loop", "poor.zip")
    assert said.code == 0
    assert said.out.count("| loop") == 1


def test_splits_in_folders_whose_links_lead_back_are_found_once(shop: Path, run: Run) -> None:
    Path("parts").mkdir()
    for name in ("train.csv", "test.csv"):
        Path("parts", name).write_text("user,item\nann,a\nbob,b\n")
    Path("parts", "a").symlink_to(".")
    Path("parts", "b").symlink_to("..")
    assert "rows: train 2, truth 2\n" in run("audit", "--split", "parts").out


# numbers and texts

EXPERIMENT = """
[data]
{data}
[split]
how = "leave_last"
[models.popular]
model = "popularity"
[evaluate]
metrics = ["ndcg@5"]
"""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("shop = {rows = 1000000000000}", "a shop with 1,000,000,000,000 rows would take 120TB"),
        (f"shop = {{rows = 1{'0' * 400}}}", "... (401 digits)"),
        (f"shop = {{rows = 1{'0' * 5_000}}}", "a number of more than 4,300 digits"),
        (f"shop = {'[' * 100_000}", "is nested too deeply"),
        ("shop = 2020-99-99", "line 3"),
        ('path = "log\\u0000.csv"', "log"),
    ],
)
def test_absurd_experiments_are_refused(data: str, said: str, shop: Path, run: Run) -> None:
    Path("e.toml").write_text(EXPERIMENT.format(data=data))
    answer = run("run", "e.toml", "--log", "quiet")
    assert refused(answer)
    assert said in answer.err
    assert not Path("runs", "e", "results.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]\n", "more than 100 levels"),
        ("a: &a {b: *a}\n", "more than 100 levels"),
        ("data: 2020-99-99\n", "month must be in 1..12"),
        ('data: "\\uD800"\n', "half of a surrogate pair"),
        (f"data: {'9' * 5_000}\n", "more than 4,300 digits"),
        ("- 1\n- 2\n", r"contains [1, 2], not keys and values"),
    ],
)
def test_absurd_yaml_is_refused(text: str, said: str, shop: Path, run: Run) -> None:
    Path("e.yaml").write_text(text)
    answer = run("run", "e.yaml")
    assert refused(answer)
    assert said in answer.err


def test_a_long_array_in_toml_is_read_at_once(shop: Path, run: Run) -> None:
    numbers = "  1,\n" * 20_000
    Path("e.toml").write_text(f"{EXPERIMENT.format(data='')}\ncutoffs = [\n{numbers}]\nlast = 1\n")
    assert f"line {20_000 + 13}" in run("run", "e.toml").err


def test_resamples_beyond_memory_are_refused(shop: Path, run: Run) -> None:
    models = ("compare", "good.csv", "poor.csv", "--truth", "truth.csv", "--resamples")
    for resamples in ("1000000000000", "9" * 400):
        said = run(*models, resamples)
        assert refused(said)
        assert "means would take" in said.err
    assert refused(run(*models, "9" * 5_000))


def test_a_panic_of_polars_is_an_error_like_others(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """What Rust raises."""

    def panic(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr("rectitude.evaluation.evaluate.evaluate", panic)
    monkeypatch.setattr("rectitude.data.read.open_file", panic)
    said = run("evaluate", "good.csv", "--truth", "truth.csv")
    assert refused(said)
    assert "PanicException: index out of bounds\n  Polars gave up" in said.err


def test_out_of_memory_is_no_bug(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rectitude.data.read.open_file", fail)
    said = run("evaluate", "good.csv", "--truth", "truth.csv")
    assert refused(said)
    assert "there is not enough memory" in said.err


def test_a_link_that_points_to_itself_is_no_bug(shop: Path, run: Run) -> None:
    folder = shop / "models"
    folder.mkdir()
    (folder / "again.json").symlink_to("again.json")
    said = run("compare", "models", "models")
    assert refused(said)
    assert "bug" not in said.err

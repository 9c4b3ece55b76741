"""Stored files that somebody changed: whatever key is missing or wrong, opening the file says so,
or the change does no harm."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import RectitudeError, UnreadableFile
from rectitude.explanation.explain.differences import differences
from rectitude.reports.page import page
from rectitude.reports.runs import content_of_files
from rectitude.splits.files import open_parts, write

TRUTH = {user: ["b"] for user in range(5)}
LISTS = {user: ["a", "b"] if user % 2 else ["b"] for user in range(5)}
OTHER = {user: ["x", "b"] for user in range(5)}
EXPERIMENT: dict[str, Any] = {
    "name": "small",
    "data": {"shop": {"rows": 2_000}},
    "prepare": [{"step": "deduplicate", "keep": "first"}],
    "split": {"how": "time_ratio", "ratio": 0.2},
    "models": {"popularity": {}, "item-knn": {"neighbours": 20}},
    "evaluate": {"metrics": ["ndcg@{5,10}"], "slices": ["known"]},
    "compare": {"baseline": "popularity"},
    "explain": {"against": "rectools"},
    "report": {"mode": "off"},
}
REMOVED = object()
CHANGES = (REMOVED, None, "text", -1, 10**400, 1e308, [[[[1]]]], {}, {"a": 1}, True)
FREE = {
    "results", "counts", "notes", "headline", "models", "convention", "values", "best", "failures",
    "deviations", "intervals", "skipped", "popularity", "item-knn", "effect", "letters", "sizes",
}  # fmt: skip
"""Objects whose keys are names: the first of them stands for all."""


def find_keys(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every key; of lists and of names, only the first."""
    inner = list(enumerate(node)) if isinstance(node, list) else []
    inner = list(node.items()) if isinstance(node, dict) else inner
    first_only = isinstance(node, list) or (at and at[-1] in FREE)
    for key, value in inner[:1] if first_only else inner:
        yield (*at, key)
        yield from find_keys(value, (*at, key))


def change(document: Any, at: tuple[Any, ...], value: object) -> Any:
    """Return a copy with one key removed or replaced."""
    changed = node = copy.deepcopy(document)
    for step in at[:-1]:
        node = node[step]
    if value is REMOVED:
        del node[at[-1]]
    else:
        node[at[-1]] = value
    return changed


def use(path: Path) -> None:
    """Open a result and do with it what people do."""
    result: Any = rt.load(path)
    str(result)
    if isinstance(result, rt.Evaluation):
        str(differences(result, result))
        result.to_markdown()
    if isinstance(result, rt.Comparison):
        result.to_latex()
        result.words()
    if isinstance(result, rt.Evaluation | rt.Comparison) or path.is_dir():
        page(content_of_files([path]))
    if path.is_dir():
        assert result.exit_code == 0
        assert result.evaluations


def tamper(file: Path, open_it: Callable[[], object], step: int = 1) -> tuple[int, int]:
    """Change every key of a JSON file in every way, and return how many changes were tried and how
    many refused.

    With `step`, every key still gets changes, but not each of them: it saves time.
    """
    document = json.loads(file.read_text("utf-8"))
    tried = refused = 0
    for nth, at in enumerate(find_keys(document)):
        for value in CHANGES[nth % step :: step]:
            file.write_text(json.dumps(change(document, at, value)), encoding="utf-8")
            tried += 1
            try:
                open_it()
            except RectitudeError:
                refused += 1
    return tried, refused


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "small"
    assert rt.run(EXPERIMENT, folder=folder).exit_code == 0
    return folder


@pytest.fixture
def run_folder(kept_run: Path, tmp_path: Path) -> Path:
    """A copy of a run to damage, without its cache."""
    return shutil.copytree(kept_run, tmp_path / "run", ignore=shutil.ignore_patterns("stages"))


def save_evaluation(path: Path) -> None:
    train = {1: ["a"], 2: ["b"]}
    rt.evaluate(LISTS, TRUTH, ["mrr"], intervals=True, slices=["known"], train=train).save(path)


def save_several(path: Path) -> None:
    rt.evaluate(LISTS, TRUTH, ["mrr"], convention=["default", "rectools"]).save(path)


def save_comparison(path: Path) -> None:
    rt.compare({"a": [LISTS, LISTS], "b": [OTHER, LISTS]}, TRUTH, "mrr", margin=0.1).save(path)


def save_explanation(path: Path) -> None:
    rt.explain(LISTS, {**TRUTH, 9: ["a"]}, "ndcg@2", "default", "rectools").save(path)


def save_history(path: Path) -> None:
    history = rt.History()
    history.add(1, rt.evaluate(LISTS, TRUTH, ["mrr"]), 0.5, (1.0, 2.0))
    history.save(path)


@pytest.mark.parametrize(
    "save", [save_evaluation, save_several, save_comparison, save_explanation, save_history]
)
def test_a_changed_file_is_refused_or_does_no_harm(
    save: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    save(path)
    use(path)
    tried, refused = tamper(path, lambda: use(path), step=3)
    assert refused > tried / 2


def test_a_changed_run_is_refused_or_does_no_harm(run_folder: Path) -> None:
    use(run_folder)
    tried, refused = tamper(run_folder / "results.json", lambda: use(run_folder), step=9)
    assert refused > tried / 2


def test_a_changed_ledger_of_a_run_is_refused_or_does_no_harm(run_folder: Path) -> None:
    tried, refused = tamper(
        run_folder / "ledger.json", lambda: content_of_files([run_folder]), step=4
    )
    assert refused > tried / 2


def test_a_changed_split_is_refused(tmp_path: Path) -> None:
    log = {"user": [1, 1, 2, 2], "item": [*"abab"], "timestamp": [1, 2, 3, 4]}
    folder = tmp_path / "split"
    write(rt.split(log, "leave_last"), folder)
    tried, refused = tamper(folder / "split.json", lambda: open_parts(folder))
    assert refused > tried / 2
    (folder / "split.json").write_text("[]")
    with pytest.raises(UnreadableFile, match=r"split\.json contains 'list'"):
        open_parts(folder)


def test_an_error_names_file_key_and_remedy(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_folder / "results.json"
    document = json.loads(path.read_text("utf-8"))
    at = ("models", "popularity", "runs", 0, "evaluation", "results", "ndcg@5", "counted")
    path.write_text(json.dumps(change(document, at, "many")))
    assert main(["report", str(run_folder)]) == 2
    said = capsys.readouterr().err
    assert "results.json: models.popularity.runs[1].evaluation.results.ndcg@5.counted" in said
    assert "is 'many'.\n  expected a whole number.\n  run the experiment again" in said
    path.write_text(json.dumps(change(document, at, REMOVED)))
    assert main(["report", str(run_folder)]) == 2
    assert "ndcg@5.counted is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["results.json", "ledger.json"])
def test_deep_nesting_is_refused(name: str, run_folder: Path) -> None:
    for text in ("[" * 100_000, '{"format": ' + "[" * 500 + "]" * 500 + "}"):
        (run_folder / name).write_text(text)
        with pytest.raises(UnreadableFile):
            content_of_files([run_folder])


def test_a_file_of_a_run_cannot_lead_out_of_its_folder(run_folder: Path) -> None:
    path = run_folder / "results.json"
    document = json.loads(path.read_text("utf-8"))
    at = ("models", "popularity", "runs", 0, "values")
    for outside in ("/etc/passwd", "../other.parquet"):
        path.write_text(json.dumps(change(document, at, outside)))
        with pytest.raises(UnreadableFile, match="a path inside the folder of the run"):
            rt.load(run_folder)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (pl.DataFrame({"ndcg@5": [1.0]}), "has the columns ndcg@5"),
        (pl.DataFrame({"user": [1, None], "ndcg@5": [1.0, 1.0]}), "column user has nulls"),
        (pl.DataFrame({"user": [[1]], "ndcg@5": [1.0]}), "column user is of the type List"),
        (pl.DataFrame({"user": [1], "ndcg@5": ["x"]}), "column ndcg@5 is of the type String"),
    ],
)
def test_values_of_a_run_with_other_columns_are_refused(
    frame: pl.DataFrame, found: str, run_folder: Path
) -> None:
    path = run_folder / "values/popularity.parquet"
    path.unlink()
    frame.write_parquet(path)
    with pytest.raises(UnreadableFile, match=found):
        assert rt.load(run_folder).evaluations  # type: ignore[union-attr]
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(UnreadableFile, match=r"popularity\.parquet cannot be read"):
        assert rt.load(run_folder).evaluations  # type: ignore[union-attr]


def test_plain_evaluations_do_not_load_the_checks(tmp_path: Path) -> None:
    code = (
        "import sys, rectitude as rt; rt.evaluate({1: ['a']}, {1: ['a']}, 'mrr');"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize("name", ["results.json", "ledger.json"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused(name: str, run_folder: Path) -> None:
    path = run_folder / name
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(UnreadableFile, match="a pipe or a device"):
        content_of_files([run_folder])
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UnreadableFile, match="a pipe or a device"):
        content_of_files([run_folder])

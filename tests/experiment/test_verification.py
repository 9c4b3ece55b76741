"""Stored results are evaluated again, and everything that changed is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import polars as pl
import pytest
from experiments import write

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import UnreadableFile

METRICS = ["ndcg@10", "mrr"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    home = tmp_path_factory.mktemp("verified")
    return rt.run(write(home), progress="quiet").folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def change_json(path: Path, change: Any) -> None:
    stored = json.loads(path.read_text("utf-8"))
    change(stored)
    path.write_text(json.dumps(stored), encoding="utf-8")


def test_an_untouched_run_holds_as_a_folder_and_as_a_zip(run: Path, tmp_path: Path) -> None:
    found = rt.verify(run)
    assert found.holds
    assert found.changes == found.notes == ()
    assert {"file", "number", "value", "definition", "fingerprint", "ledger"} <= {*found.counts}
    for root in (run.parent, run):
        base = run.name if root == run.parent else "."
        archive = shutil.make_archive(str(tmp_path / "archive"), "zip", root, base)
        assert rt.verify(archive).counts == found.counts
        assert rt.verify(archive).holds


def test_a_changed_prediction_is_named_with_all_that_follows(run: Path) -> None:
    path = run / "predictions" / "item-knn.parquet"
    frame = pl.read_parquet(path)
    path.unlink()  # it may be a link to the file of a stage
    frame.with_columns(pl.col("item").shift(1, fill_value=frame["item"][-1])).write_parquet(path)
    found = rt.verify(run)
    changed = {(one.aspect, one.where) for one in found.changes}
    assert ("file", "predictions/item-knn.parquet") in changed
    assert ("number", "item-knn: ndcg@10") in changed
    assert ("fingerprint", "item-knn: predictions") in changed
    assert not any("popularity" in where for _, where in changed)


def test_a_changed_number_definition_and_setting_are_named(run: Path) -> None:
    def change(stored: dict[str, Any]) -> None:
        results = stored["models"]["popularity"]["runs"][0]["evaluation"]["results"]
        results["ndcg@10"]["value"] += 1e-12
        results["recall@5"]["fingerprint"] = "0" * 16

    change_json(run / "results.json", change)
    text = (run / "config.toml").read_text("utf-8")
    (run / "config.toml").write_text(text.replace("neighbours = 20", "neighbours = 21"), "utf-8")
    changed = {one.where: one for one in rt.verify(run).changes}
    assert changed["popularity: ndcg@10"].aspect == "number"
    assert changed["popularity: recall@5, fingerprint"].aspect == "definition"
    assert changed["config.toml, models"].aspect == "setting"
    assert "popularity: headline" in changed


def test_a_changed_value_of_a_list_is_named_with_its_list(run: Path) -> None:
    path = run / "values" / "popularity.parquet"
    frame = pl.read_parquet(path)
    path.unlink()
    frame.with_columns(pl.col("ndcg@10") + 1e-15).write_parquet(path)
    changed = [one.where for one in rt.verify(run).changes if one.aspect == "value"]
    assert changed == [
        f"of popularity: ndcg@10 of {frame.height} lists (first: {frame['user'].min()!r})"
    ]


def test_a_missing_file_is_a_change_and_missing_stages_a_note(run: Path) -> None:
    shutil.rmtree(run / "stages")
    assert "stages/ is missing" in rt.verify(run).notes[0]
    (run / "predictions" / "popularity.parquet").unlink()
    (change,) = rt.verify(run).changes
    assert (change.where, change.found) == ("predictions/popularity.parquet", "no such file")


def test_another_version_is_named_and_no_change(run: Path) -> None:
    def change(stored: dict[str, Any]) -> None:
        for model in stored["models"].values():
            model["runs"][0]["evaluation"]["manifest"]["numpy"] = "1.0"

    change_json(run / "results.json", change)
    found = rt.verify(run)
    assert found.holds
    assert found.notes[0].startswith("numpy was 1.0, and is ")


@pytest.mark.parametrize("convention", [None, "recbole", {"ties": "optimistic"}])
def test_an_evaluation_is_verified_with_its_files(
    tmp_path: Path, convention: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rt.sample()
    evaluation = rt.evaluate("nearest.csv", "test.csv", METRICS, convention, train="train.csv")
    (tmp_path / "stored").mkdir()
    evaluation.save("stored/a.zip")
    assert rt.verify("stored/a.zip").holds
    (tmp_path / "data").mkdir()
    for name in ("nearest.csv", "test.csv", "train.csv"):
        (tmp_path / name).rename(tmp_path / "data" / name)
    with pytest.raises(UnreadableFile, match=r"made from predictions in nearest.csv, which is not"):
        rt.verify("stored/a.zip")
    assert rt.verify("stored/a.zip", inputs="data").holds
    shutil.copy("data/test.csv", "data/nearest.csv")
    assert not rt.verify("stored/a.zip", inputs="data").holds


@pytest.mark.parametrize(
    ("name", "reason"),
    [("../evil.txt", "unsafe path"), ("/etc/evil", "unsafe path"), ("a\\..\\b", "unsafe path")],
)
def test_archives_with_paths_that_lead_outside_are_refused(
    tmp_path: Path, name: str, reason: str
) -> None:
    with ZipFile(tmp_path / "run.zip", "w") as archive:
        archive.writestr("results.json", "{}")
        archive.writestr(ZipInfo(name), "evil")
    with pytest.raises(UnreadableFile, match=reason):
        rt.verify(tmp_path / "run.zip")


def test_links_and_bombs_in_archives_are_refused(tmp_path: Path) -> None:
    link = ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr("results.json", "{}")
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UnreadableFile, match="contains a link"):
        rt.verify(tmp_path / "link.zip")
    with ZipFile(tmp_path / "bomb.zip", "w", 8) as archive:
        archive.writestr("results.json", "{}")
        archive.writestr("zeros", bytes(300 * 10**6))
    with pytest.raises(rt.RectitudeError, match="expand"):
        rt.verify(tmp_path / "bomb.zip")


def test_an_evaluation_that_does_not_name_its_files_is_refused(tmp_path: Path) -> None:
    evaluation = rt.evaluate({"ann": ["a"]}, {"ann": ["a"]}, "mrr")
    evaluation.save(tmp_path / "a.json")
    with pytest.raises(UnreadableFile, match="in dict of lists, which is not here"):
        rt.verify(tmp_path / "a.json")
    change_json(tmp_path / "a.json", lambda stored: stored["manifest"].pop("inputs"))
    with pytest.raises(UnreadableFile, match="does not say what its predictions were"):
        rt.verify(tmp_path / "a.json")
    with pytest.raises(UnreadableFile, match="nowhere is not a folder"):
        rt.verify(tmp_path / "a.json", inputs=tmp_path / "nowhere")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"has no results.json"):
        rt.verify(tmp_path)
    with ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(UnreadableFile, match=r"contains no run"):
        rt.verify(tmp_path / "other.zip")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("manifest.json", b"{}", "contains None"),
        ("manifest.json", b'{"format": "rectitude.manifest", "version": 1}', "stages is missing"),
        ("environment.json", b'{"file": 3}', "file is 3"),
        ("truth.parquet", b"PAR1", "truth.parquet cannot be read"),
        ("predictions/item-knn.parquet", b"", "item-knn.parquet cannot be read"),
        ("results.json", b"[]", "contains 'list'"),
    ],
)
def test_damaged_files_of_a_run_are_named(
    run: Path, name: str, content: bytes, reason: str
) -> None:
    (run / name).unlink()
    (run / name).write_bytes(content)
    with pytest.raises(UnreadableFile, match=reason):
        rt.verify(run)


def test_the_command_line_answers_by_its_exit_code(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(run)]) == 0
    assert f"{run}: holds" in capsys.readouterr().out
    shutil.copy(run / "truth.parquet", run / "truth.copy")
    (run / "truth.parquet").unlink()
    pl.read_parquet(run / "truth.copy")[1:].write_parquet(run / "truth.parquet")
    assert main(["verify", str(run), "--json"]) == 1
    stored = json.loads(capsys.readouterr().out)
    assert not stored["holds"]
    assert stored["changes"][0]["where"] == "truth.parquet"
    assert main(["verify", str(run / "missing")]) == 2

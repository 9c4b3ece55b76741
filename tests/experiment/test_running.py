"""Running: stages are cached, outputs complete, one writer per folder, and results identical."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from experiments import SMALL, TUNED, Spied, contents, write

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import RectitudeError, UnknownName, UnreadableFile, UnwritableFile
from rectitude.experiment import store as storing
from rectitude.experiment.results import Run
from rectitude.experiment.run import plan
from rectitude.experiment.store import hold_folder

FILES = {
    "config.toml", "environment.json", "manifest.json", "ledger.json", "results.json", "log.jsonl",
    "resources.json",
    "values", "predictions", "stages", ".lock", "train.parquet", "truth.parquet",
}  # fmt: skip


def done(path: Path, **options: Any) -> tuple[Run, list[str]]:
    """Run an experiment, and return the run and the stages that were not cached."""
    events: list[Any] = []
    run = rt.run(path, watchers=[events.append], **options)
    started = [one["stage"] for one in events if one["event"] == "started"]
    return run, [stage for stage in started if stage != "run"]


def test_a_run_leaves_everything_in_its_folder(small: Path) -> None:
    run = rt.run(small)
    assert {path.name for path in run.folder.iterdir()} == FILES
    assert run.folder == small.parent / "runs" / "experiment"
    values = pl.read_parquet(run.folder / "values" / "item-knn.parquet")
    mean = values["ndcg@10"].mean()
    assert run.results["headline"]["item-knn"]["ndcg@10"]["value"] == pytest.approx(mean, abs=1e-12)
    lists = pl.read_parquet(run.folder / "predictions" / "item-knn.parquet")
    assert lists.columns == ["user", "item", "score", "rank"]
    ledger = json.loads((run.folder / "ledger.json").read_text())
    assert {"data", "prepare", "split", "models/item-knn", "evaluate/item-knn"} <= set(ledger)
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert [one["stage"] for one in manifest["stages"]][:3] == ["data", "prepare", "split"]


def test_the_numbers_are_those_of_evaluate_on_the_files(small: Path) -> None:
    run = rt.run(small)
    stages = {
        one["stage"]: one["key"]
        for one in json.loads((run.folder / "manifest.json").read_text())["stages"]
    }
    parts = run.folder / "stages" / stages["split"]
    evaluation = rt.evaluate(
        run.folder / "predictions" / "popularity.parquet",
        pl.read_parquet(parts / "0-truth.parquet"), ["ndcg@10", "recall@{5,10}"],
        train=pl.read_parquet(parts / "0-train.parquet"),
    )  # fmt: skip
    assert evaluation.values() == {
        name: one["value"] for name, one in run.results["headline"]["popularity"].items()
    }


def test_a_second_run_does_nothing_and_changes_nothing(small: Path) -> None:
    run, first = done(small)
    before = contents(run.folder)
    again, second = done(small)
    assert first
    assert second == []
    assert contents(again.folder) == before
    assert again.results == run.results


def test_another_folder_gets_identical_files(small: Path, tmp_path: Path) -> None:
    one, two = rt.run(small), rt.run(small, folder=tmp_path / "other")
    assert contents(one.folder) == contents(two.folder)


def test_only_what_depends_on_a_change_is_done_again(small: Path) -> None:
    done(small)
    write(small.parent, SMALL.replace("neighbours = 20", "neighbours = 10"))
    assert done(small)[1] == ["models/item-knn", "evaluate/item-knn", "compare"]
    write(small.parent, SMALL.replace('"ndcg@10", ', ""))
    stages = done(small)[1]
    assert "evaluate/popularity" in stages
    assert "models/popularity" not in stages
    assert "split" not in stages


def test_changed_bytes_of_the_data_are_noticed(tmp_path: Path) -> None:
    from rectitude.data.synthetic import purchases

    purchases(2_000).select("user", "item", "timestamp").write_csv(tmp_path / "log.csv")
    path = write(tmp_path, SMALL.replace("shop = { rows = 2_000 }", 'path = "log.csv"'))
    assert "data" in done(path)[1]
    assert done(path)[1] == []
    purchases(1_900).select("user", "item", "timestamp").write_csv(tmp_path / "log.csv")
    assert "data" in done(path)[1]


def test_a_damaged_stage_is_run_again(small: Path) -> None:
    run, _ = done(small)
    before = contents(run.folder)
    values = next((run.folder / "stages").glob("*/values.parquet"))
    values.write_bytes(b"nonsense")
    again, stages = done(small)
    assert len(stages) == 1
    assert contents(again.folder) == before


def test_another_seed_draws_the_tests_again(tmp_path: Path) -> None:
    text = SMALL + '\n[compare]\ntest = "sign_flip"\nresamples = 200\n'
    path = write(tmp_path, text)
    done(path)
    write(tmp_path, f"seed = 5\n{text}")
    assert done(path)[1] == ["compare"]


def test_a_report_that_is_turned_off_is_removed(small: Path) -> None:
    write(small.parent, SMALL.replace('[report]\nmode = "off"', '[report]\nmode = "write"'))
    folder = rt.run(small).folder
    assert "<script" in (folder / "report.html").read_text("utf-8")
    write(small.parent)
    rt.run(small)
    assert not (folder / "report.html").exists()


def test_fresh_does_everything_again(small: Path) -> None:
    run, first = done(small)
    before = contents(run.folder)
    again, second = done(small, start="fresh")
    assert second == first
    assert contents(again.folder) == before


def test_models_removed_from_the_file_are_removed_from_the_folder(small: Path) -> None:
    rt.run(small)
    write(small.parent, SMALL.replace("[models.item-knn]\nneighbours = 20\n", ""))
    run = rt.run(small)
    assert [path.name for path in (run.folder / "values").iterdir()] == ["popularity.parquet"]
    assert run.results["comparison"] is None


def test_only_some_stages_run_and_the_rest_is_listed_as_left_out(small: Path) -> None:
    run, stages = done(small, only=["popularity"])
    assert "models/popularity" in stages
    assert "models/item-knn" not in stages
    assert run.results["complete"] is False
    assert set(run.results["left_out"]) == {"models/item-knn", "evaluate/item-knn"}
    assert set(run.results["headline"]) == {"popularity"}
    assert done(small, only=["split"])[1] == []
    run, stages = done(small)
    assert stages == ["models/item-knn", "evaluate/item-knn", "compare"]
    assert run.results["complete"] is True
    with pytest.raises(UnknownName, match="did you mean 'popularity'"):
        rt.run(small, only=["populrity"])


def test_a_dry_run_says_what_is_there_and_writes_nothing(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {state for _, state in plan(small)} == {"to do"}
    assert not (small.parent / "runs").exists()
    rt.run(small)
    assert {state for _, state in plan(small)} == {"cached"}
    assert main(["run", str(small), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"stage": "models/item-knn", "state": "cached"} in told
    write(small.parent, SMALL.replace("neighbours = 20", "neighbours = 10"))
    changed = dict(plan(small))
    assert changed["models/popularity"] == "cached"
    assert changed["models/item-knn"] == "to do"
    assert dict(plan(small, only=["popularity"]))["models/item-knn"] == "left out"


def test_a_second_writer_gets_a_clear_error(small: Path) -> None:
    folder = rt.run(small).folder
    before = contents(folder)
    with (
        hold_folder(folder),
        pytest.raises(UnwritableFile, match="is in use by this process"),
    ):
        rt.run(small)
    assert contents(folder) == before
    assert rt.run(small).exit_code == 0


def test_the_lock_of_another_process_is_released_when_it_ends(small: Path) -> None:
    folder = rt.run(small).folder
    code = (
        "import sys, pathlib; from rectitude.experiment.store import hold_folder\n"
        "with hold_folder(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(rt.__file__).resolve().parents[1])}
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UnwritableFile, match=f"is in use by process {process.pid}"):
            rt.run(small)
        process.kill()
    assert rt.run(small).exit_code == 0


def full_disk(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Simulate a full disk for files of this name."""
    real = storing._catch_write_errors

    def attempt(where: Path, action: Any, *written: Path) -> None:
        def failing() -> None:
            target = [None, *getattr(action, "args", ())][-1]
            if isinstance(target, Path) and target.name == name:
                target.write_bytes(b"half")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            action()

        real(where, failing, *written)

    monkeypatch.setattr(storing, "_catch_write_errors", attempt)


@pytest.mark.parametrize(
    "name", ["log.parquet", "0-truth.parquet", "predictions.parquet", "done.json"]
)
def test_a_full_disk_is_reported_and_nothing_is_half_written(
    name: str, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        full_disk(small, patched, name)
        assert main(["run", str(small)]) == 2
        assert "No space left on device" in capsys.readouterr().err
    folder = small.parent / "runs" / "experiment"
    assert not (folder / "results.json").exists()
    assert not list(folder.rglob(".part-*"))
    for place in (folder / "stages").iterdir():
        told = json.loads((place / "done.json").read_text())
        assert set(told["files"]) == {path.name for path in place.iterdir()} - {"done.json"}
    assert rt.run(small).exit_code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_error_of_polars_is_reported() -> None:
    write_frame = storing.parquet_file(pl.DataFrame({"a": range(100_000)}))
    with pytest.raises(UnwritableFile, match="No space left on device"):
        storing._catch_write_errors(Path("a"), lambda: write_frame(Path("/dev/full")))


def test_unreadable_data_are_reported(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,timestamp\n1,,3\n")
    path = write(tmp_path, SMALL.replace("shop = { rows = 2_000 }", 'path = "log.csv"'))
    with pytest.raises(RectitudeError) as caught:
        rt.run(path)
    assert not isinstance(caught.value, UnwritableFile)
    (tmp_path / "log.csv").write_bytes(b"")
    with pytest.raises(UnreadableFile, match=r"log\.csv"):
        rt.run(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_without_disk_space_is_reported(small: Path) -> None:
    folder = small.parent / "runs" / "experiment"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").symlink_to("/dev/full")
    with pytest.raises(UnwritableFile, match=r"log\.jsonl cannot be written: No space left"):
        rt.run(small)


def test_a_folder_that_cannot_be_written_is_reported(small: Path) -> None:
    (small.parent / "runs").write_text("a file")
    with pytest.raises(UnwritableFile, match="cannot be written"):
        rt.run(small)


def test_unfinished_files_of_a_killed_run_are_removed(small: Path) -> None:
    folder = rt.run(small).folder
    before = contents(folder)
    (folder / "stages" / ".part-dead").mkdir()
    (folder / "stages" / ".part-dead" / "log.parquet").write_bytes(b"half")
    (folder / ".part-dead").write_bytes(b"half")
    rt.run(small)
    assert contents(folder) == before


def test_the_log_contains_events_with_times(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(small), "--log", "json"]) == 0
    told = capsys.readouterr()
    events = [json.loads(line) for line in told.err.splitlines() if line.startswith("{")]
    assert {"started", "done"} <= {event["event"] for event in events}
    assert all("time" in event for event in events)
    assert "item-knn" in told.out
    log = small.parent / "runs" / "experiment" / "log.jsonl"
    kept = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["stage"] for one in kept if one["event"] == "done"][-1] == "run"


def test_nothing_is_printed_during_a_run_without_a_terminal(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(small)]) == 0
    assert capsys.readouterr().err == ""


def test_a_search_resumes_with_its_finished_trials(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL + TUNED)
    whole = contents(rt.run(path, folder=tmp_path / "whole").folder)

    class Stop(BaseException):
        pass

    def stop(event: Any) -> None:
        if event["event"] == "done" and event["stage"].endswith("trial-1"):
            raise Stop

    with pytest.raises(Stop):
        rt.run(path, watchers=[stop])
    run, stages = done(path)
    assert "tune/tuned/trial-0" not in stages
    assert "tune/tuned/trial-3" in stages
    assert contents(run.folder) == whole


@pytest.mark.usefixtures("plugins")
def test_tuning_only_uses_the_validation_part(tmp_path: Path) -> None:
    own = '[models.mine]\npython = "experiments:Spied"\n[models.mine.tune]\ntrials = 3\n'
    run = rt.run(write(tmp_path, SMALL + own + "space = { first = [0, 5, 9] }\n"))
    assert run.exit_code == 0, run.failures
    key = next(
        one["key"]
        for one in json.loads((run.folder / "manifest.json").read_text())["stages"]
        if one["stage"] == "split"
    )
    parts = {
        path.stem[2:]: pl.read_parquet(path)
        for path in (run.folder / "stages" / key).glob("*.parquet")
    }
    *trials, last = Spied.fitted
    assert trials
    assert all(rows == set(parts["validation_train"]["row"]) for rows in trials)
    assert all(users == set(parts["validation_truth"]["user"]) for users in Spied.asked[:-1])
    assert last == set(parts["train"]["row"])
    assert not any(rows & set(parts["truth"]["row"]) for rows in Spied.fitted)


def test_every_trial_is_counted_and_the_best_is_used(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, SMALL + TUNED))
    tuned = run.results["models"]["tuned"]
    assert tuned["trials"] == 4
    search = tuned["runs"][0]["tuning"]
    best = max(search["trials"], key=lambda one: one["value"])
    assert search["trials"][search["best"]]["value"] == best["value"]
    assert tuned["runs"][0]["parameters"]["neighbours"] == search["parameters"]["neighbours"]
    assert run.results["models"]["popularity"]["trials"] == 0
    values = {one["value"] for one in search["trials"]}
    assert run.results["headline"]["tuned"]["ndcg@10"]["value"] not in values

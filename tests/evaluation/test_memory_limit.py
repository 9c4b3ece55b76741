"""Files larger than memory: what is cut, what is left behind, and what is refused."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import (
    BadArgument,
    BadSetting,
    BadTable,
    DuplicateItems,
    NothingToEvaluate,
    RectitudeError,
    UnreadableFile,
    UnwritableFile,
)
from rectitude.evaluation import inputs
from rectitude.evaluation.partitions import Hashes, Partitions, Ranges
from rectitude.evaluation.scratch import Scratch, open_scratch


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lists and truth of ten users, limits that they exceed, and a folder for temporary files."""
    monkeypatch.setattr(inputs, "LEAST_MEMORY", 1)
    monkeypatch.chdir(tmp_path)
    Path("scratch").mkdir()
    monkeypatch.setenv("RECTITUDE_SCRATCH", str(tmp_path / "scratch"))
    users = [user for user in range(10) for _ in range(3)]
    lists = pl.DataFrame({"user": users, "item": [0, 1, 2] * 10, "score": [3, 2, 1] * 10})
    lists.write_parquet("lists.parquet")
    lists.reverse().write_parquet("shuffled.parquet")
    pl.DataFrame({"user": range(10), "item": [1] * 10}).write_parquet("truth.parquet")
    return tmp_path


def test_sorted_lists_are_read_where_they_lie_and_others_are_hashed(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = []
    evaluate = Partitions.evaluate
    monkeypatch.setattr(
        Partitions, "evaluate", lambda self, plan: cuts.append(self.cut) or evaluate(self, plan)
    )
    for name in ("lists.parquet", "shuffled.parquet"):
        assert rt.evaluate(name, "truth.parquet", "mrr", memory=400)["mrr"] == 0.5
    assert isinstance(cuts[0], Ranges)
    assert isinstance(cuts[1], Hashes)
    assert all(cut.parts > 2 for cut in cuts)


def test_nothing_is_left_behind(files: Path) -> None:
    rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400)
    twice = pl.concat([pl.read_parquet("shuffled.parquet")] * 2)
    twice.write_parquet("twice.parquet")
    with pytest.raises(DuplicateItems):
        rt.evaluate("twice.parquet", "truth.parquet", "mrr", memory=400)
    assert list((files / "scratch").iterdir()) == []


KILLED = """
import os, signal, sys
import rectitude as rt
from rectitude.evaluation import inputs

inputs.LEAST_MEMORY = 1
calls = []

def count(done, of):
    calls.append(done)
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

rt.evaluate(sys.argv[1], "truth.parquet", "mrr", memory=400, progress=count)
"""


def kill_after(steps: int, lists: str) -> None:
    """Evaluate in a process that is killed after so many pieces and parts."""
    killed = subprocess.run([sys.executable, "-c", KILLED, lists, str(steps)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(Path("scratch").iterdir())) == 2  # the folder and its lock


@pytest.mark.parametrize("steps", [1, 4, 7])
@pytest.mark.parametrize("lists", ["lists.parquet", "shuffled.parquet", "lists.csv"])
def test_a_killed_run_goes_on_with_what_it_finished(
    lists: str, steps: int, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.read_parquet("lists.parquet").write_csv("lists.csv")
    in_memory = rt.evaluate(lists, "truth.parquet", "mrr")
    kill_after(steps, lists)
    finished = note_finished(monkeypatch)
    resumed = rt.evaluate(lists, "truth.parquet", "mrr", memory=400)
    left = len(finished)
    assert resumed == in_memory
    assert resumed.per_list().equals(in_memory.per_list())
    assert list(Path("scratch").iterdir()) == []
    assert rt.evaluate(lists, "truth.parquet", "mrr", memory=400) == in_memory
    assert len(finished) - left == left + steps


def note_finished(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with every piece and part that is finished from now on."""
    finished: list[str] = []

    def note(name: str) -> None:
        finish = getattr(Scratch, name)

        def finish_and_note(*given: object) -> object:
            finished.append(name)
            return finish(*given)

        monkeypatch.setattr(Scratch, name, finish_and_note)

    note("finish_piece")
    note("keep_state")
    return finished


@pytest.mark.parametrize("changed", ["predictions", "truth", "memory", "metrics"])
def test_nothing_is_reused_that_may_have_changed(changed: str, files: Path) -> None:
    kill_after(9, "shuffled.parquet")
    if changed == "predictions":
        pl.read_parquet("lists.parquet")[:27].write_parquet("shuffled.parquet")
    if changed == "truth":
        pl.DataFrame({"user": range(9), "item": [2] * 9}).write_parquet("truth.parquet")
    metric = "recall@1" if changed == "metrics" else "mrr"
    given = "shuffled.parquet", "truth.parquet", metric
    limit = 500 if changed == "memory" else 400
    assert rt.evaluate(*given, memory=limit) == rt.evaluate(*given)
    assert list(Path("scratch").iterdir()) == []


@pytest.mark.parametrize("how", ["removed", "cut", "changed"])
def test_what_was_damaged_since_a_run_was_killed_is_made_again(how: str, files: Path) -> None:
    """One file of every folder: rows, notes about pieces, and states of parts."""
    in_memory = rt.evaluate("shuffled.parquet", "truth.parquet", "mrr")
    kill_after(11, "shuffled.parquet")
    shutil.copytree("scratch", "kept")
    folders = {path.parent: path for path in Path("scratch/").glob("*/**/0*") if path.is_file()}
    assert len(folders) > 8
    for path in folders.values():
        shutil.rmtree("scratch")
        shutil.copytree("kept", "scratch")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        path.write_bytes(content[: len(content) // 2] if how == "cut" else content)
        if how == "removed":
            path.unlink()
        assert rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400) == in_memory


def test_temporary_files_that_vanish_during_an_evaluation_are_an_error(files: Path) -> None:
    def clean(done: int, of: int) -> None:
        for path in Path("scratch").glob("*/truth/0*"):
            shutil.rmtree(path)

    with pytest.raises(UnreadableFile, match=r"has 0 of [0-9] temporary files"):
        rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400, progress=clean)
    assert list(Path("scratch").iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_one(files: Path) -> None:
    kill_after(3, "lists.parquet")
    rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400)
    assert list(Path("scratch").iterdir()) == []


def test_two_runs_never_share_a_folder(files: Path) -> None:
    with open_scratch("same") as one, open_scratch("same") as other:
        assert one.folder != other.folder
        assert all(scratch.folder.is_dir() for scratch in (one, other))
    assert list(Path("scratch").iterdir()) == []


def test_a_folder_that_others_can_write_into_is_not_used(files: Path) -> None:
    planted = Path("scratch/rectitude-parts-same")
    planted.mkdir()
    planted.chmod(0o777)
    with open_scratch("same") as scratch:
        assert scratch.folder.name != planted.name


def test_a_disk_that_fills_up_is_named_and_nothing_is_left(files: Path) -> None:
    """A limit on the size of files makes the system refuse to write, as on a full disk."""
    pl.DataFrame({"user": range(5000), "item": [1] * 5000}).write_parquet("truth.parquet")
    command = (
        "import resource, rectitude as rt\n"
        "from rectitude.evaluation import inputs\n"
        "inputs.LEAST_MEMORY = 1\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "rt.evaluate('shuffled.parquet', 'truth.parquet', 'mrr', memory=100_000)"
    )
    full = subprocess.run(
        [sys.executable, "-c", command], check=False, capture_output=True, text=True
    )
    assert "UnwritableFile" in full.stderr
    assert "cannot be written: File too large" in full.stderr
    assert list(Path("scratch").iterdir()) == []


def test_a_missing_folder_for_temporary_files_is_named(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECTITUDE_SCRATCH", "nowhere")
    with pytest.raises(UnwritableFile, match="nowhere, the folder for temporary files"):
        rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("truth.parquet", "truth.parquet, the folder for temporary files, is no folder"),
        ("truth.parquet/x", "x, the folder for temporary files, does not exist"),
        ("~nobody-here", "~nobody-here, the folder for temporary files, does not exist"),
        ("x" * 5000, "does not exist"),
        pytest.param(
            "/proc", "/proc, the folder for temporary files, cannot be written",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="has no /proc"),
        ),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_hold_temporary_files_is_named(
    setting: str, message: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECTITUDE_SCRATCH", setting)
    with pytest.raises(UnwritableFile, match=message):
        rt.evaluate("shuffled.parquet", "truth.parquet", "mrr", memory=400)


@pytest.mark.parametrize("lists", ["lists.parquet", "shuffled.parquet", "lists.csv"])
def test_progress_counts_rows(lists: str, files: Path) -> None:
    pl.read_parquet("lists.parquet").write_csv("lists.csv")
    calls: list[tuple[int, int]] = []
    rt.evaluate(
        lists, "truth.parquet", "mrr", memory=400,
        progress=lambda done, of: calls.append((done, of)),
    )  # fmt: skip
    done = [rows for rows, _ in calls]
    assert done == sorted(done)
    assert len({of for _, of in calls}) == 1
    moved = 10 if lists == "lists.parquet" else 40  # the truth, and lists that are not sorted
    if lists != "lists.csv":  # how many rows a text has is an estimate
        assert calls[-1] == (moved + 40, moved + 40)
    assert done[-1] == calls[-1][1]


def test_a_damaged_line_is_named_by_its_number_in_the_whole_file(files: Path) -> None:
    lines = ["user,item,score", *(f"{n // 3},{n % 3},1" for n in range(300)), "oops,1"]
    Path("lists.csv").write_text("\n".join(lines))
    with pytest.raises(BadTable, match=r"lists\.csv, line 302 has 2 fields"):
        rt.evaluate("lists.csv", "truth.parquet", "mrr", memory=400)


def test_tables_without_a_common_user_are_refused_after_all_parts(files: Path) -> None:
    pl.DataFrame({"user": [77], "item": [1]}).write_parquet("others.parquet")
    with pytest.raises(NothingToEvaluate, match=r"no user of the truth \(1\) has predictions"):
        rt.evaluate("shuffled.parquet", "others.parquet", "mrr", memory=400)


def test_several_conventions_share_the_parts(files: Path) -> None:
    both = rt.evaluate(
        "shuffled.parquet", "truth.parquet", "ndcg@2", ["default", "recbole"], memory=400
    )
    assert [evaluation["ndcg@2"] for evaluation in both.values()] == [
        rt.evaluate("lists.parquet", "truth.parquet", "ndcg@2", name)["ndcg@2"]
        for name in ("default", "recbole")
    ]


def test_a_folder_of_files_is_one_table(files: Path) -> None:
    Path("parts").mkdir()
    lists = pl.read_parquet("lists.parquet")
    for number in range(3):
        lists[number * 10 : number * 10 + 10].write_parquet(f"parts/{number}.parquet")
    assert rt.evaluate("parts/*.parquet", "truth.parquet", "mrr", memory=400)["mrr"] == 0.5


@pytest.mark.parametrize("memory", [0, -5, True, 1.5])
def test_memory_is_a_size(memory: object, files: Path) -> None:
    with pytest.raises(BadArgument, match="memory is"):
        rt.evaluate("lists.parquet", "truth.parquet", "mrr", memory=memory)  # type: ignore[call-overload]
    with pytest.raises(BadSetting, match="memory is 'lots'"):
        rt.evaluate("lists.parquet", "truth.parquet", "mrr", memory="lots")


@pytest.mark.parametrize(
    "predictions",
    [
        {0: [1]},
        rt.Scores(np.ones((1, 2)), users=[0], items=[0, 1]),
        pl.DataFrame({"user": [0], "item": [1]}),
    ],
    ids=["dict", "scores", "frame"],
)
def test_memory_is_checked_also_where_nothing_is_read(predictions: object) -> None:
    for wrong in ("nope", "", "1e400GB", 0):
        with pytest.raises(RectitudeError, match="memory is"):
            rt.evaluate(predictions, {0: [1]}, "mrr", memory=wrong)
    sizes = ("1GB", 10**9, np.int64(10**9))
    assert {rt.evaluate(predictions, {0: [1]}, "hit@2", memory=m)["hit@2"] for m in sizes} == {1.0}


@pytest.mark.parametrize(("option", "message"), [("nope", "memory is 'nope'"), ("1", "least 1MB")])
def test_a_limit_is_checked_for_scores_by_row(
    option: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, rows = tmp_path / "numbers.txt", tmp_path / "rows.txt"
    scores.write_text("0.5\n0.2\n")
    rows.write_text("1 qid:7 1:0.5\n0 qid:7 1:0.1\n")
    command = ["evaluate", str(scores), "--truth", str(rows), "--metrics", "mrr"]
    assert main(command) == 0
    assert main([*command, "--memory", option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("lists", ["lists.parquet", "shuffled.parquet", "lists.csv"])
def test_a_limit_that_would_make_too_many_parts_is_refused_with_one_that_is_enough(
    lists: str, files: Path
) -> None:
    many = pl.DataFrame({"user": range(5000), "item": [1] * 5000, "score": [1.0] * 5000})
    many.write_csv("lists.csv")
    many.write_parquet("lists.parquet")
    many.reverse().write_parquet("shuffled.parquet")
    with pytest.raises(BadArgument, match=r"would be cut into [0-9,]+ parts") as refused:
        rt.evaluate(lists, "truth.parquet", "mrr", memory=400)
    enough = re.search("memory='(.*)'", refused.value.advice)
    assert enough is not None
    both = [rt.evaluate(lists, "truth.parquet", "mrr", memory=m) for m in (enough[1], None)]
    assert both[0] == both[1]
    assert list((files / "scratch").iterdir()) == []


@pytest.mark.parametrize("length", [70, 400])
def test_the_first_example_is_the_same_one_if_ids_are_long(length: int, files: Path) -> None:
    users = [f"{'cab'[number % 3] * length}{number}" for number in range(30)]
    lists = pl.DataFrame({"user": users, "item": ["tea"] * 30, "score": [1.0] * 30})
    lists.write_parquet("long.parquet")
    truth = pl.DataFrame({"user": users[:20], "item": ["rye"] * 20})
    truth.write_parquet("rye.parquet")
    both = [rt.evaluate("long.parquet", "rye.parquet", "p@5", memory=m) for m in (None, 200)]
    assert both[0].ledger == both[1].ledger
    assert both[0].ledger.entries["lists_short"].example[1] == "a"


def test_the_command_line_takes_a_limit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "evaluate lists.parquet --truth truth.parquet --metrics mrr --memory 1MB"
    assert main(command.split()) == 0
    assert "0.5" in capsys.readouterr().out


def test_empty_lists_that_are_named_count_whatever_the_limit(files: Path) -> None:
    lists = rt.Lists("lists.parquet", users=range(11))
    truth = pl.DataFrame({"user": range(11), "item": [1] * 11})
    truth.write_parquet("eleven.parquet")
    both = [
        rt.evaluate(lists, "eleven.parquet", "mrr", {"list_needed": "handed"}, memory=limit)
        for limit in (None, 400)
    ]
    assert both[0]["mrr"] == both[1]["mrr"] == 10 * 0.5 / 11


def test_too_many_values_to_slice_by_are_counted_over_all_parts(files: Path) -> None:
    people = pl.DataFrame({"user": range(60), "city": [f"c{user}" for user in range(60)]})
    people.write_parquet("users.parquet")
    lists = people.select("user", item=1, score=1.0)
    lists.write_parquet("lists.parquet")
    lists.select("user", "item").write_parquet("truth.parquet")
    with pytest.raises(BadArgument, match=r"'city' has at least 5[1-9] different values"):
        rt.evaluate(
            "lists.parquet", "truth.parquet", "mrr", users="users.parquet", slices="city",
            memory=900,
        )  # fmt: skip

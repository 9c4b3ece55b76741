"""`rectitude evaluate` with dense scores and logits: files, formats, errors and progress."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from cli_files import Run

import rectitude as rt
from rectitude.progress import show_progress

SCORES = np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]], np.float32)
# Relevant are item 1 of user 0 (rank 2) and item 0 of user 1 (rank 4).
LOGITS = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 3.0], [0.0, 1.0, 2.0]])
TARGETS = np.array([1, 1, 0, 2])  # ranks 1, 2, 3 (after its equal), 1


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the current one, with scores, logits, truth and masks."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.save("other.npy", -SCORES)
    np.savez("named.npz", scores=SCORES, users=["ann", "bob"], items=["a", "b", "c", "d"])
    np.save("logits.npy", LOGITS)
    np.save("better.npy", np.eye(3)[TARGETS])
    np.save("targets.npy", TARGETS)
    np.save("learned.npy", np.array([2, 2, 1]))
    texts = {
        "truth.csv": "user,item\n0,1\n1,0\n", "names.csv": "user,item\nann,b\nbob,a\n",
        "train.csv": "user,item\n0,0\n1,3\n", "rank.csv": "user,item,rank\n0,1,1\n0,0,2\n1,0,3\n",
        "offered.csv": "user,item\n0,1\n0,2\n1,3\n1,1\n", "lists.csv": "user,item,score\n0,1,1\n",
        "users.csv": "user\nann\nbob\n", "items.csv": "item,genre\na,x\nb,y\nc,x\nd,y\n",
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_text(text)
    return tmp_path


def values(said: Any) -> dict[str, float]:
    """The numbers of a command that printed JSON."""
    assert said.code == 0, said.err
    return {name: one["value"] for name, one in json.loads(said.out)["results"].items()}


def test_scores_are_evaluated_with_what_was_seen_masked(run: Run, files: Path) -> None:
    common = ("evaluate", "--scores", "scores.npy", "--truth", "truth.csv", "--metrics", "mrr")
    assert values(run(*common, "--json")) == {"mrr": (1 / 2 + 1 / 4) / 2}
    assert values(run(*common, "--json", "--train", "train.csv")) == {"mrr": (1 + 1 / 3) / 2}
    assert values(run(*common, "--json", "--seen", "train.csv")) == {"mrr": (1 + 1 / 3) / 2}
    both = (*common, "--json", "--train", "lists.csv", "--seen", "train.csv")
    assert values(run(*both)) == {"mrr": (1 + 1 / 3) / 2}
    seen = (*common, "--json", "--train", "train.csv", "--convention", "seen=kept")
    assert values(run(*seen)) == {"mrr": (1 / 2 + 1 / 4) / 2}
    table = run(*common, "--train", "train.csv")
    assert "| mrr    | 0.6667 |" in table.out
    assert "2 scores belong to items in the user's training data" in table.out
    assert table.err == ""


def test_the_values_are_those_of_the_library(run: Run, files: Path) -> None:
    said = run("evaluate", "--scores", "scores.npy", "--truth", "truth.csv", "--json",
               "--train", "train.csv", "--intervals")  # fmt: skip
    expected = rt.evaluate(rt.Scores(SCORES), "truth.csv", train="train.csv", intervals=True)
    stored = json.loads(said.out)
    assert stored["results"] == json.loads(expected.to_json())["results"]


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_rows_and_columns_are_named_by_files(run: Run, files: Path, form: str) -> None:
    common = ("evaluate", "--truth", "names.csv", "--metrics", "mrr", "--json")
    expected = {"mrr": (1 / 2 + 1 / 4) / 2}
    assert values(run(*common, "--scores", "named.npz")) == expected
    ids = {"users": ["ann", "bob"], "items": ["a", "b", "c", "d"]}
    for side, names in ids.items():
        if form == "parquet":
            pl.DataFrame({side[:-1]: names}).write_parquet(f"{side}.parquet")
        np.save(f"{side}.npy", names)
    named = ("--score-users", f"users.{form}", "--score-items", f"items.{form}")
    assert values(run(*common, "--scores", "scores.npy", *named)) == expected


def test_numbers_in_text_files_are_the_numbers_in_typed_ones(run: Run, files: Path) -> None:
    Path("numbers.csv").write_text("user\n10\n20\n")
    pl.DataFrame({"user": [10, 20], "item": [1, 0]}).write_parquet("truth.parquet")
    said = run("evaluate", "--scores", "scores.npy", "--score-users", "numbers.csv",
               "--truth", "truth.parquet", "--metrics", "mrr", "--json")  # fmt: skip
    assert values(said) == {"mrr": (1 / 2 + 1 / 4) / 2}


def test_truth_and_masks_may_be_sparse_matrices(run: Run, files: Path) -> None:
    sp.save_npz("truth.npz", sp.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 0]])))
    sp.save_npz("train.npz", sp.csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 1]])))
    sp.save_npz("offered.npz", sp.csr_array(np.array([[0, 1, 1, 0], [0, 1, 0, 1]])))
    common = ("evaluate", "--scores", "scores.npy", "--truth", "truth.npz", "--metrics", "mrr")
    assert values(run(*common, "--json", "--train", "train.npz")) == {"mrr": (1 + 1 / 3) / 2}
    assert values(run(*common, "--json", "--candidates", "offered.npz")) == {"mrr": 1 / 2}


def test_candidates_and_recorded_orders(run: Run, files: Path) -> None:
    common = ("evaluate", "--scores", "scores.npy", "--truth", "truth.csv", "--json",
              "--metrics", "mrr")  # fmt: skip
    assert values(run(*common, "--candidates", "offered.csv")) == {"mrr": 1 / 2}
    with_truth = ("--candidates", "offered.csv", "--convention", "candidates=with_truth")
    assert values(run(*common, *with_truth)) == {"mrr": (1 + 1 / 3) / 2}
    # Recorded ranks are final, even if some ranks are missing.
    assert values(run(*common, "--ranking", "rank.csv")) == {"mrr": (1 + 1) / 2}
    np.save("rank.npy", np.array([[1, 0], [3, 0]]))
    assert values(run(*common, "--ranking", "rank.npy")) == {"mrr": (1 + 1 / 2) / 2}


def test_several_files_are_shown_side_by_side(run: Run, files: Path) -> None:
    said = run("evaluate", "--scores", "scores.npy", "other.npy", "--truth", "truth.csv",
               "--metrics", "mrr")  # fmt: skip
    assert said.code == 0
    assert said.out.splitlines()[1].split() == ["|", "metric", "|", "scores", "|", "other", "|"]
    # Turned round, the ranks are 3 and 1.
    assert said.out.splitlines()[3].split() == ["|", "mrr", "|", "0.3750", "|", "0.6667*", "|"]


def test_logits_have_the_usual_metrics(run: Run, files: Path) -> None:
    said = run("evaluate", "--logits", "logits.npy", "--targets", "targets.npy", "--json")
    found = values(said)
    assert found == rt.evaluate(rt.Logits(LOGITS), TARGETS).values()
    assert list(found)[:3] == ["accuracy@1", "accuracy@5", "accuracy@10"]
    assert found["accuracy@1"] == 2 / 4
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4, rel=1e-15)


def test_baselines_are_shown_next_to_the_logits(run: Run, files: Path) -> None:
    common = ("evaluate", "--logits", "logits.npy", "better.npy", "--targets", "targets.npy",
              "--metrics", "accuracy@1", "--json", "--baselines")  # fmt: skip
    stored = json.loads(run(*common).out)["evaluations"]
    assert list(stored) == ["logits", "better", "majority of these targets", "random"]
    first = {name: one["results"]["accuracy@1"]["value"] for name, one in stored.items()}
    assert first["better"] == 1
    assert first["majority of these targets"] == 2 / 4  # two of four targets are class 1
    learned = json.loads(run(*common, "--train-targets", "learned.npy").out)["evaluations"]
    assert learned["majority"]["results"]["accuracy@1"]["value"] == 1 / 4  # class 2
    again = json.loads(run(*common).out)["evaluations"]
    assert again["random"]["results"] == stored["random"]["results"]


def test_the_next_location_profile_gives_percents(run: Run, files: Path) -> None:
    said = run("evaluate", "--logits", "logits.npy", "--targets", "targets.npy", "--json",
               "--convention", "next-location", "--metrics", "accuracy@1", "ndcg@10")  # fmt: skip
    plain = rt.evaluate(rt.Logits(LOGITS), TARGETS, ["accuracy@1", "ndcg@10"]).values()
    assert values(said) == {name: value * 100 for name, value in plain.items()}
    assert json.loads(said.out)["manifest"]["profile"] == "next-location"


def test_targets_outside_the_classes_are_reported(run: Run, files: Path) -> None:
    np.save("targets.npy", np.array([1, 1, 0, 7]))
    said = run("evaluate", "--logits", "logits.npy", "--targets", "targets.npy",
               "--metrics", "accuracy@1", "cross_entropy")  # fmt: skip
    assert said.code == 1  # the loss of such a target is infinite
    assert "1 of 4 targets are not among the classes" in said.out
    assert "! cross_entropy failed: " in said.out


@pytest.mark.parametrize("train", [("--train", "learned.npy"), ("--train-targets", "learned.npy")])
def test_logits_are_sliced_by_the_popularity_of_their_targets(
    run: Run, files: Path, train: tuple[str, ...]
) -> None:
    said = run("evaluate", *L, "--metrics", "accuracy@1", "--slices", "popularity:2", *train,
               "--json")  # fmt: skip
    # Class 2 was a target twice, class 1 once, and class 0 never.
    slices = json.loads(said.out)["slices"]["numbers"]
    assert {row["slice"]: (row["lists"], row["value"]) for row in slices} == {
        "all": (4, 0.5), "< 2": (2, 0.5), ">= 2": (1, 1.0), "not in train": (1, 0.0),
    }  # fmt: skip


def test_a_slice_of_logits_by_popularity_needs_the_training_targets(run: Run, files: Path) -> None:
    said = run("evaluate", *L, "--slices", "popularity:2")
    assert said.code == 2
    assert "it is unknown how popular each target is" in said.err
    assert "--train-targets FILE" in said.err


S = ("--scores", "scores.npy", "--truth", "truth.csv")
L = ("--logits", "logits.npy", "--targets", "targets.npy")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((), "BadArgument", "files with ranked lists, --scores, or --logits"),
        ((*S, *L), "BadArgument", "--scores and --logits were given"),
        ((*S, "--predictions", "lists.csv"),
         "BadArgument", "ranked lists and --scores were given"),
        (S[:2], "BadArgument", "both --scores and --truth"),
        (L[:2], "BadArgument", "both --logits and --targets"),
        ((*L, "--truth", "truth.csv"),
         "BadArgument", "--truth was given, but it does not apply to"),
        ((*L, "--score-users", "users.csv"), "BadArgument", "--score-users was given"),
        ((*L, "--train", "train.csv"), "BadArgument", "predictions are logits"),
        ((*L, "--candidates", "offered.csv"), "BadArgument", "predictions are logits"),
        ((*L, "--train-targets", "learned.npy"), "BadArgument", "without --baselines and"),
        ((*S, "--targets", "targets.npy"), "BadArgument", "--targets was given"),
        ((*S, "--baselines"), "BadArgument", "--baselines was given without --logits"),
        ((*S, "--candidates", "offered.csv", "--ranking", "rank.csv"),
         "BadArgument", "one of them"),
        (("--predictions", "lists.csv", "--truth", "truth.csv", "--ranking", "rank.csv"),
         "BadArgument", "predictions are lists"),
        (("--predictions", "lists.csv", "--truth", "truth.csv", "--score-items", "items.csv"),
         "BadArgument", "--score-items was given"),
        (("--scores", "none.npy", *S[2:]), "UnreadableFile", "none.npy does not exist"),
        (("--scores", "truth.csv", *S[2:]), "UnreadableFile", "is not a NumPy file"),
        (("--scores", "scores.npy", "--truth", "named.npz"), "UnreadableFile", "sparse matrix"),
        ((*L[:3], "named.npz"), "UnreadableFile",
         "named.npz contains 3 arrays: items, scores, users"),
        ((*S, "--score-items", "users.csv"), "BadTable", "has no item column"),
        ((*S, "--score-users", "items.csv"), "BadTable", "has no user column"),
        ((*S, "--train", "names.csv"), "BadIds", "user ids are integer"),
        ((*S, "--metrics", "accuracy@1", "--convention", "seen=lost"), "UnknownName", "'lost'"),
    ],
)  # fmt: skip
def test_bad_use_exits_2_says_why_and_writes_nothing(
    run: Run, files: Path, arguments: tuple[str, ...], kind: str, words: str
) -> None:
    before = {path.name for path in files.iterdir()}
    said = run("evaluate", *arguments, "--output", "out.txt")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {kind}: "), said.err
    assert words in said.err
    assert "Traceback" not in said.err
    assert {path.name for path in files.iterdir()} == before


def test_a_truncated_file_and_nan_are_named(run: Run, files: Path) -> None:
    whole = Path("scores.npy").read_bytes()
    Path("cut.npy").write_bytes(whole[:-4])
    said = run("evaluate", "--scores", "cut.npy", "--truth", "truth.csv")
    assert said.code == 2
    assert "cut.npy" in said.err and "truncated" in said.err
    np.save("holes.npy", np.array([[1.0, 2.0], [np.nan, np.nan]]))
    said = run("evaluate", "--scores", "holes.npy", "--truth", "truth.csv")
    assert said.code == 2
    assert (
        "1 of 2 rows" in said.err and "2 values in all (first: row 1, list 1, item 0)" in said.err
    )


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with show_progress("scores") as report:
        assert report is None
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with show_progress("the scores") as report:
        assert report is not None
        report(3, 7)
    assert "the scores" in terminal.getvalue()
    assert "3/7" in terminal.getvalue()
    said = run("evaluate", *S, "--metrics", "mrr", "--json")
    assert values(said) == {"mrr": (1 / 2 + 1 / 4) / 2}  # nothing of the bar in the output

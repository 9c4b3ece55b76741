"""`rectitude candidates`, and evaluations among what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli_files import Run

import rectitude as rt
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.candidate_sets.value import Candidates
from rectitude.data.log import open_log
from rectitude.evaluation.estimates import estimates
from rectitude.splits.split import Split


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the current one, with train, truth and two runs that score every item."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = [(f"u{u:02}", f"i{i:02}") for u in range(30) for i in random.choice(40, 8, False)]
    log = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    late = pl.Series(range(log.height)) % 4 == 0
    log.filter(~late).write_csv("train.csv")
    log.filter(late).write_csv("truth.csv")
    pairs = log.select(pl.col("user").unique().sort()).join(
        log.select(pl.col("item").unique().sort()), how="cross"
    )
    for name in ("a", "b"):
        score = pl.Series("score", random.normal(size=pairs.height))
        pairs.with_columns(score).write_csv(f"{name}.csv")
    return tmp_path


SPLIT = ("--train", "train.csv", "--truth", "truth.csv")


def drawn(**choices: object) -> Candidates:
    return sample_negatives(Split(open_log("train.csv"), open_log("truth.csv")), **choices)


def test_candidates_are_drawn_written_and_named(run: Run, parts: Path) -> None:
    said = run("candidates", *SPLIT, "--set", "count=9", "--seed", "3", "--output", "c.parquet")
    wanted = drawn(count=9, seed=3)
    assert said.code == 0, said.err
    assert said.out.startswith(f"sampled: {wanted.frame.height} rows for 30 users, {wanted.hash}\n")
    assert "each positive is ranked against 9 of 39 items" in said.out
    assert Candidates.load("c.parquet").hash == wanted.hash


def test_integers_of_any_width_match_and_text_is_not_a_number(run: Run, parts: Path) -> None:
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 3, 4]})
    log.write_csv("log.csv")
    log.write_parquet("log.parquet")
    truth = pl.DataFrame({"user": [1, 2], "item": [3, 1]})
    truth.cast({"user": pl.Int32, "item": pl.UInt64}).write_parquet("narrow.parquet")
    truth.cast(pl.String).write_parquet("text.parquet")
    given = ("candidates", "--set", "count=1", "--output", "c.parquet")
    assert run(*given, "--train", "log.csv", "--truth", "narrow.parquet").code == 0
    assert run(*given, "--train", "log.csv", "--truth", "text.parquet").code == 0
    said = run(*given, "--train", "log.parquet", "--truth", "text.parquet")
    assert said.code == 2
    assert "1 and '1' are different ids" in said.err


def test_json_says_how_they_were_made(run: Run, parts: Path) -> None:
    said = run("candidates", *SPLIT, "--protocol", "elliot", "--set", "num_items=5", "--json")
    told = json.loads(said.out)
    assert told["settings"]["kind"] == "elliot"
    assert told["rows"] == 30 * 5
    assert (told["seed"], len(told["hash"])) == (0, 16)


def test_a_folder_that_split_wrote_is_enough(run: Run, parts: Path) -> None:
    run("split", "train.csv", "--how", "random_ratio", "--set", "ratio=0.3", "--output", "folder")
    said = run("candidates", "folder", "--how", "train_items", "--output", "c.parquet")
    assert said.code == 0, said.err
    items = set(pl.read_parquet("folder/train.parquet")["item"])
    assert set(Candidates.load("c.parquet").frame["item"]) == items


def test_all_runs_rank_the_same_candidates_and_report_sampling(run: Run, parts: Path) -> None:
    run("candidates", *SPLIT, "--set", "count=9", "--output", "c.parquet")
    common = ("evaluate", "--truth", "truth.csv", "--candidates", "c.parquet", "--metrics", "mrr")
    said = run(*common, "--predictions", "a.csv", "b.csv", "--json")
    told = json.loads(said.out)["evaluations"]
    for name, one in told.items():
        wanted = rt.evaluate(f"{name}.csv", "truth.csv", "mrr", candidates=drawn(count=9))
        assert one["results"]["mrr"]["value"] == wanted["mrr"]
        assert one["manifest"]["inputs"]["candidates"]["hash"] == drawn(count=9).hash
        about = one["ledger"]["counts"]["lists_sampled"]["about"]
        assert "each positive is ranked against 9 of 39" in about
    assert "each positive is ranked against 9 of 39" in run(*common, "--predictions", "a.csv").out
    plain = run(*common, "--predictions", "a.csv", "--csv")
    assert "each positive is ranked against" not in plain.out
    assert "warning: a: 30 of 30 lists rank a sample" in plain.err


def test_estimates_are_shown_and_stored(run: Run, parts: Path) -> None:
    run("candidates", *SPLIT, "--set", "count=9", "--output", "c.parquet")
    common = ("evaluate", "--truth", "truth.csv", "--candidates", "c.parquet", "--estimate",
              "--predictions", "a.csv", "--metrics", "recall@5", "auc")  # fmt: skip
    wanted = estimates("a.csv", "truth.csv", "recall@5", candidates=drawn(count=9))["recall@5"]
    text = run(*common).out
    assert f"recall@5 = {wanted.value:.4f} +- {wanted.standard_error:.4f} (bias_variance)" in text
    assert "auc: no estimator for this metric" in text
    told = json.loads(run(*common, "--json").out)["manifest"]["estimates"]
    assert told["recall@5"]["value"] == wanted.value
    assert told["auc"] is None
    refused = run(*common, "--csv")
    assert (refused.code, refused.out) == (2, "")
    assert "--estimate is not available in csv output" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "count=41"), "only 39 items of the catalogue can be drawn"),
        (("--set", "cuont=9"), "did you mean 'count'"),
        (("--how", "sampeld"), "did you mean 'sampled'"),
        (("--protocol", "eliot"), "did you mean 'elliot'"),
        (("--how", "full", "--protocol", "elliot"), "--how and --protocol"),
        (("--how", "given"), "without --given"),
        (("--how", "full", "--set", "count=9"), "full candidates do not use it"),
        (("--given", "a.csv"), "sampled candidates do not use it"),
        (("folder",), "not both"),
    ],
)
def test_bad_use_is_explained_and_nothing_is_written(
    run: Run, parts: Path, arguments: tuple[str, ...], message: str
) -> None:
    said = run("candidates", *SPLIT, *arguments, "--output", "c.parquet")
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert not Path("c.parquet").exists()


def test_given_candidates_and_a_larger_catalogue_are_read_from_files(run: Run, parts: Path) -> None:
    Path("offered.tsv").write_text("u00\ti01\nu00\ti02\n")
    said = run("candidates", *SPLIT, "--how", "given", "--given", "headerless:offered.tsv")
    assert "2 rows for 1 users" in said.out
    assert "29 of 30 users of the truth have no candidates" in said.out
    assert "read offered.tsv as headerless (as requested" in said.read
    Path("items.csv").write_text("item\n" + "".join(f"i{n:02}\n" for n in range(60)))
    said = run("candidates", *SPLIT, "--how", "full", "--items", "items.csv")
    assert said.out.startswith("full: 60 shared items for 30 users")


def test_split_and_audit_take_a_format_with_a_file(run: Run, parts: Path) -> None:
    bare = "".join(Path("train.csv").read_text().splitlines(keepends=True)[1:])
    Path("bare.csv").write_text(bare)
    said = run("split", "headerless:bare.csv", "--how", "random_ratio", "--set", "ratio=0.5")
    assert "read bare.csv as headerless (as requested" in said.read
    assert said.code == 0, said.err
    said = run("audit", "--train", "headerless:bare.csv", "--truth", "truth.csv")
    assert "read bare.csv as headerless (as requested" in said.read


def test_one_part_alone_is_not_a_split(run: Run, parts: Path) -> None:
    assert "both --train and --truth" in run("candidates", "--train", "train.csv").err
    assert "a folder, or --train and --truth" in run("candidates").err


def test_slices_are_shown_next_to_all_lists(run: Run, parts: Path) -> None:
    truth = pl.read_csv("truth.csv")
    new = pl.DataFrame({"user": ["new", "u00"], "item": ["i01", "never"]})
    pl.concat([truth, new]).write_csv("truth.csv")
    common = ("evaluate", "--truth", "truth.csv", "--predictions", "a.csv", "--train", "train.csv",
              "--metrics", "recall@5", "--slices", "known")  # fmt: skip
    told = json.loads(run(*common, "--json").out)
    numbers = {n["slice"]: n for n in told["slices"]["numbers"]}
    assert list(numbers) == ["all", "warm", "unknown user", "unknown item", "both"]
    assert numbers["all"]["value"] == told["results"]["recall@5"]["value"]
    assert (numbers["unknown user"]["lists"], numbers["unknown user"]["value"]) == (1, 0.0)
    assert numbers["both"]["value"] is None
    assert "no list" in numbers["both"]["reason"]
    assert run(*common).code == 0
    assert "did you mean 'known'" in run(*common[:-1], "knwon").err
    assert "--slices is not available" in run(*common, "--format", "trec_eval").err
    assert "one of them" in run(*common, "--estimate").err
    two = (*common[:4], "b.csv", *common[4:])
    assert "slices" in json.loads(run(*two, "--json").out)["evaluations"]["a"]


def test_the_format_of_every_file_is_reported_with_a_reason(run: Run, parts: Path) -> None:
    said = run("evaluate", "--truth", "truth.csv", "--predictions", "a.csv", "b.csv", "--json")
    lines = said.read.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "read a.csv as csv", "read b.csv as csv", "read truth.csv as csv",
    ]  # fmt: skip
    told = json.loads(said.out)["evaluations"]["a"]["manifest"]["inputs"]["truth"]["format"]
    assert told.startswith("csv (")
    failing = run(
        "evaluate", "--truth", "truth.csv", "--predictions", "truth.csv", "--metrics", "x"
    )
    assert failing.err.startswith("error: ")


@pytest.mark.parametrize("verb", ["evaluate", "trace", "identify", "explain"])
def test_a_guess_can_be_overridden_before_the_name_of_a_file(
    run: Run, parts: Path, verb: str
) -> None:
    Path("bare.csv").write_text("u00,i01,3\nu01,i02,2\n")  # a guess would take line 1 for names
    named = {
        "evaluate": ("evaluate", "--predictions", "headerless:bare.csv", "--metrics", "mrr"),
        "trace": ("trace", "headerless:bare.csv", "--metric", "mrr", "--user", "u00"),
        "identify": ("identify", "headerless:bare.csv", "--metric", "mrr", "--value", "0.5"),
        "explain": ("explain", "headerless:bare.csv", "--metric", "mrr", "--second", "rectools"),
    }
    said = run(*named[verb], "--truth", "truth.csv")
    assert "read bare.csv as headerless (as requested" in said.read
    typo = [word.replace("headerless", "headerles") for word in named[verb]]
    assert "did you mean 'headerless'" in run(*typo, "--truth", "truth.csv").err

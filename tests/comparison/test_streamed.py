"""Values per list in Parquet files, compared part by part, give what evaluations in memory give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.comparison import streamed
from rectitude.errors import BadArgument, BadTable, NotComparable, UnknownName, UnreadableFile

USERS = 400
METRICS = ["ndcg@{5,10}", "mrr"]


@pytest.fixture(scope="module")
def evaluations() -> dict[str, rt.Evaluation]:
    """Three models; the users of one list have several lists in none."""
    rng = np.random.default_rng(2)
    truth = {f"u{n}": [f"i{i}" for i in rng.choice(60, 3, replace=False)] for n in range(USERS)}
    found = {}
    for name, share in (("poor", 0.1), ("fair", 0.2), ("good", 0.4)):
        lists = {
            user: [
                *dict.fromkeys([i for i in wanted if rng.random() < share]
                + [f"i{i}" for i in rng.choice(60, 8, replace=False)])
            ]
            for user, wanted in truth.items()
        }  # fmt: skip
        found[name] = rt.evaluate(lists, truth, METRICS)
    return found


@pytest.fixture
def files(evaluations: dict[str, rt.Evaluation], tmp_path: Path) -> dict[str, str]:
    """The evaluations as JSON, and their values as folders of parts in another order."""
    rng = np.random.default_rng(3)
    for name, evaluation in evaluations.items():
        evaluation.save(tmp_path / f"{name}.json")
        frame = evaluation.stored().frame()[rng.permutation(USERS)]
        folder = tmp_path / f"{name}.lists.parquet"
        folder.mkdir()
        for number, first in enumerate(range(0, USERS, 150)):
            frame[first : first + 150].write_parquet(folder / f"part-{number:03d}.parquet")
        (folder / "_SUCCESS").touch()
    return {name: str(tmp_path / f"{name}.json") for name in evaluations}


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let values be cut into many parts, and read in many pieces."""
    monkeypatch.setattr(streamed, "_PIECE", 64)
    monkeypatch.setattr(streamed, "memory_limit", lambda: 20_000)


@pytest.mark.parametrize("interval", ["t", "poisson"])
def test_parts_give_the_same_bits_as_evaluations_in_memory(
    evaluations: dict[str, rt.Evaluation], files: dict[str, str], in_parts: None, interval: Any
) -> None:
    options: dict[str, Any] = {"interval": interval, "resamples": 500, "margin": 0.01}
    for baseline in (None, "poor"):
        found = rt.compare(files, baseline=baseline, **options)
        expected = rt.compare(evaluations, baseline=baseline, **options)
        assert found.as_dict() == expected.as_dict()
    assert len(found.differences) == 6


def test_one_part_takes_every_test_and_interval(
    evaluations: dict[str, rt.Evaluation], files: dict[str, str]
) -> None:
    options: dict[str, Any] = {"test": "sign_flip", "interval": "bca", "resamples": 200}
    found = rt.compare(files, metrics="ndcg@10", **options)
    assert [*found.values] == ["ndcg@10"]
    assert found.of("ndcg@10", "good", "poor").p < 0.05
    expected = rt.compare(evaluations, metrics="ndcg@10", test="wilcoxon")
    assert rt.compare(files, metrics="ndcg@10", test="wilcoxon").as_dict() == expected.as_dict()


def test_tests_that_need_all_values_are_refused_in_parts(
    files: dict[str, str], in_parts: None
) -> None:
    with pytest.raises(BadArgument, match="test='wilcoxon' needs all values in memory"):
        rt.compare(files, test="wilcoxon")
    with pytest.raises(BadArgument, match="interval='bca' needs all values"):
        rt.compare(files, interval="bca")


def test_bare_values_are_compared_with_a_note(
    evaluations: dict[str, rt.Evaluation], files: dict[str, str], tmp_path: Path, in_parts: None
) -> None:
    (tmp_path / "good.json").unlink()
    folders = {name: tmp_path / f"{name}.lists.parquet" for name in files}
    found = rt.compare(folders, metrics=["ndcg@10"])
    expected = rt.compare(evaluations, metrics=["ndcg@10"])
    assert found.differences == expected.differences
    assert found["ndcg@10"] == pytest.approx(expected["ndcg@10"], rel=1e-15)
    assert "good: values per list without their evaluation" in found.notes[0]


def test_evaluations_in_memory_can_be_compared_with_files(
    evaluations: dict[str, rt.Evaluation], files: dict[str, str], in_parts: None
) -> None:
    mixed = {"poor": evaluations["poor"], "fair": files["fair"], "good": files["good"]}
    assert rt.compare(mixed).as_dict() == rt.compare(evaluations).as_dict()


def test_users_with_several_lists_have_their_mean(tmp_path: Path, in_parts: None) -> None:
    rng = np.random.default_rng(5)
    truth = pl.DataFrame({"q": range(300), "user": np.arange(300) // 3, "item": rng.choice(9, 300)})
    evaluations = {}
    for name in ("a", "b"):
        items = np.concatenate([rng.permutation(9)[:4] for _ in range(300)])
        lists = pl.DataFrame(
            {"q": np.repeat(range(300), 4), "user": np.repeat(np.arange(300) // 3, 4),
             "item": items, "rank": np.tile(range(4), 300)}
        )  # fmt: skip
        evaluations[name] = rt.evaluate(lists, truth, "mrr", list_key="q")
        evaluations[name].save(tmp_path / f"{name}.json", per_list="kept")
    found = rt.compare([tmp_path / f"{name}.lists.parquet" for name in evaluations])
    assert found.as_dict() == rt.compare(evaluations).as_dict()
    assert found.differences[0].users == 100


def test_a_part_that_was_written_twice_is_found(files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "good.lists.parquet"
    pl.read_parquet(folder / "part-001.parquet").write_parquet(folder / "part-001b.parquet")
    with pytest.raises(BadTable, match="good: 150 lists have several rows"):
        rt.compare(files)


def test_files_that_do_not_fit_are_named(files: dict[str, str], tmp_path: Path) -> None:
    part = tmp_path / "good.lists.parquet" / "part-001.parquet"
    pl.read_parquet(part).drop("mrr").write_parquet(part)
    with pytest.raises(UnreadableFile, match=r"part-001.parquet has other columns .*: mrr"):
        rt.compare(files)
    part.write_bytes(part.read_bytes()[:200])
    with pytest.raises(UnreadableFile, match=r"part-001.parquet"):
        rt.compare(files)


def test_values_of_another_evaluation_are_refused(
    evaluations: dict[str, rt.Evaluation], files: dict[str, str], tmp_path: Path
) -> None:
    part = tmp_path / "good.lists.parquet" / "part-000.parquet"
    evaluations["poor"].stored().write_lists(part)
    with pytest.raises(NotComparable, match="values of another evaluation than that of good"):
        rt.compare(files)


def test_other_users_are_counted_over_all_parts(
    files: dict[str, str], tmp_path: Path, in_parts: None
) -> None:
    part = tmp_path / "good.lists.parquet" / "part-002.parquet"
    pl.read_parquet(part)[:40].write_parquet(part)
    with pytest.raises(NotComparable, match="mrr has 60 users only in poor, 0 only in good"):
        rt.compare(files)
    assert rt.compare(files, allow=["users"]).of("mrr", "good", "poor").users == 340


def test_uses_that_files_cannot_follow_are_refused(files: dict[str, str]) -> None:
    with pytest.raises(BadArgument, match="by was given, but values per list are read"):
        rt.compare(files, by="gender")
    with pytest.raises(BadArgument, match="good has 2 runs"):
        rt.compare({"poor": files["poor"], "good": [files["good"], files["fair"]]})
    with pytest.raises(UnknownName, match="no model 'pool'"):
        rt.compare(files, baseline="pool")


def test_the_command_line_takes_files_and_folders(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(tmp_path / f"{name}.lists.parquet") for name in ("poor", "good")]
    assert main(["compare", *folders, "--metrics", "mrr", "--interval", "poisson"]) == 0
    printed = capsys.readouterr().out
    assert "good - poor" in printed
    assert "Poisson bootstrap" in printed

"""Values per list that are written to files: the rows of memory, whatever the limit, and nothing
left behind if that fails."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, MissingNeed, RectitudeError, UnwritableFile
from rectitude.evaluation import inputs

METRICS = ["mrr", "ndcg@2", "distinct_items@2"]


@pytest.fixture(params=[None, 400], ids=["in memory", "part by part"])
def limit(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> int | None:
    """Lists and truth of ten users, of whom one has neither, and a limit."""
    monkeypatch.setattr(inputs, "LEAST_MEMORY", 1)
    monkeypatch.chdir(tmp_path)
    Path("scratch").mkdir()
    monkeypatch.setenv("RECTITUDE_SCRATCH", str(tmp_path / "scratch"))
    users = [user for user in range(10) for _ in range(3)]
    lists = pl.DataFrame({"user": users, "item": [0, 1, 2] * 10, "score": [3, 2, 1] * 10})
    lists.reverse().write_parquet("lists.parquet")
    pl.DataFrame({"user": range(11), "item": [1, 2] * 5 + [0]}).write_parquet("truth.parquet")
    weights = {"user": range(11), "weight": [1.0, 2.0] * 5 + [1.0]}
    pl.DataFrame(weights).write_parquet("weights.parquet")
    return None if request.param is None else int(request.param)


def read(path: str) -> pl.DataFrame:
    """Return the written values, sorted."""
    file = Path(path)
    if file.suffix == ".csv":
        return pl.read_csv(path).sort("user")
    return pl.read_parquet(path if file.is_file() else f"{path}/*.parquet").sort("user")


@pytest.mark.parametrize("path", ["values.parquet", "values.csv", "values"])
def test_files_have_the_rows_of_memory(path: str, limit: int | None) -> None:
    given = "lists.parquet", "truth.parquet", METRICS
    held = rt.evaluate(*given)
    written = rt.evaluate(*given, per_list=path, memory=limit)
    assert written == held
    assert written.lists is None
    assert_frame_equal(read(path), held.per_list(), check_exact=True)
    assert list(Path("scratch").iterdir()) == []
    with pytest.raises(MissingNeed, match="per_list= wrote them to a file"):
        written.per_list()


def test_several_conventions_have_a_file_each_in_a_new_folder(limit: int | None) -> None:
    conventions = ["default", {"undefined": "zero", "gain": "exp2"}]
    given = "lists.parquet", "truth.parquet", METRICS
    held = rt.evaluate(*given, conventions)
    written = rt.evaluate(*given, conventions, per_list="values", memory=limit)
    assert {**written} == {**held}
    files = ["default, undefined=zero, gain=exp2.parquet".replace(" ", "_"), "default.parquet"]
    assert sorted(path.name for path in Path("values").iterdir()) == files
    for file, evaluation in zip(sorted(files, key=len), held.values(), strict=True):
        assert_frame_equal(read(f"values/{file}"), evaluation.per_list(), check_exact=True)
    assert {*map(str, Path.cwd().iterdir())} == {
        str(Path.cwd() / name)
        for name in ("lists.parquet", "truth.parquet", "weights.parquet", "scratch", "values")
    }


def test_a_file_beside_the_stored_evaluation_belongs_to_it(limit: int | None) -> None:
    given = "lists.parquet", "truth.parquet", ["mrr"]
    options = {"weights": "weights.parquet", "memory": limit}
    rt.evaluate(*given, **options, per_list="a.lists.parquet").save("a.json")
    loaded = rt.Evaluation.load("a.json")
    held = rt.evaluate(*given, weights="weights.parquet")
    assert_frame_equal(loaded.per_list().sort("user"), held.per_list(), check_exact=True)
    assert loaded.lists is not None
    assert loaded.lists.weights is not None


def test_a_metric_that_fails_has_no_column(limit: int | None) -> None:
    metrics = ["mrr", "average_popularity@2"]  # needs train=
    written = rt.evaluate(
        "lists.parquet", "truth.parquet", metrics, memory=limit, per_list="values.parquet"
    )
    assert [*written.failures] == ["average_popularity@2"]
    assert read("values.parquet").columns == ["user", "mrr"]


def test_values_by_user_are_those_of_their_lists(limit: int | None) -> None:
    lists = pl.read_parquet("lists.parquet")
    session = (pl.col("user") * 10 + pl.col("item") % 2).alias("session")
    lists.with_columns(session).write_parquet("lists.parquet")
    pl.read_parquet("truth.parquet").with_columns(session).write_parquet("truth.parquet")
    given = "lists.parquet", "truth.parquet", ["mrr"]
    options = {"list_key": "session", "convention": {"unit": "user"}}
    held = rt.evaluate(*given, **options)
    written = rt.evaluate(*given, **options, memory=limit, per_list="values.parquet")
    assert written == held
    values = pl.read_parquet("values.parquet").sort("list")
    assert_frame_equal(values, held.per_list(), check_exact=True)


@pytest.mark.parametrize("path", ["values.parquet", "values"])
def test_a_disk_that_fills_up_leaves_nothing(path: str, limit: int | None) -> None:
    """A limit on the size of files makes the system refuse to write, as on a full disk."""
    users = pl.DataFrame({"user": range(3000)})
    users.with_columns(item=pl.lit(1), score=pl.lit(1.0)).write_parquet("lists.parquet")
    users.with_columns(item=pl.lit(1)).write_parquet("truth.parquet")
    command = (
        "import resource, signal, rectitude as rt\n"
        "from rectitude.evaluation import inputs\n"
        "inputs.LEAST_MEMORY = 1\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))\n"
        f"rt.evaluate('lists.parquet', 'truth.parquet', 'mrr', memory={limit and 100_000},"
        f" per_list={path!r})"
    )
    full = subprocess.run(
        [sys.executable, "-c", command], check=False, capture_output=True, text=True
    )
    assert "UnwritableFile" in full.stderr
    assert "File too large" in full.stderr
    assert sorted(entry.name for entry in Path().iterdir()) == [
        "lists.parquet", "scratch", "truth.parquet", "weights.parquet",
    ]  # fmt: skip
    assert list(Path("scratch").iterdir()) == []


def test_a_killed_run_writes_all_values_when_it_goes_on(limit: int | None) -> None:
    command = (
        "import os, signal, rectitude as rt\n"
        "from rectitude.evaluation import inputs\n"
        "inputs.LEAST_MEMORY = 1\n"
        "def stop(done, of):\n"
        "    done > 0.8 * of and os.kill(os.getpid(), signal.SIGKILL)\n"
        f"rt.evaluate('lists.parquet', 'truth.parquet', {METRICS}, memory={limit},"
        " per_list='values.parquet', progress=stop)"
    )
    killed = subprocess.run([sys.executable, "-c", command], check=False)
    assert killed.returncode == -signal.SIGKILL
    given = "lists.parquet", "truth.parquet", METRICS
    rt.evaluate(*given, memory=limit, per_list="values.parquet")
    held = rt.evaluate(*given).per_list()
    assert_frame_equal(read("values.parquet"), held, check_exact=True)
    assert list(Path("scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "options", "kind", "found"),
    [
        ("values.json", {}, BadArgument, "whose ending is '.json'"),
        (7, {}, BadArgument, "per_list is 7"),
        ("values.parquet", {"convention": ["default", "recbole"]}, BadArgument, "several conv"),
        ("scratch/none/values.parquet", {}, UnwritableFile, "scratch/none is no folder"),
        (".", {}, UnwritableFile, "it has files in it"),
        ("values.parquet", {"metrics": "item_coverage@2"}, BadArgument, "item_coverage@2 has no"),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(
    path: object, options: dict[str, object], kind: type[RectitudeError], found: str,
    limit: int | None,
) -> None:  # fmt: skip
    with pytest.raises(kind, match=found):
        rt.evaluate(
            "lists.parquet", "truth.parquet", **{"metrics": "mrr", **options},
            per_list=path, memory=limit, train="truth.parquet",
        )  # type: ignore[call-overload]  # fmt: skip


def test_the_command_line_does_not_hold_them(
    limit: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECTITUDE_MEMORY", "1GB" if limit is None else "400")
    command = "evaluate lists.parquet --truth truth.parquet --metrics mrr --per-list values.parquet"
    assert main(command.split()) == 0
    held = rt.evaluate("lists.parquet", "truth.parquet", "mrr", memory="1GB").per_list()
    assert_frame_equal(read("values.parquet"), held, check_exact=True)

"""Every engine gives the values, ledger, manifest and values per list of one evaluation in memory,
bit by bit, also if a worker dies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

import rectitude as rt
from engines.cases import METRICS, Frames, cases, compare_roads, draw_tables, outcome
from engines.conftest import Move
from rectitude.candidate_sets.value import Candidates
from rectitude.cli import main
from rectitude.engines.given import unwrap
from rectitude.errors import BadArgument, BadIds, BadTable, MissingExtra, UnreadableFile

pytestmark = pytest.mark.filterwarnings("ignore")


@settings(max_examples=8)
@given(case=cases())
def test_an_engine_gives_what_memory_gives(move: Move, case: tuple[Frames, dict[str, Any]]) -> None:
    frames, options = case
    compare_roads(frames, move, **options)


def test_sessions_are_cut_by_user_so_that_users_can_be_averaged(move: Move) -> None:
    session = (pl.col("user") * 10 + pl.col("item") % 2).alias("session")
    tables = draw_tables(8)
    frames = {name: tables[name].with_columns(session) for name in ("predictions", "truth")}
    options = {"list_key": "session", "convention": {"unit": "user"}}
    compare_roads(frames, move, metrics=METRICS, **options)


def test_candidates_that_all_users_share(move: Move) -> None:
    tables = draw_tables(9)
    frames = {name: tables[name] for name in ("predictions", "truth")}
    shared = pl.DataFrame({"item": range(0, 40, 3)})
    compare_roads({**frames, "candidates": shared}, move, metrics=METRICS)


def test_stored_candidates_are_read_here_and_handed_to_every_part(
    engine: str, move: Move, tmp_path: Path
) -> None:
    tables = draw_tables(9)
    rows = tables["candidates"]
    value = Candidates(rows, rows["user"].unique(), {"kind": "given"})
    value.save(tmp_path / "candidates.parquet")
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    options = {"candidates": tmp_path / "candidates.parquet"}
    moved = outcome(*sides, METRICS, **options)
    assert moved == outcome(*sides, METRICS, engine="local", **options)


def test_a_worker_that_dies_changes_nothing(move: Move, tmp_path: Path) -> None:
    """The worker that comes first ends in the middle of its part; the engine starts another."""
    died, alive = tmp_path / "died", os.getpid()

    def end_once(lists: Any, k: int | None) -> Any:
        if os.getpid() != alive:
            try:
                os.close(os.open(died, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return rt.metrics.Ratio(lists.hits(k), lists.relevant)
            os._exit(1)
        return rt.metrics.Ratio(lists.hits(k), lists.relevant)

    rt.metric("ends once", formula="hits / relevant", reading="As recall.")(end_once)
    try:
        frames = {name: draw_tables(3)[name] for name in ("predictions", "truth")}
        compare_roads(frames, move, metrics=["end_once", *METRICS])
    finally:
        rt.METRICS.remove("end_once")
    assert died.exists()


def test_paths_are_read_by_the_engine(engine: str, tmp_path: Path) -> None:
    tables = draw_tables(4)
    for name in ("predictions", "truth", "train"):
        tables[name].write_parquet(tmp_path / f"{name}.parquet")
    sides = [str(tmp_path / f"{name}.parquet") for name in ("predictions", "truth")]
    options = {"train": str(tmp_path / "train.parquet")}
    moved = rt.evaluate(*sides, METRICS, engine=engine, **options)
    in_memory = rt.evaluate(*sides, METRICS, **options)
    assert moved.values() == in_memory.values()
    assert moved.per_list().equals(in_memory.per_list())
    assert moved.ledger.as_dict()["counts"] == in_memory.ledger.as_dict()["counts"]


def test_columns_are_named_as_for_any_frame(move: Move) -> None:
    tables = draw_tables(5)
    renamed = tables["predictions"].rename({"user": "who", "item": "what id", "score": "s"})
    lists = rt.Lists(move(renamed), user="who", item="what id", score="s")
    truth = move(tables["truth"])
    assert outcome(lists, truth, METRICS) == outcome(lists, truth, METRICS, engine="local")


def test_values_per_list_are_written_to_a_folder_by_the_workers(move: Move, tmp_path: Path) -> None:
    tables = draw_tables(6)
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    moved = rt.evaluate(*sides, METRICS, per_list=tmp_path / "values")
    in_memory = rt.evaluate(tables["predictions"], tables["truth"], METRICS)
    assert moved.lists is None
    assert moved.values() == in_memory.values()
    assert [path.name for path in tmp_path.iterdir()] == ["values"]
    written = pl.read_parquet(tmp_path / "values" / "*.parquet").sort("user")
    assert written.equals(in_memory.per_list().select(written.columns))


def test_values_under_several_conventions_have_a_file_each(move: Move, tmp_path: Path) -> None:
    tables = draw_tables(6)
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    both = ["default", "recbole"]
    held = rt.evaluate(tables["predictions"], tables["truth"], METRICS, both)
    moved = rt.evaluate(*sides, METRICS, both, per_list=tmp_path / "values")
    assert [one.values() for one in moved.values()] == [one.values() for one in held.values()]
    for name in both:
        written = pl.read_parquet(tmp_path / "values" / f"{name}.parquet").sort("user")
        assert written.equals(held[name].per_list().select(written.columns))


def test_sessions_whose_empty_lists_are_named_are_refused(move: Move) -> None:
    session = (pl.col("user") * 10).alias("session")
    tables = [draw_tables(6)[name].with_columns(session) for name in ("predictions", "truth")]
    lists, truth = map(move, tables)
    with pytest.raises(BadArgument, match="identified by 'session'"):
        rt.evaluate(rt.Lists(lists, users=[10, 70]), truth, "mrr", list_key="session")


def test_the_command_line_names_the_engine(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = draw_tables(6)
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("predictions", "truth")}
    for name, path in paths.items():
        tables[name].write_parquet(path)
    command = ["evaluate", paths["predictions"], "--truth", paths["truth"], "--metrics", "ndcg@3"]
    assert main([*command, "--csv"]) == 0
    expected = capsys.readouterr().out
    assert main([*command, "--csv", "--engine", engine]) == 0
    assert capsys.readouterr().out == expected


def test_a_path_that_cannot_be_read_is_named(engine: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"no such format")
    for path in (tmp_path / "missing.parquet", damaged):
        with pytest.raises(UnreadableFile, match=path.name):
            rt.evaluate(path, path, "mrr", engine=engine)


def test_a_format_cannot_be_named_for_an_engine() -> None:
    with pytest.raises(BadArgument, match="read by an engine"):
        unwrap(rt.Lists("recs.run", format="trec"))


def test_whole_lists_in_a_row(move: Move) -> None:
    rows = {"user": [1, 2, 3], "item": [[5, 6], [6], [7, 5, 6]]}
    lists, truth = pl.DataFrame(rows), pl.DataFrame({"user": [1, 2, 3], "item": 6})
    moved = rt.evaluate(move(lists), move(truth), "mrr")["mrr"]
    assert moved == rt.evaluate(lists, truth, "mrr")["mrr"]


def test_lists_without_an_order_are_refused(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = move(tables["predictions"].drop("score")), move(tables["truth"])
    with pytest.raises(BadTable, match="neither rank nor score"):
        rt.evaluate(lists, truth, "mrr")


def test_errors_of_workers_are_those_of_memory(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = tables["predictions"], tables["truth"]
    late = pl.DataFrame({"user": [None], "item": [1], "score": [1.0]}, schema=lists.schema)
    many = lists.select("user").unique().join(pl.DataFrame({"item": range(40)}), how="cross")
    many = many.with_columns(score=pl.lit(1.0))  # the late row is behind those looked at first
    with pytest.raises(BadIds, match="have no user"):
        rt.evaluate(move(pl.concat([many, late])), move(truth), "mrr")
    with pytest.raises(BadIds):
        rt.evaluate(move(lists), move(truth.cast({"user": pl.String})), "mrr")


def test_an_error_under_one_convention_is_kept_with_it(move: Move) -> None:
    tables = draw_tables(5)
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    found = rt.evaluate(*sides, "mrr", ["default", {"ties": "error"}])
    assert [len(evaluation.failures) for evaluation in found.values()] == [0, 1]


def test_nothing_in_common_is_reported_as_in_memory(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = tables["predictions"], tables["truth"]
    for other in ("item", "user"):
        moved = truth.with_columns(pl.col(other) + 1000)
        compare_roads({"predictions": lists, "truth": moved}, move, metrics=METRICS)


def test_other_tables_must_be_those_of_the_engine(move: Move) -> None:
    tables = draw_tables(5)
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    with pytest.raises(BadArgument, match="train is of type DataFrame"):
        rt.evaluate(*sides, "mrr", train=tables["train"])


@pytest.mark.parametrize("name", ["spark", "ray"])
def test_a_missing_package_is_named_with_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rectitude.evaluation.engines.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=rf"pip install 'rectitude\[{name}\]'"):
        rt.evaluate("lists.parquet", "truth.parquet", "mrr", engine=name)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(BadArgument, match="'spark', 'ray'"):
        rt.evaluate({"ann": ["a"]}, {"ann": ["a"]}, "mrr", engine="flink")

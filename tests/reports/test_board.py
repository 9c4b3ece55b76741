"""The board ranks what can be compared, says why the rest cannot, and works in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opened import HOSTILE, Opened

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import NothingToEvaluate, UnreadableFile
from rectitude.reports.board import BoardTable, collect, group

METRICS = ["ndcg@10", "recall@10", "mrr"]
USAGE = {"key": "0" * 24, "seconds": 150.2, "cpu_seconds": 1.5, "peak_bytes": 2_340_000_000,
         "energy_kwh": 0.002}  # fmt: skip
EXPERIMENT: dict[str, Any] = {
    "data": {"shop": {"rows": 1500}}, "audit": {"mode": "off"}, "explain": {"mode": "off"},
    "report": {"mode": "off"}, "models": {"popularity": {}, "item-knn": {}},
    "evaluate": {"metrics": ["ndcg@10"]},
}  # fmt: skip


def lists(seed: int, share: float) -> dict[str, list[str]]:
    """Lists that hit a share of the truth."""
    rng = np.random.default_rng(seed)
    return {
        user: [i for i in wanted if rng.random() < share] + [f"x{n}" for n in rng.permutation(8)]
        for user, wanted in TRUTH.items()
    }


TRUTH = {f"u{n}": [f"i{n % 7}", f"i{n % 5 + 7}"] for n in range(150)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of three people: evaluations of several kinds, and a run."""
    root = tmp_path_factory.mktemp("results")
    for person in ("ann", "ben", "cid"):
        (root / person).mkdir()
    for nth, (name, share) in enumerate((("poor", 0.3), ("fair", 0.32), ("good", 0.7))):
        rt.evaluate(lists(nth, share), TRUTH, METRICS).save(root / "ann" / f"{name}.zip")
    evaluation = rt.evaluate(lists(9, 0.5), TRUTH, METRICS[:2], intervals=True)
    evaluation.save(root / "ben" / "bare.json")
    shutil.copy(root / "ann" / "good.zip", root / "ben" / "good.zip")
    rt.evaluate(lists(1, 0.5), TRUTH, METRICS, "recbole").save(root / "ben" / "recbole.zip")
    other = {user: wanted[:1] for user, wanted in TRUTH.items()}
    rt.evaluate(lists(1, 0.5), other, METRICS).save(
        root / "cid" / f"{HOSTILE.replace('/', '')}.zip"
    )
    (root / "cid" / "notes.json").write_text('{"format": "mine"}', encoding="utf-8")
    rt.run(EXPERIMENT, folder=root / "cid" / "run", progress="quiet")
    stages = [{"stage": f"models/{name}", **USAGE} for name in ("popularity", "item-knn")]
    document = {"format": "rectitude.resources", "version": 1, "stages": stages}
    (root / "cid" / "run" / "resources.json").write_text(json.dumps(document), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def tables(folder: Path) -> list[BoardTable]:
    return group(collect(folder)[0])


@pytest.fixture(scope="module")
def page_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rt.board(folder, tmp_path_factory.mktemp("page") / "board.html", title="Spring & co")


@pytest.fixture
def shown(browser: Any, page_file: Path) -> Iterator[Any]:
    one = Opened(browser, page_file, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield one
    one.context.close()


def test_results_are_found_in_all_folders_and_others_named(folder: Path) -> None:
    entries, left_out = collect(folder)
    sources = [entry.source for entry in entries]
    assert sources.count("cid/run") == 2
    assert {"ann/poor.zip", "ben/bare.json", "ben/good.zip"} <= {*sources}
    assert left_out == {"cid/notes.json": "it contains no evaluation"}
    assert collect(folder / "cid" / "run")[0][0].model == "popularity"


def test_tables_hold_one_truth_and_one_definition_of_each_metric(tables: list[BoardTable]) -> None:
    assert [len(table.entries) for table in tables] == [5, 2, 1, 1]
    for table in tables:
        assert len({(entry.truth, entry.candidates) for entry in table.entries}) == 1
        for name in table.results:
            results = [entry.evaluation.results.get(name) for entry in table.entries]
            assert len({one.fingerprint for one in results if one is not None}) == 1
    assert tables[0].labels == [
        "fair",
        "good (ann/good.zip)",
        "poor",
        "bare",
        "good (ben/good.zip)",
    ]


def test_tables_say_why_they_are_apart_and_what_would_help(tables: list[BoardTable]) -> None:
    first, run, *others = tables
    assert first.why_apart == []
    assert "ids that are numbers or text" in run.why_apart[0]
    alone = next(table for table in others if table.conventions == "default")
    assert alone.why_apart[0].startswith("Table 1: another truth. No convention makes them")
    by_convention = next(table for table in others if table.conventions.startswith("recbole"))
    reason = by_convention.why_apart[0]
    assert "another definition of" in reason
    assert "ndcg@10" in reason
    assert "evaluate under default, the convention of table 1" in reason


def test_candidates_keep_tables_apart(tmp_path: Path) -> None:
    items = {"user": [*TRUTH] * 12, "item": [f"i{n}" for n in range(12) for _ in TRUTH]}
    for name, given in (("all", None), ("drawn", items)):
        evaluation = rt.evaluate(lists(0, 0.5), TRUTH, "mrr", candidates=given)
        evaluation.save(tmp_path / f"{name}.json")
    one, other = group(collect(tmp_path)[0])
    assert one.entries[0].candidates != other.entries[0].candidates
    assert other.why_apart == [
        "Table 1: other candidates. Rank the same candidates for all models."
    ]


def test_numbers_ranks_intervals_and_tests_are_those_of_compare(shown: Any, folder: Path) -> None:
    stored = json.loads(shown.page.locator("script#board").text_content())
    rows = {(row["model"], row["source"]): row for row in stored["tables"][0]["rows"]}
    models = {name: rt.load(folder / "ann" / f"{name}.zip") for name in ("poor", "fair", "good")}
    expected = rt.compare({**models, "same": models["good"]}, metrics="ndcg@10", baseline="good")
    for name in ("poor", "fair"):
        cell = rows[name, f"ann/{name}.zip"]["cells"][0]
        assert cell["p"] == pytest.approx(expected.of("ndcg@10", name).corrected)
        assert cell["apart"]
        assert (cell["low"], cell["high"]) == pytest.approx(expected.intervals["ndcg@10"][name])
    best = rows["good", "ann/good.zip"]["cells"][0]
    assert (best["rank"], best["apart"]) == (1, False)
    assert rows["good", "ben/good.zip"]["cells"][0]["rank"] == 1
    bare = rows["bare", "ben/bare.json"]["cells"]
    assert bare[0]["low"] is not None
    assert (bare[0]["p"], bare[2]) == (None, None)


def test_it_opens_from_disk_and_asks_nobody_for_anything(shown: Any, page_file: Path) -> None:
    shown.page.wait_for_timeout(100)
    assert shown.asked == [page_file.as_uri()]
    assert shown.said == []
    assert shown.page.title() == "Spring & co"


def column(page: Any, number: int) -> list[str]:
    cells = f"#table-1 tbody tr > :nth-child({number})"
    return [text.split("\n")[0].rstrip("†") for text in page.locator(cells).all_inner_texts()]


def test_it_starts_with_the_best_and_a_click_sorts_by_another_column(shown: Any) -> None:
    page = shown.page
    values = [float(text) for text in column(page, 3)]
    assert values == sorted(values, reverse=True)
    assert column(page, 1) == ["1", "1", "3", "4", "5"]
    page.click("#table-1 thead th:nth-child(5) button")
    falling = column(page, 5)
    assert falling[:-1] == sorted(falling[:-1], reverse=True)
    assert falling[-1] == "–"  # no value comes last
    assert column(page, 1)[-1] == "–"
    page.click("#table-1 thead th:nth-child(5) button")
    assert column(page, 5)[:-1] == falling[:-1][::-1]
    assert column(page, 5)[-1] == "–"
    page.click("#table-1 thead th:nth-child(2) button")
    assert column(page, 2) == ["bare", "fair", "good", "good", "poor"]


def test_finding_a_person_hides_the_others(shown: Any) -> None:
    shown.page.fill("#filter", "ben/")
    assert shown.page.locator("#table-1 tbody tr:visible").count() == 2
    shown.page.fill("#filter", "")
    assert shown.page.locator("#table-1 tbody tr:visible").count() == 5


def test_runs_show_what_they_took(shown: Any) -> None:
    row = shown.page.locator("#table-2 tbody tr").first.inner_text()
    assert "2 min 30 s" in row
    assert "2.34 GB" in row
    assert "2 Wh" in row
    assert shown.page.locator("#table-1 thead", has_text="Time").count() == 0


def test_names_that_are_scripts_show_as_text(shown: Any, page_file: Path) -> None:
    assert shown.page.locator("th script, td script").count() == 0
    assert not any("dialog" in one for one in shown.said)
    assert "<script>alert" not in page_file.read_text("utf-8")


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_nothing_overflows_whatever_the_width(browser: Any, page_file: Path, width: int) -> None:
    one = Opened(browser, page_file, viewport={"width": width, "height": 844})
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= width
    one.context.close()


def test_a_dark_desktop_gets_a_dark_page_and_the_button_turns_it(
    browser: Any, page_file: Path
) -> None:
    one = Opened(browser, page_file, color_scheme="dark")
    paper = "() => getComputedStyle(document.body).backgroundColor"
    dark = one.page.evaluate(paper)
    assert max(int(n) for n in dark.removeprefix("rgb(").rstrip(")").split(",")) < 60
    one.page.click("#theme")
    assert one.page.evaluate(paper) != dark
    one.context.close()


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToEvaluate, match="contains no stored evaluation or run"):
        rt.board(tmp_path)
    with pytest.raises(UnreadableFile, match="is not a folder"):
        rt.board(tmp_path / "missing")
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(NothingToEvaluate, match=r"bad\.zip"):
        rt.board(tmp_path)


def test_the_command_line_writes_the_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.html"
    assert main(["board", str(folder), "--output", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"board": str(path)}
    assert path.stat().st_size > 10_000
    assert main(["board", str(tmp_path / "missing")]) == 2

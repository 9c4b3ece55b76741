"""`board`: one page with the stored results of several people, ranked where they can be compared.

Numbers are ranked together only if they were counted in the same way: the same truth, the same
candidates and the same definition, each by its fingerprint. Everything else gets a table of its
own, and the page says why, and under which convention it could be compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from rectitude._version import __version__
from rectitude.aggregate.evaluation import Evaluation, Result, attach_lists, from_dict
from rectitude.aggregate.stored import read_values
from rectitude.comparison.compare import compare
from rectitude.comparison.improvement import find_differences
from rectitude.comparison.opening import load_evaluations
from rectitude.errors import NothingToEvaluate, RectitudeError, UnreadableFile
from rectitude.metrics import METRICS
from rectitude.reports.content import ModelUsage
from rectitude.reports.headline import digits
from rectitude.reports.page import embed_json, page_template, read_asset
from rectitude.reports.runs import read_run, read_usage
from rectitude.storage import write_text

_RUN = "results.json"
_KINDS = (".json", ".zip")
_MOST_TESTED = 50
"""the most models of a table whose differences are tested"""
_ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class BoardEntry:
    """One evaluation on the board."""

    model: str
    source: str
    """the path of its file or run in the folder"""
    evaluation: Evaluation
    usage: ModelUsage | None = None

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the evaluation was made from."""
        inputs: Mapping[str, Any] = self.evaluation.manifest.get("inputs", {})
        return inputs

    @property
    def truth(self) -> str:
        """The fingerprint of the truth; empty if it is not known."""
        return str(self.inputs.get("truth", {}).get("fingerprint", ""))

    @property
    def candidates(self) -> str:
        """A fingerprint of the candidates; empty for all items."""
        offered = self.inputs.get("candidates")
        if not offered:
            return ""
        return hashlib.blake2b(
            json.dumps(offered, sort_keys=True).encode(), digest_size=6
        ).hexdigest()

    @property
    def convention(self) -> str:
        """The name of the convention."""
        return str(self.evaluation.manifest.get("profile", "default"))


@dataclass(eq=False)
class BoardTable:
    """Evaluations that can be compared: every metric that they share is defined the same way."""

    entries: list[BoardEntry]
    why_apart: list[str] = field(default_factory=list)
    """why they cannot be compared with other tables, and what would change that"""

    def takes(self, entry: BoardEntry) -> bool:
        """Return whether an evaluation can be compared with those of the table."""
        first = self.entries[0]
        if not entry.truth or (entry.truth, entry.candidates) != (first.truth, first.candidates):
            return False
        return all(
            result.fingerprint == self.results[name].fingerprint
            for name, result in entry.evaluation.results.items()
            if name in self.results
        )

    def add(self, entry: BoardEntry) -> None:
        """Add an evaluation that the table takes."""
        self.entries.append(entry)
        self.__dict__.pop("results", None)

    @cached_property
    def results(self) -> dict[str, Result]:
        """One result of each metric, for its definition."""
        found: dict[str, Result] = {}
        for entry in self.entries:
            found = {**entry.evaluation.results, **found}
        return found

    @property
    def conventions(self) -> str:
        """The names of the conventions, of which there can be several for the same definitions."""
        return ", ".join(dict.fromkeys(entry.convention for entry in self.entries))

    @cached_property
    def labels(self) -> list[str]:
        """A name for each evaluation that no other has."""
        models = [entry.model for entry in self.entries]
        return [
            entry.model if models.count(entry.model) == 1 else f"{entry.model} ({entry.source})"
            for entry in self.entries
        ]


def board(
    folder: str | PathLike[str], path: str | PathLike[str] = "board.html", *, title: str = ""
) -> Path:
    """Write a page that ranks the stored evaluations and runs of a folder, and return its path.

    Evaluations (JSON or zip) and folders of runs are found in all subfolders. They are grouped by
    truth, candidates and definitions, and ranked only within a group; the page says what keeps
    groups apart. Where values per list are stored, intervals and tests against the best model are
    shown. Files that are no results are listed with the reason.
    """
    where = Path(folder)
    entries, left_out = collect(where)
    if not entries:
        reasons = "; ".join(f"{name}: {why}" for name, why in [*left_out.items()][:3])
        raise NothingToEvaluate(
            f"{where} contains no stored evaluation or run{f' ({reasons})' if reasons else ''}.",
            "files written by Evaluation.save or rectitude evaluate --output, or folders of runs.",
        )
    write_text(path, render(group(entries), left_out, title or f"Board of {where.resolve().name}"))
    return Path(path)


def collect(folder: Path) -> tuple[list[BoardEntry], dict[str, str]]:
    """Return the evaluations in a folder, and why other files were left out."""
    if not folder.is_dir():
        raise UnreadableFile(f"{folder} is not a folder.", "a folder with stored results.")
    entries: list[BoardEntry] = []
    left_out: dict[str, str] = {}
    for path in _find_results(folder):
        name = path.relative_to(folder).as_posix()
        try:
            found = [*_open(path, name if name != "." else folder.resolve().name)]
        except RectitudeError as error:
            left_out[name] = error.found
            continue
        if not found:
            left_out[name] = "it contains no evaluation"
        entries += found
    return entries, left_out


def _find_results(folder: Path) -> Iterator[Path]:
    """Yield the folders of runs, and the JSON and zip files outside of them, sorted by name."""
    if (folder / _RUN).is_file():
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _find_results(path)
        elif path.is_file() and path.suffix.lower() in _KINDS:
            yield path


def _open(path: Path, source: str) -> Iterator[BoardEntry]:
    if path.is_dir():
        yield from _open_run(path, source)
        return
    for name, evaluation in (load_evaluations(path) or {}).items():
        yield BoardEntry(name or path.stem, source, evaluation)


def _open_run(folder: Path, source: str) -> Iterator[BoardEntry]:
    """Yield every model of a run, on every split."""
    results, usages = read_run(folder), {one.model: one for one in read_usage(folder)}
    for model, facts in results["models"].items():
        for run in facts["runs"]:
            evaluation = from_dict(run["evaluation"], f"{source}: {model}")
            values = folder / run["values"]
            if values.is_file():
                evaluation = attach_lists(evaluation, read_values(values, str(values)))
            label = f"{model}, {run['split']}" if run["split"] else model
            several = len(facts["runs"]) > 1  # what all splits took is not that of one
            yield BoardEntry(label, source, evaluation, None if several else usages.get(model))


def group(entries: Sequence[BoardEntry]) -> list[BoardTable]:
    """Return tables of evaluations that can be compared, the largest first, and say what keeps
    each apart from the others."""
    tables: list[BoardTable] = []
    for entry in entries:
        table = next((table for table in tables if table.takes(entry)), None)
        if table is None:
            tables.append(BoardTable([entry]))
        else:
            table.add(entry)
    tables.sort(key=lambda table: -len(table.entries))
    for number, table in enumerate(tables):
        table.why_apart = [
            _explain(table, other, nth) for nth, other in enumerate(tables[:number], 1)
        ]
    return tables


def _explain(table: BoardTable, other: BoardTable, number: int) -> str:
    """Say why two tables cannot be compared, and what would change that."""
    one, first = table.entries[0], other.entries[0]
    if not one.truth or not first.truth:
        return f"Table {number}: it is not known whether the truth is the same; evaluate again."
    schemes = [entry.truth.partition(":")[0] for entry in (first, one)]
    if schemes[0] != schemes[1]:
        ways = " and ".join(schemes)
        return (
            f"Table {number}: the truths were identified in different ways, {ways} (ids that are "
            "numbers or text, or another release of Polars). Evaluate all with ids of one type and "
            "the same release."
        )
    if one.truth != first.truth:
        return (
            f"Table {number}: another truth. No convention makes them comparable: evaluate against "
            "the same truth."
        )
    if one.candidates != first.candidates:
        return f"Table {number}: other candidates. Rank the same candidates for all models."
    changes = _find_changes(table, other)
    return (
        f"Table {number}: another definition of {'; '.join(changes)}. To compare, evaluate under "
        f"{other.conventions}, the convention of table {number}."
    )


def _find_changes(table: BoardTable, other: BoardTable) -> list[str]:
    """Return the metrics that two tables define differently, grouped by what differs."""
    names: dict[str, list[str]] = {}
    for name in (name for name in table.results if name in other.results):
        changed = find_differences(other.results[name], table.results[name])
        if changed:
            names.setdefault(", ".join(changed), []).append(name)
    return [f"{', '.join(metrics)} ({what})" for what, metrics in names.items()]


def render(tables: Sequence[BoardTable], left_out: Mapping[str, str], title: str) -> str:
    """Return the board as HTML."""
    shown = [_describe_table(table, number) for number, table in enumerate(tables, 1)]
    html: str = page_template("board.html").render(
        title=title, version=__version__, tables=shown, left_out=left_out,
        entries=sum(len(table.entries) for table in tables),
        style=read_asset("page.css") + read_asset("board.css"), script=read_asset("board.js"),
        data=embed_json({"format": "rectitude.board", "version": 1, "tables": shown}),
    )  # fmt: skip
    return html


def _describe_table(table: BoardTable, number: int) -> dict[str, Any]:
    """Return everything that the page shows of a table."""
    metrics, notes = [*table.results], []
    numbers: dict[str, dict[str, dict[str, Any]]] = {}
    for name in metrics:
        best = METRICS[table.results[name].metric].best
        numbers[name], note = _rank(table, name, best)
        notes += [note] if note else []
    first = table.entries[0]
    truth = first.inputs.get("truth", {})
    cells = [cell for row in numbers.values() for cell in row.values()]
    order = _sort_by_first(table, metrics, numbers)
    return {
        "number": number, "convention": table.conventions, "notes": [*dict.fromkeys(notes)],
        "truth": {"source": truth.get("source", ""), "rows": truth.get("rows"),
                  "fingerprint": first.truth},
        "lists": first.evaluation.manifest.get("lists"), "candidates": first.candidates,
        "metrics": [{"name": name, "best": METRICS[table.results[name].metric].best,
                     "definition": table.results[name].definition,
                     "fingerprint": table.results[name].fingerprint} for name in metrics],
        "tested": any(cell["p"] is not None for cell in cells),
        "intervals": any(cell["low"] is not None for cell in cells),
        "why_apart": table.why_apart, "usage": any(entry.usage for entry in table.entries),
        "energy": any(one.usage and one.usage.energy_kwh is not None for one in table.entries),
        "rows": [_describe_row(table, nth, numbers) for nth in order],
    }  # fmt: skip


def _sort_by_first(
    table: BoardTable, metrics: Sequence[str], numbers: Mapping[str, Mapping[str, Any]]
) -> list[int]:
    """Return the rows from the best by the first metric to the worst."""
    ranks = numbers[metrics[0]] if metrics else {}
    last = len(table.entries) + 1
    places = [ranks.get(label, {}).get("rank") or last for label in table.labels]
    return sorted(range(len(places)), key=lambda nth: places[nth])


def _describe_row(
    table: BoardTable, nth: int, numbers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    entry, label = table.entries[nth], table.labels[nth]
    return {
        "model": entry.model, "source": entry.source, "convention": entry.convention,
        "cells": [numbers[name].get(label) for name in numbers],
        "usage": None if entry.usage is None else asdict(entry.usage),
    }  # fmt: skip


def _rank(table: BoardTable, name: str, best: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return value, rank, interval and significance of a metric by label, and a note if there is
    no test."""
    results = {
        label: entry.evaluation.results[name]
        for label, entry in zip(table.labels, table.entries, strict=True)
        if name in entry.evaluation.results
    }
    values = {label: one.value for label, one in results.items() if one.value == one.value}
    ordered = sorted(values.values(), reverse=best == "high")
    cells = {
        label: {"value": value, "text": digits(value), "rank": ordered.index(value) + 1,
                "low": None, "high": None, "p": None, "apart": False}
        for label, value in values.items()
    }  # fmt: skip
    for label, cell in cells.items():
        cell["low"], cell["high"] = results[label].interval or (None, None)
    counts = {one.counted for one in results.values() if one.counted is not None}
    unequal = f"{name} counts {min(counts):,} to {max(counts):,} lists." if len(counts) > 1 else ""
    return cells, " ".join(note for note in (unequal, _test(table, name, cells)) if note)


def _test(table: BoardTable, name: str, cells: Mapping[str, dict[str, Any]]) -> str:
    """Test every model against the best one where values per list are stored; return a note if
    that is not possible."""
    kept = {
        label: entry.evaluation
        for label, entry in zip(table.labels, table.entries, strict=True)
        if label in cells and entry.evaluation.lists is not None
        and entry.evaluation.results[name].values is not None
    }  # fmt: skip
    if len(kept) < 2:
        return ""
    if len(kept) > _MOST_TESTED:
        return f"{name}: differences of more than {_MOST_TESTED} models are not tested."
    best = min(kept, key=lambda label: cells[label]["rank"])
    models = {label: _only(evaluation, name) for label, evaluation in kept.items()}
    try:
        found = compare(models, baseline=best, alpha=_ALPHA)
    except RectitudeError as error:
        return f"{name}: no test: {error.found}"
    for label, ends in found.intervals.get(name, {}).items():
        if cells[label]["low"] is None:
            cells[label]["low"], cells[label]["high"] = ends
    for row in found.differences:
        cells[row.model]["p"] = row.corrected
        cells[row.model]["apart"] = found.significant(row)
    return ""


def _only(evaluation: Evaluation, name: str) -> Evaluation:
    return replace(evaluation, results={name: evaluation.results[name]}, failures={})

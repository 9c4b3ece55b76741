"""`Evaluations`: the same predictions under several conventions, and tables of several evaluations.

A table of several evaluations has one column for each of them and one row per metric. What all
ledgers say is printed once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rectitude.aggregate.evaluation import FORMAT_OF_SEVERAL, Evaluation, rows
from rectitude.data.ledger import Ledger, split_common
from rectitude.errors import unknown_name
from rectitude.render import (
    Formulas,
    Grid,
    Printable,
    Tabular,
    comment_latex,
    csv,
    escape_markdown,
    interval,
    number,
)
from rectitude.storage import require_suffix, write_text

FORMAT_VERSION = 1
Runs = Mapping[str, Evaluation]
Best = Callable[[str, Iterable[Evaluation]], set[int]]
"""Returns the positions of the runs that are best by a metric."""


class Evaluations(Printable, Tabular, Mapping[str, Evaluation]):
    """The evaluations of the same predictions under several conventions.

    `evaluations["elliot"]` is the evaluation under one of them. Printing shows the numbers side by
    side, and what the ledgers have in common once.
    """

    def __init__(self, by_convention: Runs) -> None:
        self._by_convention = dict(by_convention)

    def __getitem__(self, convention: str) -> Evaluation:
        if convention not in self._by_convention:
            raise unknown_name("convention", convention, self, where="this table")
        return self._by_convention[convention]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_convention)

    def __len__(self) -> int:
        return len(self._by_convention)

    def table(self) -> pl.DataFrame:
        """Return a table with one row per metric and one column per convention; null if a metric
        has no value under a convention."""
        rows = align_names([*self.values()])
        values = {
            label: [
                run.results[names[column]].value if names[column] in run.results else None
                for names in rows.values()
            ]
            for column, (label, run) in enumerate(self.items())
        }
        return pl.DataFrame({"metric": [*rows], **values})

    def to_polars(self) -> pl.DataFrame:
        """Return `table()`."""
        return self.table()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write every evaluation as JSON; `rt.load` reads them back by convention."""
        require_suffix(
            path, "table of evaluations", (".json",),
            "for the values per list, save each evaluation as a zip: evaluations[name].save(...).",
        )  # fmt: skip
        write_text(path, self.to_json())

    def to_markdown(self) -> str:
        """Return the table as Markdown, followed by the slices under each convention."""
        return to_markdown(self)

    def to_latex(self) -> str:
        """Return the table as LaTeX in booktabs style, followed by the slices."""
        return to_latex(self)

    def to_csv(self, formulas: Formulas = "quoted") -> str:
        """Return CSV text with one row per convention and number, with full precision. Names that a
        spreadsheet would run as formulas get an apostrophe in front, unless they are "kept"."""
        return stack_rows({label: {"convention": label} for label in self}, self, formulas)

    def to_json(self) -> str:
        """Return every evaluation by convention, as JSON text."""
        return to_json(self)

    def _shown(self) -> Iterator[str | Grid]:
        yield grid_of(self)
        yield from describe(self)


def align_names(runs: Sequence[Evaluation]) -> dict[str, list[str]]:
    """Return each requested metric with its name in every run, in the order of the run with the
    most values.

    A name of another framework can be a different metric under each convention. Then it is one
    request all the same, called as it was typed.
    """
    requests: dict[str, list[str]] = {}
    for column in sorted(range(len(runs)), key=lambda column: -len(runs[column].results)):
        typed = {ours: other for other, ours in runs[column].manifest.get("names", {}).items()}
        for name in [*runs[column].results, *runs[column].failures]:
            requests.setdefault(typed.get(name, name), [""] * len(runs))[column] = name
    return {
        names[0] if len({*names}) == 1 else request: names for request, names in requests.items()
    }


def no_best(name: str, runs: Iterable[Evaluation]) -> set[int]:
    """Mark none: a larger number under another convention is not a better one."""
    return set()


def grid_of(runs: Runs, best_of: Best = no_best) -> Grid:
    """Return the numbers of several runs side by side, with a star after the best of each row."""
    body = []
    for name, names in align_names([*runs.values()]).items():
        best = best_of(name, runs.values())
        texts = [_text_of(run, own) for run, own in zip(runs.values(), names, strict=True)]
        stars = ["*" if position in best else " " if best else "" for position in range(len(texts))]
        body.append([name, *map(str.__add__, texts, stars)])
    return Grid(["metric", *runs], body)


def _text_of(run: Evaluation, name: str) -> str:
    if name not in run.results:
        return "failed"
    result = run.results[name]
    ends = [] if result.interval is None else [interval(*result.interval)]
    return " ".join([number(result.value), *ends])


def describe(runs: Runs) -> list[str]:
    """Return lines with the metrics that failed, what all ledgers say, and then what is special
    about each run: how many lists count, ties, the rest of its ledger, and its slices."""
    common, rest = split_common([run.ledger for run in runs.values()])
    lines = [*_describe_failures(runs)]
    lines += ["", "in common:", str(common)] if str(common) else []
    same_lists = len({frozenset(_lists_counted(run)) for run in runs.values()}) == 1
    for (label, run), own in zip(runs.items(), rest, strict=True):
        special = [] if same_lists else [f"  {n:,} lists count" for n in _lists_counted(run)]
        special += _describe_one(run, own)
        lines += ["", f"{label}:", *special] if special else []
    return lines


def _describe_failures(runs: Runs) -> Iterator[str]:
    """Yield every failure once, with the runs in which it occurred."""
    labels: dict[tuple[str, str], list[str]] = {}
    for label, run in runs.items():
        for name, error in run.failures.items():
            labels.setdefault((name, str(error)), []).append(label)
    for (name, message), failed in labels.items():
        where = "" if len(failed) == len(runs) else f" ({', '.join(failed)})"
        yield f"! {name} failed{where}: {message}"


def _lists_counted(run: Evaluation) -> list[int]:
    """Return the number of lists behind the values of a run; nothing if it depends on the
    metric."""
    counts = {result.counted for result in run.results.values() if result.counted is not None}
    return [*counts] if len(counts) == 1 else []


def _describe_one(run: Evaluation, own: Ledger) -> list[str]:
    ranges = [
        f"{name} from {number(result.ties[0])} to {number(result.ties[1])}"
        for name, result in run.results.items()
        if result.ties
    ]
    lines = [f"- depending on how ties break: {', '.join(ranges)}"] if ranges else []
    lines += [str(own)] if str(own) else []
    return [*lines, *([] if run.slices is None else ["", str(run.slices)])]


def to_markdown(runs: Runs, best_of: Best = no_best) -> str:
    """Return the table as Markdown, the best of each row marked, and the slices of every run."""
    sliced = {label: run.slices.to_markdown() for label, run in runs.items() if run.slices}
    more = "".join(f"\n{escape_markdown(label)}:\n\n{table}" for label, table in sliced.items())
    return grid_of(runs, best_of).markdown() + "\n" + more


def to_latex(runs: Runs) -> str:
    """Return the table as LaTeX in booktabs style, and the slices of every run."""
    sliced = {label: run.slices.to_latex() for label, run in runs.items() if run.slices}
    more = "".join(f"\n{comment_latex(label)}\n{table}" for label, table in sliced.items())
    return grid_of(runs).latex() + more


def stack_rows(
    keys: Mapping[str, Mapping[str, str]], runs: Runs, formulas: Formulas = "quoted"
) -> str:
    """Return one CSV row per run and number, with full precision; undefined values are empty.

    `keys` are the first columns of each run.
    """
    of_runs = {
        label: rows(run.results) if run.slices is None else run.slices.rows()
        for label, run in runs.items()
    }
    stacked = [{**keys[label], **row} for label, of_run in of_runs.items() for row in of_run]
    columns = dict.fromkeys(key for row in stacked for key in row)
    table = [{key: _value_or_none(row.get(key)) for key in columns} for row in stacked]
    return csv(table, formulas)


def _value_or_none(value: Any) -> Any:
    return None if value != value else value  # noqa: PLR0124  (NaN)


def to_json(runs: Runs) -> str:
    """Return every evaluation by label, as JSON text."""
    stored = {label: run.as_dict() for label, run in runs.items()}
    whole = {"format": FORMAT_OF_SEVERAL, "version": FORMAT_VERSION, "evaluations": stored}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"

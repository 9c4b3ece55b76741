"""`Evaluation`: the numbers, what they mean, what was counted, and the values behind them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.aggregate import slices as sliced
from rectitude.aggregate.stored import Kept, is_zip, keys_of, read, write
from rectitude.aggregate.sums import Sums, sorted_totals
from rectitude.arrays import Floats, Integers
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, MissingNeed, RectitudeError, UnreadableFile, unknown_name
from rectitude.metrics.names import Name, parse
from rectitude.render import Grid, csv, number
from rectitude.storage import require_format

FORMAT = "rectitude.evaluation"
FORMAT_OF_SEVERAL = "rectitude.evaluations"
FORMAT_VERSION = 1
EXPECTED = "a file written by Evaluation.save or rectitude evaluate --output."
_HEADINGS = {
    "low": "95% from",
    "high": "to",
    "ties_worst": "ties, worst",
    "ties_best": "ties, best",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One number: its value, its definition, and how it came about."""

    name: Name
    value: float
    metric: str
    definition: str
    fingerprint: str
    convention: Mapping[str, Any]
    numbers: Mapping[str, float | str]
    state: Sums | None = None
    interval: tuple[float, float] | None = None
    ties: tuple[float, float] | None = None
    """the value with every tie broken against and for the relevant items, where these differ"""
    values: Floats | None = None
    """(lists,) the value of each list; NaN where it does not count"""
    counted: int | None = None
    """how many lists, or users, the value is over; None for one made of other values"""

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        return {
            "value": self.value if np.isfinite(self.value) else None,
            "counted": self.counted,
            "interval": self.interval,
            "ties": self.ties,
            "metric": self.metric,
            "definition": self.definition,
            "fingerprint": self.fingerprint,
            "numbers": dict(self.numbers),
            "convention": dict(self.convention),
            "state": None if self.state is None else self.state.as_dict(),
        }


@dataclass(frozen=True)
class Keys:
    """The lists behind the values: keys, and the user of each."""

    keys: pl.Series
    owners: Integers
    users: pl.Series
    by_user: bool = True
    """whether the key of a list is its user"""
    weights: Floats | None = None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of an evaluation.

    `evaluation["ndcg@10"]` is the number; printing shows all of them with the ledger; `definition`
    says what a number means; `per_list` and `per_user` give the values behind it.
    """

    results: Mapping[str, Result]
    ledger: Ledger
    manifest: Mapping[str, Any]
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    lists: Keys | None = None
    slices: sliced.Slices | None = None
    """the numbers of every slice, if slices were asked for"""

    def __getitem__(self, name: str) -> float:
        return self.result(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and str(_one(name)) in self.results
        except RectitudeError:
            return False

    def result(self, name: str) -> Result:
        """Everything about one number."""
        wanted = str(_one(name))
        if wanted in self.failures:
            raise self.failures[wanted]
        if wanted not in self.results:
            raise unknown_name("value", name, self.results, where="this evaluation")
        return self.results[wanted]

    def values(self) -> dict[str, float]:
        """Every number by name."""
        return {name: result.value for name, result in self.results.items()}

    def arrays(self) -> dict[str, Floats]:
        """The numbers of each metric as one array, by cutoff in the order asked."""
        grouped: dict[str, list[float]] = {}
        for result in self.results.values():
            whole = Name(result.name.base, result.name.variants)
            grouped.setdefault(str(whole), []).append(result.value)
        return {name: np.array(values) for name, values in grouped.items()}

    def definition(self, name: str) -> str:
        """What a number means: words, formula, and the choices in force."""
        return self.result(name).definition

    def table(self) -> pl.DataFrame:
        """One row per number: metric, value, lists counted, and interval or tie bounds if there
        are any."""
        return pl.DataFrame(rows(self.results), infer_schema_length=None)

    def per_list(self) -> pl.DataFrame:
        """One row per list, one column per metric, as fractions; null where it does not count."""
        lists = self._behind()
        columns = {"user" if lists.by_user else "list": lists.keys}
        if not lists.by_user:
            columns["user"] = lists.users.gather(lists.owners)
        columns |= {
            name: pl.Series(name, result.values, nan_to_null=True)
            for name, result in self.results.items()
            if result.values is not None
        }
        return pl.DataFrame(columns)

    def per_user(self) -> pl.DataFrame:
        """One row per user, one column per metric: the mean of the user's lists that count."""
        lists = self._behind()
        if lists.by_user and len(lists.users) == len(lists.keys):
            return self.per_list()
        size = len(lists.users)
        columns: dict[str, Any] = {"user": lists.users}
        for name, result in self.results.items():
            if result.values is None:
                continue
            there = np.isfinite(result.values)
            weights = (np.ones(len(there)) if lists.weights is None else lists.weights)[there]
            below = sorted_totals(lists.owners[there], weights, size)
            above = sorted_totals(lists.owners[there], result.values[there] * weights, size)
            mean = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)
            columns[name] = pl.Series(name, mean, nan_to_null=True)
        return pl.DataFrame(columns)

    def _behind(self) -> Keys:
        if self.lists is None:
            raise MissingNeed(
                "it comes from a file, batches or a history, which hold no values per list.",
                advice="save a zip, which keeps them: evaluation.save('NAME.zip'), rectitude "
                "evaluate --output NAME.zip; of batches, rt.Evaluator(per_list='kept') does.",
            )
        return self.lists

    def as_dict(self) -> dict[str, Any]:
        """The evaluation for JSON: numbers, definitions, ledger and manifest, not the values per
        list."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "results": {name: result.as_dict() for name, result in self.results.items()},
            "failures": {name: str(error) for name, error in self.failures.items()},
            "ledger": self.ledger.as_dict(),
            "manifest": dict(self.manifest),
            **({} if self.slices is None else {"slices": self.slices.as_dict()}),
        }

    def to_json(self) -> str:
        """The evaluation as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def to_csv(self) -> str:
        """The table as CSV text."""
        return csv(rows(self.results))

    def to_markdown(self) -> str:
        """The table as Markdown, and one of each slicing."""
        more = "" if self.slices is None else "\n" + self.slices.to_markdown()
        return _table(self.results).markdown() + "\n" + more

    def to_latex(self) -> str:
        """The table as LaTeX, in the style of booktabs, and one of each slicing."""
        more = "" if self.slices is None else "\n" + self.slices.to_latex()
        return _table(self.results).latex() + more

    def save(
        self, path: str | os.PathLike[str], per_list: Literal["kept", "dropped"] = "dropped"
    ) -> None:
        """Write the evaluation as JSON, whole or not at all.

        The values per list are kept too in a file that ends in .zip, or, with `per_list="kept"`,
        beside the JSON in NAME.lists.parquet. Other programs can read both.
        """
        if per_list not in ("kept", "dropped"):
            raise BadName(f"per_list cannot be {per_list!r}.", "'kept' or 'dropped'.")
        held = per_list == "kept" or (is_zip(path) and self.lists is not None)
        write(path, self.stored() if held else Kept(self.to_json()))

    def stored(self) -> Kept:
        """The evaluation as it is stored with its values per list."""
        return Kept(self.to_json(), self.per_list(), self._behind().weights)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Evaluation:
        """An evaluation that `save` wrote, with its values per list if they were kept."""
        stored, lists = read(path, EXPECTED)
        return from_dict(stored, os.fspath(path), lists)

    def __str__(self) -> str:
        parts = [f"convention: {self.manifest.get('profile', 'default')}"]
        parts.append(_table(self.results).text())
        parts += [f"! {name} failed: {error}" for name, error in self.failures.items()]
        parts.append(str(self.ledger))
        return "\n".join(parts) + ("" if self.slices is None else f"\n\n{self.slices}")

    __repr__ = __str__  # at a prompt, people want to see the numbers


def rows(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """One row per number, with the columns that any of them has."""
    with_interval = any(result.interval for result in results.values())
    with_ties = any(result.ties for result in results.values())
    table = []
    for name, result in results.items():
        row: dict[str, Any] = {"metric": name, "value": result.value, "lists": result.counted}
        if with_interval:
            row["low"], row["high"] = result.interval or (None, None)
        if with_ties:
            row["ties_worst"], row["ties_best"] = result.ties or (None, None)
        table.append(row)
    return table


def _table(results: Mapping[str, Result]) -> Grid:
    """The table for people, numbers to four decimals."""
    table = rows(results)
    keys = list(table[0]) if table else ["metric", "value", "lists"]
    body = [[number(row[key]) for key in keys] for row in table]
    return Grid([_HEADINGS.get(key, key) for key in keys], body)


def from_dict(
    stored: Mapping[str, Any], where: str = "this", lists: pl.DataFrame | None = None
) -> Evaluation:
    """An evaluation as `as_dict` wrote it, with values per list as `stored` gave them."""
    stored = require_format(stored, where, "evaluation", FORMAT_VERSION)
    try:
        results = {name: _result(name, facts) for name, facts in stored["results"].items()}
        failures = {name: RectitudeError(text) for name, text in stored["failures"].items()}
        ledger = Ledger.from_dict(stored["ledger"])
        parted = sliced.from_dict(stored["slices"]) if "slices" in stored else None
        found = Evaluation(results, ledger, stored["manifest"], failures, slices=parted)
        return found if lists is None else _with_lists(found, lists)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnreadableFile(f"{where} is damaged: {error!r}.", "a whole evaluation.") from error


def _result(name: str, facts: Mapping[str, Any]) -> Result:
    state = facts["state"]
    return Result(
        name=_one(name),
        value=float("nan") if facts["value"] is None else facts["value"],
        metric=facts["metric"],
        definition=facts["definition"],
        fingerprint=facts["fingerprint"],
        convention=facts["convention"],
        numbers=facts["numbers"],
        state=None if state is None else Sums.from_dict(state),
        interval=_pair(facts["interval"]),
        ties=_pair(facts["ties"]),
        counted=facts["counted"],
    )


def _with_lists(found: Evaluation, lists: pl.DataFrame) -> Evaluation:
    values = {n: lists[n].fill_null(np.nan).to_numpy() for n in found.results if n in lists.columns}
    results = {n: replace(r, values=values.get(n)) for n, r in found.results.items()}
    return replace(found, results=results, lists=Keys(*keys_of(lists)))


def _pair(stored: list[float] | None) -> tuple[float, float] | None:
    return None if stored is None else (stored[0], stored[1])


def _one(name: str) -> Name:
    names = parse(name)
    if len(names) != 1:
        raise unknown_name("value", name, [str(n) for n in names], where="this evaluation")
    return names[0]

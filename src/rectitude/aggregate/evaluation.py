"""`Evaluation`: the numbers, their definitions, the ledger, and the values per list."""

from __future__ import annotations

import json
import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.aggregate import slices as sliced
from rectitude.aggregate.stored import WEIGHT, Kept, is_zip, keys_of, read, write
from rectitude.aggregate.sums import Sums, total_by_user
from rectitude.arrays import Floats, Integers
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument, MissingNeed, RectitudeError, UnreadableFile, unknown_name
from rectitude.metrics import METRICS
from rectitude.metrics.names import Name, parse
from rectitude.profiles import PROFILES
from rectitude.render import Drawable, Formulas, Grid, Printable, as_pandas, csv, number
from rectitude.storage import require_format, require_suffix

Table = Literal["numbers", "per_list", "per_user"]
FORMAT = "rectitude.evaluation"
FORMAT_OF_SEVERAL = "rectitude.evaluations"
FORMAT_VERSION = 1
MOST_STORED = 100
"""the most rows of a breakdown that a file keeps"""
EXPECTED = "a file written by Evaluation.save or rectitude evaluate --output."
_HEADINGS = {
    "low": "95% from",
    "high": "to",
    "ties_worst": "ties, worst",
    "ties_best": "ties, best",
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Result(Printable):
    """One number: its value, its definition, and how it was computed."""

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
    """the value with every tie broken against, and in favour of, the relevant items; None if they
    agree"""
    values: Floats | None = None
    """(lists,) the value of each list; NaN if the list does not count"""
    counted: int | None = None
    """how many lists, or users, the value is over; None if it is derived from other values"""
    breakdown: pl.DataFrame | None = field(default=None, compare=False)
    """what the value is made of, as fractions: by class, or by bin of probabilities"""

    def __eq__(self, other: object) -> bool:
        """Return whether number, definition and sums are the same; values per list are not
        compared."""
        if not isinstance(other, Result):
            return NotImplemented
        return (self.name, self.as_dict()) == (other.name, other.as_dict())

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))

    def _shown(self) -> Iterator[str]:
        yield f"{self.name} = {number(self.value)}"
        yield self.definition

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
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
            **self._stored_breakdown(),
        }

    def _stored_breakdown(self) -> dict[str, Any]:
        """Return the breakdown by column; a long one is left out, like the values per list."""
        table = self.breakdown
        small = table is not None and table.height <= MOST_STORED
        return {"breakdown": table.to_dict(as_series=False)} if small and table is not None else {}


@dataclass(frozen=True, eq=False)
class Keys:
    """The lists behind the values: their keys, and the user of each."""

    keys: pl.Series
    owners: Integers
    users: pl.Series
    by_user: bool = True
    """whether the key of a list is its user"""
    weights: Floats | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Printable, Drawable):
    """The result of an evaluation.

    `evaluation["ndcg@10"]` is the number. Printing shows all numbers and the ledger. `definition`
    explains what a number means; `per_list` and `per_user` return the values behind it.
    """

    results: Mapping[str, Result]
    ledger: Ledger
    manifest: Mapping[str, Any]
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    lists: Keys | None = None
    slices: sliced.Slices | None = None
    """the numbers of every slice, if slices were requested"""

    def __getitem__(self, name: str) -> float:
        return self.result(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __eq__(self, other: object) -> bool:
        """Return whether numbers, definitions, ledger and manifest are the same; values per list
        are not compared."""
        if not isinstance(other, Evaluation):
            return NotImplemented
        return self is other or self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.results.values()))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find_name(name) in self.results
        except RectitudeError:
            return False

    def find_name(self, name: str) -> str:
        """Return the name under which a number is stored, for that name or another one of the same
        metric, such as HR@10 for hit@10."""
        typed = _parse_single(name)
        known = {**self.results, **self.failures}
        if str(typed) in known:
            return str(typed)
        names: Mapping[str, str] = self.manifest.get("names", {})
        if str(typed) in names:
            return names[str(typed)]
        label = str(self.manifest.get("profile", "")).partition(", ")[0]
        profile = PROFILES[label if label in PROFILES else "default"]
        try:
            return str(profile.translate(typed)) if ":" not in typed.base else str(typed)
        except RectitudeError:  # it means nothing, or too many things, without what was asked
            return str(typed)

    def result(self, name: str) -> Result:
        """Return everything about one number."""
        wanted = self.find_name(name)
        if wanted in self.failures:
            raise self.failures[wanted]
        if wanted not in self.results:
            raise unknown_name("value", name, self.results, where="this evaluation")
        return self.results[wanted]

    def keys(self) -> KeysView[str]:
        """Return the names of the numbers, so that `dict(evaluation)` works."""
        return self.results.keys()

    def items(self) -> ItemsView[str, float]:
        """Return every name with its number."""
        return self.values().items()

    def values(self) -> dict[str, float]:
        """Return every number by name, as `dict(evaluation)` does."""
        return {name: result.value for name, result in self.results.items()}

    def arrays(self) -> dict[str, Floats]:
        """Return the numbers of each metric as one array, by cutoff in the requested order."""
        grouped: dict[str, list[float]] = {}
        for result in self.results.values():
            base = Name(result.name.base, result.name.variants)
            grouped.setdefault(str(base), []).append(result.value)
        return {name: np.array(values) for name, values in grouped.items()}

    def definition(self, name: str) -> str:
        """Explain what a number means: in words, as a formula, and with the choices that apply."""
        return self.result(name).definition

    def breakdown(self, name: str) -> pl.DataFrame:
        """Return what a number is made of, as fractions: precision, recall and F1 of each class for
        `weighted_f1` and its kin, and how often predictions of each probability are correct for
        `expected_calibration_error`.

        Both are exact sums over all lists, also if they came in batches.
        """
        result = self.result(name)
        if result.breakdown is not None:
            return result.breakdown
        if METRICS[result.metric].breakdown is None:
            raise BadArgument(
                f"{name!r} has no breakdown.",
                "a metric of classes, such as weighted_f1, or expected_calibration_error.",
                "for the values of single lists, use per_list().",
            )
        raise MissingNeed(
            f"this evaluation comes from a file without the breakdown of {name!r}.",
            f"a breakdown of at most {MOST_STORED} rows: files do not keep longer ones.",
            "evaluate again, or save evaluation.breakdown(...) as a table of its own.",
        )

    def table(self) -> pl.DataFrame:
        """Return a table with one row per number: metric, value, lists counted, and interval and
        tie bounds if there are any."""
        return pl.DataFrame(rows(self.results), infer_schema_length=None)

    def per_list(self) -> pl.DataFrame:
        """Return a table with one row per list and one column per metric, as fractions; null if the
        list does not count."""
        lists = self._require_lists()
        given = {name: r.values for name, r in self.results.items() if r.values is not None}
        return tabulate_lists(lists, given)

    def per_user(self) -> pl.DataFrame:
        """Return a table with one row per user and one column per metric: the mean over the user's
        lists that count."""
        lists = self._require_lists()
        if lists.by_user and len(lists.users) == len(lists.keys):
            return self.per_list()
        size = len(lists.users)
        columns: dict[str, Any] = {"user": lists.users}
        for name, result in self.results.items():
            if result.values is None:
                continue
            counts = np.isfinite(result.values)
            weights = (np.ones(len(counts)) if lists.weights is None else lists.weights)[counts]
            below = total_by_user(lists.owners[counts], weights, size)
            above = total_by_user(lists.owners[counts], result.values[counts] * weights, size)
            mean = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)
            columns[name] = pl.Series(name, mean, nan_to_null=True)
        return pl.DataFrame(columns)

    def to_polars(self, table: Table = "numbers") -> pl.DataFrame:
        """Return a table as a Polars frame: the numbers, or the values per list or per user."""
        choices = {"numbers": self.table, "per_list": self.per_list, "per_user": self.per_user}
        if table not in choices:
            raise unknown_name("table", table, choices, where="an evaluation")
        return choices[table]()

    def to_pandas(self, table: Table = "numbers") -> Any:
        """Return a table as a pandas frame: the numbers, or the values per list or per user."""
        return as_pandas(self.to_polars(table))

    def _require_lists(self) -> Keys:
        if self.lists is None:
            raise MissingNeed(
                "this evaluation comes from a file, batches or a history, without values per list,"
                " or per_list= wrote them to a file.",
                "an evaluation with its values per list.",
                "save it as a zip, which keeps them: evaluation.save('NAME.zip') or `rectitude "
                "evaluate --output NAME.zip`. For batches, use rt.Evaluator(per_list='kept').",
            )
        return self.lists

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation for JSON: numbers, definitions, ledger and manifest, without the
        values per list."""
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
        """Return the evaluation as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def to_csv(self, formulas: Formulas = "quoted") -> str:
        """Return the table as CSV text. Names that a spreadsheet would run as formulas get an
        apostrophe in front, unless `formulas` is "kept"."""
        return csv(rows(self.results), formulas)

    def to_markdown(self) -> str:
        """Return the table as Markdown, followed by one table per slicing."""
        more = "" if self.slices is None else "\n" + self.slices.to_markdown()
        return _table(self.results).markdown() + "\n" + more

    def to_latex(self) -> str:
        """Return the table as LaTeX in booktabs style, followed by one table per slicing."""
        more = "" if self.slices is None else "\n" + self.slices.to_latex()
        return _table(self.results).latex() + more

    def save(
        self, path: str | os.PathLike[str], per_list: Literal["kept", "dropped"] = "dropped"
    ) -> None:
        """Write the evaluation as JSON; the file is written completely or not at all.

        The values per list are saved too if the file ends in .zip, or with `per_list="kept"`: then
        they are next to the JSON file in NAME.lists.parquet. Other programs can read both.
        """
        if per_list not in ("kept", "dropped"):
            raise BadArgument(f"per_list is {per_list!r}.", "'kept' or 'dropped'.")
        require_suffix(
            path, "evaluation", (".json", ".zip"),
            "for a table, write evaluation.to_polars() or evaluation.to_polars('per_list') with "
            "write_parquet or write_csv.",
        )  # fmt: skip
        with_lists = per_list == "kept" or (is_zip(path) and self.lists is not None)
        write(path, self.stored() if with_lists else Kept(self.to_json()))

    def stored(self) -> Kept:
        """Return the evaluation in the form in which it is stored with its values per list."""
        return Kept(self.to_json(), self.per_list(), self._require_lists().weights)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Evaluation:
        """Read an evaluation that `save` wrote, with its values per list if they were kept."""
        stored, lists = read(path, EXPECTED)
        return from_dict(stored, os.fspath(path), lists)

    def _shown(self) -> Iterator[str | Grid]:
        yield f"convention: {self.manifest.get('profile', 'default')}"
        yield _table(self.results)
        yield from (f"! {name} failed: {error}" for name, error in self.failures.items())
        yield str(self.ledger)
        if self.slices is not None:
            yield ""
            yield from self.slices._shown()


def tabulate_lists(
    lists: Keys, values: Mapping[str, Floats], weights: Literal["left out", "added"] = "left out"
) -> pl.DataFrame:
    """Return a table with one row per list and one column per metric; null if the list does not
    count."""
    columns = {"user" if lists.by_user else "list": lists.keys}
    if not lists.by_user:
        columns["user"] = lists.users.gather(lists.owners)
    columns |= {name: pl.Series(name, given, nan_to_null=True) for name, given in values.items()}
    if weights == "added" and lists.weights is not None:
        columns[WEIGHT] = pl.Series(WEIGHT, lists.weights)
    return pl.DataFrame(columns)


def rows(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return one row per number, with every column that at least one of them has."""
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
    """Return the printed table, with numbers to four decimals."""
    table = rows(results)
    keys = list(table[0]) if table else ["metric", "value", "lists"]
    body = [[number(row[key]) for key in keys] for row in table]
    return Grid([_HEADINGS.get(key, key) for key in keys], body)


def from_dict(
    stored: Mapping[str, Any], where: str = "this", lists: pl.DataFrame | None = None
) -> Evaluation:
    """Return an evaluation from the output of `as_dict`, with values per list as `stored` returns
    them."""
    stored = require_format(stored, where, "evaluation", FORMAT_VERSION)
    try:
        results = {name: _read_result(name, facts) for name, facts in stored["results"].items()}
        failures = {name: RectitudeError(text) for name, text in stored["failures"].items()}
        ledger = Ledger.from_dict(stored["ledger"])
        slices = sliced.from_dict(stored["slices"]) if "slices" in stored else None
        evaluation = Evaluation(results, ledger, stored["manifest"], failures, slices=slices)
        return evaluation if lists is None else attach_lists(evaluation, lists)
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{where} is damaged: {error}.", "a complete evaluation.") from error


def _read_result(name: str, facts: Mapping[str, Any]) -> Result:
    state = facts["state"]
    return Result(
        name=_parse_single(name),
        value=float("nan") if facts["value"] is None else facts["value"],
        metric=facts["metric"],
        definition=facts["definition"],
        fingerprint=facts["fingerprint"],
        convention=facts["convention"],
        numbers=facts["numbers"],
        state=None if state is None else Sums.from_dict(state),
        interval=_read_pair(facts["interval"]),
        ties=_read_pair(facts["ties"]),
        counted=facts["counted"],
        breakdown=pl.DataFrame(facts["breakdown"]) if "breakdown" in facts else None,
    )


def attach_lists(evaluation: Evaluation, lists: pl.DataFrame) -> Evaluation:
    """Return an evaluation with values per list, as `stored` returns them."""
    values = {
        n: lists[n].fill_null(np.nan).to_numpy() for n in evaluation.results if n in lists.columns
    }
    results = {n: replace(r, values=values.get(n)) for n, r in evaluation.results.items()}
    return replace(evaluation, results=results, lists=Keys(*keys_of(lists)))


def _read_pair(stored: list[float] | None) -> tuple[float, float] | None:
    return None if stored is None else (stored[0], stored[1])


def _parse_single(name: str) -> Name:
    names = parse(name)
    if len(names) != 1:
        raise unknown_name("value", name, [str(n) for n in names], where="this evaluation")
    return names[0]

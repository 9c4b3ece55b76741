"""The lines that trec_eval prints: measure, query and value, separated by tabs.

Lines of single queries come first, then lines for `all`. Measures are named as in trec_eval: `map`,
`P.5,10`, `ndcg.1=3,2=9`, or a set such as `official`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName, unknown_name
from rectitude.judge.judged import Judged
from rectitude.metrics.preferences import PREFERENCE_MEASURES
from rectitude.metrics.registry import Overall

Form = Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"]
"""The forms of judgements: grades, grades of several groups, and preferences."""
Kind = Literal["value", "count", "tag", "string"]
Part = Literal["queries", "summary"]
Scope = Literal["everywhere", "queries", "summary"]
Gains = tuple[tuple[int, float], ...]
"""Grades and their gains."""
COUNTED = "num_q"
"""The metric that shows which queries count; always evaluated."""


@dataclass(frozen=True)
class TrecLine:
    """What is printed under one label: the mean of metrics, a tag, or a string."""

    label: str
    names: tuple[str, ...] = ()
    kind: Kind = "value"
    scope: Scope = "everywhere"
    overall: Overall = "mean"
    """how the values of queries become the one of all, unless it is a count"""
    length: int = 0
    gains: Gains = ()
    """the gains of grades whose gain differs from the grade"""


_CUTS = "5,10,15,20,30,100,200,500,1000"
_LEVELS = "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"
_AT_RANKS = {
    "P": ("precision", _CUTS), "recall": ("recall", _CUTS), "ndcg_cut": ("ndcg", _CUTS),
    "map_cut": ("map", _CUTS), "relative_P": ("precision[relative]", _CUTS),
    "success": ("hit", "1,5,10"), "unj": ("unjudged", "5,10,20"),
}  # fmt: skip
_AT_NUMBERS = {
    "iprec_at_recall": ("iprec@{}", _LEVELS),
    "Rprec_mult": ("rprec[mult={}]", "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0"),
}
_PLAIN = {
    "map": "map", "Rprec": "rprec", "bpref": "bpref", "recip_rank": "mrr", "infAP": "infap",
    "binG": "bing", "G": "g", "ndcg_rel": "ndcg[rel]", "Rndcg": "rndcg", "set_P": "set_precision",
    "set_relative_P": "set_precision[relative]", "set_recall": "set_recall", "set_map": "set_map",
}  # fmt: skip
_BY_GROUPS = {
    "map_avgjg": "map", "P_avgjg": "P", "Rprec_mult_avgjg": "Rprec_mult",
}  # fmt: skip
"""Measures of several judgement sets, with the measure of each set."""
_FIXED = {
    "runid": TrecLine("runid", (), "tag", "summary"),
    "num_q": TrecLine("num_q", ("num_q",), "count", "summary"),
    **{name: TrecLine(name, (name,), "value", "summary", "exp of the mean")
       for name in ("gm_map", "gm_bpref")},
    **{name: TrecLine(name, (name,), "count")
       for name in ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")},
    **{name: TrecLine(name, (name,), "count" if "_num_" in name else "value")
       for name in PREFERENCE_MEASURES},
}  # fmt: skip
ORDER = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
    "recip_rank", "iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult",
    "utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut",
    "relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
    "num_nonrel_judged_ret", *PREFERENCE_MEASURES, *_BY_GROUPS, "rbp", "rbp_resid", "unj",
)  # fmt: skip
"""All measures in the order of printing."""
_NEW = ("rbp", "rbp_resid", "unj")
"""The measures that release 9 does not have."""
_COUNTS = ("runid", "num_q")
FORMS: Mapping[Form, Sequence[str]] = {
    "qrels": tuple(n for n in ORDER if n not in PREFERENCE_MEASURES and n not in _BY_GROUPS),
    "qrels_jg": (*_COUNTS, *_BY_GROUPS),
    "prefs": (*_COUNTS, *PREFERENCE_MEASURES),
    "qrels_prefs": (*_COUNTS, *PREFERENCE_MEASURES),
}
"""The measures of each form of judgements."""
SETS: Mapping[str, Sequence[str]] = {
    "official": ORDER[:12],
    "all_trec": FORMS["qrels"],
    "set": (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_prefs": FORMS["prefs"],
    "prefs": FORMS["prefs"][:8],
    "qrels_jg": FORMS["qrels_jg"],
}


def lines_for(
    measures: Sequence[str], items: int = 0, release: int = 10, form: Form = "qrels"
) -> list[TrecLine]:
    """Return the lines of these measures, of all parameters that are given for one of them; `items`
    is the size of the collection."""
    known = [name for name in FORMS[form] if release > 9 or name not in _NEW]
    requested: dict[str, list[str]] = {}
    for measure in measures:
        name, parameters = _split_measure(measure)
        for single in SETS.get(name, (name,)):
            if single in known:
                requested.setdefault(single, []).append(parameters)
            elif name not in SETS or single not in _NEW:
                where = f"trec_eval {release} -R {form} -m"
                raise unknown_name("measure", single, [*SETS, *known], where=where)
    names = [name for name in known if name in requested]
    return [line for name in names for line in _all_lines(name, requested[name], items)]


def _split_measure(measure: str) -> tuple[str, str]:
    """Return a measure and its parameters, as in P.5,10 or, as they are printed, in P_5."""
    for name in sorted((*ORDER, *SETS), key=len, reverse=True):
        rest = measure.removeprefix(name)
        if measure.startswith(name) and re.match(r"\.|_[\d.]|\Z", rest):
            return name, rest[1:]
    return measure.partition(".")[0], ""


def _all_lines(name: str, parameters: Sequence[str], items: int) -> list[TrecLine]:
    """Return the lines of one measure; the usual ones if no parameters are given."""
    given = list(dict.fromkeys(filter(None, parameters))) or [""]
    if name in {**_AT_RANKS, **_AT_NUMBERS} or name in _BY_GROUPS:
        given = [_join(given)]
    return [line for single in given for line in _lines(name, single, items)]


def _join(parameters: Sequence[str]) -> str:
    """Return the parameters of several options as one, without those that came before."""
    joined: list[str] = []
    for text in parameters:
        before = {*joined}
        joined += [part for part in text.split(",") if part not in before]
    return ",".join(joined)


def _lines(name: str, parameters: str, items: int) -> list[TrecLine]:
    """Return the lines of one measure."""
    if name in _BY_GROUPS:
        single = _BY_GROUPS[name]
        lines = _lines(single, parameters, items)
        return [replace(line, label=line.label.replace(single, name, 1)) for line in lines]
    if name in _AT_RANKS:
        ours, usual = _AT_RANKS[name]
        return [
            TrecLine(f"{name}_{k}", (f"{ours}@{k}",)) for k in _whole(name, parameters or usual)
        ]
    if name in _AT_NUMBERS:
        ours, usual = _AT_NUMBERS[name]
        numbers = sorted(_numbers(name, parameters or usual))
        return [TrecLine(f"{name}_{x:3.2f}", (ours.format(_plain(x)),)) for x in numbers]
    if name in _FIXED:
        return [_FIXED[name]]
    if name in _PLAIN:
        if parameters:
            raise BadName(f"-m {name}.{parameters} has parameters.", f"none: -m {name}.")
        return [TrecLine(name, (_PLAIN[name],))]
    return [
        _WITH_PARAMETERS[name](f"{name}_{parameters}" if parameters else name, parameters, items)
    ]


def _utility(label: str, parameters: str, items: int) -> TrecLine:
    numbers = _numbers("utility", parameters or "1,-1,0,0")
    if len(numbers) != 4:
        raise BadName(
            f"-m utility.{parameters} has {len(numbers)} numbers.",
            "four numbers, such as 1,-1,0,0.",
        )
    hit, miss, missed, passed = map(_plain, numbers)
    inside = f"hit={hit},miss={miss},missed={missed},passed={passed},catalogue={items}"
    return TrecLine(label, (f"utility[{inside}]",))


def _eleven_points(label: str, parameters: str, items: int) -> TrecLine:
    if not parameters:
        return TrecLine(label, ("iprec[11pt]",))
    return TrecLine(
        label, tuple(f"iprec@{_plain(level)}" for level in _numbers("11pt_avg", parameters))
    )


def _set_f(label: str, parameters: str, items: int) -> TrecLine:
    (weight,) = _numbers("set_F", parameters or "1.0")[:1]
    if weight < 0:
        raise BadName(f"-m set_F.{parameters} has a weight below 0.", "a number of at least 0.")
    return TrecLine(label, (f"set_f[beta={_plain(weight)}]",))


def _ndcg(label: str, parameters: str, items: int) -> TrecLine:
    gains = tuple(
        (int(_numbers("ndcg", level)[0]), gain) for level, gain in _pairs("ndcg", parameters)
    )
    if any(level < 0 or gain < 0 for level, gain in gains):
        raise BadName(
            f"-m ndcg.{parameters} has a number below 0.", "grades and gains of at least 0."
        )
    return TrecLine(label, ("ndcg",), gains=gains)


def _rbp(label: str, parameters: str, items: int) -> TrecLine:
    ours = "rbp_residual" if label.startswith("rbp_resid") else "rbp"
    if not parameters:
        return TrecLine(label, (ours,))
    pairs = dict(_pairs(ours, parameters))
    if set(pairs) != {"p"}:
        raise BadName(f"-m {label} sets {', '.join(pairs)}.", "only p, such as -m rbp.p=0.8.")
    return TrecLine(label, (f"{ours}[p={_plain(pairs['p'])}]",))


def _relstring(label: str, parameters: str, items: int) -> TrecLine:
    length = int(_numbers("relstring", parameters or "10")[0])
    return TrecLine(label, (), "string", "queries", length=max(length, 0))


_WITH_PARAMETERS: Mapping[str, Callable[[str, str, int], TrecLine]] = {
    "utility": _utility, "11pt_avg": _eleven_points, "set_F": _set_f, "ndcg": _ndcg, "rbp": _rbp,
    "rbp_resid": _rbp, "relstring": _relstring,
}  # fmt: skip


def _numbers(name: str, parameters: str) -> list[float]:
    try:
        return [float(part) for part in parameters.split(",")]
    except ValueError:
        raise BadName(
            f"-m {name}.{parameters} cannot be parsed.", "numbers separated by commas."
        ) from None


def _whole(name: str, parameters: str) -> list[int]:
    cutoffs = sorted(math.floor(number) for number in _numbers(name, parameters))
    if cutoffs[0] < 1 or len(set(cutoffs)) < len(cutoffs):
        raise BadName(
            f"-m {name}.{parameters} is not a list of cutoffs.", "cutoffs of at least 1, each once."
        )
    return cutoffs


def _pairs(name: str, parameters: str) -> Iterator[tuple[str, float]]:
    for part in filter(None, parameters.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise BadName(
                f"-m {name}.{parameters} cannot be parsed.", "pairs level=gain separated by commas."
            )
        yield key, _numbers(name, value)[0]


def _plain(number: float) -> str:
    """Format a number without an exponent, as names of metrics need it."""
    return re.sub(r"\.?0+\Z", "", f"{number:.12f}") or "0"


def strings(lists: Judged, length: int) -> list[str]:
    """Return a string per list with the grades of its first items: a digit, > for a grade above 9,
    . for a grade below 0, and - for an unjudged item."""
    shown = [["-"] * min(int(size), length) for size in lists.returned]
    for number, rank, grade in zip(lists.list, lists.rank, lists.grade, strict=True):
        if rank <= length:
            sign = ">" if grade > 9 else str(int(grade)) if grade >= 0 else "."
            shown[number][rank - 1] = sign
    return ["".join(signs) for signs in shown]


@dataclass(frozen=True)
class TrecValues:
    """The values behind the lines: by label and query, and those of all queries by label; the tag
    of the run, and the relevance string of every query by length."""

    queries: Mapping[str, Mapping[str, float]]
    overall: Mapping[str, float]
    tag: str = ""
    strings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    prefix: Literal["", "Z"] = ""

    @property
    def counted(self) -> list[str]:
        """The queries that count, in byte order."""
        return sorted(self.queries[COUNTED], key=str.encode)


def collect(
    lines: Sequence[TrecLine], evaluations: Mapping[Gains, Evaluation], **more: Any
) -> TrecValues:
    """Return the values of evaluations, one for each choice of gains."""
    rows = {gains: _rows(run) for gains, run in evaluations.items()}
    first = next(iter(rows.values()))
    queries: dict[str, dict[str, float]] = {COUNTED: dict.fromkeys(first, 1.0)}
    overall: dict[str, float] = {}
    for line in (line for line in lines if line.names and line.label != COUNTED):
        run = evaluations[line.gains]
        arrays = [run.result(name).values for name in line.names]
        values = np.mean([array for array in arrays if array is not None], axis=0)
        queries[line.label] = {q: float(values[row]) for q, row in rows[line.gains].items()}
        exact = sum(run[name] for name in line.names) / len(line.names)
        added = _summarise(line, queries[line.label], len(first))
        overall[line.label] = added if math.isclose(added, exact, rel_tol=SAME) else exact
    whole = next(iter(evaluations.values()))
    return TrecValues(queries, {COUNTED: whole[COUNTED], **overall}, **more)


def keep_queries(values: TrecValues, kept: Container[str]) -> TrecValues:
    """Return the values with these queries only; those of all queries stay as they are."""
    queries = {
        label: {query: value for query, value in row.items() if query in kept}
        for label, row in values.queries.items()
    }
    return replace(values, queries=queries)


def summarise(
    lines: Sequence[TrecLine], queries: Mapping[str, Mapping[str, float]], size: int
) -> dict[str, float]:
    """Return the values of all queries: sums of counts, and means over `size` queries."""
    overall = {COUNTED: float(size)}
    for line in (line for line in lines if line.names and line.label != COUNTED):
        overall[line.label] = _summarise(line, queries[line.label], size)
    return overall


def _summarise(line: TrecLine, row: Mapping[str, float], size: int) -> float:
    """Return the value of all queries, added as trec_eval adds: query by query in byte order.

    Each addition is rounded. So the mean can be on the other side of a half in the last decimal
    that is printed than the mean of the exact sum.
    """
    total = 0.0
    for query in sorted(row, key=str.encode):
        total += row[query]
    if line.kind == "count":
        return total
    return math.exp(total / size) if line.overall == "exp of the mean" else total / size


SAME = 1e-12
"""How far the rounding of sums can put a mean from the exact one. One that is further away is not
the mean of trec_eval: it is weighted, or in percent."""
MISSING = -1_000_000.0
"""The z-score that trec_eval gives a measure without a mean and a standard deviation."""


def standardise(
    lines: Sequence[TrecLine],
    values: TrecValues,
    scores: Mapping[tuple[str, str], tuple[float, float]],
) -> TrecValues:
    """Return z-scores: how many standard deviations the value of each query is from the mean of
    other systems; `scores` has both by query and label."""
    queries: dict[str, Mapping[str, float]] = {
        label: {q: _standardise(value, scores.get((q, label))) for q, value in row.items()}
        for label, row in values.queries.items()
        if label != COUNTED
    }
    queries = {COUNTED: values.queries[COUNTED], **queries}
    overall = summarise(lines, queries, round(values.overall[COUNTED]))
    return replace(values, queries=queries, overall=overall, prefix="Z")


def _standardise(value: float, score: tuple[float, float] | None) -> float:
    mean, deviation = score or (math.nan, 0.0)
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING


def text(lines: Sequence[TrecLine], values: TrecValues, shown: Sequence[Part]) -> str:
    """Return the lines of every query that counts, in byte order, and those of all queries."""
    parts: list[str] = []
    if "queries" in shown:
        single = [line for line in lines if line.scope != "summary"]
        parts += [_query_line(line, values, query) for query in values.counted for line in single]
    if "summary" in shown:
        parts += [_summary_line(line, values) for line in lines if line.scope != "queries"]
    return "".join(parts)


def _rows(evaluation: Evaluation) -> dict[str, int]:
    """Return the row of every query that counts."""
    values, lists = evaluation.result(COUNTED).values, evaluation.lists
    if values is None or lists is None:
        return {}
    return {str(key): row for row, key in enumerate(lists.keys) if np.isfinite(values[row])}


def _query_line(line: TrecLine, values: TrecValues, query: str) -> str:
    if line.kind == "string":
        return _line(line, query, f"'{values.strings[line.length].get(query, '')}'")
    return _line(line, query, _format(line, values.queries[line.label][query], values), values)


def _summary_line(line: TrecLine, values: TrecValues) -> str:
    if line.kind == "tag":
        return _line(line, "all", values.tag)
    return _line(line, "all", _format(line, values.overall[line.label], values), values)


def _line(line: TrecLine, query: str, shown: str, values: TrecValues | None = None) -> str:
    return f"{values.prefix if values else ''}{line.label:<22}\t{query}\t{shown}\n"


def _format(line: TrecLine, value: float, values: TrecValues) -> str:
    return f"{value:.0f}" if line.kind == "count" and not values.prefix else f"{value:6.4f}"

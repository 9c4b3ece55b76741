"""`rectitude evaluate --format trec_eval`: the options of trec_eval, and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli import judgements
from rectitude.cli.inputs import CommandInputs, open_inputs
from rectitude.cli.options import convention_of
from rectitude.errors import BadArgument

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.evaluation.opinions import Counted
    from rectitude.profiles import Profile
    from rectitude.reports.trec import Gains, TrecLine, TrecValues

PROFILE = "trec_eval-10"
_OTHER_INPUTS = ("train", "seen", "items", "users", "weights", "candidates")


def _option(*names: str, metavar: str | None = None, words: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=f"trec_eval: {words}")


PerQuery = Annotated[bool, _option("--per-query", "-q", words="also print every query.")]
Measures = Annotated[
    list[str] | None,
    _option(
        "--measure", "-m", metavar="NAME",
        words="a measure, such as all_trec or P.5,10.",
    ),
]  # fmt: skip
Complete = Annotated[
    bool, _option("--complete", "-c", words="judged queries without a list count as 0.")
]
Level = Annotated[
    float | None,
    _option("--level", "-l", metavar="GRADE", words="the lowest relevant grade."),
]
JudgedOnly = Annotated[bool, _option("--judged-only", "-J", words="drop unjudged documents.")]
MaxRetrieved = Annotated[
    int | None, _option("--max-retrieved", "-M", metavar="K", words="cut lists at rank K.")
]
CollectionSize = Annotated[
    int | None,
    _option("--collection-size", "-N", metavar="N", words="documents in the collection."),
]


class Judgements(StrEnum):
    """The forms of judgements."""

    QRELS = "qrels"
    GROUPS = "qrels_jg"
    PREFERENCES = "prefs"
    QRELS_PREFERENCES = "qrels_prefs"


RelFormat = Annotated[
    Judgements,
    _option(
        "--rel-format", "-R",
        words="the form of the judgements: grades, also of several groups, or preferences.",
    ),
]  # fmt: skip
ZScores = Annotated[
    str | None,
    _option(
        "--zscores", "-Z", metavar="FILE",
        words="print z-scores, from the means and standard deviations in this file.",
    ),
]  # fmt: skip
NoSummary = Annotated[bool, _option("--no-summary", "-n", words="do not print the means.")]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of trec_eval."""

    queries: bool = False
    measures: Sequence[str] = ()
    complete: bool = False
    level: float | None = None
    judged_only: bool = False
    most: int | None = None
    items: int | None = None
    no_summary: bool = False
    form: Judgements = Judgements.QRELS
    zscores: str | None = None

    def refuse(self, form: str) -> None:
        """Refuse these options with any other format."""
        if self != Options():
            raise BadArgument(
                f"options of trec_eval were given, but the format is {form}.",
                "--format trec_eval with them.",
                f"for other formats: --metrics {' '.join(self.measures)}" if self.measures else "",
            )

    def switches(self) -> dict[str, Any]:
        """Return the switches that the options set."""
        if self.judged_only and self.most is not None:
            raise BadArgument(
                "-J and -M were given together.",
                "one of them: trec_eval cuts lists before it drops unjudged documents.",
            )
        if self.most is not None and self.most < 1:
            raise BadArgument(f"-M is {self.most}.", "a whole number of at least 1.")
        switches: dict[str, Any] = {"list_needed": "none"} if self.complete else {}
        switches |= {} if self.level is None else {"relevant_from": self.level}
        switches |= {"unjudged": "dropped"} if self.judged_only else {}
        return switches | ({} if self.most is None else {"list_end": "last_cutoff"})


def print_trec(
    options: Options, convention: Sequence[str], inputs: CommandInputs, settings: Mapping[str, Any]
) -> tuple[str, dict[str, Evaluation]]:
    """Return what trec_eval would print for every file of predictions, and the evaluations."""
    from rectitude.profiles import profile_of
    from rectitude.reports import trec

    if settings["metrics"] is not None or settings["cutoffs"] is not None:
        option = "--cutoffs" if settings["metrics"] is None else "--metrics"
        raise BadArgument(
            f"{option} was given, but the format is trec_eval.", "-m with a measure of trec_eval."
        )
    has_profile = any("=" not in word for word in convention)
    words = [*convention] if has_profile else [PROFILE, *convention]
    settings = {**settings, "convention": {**convention_of(words), **options.switches()}}
    profile = profile_of(settings["convention"])
    measures = options.measures or [_USUAL.get(options.form, options.form.value)]
    release = _find_release(profile)
    lines = trec.lines_for(measures, options.items or 0, release, options.form.value)
    runs, truth = open_inputs(inputs)
    truth = truth if options.form is Judgements.QRELS else inputs.truth
    measure = _MEASURE.get(options.form, _measure_run)
    scores = judgements.read_scores(options.zscores) if options.zscores else None
    shown: list[trec.Part] = ["queries"] if options.queries else []
    shown += [] if options.no_summary else ["summary"]
    texts: list[str] = []
    evaluations: dict[str, Evaluation] = {}
    for label, run in runs.items():
        request = TrecRequest(lines, options, run, truth, settings, profile, release)
        values, evaluation = measure(request)
        values = replace(values, tag=_read_tag(run) or label)
        values = trec.standardise(lines, values, scores) if scores else values
        texts.append(trec.text(lines, values, shown))
        evaluations |= {label: evaluation} if evaluation else {}
    return "".join(texts), evaluations


@dataclass(frozen=True, slots=True)
class TrecRequest:
    """What is to be printed about one run."""

    lines: Sequence[TrecLine]
    options: Options
    run: Any
    truth: Any
    settings: Mapping[str, Any]
    profile: Profile
    release: int

    @property
    def is_short(self) -> bool:
        """Whether judged queries without a list count, but are not printed: release 9 with -c."""
        return self.options.complete and self.release < _PRINTS_ALL


def _find_release(profile: Profile) -> int:
    """Return the release of trec_eval that a profile reproduces; the latest for other profiles."""
    version = profile.versions[0] if profile.framework == "trec_eval" else ""
    return int(version.partition(".")[0] or _PRINTS_ALL)


def _measure_run(request: TrecRequest) -> tuple[TrecValues, Evaluation | None]:
    """Return the values and the relevance strings of a run, by qrels."""
    from rectitude.reports import trec

    options, settings = request.options, request.settings
    evaluations = {}
    for gains in dict.fromkeys([(), *(line.gains for line in request.lines)]):
        names = [name for line in request.lines if line.gains == gains for name in line.names]
        graded = _regrade(request.truth, gains, settings) if gains else request.truth
        evaluations[gains] = _evaluate(names, options, request.run, graded, settings)
    lengths = {line.length for line in request.lines if line.kind == "string"}
    strings = {
        size: _relevance_strings(size, options, request.run, request.truth, settings)
        for size in lengths
    }
    values = trec.collect(request.lines, evaluations, strings=strings)
    if request.is_short:
        handed = set(judgements.read_run(request.run, settings)["list"])
        values = trec.keep_queries(values, handed)
    return values, evaluations[()]


def _evaluate(
    names: Sequence[str], options: Options, run: Any, truth: Any, settings: Mapping[str, Any]
) -> Evaluation:
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.reports import trec

    last = [] if options.most is None else [f"precision@{options.most}"]
    metrics = list(dict.fromkeys([trec.COUNTED, *names, *last]))
    metrics = [name for name in metrics if name not in last] + last
    return _require_values(evaluate(run, truth, **{**settings, "metrics": metrics}))


def _measure_groups(request: TrecRequest) -> tuple[TrecValues, Evaluation | None]:
    """Return the values of a run, as means over the groups that judged each query."""
    from rectitude.evaluation.opinions import split_groups
    from rectitude.reports import trec

    settings = request.settings
    rows = judgements.read_run(request.run, settings)
    judged = judgements.read_judgements(request.truth, request.options.form.value)
    run, truth, owners = split_groups(rows, judged, settings["list_key"])
    names = [name for line in request.lines for name in line.names]
    evaluation = _evaluate(names, request.options, run, truth, {**settings, "columns": {}})
    queries = judgements.average_lines(trec.collect(request.lines, {(): evaluation}), owners)
    overall = trec.summarise(request.lines, queries, len(queries[trec.COUNTED]))
    values = trec.TrecValues(queries, overall)
    return trec.keep_queries(values, set(rows["list"])) if request.is_short else values, None


def _measure_preferences(request: TrecRequest) -> tuple[TrecValues, Evaluation | None]:
    """Return the values of a run, by preferences between documents."""
    import polars as pl

    from rectitude.reports import trec

    options, precision = request.options, request.profile.convention.score_precision
    rows = judgements.read_run(request.run, request.settings)
    kind = pl.Float32 if precision == "float32" else pl.Float64
    rows = rows.with_columns(pl.col("score").cast(kind))
    judged = judgements.read_judgements(request.truth, options.form.value)
    counted: Counted = "judged" if options.complete and not request.is_short else "handed"
    queries = judgements.measure_lines(request.lines, rows, judged, counted, options.most)
    size = judged["list"].n_unique() if options.complete else len(queries[trec.COUNTED])
    return trec.TrecValues(queries, trec.summarise(request.lines, queries, size)), None


_PRINTS_ALL = 10
"""the first release that prints judged queries without a list"""
_USUAL = {Judgements.QRELS: "official", Judgements.QRELS_PREFERENCES: "prefs"}
_MEASURE = {
    Judgements.GROUPS: _measure_groups,
    Judgements.PREFERENCES: _measure_preferences,
    Judgements.QRELS_PREFERENCES: _measure_preferences,
}


def _read_tag(run: Any) -> str:
    """Return the tag on the last line of a run, or the name of a file in another format; empty for
    anything that is not a file."""
    from rectitude.data.columns import want_columns
    from rectitude.data.formats.trec import RUN
    from rectitude.data.read import open_file
    from rectitude.predictions.lists import Lists

    path, form = (run.source, run.format) if isinstance(run, Lists) else (run, None)
    if not isinstance(path, str):
        return ""
    want = want_columns("predictions", {}, "user", form or "")
    source = open_file(Path(path).expanduser(), want)
    if tuple(source.names) != RUN:
        return source.label
    return str(source.take({"tag": "tag"})["tag"][-1])


def _require_values(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation if every measure has a value; raise the error of one that has none."""
    for error in evaluation.failures.values():
        raise error
    return evaluation


def _regrade(truth: Any, gains: Gains, settings: Mapping[str, Any]) -> Any:
    """Return the truth with grades replaced by gains."""
    from rectitude.data.read import read

    table = read(truth, "truth", hints=settings["columns"], list_key=settings["list_key"]).frame
    if "grade" not in table.columns:
        raise BadArgument(
            "gains were given, but the truth has no grades.", "a truth with a grade column."
        )
    grades = table["grade"].replace_strict(dict(gains), default=table["grade"].cast(float))
    return table.with_columns(grades.alias("grade")).rename({"list": settings["list_key"]})


def _relevance_strings(
    length: int, options: Options, run: Any, truth: Any, settings: Mapping[str, Any]
) -> dict[str, str]:
    """Return the grades of the first items of every query, as strings."""
    from rectitude.evaluation.inputs import RawInputs
    from rectitude.explanation.trials import Trials
    from rectitude.metrics.names import Name
    from rectitude.profiles import profile_of
    from rectitude.reports.trec import strings

    profile = profile_of(settings["convention"])
    if options.most is not None:
        profile = profile.replace(list_end="cutoff")
    metric = profile.resolve(Name("infap", at=str(options.most) if options.most else None))
    inputs = {
        "predictions": run,
        "truth": truth,
        **{name: settings[name] for name in _OTHER_INPUTS},
    }
    opening = RawInputs(inputs, settings["ranking"], settings["list_key"], settings["columns"])
    trials = Trials(opening, [metric])
    keys = map(str, trials.keys(metric).keys)
    return dict(zip(keys, strings(trials.judged(metric), length), strict=True))

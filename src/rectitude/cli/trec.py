"""`rectitude evaluate --format trec_eval`: the options of trec_eval, and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import CommandInputs, open_inputs
from rectitude.cli.options import convention_of
from rectitude.errors import BadArgument

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.reports.trec import Gains, TrecLine

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
    from rectitude.reports import trec

    if settings["metrics"] is not None or settings["cutoffs"] is not None:
        option = "--cutoffs" if settings["metrics"] is None else "--metrics"
        raise BadArgument(
            f"{option} was given, but the format is trec_eval.", "-m with a measure of trec_eval."
        )
    lines = trec.lines_for(options.measures or ["official"], options.items or 0)
    has_profile = any("=" not in word for word in convention)
    words = [*convention] if has_profile else [PROFILE, *convention]
    settings = {**settings, "convention": {**convention_of(words), **options.switches()}}
    runs, truth = open_inputs(inputs)
    shown: list[trec.Part] = ["queries"] if options.queries else []
    shown += [] if options.no_summary else ["summary"]
    texts, evaluations = [], {}
    for label, run in runs.items():
        values = _measure_run(lines, options, run, truth, settings, label)
        texts.append(trec.text(lines, values, shown))
        evaluations[label] = next(iter(values.evaluations.values()))
    return "".join(texts), evaluations


def _measure_run(
    lines: Sequence[TrecLine],
    options: Options,
    run: Any,
    truth: Any,
    settings: Mapping[str, Any],
    label: str,
) -> Any:
    """Return the values, the tag and the relevance strings of one run."""
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.reports import trec

    evaluations = {}
    for gains in dict.fromkeys([(), *(line.gains for line in lines)]):
        names = [name for line in lines if line.gains == gains for name in line.names]
        last = [] if options.most is None else [f"precision@{options.most}"]
        metrics = list(dict.fromkeys([trec.COUNTED, *names, *last]))
        metrics = [name for name in metrics if name not in last] + last
        graded = _regrade(truth, gains, settings) if gains else truth
        evaluation = evaluate(run, graded, **{**settings, "metrics": metrics})
        evaluations[gains] = _require_values(evaluation)
    lengths = {line.length for line in lines if line.kind == "string"}
    strings = {size: _relevance_strings(size, options, run, truth, settings) for size in lengths}
    return trec.TrecValues(evaluations, _read_tag(run) if isinstance(run, str) else label, strings)


def _read_tag(path: str) -> str:
    """Return the tag on the last line of a run; for any other file, its name."""
    from rectitude.data.columns import want_columns
    from rectitude.data.formats.trec import RUN
    from rectitude.data.read import open_file

    source = open_file(Path(path).expanduser(), want_columns("predictions", {}, "user"))
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

"""`rectitude evaluate --format trec_eval`: the options of trec_eval, and what it would print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import CommandInputs, opened
from rectitude.cli.options import convention_of
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.reports.trec import Gains, TrecLine

PROFILE = "trec_eval-10"
_OTHERS = ("train", "items", "users", "weights", "candidates")


def _option(*names: str, metavar: str | None = None, words: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=f"trec_eval: {words}")


PerQuery = Annotated[bool, _option("--per-query", "-q", words="print every query too.")]
Measures = Annotated[
    list[str] | None,
    _option(
        "--measure", "-m", metavar="NAME",
        words="a measure, such as all_trec or P.5,10.",
    ),
]  # fmt: skip
Complete = Annotated[
    bool, _option("--complete", "-c", words="judged queries without a list count 0.")
]
Level = Annotated[
    float | None,
    _option("--level", "-l", metavar="GRADE", words="the lowest relevant grade."),
]
JudgedOnly = Annotated[bool, _option("--judged-only", "-J", words="drop what is not judged.")]
MaxRetrieved = Annotated[
    int | None, _option("--max-retrieved", "-M", metavar="K", words="end lists at K.")
]
CollectionSize = Annotated[
    int | None,
    _option("--collection-size", "-N", metavar="N", words="documents in all."),
]
NoSummary = Annotated[bool, _option("--no-summary", "-n", words="do not print the means.")]


@dataclass(frozen=True, slots=True)
class Options:
    """What the options of trec_eval say."""

    queries: bool = False
    measures: Sequence[str] = ()
    complete: bool = False
    level: float | None = None
    judged_only: bool = False
    most: int | None = None
    items: int | None = None
    no_summary: bool = False

    def refuse(self, form: str) -> None:
        """An error if any of them was used with another format."""
        if self != Options():
            raise BadName(
                f"options of trec_eval were given, and the format is {form}.",
                "--format trec_eval with them.",
            )

    def switches(self) -> dict[str, Any]:
        """The switches that the options set."""
        if self.judged_only and self.most is not None:
            raise BadName(
                "-J and -M were given together.",
                "one of them: trec_eval ends lists before it drops what is not judged.",
            )
        if self.most is not None and self.most < 1:
            raise BadName(f"-M is {self.most}.", "a number of documents from 1 on.")
        wanted: dict[str, Any] = {"list_needed": "none"} if self.complete else {}
        wanted |= {} if self.level is None else {"relevant_from": self.level}
        wanted |= {"unjudged": "dropped"} if self.judged_only else {}
        return wanted | ({} if self.most is None else {"list_end": "last_cutoff"})


def printed(
    options: Options, convention: Sequence[str], inputs: CommandInputs, given: Mapping[str, Any]
) -> tuple[str, dict[str, Evaluation]]:
    """What trec_eval would print of every file of predictions, and the evaluations behind it."""
    from rectitude.reports import trec

    if given["metrics"] is not None:
        raise BadName("--metrics was given, and the format is trec_eval.", "-m with its measures.")
    lines = trec.asked(options.measures or ["official"], options.items or 0)
    named = [*convention] if any("=" not in word for word in convention) else [PROFILE, *convention]
    settings = {**given, "convention": {**convention_of(named), **options.switches()}}
    runs, truth = opened(inputs)
    shown: list[trec.Part] = ["queries"] if options.queries else []
    shown += [] if options.no_summary else ["summary"]
    parts, evaluations = [], {}
    for label, run in runs.items():
        found = _found(lines, options, run, truth, settings, label)
        parts.append(trec.text(lines, found, shown))
        evaluations[label] = next(iter(found.evaluations.values()))
    return "".join(parts), evaluations


def _found(
    lines: Sequence[TrecLine],
    options: Options,
    run: Any,
    truth: Any,
    given: Mapping[str, Any],
    label: str,
) -> Any:
    """The numbers, the tag and the strings of one run."""
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.reports import trec

    evaluations = {}
    for gains in dict.fromkeys([(), *(line.gains for line in lines)]):
        names = [name for line in lines if line.gains == gains for name in line.names]
        last = [] if options.most is None else [f"precision@{options.most}"]
        asked = list(dict.fromkeys([trec.COUNTED, *names, *last]))
        asked = [name for name in asked if name not in last] + last
        worth = _regraded(truth, gains, given) if gains else truth
        evaluations[gains] = _whole(evaluate(run, worth, **{**given, "metrics": asked}))
    lengths = {line.length for line in lines if line.kind == "string"}
    strings = {size: _strings(size, options, run, truth, given) for size in lengths}
    return trec.TrecValues(evaluations, _tag(run) if isinstance(run, str) else label, strings)


def _tag(path: str) -> str:
    """The tag that the last line of a run holds; the name of a file that is no run."""
    from rectitude.data.columns import wanted
    from rectitude.data.formats.trec import RUN
    from rectitude.data.read import open_file

    source = open_file(Path(path).expanduser(), wanted("predictions", {}, "user"))
    if tuple(source.names) != RUN:
        return source.label
    return str(source.take({"tag": "tag"})["tag"][-1])


def _whole(evaluation: Evaluation) -> Evaluation:
    """The evaluation, if every measure has a value."""
    for error in evaluation.failures.values():
        raise error
    return evaluation


def _regraded(truth: Any, gains: Gains, given: Mapping[str, Any]) -> Any:
    """The truth with what the grades are worth in their place."""
    from rectitude.data.read import read

    table = read(truth, "truth", hints=given["columns"], list_key=given["list_key"]).frame
    if "grade" not in table.columns:
        raise BadName("gains were given, and the truth has no grades.", "a truth with grades.")
    grades = table["grade"].replace_strict(dict(gains), default=table["grade"].cast(float))
    return table.with_columns(grades.alias("grade")).rename({"list": given["list_key"]})


def _strings(
    length: int, options: Options, run: Any, truth: Any, given: Mapping[str, Any]
) -> dict[str, str]:
    """The grades of the first items of every query."""
    from rectitude.evaluation.inputs import Given
    from rectitude.explanation.trials import Trials
    from rectitude.metrics.names import Name
    from rectitude.profiles import profile_of
    from rectitude.reports.trec import strings

    profile = profile_of(given["convention"])
    if options.most is not None:
        profile = profile.replace(list_end="cutoff")
    asked = profile.resolve(Name("infap", at=str(options.most) if options.most else None))
    inputs = {"predictions": run, "truth": truth, **{name: given[name] for name in _OTHERS}}
    opening = Given(inputs, given["ranking"], given["list_key"], given["columns"])
    trials = Trials(opening, [asked])
    keys = map(str, trials.keys(asked).keys)
    return dict(zip(keys, strings(trials.judged(asked), length), strict=True))

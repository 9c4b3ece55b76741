"""`rectitude evaluate`: what are my metrics?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli import inputs, trec
from rectitude.cli.inputs import source
from rectitude.cli.options import (
    Conventions,
    convention_of,
    file_option,
    flag,
    pairs,
    reported,
    valued,
)
from rectitude.cli.output import deliver
from rectitude.cli.output import shown as shown_progress
from rectitude.errors import BadName, RectitudeError

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.candidates.estimators import Estimate

NAME = "evaluate"
EXAMPLE = """\b
Examples:
  rectitude evaluate --truth test.csv --predictions recs.parquet
  rectitude evaluate --truth test.csv --predictions a.csv b.csv \\
      --metrics "ndcg@{5,10}" recall@20 --convention rectools order=score
  rectitude evaluate --truth t.qrels --predictions bm25.run --json --output bm25.json
  rectitude evaluate --truth test.csv --scores scores.npy --train train.csv \\
      --users users.csv --slices known gender activity:4
  rectitude evaluate --truth test.csv --predictions a.csv b.csv --candidates c.parquet --estimate
  rectitude evaluate --truth elliot:test.tsv --predictions trec:bm25.txt
  rectitude evaluate --logits logits.npy --targets targets.npy --baselines
  rectitude evaluate --truth qrels.txt --predictions bm25.run --format trec_eval -q -m all_trec"""
_NOT_ESTIMATED = ("metrics", "intervals", "slices")


class EvaluateForm(StrEnum):
    """How results are shown."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"
    SMGCN = "smgcn"
    TREC = "trec_eval"


def run(  # noqa: PLR0913  one parameter per option
    *,
    truth: inputs.Truth = None,
    predictions: Annotated[
        list[str] | None, valued("FILE ...", "Ranked lists: user, item, and score or rank.")
    ] = None,
    scores: inputs.ScoreFiles = None,
    logits: inputs.LogitFiles = None,
    targets: inputs.Targets = None,
    metrics: Annotated[
        list[str] | None,
        valued("NAME ...", 'Such as mrr or "ndcg@{5,10}" (see: rectitude metrics).'),
    ] = None,
    convention: Conventions = None,
    train: inputs.Train = None,
    candidates: inputs.CandidateFile = None,
    ranking: inputs.Ranking = None,
    score_users: inputs.ScoreUsers = None,
    score_items: inputs.ScoreItems = None,
    padding: inputs.Padding = None,
    baselines: Annotated[
        bool, flag("--baselines", "Add the majority class and random logits.")
    ] = False,
    train_targets: Annotated[
        str | None, file_option("Targets of training, for the majority class (.npy).")
    ] = None,
    items: inputs.Items = None,
    users: inputs.Users = None,
    weights: inputs.Weights = None,
    list_key: inputs.ListKey = "user",
    columns: inputs.Columns = None,
    slices: Annotated[
        list[str] | None,
        valued(
            "NAME ...", "By attribute too: gender, price:10,50, activity:4, known, a+b crossed."
        ),
    ] = None,
    smallest_slice: Annotated[
        int, valued("N", "Mark slices of fewer lists or relevant rows.")
    ] = 30,
    estimate: Annotated[
        bool, flag("--estimate", "Add what sampled candidates tell of a ranking of all items.")
    ] = False,
    intervals: Annotated[bool, flag("--intervals", "Add 95% intervals.")] = False,
    improvement: Annotated[
        bool, flag("--improvement", "Compare all with the first, in points and percent.")
    ] = False,
    definitions: Annotated[bool, flag("--definitions", "Say what each number means.")] = False,
    form: Annotated[EvaluateForm | None, flag("--format", "How results are shown.")] = None,
    as_json: Annotated[bool, flag("--json", "Short for --format json.")] = False,
    as_csv: Annotated[bool, flag("--csv", "Short for --format csv.")] = False,
    as_latex: Annotated[bool, flag("--latex", "Short for --format latex.")] = False,
    output: Annotated[
        Path | None,
        file_option("Write there instead of printing; a .zip keeps values of lists, too."),
    ] = None,
    per_list: Annotated[
        Path | None, file_option("Also write the values of every list (.csv or .parquet).")
    ] = None,
    per_query: trec.PerQuery = False,
    measures: trec.Measures = None,
    complete: trec.Complete = False,
    level: trec.Level = None,
    judged_only: trec.JudgedOnly = False,
    max_retrieved: trec.MaxRetrieved = None,
    collection_size: trec.CollectionSize = None,
    no_summary: trec.NoSummary = False,
) -> int:
    """Evaluate ranked lists, dense scores or logits against the truth.

    Tables are CSV, TSV, Parquet, or TREC runs and qrels, also compressed; their columns are
    recognised by their usual names. Scores and logits are NumPy files (.npy or .npz), mapped into
    memory unless they are compressed. What each file was taken for is said on stderr; FORMAT:FILE
    decides otherwise (see: rectitude convert --formats). An option with several values takes them
    in a row or repeated. Several files of predictions are shown side by side.
    """
    from rectitude.reports.forms import rendered

    shown = _format(
        form, {EvaluateForm.JSON: as_json, EvaluateForm.CSV: as_csv, EvaluateForm.LATEX: as_latex}
    )
    _require_targets(output, per_list, shown)
    _require_room(
        {"--definitions": definitions, "--improvement": improvement, "--estimate": estimate}, shown
    )
    _require_whole(slices or (), estimate, shown)
    names: Sequence[str] | None = metrics
    if shown is EvaluateForm.SMGCN:
        from rectitude.reports.smgcn import names as names_of_line

        names = names_of_line(metrics or ())
    given: dict[str, Any] = {
        "metrics": names, "convention": convention_of(convention or ()), "train": source(train),
        "items": source(items), "users": source(users), "weights": source(weights),
        "list_key": list_key,
        "columns": pairs(columns or (), "--columns", "user=visitor"), "intervals": intervals,
        "candidates": source(candidates), "ranking": source(ranking), "slices": slices,
    }  # fmt: skip
    named = inputs.CommandInputs(
        predictions or (), scores or (), logits or (), truth, targets, score_users, score_items,
        train_targets, baselines, padding,
    )  # fmt: skip
    options = trec.Options(
        per_query, measures or (), complete, level, judged_only, max_retrieved, collection_size,
        no_summary,
    )  # fmt: skip
    if shown is EvaluateForm.TREC:
        text, evaluations = trec.printed(options, convention or (), named, given)
    else:
        options.refuse(shown)
        evaluations = marked(_evaluated(named, given, estimate), smallest_slice)
        text = rendered(evaluations, shown) + _added(evaluations, definitions, improvement)
        text += estimated(evaluations) if estimate and shown is not EvaluateForm.JSON else ""
    deliver(text, output, per_list, evaluations)
    in_text = shown is EvaluateForm.TABLE and output is None
    if not in_text and shown is not EvaluateForm.JSON:
        _warn_of_samples(evaluations)
    return _failed(evaluations, aloud=not in_text)


def _warn_of_samples(evaluations: Mapping[str, Evaluation]) -> None:
    """Numbers of sampled candidates go nowhere without saying so; a table and JSON have a ledger
    that does."""
    for label, one in evaluations.items():
        if "lists_sampled" in one.ledger:
            typer.echo(f"warning: {label}: {one.ledger.entries['lists_sampled']}", err=True)


def _evaluated(
    named: inputs.CommandInputs, given: Mapping[str, Any], estimate: bool
) -> dict[str, Evaluation]:
    """Each of the predictions, evaluated."""
    from rectitude.evaluation.evaluate import evaluate

    found, truth = inputs.opened(named)
    evaluations: dict[str, Evaluation] = {}
    for label, predictions in found.items():
        with shown_progress(label) as progress:
            one = evaluate(predictions, truth, **given, progress=progress)
            evaluations[label] = with_estimates(one, predictions, truth, given) if estimate else one
    return evaluations


def _format(form: EvaluateForm | None, flags: Mapping[EvaluateForm, bool]) -> EvaluateForm:
    """The one format that was asked for."""
    asked = {form} if form else set()
    asked |= {flag for flag, given in flags.items() if given}
    if len(asked) > 1:
        raise BadName(f"several formats were asked for: {', '.join(sorted(asked))}.", "one.")
    return asked.pop() if asked else EvaluateForm.TABLE


def _require_targets(output: Path | None, per_list: Path | None, form: EvaluateForm) -> None:
    """Refuse what cannot be written before anything is computed."""
    inputs.require_writable("--output", output)
    inputs.require_writable("--per-list", per_list)
    if per_list is not None and per_list.suffix not in (".csv", ".parquet"):
        raise BadName(f"--per-list {per_list} has no known ending.", ".csv or .parquet.")
    if (
        output is not None
        and output.suffix.lower() == ".zip"
        and form not in (EvaluateForm.TABLE, EvaluateForm.JSON)
    ):
        raise BadName(f"--output {output} holds JSON and values per list, not {form}.", "--json.")


def _require_room(asked: Mapping[str, bool], form: EvaluateForm) -> None:
    """Refuse what a format has no place for."""
    roomy = [EvaluateForm.TABLE, EvaluateForm.MARKDOWN]
    for option in [option for option, given in asked.items() if given and form not in roomy]:
        if (option, form) == ("--estimate", EvaluateForm.JSON):
            continue
        told = "; JSON holds the definitions anyway" if option == "--definitions" else ""
        raise BadName(
            f"{option} has no place in {form} output.", f"one of {', '.join(roomy)}{told}."
        )


def _require_whole(slices: Sequence[str], estimate: bool, form: EvaluateForm) -> None:
    """Refuse what slices do not go with."""
    if slices and form in (EvaluateForm.TREC, EvaluateForm.SMGCN):
        raise BadName(f"--slices has no place in {form} output.", "another --format.")
    if slices and estimate:
        raise BadName("--slices and --estimate were given.", "one of them.")


def _added(evaluations: Mapping[str, Evaluation], definitions: bool, improvement: bool) -> str:
    """What was asked for beyond the table."""
    from rectitude.comparison.improvement import compared

    text = "\n" + compared(evaluations) if improvement else ""
    return text + (_definitions(evaluations) if definitions else "")


def _definitions(evaluations: Mapping[str, Evaluation]) -> str:
    """What each number means; the same for all runs, so it is said once."""
    said = {
        name: result.definition
        for evaluation in evaluations.values()
        for name, result in evaluation.results.items()
    }
    return "\n" + "\n".join(said.values()) + "\n"


def _failed(evaluations: Mapping[str, Evaluation], aloud: bool) -> int:
    """1 if a metric failed; said on stderr unless the text says it."""
    errors = [error for one in evaluations.values() for error in one.failures.values()]
    for error in errors if aloud else ():
        reported(type(error).__name__, str(error))
    return 1 if errors else 0


def marked(evaluations: Mapping[str, Evaluation], smallest: int) -> dict[str, Evaluation]:
    """The evaluations with slices marked that have fewer lists or relevant rows than this."""
    if smallest < 0:
        raise BadName(f"--smallest-slice is {smallest}.", "a number of lists.")
    return {
        label: one
        if one.slices is None
        else replace(one, slices=one.slices.readable_from(smallest, smallest))
        for label, one in evaluations.items()
    }


def with_estimates(
    evaluation: Evaluation, predictions: Any, truth: Any, given: Mapping[str, Any]
) -> Evaluation:
    """The evaluation with what its metrics are likely to be over all items in its manifest."""
    from rectitude.evaluation.estimates import estimates

    names = [name for name in evaluation if _has_estimator(name)]
    rest = {name: given[name] for name in given if name not in _NOT_ESTIMATED}
    found = estimates(predictions, truth, names, **rest)
    told = {name: _stored(found[name]) if name in found else None for name in evaluation}
    return replace(evaluation, manifest={**evaluation.manifest, "estimates": told})


def _has_estimator(metric: str) -> bool:
    from rectitude.candidates.estimators import formula

    try:
        formula(metric)
    except RectitudeError:
        return False
    return True


def _stored(estimate: Estimate) -> dict[str, Any]:
    facts = asdict(estimate)
    unknown = [name for name, fact in facts.items() if isinstance(fact, float) and math.isnan(fact)]
    return {**facts, **dict.fromkeys(unknown)}


def estimated(evaluations: Mapping[str, Evaluation]) -> str:
    """The estimates in words, run by run."""
    lines = ["", "over all items, estimated from the sample:"]
    for label, one in evaluations.items():
        lines += [f"{label}:"] if len(evaluations) > 1 else []
        lines += [
            f"  {_estimate_line(name, told)}" for name, told in one.manifest["estimates"].items()
        ]
    return "\n".join(lines) + "\n"


def _estimate_line(name: str, told: Mapping[str, Any] | None) -> str:
    if told is None:
        return f"{name}: no estimator for this metric"
    error = "unknown" if told["standard_error"] is None else f"{told['standard_error']:.4f}"
    return f"{name} = {told['value']:.4f} +- {error} ({told['method']})"

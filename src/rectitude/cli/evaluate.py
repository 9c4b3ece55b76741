"""`rectitude evaluate`: what are my metrics?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli import trec
from rectitude.cli.inputs import CommandInputs, opened, source
from rectitude.cli.options import Conventions, convention_of, pairs, reported
from rectitude.cli.output import deliver, estimated, marked, with_estimates
from rectitude.cli.output import shown as shown_progress
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation

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


class EvaluateForm(StrEnum):
    """How results are shown."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"
    SMGCN = "smgcn"
    TREC = "trec_eval"


def _file(words: str) -> Any:
    """An option that names a file."""
    return typer.Option(metavar="FILE", help=words)


def _several(metavar: str, words: str) -> Any:
    """An option that takes several values."""
    return typer.Option(metavar=f"{metavar} ...", help=words)


def _flag(name: str, words: str) -> Any:
    """An option that is there or not."""
    return typer.Option(name, help=words)


def run(  # noqa: PLR0913  one parameter per option
    *,
    truth: Annotated[
        str | None, _file("What was relevant: user, item, and a grade if there is one.")
    ] = None,
    predictions: Annotated[
        list[str] | None, _several("FILE", "Ranked lists: user, item, and score or rank.")
    ] = None,
    scores: Annotated[
        list[str] | None, _several("FILE", "Dense scores, users x items (.npy or .npz).")
    ] = None,
    logits: Annotated[
        list[str] | None, _several("FILE", "Logits, rows x classes (.npy or .npz).")
    ] = None,
    targets: Annotated[str | None, _file("The class of each row of logits (.npy).")] = None,
    metrics: Annotated[
        list[str] | None, _several("NAME", 'Such as mrr or "ndcg@{5,10}" (see: rectitude metrics).')
    ] = None,
    convention: Conventions = None,
    train: Annotated[
        str | None, _file("Training data: what is known, and masked in dense scores.")
    ] = None,
    candidates: Annotated[
        str | None, _file("What competes: user, item, or a file of rectitude candidates.")
    ] = None,
    ranking: Annotated[
        str | None, _file("An order to use in place of the scores' own: user, item, rank.")
    ] = None,
    score_users: Annotated[str | None, _file("The user of each row of scores, in order.")] = None,
    score_items: Annotated[str | None, _file("The item of each column of scores.")] = None,
    padding: Annotated[
        str | None, typer.Option(metavar="ITEM", help="The item of a column that means nothing.")
    ] = None,
    baselines: Annotated[
        bool, _flag("--baselines", "Add the majority class and random logits.")
    ] = False,
    train_targets: Annotated[
        str | None, _file("Targets of training, for the majority class (.npy).")
    ] = None,
    items: Annotated[str | None, _file("The catalogue, with facts about items.")] = None,
    users: Annotated[str | None, _file("The users to evaluate, with facts about them.")] = None,
    weights: Annotated[str | None, _file("The weight of each list.")] = None,
    list_key: Annotated[
        str, typer.Option(metavar="COLUMN", help="What tells lists apart, such as session.")
    ] = "user",
    columns: Annotated[
        list[str] | None, _several("ROLE=COLUMN", "Unusual columns, such as user=visitor.")
    ] = None,
    slices: Annotated[
        list[str] | None,
        _several("NAME", "By attribute too: gender, price:10,50, activity:4, known, a+b crossed."),
    ] = None,
    smallest_slice: Annotated[
        int, typer.Option(metavar="N", help="Mark slices of fewer lists or relevant rows.")
    ] = 30,
    estimate: Annotated[
        bool, _flag("--estimate", "Add what sampled candidates tell of a ranking of all items.")
    ] = False,
    intervals: Annotated[bool, _flag("--intervals", "Add 95% intervals.")] = False,
    improvement: Annotated[
        bool, _flag("--improvement", "Compare all with the first, in points and percent.")
    ] = False,
    definitions: Annotated[bool, _flag("--definitions", "Say what each number means.")] = False,
    form: Annotated[EvaluateForm | None, _flag("--format", "How results are shown.")] = None,
    as_json: Annotated[bool, _flag("--json", "Short for --format json.")] = False,
    as_csv: Annotated[bool, _flag("--csv", "Short for --format csv.")] = False,
    as_latex: Annotated[bool, _flag("--latex", "Short for --format latex.")] = False,
    output: Annotated[
        Path | None, _file("Write there instead of printing; a .zip keeps values of lists, too.")
    ] = None,
    per_list: Annotated[
        Path | None, _file("Also write the values of every list (.csv or .parquet).")
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
    inputs = CommandInputs(
        predictions or (), scores or (), logits or (), truth, targets, score_users, score_items,
        train_targets, baselines, padding,
    )  # fmt: skip
    options = trec.Options(
        per_query, measures or (), complete, level, judged_only, max_retrieved, collection_size,
        no_summary,
    )  # fmt: skip
    if shown is EvaluateForm.TREC:
        text, evaluations = trec.printed(options, convention or (), inputs, given)
    else:
        options.refuse(shown)
        evaluations = marked(_evaluated(inputs, given, estimate), smallest_slice)
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
    inputs: CommandInputs, given: Mapping[str, Any], estimate: bool
) -> dict[str, Evaluation]:
    """Each of the predictions, evaluated."""
    from rectitude.evaluation.evaluate import evaluate

    found, truth = opened(inputs)
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
    for option, path in (("--output", output), ("--per-list", per_list)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise BadName(f"{option} {path} cannot be written.", "a file in a folder that exists.")
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

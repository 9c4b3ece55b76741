"""`rectitude evaluate`: compute metrics."""

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
    Cutoffs,
    KeepFormulas,
    conventions_of,
    cutoffs_of,
    file_option,
    flag,
    pairs,
    refuse_files,
    report_error,
    value_option,
)
from rectitude.cli.output import deliver, say
from rectitude.errors import BadArgument, RectitudeError

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.aggregate.evaluations import Evaluations
    from rectitude.candidate_sets.estimators import Estimate
    from rectitude.render import Formulas

NAME = "evaluate"
EXAMPLE = """\b
Examples:
  rectitude evaluate recs.parquet --truth test.csv
  rectitude evaluate a.csv b.csv --truth test.csv \\
      --metrics "ndcg@{5,10}" recall@20 --convention rectools order=score
  rectitude evaluate recs.csv --truth test.csv --convention recbole,elliot,lenskit-2026
  rectitude evaluate bm25.run --truth t.qrels --json --output bm25.json
  rectitude evaluate --scores scores.npy --truth test.csv --train train.csv \\
      --users users.csv --slices known gender activity:4
  rectitude evaluate a.csv b.csv --truth test.csv --candidates c.parquet --estimate
  rectitude evaluate trec:bm25.txt --truth elliot:test.tsv
  rectitude evaluate --logits logits.npy --targets targets.npy --baselines
  rectitude evaluate bm25.run --truth qrels.txt --format trec_eval -q -m all_trec"""
_NOT_ESTIMATED = (
    "metrics", "cutoffs", "intervals", "slices", "memory", "engine", "per_list", "unreadable",
)  # fmt: skip


class EvaluateForm(StrEnum):
    """The output formats of evaluations."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"
    SMGCN = "smgcn"
    SMGCN_F1 = "smgcn-f1"
    TREC = "trec_eval"


_SMGCN = (EvaluateForm.SMGCN, EvaluateForm.SMGCN_F1)
"""The formats that print the line of a script, under its convention."""


def run(  # noqa: PLR0913  one parameter per option
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE ...]", help="Ranked lists: user, item, and score or rank."),
    ] = None,
    truth: inputs.Truth = None,
    predictions: Annotated[
        list[str] | None, value_option("FILE ...", "Ranked lists, as an option.")
    ] = None,
    scores: inputs.ScoreFiles = None,
    logits: inputs.LogitFiles = None,
    targets: inputs.Targets = None,
    metrics: Annotated[
        list[str] | None,
        value_option("NAME ...", 'Metrics, such as mrr or "ndcg@{5,10}" (see: rectitude metrics).'),
    ] = None,
    cutoffs: Cutoffs = None,
    convention: Annotated[
        list[str] | None,
        value_option(
            "PROFILE,...|SWITCH=VALUE ...",
            "A profile, switches to change, or both (see: rectitude profiles); several profiles "
            "are shown side by side.",
        ),
    ] = None,
    train: inputs.Train = None,
    seen: inputs.Seen = None,
    candidates: inputs.CandidateFile = None,
    ranking: inputs.Ranking = None,
    score_users: inputs.ScoreUsers = None,
    score_items: inputs.ScoreItems = None,
    padding: inputs.Padding = None,
    baselines: Annotated[
        bool, flag("--baselines", "Add two baselines: the majority class and random logits.")
    ] = False,
    train_targets: Annotated[
        str | None, file_option("Training targets, for the majority class and for slices (.npy).")
    ] = None,
    items: inputs.Items = None,
    users: inputs.Users = None,
    weights: inputs.Weights = None,
    memory: inputs.Memory = None,
    engine: inputs.Engine = None,
    unreadable: inputs.Unreadable = None,
    list_key: inputs.ListKey = "user",
    columns: inputs.Columns = None,
    slices: Annotated[
        list[str] | None,
        value_option(
            "NAME ...", "Also evaluate slices: gender, price:10,50, activity:4, known, or a+b."
        ),
    ] = None,
    smallest_slice: Annotated[
        int, value_option("N", "Mark slices with fewer lists or relevant rows.")
    ] = 30,
    estimate: Annotated[
        bool, flag("--estimate", "Estimate the values over all items from sampled candidates.")
    ] = False,
    intervals: Annotated[bool, flag("--intervals", "Add 95% confidence intervals.")] = False,
    improvement: Annotated[
        bool, flag("--improvement", "Compare all files with the first, in points and percent.")
    ] = False,
    definitions: Annotated[
        bool, flag("--definitions", "Print the definition of each number.")
    ] = False,
    form: Annotated[EvaluateForm | None, flag("--format", "The output format.")] = None,
    as_json: Annotated[bool, flag("--json", "Short for --format json.")] = False,
    as_csv: Annotated[bool, flag("--csv", "Short for --format csv.")] = False,
    as_latex: Annotated[bool, flag("--latex", "Short for --format latex.")] = False,
    keep_formulas: KeepFormulas = False,
    output: Annotated[
        Path | None,
        file_option("Write to this file; a .zip also keeps the values of every list."),
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
    rel_format: trec.RelFormat = trec.Judgements.QRELS,
    zscores: trec.ZScores = None,
) -> int:
    """Evaluate ranked lists, dense scores or logits against the ground truth.

    Tables are CSV, TSV, Parquet, or TREC runs and qrels, compressed or not; their columns are
    recognised by their usual names. Scores and logits are NumPy files (.npy or .npz), which are
    memory-mapped unless they are compressed. The format recognised for each file is printed on
    stderr; FORMAT:FILE overrides it (see: rectitude convert --formats). An option with several
    values takes them in a row, or can be repeated. Several prediction files, or several
    conventions, are shown side by side.
    """
    from rectitude.reports.forms import flatten, render_conventions, render_evaluations

    flags = {EvaluateForm.JSON: as_json, EvaluateForm.CSV: as_csv, EvaluateForm.LATEX: as_latex}
    output_form = _choose_format(form, flags, output)
    _require_output_files(output, per_list, output_form)
    refuse_files({"--metrics": metrics or (), "--convention": convention or ()})
    extras = {"--definitions": definitions, "--improvement": improvement, "--estimate": estimate}
    extras["--keep-formulas"] = keep_formulas
    formulas: Formulas = "kept" if keep_formulas else "quoted"
    _require_support(extras, output_form)
    _require_slice_support(slices or (), estimate, output_form)
    if logits and slices and train_targets is not None:
        train, train_targets = train or train_targets, train_targets if baselines else None
    if scores or logits:
        inputs.refuse({"--memory": memory, "--engine": engine}, "dense scores and logits")
    names: Sequence[str] | None = metrics
    if output_form in _SMGCN:
        from rectitude.metrics.names import at_cutoffs
        from rectitude.reports.smgcn import names as names_of_line

        given = metrics or (["recall"] if cutoffs else [])
        asked = [text for name in given for text in at_cutoffs(name, cutoffs_of(cutoffs))]
        names, cutoffs = names_of_line(output_form, asked), None
        convention = _follow_script(output_form, convention or ())
    input_files = inputs.CommandInputs(
        [*(files or ()), *(predictions or ())], scores or (), logits or (), truth, targets,
        score_users, score_items, train_targets, baselines, padding,
    )  # fmt: skip
    settings: dict[str, Any] = {
        "metrics": names, "cutoffs": cutoffs_of(cutoffs),
        "convention": conventions_of(convention or ()), "train": source(train),
        "seen": source(seen),
        "items": source(items), "users": source(users), "weights": source(weights),
        "list_key": list_key,
        "columns": pairs(columns or (), "--columns", "user=visitor"), "intervals": intervals,
        "candidates": source(candidates), "ranking": source(ranking), "slices": slices,
        **({} if memory is None else {"memory": memory}),
        **({} if engine is None else {"engine": str(engine)}),
        **({} if unreadable is None else {"unreadable": unreadable}),
        **_write_unheld(per_list, output, output_form, input_files, convention or ()),
    }  # fmt: skip
    options = trec.Options(
        per_query, measures or (), complete, level, judged_only, max_retrieved, collection_size,
        no_summary, rel_format, zscores,
    )  # fmt: skip
    if output_form is EvaluateForm.TREC:
        text, evaluations = trec.print_trec(options, convention or (), input_files, settings)
    elif isinstance(settings["convention"], list):
        options.refuse(output_form)
        _require_one_convention({"--improvement": improvement, "--estimate": estimate})
        runs = _evaluate_conventions(input_files, settings, smallest_slice)
        text, evaluations = render_conventions(runs, output_form, formulas), dict(flatten(runs))
        text += _render_definitions(evaluations) if definitions else ""
    else:
        options.refuse(output_form)
        evaluations = _evaluate_all(input_files, settings, estimate)
        evaluations = mark_small_slices(evaluations, smallest_slice)
        text = render_evaluations(evaluations, output_form, formulas)
        if improvement:
            text = _add_improvements(text, evaluations, output_form, formulas)
        text += _render_definitions(evaluations) if definitions else ""
        if estimate and output_form is not EvaluateForm.JSON:
            text += describe_estimates(evaluations)
    deliver(text, output, None if "per_list" in settings else per_list, evaluations)
    if output_form in _SMGCN:
        _name_convention(evaluations)
    in_text = output_form is EvaluateForm.TABLE and output is None
    if not in_text and output_form is not EvaluateForm.JSON:
        _warn_of_samples(evaluations)
    return _report_failures(evaluations, on_stderr=not in_text)


def _follow_script(form: str, convention: Sequence[str]) -> list[str]:
    """Return the convention that a line of a script follows: the script's, unless another profile
    is named; switches change it."""
    named = any("=" not in word for word in convention)
    return [*convention] if named else [form, *convention]


def _name_convention(evaluations: Mapping[str, Evaluation]) -> None:
    """Say which convention the numbers of a line follow, which does not say so itself."""
    profiles = dict.fromkeys(str(run.manifest["profile"]) for run in evaluations.values())
    advice = "" if "default" in profiles else "; for rectitude's own: --convention default"
    say(f"convention: {', '.join(profiles)}{advice}", where="stderr")


def _warn_of_samples(evaluations: Mapping[str, Evaluation]) -> None:
    """Warn if candidates were sampled, for formats without a ledger that says so."""
    for label, evaluation in evaluations.items():
        if "lists_sampled" in evaluation.ledger:
            entry = evaluation.ledger.entries["lists_sampled"]
            say(f"warning: {label}: {entry}", where="stderr")


def _evaluate_all(
    input_files: inputs.CommandInputs, settings: Mapping[str, Any], estimate: bool
) -> dict[str, Evaluation]:
    """Evaluate each file of predictions; return the evaluations by label."""
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.progress import show_progress

    runs, truth = inputs.open_inputs(input_files)
    evaluations: dict[str, Evaluation] = {}
    for label, predictions in runs.items():
        with show_progress(label) as progress:
            evaluation = evaluate(predictions, truth, **settings, progress=progress)
            if estimate:
                evaluation = with_estimates(evaluation, predictions, truth, settings)
            evaluations[label] = evaluation
    return evaluations


def _evaluate_conventions(
    input_files: inputs.CommandInputs, settings: Mapping[str, Any], smallest_slice: int
) -> dict[str, Evaluations]:
    """Evaluate each file of predictions under several conventions."""
    from rectitude.aggregate.evaluations import Evaluations
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.progress import show_progress

    runs, truth = inputs.open_inputs(input_files)
    evaluated = {}
    for label, predictions in runs.items():
        with show_progress(label) as progress:
            evaluations = evaluate(predictions, truth, **settings, progress=progress)
            evaluated[label] = Evaluations(mark_small_slices(evaluations, smallest_slice))
    return evaluated


def _require_one_convention(options: Mapping[str, bool]) -> None:
    """Refuse options that need one convention."""
    for option in [name for name, is_set in options.items() if is_set]:
        raise BadArgument(
            f"{option} was given, and --convention names several profiles.",
            f"one profile with {option}.",
        )


_EXTENSIONS = {
    ".json": EvaluateForm.JSON, ".csv": EvaluateForm.CSV, ".tex": EvaluateForm.LATEX,
    ".md": EvaluateForm.MARKDOWN,
}  # fmt: skip
"""the formats that the name of a file asks for, unless an option names another"""


def _choose_format(
    form: EvaluateForm | None, flags: Mapping[EvaluateForm, bool], output: Path | None
) -> EvaluateForm:
    """Return the chosen output format, or that of the file's name; refuse several."""
    chosen = {form} if form else set()
    chosen |= {flag for flag, is_set in flags.items() if is_set}
    if len(chosen) > 1:
        raise BadArgument(f"several formats were chosen: {', '.join(sorted(chosen))}.", "one.")
    if chosen:
        return chosen.pop()
    suffix = "" if output is None else output.suffix.lower()
    return _EXTENSIONS.get(suffix, EvaluateForm.TABLE)


def _write_unheld(
    per_list: Path | None,
    output: Path | None,
    form: EvaluateForm,
    files: inputs.CommandInputs,
    convention: Sequence[str],
) -> dict[str, Path]:
    """Return the setting that lets the evaluation write values per list without holding them,
    unless something else needs them."""
    several = len(files.predictions) != 1 or isinstance(conventions_of(convention), list)
    if per_list is None or several or form is EvaluateForm.TREC or _is_zip(output):
        return {}
    return {"per_list": per_list}


def _is_zip(output: Path | None) -> bool:
    """Return whether the output holds values per list, too."""
    return output is not None and output.suffix.lower() == ".zip"


def _require_output_files(output: Path | None, per_list: Path | None, form: EvaluateForm) -> None:
    """Refuse files that cannot be written before anything is computed."""
    inputs.require_writable("--output", output)
    inputs.require_writable("--per-list", per_list)
    if output is not None and output.suffix.lower() == ".parquet":
        raise BadArgument(
            f"--output {output} cannot store the numbers.",
            "a text file, .json or .zip.",
            "for the values of every list: --per-list FILE.parquet.",
        )
    if per_list is not None and per_list.suffix not in (".csv", ".parquet"):
        raise BadArgument(f"--per-list {per_list} has an unknown extension.", ".csv or .parquet.")
    if _is_zip(output) and form not in (EvaluateForm.TABLE, EvaluateForm.JSON):
        raise BadArgument(
            f"--output {output} cannot store {form}.",
            "--json: a .zip file stores JSON and the values of every list.",
        )


_FORMATS = {
    "--definitions": ("table", "markdown"), "--estimate": ("table", "markdown", "json"),
    "--improvement": ("table", "markdown", "latex", "csv", "json"), "--keep-formulas": ("csv",),
}  # fmt: skip
"""the output formats that support an option"""


def _require_support(options: Mapping[str, bool], form: EvaluateForm) -> None:
    """Refuse options that the output format does not support."""
    for option in [name for name, is_set in options.items() if is_set]:
        if form in _FORMATS[option]:
            continue
        note = "; JSON always contains the definitions" if option == "--definitions" else ""
        raise BadArgument(
            f"{option} is not available in {form} output.",
            f"one of the formats {', '.join(_FORMATS[option])}{note}.",
        )


def _require_slice_support(slices: Sequence[str], estimate: bool, form: EvaluateForm) -> None:
    """Refuse options that cannot be combined with slices."""
    if slices and form in (EvaluateForm.TREC, *_SMGCN):
        raise BadArgument(f"--slices is not available in {form} output.", "another --format.")
    if slices and estimate:
        raise BadArgument("--slices and --estimate were both given.", "only one of them.")


def _add_improvements(
    text: str, evaluations: Mapping[str, Evaluation], form: str, formulas: Formulas
) -> str:
    from rectitude.comparison.improvement import add_improvements

    return add_improvements(text, evaluations, form, formulas)


def _render_definitions(evaluations: Mapping[str, Evaluation]) -> str:
    """Return every definition once, after the conventions under which it holds if there are
    several."""
    conventions: dict[str, dict[str, None]] = {}
    for evaluation in evaluations.values():
        for result in evaluation.results.values():
            profile = str(evaluation.manifest.get("profile", "default"))
            conventions.setdefault(result.definition, {})[profile] = None
    several = len({name for names in conventions.values() for name in names}) > 1
    texts = [
        f"{', '.join(names)}:\n{text}" if several else text for text, names in conventions.items()
    ]
    return "\n" + "\n".join(texts) + "\n"


def _report_failures(evaluations: Mapping[str, Evaluation], on_stderr: bool) -> int:
    """Return 1 if a metric failed, else 0; print the errors on stderr if wanted."""
    errors = [(label, e) for label, run in evaluations.items() for e in run.failures.values()]
    for label, error in errors if on_stderr else ():
        where = f"{label}: " if len(evaluations) > 1 else ""
        report_error(type(error).__name__, f"{where}{error}")
    return 1 if errors else 0


def mark_small_slices(
    evaluations: Mapping[str, Evaluation], smallest: int
) -> dict[str, Evaluation]:
    """Mark the slices that have fewer lists or relevant rows than this."""
    if smallest < 0:
        raise BadArgument(f"--smallest-slice is {smallest}.", "a number of lists, 0 or more.")
    return {
        label: evaluation
        if evaluation.slices is None
        else replace(evaluation, slices=evaluation.slices.readable_from(smallest, smallest))
        for label, evaluation in evaluations.items()
    }


def with_estimates(
    evaluation: Evaluation, predictions: Any, truth: Any, settings: Mapping[str, Any]
) -> Evaluation:
    """Add estimates of the metrics over all items to the manifest of an evaluation."""
    from rectitude.evaluation.estimates import estimates

    names = [name for name in evaluation if _has_estimator(name)]
    rest = {name: settings[name] for name in settings if name not in _NOT_ESTIMATED}
    found = estimates(predictions, truth, names, **rest)
    stored = {name: _store_estimate(found[name]) if name in found else None for name in evaluation}
    return replace(evaluation, manifest={**evaluation.manifest, "estimates": stored})


def _has_estimator(metric: str) -> bool:
    from rectitude.candidate_sets.estimators import formula

    try:
        formula(metric)
    except RectitudeError:
        return False
    return True


def _store_estimate(estimate: Estimate) -> dict[str, Any]:
    facts = asdict(estimate)
    unknown = [name for name, fact in facts.items() if isinstance(fact, float) and math.isnan(fact)]
    return {**facts, **dict.fromkeys(unknown)}


def describe_estimates(evaluations: Mapping[str, Evaluation]) -> str:
    """Return the estimates as text, run by run."""
    lines = ["", "estimated over all items, from the sample:"]
    for label, evaluation in evaluations.items():
        lines += [f"{label}:"] if len(evaluations) > 1 else []
        stored = evaluation.manifest["estimates"]
        lines += [f"  {_describe_estimate(name, facts)}" for name, facts in stored.items()]
    return "\n".join(lines) + "\n"


def _describe_estimate(name: str, facts: Mapping[str, Any] | None) -> str:
    if facts is None:
        return f"{name}: no estimator for this metric"
    error = "unknown" if facts["standard_error"] is None else f"{facts['standard_error']:.4f}"
    return f"{name} = {facts['value']:.4f} +- {error} ({facts['method']})"

"""`rectitude compare`: is one model better than another, or could the difference be chance?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import (
    Files,
    open_lists,
    refuse_dense_options,
    source,
    with_files,
    with_groups,
)
from rectitude.cli.options import (
    Conventions,
    Cutoffs,
    KeepFormulas,
    convention_of,
    cutoffs_of,
    split_format,
    stem,
    value_option,
)
from rectitude.errors import BadArgument, UnreadableFile

if TYPE_CHECKING:
    from rectitude.comparison.compare import Comparison
    from rectitude.render import Formulas

NAME = "compare"
EXAMPLE = """\b
Examples:
  rectitude compare a.csv b.csv c.csv --truth test.csv --baseline a
  rectitude compare a.zip b.zip c.zip --baseline a --test wilcoxon --correct holm --json
  rectitude compare a=a1.zip,a2.zip,a3.zip b="runs/b-*.zip" --baseline a
  rectitude compare a.csv b.csv --truth test.csv --users users.csv --slice gender
  rectitude compare a.csv b.csv --truth test.csv --metrics "ndcg@{5,10}" --test sign_flip \\
      --correct benjamini_hochberg --interval bca --format latex --show interval
  rectitude compare a.csv b.csv --truth test.csv --metrics ndcg@10 --margin 0.005"""


class CompareForm(StrEnum):
    """The output formats of a comparison."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    HTML = "html"


Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=]FILE,...",
        help="Models: evaluations saved by evaluate --output NAME.zip, ranked lists, or folders "
        "of either. Several files of one model are its runs.",
    ),
]
_CORRECTIONS = "none, bonferroni, holm, benjamini_hochberg, benjamini_yekutieli"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How differences are tested, according to the options."""

    test: Annotated[
        str, value_option("NAME", "t, wilcoxon, mann_whitney, kruskal or sign_flip.")
    ] = "t"
    correct: Annotated[str, value_option("NAME", f"One of {_CORRECTIONS}.")] = "holm"
    interval: Annotated[
        str, value_option("NAME", "t, or bootstrap: percentile, bca or poisson.")
    ] = "t"
    alpha: Annotated[float, typer.Option(help="Significance level for corrected p-values.")] = 0.05
    resamples: Annotated[int, typer.Option(help="How many bootstrap resamples or sign flips.")] = (
        10_000
    )
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0
    margin: Annotated[
        float | None, typer.Option(help="Test whether models differ by less than this.")
    ] = None

    def as_arguments(self) -> dict[str, Any]:
        """Return the method as arguments of `compare`."""
        return {option.name: getattr(self, option.name) for option in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a comparison is printed, according to the options."""

    form: Annotated[CompareForm, typer.Option("--format", help="The output format.")] = (
        CompareForm.TABLE
    )
    table: Annotated[
        str | None, value_option("NAME", "Print one table: models or differences.")
    ] = None
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="interval|points|relative ...", help="Extra columns next to each value."
        ),
    ] = None
    words: Annotated[bool, typer.Option("--words", help="Describe each difference in words.")] = (
        False
    )
    keep_formulas: KeepFormulas = False

    def require_support(self, as_json: bool) -> None:
        """Refuse options that the output format does not support."""
        options = {"--table": self.table, "--show": self.show, "--words": self.words}
        options["--keep-formulas"] = self.keep_formulas
        used = [option for option, value in options.items() if value]
        if as_json and self.form is not CompareForm.TABLE:
            used = [f"--format {self.form}"]
        if as_json and used:
            raise BadArgument(
                f"--json and {used[0]} were both given.",
                "only one of them; JSON contains everything.",
            )
        refused = {
            CompareForm.TABLE: ("--keep-formulas",),
            CompareForm.CSV: ("--show", "--words"),
        }.get(self.form, ("--words", "--keep-formulas"))
        for option in [option for option in used if option in refused]:
            raise BadArgument(
                f"{option} is not available in {self.form} output.", "another --format."
            )

    def render(self, comparison: Comparison) -> str:
        """Return the comparison in the chosen format."""
        from rectitude.comparison.result import BOTH

        tables: Any = BOTH if self.table is None else (self.table,)
        extra: Any = [column for word in self.show or () for column in word.split(",")]
        if self.form is CompareForm.CSV:
            formulas: Formulas = "kept" if self.keep_formulas else "quoted"
            return comparison.to_csv("differences" if self.table is None else tables[0], formulas)
        if self.form is not CompareForm.TABLE:
            text: str = getattr(comparison, f"to_{self.form}")(tables, extra)
            return text
        words = f"\n\n{comparison.words()}" if self.words else ""
        return comparison.to_text(tables, extra) + words


def _compare(
    named: Models = None,
    *,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME ...", help='Metrics, such as mrr or "ndcg@{5,10}".'),
    ] = None,
    cutoffs: Cutoffs = None,
    convention: Conventions = None,
    baseline: Annotated[
        str | None, value_option("NAME", "The model to compare the others with.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--slice", metavar="BY", help="Also compare on slices: gender, activity:4, a+b."
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="users|truth|convention ...", help="What may differ between models."),
    ] = None,
    method: Method,
    look: OutputOptions,
    files: Files,
) -> int:
    """Compare models user by user: differences, confidence intervals, significance tests.

    Each model is compared with the baseline or, without a baseline, with every other model.
    p-values are corrected for all tests together. A model has the name of its file or folder,
    unless NAME= gives another.
    """
    from rectitude.comparison.compare import compare

    look.require_support(files.as_json)
    models, truth = _open_models(named or (), files)
    allowed: Any = allow or ()
    comparison = compare(
        models, truth, metrics, convention_of(convention) if convention else None,
        cutoffs=cutoffs_of(cutoffs), baseline=baseline, by=_choose_slicing(by or ()), allow=allowed,
        **method.as_arguments(), **files.as_arguments(),
    )  # fmt: skip
    files.write(comparison.to_json() if files.as_json else look.render(comparison))
    return 0


run = with_files(with_groups(_compare, method=Method, look=OutputOptions))


def _choose_slicing(by: Sequence[str]) -> str | None:
    """Return the slicing to compare on, if any; refuse several."""
    if len(by) > 1:
        raise BadArgument(
            f"--slice was given {len(by)} times.",
            f"one --slice; --slice {'+'.join(by)} crosses them.",
        )
    return by[0] if by else None


def _open_models(named: Sequence[str], files: Files) -> tuple[dict[str, Any], Any]:
    """Return the models by name, and the truth if there is one."""
    if not (named or files.scores or files.logits):
        raise BadArgument(
            "no model was given.",
            "two or more files, or --scores or --logits.",
            "for example: rectitude compare a.csv b.csv --truth test.csv",
        )
    if not named:
        return files.open(())
    if files.scores or files.logits:
        kind = "--scores" if files.scores else "--logits"
        raise BadArgument(f"files and {kind} were both given.", "only one of them.")
    refuse_dense_options(files)
    models = models_of(named)
    unpacked = {name: runs[0] if len(runs) == 1 else runs for name, runs in models.items()}
    return unpacked, source(files.truth)


def models_of(words: Sequence[str]) -> dict[str, list[Any]]:
    """Return the runs of each model by name.

    A word is `FILE`, `FOLDER`, or `NAME=FILE,FILE` for several runs. A file may be a pattern such
    as `runs/a-*.zip`.
    """
    parsed = [_parse_model(word) for word in words]
    stems = Counter(_short_name(files) for name, files in parsed if not name)
    models: dict[str, list[Any]] = {}
    for word, (name, files) in zip(words, parsed, strict=True):
        label = name or (_short_name(files) if stems[_short_name(files)] == 1 else word)
        if label in models:
            raise BadArgument(f"model {label} was given twice.", "each model once.")
        models[label] = [_open_model(file) for file in files]
    return models


def _parse_model(word: str) -> tuple[str, list[str]]:
    """Return the name of a model, empty if it has none, and its files."""
    if Path(word).exists():
        return "", [word]
    name, equals, files = word.partition("=")
    if not equals or "/" in name:
        name, files = "", word
    elif not (name and files):
        raise BadArgument(
            f"{word!r} lacks a name or a file.", "NAME=FILE, such as a=run1.zip,run2.zip."
        )
    patterns = [files] if Path(files).exists() else files.split(",")
    return name, [file for pattern in patterns for file in _expand_pattern(pattern)]


def _expand_pattern(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted by name."""
    if Path(pattern).exists() or not any(sign in pattern for sign in "*?["):
        return [pattern]
    path = Path(pattern)
    paths = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    matches = sorted(str(file) for file in paths if not file.name.endswith(".lists.parquet"))
    if not matches:
        raise UnreadableFile(
            f"no file matches {pattern}.", "a pattern that matches existing files."
        )
    return matches


def _short_name(files: Sequence[str]) -> str:
    """Return the name of a model's folder, or of its first file without extensions."""
    path = Path(split_format(files[0])[1])
    name = path.resolve().name if path.is_dir() else stem(files[0])
    return name.removesuffix(".parquet").removesuffix(".lists")


def _open_model(file: str) -> Any:
    """Return a file in the form that `compare` takes."""
    from rectitude.comparison.streamed import is_in_parts

    if is_in_parts(file):
        return file
    if Path(file).is_dir() or Path(file).suffix.lower() in (".json", ".zip"):
        return file
    return open_lists(file)

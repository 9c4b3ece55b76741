"""`rectitude compare`: is one model better than another, or could it be chance?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Files, ranked_lists, source, with_files, with_groups
from rectitude.cli.options import Conventions, convention_of, named_format, stem, valued
from rectitude.errors import BadName, UnreadableFile

if TYPE_CHECKING:
    from rectitude.comparison.compare import Comparison

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
    """How a comparison is shown."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    HTML = "html"


Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=]FILE,...",
        help="Models: evaluations that evaluate --output NAME.zip wrote, ranked lists, or folders "
        "of either; several files of one model are its runs.",
    ),
]
_CORRECTIONS = "none, bonferroni, holm, benjamini_hochberg, benjamini_yekutieli"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How differences are tested, as options say."""

    test: Annotated[str, valued("NAME", "t, wilcoxon, mann_whitney, kruskal or sign_flip.")] = "t"
    correct: Annotated[str, valued("NAME", f"One of {_CORRECTIONS}.")] = "holm"
    interval: Annotated[str, valued("NAME", "t, or by bootstrap: percentile or bca.")] = "t"
    alpha: Annotated[float, typer.Option(help="What a corrected p must be below.")] = 0.05
    resamples: Annotated[int, typer.Option(help="How many draws or flips.")] = 10_000
    seed: Annotated[int, typer.Option(help="What draws come from.")] = 0
    margin: Annotated[
        float | None, typer.Option(help="Ask whether models are equivalent within this.")
    ] = None

    def given(self) -> dict[str, Any]:
        """The method, as `compare` takes it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a comparison is shown, as options say."""

    form: Annotated[CompareForm, typer.Option("--format", help="How it is shown.")] = (
        CompareForm.TABLE
    )
    table: Annotated[str | None, valued("NAME", "models or differences: that table alone.")] = None
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="interval|points|relative ...", help="More beside each number."),
    ] = None
    words: Annotated[bool, typer.Option("--words", help="Say each difference in words.")] = False

    def require_place(self, as_json: bool) -> None:
        """Refuse what a format has no place for."""
        given = {"--table": self.table, "--show": self.show, "--words": self.words}
        asked = [option for option, value in given.items() if value]
        if as_json and self.form is not CompareForm.TABLE:
            asked = [f"--format {self.form}"]
        if as_json and asked:
            raise BadName(f"--json and {asked[0]} were given.", "one of them; JSON holds all.")
        refused = {CompareForm.TABLE: (), CompareForm.CSV: ("--show", "--words")}.get(
            self.form, ("--words",)
        )
        for option in [option for option in asked if option in refused]:
            raise BadName(f"{option} has no place in {self.form} output.", "another --format.")

    def shown(self, found: Comparison) -> str:
        """The comparison as it was asked for."""
        from rectitude.comparison.result import BOTH

        parts: Any = BOTH if self.table is None else (self.table,)
        extra: Any = [column for word in self.show or () for column in word.split(",")]
        if self.form is CompareForm.CSV:
            return found.to_csv("differences" if self.table is None else parts[0])
        if self.form is not CompareForm.TABLE:
            written: str = getattr(found, f"to_{self.form}")(parts, extra)
            return written
        return found.to_text(parts, extra) + (f"\n\n{found.words()}" if self.words else "")


def _compare(
    named: Models = None,
    *,
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="NAME ...", help='Such as mrr or "ndcg@{5,10}".')
    ] = None,
    convention: Conventions = None,
    baseline: Annotated[
        str | None, valued("NAME", "The model that others are compared with.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="BY", help="On slices too: gender, activity:4, a+b."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="users|truth|convention ...", help="What may differ between models."),
    ] = None,
    method: Method,
    look: Look,
    files: Files,
) -> int:
    """Compare models user by user: differences, intervals, tests.

    Each model is compared with the baseline, or with every other; p-values are corrected for all
    tests together. A model is called by the name of its file or folder, unless NAME= says.
    """
    from rectitude.comparison.compare import compare

    look.require_place(files.as_json)
    models, truth = _opened(named or (), files)
    wanted: Any = allow or ()
    found = compare(
        models, truth, metrics, convention_of(convention) if convention else None,
        baseline=baseline, by=_single(by or ()), allow=wanted, **method.given(), **files.given(),
    )  # fmt: skip
    files.write(found.to_json() if files.as_json else look.shown(found))
    return 0


run = with_files(with_groups(_compare, method=Method, look=Look))


def _single(by: Sequence[str]) -> str | None:
    """The one slicing that was asked for."""
    if len(by) > 1:
        raise BadName(
            f"--slice was given {len(by)} times.",
            f"one slicing; --slice {'+'.join(by)} crosses them.",
        )
    return by[0] if by else None


def _opened(named: Sequence[str], files: Files) -> tuple[dict[str, Any], Any]:
    """The models by name, and the truth if there is one."""
    if not (named or files.scores or files.logits):
        raise BadName(
            "no model was named.",
            "two or more: rectitude compare a.csv b.csv --truth test.csv, or --scores, --logits.",
        )
    if not named:
        return files.opened(())
    if files.scores or files.logits:
        kind = "--scores" if files.scores else "--logits"
        raise BadName(f"files and {kind} were given.", "one of them.")
    models = models_of(named)
    single = {name: of[0] if len(of) == 1 else of for name, of in models.items()}
    return single, source(files.truth)


def models_of(words: Sequence[str]) -> dict[str, list[Any]]:
    """What each model is given as: `FILE`, `FOLDER`, or `NAME=FILE,FILE` for several runs; a file
    may be a pattern such as `runs/a-*.zip`."""
    given = [_parts(word) for word in words]
    stems = Counter(_stem(files) for name, files in given if not name)
    found: dict[str, list[Any]] = {}
    for word, (name, files) in zip(words, given, strict=True):
        own = name or (_stem(files) if stems[_stem(files)] == 1 else word)
        if own in found:
            raise BadName(f"{own} is named twice.", "each model once.")
        found[own] = [_opened_model(file) for file in files]
    return found


def _parts(word: str) -> tuple[str, list[str]]:
    """The name of a model, if it has one, and its files."""
    if Path(word).exists():
        return "", [word]
    name, equals, files = word.partition("=")
    if not equals or "/" in name:
        name, files = "", word
    elif not (name and files):
        raise BadName(f"{word!r} names no model.", "NAME=FILE, such as a=run1.zip,run2.zip.")
    every = [files] if Path(files).exists() else files.split(",")
    return name, [file for part in every for file in _matching(part)]


def _matching(part: str) -> list[str]:
    """The files that a pattern stands for, by name."""
    if Path(part).exists() or not any(sign in part for sign in "*?["):
        return [part]
    path = Path(part)
    every = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    found = sorted(str(file) for file in every if not file.name.endswith(".lists.parquet"))
    if not found:
        raise UnreadableFile(f"no file matches {part}.", "a pattern of files that are there.")
    return found


def _stem(files: Sequence[str]) -> str:
    """A short name of a model: that of its first file without endings, or of its folder."""
    path = Path(named_format(files[0])[1])
    return path.resolve().name if path.is_dir() else stem(files[0])


def _opened_model(file: str) -> Any:
    """A file as `compare` takes it."""
    if Path(file).is_dir() or Path(file).suffix.lower() in (".json", ".zip"):
        return file
    return ranked_lists(file)

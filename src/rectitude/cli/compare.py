"""`rectitude compare`: is one model better than another, or could it be chance?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rectitude.cli.files import Files, with_files
from rectitude.cli.options import Conventions, convention_of
from rectitude.errors import BadName

NAME = "compare"
EXAMPLE = """\b
Examples:
  rectitude compare a.csv b.csv c.csv --truth test.csv --baseline a
  rectitude compare a.csv b.csv --truth test.csv --metrics "ndcg@{5,10}" --test sign_flip \\
      --correct benjamini_hochberg --interval bca --json
  rectitude compare a.csv b.csv --truth test.csv --metrics ndcg@10 --margin 0.005"""


class Form(StrEnum):
    """How a comparison is shown."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    HTML = "html"


Models = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="Ranked lists of one model each.")
]
_CORRECTIONS = "none, bonferroni, holm, benjamini_hochberg, benjamini_yekutieli"


def _word(words: str) -> Any:
    return typer.Option(metavar="NAME", help=words)


@with_files
def run(
    named: Models = None,
    *,
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="NAME ...", help='Such as mrr or "ndcg@{5,10}".')
    ] = None,
    convention: Conventions = None,
    baseline: Annotated[str | None, _word("The model that others are compared with.")] = None,
    test: Annotated[str, _word("t, wilcoxon, mann_whitney, kruskal or sign_flip.")] = "t",
    correct: Annotated[str, _word(f"One of {_CORRECTIONS}.")] = "holm",
    interval: Annotated[str, _word("t, or by bootstrap: percentile or bca.")] = "t",
    alpha: Annotated[float, typer.Option(help="What a corrected p must be below.")] = 0.05,
    resamples: Annotated[int, typer.Option(help="How many draws or flips.")] = 10_000,
    seed: Annotated[int, typer.Option(help="What draws come from.")] = 0,
    margin: Annotated[
        float | None, typer.Option(help="Ask whether models are equivalent within this.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="users|truth|convention ...", help="What may differ between models."),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="How it is shown.")] = Form.TABLE,
    files: Files,
) -> int:
    """Compare models user by user: differences, intervals, tests.

    Each model is compared with the baseline, or with every other; p-values are corrected for all
    tests together. A model is called by the name of its file.
    """
    from rectitude.comparing import compare

    if files.as_json and form is not Form.TABLE:
        raise BadName(f"--json and --format {form} were given.", "one of them.")
    models, truth = files.opened(named or ())
    chosen: dict[str, Any] = {"test": test, "correct": correct, "interval": interval}
    chosen["allow"] = allow or ()
    found = compare(
        models, truth, metrics, convention_of(convention or ()), baseline=baseline, alpha=alpha,
        resamples=resamples, seed=seed, margin=margin, **chosen, **files.given(),
    )  # fmt: skip
    files.deliver(found, form)
    return 0

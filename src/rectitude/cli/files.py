"""The options that name what is looked at, for the verbs that look at one metric.

They are those of `rectitude evaluate`, declared once: a verb takes the ones it needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.errors import BadName


def _file(words: str) -> Any:
    return typer.Option(metavar="FILE", help=words)


def _files(words: str) -> Any:
    return typer.Option(metavar="FILE ...", help=words)


Truth = Annotated[str | None, _file("What was relevant: user, item, and a grade if there is one.")]
Scores = Annotated[list[str] | None, _files("Dense scores, users x items (.npy or .npz).")]
Logits = Annotated[list[str] | None, _files("Logits, rows x classes (.npy or .npz).")]
Targets = Annotated[str | None, _file("The class of each row of logits (.npy).")]
Train = Annotated[str | None, _file("Training data: what is known, and masked in dense scores.")]
Candidates = Annotated[str | None, _file("Which items of dense scores are ranked: user, item.")]
Ranking = Annotated[str | None, _file("An order in place of the scores' own: user, item, rank.")]
ScoreUsers = Annotated[str | None, _file("The user of each row of scores, in order.")]
ScoreItems = Annotated[str | None, _file("The item of each column of scores.")]
Padding = Annotated[
    str | None, typer.Option(metavar="ITEM", help="The item of a column that means nothing.")
]
Items = Annotated[str | None, _file("The catalogue, with facts about items.")]
Users = Annotated[str | None, _file("The users to evaluate, with facts about them.")]
Weights = Annotated[str | None, _file("The weight of each list.")]
ListKey = Annotated[
    str, typer.Option(metavar="COLUMN", help="What tells lists apart, such as session.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=COLUMN ...", help="Unusual columns, such as user=visitor."),
]
MetricName = Annotated[str, typer.Option("--metric", metavar="NAME", help="Such as ndcg@10.")]
Output = Annotated[Path | None, _file("Write there instead of printing.")]


def require_writable(output: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise BadName(f"--output {output} cannot be written.", "a file in a folder that exists.")


def deliver(text: str, output: Path | None) -> None:
    """Print a text, or write it where it should go."""
    from rectitude.storage import write_text

    if output is None:
        typer.echo(text)
    else:
        write_text(output, f"{text}\n")

"""`rectitude demo`: the whole idea in a page, on made-up data."""

from __future__ import annotations

import shlex
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import listing

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation

NAME = "demo"
EXAMPLE = """\b
Example:
  rectitude demo --folder demo"""
METRICS = ("ndcg@10", "recall@10", "precision@10", "mrr")
CONVENTIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "ranx": {"profile": "ranx"},
    "rectools": {"profile": "rectools"},
}


def run(
    seed: Annotated[int, typer.Option(min=0, help="Which shop is made up.")] = 7,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the files go; a temporary one if none."),
    ] = None,
) -> int:
    """See it at work on made-up data."""
    from rectitude.engines.local import evaluate

    tables = _tables(seed)
    files = _written(tables, folder)
    _section("A small shop", _described(tables))
    runs = {
        name: evaluate(files[name], files["truth"], METRICS, train=files["train"])
        for name in ("popularity", "neighbours")
    }
    _show(runs)
    _section("The same lists under other conventions: ndcg@10 of neighbours", _conventions(files))
    _section("Try it", _commands(files))
    return 0


def _tables(seed: int) -> dict[str, pl.DataFrame]:
    from rectitude.cli.recommenders import neighbours, popularity
    from rectitude.data.synthetic import shop

    train, truth = shop(seed=seed)
    lists = {"popularity": popularity(train), "neighbours": neighbours(train)}
    return {"train": train, "truth": truth, **lists}


def _written(tables: Mapping[str, pl.DataFrame], folder: Path | None) -> dict[str, str]:
    from rectitude.storage import write_text

    where = Path(tempfile.mkdtemp(prefix="rectitude-demo-")) if folder is None else folder
    where.mkdir(parents=True, exist_ok=True)
    files = {name: where / f"{name}.csv" for name in tables}
    for name, path in files.items():
        write_text(path, tables[name].write_csv())
    return {name: str(path) for name, path in files.items()}


def _section(title: str, text: str) -> None:
    typer.echo(typer.style(f"{title}\n", bold=True) + f"{text}\n")


def _described(tables: Mapping[str, pl.DataFrame]) -> str:
    train, truth = tables["train"], tables["truth"]
    return (
        f"{train['user'].n_unique()} customers and {train['item'].n_unique()} items; "
        f"{train.height:,} visits to learn from, {truth.height:,} held out.\n"
        "Two recommenders: popularity (what everybody takes) and neighbours (what goes together)."
    )


def _show(runs: Mapping[str, Evaluation]) -> None:
    from rectitude.reports.runs import markdown

    best = runs["neighbours"]
    _section("Side by side (* best)", markdown(runs).rstrip())
    _section("What was counted: the ledger of neighbours", str(best.ledger))
    meanings = [_in_short(best.definition(name)) for name in ("ndcg@10", "recall@10")]
    _section("What the numbers mean", "\n".join(meanings))


def _in_short(definition: str) -> str:
    """The words and the formula of a definition, without the list of every choice."""
    words, formula, *_ = definition.splitlines()
    return "\n".join(
        textwrap.wrap(words, 96) + textwrap.wrap(formula, 96, subsequent_indent="    ")
    )


def _conventions(files: Mapping[str, str]) -> str:
    """One metric of the same lists under several conventions, and what they set otherwise."""
    from rectitude.engines.local import evaluate
    from rectitude.metrics import METRICS as KNOWN
    from rectitude.tables import number

    rows = [["convention", "ndcg@10", "set otherwise"]]
    usual: Mapping[str, Any] = {}
    for name, convention in CONVENTIONS.items():
        evaluation = evaluate(files["neighbours"], files["truth"], "ndcg@10", convention)
        result = evaluation.result("ndcg@10")
        usual = usual or result.convention
        switches = {s: result.convention[s] for s in (*KNOWN["ndcg"].switches, "ties")}
        told = [f"{s}={value}" for s, value in switches.items() if value != usual[s]]
        rows.append([name, number(result.value), ", ".join(told)])
    return listing(rows)


def _commands(files: Mapping[str, str]) -> str:
    """What to try next, from the folder that holds the files."""
    one = "rectitude evaluate --truth truth.csv --predictions neighbours.csv"
    both = "rectitude evaluate --truth truth.csv --predictions popularity.csv neighbours.csv"
    lines = [
        f"cd {shlex.quote(str(Path(files['truth']).parent))}",
        f"{both} --metrics 'ndcg@{{5,10,20}}' mrr",
        f"{one} --train train.csv --intervals",
        f"{one} --format smgcn",
        "rectitude metrics ndcg@10 --convention rectools",
    ]
    return "\n".join(lines)

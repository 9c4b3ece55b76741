"""`rectitude run`: an experiment from one file to its results."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, flag, listing
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.experiment.results import Run

NAME = "run"
EXAMPLE = """\b
Examples:
  rectitude run --init                          writes experiment.toml, which runs as it is
  rectitude run experiment.toml --dry-run       what would be done, and what is there already
  rectitude run experiment.toml                 runs it, or goes on where a run was interrupted
  rectitude run experiment.toml --only ease     does what this model needs, and no more
  rectitude run --schema > experiment.schema.json"""
STARTER = "experiment.toml"


class LogForm(StrEnum):
    """How it is told what happens."""

    AUTO = "auto"
    JSON = "json"
    QUIET = "quiet"


File = Annotated[Path | None, typer.Argument(metavar="FILE", help="An experiment: TOML or YAML.")]
Folder = Annotated[Path | None, typer.Option(metavar="DIR", help="Where everything is written.")]
DryRun = Annotated[bool, flag("--dry-run", "Print the stages; do nothing.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="STAGE|MODEL ...", help="Do these and what they need, no others."),
]
Resume = Annotated[bool, flag("--resume/--fresh", "Go on from what is there, or do all again.")]
NoPlugins = Annotated[bool, flag("--no-plugins", "Run no code that the file names.")]
Told = Annotated[LogForm, typer.Option(help="Bars on a terminal, JSON lines, or nothing.")]
Init = Annotated[bool, flag("--init", "Write a commented file to start from.")]
Schema = Annotated[bool, flag("--schema", "Print the JSON schema of the file.")]


def run(
    file: File = None,
    *,
    folder: Folder = None,
    dry_run: DryRun = False,
    only: Only = None,
    resume: Resume = True,
    no_plugins: NoPlugins = False,
    log: Told = LogForm.AUTO,
    init: Init = False,
    schema: Schema = False,
    as_json: Json = False,
) -> int:
    """Run an experiment: data, split, models, evaluation, comparison, report.

    What is done once is kept in the run's folder by a fingerprint of all that it depends on, so
    that a run that was interrupted goes on, and one that is repeated does only what has changed.
    Exits 1 if a model or metric failed; the others still have their numbers.
    """
    if schema:
        return _print_schema()
    if init:
        return _write_starter(file or Path(STARTER))
    if file is None:
        raise BadName("no experiment was named.", "rectitude run FILE, or --init to write one.")
    plugins: Any = "off" if no_plugins else "on"
    if dry_run:
        return _print_plan(file, folder, only or (), plugins, as_json)
    from rectitude.cli.output import watched
    from rectitude.experiment.run import run as run_experiment

    with watched(log) as watcher:
        found = run_experiment(
            file, folder=folder, only=only or (), start="resume" if resume else "fresh",
            plugins=plugins, watchers=[watcher],
        )  # fmt: skip
    _print_results(found, as_json)
    return found.exit_code


def _print_results(found: Run, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"folder": str(found.folder), **found.results}, indent=1))
        return
    report, results = (found.folder / name for name in ("report.html", "results.json"))
    typer.echo(f"{found}\n\n{report if report.exists() else results}")
    if any(one["traceback"] for one in found.failures):
        typer.echo(f"tracebacks of what failed: {results}")


def _print_plan(file: Path, folder: Path | None, only: Any, plugins: Any, as_json: bool) -> int:
    from rectitude.experiment.run import plan

    stages = plan(file, folder=folder, only=only, plugins=plugins)
    if as_json:
        typer.echo(
            json.dumps([{"stage": name, "state": state} for name, state in stages], indent=1)
        )
    else:
        typer.echo(listing([["stage", "state"], *map(list, stages)]))
    return 0


def _print_schema() -> int:
    from rectitude.experiment.reading import schema_text

    sys.stdout.write(schema_text())
    return 0


def _write_starter(file: Path) -> int:
    from rectitude.experiment.reading import starter_text
    from rectitude.storage import write_text

    if file.exists():
        raise BadName(f"{file} is there already.", "a new name: rectitude run --init other.toml")
    write_text(file, starter_text())
    typer.echo(f"{file} is written; run it: rectitude run {file}")
    return 0

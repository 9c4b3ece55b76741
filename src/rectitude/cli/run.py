"""`rectitude run`: run an experiment from one file."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import refuse
from rectitude.cli.options import Json, flag, listing
from rectitude.cli.output import say
from rectitude.errors import BadArgument, UnwritableFile

if TYPE_CHECKING:
    from rectitude.experiment.results import Run

NAME = "run"
EXAMPLE = """\b
Examples:
  rectitude run --init                          writes a sample experiment.toml
  rectitude run experiment.toml --dry-run       shows what would be done, and what is cached
  rectitude run experiment.toml                 runs it, or resumes an interrupted run
  rectitude run experiment.toml --only ease     does only what this model needs
  rectitude run --schema > experiment.schema.json"""
STARTER = "experiment.toml"


class LogForm(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    JSON = "json"
    QUIET = "quiet"


File = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="An experiment, in TOML or YAML.")
]
Folder = Annotated[Path | None, typer.Option(metavar="DIR", help="The folder for all output.")]
DryRun = Annotated[bool, flag("--dry-run", "Print the stages without running them.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="STAGE|MODEL ...", help="Run only these, and what they need."),
]
Resume = Annotated[bool, flag("--resume/--fresh", "Reuse cached stages, or run everything again.")]
NoPlugins = Annotated[bool, flag("--no-plugins", "Do not run code that the file names.")]
Log = Annotated[LogForm, typer.Option(help="Progress: bars on a terminal, JSON lines, or none.")]
Init = Annotated[bool, flag("--init", "Write a commented example to start from.")]
Schema = Annotated[bool, flag("--schema", "Print the JSON schema of experiments.")]


def run(
    file: File = None,
    *,
    folder: Folder = None,
    dry_run: DryRun = False,
    only: Only = None,
    resume: Resume = True,
    no_plugins: NoPlugins = False,
    log: Log = LogForm.AUTO,
    init: Init = False,
    schema: Schema = False,
    as_json: Json = False,
) -> int:
    """Run an experiment: data, split, models, evaluation, comparison, report.

    Each stage is cached in the run's folder under a fingerprint of everything it depends on. An
    interrupted run can resume, and a repeated run redoes only what has changed. Exit code 1 if a
    model or metric failed; the others still have their numbers.
    """
    shows = {"--fresh": not resume, "--log": None if log is LogForm.AUTO else log}
    others = {"--folder": folder, "--dry-run": dry_run, "--only": only, **shows}
    others |= {"--no-plugins": no_plugins, "--json": as_json}
    if schema:
        refuse({"FILE": file, "--init": init, **others}, "--schema")
        return _print_schema()
    if init:
        refuse(others, "--init")
        return _write_starter(file or Path(STARTER))
    if file is None:
        raise BadArgument("no experiment was given.", "rectitude run FILE, or --init to write one.")
    plugins: Any = "off" if no_plugins else "on"
    if dry_run:
        refuse(shows, "--dry-run")
        return _print_plan(file, folder, only or (), plugins, as_json)
    from rectitude.experiment.run import run as run_experiment

    shown: Any = log.value
    result = run_experiment(
        file, folder=folder, only=only or (), start="resume" if resume else "fresh",
        plugins=plugins, progress=shown,
    )  # fmt: skip
    _print_results(result, as_json)
    return result.exit_code


def _print_results(result: Run, as_json: bool) -> None:
    if as_json:
        say(json.dumps({"folder": str(result.folder), **result.results}, indent=1))
        return
    report, results = (result.folder / name for name in ("report.html", "results.json"))
    say(f"{result}\n\n{report if report.exists() else results}")
    if any(failure["traceback"] for failure in result.failures):
        say(f"tracebacks of the failures: {results}")


def _print_plan(file: Path, folder: Path | None, only: Any, plugins: Any, as_json: bool) -> int:
    from rectitude.experiment.run import plan

    stages = plan(file, folder=folder, only=only, plugins=plugins)
    if as_json:
        say(json.dumps([{"stage": name, "state": state} for name, state in stages], indent=1))
    else:
        say(listing([["stage", "state"], *map(list, stages)]))
    return 0


def _print_schema() -> int:
    from rectitude.experiment.reading import schema_text

    sys.stdout.write(schema_text())
    return 0


def _write_starter(file: Path) -> int:
    from rectitude.experiment.reading import starter_text
    from rectitude.storage import write_text

    if file.exists():
        raise UnwritableFile(
            f"{file} already exists.", "a new name: rectitude run --init other.toml"
        )
    write_text(file, starter_text())
    say(f"wrote {file}; to run it: rectitude run {file}")
    return 0

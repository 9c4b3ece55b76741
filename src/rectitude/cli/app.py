"""The application: its verbs, how its errors are shown, and its exit codes.

    0    done
    1    some metric failed, conformance was found wanting, nothing fits, or an audit found
         something serious
    2    bad use or bad input; nothing was written
    130  interrupted
    141  nobody reads the output any more

Nothing heavier than typer is imported here or at the top of a verb, so that `--help` is instant.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rectitude._version import __version__
from rectitude.cli import (
    audit,
    candidates,
    compare,
    conformance,
    convert,
    demo,
    diagnose,
    evaluate,
    explain,
    identify,
    metrics,
    profiles,
    report,
    robustness,
    run,
    split,
    trace,
)
from rectitude.cli.options import gathered, reported
from rectitude.cli.output import reading_told
from rectitude.errors import RectitudeError, unknown_name

BAD_USE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
USAGE_ERROR: Any = typer.BadParameter.__base__
"""typer brings its own click or uses the installed one; this is the class in either"""


@dataclass
class Settings:
    """What the options before the verb say."""

    debug: bool = False


class Verbs(TyperGroup):
    """The verbs; an unknown one is answered with the nearest."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb of that name."""
        if args[0] not in self.commands:
            raise unknown_name("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Verbs,
    add_completion=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    run,
    evaluate,
    compare,
    report,
    explain,
    identify,
    trace,
    diagnose,
    robustness,
    audit,
    metrics,
    profiles,
    split,
    candidates,
    convert,
    conformance,
    demo,
):
    app.command(verb.NAME, epilog=verb.EXAMPLE)(verb.run)


@app.callback(epilog="\b\nStart here:\n  rectitude demo\n  rectitude evaluate --help")
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="RECTITUDE_DEBUG", help="Show where an error arose.")
    ] = False,
) -> None:
    """Recommender and ranker evaluation where every number says what it counted."""
    context.obj.debug = debug
    if version:
        typer.echo(f"rectitude {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_USE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    settings = Settings()
    given = sys.argv[1:] if argv is None else argv
    command = typer.main.get_command(app)
    try:
        arguments = gathered(given)
        with reading_told(given[0] if given else ""):  # an error comes last
            code = command.main(arguments, "rectitude", standalone_mode=False, obj=settings)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except SystemExit as ended:
        # With standalone_mode=False typer exits by itself only after completing a word for the
        # shell, or after a broken pipe.
        return BROKEN_PIPE if ended.code else 0
    except Exception as error:
        if settings.debug:
            traceback.print_exc()
        reported(*_explained(error))
        return BAD_USE
    return int(code or 0)


def _explained(error: Exception) -> tuple[str, str]:
    """The kind of an error and its message; those of typer and Python also say what to do."""
    kind, message = type(error).__name__, str(error)
    if isinstance(error, RectitudeError | OSError):
        return kind, message
    if not isinstance(error, USAGE_ERROR):
        return kind, f"{message}\n  this is a fault of rectitude; --debug shows where it arose."
    context: Any = error.ctx
    if kind == "NoSuchOption":
        known = [name for option in context.command.params for name in option.opts]
        where = f"{context.command_path!r}"
        return kind, str(unknown_name("option", error.option_name, known, where))
    path = "rectitude" if context is None else context.command_path
    return kind, f"{error.format_message()}\n  see: {path} --help"

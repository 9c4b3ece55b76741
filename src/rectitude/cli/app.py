"""The command-line application: its commands, its error messages and its exit codes.

    0    success
    1    a metric failed, a profile disagrees with its framework, no definition matches, stored
         results do not hold, or an audit found something serious
    2    wrong usage or bad input; nothing was written
    130  interrupted
    141  the reader of the output closed the pipe

This module and the command modules import nothing heavier than typer at the top, which keeps
`--help` fast.
"""

from __future__ import annotations

import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from rectitude._version import __version__
from rectitude.cli import (
    audit,
    board,
    candidates,
    compare,
    conformance,
    convert,
    demo,
    diagnose,
    doctor,
    evaluate,
    explain,
    identify,
    interruption,
    metrics,
    profiles,
    report,
    robustness,
    run,
    sample,
    split,
    trace,
    verify,
)
from rectitude.cli.options import hint_at_switch, report_error, spell_out
from rectitude.cli.output import report_formats, say
from rectitude.errors import BadSetting, RectitudeError, UnknownName, shorten, unknown_name
from rectitude.extensions import plugins_allowed

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

BAD_USE, BROKEN_PIPE = 2, 141
PANIC = "PanicException"
"""what Polars raises if it gives up: no `Exception`, and Polars loads too slowly to name it"""
USAGE_ERROR: Any = typer.BadParameter.__base__
"""the base class of usage errors, from the click inside typer or from the installed one"""


_CUTOFF = "cutoffs are part of a metric's name: --metrics ndcg@10, or --metrics ndcg --cutoffs 10"
_HINTS = {
    **dict.fromkeys(
        ("--k", "-k", "--topk", "--top-k", "--top_k", "--at", "--cutoff", "--K"), _CUTOFF
    ),
    **dict.fromkeys(("--qrels", "--test", "--ground-truth", "--labels"), "name it with --truth"),
    **dict.fromkeys(("--run", "--recs", "--preds"), "name the files without an option"),
}
"""Options that other tools have, and what to write instead."""


@dataclass
class Settings:
    """The global options, which come before the command."""

    debug: bool = False


class Commands(TyperGroup):
    """The commands; an unknown name is answered with similar ones."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        if args[0] not in self.commands:
            raise unknown_name("command", args[0], self.commands)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    add_completion=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    run,
    evaluate,
    compare,
    report,
    board,
    verify,
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
    sample,
    demo,
    doctor,
):
    sentence = inspect.cleandoc(module.run.__doc__ or "").partition("\n\n")[0]
    app.command(module.NAME, short_help=sentence, epilog=module.EXAMPLE)(module.run)


@app.callback(
    epilog="\b\nStart here:\n  rectitude demo\n  rectitude sample\n  rectitude evaluate --help"
)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="RECTITUDE_DEBUG", help="Show the traceback of an error."),
    ] = False,
) -> None:
    """Evaluate recommenders and rankers. Every number comes with its definition."""
    context.obj.debug = debug
    if version:
        say(f"rectitude {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help(), where="stderr")
        raise typer.Exit(BAD_USE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    settings = Settings()
    words = sys.argv[1:] if argv is None else argv
    try:
        return _run_command(words, settings)
    except (typer.Abort, KeyboardInterrupt):
        return interruption.report()
    except SystemExit as system_exit:
        # With standalone_mode=False, typer exits by itself only after a shell completion or a
        # broken pipe.
        return BROKEN_PIPE if system_exit.code else 0
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        if settings.debug:
            say(traceback.format_exc(), where="stderr", end="")
        report_error(*_explain_error(error, words))
        return BAD_USE


def _run_command(words: Sequence[str], settings: Settings) -> int:
    command, arguments = typer.main.get_command(app), spell_out(words)
    # An error is printed after the formats and warnings.
    with report_formats(words[0] if words else ""), warnings.catch_warnings():
        warnings.showwarning = cast("Any", _print_warning)
        _require_settings()
        _warn_of_little_memory()
        code = command.main(arguments, "rectitude", standalone_mode=False, obj=settings)
        if code == interruption.INTERRUPTED:  # what typer makes of an interruption
            raise KeyboardInterrupt
    return int(code or 0)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without the place in the source that it comes from."""
    say(f"warning: {message}", where="stderr")


def _require_settings() -> None:
    """Refuse settings in the environment that are wrong, also if a command would not need them."""
    if os.environ.get("RECTITUDE_MEMORY"):
        from rectitude.memory import memory_limit

        memory_limit()
    plugins_allowed()
    if os.environ.get("POLARS_MAX_THREADS", "1").strip("0") == "":
        raise BadSetting("POLARS_MAX_THREADS is 0.", "a number of threads, 1 or more.")


_ENOUGH_BYTES = 2 << 30
_TOO_FEW_BYTES = 500_000_000
"""With less address space, Polars may end the process when it is imported."""


def _warn_of_little_memory() -> None:
    """Warn of a limit on memory that Polars may exceed: it then ends the process, and no error of
    ours can be printed."""
    if resource is None:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= limit < _TOO_FEW_BYTES:
        from rectitude.memory import require_address_space

        require_address_space()
    if 0 <= limit < _ENOUGH_BYTES:
        warnings.warn(
            f"this process may use {limit / 1e9:.1f} GB of address space (ulimit -v). Polars "
            "reserves more than it uses, and ends the process if that is not enough: if so, raise "
            "the limit, or set POLARS_MAX_THREADS=1.",
            RuntimeWarning,
            stacklevel=2,
        )


_NO_HOME = "Could not determine home directory."
"""what pathlib says of `~name` if there is no such person"""
_MEMORY_ADVICE = (
    "end other programs, raise the limit of this process (ulimit -v), or evaluate in batches."
)


def _explain_error(error: BaseException, words: Sequence[str]) -> tuple[str, str]:
    """Return the kind and the message of an error; usage errors and bugs also get advice."""
    kind, message = type(error).__name__, str(error)
    if not isinstance(error, RectitudeError):
        message = shorten(message)
    if isinstance(error, RectitudeError | OSError):
        return kind, message
    if not isinstance(error, USAGE_ERROR):
        return kind, _advise(error, message)
    context: Any = error.ctx
    if kind == "NoSuchOption":
        return kind, str(_explain_option(context, error.option_name, words))
    path = "rectitude" if context is None else context.command_path
    return kind, f"{shorten(error.format_message())}\n  see: {path} --help"


def _advise(error: BaseException, message: str) -> str:
    """Return the message of an error that is not ours, with what can be done about it."""
    if message == _NO_HOME:
        return f"{message}\n  a path begins with ~ and a name: write the whole path."
    if isinstance(error, MemoryError):
        return f"{message or 'there is not enough memory.'}\n  {_MEMORY_ADVICE}"
    if type(error).__name__ == PANIC:
        return f"{message}\n  Polars gave up; a file is probably damaged: write it again."
    return f"{message}\n  this is a bug in rectitude; --debug shows the traceback."


def _explain_option(context: Any, name: str, words: Sequence[str]) -> RectitudeError:
    """Return the error for an option that a command lacks, with what to write instead."""
    options = [name for option in context.command.params for name in option.opts]
    hint = ""
    if {"--truth", "--metrics"} <= {*options}:
        hint = _HINTS.get(name, "")
    if "--convention" in options:
        hint = hint or hint_at_switch(name, words)
    if context.info_name == split.NAME:
        hint = split.hint_at_parameter(name, words)
    if hint:
        return UnknownName(f"{context.command_path!r} has no option {name!r}.", "", hint)
    return unknown_name("option", name, options, f"{context.command_path!r}")

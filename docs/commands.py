"""The reference of the command line: every command with its arguments, options and examples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from rectitude.cli.app import app

LEAD = (
    "`rectitude COMMAND --help` prints the same in the terminal. Exit codes: 0 success; 1 a metric "
    "failed, a profile disagrees with its framework, no definition matches, or an audit found "
    "something serious; 2 wrong usage or bad input, and nothing was written; 130 interrupted; 141 "
    "the reader of the output closed the pipe. `--debug` before the command shows the traceback of "
    "an error."
)


def commands() -> dict[str, Any]:
    """The commands by name, in the order of the help."""
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def entries() -> Iterator[str]:
    """One entry per command."""
    for name, command in commands().items():
        context = command.make_context(name, [], resilient_parsing=True)
        pieces = " ".join(command.collect_usage_pieces(context))
        usage = f"rectitude {name} {pieces}".replace("[[", "[").replace("]]...", "]")
        records = [one.get_help_record(context) for one in command.get_params(context)]
        lines = [f"## {name}", "", inspect.cleandoc(command.callback.__doc__ or ""), ""]
        lines += ["```text", usage, "```", ""]
        lines += [_line(*record) for record in records if record and "--help" not in record[0]]
        yield "\n".join([*lines, "", "```text", *_examples(command), "```"])


def _line(spelling: str, words: str) -> str:
    return f"- `{spelling.removesuffix(' <list[str]>')}`: {' '.join(words.split())}"


def _examples(command: Any) -> list[str]:
    lines = (command.epilog or "").replace("\b", "").strip().splitlines()
    return [line.removeprefix("  ") for line in lines if line.strip() != "Examples:"]

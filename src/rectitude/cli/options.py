"""Shared by all commands: options with several values, conventions, labels, tables, errors."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.cli.output import say
from rectitude.errors import BadArgument, unknown_name
from rectitude.render import Grid
from rectitude.storage import short_name

SEVERAL = frozenset(
    {
        "--predictions", "--scores", "--logits", "--metrics", "--convention", "--columns",
        "--profile", "--profiles", "--first", "--second", "--base", "--reference-convention",
        "--folds", "--set", "--unknown", "--validate", "--allow", "--only", "--show", "--slices",
        "--cutoffs",
    }
)  # fmt: skip


def value_option(metavar: str, words: str) -> Any:
    """Declare an option that takes a value."""
    return typer.Option(metavar=metavar, help=words)


def file_option(words: str) -> Any:
    """Declare an option that takes a file."""
    return value_option("FILE", words)


def flag(names: str, words: str) -> Any:
    """Declare an option by its names, such as a switch that is on or off."""
    return typer.Option(names, help=words)


KeepFormulas = Annotated[
    bool,
    flag("--keep-formulas", "In CSV, keep names that a spreadsheet would run as formulas."),
]
Conventions = Annotated[
    list[str] | None,
    typer.Option(
        "--convention",
        metavar="PROFILE|SWITCH=VALUE ...",
        help="A profile, switches to change, or both (see: rectitude profiles).",
    ),
]
Cutoffs = Annotated[
    list[str] | None,
    value_option("K ...", "Cutoffs for metrics named without one, such as 5,10."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def cutoffs_of(values: Sequence[str] | None) -> str | None:
    """Return the values of --cutoffs as one text, such as "5,10"."""
    return ",".join(values) if values else None


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the option repeated before each of its values.

    Typer takes one value per option and lets options be repeated; people also write
    `--metrics ndcg recall`. The values of an option end at the next option or at `--`.

    >>> spell_out(["evaluate", "--metrics", "ndcg", "recall", "--json"])
    ['evaluate', '--metrics', 'ndcg', '--metrics', 'recall', '--json']
    """
    _refuse_empty(arguments)
    spelled: list[str] = []
    taking, empty = "", False
    for position, word in enumerate(arguments):
        if word.startswith("-") and word != "-":
            _require_value(taking, empty)
            if word == "--":
                return [*spelled, *arguments[position:]]
            option = word.partition("=")[0]
            taking, empty = (option, word == option) if option in SEVERAL else ("", False)
            spelled += [] if empty else [word]
        else:
            spelled += [taking, word] if taking else [word]
            empty = False
    _require_value(taking, empty)
    return spelled


def _require_value(option: str, empty: bool) -> None:
    if empty:
        raise BadArgument(f"option {option} was given no value.", "at least one value after it.")


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse an argument without a character, as an unset variable of a script leaves it."""
    for before, word in pairwise(["", *arguments]):
        option = word[:-1] if re.fullmatch("--[a-z-]+=", word) else before
        if not word or option != before:
            place = f" after {option}" if option.startswith("-") else ""
            raise BadArgument(
                f"an argument{place} is empty.",
                "a value.",
                "in a script, check that the variables are set.",
            )


def refuse_files(options: Mapping[str, Sequence[str]]) -> None:
    """Refuse files after an option that takes several names: they were meant as predictions."""
    for option, words in options.items():
        for word in words:
            if len(word) < 256 and Path(word).is_file() and not word.endswith(".toml"):
                raise BadArgument(
                    f"{option} was given {word!r}, which is a file.",
                    f"only names after {option}.",
                    f"name the file before the options: rectitude evaluate {word} {option} ...",
                )


def pairs(values: Iterable[str], option: str, example: str) -> dict[str, str]:
    """Parse words of the form `name=value`."""
    parsed: dict[str, str] = {}
    for word in values:
        name, equals, text = word.partition("=")
        if not (name and equals and text):
            raise BadArgument(f"{option} was given {word!r}.", f"name=value, such as {example}.")
        parsed[name] = text
    return parsed


def roles(values: Iterable[str]) -> dict[str, str]:
    """Parse --columns into the columns of interactions by role."""
    columns = pairs(values, "--columns", "user=visitor")
    allowed = ("user", "item", "grade", "timestamp", "weight")
    for role in columns:
        if role not in allowed:
            raise unknown_name("role", role, allowed, where="--columns")
    return columns


def convention_of(values: Sequence[str], option: str = "--convention") -> dict[str, Any]:
    """Parse a convention option into what `evaluate` takes: a profile, and switches to change.

    >>> convention_of(["trec_eval-9,relevant_from=2"])
    {'profile': 'trec_eval-9', 'relevant_from': 2.0}
    """
    from rectitude.convention import parse_value

    values = _split_commas(values)
    profiles = _profiles_in(values)
    if len(profiles) > 1:
        raise BadArgument(
            f"{option} names several profiles: {', '.join(profiles)}.",
            "one profile, and switches to change as switch=value.",
        )
    changes = pairs((v for v in values if "=" in v), option, "ties=optimistic")
    switches = {switch: parse_value(switch, text) for switch, text in changes.items()}
    return {"profile": profiles[0] if profiles else "default", **switches}


def conventions_of(values: Sequence[str]) -> dict[str, Any] | list[dict[str, Any]]:
    """Parse a convention option that may name several profiles; switches change each of them.

    >>> conventions_of(["recbole,elliot"])
    [{'profile': 'recbole'}, {'profile': 'elliot'}]
    """
    values = _split_commas(values)
    profiles, changes = _profiles_in(values), [value for value in values if "=" in value]
    if len(profiles) < 2:
        return convention_of(values)
    return [convention_of([profile, *changes]) for profile in profiles]


def _profiles_in(values: Sequence[str]) -> list[str]:
    return [value for value in values if "=" not in value]


def _split_commas(values: Sequence[str]) -> list[str]:
    """Return words that are separated by spaces or commas; a table of gains is one word."""
    from rectitude.metrics.names import split_outside

    return [word for value in values for word in split_outside(value, ",") if word]


def hint_at_switch(option: str, words: Sequence[str]) -> str:
    """Return how a switch is set that was typed as an option; empty if it is none."""
    from rectitude.convention import SWITCHES

    switch = option.strip("-").replace("-", "_")
    if switch not in SWITCHES:
        return ""
    return f"a switch of the convention: --convention {switch}={value_after(option, words)}"


def value_after(option: str, words: Sequence[str]) -> str:
    """Return the value that was typed for an option; `...` if there is none.

    >>> value_after("--ratio", ["split", "log.csv", "--ratio", "0.2"])
    '0.2'
    """
    for word, following in zip(words, [*words[1:], "-"], strict=True):
        name, equals, text = word.partition("=")
        if name == option:
            typed = text if equals else following
            return "..." if typed.startswith("-") else typed
    return "..."


def split_format(word: str) -> tuple[str, str]:
    """Split a word such as `elliot:test.tsv` into a format and a file; the format is empty if the
    word is only a file."""
    form, colon, file = word.partition(":")
    if not colon or Path(word).exists():
        return "", word
    from rectitude.data.formats.registry import ALIASES, FORMATS, format_named

    if form not in {*FORMATS, *ALIASES} and not Path(file).is_file():
        return "", word
    format_named(form, "FORMAT:FILE")
    return form, file


def values(words: Sequence[str], option: str, example: str) -> dict[str, Any]:
    """Parse words of the form `name=value`, with values written as in TOML."""
    return {name: value(text) for name, text in pairs(words, option, example).items()}


def value(text: str) -> Any:
    """Parse a TOML value: a number, true, a list, a table; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _find_duplicate(paths: Sequence[str]) -> str:
    return next(path for path, count in Counter(paths).items() if count > 1)


def label_paths(paths: Sequence[str]) -> Mapping[str, str]:
    """Return files by label: the name without extensions, or the path if names are equal."""
    if len(set(paths)) < len(paths):
        raise BadArgument(f"{_find_duplicate(paths)} was given twice.", "each file once.")
    stems = [stem(path) for path in paths]
    counts = Counter(stems)
    labelled = zip(stems, paths, strict=True)
    return {label if counts[label] == 1 else path: path for label, path in labelled}


def stem(path: str) -> str:
    """Return the name of a file without its extensions."""
    name = Path(split_format(path)[1])
    if "*" in name.stem and not name.exists():  # a pattern is named after its folder
        name = name.parent
    return short_name(name)


def report_error(kind: str, message: str) -> None:
    """Print an error on stderr."""
    say(f"error: {kind}: {message}", where="stderr")


def listing(rows: Sequence[Sequence[str]]) -> str:
    """Return words in columns; the first row is the heading."""
    heading, *body = rows
    return Grid(heading, body, left=range(len(heading))).columns()

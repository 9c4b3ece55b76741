"""What the verbs share: options with several values, conventions, labels, lists and errors."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.errors import BadName, unknown_name
from rectitude.render import Grid

SEVERAL = frozenset(
    {
        "--predictions", "--scores", "--logits", "--metrics", "--convention", "--columns",
        "--profile", "--profiles", "--first", "--second", "--base", "--reference-convention",
        "--folds", "--set", "--unknown", "--validate", "--allow", "--only", "--show", "--slices",
    }
)  # fmt: skip
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst"})


def valued(metavar: str, words: str) -> Any:
    """An option that takes a value."""
    return typer.Option(metavar=metavar, help=words)


def file_option(words: str) -> Any:
    """An option that names a file."""
    return valued("FILE", words)


def flag(names: str, words: str) -> Any:
    """An option under these names, such as one that is there or not."""
    return typer.Option(names, help=words)


Conventions = Annotated[
    list[str] | None,
    typer.Option(
        "--convention",
        metavar="PROFILE|SWITCH=VALUE ...",
        help="A profile, switches to change, or both (see: rectitude profiles).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def gathered(arguments: Sequence[str]) -> list[str]:
    """The arguments with each value of an option spelled out.

    Typer knows options with one value or repeated ones; people also write `--metrics ndcg recall`.
    An option's values end at the next option or at `--`.

    >>> gathered(["evaluate", "--metrics", "ndcg", "recall", "--json"])
    ['evaluate', '--metrics', 'ndcg', '--metrics', 'recall', '--json']
    """
    spelled: list[str] = []
    taking, empty = "", False
    for place, word in enumerate(arguments):
        if word.startswith("-") and word != "-":
            _require_value(taking, empty)
            if word == "--":
                return [*spelled, *arguments[place:]]
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
        raise BadName(f"option {option} was given no value.", "at least one value after it.")


def pairs(values: Iterable[str], option: str, example: str) -> dict[str, str]:
    """What `name=value` words say."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not (name and equals and rest):
            raise BadName(f"{option} cannot read {value!r}.", f"name=value, such as {example}.")
        found[name] = rest
    return found


def roles(values: Iterable[str]) -> dict[str, str]:
    """The columns of interactions by role, as --columns names them."""
    found = pairs(values, "--columns", "user=visitor")
    known = ("user", "item", "grade", "timestamp", "weight")
    for role in found:
        if role not in known:
            raise unknown_name("role", role, known, where="--columns")
    return found


def convention_of(values: Sequence[str], option: str = "--convention") -> dict[str, Any]:
    """What a convention option says, as `evaluate` takes it: a profile, and switches to change.

    >>> convention_of(["trec_eval-9", "relevant_from=2"])
    {'profile': 'trec_eval-9', 'relevant_from': 2.0}
    """
    from rectitude.convention import parse_value

    named = [value for value in values if "=" not in value]
    if len(named) > 1:
        raise BadName(
            f"{option} names several profiles: {', '.join(named)}.",
            "one profile, and switches to change as switch=value.",
        )
    changes = pairs((v for v in values if "=" in v), option, "ties=optimistic")
    switches = {switch: parse_value(switch, text) for switch, text in changes.items()}
    return {"profile": named[0] if named else "default", **switches}


def named_format(word: str) -> tuple[str, str]:
    """The format and the file that a word such as `elliot:test.tsv` names; mostly it is a file
    alone, whose content says what it is."""
    form, colon, file = word.partition(":")
    if not colon or Path(word).exists():
        return "", word
    from rectitude.data.formats.registry import ALSO, FORMATS, format_named

    if form not in {*FORMATS, *ALSO} and not Path(file).is_file():
        return "", word
    format_named(form, "FORMAT:FILE")
    return form, file


def values(words: Sequence[str], option: str, example: str) -> dict[str, Any]:
    """What `name=value` words say, each value as TOML writes it."""
    return {name: value(text) for name, text in pairs(words, option, example).items()}


def value(text: str) -> Any:
    """A value as TOML writes it: a number, true, a list, a table; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _twice(paths: Sequence[str]) -> str:
    return next(path for path, times in Counter(paths).items() if times > 1)


def labelled(paths: Sequence[str]) -> Mapping[str, str]:
    """Files by a short label: the name without endings, or the path where names are equal."""
    if len(set(paths)) < len(paths):
        raise BadName(f"{_twice(paths)} is named twice.", "each file once.")
    stems = [stem(path) for path in paths]
    times = Counter(stems)
    both = zip(stems, paths, strict=True)
    return {label if times[label] == 1 else path: path for label, path in both}


def stem(path: str) -> str:
    """The name of a file without its endings."""
    name = Path(named_format(path)[1])
    return Path(name.stem).stem if name.suffix in COMPRESSED else name.stem


def reported(kind: str, message: str) -> None:
    """Say an error where errors go."""
    typer.echo(f"error: {kind}: {message}", err=True)


def listing(rows: Sequence[Sequence[str]]) -> str:
    """Words in columns, heading first."""
    heading, *body = rows
    return Grid(heading, body, left=range(len(heading))).columns()

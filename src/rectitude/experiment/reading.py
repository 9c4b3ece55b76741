"""An experiment's file: read from TOML, YAML or a dict, with errors that name line and key; its
JSON schema, and a file to start from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from rectitude.candidates.protocols import CANDIDATES
from rectitude.errors import BadName, RectitudeError, UnreadableFile, nearest, unknown_name
from rectitude.experiment.config import STREAM, WORDS_OF_NAME, Experiment
from rectitude.models import MODELS
from rectitude.options import At, KeyLines, Lines, dotted, read_toml, toml_lines, yaml_lines
from rectitude.prepare import STEPS
from rectitude.splits.protocols import protocols
from rectitude.splits.run import SPLITTERS

YAML = (".yaml", ".yml")
ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_EXPECTED = "a TOML or YAML file; `rectitude run --init` writes one to start from."
_WORDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "string_pattern_mismatch": WORDS_OF_NAME,
}


@dataclass(frozen=True)
class Loaded:
    """An experiment, and where it came from."""

    config: Experiment
    places: KeyLines
    home: Path
    """the folder that paths in it are relative to"""
    text: str
    """as it was written"""
    suffix: str
    """of the copy in the run's folder: .toml, .yaml or .json"""
    file: str = ""
    """where the file lies; empty for a dict"""

    @property
    def name(self) -> str:
        """What the experiment is called."""
        return self.config.name or re.sub(r"[^\w.+-]", "_", Path(self.places.label).stem)

    @property
    def folder(self) -> Path:
        """Where everything is written unless another folder is named."""
        if self.config.folder:
            return self.path(self.config.folder, ("folder",))
        return self.home / "runs" / self.name

    def path(self, text: str, at: At) -> Path:
        """A path of the file, with variables put in, relative to where the file lies."""
        names = re.findall(r"\$(?:\{(\w+)\}|(\w+))", text)
        unset = [one or two for one, two in names if (one or two) not in os.environ]
        if unset:
            raise BadName(
                f"{self.places.where(at)}: {text!r} needs the variable {unset[0]}, which is not"
                " set.",
                f"a folder: export {unset[0]}=...",
            )
        return self.home / Path(os.path.expandvars(text)).expanduser()


def load(source: object) -> Loaded:
    """An experiment from a file or a dict, checked as far as the file alone can be."""
    if isinstance(source, Loaded):
        return source
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if not isinstance(source, str | os.PathLike):
        raise BadName(f"an experiment is a {type(source).__name__}.", "a path or a dict.")
    path = Path(source).expanduser()
    label = os.fspath(source)
    text = _text(path, label)
    yaml = path.suffix in YAML
    stored: Any = None
    if yaml:
        stored, lines = _parsed_yaml(text, label)
    else:
        stored = read_toml(text, label, "TOML: key = value, with text in quotes.")
        lines = toml_lines(text)
    places = KeyLines(path.name, lines)
    if not isinstance(stored, Mapping):
        raise UnreadableFile(f"{label} holds {type(stored).__name__}.", _EXPECTED)
    config = validated(stored, places)
    whole, suffix = path.resolve(), ".yaml" if yaml else ".toml"
    return Loaded(config, places, whole.parent, text, suffix, str(whole))


def _from_mapping(source: Mapping[str, Any]) -> Loaded:
    places = KeyLines("experiment")
    config = validated(source, places)
    text = json.dumps(source, indent=1, default=str) + "\n"
    return Loaded(config, places, Path.cwd(), text, ".json")


def _text(path: Path, label: str) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UnreadableFile(f"{label} cannot be read: {error.strerror}.", _EXPECTED) from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{label} is not UTF-8 text.", _EXPECTED) from error


def _parsed_yaml(text: str, label: str) -> tuple[Any, Lines]:
    import yaml

    try:
        lines = yaml_lines(text, label)
        return yaml.safe_load(text), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "the end"
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UnreadableFile(f"{label}, {where}: {problem}.", "YAML: key: value.") from None


def validated(stored: Mapping[str, Any], places: KeyLines) -> Experiment:
    """The experiment that tables and keys say, or an error for every mistake in them."""
    try:
        return Experiment.model_validate(stored)
    except ValidationError as error:
        found = list(_explained(error, stored, places))
    first, *others = found
    advice = [line for line in (first.advice, *map(str, others)) if line]
    raise type(first)(first.found, first.expected, "\n  ".join(advice)) from None


def _explained(
    error: ValidationError, stored: Mapping[str, Any], places: KeyLines
) -> Iterator[RectitudeError]:
    """What is wrong, once for each key: in the order of the file, what is missing last."""
    by_key: dict[At, list[Any]] = {}
    for one in error.errors():
        by_key.setdefault(_real(one["loc"], stored, one["type"]), []).append(one)
    last = len(places.lines) + 1
    for at in sorted(by_key, key=lambda at: places.lines.get(at, last)):
        yield _one(at, by_key[at], places)


def _real(location: Sequence[str | int], stored: Any, kind: str) -> At:
    """The key that pydantic means, without the names of its own alternatives."""
    node, at = stored, At()
    for place, part in enumerate(location):
        inside = isinstance(node, Mapping) and part in node
        inside |= isinstance(node, list) and isinstance(part, int) and part < len(node)
        if inside:
            at, node = (*at, part), node[part]
        elif kind == "missing" and place == len(location) - 1:
            at = (*at, part)
    return at


def _one(at: At, every: Sequence[Any], places: KeyLines) -> RectitudeError:
    first, where = every[0], places.where(at)
    if first["type"] == "extra_forbidden":
        table, key = at[:-1], str(at[-1])
        inside = f"[{dotted(table)}]" if table else "an experiment"
        return unknown_name("key", key, _fields(table), where=f"{where}: {inside}")
    if first["type"] == "missing":
        return BadName(f"{where}: {dotted(at)} is missing.", "a value for it.")
    expected = " or ".join(dict.fromkeys(_expected(one) for one in every))
    value = first["input"]
    choices = re.findall(r"'([^']*)'", first.get("ctx", {}).get("expected", ""))
    guess = nearest(value, choices) if isinstance(value, str) else ""
    if first["type"] == "string_pattern_mismatch":
        value = at[-1]
    advice = f"did you mean {guess}?" if guess else ""
    if value is False and "off" in choices:
        advice = "in YAML off means false: write 'off' in quotes."
    return BadName(f"{where}: {dotted(at)} is {value!r:.80}.", f"{expected}.", advice)


def _expected(error: Mapping[str, Any]) -> str:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    message = str(error["msg"])
    return _WORDS.get(error["type"], message.removeprefix("Input should be ").rstrip("."))


def _fields(table: At) -> list[str]:
    """The keys that a table may have."""
    model: Any = Experiment
    for part in table:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is not None:
            found = list(_models(field.annotation))
            model = found[0] if found else model
    return list(model.model_fields)


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """The tables that a type mentions."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _models(inner)


def schema() -> dict[str, Any]:
    """The schema, with the names of steps, ways of splitting, candidates and models put in."""
    found = Experiment.model_json_schema()
    tables = found["$defs"]
    named = {
        ("SplitBy", "how"): [*SPLITTERS, STREAM],
        ("SplitBy", "protocol"): protocols(),
        ("CandidatesTable", "kind"): CANDIDATES,
        ("Entrant", "model"): MODELS,
    }
    for (table, key), names in named.items():
        tables[table]["properties"][key]["enum"] = sorted(names)
    step = {"type": "object", "required": ["step"], "properties": {"step": {"enum": sorted(STEPS)}}}
    for choice in found["properties"]["prepare"]["anyOf"]:
        if choice["type"] == "array":
            choice["items"] = step
    return {"$schema": ADDRESS, **found, "title": "An experiment of rectitude"}


def schema_text() -> str:
    """The schema as it is kept in docs."""
    return json.dumps(schema(), indent=1, default=_default) + "\n"


def _default(value: Any) -> Any:
    return value.model_dump(exclude_defaults=True)


def starter_text() -> str:
    """A commented file that runs as it is; nothing is tuned in it where optuna is missing."""
    text = files("rectitude.experiment").joinpath("starter.toml").read_text("utf-8")
    if find_spec("optuna") is not None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(f"# {line}" if line.startswith("tune.") else line for line in lines)

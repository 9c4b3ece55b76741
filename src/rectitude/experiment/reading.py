"""Read an experiment from TOML, YAML or a dict, with errors that name line and key.

Also its JSON schema, and a starter file.
"""

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

from rectitude.candidate_sets.protocols import CANDIDATES
from rectitude.errors import BadSetting, RectitudeError, UnreadableFile, nearest, unknown_name
from rectitude.experiment.config import STREAM, WORDS_OF_NAME, Experiment
from rectitude.models import MODELS
from rectitude.options import At, KeyLines, join_key, toml_lines, yaml_lines
from rectitude.preparing import STEPS
from rectitude.splits.protocols import protocols
from rectitude.splits.run import SPLITTERS
from rectitude.texts import parse_toml, parse_yaml, read_settings

YAML = (".yaml", ".yml")
ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_EXPECTED = "a TOML or YAML file; `rectitude run --init` writes one to start with."
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
    """An experiment, and where it was read from."""

    config: Experiment
    key_lines: KeyLines
    home: Path
    """the folder that its paths are relative to"""
    text: str
    """the text of the file"""
    suffix: str
    """the suffix of the copy in the run's folder: .toml, .yaml or .json"""
    file: str = ""
    """the path of the file; empty for a dict"""

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.config.name or re.sub(r"[^\w.+-]", "_", Path(self.key_lines.label).stem)

    @property
    def folder(self) -> Path:
        """The default output folder."""
        if self.config.folder:
            return self.path(self.config.folder, ("folder",))
        return self.home / "runs" / self.name

    def path(self, text: str, at: At) -> Path:
        """Resolve a path of the file: replace variables, and make it relative to the file."""
        names = re.findall(r"\$(?:\{(\w+)\}|(\w+))", text)
        unset = [braced or bare for braced, bare in names if (braced or bare) not in os.environ]
        if unset:
            raise BadSetting(
                f"{self.key_lines.where(at)}: {text!r} needs the environment variable {unset[0]},"
                " which is not set.",
                f"a value for it: export {unset[0]}=...",
            )
        return self.home / Path(os.path.expandvars(text)).expanduser()


def load(source: object) -> Loaded:
    """Load an experiment from a file or a dict, and check what can be checked without data."""
    if isinstance(source, Loaded):
        return source
    if isinstance(source, Mapping):
        return _load_mapping(source)
    if not isinstance(source, str | os.PathLike):
        raise BadSetting(f"the experiment is of type {type(source).__name__}.", "a path or a dict.")
    path = Path(source).expanduser()
    label = os.fspath(source)
    text = read_settings(path, "experiment", _EXPECTED)
    yaml = path.suffix in YAML
    stored: Any = None
    if yaml:
        stored, root = parse_yaml(text, label, "valid YAML, such as key: value.")
        lines = yaml_lines(root, label)
    else:
        stored = parse_toml(text, label, "valid TOML, such as key = value, with text in quotes.")
        lines = toml_lines(text)
    key_lines = KeyLines(path.name, lines)
    if not isinstance(stored, Mapping):
        raise UnreadableFile(f"{label} contains {stored!r:.60}, not keys and values.", _EXPECTED)
    config = validate(stored, key_lines)
    full_path, suffix = path.resolve(), ".yaml" if yaml else ".toml"
    return Loaded(config, key_lines, full_path.parent, text, suffix, str(full_path))


def _load_mapping(source: Mapping[str, Any]) -> Loaded:
    key_lines = KeyLines("experiment")
    config = validate(source, key_lines)
    text = json.dumps(source, indent=1, default=str) + "\n"
    return Loaded(config, key_lines, Path.cwd(), text, ".json")


def validate(stored: Mapping[str, Any], key_lines: KeyLines) -> Experiment:
    """Validate tables and keys, or raise one error that lists every mistake."""
    try:
        return Experiment.model_validate(stored)
    except ValidationError as error:
        errors = list(_explain_errors(error, stored, key_lines))
    first, *others = errors
    advice = [line for line in (first.advice, *map(str, others)) if line]
    raise type(first)(first.found, first.expected, "\n  ".join(advice)) from None


def _explain_errors(
    error: ValidationError, stored: Mapping[str, Any], key_lines: KeyLines
) -> Iterator[RectitudeError]:
    """Yield one error per key, in the order of the file; missing keys come last."""
    by_key: dict[At, list[Any]] = {}
    for problem in error.errors():
        key = _locate_key(problem["loc"], stored, problem["type"])
        by_key.setdefault(key, []).append(problem)
    last = len(key_lines.lines) + 1
    for at in sorted(by_key, key=lambda at: key_lines.lines.get(at, last)):
        yield _explain_error(at, by_key[at], key_lines)


def _locate_key(location: Sequence[str | int], stored: Any, kind: str) -> At:
    """Return the key that pydantic refers to, without the names of its union alternatives."""
    node, at = stored, At()
    for position, step in enumerate(location):
        inside = isinstance(node, Mapping) and step in node
        inside |= isinstance(node, list) and isinstance(step, int) and step < len(node)
        if inside:
            at, node = (*at, step), node[step]
        elif kind == "missing" and position == len(location) - 1:
            at = (*at, step)
    return at


def _explain_error(at: At, problems: Sequence[Any], key_lines: KeyLines) -> RectitudeError:
    first, where = problems[0], key_lines.where(at)
    if first["type"] == "extra_forbidden":
        table, key = at[:-1], str(at[-1])
        inside = f"[{join_key(table)}]" if table else "an experiment"
        return unknown_name("key", key, _list_fields(table), where=f"{where}: {inside}")
    if first["type"] == "missing":
        return BadSetting(f"{where}: {join_key(at)} is missing.", "a value for it.")
    expected = " or ".join(dict.fromkeys(_describe_expected(problem) for problem in problems))
    value = first["input"]
    choices = re.findall(r"'([^']*)'", first.get("ctx", {}).get("expected", ""))
    guess = nearest(value, choices) if isinstance(value, str) else ""
    if first["type"] == "string_pattern_mismatch":
        value = at[-1]
    advice = f"did you mean {guess}?" if guess else ""
    if value is False and "off" in choices:
        advice = "YAML reads off as false: write 'off' in quotes."
    return BadSetting(f"{where}: {join_key(at)} is {value!r:.80}.", f"{expected}.", advice)


def _describe_expected(error: Mapping[str, Any]) -> str:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return _WORDS.get(error["type"], re.sub("^(?=greater|less)", "a number ", message.rstrip(".")))


def _list_fields(table: At) -> list[str]:
    """Return the keys that a table may have."""
    model: Any = Experiment
    for step in table:
        field = model.model_fields.get(step) if isinstance(step, str) else None
        if field is not None:
            tables = list(_find_tables(field.annotation))
            model = tables[0] if tables else model
    return list(model.model_fields)


def _find_tables(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the tables that a type refers to."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _find_tables(inner)


def schema() -> dict[str, Any]:
    """Return the JSON schema, with the names of steps, splits, candidates and models."""
    result = Experiment.model_json_schema()
    tables = result["$defs"]
    choices = {
        ("SplitBy", "how"): [*SPLITTERS, STREAM],
        ("SplitBy", "protocol"): protocols(),
        ("CandidatesTable", "kind"): CANDIDATES,
        ("Entrant", "model"): MODELS,
    }
    for (table, key), names in choices.items():
        tables[table]["properties"][key]["enum"] = sorted(names)
    step = {"type": "object", "required": ["step"], "properties": {"step": {"enum": sorted(STEPS)}}}
    for choice in result["properties"]["prepare"]["anyOf"]:
        if choice["type"] == "array":
            choice["items"] = step
    return {"$schema": ADDRESS, **result, "title": "A rectitude experiment"}


def schema_text() -> str:
    """Return the schema as JSON text, as in docs."""
    return json.dumps(schema(), indent=1, default=_serialise) + "\n"


def _serialise(value: Any) -> Any:
    return value.model_dump(exclude_defaults=True)


def starter_text() -> str:
    """Return a commented file that runs as it is; tuning is commented out without optuna."""
    text = files("rectitude.experiment").joinpath("starter.toml").read_text("utf-8")
    if find_spec("optuna") is not None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(f"# {line}" if line.startswith("tune.") else line for line in lines)

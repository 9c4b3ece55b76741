"""The reference of the Python interface: every public name, with its public methods.

Signatures and docstrings come from the source. A method counts as public if its name does not
start with an underscore, and belongs to a class if rectitude defines it there or in a base class.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

GROUPS = {
    "Functions": ("rectitude", (
        "evaluate", "compare", "explain", "identify", "trace", "diagnose", "robustness", "audit",
        "report", "board", "verify", "split", "prepare", "candidates", "run", "load", "sample",
        "metric",
    )),
    "What goes in": ("rectitude", (
        "Lists", "Interactions", "Log", "Scores", "Embeddings", "Logits", "Candidates", "Split",
        "Convention", "METRICS", "PROFILES",
    )),
    "What comes out": ("rectitude", (
        "Evaluation", "Evaluations", "Ledger", "Slices", "Comparison", "Explanation",
        "Identification", "Trace", "Diagnosis", "Robustness", "Audit", "Verification", "Run",
        "RectitudeError",
    )),
    "Batches": ("rectitude", ("Evaluator", "History")),
    "rectitude.torch": ("rectitude.torch", (
        "evaluate", "Actors", "Evaluator", "History", "Ranked", "RankingMetric", "RankingCallback",
    )),
    "rectitude.torch.metrics": ("rectitude.torch.metrics", (
        "BaseMetric", "TopKMetric", "UserAverageTopKMetric", "RatingMetric", "MetricSet",
        "metric_registry", "ClassRegistry", "Block", "Blocks", "sharing",
    )),
    "rectitude.metrics": ("rectitude.metrics", (
        "Ratio", "Counts", "Metric", "count_metric", "derived_metric",
    )),
}  # fmt: skip
LEAD = (
    "Everything in `rectitude.__all__`, and in the three modules that you import yourself. "
    "`import rectitude as rt` loads what a name needs when it is used first. What the words mean: "
    "[glossary](glossary.md). Metrics: [their own page](metrics.md). Errors: "
    "[messages](messages.md)."
)


def index() -> list[str]:
    """Links to every entry, by group."""
    lines = []
    for group, (module, names) in GROUPS.items():
        of = importlib.import_module(module)
        links = [f"[`{name}`](#{_anchor(module, name, getattr(of, name))})" for name in names]
        lines += [f"**{group}.** {' · '.join(links)}", ""]
    return lines


def entries() -> Iterator[str]:
    """One entry per name."""
    for group, (module, names) in GROUPS.items():
        yield f"## {group}"
        for name in names:
            yield _entry(module, name, getattr(importlib.import_module(module), name))


def members(kind: type) -> dict[str, Any]:
    """The public methods and properties that rectitude defines, the nearest class first."""
    found: dict[str, Any] = {}
    fields = {field.name for field in dataclasses.fields(kind)} if _is_data(kind) else set()
    for base in kind.__mro__:
        if base.__module__.startswith("rectitude"):
            for name, value in vars(base).items():
                if not name.startswith("_") and name not in fields and _is_method(value):
                    found.setdefault(name, value)
    return found


def _entry(module: str, name: str, value: Any) -> str:
    lines = [f"### {_title(module, name, value)}", ""]
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        kind = type(value)
        return "\n".join([*lines, f"A `{kind.__name__}`. {_about(value)}", *_methods(kind)])
    if name == "Convention":
        lines += ["One keyword per [switch](conventions.md), such as `ties='optimistic'`.", ""]
    else:
        lines += ["```py", signature(name, value), "```", ""]
    lines.append(_about(value))
    return "\n".join([*lines, *(_methods(value) if inspect.isclass(value) else [])])


def _methods(kind: type) -> list[str]:
    lines = []
    for name, value in members(kind).items():
        if isinstance(value, property):
            lines += ["", f"**`{name}`** {_about(value)}"]
        else:
            inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            inner = getattr(inner, "func", inner)
            lines += ["", "```py", signature(f".{name}", inner), "```", "", _about(inner)]
    return lines


def signature(name: str, value: Any) -> str:
    """A signature on one line, or on one line per parameter."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parts, starred = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred |= parameter.kind is parameter.VAR_POSITIONAL
        parts.append(_parameter(parameter))
    result = _annotation(found.return_annotation)
    arrow = f" -> {result}" if result and not inspect.isclass(value) else ""
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) <= 92:
        return line
    return f"{name}(\n{''.join(f'    {part},{chr(10)}' for part in parts)}){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    words = _annotation(parameter.annotation)
    text = f"{stars}{parameter.name}{f': {words}' * bool(words)}"
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    default = "..." if " object at " in default or default == "<factory>" else default
    return f"{text} = {default}" if words else f"{text}={default}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _about(value: Any) -> str:
    """The docstring as Markdown: examples become code."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and not vars(value).get("__doc__"):
        text = ""
    return re.sub(r"(?m)((?:^(?:>>>|\.\.\.) .*\n?)(?:^\S.*\n?)*)", _as_code, text).strip()


def _as_code(found: re.Match[str]) -> str:
    return f"```pycon\n{textwrap.dedent(found[1]).rstrip()}\n```\n"


def _title(module: str, name: str, value: Any) -> str:
    """The heading: `class Split` beside `split`, since anchors do not tell cases apart."""
    own = name if module == "rectitude" else f"{module.removeprefix('rectitude.')}.{name}"
    return f"class {own}" if inspect.isclass(value) else own


def _anchor(module: str, name: str, value: Any) -> str:
    return re.sub(r"[^\w -]", "", _title(module, name, value).lower()).replace(" ", "-")


def _is_method(value: Any) -> bool:
    kinds = property | staticmethod | classmethod
    return isinstance(value, kinds) or inspect.isfunction(value) or hasattr(value, "func")


def _is_data(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)

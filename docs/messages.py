"""Every message that users can meet, found in the source: errors and ledger lines, as templates.

`docs/generate.py` makes docs/messages.md of it, a page that reviewers read for its language alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rectitude import errors

SOURCE = Path(errors.__file__).resolve().parent
ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.RectitudeError)
}
PARTS = ("found", "expected", "advice")
TEXTUAL = (ast.Constant, ast.JoinedStr, ast.IfExp)
Texts = dict[str, list[tuple[int, str]]]
"""The texts that a function assigns to a name, each with its line."""
Read = tuple[str, tuple[str, ...]] | None
Reader = Callable[[ast.Call, Texts], Read]


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the source: an error with its three parts, or a line of the ledger."""

    kind: str
    """the class of the error, or the ledger's name for the line"""
    where: str
    """module and function"""
    lines: tuple[str, ...]


def error_messages() -> list[Message]:
    """All errors, by class, then by module."""
    every = [message for path in _modules() for message in _messages(path, _read_error)]
    return sorted(every, key=lambda message: (message.kind, message.where))


def ledger_messages() -> list[Message]:
    """All lines of the ledger, by name, then by module."""
    every = [message for path in _modules() for message in _messages(path, _read_count)]
    return sorted(every, key=lambda message: (message.kind, message.where))


def _modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.name != "errors.py")


def _messages(path: Path, read: Reader) -> Iterator[Message]:
    module = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    for function, texts, call in _calls(ast.parse(path.read_text("utf-8")), "", {}):
        message = read(call, texts)
        if message is not None:
            kind, lines = message
            yield Message(kind, f"{module}.{function}".rstrip("."), lines)


def _calls(tree: ast.AST, function: str, texts: Texts) -> Iterator[tuple[str, Texts, ast.Call]]:
    """All calls, each with the name of the function around it and the texts assigned there."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield function, texts, node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{function}.{node.name}".lstrip(".")
            yield from _calls(node, name, texts | _assigned(node))
        else:
            yield from _calls(node, function, texts)


def _assigned(function: ast.AST) -> Texts:
    """The texts that a function assigns to names, so that messages show them."""
    assignments = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    texts: Texts = {}
    for node in assignments:
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(node.value, TEXTUAL):
            texts.setdefault(target.id, []).append((node.lineno, as_text(node.value, {})))
    return texts


def _read_error(call: ast.Call, texts: Texts) -> Read:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in ERRORS or not call.args:
        return None
    lines = dict(zip(PARTS, [as_text(part, texts) for part in call.args], strict=False))
    lines |= {word.arg: as_text(word.value, texts) for word in call.keywords if word.arg in PARTS}
    expected = lines.get("expected", "")
    parts = (lines["found"], expected and f"expected {expected}", lines.get("advice", ""))
    return name, tuple(part for part in parts if part)


def _read_count(call: ast.Call, texts: Texts) -> Read:
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr in ("count", "note")):
        return None
    position = 2 if function.attr == "count" else 1
    if ast.unparse(function.value) not in ("ledger", "batch.ledger") or len(call.args) <= position:
        return None
    return as_text(call.args[0], {}), (as_text(call.args[position], texts),)


def as_text(node: ast.expr, texts: Texts) -> str:
    """The text of an expression, with the values that it fills in between braces."""
    match node:
        case ast.Constant():
            text = str(node.value)
        case ast.JoinedStr():
            text = "".join(as_text(part, texts) for part in node.values)
        case ast.FormattedValue():
            text = f"{{{_short(node.value)}}}"
        case ast.BinOp(op=ast.Add()):
            text = as_text(node.left, texts) + as_text(node.right, texts)
        case ast.IfExp():
            text = f"[{as_text(node.body, texts)} | {as_text(node.orelse, texts)}]"
        case _:
            text = _last_assigned(node, texts) or f"{{{_short(node)}}}"
    return text


def _last_assigned(node: ast.expr, texts: Texts) -> str:
    """The text that a name was given last before it is used; empty for anything else."""
    name = node.id if isinstance(node, ast.Name) else ""
    before = [text for line, text in sorted(texts.get(name, [])) if line < node.lineno]
    return before[-1] if before else ""


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."

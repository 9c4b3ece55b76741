"""The table of contents: every page of the site by section, from the navigation in mkdocs.yml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
START, END = "<!-- contents -->\n", "<!-- /contents -->\n"


class _Loader(yaml.SafeLoader):
    """YAML whose Python objects are left alone: MkDocs makes them, this page does not."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def navigation() -> list[Any]:
    """The navigation, as it stands in mkdocs.yml."""
    text = (HERE.parent / "mkdocs.yml").read_text("utf-8")
    entries: list[Any] = yaml.load(text, _Loader)["nav"]  # noqa: S506  (a safe loader)
    return entries


def pages(entries: list[Any]) -> Iterator[tuple[str, str]]:
    """Title and path of every page; the path stands in for a title that is not given."""
    for entry in entries:
        title, content = next(iter(entry.items())) if isinstance(entry, dict) else (entry, entry)
        if isinstance(content, list):
            yield from pages(content)
        else:
            yield title, content


def home_page() -> str:
    """docs/README.md with its list of pages brought up to date."""
    text = (HERE / "README.md").read_text("utf-8")
    before, _, rest = text.partition(START)
    return f"{before}{START}{_contents()}{END}{rest.partition(END)[2]}"


def _contents() -> str:
    parts = []
    for section in navigation():
        ((name, entries),) = section.items()
        parts += [f"\n## {name}\n\n"]
        groups = [one for one in entries if _is_group(one)]
        parts += [_line("", [one for one in entries if not _is_group(one)])]
        parts += [_line(title, inside) for group in groups for title, inside in group.items()]
    return "".join(parts) + "\n"


def _is_group(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(next(iter(entry.values())), list)


def _line(title: str, entries: list[Any]) -> str:
    links = [f"[{name}]({_target(path)})" for name, path in pages(entries) if path != "README.md"]
    return f"{f'**{title}.** ' * bool(title)}{' · '.join(links)}\n\n" * bool(links)


def _target(path: str) -> str:
    return path if (HERE / path).exists() else f"../{path}"

"""A hook of MkDocs: files outside docs/ that pages link to are pages of the site, too.

Changes, contributing, security, the benchmarks and the examples lie where a checkout needs them.
On the site they are pages, source files as code. A link to any other file of the repository keeps
its text and loses its target, since the site has no such page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY.md", "benchmarks/README.md",
)  # fmt: skip
LONG = ("api.md", "messages.md", "metrics.md")
LISTS = ("messages.md", "references.md", *PAGES)
LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh", ".csv": "text", ".json": "json"}
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie outside docs/."""
    for name in [*PAGES, *_examples()]:
        page = File.generated(config, page_of(name), content=_content(name))
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links at the pages of the site; search finds explanations before lists."""
    here = page.file.src_uri
    if here in LISTS or here.startswith("examples/"):
        page.meta["search"] = {"boost": 0.2}
    base = posixpath.dirname(_in_repository(here))

    def relinked(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        name = posixpath.normpath(posixpath.join(base, target))
        if not (ROOT / name).exists():
            return found[0]
        there = page_of(name)
        if files.get_file_from_path(there) is None:
            return text
        return f"[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor})"

    parts = BLOCK.split(markdown)
    parts[::2] = [LINK.sub(relinked, part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """On pages with hundreds of blocks these are plain: the theme's buttons would take seconds."""
    if page.file.src_uri not in LONG:
        return html
    return re.sub(
        r"(<pre>)<span></span><code>(.*?)</code>", r"\1<samp>\2</samp>", html, flags=re.DOTALL
    )


def page_of(name: str) -> str:
    """Where a file of the repository is on the site."""
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if name == "README.md":
        return "start.md"
    if (ROOT / name).is_dir():
        return f"{name}/README.md"
    if name.startswith("examples/") and not name.endswith(".md"):
        return f"{name}.md"
    return name


def _in_repository(page: str) -> str:
    outside = page.startswith("examples/") or page in PAGES
    return page if outside else f"docs/{page}"


def _examples() -> list[str]:
    paths = sorted((ROOT / "examples").rglob("*"))
    shown = [path for path in paths if path.suffix in (".md", *LANGUAGES)]
    return [path.relative_to(ROOT).as_posix() for path in shown]


def _content(name: str) -> str:
    path = ROOT / name
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return text
    return f"# {name.removeprefix('examples/')}\n\n```{LANGUAGES[path.suffix]}\n{text}```\n"

"""Run the notebooks of the documentation, and keep their outputs and the pages made of them true.

    python docs/run_notebooks.py             runs them; writes the outputs and docs/notebooks/*.md
    python docs/run_notebooks.py --check     exits 1 if an output or a page differs

Edit the text and the code of a notebook in Jupyter or in the file, then run this. Every notebook
runs in an empty folder, in a kernel of its own. Its outputs are text, HTML and pictures; times,
counters of the kernel and ids that differ from run to run are not kept. The site shows the pages.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent / "notebooks"
MARK = "<!-- Made by docs/run_notebooks.py from {name}; edit the notebook, not this page. -->"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KINDS = ("text/html", "image/svg+xml", "text/plain")
"""what is kept of an output, the first that it has"""
SECONDS = 300


def files_of(path: Path) -> dict[Path, str]:
    """Run a notebook; return it and what is made of it, by the paths where they belong."""
    notebook = executed(nbformat.read(path, as_version=4))
    files = {path: nbformat.writes(notebook) + "\n"}
    pictures: dict[str, str] = {}
    parts = [MARK.format(name=path.name)]
    for cell in notebook.cells:
        parts += in_markdown(cell, path.stem, pictures)
    page = "\n\n".join(part.strip() for part in parts) + "\n"
    files[path.with_suffix(".md")] = re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", page)
    return files | {path.parent / name: content for name, content in pictures.items()}


def executed(notebook: Any) -> Any:
    """Run a notebook in an empty folder, and keep only what is the same in every run."""
    os.environ["RECTITUDE_PLUGINS"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", ()):
            if output.output_type == "error" or output.get("name") == "stderr":
                raise SystemExit(f"cell {number} says: {output}")
            output.pop("metadata", None)
            if "data" in output:
                kind = next(kind for kind in KINDS if kind in output.data)
                output.data = {"text/plain": output.data["text/plain"], kind: output.data[kind]}
                output["metadata"] = {}
    return notebook


def in_markdown(cell: Any, name: str, pictures: dict[str, str]) -> Iterator[str]:
    """Yield a cell and its outputs as Markdown; pictures are added to `pictures`."""
    if cell.cell_type != "code":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        if "text" in output:
            yield f"```text\n{output.text.rstrip()}\n```"
        else:
            yield shown(output.data, name, pictures)


def shown(data: Mapping[str, str], name: str, pictures: dict[str, str]) -> str:
    """Return an output: HTML as it is, a picture as a link, or text."""
    if "text/html" in data:
        return re.sub(
            r"\n\s*\n", "\n&#8203;\n", data["text/html"].strip()
        )  # a blank line ends HTML
    if "image/svg+xml" in data:
        file = f"{name}-{len(pictures) + 1}.svg"
        pictures[file] = data["image/svg+xml"].strip() + "\n"
        return f"![{data['text/plain'].partition(':')[0]}]({file})"
    return f"```text\n{data['text/plain'].rstrip()}\n```"


def main(arguments: list[str]) -> int:
    """Run all notebooks, or those named; write what was found, or compare with it."""
    named = [Path(word).resolve() for word in arguments if not word.startswith("-")]
    wrong = 0
    for path in named or sorted(HERE.glob("*.ipynb")):
        for file, content in files_of(path).items():
            if "--check" not in arguments:
                file.write_text(content, "utf-8")
            elif not file.exists() or file.read_text("utf-8") != content:
                wrong += 1
                sys.stderr.write(f"{file.name} is not what its notebook gives\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

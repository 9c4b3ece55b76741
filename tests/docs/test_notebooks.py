"""The notebooks run, print what they say, and the pages made of them are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_it_shows(path: Path) -> None:
    command = [sys.executable, str(DOCS / "run_notebooks.py"), "--check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\npython docs/run_notebooks.py writes the outputs"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_valid_and_shows_every_result(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert 4 <= len(code) <= 8
    assert all(cell.outputs for cell in code)


def test_a_notebook_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell("print(1)")]
    path = tmp_path / "one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    script = str(DOCS / "run_notebooks.py")
    assert subprocess.run([sys.executable, script, str(path)], check=False).returncode == 0
    page = path.with_suffix(".md").read_text("utf-8")
    assert re.search(r"```python\nprint\(1\)\n```\n\n```text\n1\n```\n$", page)
    path.write_text(path.read_text("utf-8").replace("1\\n", "2\\n"), "utf-8")
    checked = subprocess.run(
        [sys.executable, script, "--check", str(path)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 1
    assert "one.ipynb is not what its notebook gives" in checked.stderr

"""The picture in the README: what `rectitude evaluate` prints, drawn as a terminal.

    python docs/images/make_picture.py     writes evaluate.svg beside it

The picture has its own background, so it reads on light and on dark pages, and asks for no font or
file from elsewhere.
"""

from __future__ import annotations

import io
import shlex
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import blocks  # noqa: E402  (neighbours, not packages)
import sample  # noqa: E402

COMMAND = (
    "rectitude evaluate --truth test.csv --predictions popular.csv nearest.csv"
    ' --metrics "ndcg@{5,10}" recall@10 mrr'
)
WIDTH = 84
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
THEME = TerminalTheme(
    (24, 28, 36),
    (214, 220, 230),
    [(24, 28, 36), (240, 113, 120), (140, 210, 140), (240, 190, 100), (110, 170, 250),
     (200, 150, 240), (110, 210, 220), (150, 160, 175)],
)  # fmt: skip
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>rectitude evaluate</title>
<style>
.{unique_id}-matrix {{ font-family: %s; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def picture() -> str:
    """The SVG of the command and its output."""
    with tempfile.TemporaryDirectory() as folder:
        sample.write(Path(folder))
        printed = blocks.run(shlex.split(COMMAND), Path(folder))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    shown = COMMAND.replace(" --metrics", " \\\n    --metrics")
    console.print(Text.assemble(("$ ", "bold green"), (shown, "bold")), soft_wrap=False)
    for line in printed.splitlines():
        console.print(coloured(line))
    svg = console.export_svg(
        title="",
        theme=THEME,
        code_format=FRAME % FONT,
        unique_id="rectitude",
        font_aspect_ratio=0.61,
    )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def coloured(line: str) -> Text:
    """A line of output in the colour of what it says."""
    start = line.strip()[:2]
    style = {"! ": "yellow", "* ": "cyan", "| ": ""}.get(start, "white")
    if start == "| " and set(line) <= set("|-: "):
        style = "white"
    return Text(line, style=style)


if __name__ == "__main__":
    (HERE / "evaluate.svg").write_text(picture(), "utf-8")

"""The pages for those who come from another framework: what differs, from its profile.

Each page is written by hand, but for the tables between `<!-- differs: NAME -->` and
`<!-- /differs -->`: every switch that the profile NAME sets otherwise than our default, in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rectitude.convention import SWITCHES
from rectitude.profiles import PROFILES

HERE = Path(__file__).resolve().parent / "coming-from"
REGION = re.compile(r"(<!-- differs: ([\w.-]+) -->\n).*?(<!-- /differs -->)", re.DOTALL)


def pages() -> Mapping[str, Callable[[], str]]:
    """The pages, each with the function that brings its tables up to date."""
    return {f"coming-from/{path.name}": partial(_page, path) for path in sorted(HERE.glob("*.md"))}


def _page(path: Path) -> str:
    return REGION.sub(lambda found: found[1] + _table(found[2]) + found[3], path.read_text("utf-8"))


def _table(name: str) -> str:
    profile = PROFILES[name]
    changed = PROFILES["default"].convention.differences(profile.convention)
    if not changed:
        return f"\n`{name}` sets no switch for all metrics.\n\n"
    lines = ["", f"| switch | `{name}` | our default |", "|---|---|---|"]
    for switch, (ours, theirs) in changed.items():
        link = f"[`{switch}`](../conventions.md#{switch})"
        lines.append(f"| {link} | {_in_words(switch, theirs)} | {_in_words(switch, ours)} |")
    lines += ["", *_metrics(name), f"All of it: [{name}](../profiles.md#{_anchor(name)}).", "", ""]
    return "\n".join(lines)


def _metrics(name: str) -> list[str]:
    """What the profile sets for single metrics, where these are switches."""
    settings = []
    for metric, own in PROFILES[name].metrics.items():
        switches = [f"`{key}={value}`" for key, value in own.items() if key in SWITCHES]
        settings += [f"`{metric}` ({', '.join(switches)})"] * bool(switches)
    shown = ", ".join(settings[:8]) + " and others" * (len(settings) > 8)
    return [f"For single metrics it sets more: {shown}.", ""] if settings else []


def _in_words(switch: str, value: object) -> str:
    shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    known = {**(SWITCHES[switch].choices or {}), **SWITCHES[switch].words}
    means = known.get(value, "")
    return f"`{shown}`{f': {means}' * bool(means)}".replace("|", "\\|")


def _anchor(name: str) -> str:
    return re.sub(r"[^\w-]", "", name.lower())

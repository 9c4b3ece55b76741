"""`rectitude demo`: a whole experiment on a made-up shop, and what to look at in it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json

if TYPE_CHECKING:
    from rectitude.experiment.results import Run

NAME = "demo"
EXAMPLE = """\b
Example:
  rectitude demo --folder demo"""
EXPERIMENT = Path(__file__).with_name("demo.toml")
METRIC = "ndcg@10"


def run(
    seed: Annotated[int, typer.Option(min=0, help="Which shop is made up.")] = 7,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the files go; a temporary one if none."),
    ] = None,
    as_json: Json = False,
) -> int:
    """See it at work on made-up data."""
    from rectitude.cli.output import watched
    from rectitude.cli.run import LogForm
    from rectitude.experiment.run import run as run_experiment
    from rectitude.storage import make_folder, write_text

    where = make_folder(folder or tempfile.mkdtemp(prefix="rectitude-demo-"))
    text = EXPERIMENT.read_text("utf-8").replace("seed = 7", f"seed = {seed}")
    write_text(where / "demo.toml", text)
    with watched(LogForm.AUTO) as watcher:
        found = run_experiment(where / "demo.toml", watchers=[watcher])
    if as_json:
        typer.echo(json.dumps({"folder": str(found.folder), **found.results}, indent=1))
        return found.exit_code
    for title, words in _shown(found).items():
        typer.echo(typer.style(f"{title}\n", bold=True) + f"{words}\n")
    return found.exit_code


def _shown(found: Run) -> dict[str, str]:
    """What there is to see, by heading."""
    results = found.results
    return {
        "A shop that was made up, split at a moment in time": _parts(results),
        "Six models, the same users (* best)": str(found).partition("\n\n")[2].partition("\n\n")[0],
        "Could it be chance?": _differences(results["comparison"]),
        "What the audit says of the split": _audit(results),
        f"The same lists, another framework's {METRIC}": _explained(results["explanation"]),
        "The report": f"{found.folder / 'report.html'}   (open it in a browser)",
        "Try it": _commands(found.folder),
    }


def _parts(results: Mapping[str, Any]) -> str:
    parts = results["splits"][0]["parts"]
    lines = [
        f"{name:6}{size['rows']:>8,} rows  {size['users']:>6,} users  {size['items']:>6,} items"
        for name, size in parts.items()
    ]
    return "\n".join(lines)


def _differences(comparison: Mapping[str, Any]) -> str:
    """Each model against the baseline, in percentage points, with its interval."""
    own = [one for one in comparison["differences"] if one["metric"] == METRIC]
    lines = [
        f"{one['model']:18} {100 * one['difference']:+6.2f} points ({100 * one['low']:+.2f} to"
        f" {100 * one['high']:+.2f}), corrected p {one['corrected']:.2g}"
        for one in own
    ]
    return "\n".join([f"{METRIC} against {comparison['baseline']}:", *lines])


def _audit(results: Mapping[str, Any]) -> str:
    audit = results["splits"][0]["audit"]
    found = [one for one in audit["findings"] if one["severity"] != "fine"]
    lines = [f"- {one['count']:,} of {one['of']:,} {one['about']}" for one in found]
    fine = len(audit["findings"]) - len(found)
    return "\n".join([*lines, f"  {fine} other checks found nothing wrong"])


def _explained(explanation: Mapping[str, Any]) -> str:
    first, second = explanation["first"], explanation["second"]
    head = (
        f"{explanation['model']}: {first['value']:.4f} under {first['label']}, "
        f"{second['value']:.4f} under {second['label']}, because of"
    )
    lines = [f"  {part['share']:+.4f}  {part['label']}" for part in explanation["parts"]]
    return "\n".join([head, *lines])


def _commands(folder: Path) -> str:
    """What to try next, from the folder that holds the files."""
    lists = "run/predictions/item-knn.parquet"
    here = f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    lines = [
        *([] if shutil.which("rectitude") else [here]),
        f"cd {shlex.quote(str(folder.parent))}",
        "rectitude run demo.toml --dry-run",
        "rectitude report run --figures figures",
        f"rectitude metrics {METRIC} --convention daisyrec",
        "rectitude profiles diff default elliot",
        f"rectitude convert {lists} lists.csv",
    ]
    return "\n".join(lines)

"""`rectitude demo`: run an experiment on a synthetic shop, and show what to look at."""

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
from rectitude.cli.output import say

if TYPE_CHECKING:
    from rectitude.experiment.results import Run

NAME = "demo"
EXAMPLE = """\b
Example:
  rectitude demo --folder demo"""
EXPERIMENT = Path(__file__).with_name("demo.toml")
METRIC = "ndcg@10"


def run(
    seed: Annotated[int, typer.Option(min=0, help="The seed of the synthetic shop.")] = 7,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the files; temporary by default."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Run an example experiment on synthetic data."""
    from rectitude.experiment.run import run as run_experiment
    from rectitude.storage import made_folder, write_text

    text = EXPERIMENT.read_text("utf-8").replace("seed = 7", f"seed = {seed}")
    with made_folder(folder or tempfile.mkdtemp(prefix="rectitude-demo-")) as demo_folder:
        write_text(demo_folder / "demo.toml", text)
    result = run_experiment(demo_folder / "demo.toml")
    if as_json:
        say(json.dumps({"folder": str(result.folder), **result.results}, indent=1))
        return result.exit_code
    for title, words in _render_sections(result).items():
        typer.secho(f"{title}\n", bold=True)
        say(f"{words}\n")
    return result.exit_code


def _render_sections(result: Run) -> dict[str, str]:
    """Return the text of each section by its heading."""
    results = result.results
    table = str(result).partition("\n\n")[2].partition("\n\n")[0]
    return {
        "A synthetic shop, split at a point in time": _describe_split(results),
        "Six models on the same users (* best)": table,
        "Could the differences be chance?": _describe_differences(results["comparison"]),
        "What the audit says about the split": _describe_audit(results),
        f"The same lists, another framework's {METRIC}": _describe_gap(results["explanation"]),
        "The report": f"{result.folder / 'report.html'}   (open it in a browser)",
        "Try next": _suggest_commands(result.folder),
    }


def _describe_split(results: Mapping[str, Any]) -> str:
    parts = results["splits"][0]["parts"]
    lines = [
        f"{name:6}{size['rows']:>8,} rows  {size['users']:>6,} users  {size['items']:>6,} items"
        for name, size in parts.items()
    ]
    return "\n".join(lines)


def _describe_differences(comparison: Mapping[str, Any]) -> str:
    """Compare each model with the baseline, in percentage points with confidence intervals."""
    rows = [row for row in comparison["differences"] if row["metric"] == METRIC]
    lines = [
        f"{row['model']:18} {100 * row['difference']:+6.2f} points ({100 * row['low']:+.2f} to"
        f" {100 * row['high']:+.2f}), corrected p {row['corrected']:.2g}"
        for row in rows
    ]
    return "\n".join([f"{METRIC} compared with {comparison['baseline']}:", *lines])


def _describe_audit(results: Mapping[str, Any]) -> str:
    audit = results["splits"][0]["audit"]
    faults = [finding for finding in audit["findings"] if finding["severity"] != "fine"]
    lines = [f"- {fault['count']:,} of {fault['of']:,} {fault['about']}" for fault in faults]
    fine = len(audit["findings"]) - len(faults)
    return "\n".join([*lines, f"  {fine} other checks found nothing wrong"])


def _describe_gap(explanation: Mapping[str, Any]) -> str:
    first, second = explanation["first"], explanation["second"]
    head = (
        f"{explanation['model']}: {first['value']:.4f} under {first['label']}, "
        f"{second['value']:.4f} under {second['label']}. The difference comes from"
    )
    lines = [f"  {part['share']:+.4f}  {part['label']}" for part in explanation["parts"]]
    return "\n".join([head, *lines])


def _suggest_commands(folder: Path) -> str:
    """Return commands to try next with the lists and the truth of the run, starting in its
    folder."""
    import polars as pl

    lists, truth = "predictions/ease.parquet", "--truth truth.parquet"
    user = pl.read_parquet(folder / lists)["user"][0]
    path_line = f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    lines = [
        *([] if shutil.which("rectitude") else [path_line]),
        f"cd {shlex.quote(str(folder))}",
        f"rectitude evaluate {lists} {truth} --train train.parquet",
        f"rectitude evaluate {lists} {truth} --convention recbole,rectools,daisyrec",
        f"rectitude explain {lists} {truth} --metric {METRIC} --first elliot --second daisyrec",
        f"rectitude trace {lists} {truth} --metric {METRIC} --user {user}",
        "rectitude report . --figures figures",
    ]
    return "\n".join(lines)

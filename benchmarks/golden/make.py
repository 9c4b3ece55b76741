"""Make a golden tree: draw inputs, have frameworks evaluate them, write what they return.

    cd benchmarks && python -m golden.make FRAMEWORK --seed 1 --count 2 --output DIR
    cd benchmarks && python -m golden.make all --seed 1 --count 2 --output DIR

Several runs may write to the same folder; cases and inputs of the same name are replaced. Then
compare: `rectitude conformance DIR`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from golden.draw import draw, kinds
from golden.environments import ENVIRONMENTS, SOURCES
from golden.fixtures import Fixture

HERE = Path(__file__).resolve().parent

# Each adapter (after a hyphen, another release), the environment it runs in, and the families of
# inputs that it can use.
ADAPTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "rectools": ("rectools", ("lists",)),
    "replay": ("replay", ("lists",)),
    "recommenders": ("recommenders", ("lists", "ratings")),
    "lenskit": ("lenskit", ("lists", "ratings")),
    "lenskit-2026": ("lenskit-2026", ("lists", "ratings")),
    "implicit": ("implicit", ("scores",)),
    "cornac": ("cornac", ("scores", "ratings")),
    "torchmetrics": ("tensors", ("groups", "scores")),
    "sklearn": ("boosting", ("scores",)),
    "lightgbm": ("boosting", ("groups",)),
    "xgboost": ("boosting", ("groups",)),
    "catboost": ("boosting", ("groups",)),
    "spark": ("spark", ("lists",)),
    "sentence_transformers": ("tensors", ("runs",)),
    "beir": ("tensors", ("runs",)),
    "allrank": ("tensors", ("groups",)),
    "keras_rs": ("tensors", ("groups",)),
    "tf_ranking": ("tensorflow", ("groups",)),
    "surprise": ("surprise", ("ratings",)),
    "ir_measures": ("retrieval", ("runs",)),
    "ir_measures_users": ("users", ("runs", "subtopics")),
    "pytrec_eval": ("retrieval", ("runs",)),
    "ranx": ("ranx", ("runs",)),
    "recbole": ("recbole", ("scores",)),
    "recpack": ("recpack", ("lists", "scores")),
    "warprec": ("warprec", ("scores",)),
    "elliot": ("sources", ("lists",)),
    "daisyrec": ("sources", ("lists",)),
    "daisyrec_2_3": ("sources", ("lists",)),
    "streamsight": ("sources", ("scores",)),
    "recommenders_splits": ("recommenders", ("interactions",)),
    "implicit_splits": ("implicit", ("interactions",)),
    "streamsight_splits": ("sources", ("interactions",)),
    "cornac_splits": ("cornac", ("interactions",)),
    "recbole_splits": ("recbole", ("interactions",)),
    "lenskit_splits": ("lenskit", ("interactions",)),
    "lenskit_splits-2026": ("lenskit-2026", ("interactions",)),
    "replay_filters": ("replay", ("interactions",)),
}


Made = tuple[str, str, dict[str, Any], dict[str, Any]]
"""profile, file name and content of a case, and the tables that it adds to its input"""


def make(adapter: str, seed: int, count: int, output: Path) -> int:
    """Make the cases of one adapter; return how many."""
    environment, families = ADAPTERS[adapter]
    fixtures = [
        draw(family, kind, seed, number)
        for family in families
        for kind in kinds(family)
        for number in range(count)
    ]
    cases = _run_adapter(adapter, environment, fixtures)
    drawn = {fixture.name: fixture for fixture in fixtures}
    for name in dict.fromkeys(stored["input"] for _, _, stored, _ in cases):
        write_input(drawn[name], output / "inputs" / name)
    for profile, file, stored, tables in cases:
        fixture = drawn[stored["input"]]
        write_tables(fixture, tables, output / "inputs" / fixture.name)
        path = output / "cases" / profile / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    return len(cases)


def _run_adapter(adapter: str, environment: str, fixtures: Iterable[Fixture]) -> list[Made]:
    """Run the adapter in its environment, with the inputs and the cases in files."""
    peer = ENVIRONMENTS[environment]
    if not peer.installed:
        raise SystemExit(
            f"{adapter} needs: cd benchmarks && python -m golden.environments install {environment}"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "fixtures.json", Path(folder) / "cases.json"
        source.write_text(json.dumps([asdict(fixture) for fixture in fixtures]), "utf-8")
        module = adapter.partition("-")[0]
        command = [str(peer.python), "-m", "golden.worker", module, str(source), str(target)]
        subprocess.run(command, check=True, cwd=HERE.parent, env=_import_path(adapter))
        made: list[Made] = json.loads(target.read_text("utf-8"))
    return made


def _import_path(adapter: str) -> dict[str, str]:
    """Return the environment variables of a worker: its path begins with the checkout, if any."""
    if adapter not in SOURCES:
        return {**os.environ}
    return {**os.environ, "PYTHONPATH": SOURCES[adapter].path}


def write_input(fixture: Fixture, folder: Path) -> None:
    """Write the tables of an input as Parquet, and its scores as a NumPy file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tables(fixture, fixture.tables, folder)
    if fixture.scores is not None:
        np.save(folder / "scores.npy", np.array(fixture.scores, dtype=np.float64))


def write_tables(fixture: Fixture, tables: Mapping[str, Any], folder: Path) -> None:
    """Write tables of an input as Parquet."""
    for name, columns in tables.items():
        pl.DataFrame(columns, schema_overrides=_types(fixture, columns)).write_parquet(
            folder / f"{name}.parquet"
        )


def _types(fixture: Fixture, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column types, which cannot be guessed where a table has no rows."""
    ids = pl.String if fixture.family in ("runs", "subtopics") else pl.Int64
    fixed = {
        "user": ids, "item": ids, "subtopic": pl.String, "score": pl.Float64,
        "grade": pl.Int64, "position": pl.Int32,
        "rank": pl.Int32, "weight": pl.Float64, "has_list": pl.Boolean, "in_train": pl.Boolean,
        "cluster": pl.Int64, "topics": pl.List(pl.Int64),
    }  # fmt: skip
    return {name: fixed[name] for name in columns if name in fixed}


def write_profiles(output: Path) -> None:
    """Write `profiles.json`: the framework, version and cases of each profile in the tree."""
    profiles: dict[str, dict[str, Any]] = {}
    for path in sorted((output / "cases").glob("*/*.json")):
        stored = json.loads(path.read_text("utf-8"))
        described = {"framework": stored["framework"], "version": stored["version"], "cases": []}
        profiles.setdefault(stored["profile"], described)["cases"].append(path.stem)
    (output / "profiles.json").write_text(json.dumps(profiles, indent=1) + "\n", "utf-8")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="make golden cases with other frameworks")
    parser.add_argument("framework", choices=[*ADAPTERS, "all"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2, help="inputs of each kind (default: 2)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    failed = []
    for adapter in ADAPTERS if arguments.framework == "all" else [arguments.framework]:
        try:
            made = make(adapter, arguments.seed, arguments.count, arguments.output)
            print(f"{adapter}: {made} cases", flush=True)
        except (SystemExit, subprocess.CalledProcessError) as error:
            failed.append(adapter)
            print(f"{adapter}: {error}", file=sys.stderr, flush=True)
    write_profiles(arguments.output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

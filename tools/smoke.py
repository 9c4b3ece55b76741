"""Try an installed rectitude: the same numbers as anywhere, the command line, and its extras.

    python tools/smoke.py [EXTRA ...]

Run by the Python of an environment that has rectitude installed, from any folder; nothing else of a
checkout is needed. Extras that are named must work; torch, if it is not named and not installed,
must be asked for with the command that installs it. Prints the versions that it found, and exits 1
at the first thing that is wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import rectitude as rt

VERSIONS = (
    "rectitude", "numpy", "scipy", "polars", "narwhals", "pydantic", "numba", "pandas", "pyarrow",
    "torch", "pyspark", "ray",
)  # fmt: skip
EXPECTED = {
    "ndcg@5": "0x1.06a1241e3cc82p-2",
    "ndcg@10": "0x1.34c4208a0c631p-2",
    "recall@10": "0x1.9a6a2bc174693p-2",
    "mrr": "0x1.aaf84dff96761p-2",
}
"""values of the sample, to the last bit"""


def check(folder: Path, extras: list[str]) -> None:
    """Try everything that this environment should be able to do."""
    rt.sample(folder)
    check_values(folder)
    check_commands(folder)
    for extra in extras:
        if extra in EXTRAS:
            EXTRAS[extra](folder)
    if "torch" not in extras and find_spec("torch") is None:
        check_missing_torch()


def check_values(folder: Path) -> None:
    """Compare the values of the sample with those of every other environment, bit by bit."""
    expect(evaluate(folder), EXPECTED, "the values of the sample")


def evaluate(folder: Path) -> dict[str, str]:
    """Return values of the sample as hexadecimal numbers, which show every bit."""
    found = rt.evaluate(str(folder / "nearest.csv"), str(folder / "test.csv"), [*EXPECTED])
    return {name: value.hex() for name, value in found.values().items()}


def check_commands(folder: Path) -> None:
    """Run the command line as a user does: installed, in a folder of files."""
    expect(command(folder, "--version").split(), ["rectitude", rt.__version__], "--version")
    words = ["nearest.csv", "--truth", "test.csv", "--metrics", "ndcg@10"]
    saved = command(folder, "evaluate", *words, "--json")
    (folder / "saved.json").write_text(saved, "utf-8")
    value = json.loads(saved)["results"]["ndcg@10"]["value"]
    expect(float(value).hex(), EXPECTED["ndcg@10"], "rectitude evaluate")
    sides = ["--metric", "ndcg@10", "--first", "elliot", "--second", "daisyrec"]
    command(folder, "explain", *words[:3], *sides)
    command(folder, "report", "saved.json", "--output", "report.html")
    expect((folder / "report.html").read_text("utf-8")[:9].lower(), "<!doctype", "the report")
    facts = json.loads(command(folder, "doctor", "--json"))
    expect(facts["rectitude"], rt.__version__, "rectitude doctor")


def command(folder: Path, *words: str) -> str:
    """Return what a command prints; its error stops us."""
    done = subprocess.run(
        [sys.executable, "-m", "rectitude", *words],
        cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1"},
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"rectitude {' '.join(words)} exits {done.returncode}:\n{done.stderr}")
    return done.stdout


def check_missing_torch() -> None:
    """Ask for tensors where torch is missing: the answer names the command."""
    import rectitude.torch

    try:
        _ = rectitude.torch.Evaluator
    except ImportError as error:
        expect("pip install 'rectitude[torch]'" in str(error), True, "the error without torch")
    else:
        sys.exit("rectitude.torch.Evaluator can be had without torch")


def check_speed(folder: Path) -> None:
    """Evaluate with compiled kernels: the same bits."""
    os.environ["RECTITUDE_KERNELS"] = "numba"
    expect(evaluate(folder), EXPECTED, "the values of compiled kernels")
    del os.environ["RECTITUDE_KERNELS"]


def check_arrow(folder: Path) -> None:
    """Read and write frames of pandas and Arrow."""
    import pandas as pd
    import pyarrow as pa

    truth = pd.read_csv(folder / "test.csv")
    lists = pa.Table.from_pandas(pd.read_csv(folder / "nearest.csv"), preserve_index=False)
    found = rt.evaluate(lists, truth, "ndcg@10")
    expect(float(found["ndcg@10"]).hex(), EXPECTED["ndcg@10"], "frames of pandas and Arrow")
    expect(len(found.to_pandas()), 1, "to_pandas")


def check_torch(_: Path) -> None:
    """Evaluate tensors."""
    import torch

    from rectitude.torch import Evaluator

    evaluator = Evaluator(["mrr"])
    evaluator.update(torch.tensor([[0.1, 0.9, 0.5]]), torch.tensor([2]))
    expect(float(evaluator.compute()["mrr"]), 0.5, "tensors")


def check_baselines(_: Path) -> None:
    """Import the package behind `ials` and `bpr`."""
    from implicit.als import AlternatingLeastSquares

    expect(AlternatingLeastSquares.__name__, "AlternatingLeastSquares", "implicit")


EXTRAS: Mapping[str, Callable[[Path], None]] = {
    "speed": check_speed,
    "arrow": check_arrow,
    "torch": check_torch,
    "baselines": check_baselines,
}


def expect(found: object, expected: object, what: str) -> None:
    """Stop if something is not as it should be."""
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def find_versions() -> dict[str, str]:
    """Return the versions of what is installed and matters."""
    found = {}
    for name in VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        check(Path(made), sys.argv[1:])
    python = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(json.dumps({"python": python, **find_versions()}) + "\n")

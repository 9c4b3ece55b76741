"""SIGKILL at random moments: does every rerun end with the bits of an undisturbed run?

python benchmarks/kill.py                  20 kills, of an experiment with several models
python benchmarks/kill.py --kills 100      more of them
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPERIMENT = """\
[data]
shop = { rows = 20_000 }

[[prepare]]
step = "deduplicate"

[split]
how = "k_fold"
folds = 2
level = "user"
validation = { how = "random_ratio", ratio = 0.2, level = "user" }

[models.popularity]

[models.random]

[models.item-knn.tune]
trials = 4
space.neighbours = { low = 5, high = 100 }

[models.ease]

[evaluate]
metrics = ["ndcg@10", "recall@{5,10}", "mrr"]
"""
VOLATILE = ("log.jsonl", "environment.json", ".lock")


def contents(folder: Path) -> dict[str, str]:
    """Every file by its hash, but for those that hold times."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in VOLATILE
    }


def started(file: Path, folder: Path) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    source = str(Path(__file__).resolve().parents[1] / "src")
    command = [sys.executable, "-m", "rectitude", "run", str(file), "--folder", str(folder)]
    environment = {**os.environ, "PYTHONPATH": source}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)


def killed(file: Path, folder: Path, seconds: float) -> bool:
    """Kill a run after some time; False if it was done by then."""
    process = started(file, folder)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def main() -> int:
    """Kill, run again, compare; 1 if any bit differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, wrong, hits = random.Random(given.seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "experiment.toml"
        file.write_text(EXPERIMENT, encoding="utf-8")
        began = time.perf_counter()
        started(file, Path(place) / "whole").wait()
        lasted = time.perf_counter() - began
        whole = contents(Path(place) / "whole")
        print(f"undisturbed: {lasted:.1f} s, {len(whole)} files")
        number = 0
        while hits < given.kills:
            number += 1
            folder, moment = Path(place) / f"killed-{number}", chance.uniform(0, lasted)
            hit = killed(file, folder, moment)
            lasted = lasted if hit else moment  # a machine that has become faster
            began = time.perf_counter()
            code = started(file, folder).wait()
            same = code == 0 and contents(folder) == whole
            wrong, hits = wrong + (not same), hits + hit
            said = f"killed after {moment:.1f} s" if hit else f"was done before {moment:.1f} s"
            rest = time.perf_counter() - began
            print(f"{number:3} {said}; rerun {rest:.1f} s: {'same bits' if same else 'DIFFERENT'}")
    print(f"{hits} runs killed, {wrong} of {number} ended with other bits")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

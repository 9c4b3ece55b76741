"""Two trained models on the same rows: how far apart they are, and what convention adds to that.

python examples/smgcn/compare.py herb without with      folders: data, and two of train.py --save
"""

from __future__ import annotations

import argparse
from pathlib import Path

from prescriptions import read

import rectitude as rt

METRICS = ["recall@{5,20}", "precision@{5,20}", "ndcg@{5,20}"]
FILES = {"validation": "valid_id.txt", "test": "test.txt"}


def differences(first: rt.Evaluation, second: rt.Evaluation) -> None:
    """The mean difference over rows, and the range that holds it with 95% confidence."""
    before, after = first.per_list(), second.per_list()
    for name in first:
        change = (after[name] - before[name]).to_numpy()
        mean, error = change.mean(), 1.96 * change.std(ddof=1) / len(change) ** 0.5
        print(f"  {name:12} {mean:+.4f}  ({mean - error:+.4f} to {mean + error:+.4f})")


def main() -> None:
    """Compare on validation and test rows; explain on validation rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("data", "first", "second"):
        parser.add_argument(name, type=Path)
    words = parser.parse_args()
    for part, file in FILES.items():
        truth = read(words.data / file).truth()
        models = [rt.Scores(folder / f"{part}.npy") for folder in (words.first, words.second)]
        first, second = (rt.evaluate(model, truth, METRICS) for model in models)
        print(f"\n{part}: {words.second} less {words.first}")
        differences(first, second)
        if part == "validation":
            ends = ("default", "smgcn")
            print(rt.explain(models[0], truth, "ndcg@20", *ends, other_predictions=models[1]))


if __name__ == "__main__":
    main()

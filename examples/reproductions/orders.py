"""How often does the order of four models change with the definition of a metric?

    RECTITUDE_DATA=... python examples/reproductions/orders.py [DATASET ...]

Prints one row per data set and metric: under how many profiles, and under how many changes of one
switch, the four models stand in another order than under the default, and under how many another
model is the best.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from studies import FILES, MODELS, data_set, inputs, study

import rectitude as rt

METRICS = ("ndcg@10", "recall@10", "precision@10")
HEAD = """\
| data set | metric | profiles: another order | another winner | switches: another order | \
another winner |
|---|---|---:|---:|---:|---:|"""


def row(name: str, found: rt.Robustness) -> str:
    """Return what one metric shows on one data set."""
    cells = [name, f"`{found.metric}`"]
    for kind in ("profile", "switch"):
        tried = [standing for standing in found.standings if standing.kind == kind]
        order = [standing for standing in tried if standing.changed]
        winner = [one for one in order if one.order[0] != found.base.order[0]]
        cells += [f"{len(order)} of {len(tried)}", str(len(winner))]
    return f"| {' | '.join(cells)} |"


def main(names: list[str]) -> None:
    """Study data sets, and print the table and the conventions behind it."""
    print(HEAD)
    notes = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            lists, truth, train = inputs(study(data_set(name), name, Path(folder), MODELS))
            for metric in METRICS:
                found = rt.robustness(lists, str(truth), metric, train=train)
                print(row(name, found), flush=True)
                changed = "; ".join(f"{one.label}: {one.ranking}" for one in found.changes)
                notes.append(f"{name}, {metric}: {found.base.ranking}\n  {changed or 'no change'}")
    print("", *notes, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(FILES))

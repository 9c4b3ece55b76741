"""One model under every profile, and why two of the numbers differ.

    RECTITUDE_DATA=... python examples/reproductions/conventions.py [FIRST SECOND]

EASE on MovieLens 100k. Prints its metrics by cutoff as DaisyRec and the default compute them, what
explains the difference, and NDCG@10 under all profiles. Two names of profiles explain that gap.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from studies import data_set, inputs, study

import rectitude as rt

MODELS = {"ease": {}}
CUTOFFS = (1, 5, 10, 20, 30, 50)


def by_cutoff(sides: dict[str, object]) -> Iterator[str]:
    """Yield NDCG and MRR at several cutoffs, as DaisyRec and the default compute them."""
    conventions = ["daisyrec", "daisyrec-2.3", "default"]
    yield f"| | {' | '.join(f'@{k}' for k in CUTOFFS)} |"
    yield f"|---|{'---:|' * len(CUTOFFS)}"
    metrics = [f"{name}@{{{','.join(map(str, CUTOFFS))}}}" for name in ("mrr", "ndcg")]
    found = rt.evaluate(metrics=metrics, convention=conventions, **sides)
    for name in ("mrr", "ndcg"):
        for convention in conventions:
            values = [f"{found[convention][f'{name}@{k}']:.4f}" for k in CUTOFFS]
            yield f"| {name.upper()}, `{convention}` | {' | '.join(values)} |"


def by_profile(sides: dict[str, object]) -> Iterator[str]:
    """Yield NDCG@10 under every profile that defines it, the profiles of one value together."""
    found: dict[float, list[str]] = {}
    for profile in rt.PROFILES:
        try:
            value = rt.evaluate(metrics="ndcg@10", convention=profile, **sides)["ndcg@10"]
        except rt.RectitudeError as error:
            print(f"{profile}: {error}".splitlines()[0], file=sys.stderr)
        else:
            found.setdefault(round(float(value), 4), []).append(f"`{profile}`")
    yield "| NDCG@10 | profiles |\n|---:|---|"
    yield from (f"| {value:.4f} | {', '.join(names)} |" for value, names in sorted(found.items()))


def main(pair: list[str]) -> None:
    """Fit the model, and print what its numbers are under each definition."""
    with tempfile.TemporaryDirectory() as folder:
        run = study(data_set("ml-100k"), "ml-100k", Path(folder), MODELS)
        lists, truth, train = inputs(run)
        sides = {"predictions": str(lists["ease"]), "truth": str(truth), "train": train}
        if pair:
            print(rt.explain(metric="ndcg@10", first=pair[0], second=pair[1], **sides))
            return
        print(*by_cutoff(sides), "", *by_profile(sides), sep="\n")
        for metric in ("mrr@50", "ndcg@50"):
            found = rt.explain(metric=metric, first="default", second="daisyrec", **sides)
            print("", str(found).partition("\n\n")[0], sep="\n")
            print(*(f"{part.label}: {part.share:+.4f}" for part in found.parts), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])

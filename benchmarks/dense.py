"""Evaluating a whole score matrix: us against the peers, and the limits we hold ourselves to.

    python benchmarks/dense.py [--sizes 27000 ...] [--rounds 5] [--only NAME ...] [--json FILE]

Prints Markdown tables and one line per limit; exits 1 if a limit is missed. See README.md.
"""

from __future__ import annotations

import functools
import sys

from array_rounds import (
    EXACT,
    SINGLE,
    Contest,
    agreement_limits,
    contest,
    judge,
    memory_limit,
    parser,
    reading_limits,
    show,
)
from arrays import DENSE, RELEVANT, TRAIN
from dense_contestants import CONTESTANTS, ENVIRONMENTS
from harness import Cell
from limits import Limit, ratio_limit
from startup import first_call, small_input

# RecBole rounds to ten places, WarpRec computes in single precision.
TOLERANCES = {
    "torch_metrics": EXACT,
    "torch_lists": EXACT,
    "recbole": SINGLE,
    "warprec": SINGLE,
}
# The frameworks' evaluators make the truth dense, which more items make ever slower.
ONLY_AT = {"recbole": ("3706", "27000"), "warprec": ("3706", "27000")}

# At least how many times faster than a peer, by size; without a bound it is only reported.
FASTER: dict[tuple[str, str], dict[str, float]] = {
    ("torch_metrics", "rectitude"): {"3706": 10, "27000": 10, "100000": 20, "1000000": 20},
    ("recbole", "rectitude"): {"27000": 30},
    ("warprec", "rectitude"): {"27000": 50},
    ("torch_lists", "rectitude_lists"): {"27000": 3.5, "100000": 3.5, "1000000": 3.5},
}
READING = {
    "27000": {"full": 2.5, "shared": 2.5},
    "100000": {"full": 1.5, "shared": 1.5},
    "1000000": {"full": 1.5, "shared": 1.5},
}
MEGABYTES = 100.0
STARTUP_SIZE, SMALL_SIZE, SMALL_ROWS = "27000", "3706", 500


def main() -> int:
    """Command line."""
    arguments = parser("time the evaluation of score matrices", DENSE, CONTESTANTS).parse_args()
    found = contest("dense", DENSE, ENVIRONMENTS, arguments, ONLY_AT)
    about = f"Scores in memory (float32), {RELEVANT} relevant and {TRAIN} training items a user; "
    show(found, about + "28 values, or top-100 lists.", arguments, TOLERANCES)
    limits = from_rounds(found) + agreement_limits(found, TOLERANCES)
    own = [name for name in arguments.only if name not in ENVIRONMENTS]
    for name in [] if arguments.without == "first-calls" else own:
        limits += first_call("dense", name, STARTUP_SIZE)
        limits.append(small_input("dense", name, SMALL_SIZE, SMALL_ROWS))
    return judge(found, limits, arguments)


def from_rounds(found: Contest) -> list[Limit]:
    """The limits on speed and memory, size by size."""
    ratio = functools.partial(ratio_limit, found.series, found.failed)
    limits = []
    for size in found.sizes:
        ours = Cell("rectitude", size)
        for (slow, fast), bounds in FASTER.items():
            if size in ONLY_AT.get(slow, found.sizes):
                above, below = Cell(slow, size), Cell(fast, size)
                name = f"speed-up over {slow}, {size}"
                limits.append(ratio(name, above, below, bounds.get(size), faster=True))
        limits += reading_limits(found, ours, READING.get(size, {}))
        limits.append(memory_limit(found, ours, MEGABYTES))
    return limits


if __name__ == "__main__":
    sys.exit(main())

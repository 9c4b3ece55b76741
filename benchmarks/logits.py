"""Evaluating logits with one target a row: us against the peers, and our limits.

    python benchmarks/logits.py [--sizes 10000 ...] [--rounds 5] [--only NAME ...] [--json FILE]

Prints Markdown tables and one line per limit; exits 1 if a limit is missed. See README.md.
"""

from __future__ import annotations

import functools
import sys

from array_rounds import (
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
from arrays import LOGITS
from harness import Cell
from limits import Limit, ratio_limit
from logits_contestants import CONTESTANTS, ENVIRONMENTS, METRICS
from startup import first_call, small_input

# The guide's means, torch's cross-entropy and NumPy's exponentials are of single precision.
TOLERANCES = {"torch_count": SINGLE, "document": SINGLE, "numpy_count": SINGLE}

# At least how many times faster, at the size the limits are stated for; else only reported.
STATED = "10000"
FASTER = {"torch_count": 15, "document": 300, "numpy_count": None}
# Where memory is fast, the exponentials of the cross-entropy take longer than reading.
READING = {"full": 3.5, "shared": 2.0}
MEGABYTES = 100.0
SMALL_SIZE, SMALL_ROWS = "1000", 1_000


def main() -> int:
    """Command line."""
    arguments = parser("time the evaluation of logits", LOGITS, CONTESTANTS).parse_args()
    found = contest("logits", LOGITS, ENVIRONMENTS, arguments, {})
    about = f"Logits in memory (float32), one target a row; {', '.join(METRICS)}."
    show(found, about, arguments, TOLERANCES)
    limits = from_rounds(found) + agreement_limits(found, TOLERANCES)
    own = [name for name in arguments.only if name not in ENVIRONMENTS]
    for name in [] if arguments.without == "first-calls" else own:
        limits += first_call("logits", name, STATED)
        limits.append(small_input("logits", name, SMALL_SIZE, SMALL_ROWS))
    return judge(found, limits, arguments)


def from_rounds(found: Contest) -> list[Limit]:
    """The limits on speed and memory, size by size."""
    ratio = functools.partial(ratio_limit, found.series, found.failed)
    limits = []
    for size in found.sizes:
        ours = Cell("rectitude", size)
        for slow, bound in FASTER.items():
            name, held = f"speed-up over {slow}, {size}", bound if size == STATED else None
            limits.append(ratio(name, Cell(slow, size), ours, held, faster=True))
        limits += reading_limits(found, ours, READING if size == STATED else {})
        limits.append(memory_limit(found, ours, MEGABYTES))
    return limits


if __name__ == "__main__":
    sys.exit(main())

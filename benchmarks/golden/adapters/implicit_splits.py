"""implicit: `train_test_split` and `leave_k_out_split`.

Rows are found again by their pairs, which are distinct: where users with few rows lie between the
others, `leave_k_out_split` adds up values of test entries. Its draws come from NumPy's global
generator and cannot be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from implicit.evaluation import leave_k_out_split, train_test_split
from scipy.sparse import coo_matrix

from golden.fixtures import Case, Fixture

FRAMEWORK = "implicit"


def version() -> str:
    """The release that is installed."""
    return installed("implicit")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split with both functions, at several shares, seeds and numbers of rows."""
    rows = [*fixture.rows("interactions", "row", "user", "item")]
    _, users, items = (np.array(column) for column in zip(*rows, strict=True))
    ratings = coo_matrix((np.ones(len(rows)), (users, items)))
    number_of = {(user, item): row for row, user, item in rows}

    def read(matrix: Any) -> list[int]:
        pairs = zip(*(ids.tolist() for ids in matrix.nonzero()), strict=True)
        return sorted(number_of[pair] for pair in pairs)

    for share, seed in ((0.8, 0), (0.8, 7), (0.55, 42)):
        train, test = train_test_split(ratings, share, seed)
        options = {"train_percentage": share, "random_state": seed}
        case = _start(fixture, "train_test_split", options)
        case.data |= {"check": "rows", "expected_train_rows": read(train)}
        case.data |= {"expected_test_rows": read(test)}
        yield case
    for k in (1, 2, 4):
        train, test = leave_k_out_split(ratings, k, random_state=1)
        case = _start(fixture, "leave_k_out_split", {"K": k, "random_state": 1})
        held = sorted({int(users[row]) for row in read(test)})
        parts = ["train", "test"]
        case.data |= {
            "check": "properties",
            "properties": {
                "sizes": {"train": len(read(train)), "test": len(read(test))},
                "users": {"test": len(held)},
                "rows_per_user": {"test": {"n": k}},
                "disjoint": parts,
                "complete": parts,
            },
        }
        yield case


def _start(fixture: Fixture, method: str, options: dict[str, Any]) -> Case:
    words = "-".join(f"{key}_{value}" for key, value in options.items())
    case = Case("implicit", fixture, "data", variant=f"{method}-{words}")
    case.data["operation"] = {"name": "split", "method": method, **options}
    return case

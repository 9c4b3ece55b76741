"""Prescriptions: sets of symptoms and the herbs given for them, one a line of a file.

17 4<TAB>15 100 80 38       symptoms 17 and 4; herbs 15, 100, 80, 38 in their order
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Prescriptions:
    """Rows of symptom ids and herb ids."""

    symptoms: list[list[int]]
    herbs: list[list[int]]

    def __len__(self) -> int:
        return len(self.symptoms)

    def truth(self) -> dict[str, list[int]]:
        """The herbs as a table: a row is a list, and herbs keep the order that RMRR looks at."""
        rows = [row for row, herbs in enumerate(self.herbs) for _ in herbs]
        return {"user": rows, "item": [herb for herbs in self.herbs for herb in herbs]}


def read(path: Path) -> Prescriptions:
    """The prescriptions of a file."""
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()]
    symptoms, herbs = ([[*map(int, line[side].split())] for line in lines] for side in (0, 1))
    return Prescriptions(symptoms, herbs)


def multi_hot(sets: list[list[int]], size: int) -> csr_array:
    """(rows, size) 1 where an id is in the set of a row."""
    starts = np.cumsum([0, *map(len, sets)])
    ids = np.array([one for ids in sets for one in ids], np.int64)
    return csr_array((np.ones(len(ids), np.float32), ids, starts), shape=(len(sets), size))


def met_together(sets: csr_array, times: int) -> csr_array:
    """(ids, ids) 1 where two ids are in one set at least so many times."""
    counts = (sets.T @ sets).tocoo()
    kept = (counts.data >= times) & (counts.row != counts.col)
    pairs = counts.row[kept], counts.col[kept]
    return csr_array((np.ones(kept.sum(), np.float32), pairs), shape=counts.shape)


def generate(folder: Path, seed: int = 0, rows: int = 900) -> None:
    """Write train.txt, train_id.txt, valid_id.txt and test.txt: small, made, in the same format.

    A row has one of 8 syndromes, which decides most of its symptoms (of 40) and herbs (of 60).
    As in the published files, the validation rows are inside train.txt.
    """
    lines = list(dict.fromkeys(_lines(np.random.default_rng(seed), rows)))
    learnt, shown = int(0.8 * len(lines)), int(0.85 * len(lines))
    parts = {
        "train_id": lines[:learnt],
        "valid_id": lines[learnt:shown],
        "train": [*lines[learnt:shown], *lines[:learnt]],
        "test": lines[shown:],
    }
    for name, part in parts.items():
        (folder / f"{name}.txt").write_text("\n".join(part) + "\n", "utf-8")


def _lines(chance: np.random.Generator, rows: int) -> Iterator[str]:
    symptom_odds = chance.dirichlet(np.full(40, 0.15), size=8)
    herb_odds = chance.dirichlet(np.full(60, 0.2), size=8) * 0.9 + 0.1 / 60
    for _ in range(rows):
        syndrome = int(chance.integers(8))
        symptoms = dict.fromkeys(chance.choice(40, chance.integers(1, 5), p=symptom_odds[syndrome]))
        herbs = chance.choice(60, chance.integers(3, 9), replace=False, p=herb_odds[syndrome])
        yield "\t".join(" ".join(map(str, ids)) for ids in (symptoms, herbs))

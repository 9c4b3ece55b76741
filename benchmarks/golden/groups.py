"""Rows of `groups-*` inputs in the flat form that learning-to-rank libraries take."""

from __future__ import annotations

from dataclasses import dataclass

from golden.fixtures import Fixture


@dataclass(frozen=True)
class Groups:
    """Scores, labels and queries of all rows, in the order of the input."""

    scores: list[float]
    labels: list[int]
    queries: list[int]
    weights: dict[int, float]
    """the weight of each query; empty if they have none"""

    @property
    def sizes(self) -> list[int]:
        """How many rows each query has, in order."""
        return [self.queries.count(query) for query in dict.fromkeys(self.queries)]

    @property
    def row_weights(self) -> list[float] | None:
        """The weight of each row's query; None if they have none."""
        return [self.weights[query] for query in self.queries] if self.weights else None

    @property
    def is_binary(self) -> bool:
        """Whether all labels are 0 or 1."""
        return max(self.labels) <= 1

    def only(self, query: int) -> Groups:
        """Return the rows of one query, without its weight."""
        rows = [row for row, other in enumerate(self.queries) if other == query]
        return Groups(
            [self.scores[row] for row in rows],
            [self.labels[row] for row in rows],
            [query] * len(rows),
            {},
        )

    def slates(
        self, width: int, filler: float, lowest: float = 0.0
    ) -> tuple[list[list[float]], list[list[float]]]:
        """Return scores and labels as rectangles, filled up where a query has fewer rows,
        with the lowest score and the filler as label."""
        scores, labels = [], []
        for query in dict.fromkeys(self.queries):
            one = self.only(query)
            missing = width - len(one.scores)
            scores.append([*one.scores, *[lowest] * missing])
            labels.append([*map(float, one.labels), *[filler] * missing])
        return scores, labels


def groups_of(fixture: Fixture) -> Groups:
    """Return the rows of an input."""
    judged = fixture.rows("truth", "user", "item", "grade")
    grades = {(user, item): grade for user, item, grade in judged}
    lists = fixture.tables["recommendations"]
    weights = dict(fixture.rows("weights", "user", "weight")) if "weights" in fixture.tables else {}
    return Groups(
        lists["score"],
        [grades[row] for row in fixture.rows("recommendations", "user", "item")],
        lists["user"],
        weights,
    )

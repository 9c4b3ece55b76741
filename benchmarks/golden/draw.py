"""Small random inputs of the kinds on which frameworks part, drawn from a seed.

A *family* is the shape of an input, a *kind* is what it stresses. The same family, kind, seed and
number always give the same input. Inputs are small, so that a difference can be followed by hand.

| family | shape |
|---|---|
| lists | ranked lists with scores, training data and catalogue; see also `reference` |
| scores | dense scores of users and items, with training data to mask |
| groups | candidates of different number for each query, every one of them scored and judged |
| runs | as TREC files: text ids, documents that are not judged, queries missing on one side |
| subtopics | as runs, with a judgement for each subtopic of a query |
| ratings | predicted ratings beside the true ones |
| interactions | rows with users, items, ratings and times, to be split |

In lists of the kind `reference`, the truth is the list of another model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from golden.fixtures import Column, Fixture

Tables = dict[str, dict[str, Column]]

LISTS = (
    "plain", "ties", "short", "empty", "repeated-truth", "repeated-items", "repeats",
    "grades", "gaps", "repeated-ranks", "reference", "unseen", "unseen-repeats",
)  # fmt: skip
SCORES = ("mask", "mask-ties", "mask-grades", "reseen", "empty", "candidates")
GROUPS = (
    "plain", "ties", "grades", "empty", "negative-scores", "zero-scores", "weights",
    "binary-weights",
)  # fmt: skip
RUNS = ("plain", "ties", "grades", "empty", "own")
INTERACTIONS = ("plain", "ties")
SUBTOPICS = ("plain", "ties", "grades", "empty", "one")
RATINGS = ("plain", "grades", "outside")


def draw(family: str, kind: str, seed: int, number: int) -> Fixture:
    """Draw one input."""
    name = f"{family}-{kind}-s{seed}-{number}"
    random = Random(name)
    fixture = _FAMILIES[family](name, kind, random)
    while not _can_be_evaluated(fixture):
        fixture = _FAMILIES[family](name, kind, random)
    if family in _LOWEST_CLUSTER:
        _add_attributes(fixture, Random(f"{name}-attributes"))
    return fixture


def kinds(family: str) -> tuple[str, ...]:
    """Return the kinds of a family."""
    return {
        "lists": LISTS, "scores": SCORES, "groups": GROUPS, "runs": RUNS, "subtopics": SUBTOPICS,
        "ratings": RATINGS, "interactions": INTERACTIONS,
    }[family]  # fmt: skip


def _can_be_evaluated(fixture: Fixture) -> bool:
    """Return whether a user of the truth has a list, be it empty.

    Without any, rectitude refuses to evaluate under every profile: most likely, ids do not match.
    """
    if "recommendations" not in fixture.tables:
        return True
    handed = {user for (user,) in fixture.rows("recommendations", "user")}
    if "users" in fixture.tables:
        handed |= {user for user, has in fixture.rows("users", "user", "has_list") if has}
    return any(user in handed for (user,) in fixture.rows("truth", "user"))


_LOWEST_CLUSTER = {"lists": 0, "scores": 1}
"""The families with clusters and topics, and the number of the first cluster: frameworks that take
lists count from 0, and WarpRec, which takes scores, from 1."""


def _add_attributes(fixture: Fixture, random: Random) -> None:
    """Add clusters to items and users, and topics, of which an item may have several or none.

    In lists, some items and users have no cluster. They are drawn apart from the rest, so that
    this rest does not change.
    """
    lowest = _LOWEST_CLUSTER[fixture.family]
    items = fixture.tables["items"]
    users = fixture.tables.get("users") or {"user": fixture.tables["rows"]["user"]}
    missing: Column = [None] if lowest == 0 else []
    for table, id_, clusters in ((items, "item", 3), (users, "user", 2)):
        every = [*range(lowest, lowest + clusters)]
        drawn = random.choices([*every * 4, *missing], k=len(table[id_]) - clusters)
        table["cluster"] = [*every, *drawn]  # type: ignore[index]
    items["topics"] = [random.sample(range(5), random.randint(0, 3)) for _ in items["item"]]  # type: ignore[index]
    fixture.tables["users"] = users  # type: ignore[index]


def _columns(rows: list[tuple[Any, ...]], *names: str) -> dict[str, Column]:
    """Turn rows into columns; without rows, all columns are empty."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _distinct_scores(random: Random, count: int) -> list[float]:
    """Falling scores on both sides of 0, none of them equal, exact in float32."""
    return sorted((n / 8 for n in random.sample(range(-80, 400), count)), reverse=True)


def _grade(kind: str, random: Random) -> int:
    return random.choice([-2, -1, 0, 0, 1, 2, 3, 5]) if "grades" in kind else random.randint(1, 5)


def _repeat(rows: list[tuple[Any, ...]], random: Random) -> list[tuple[Any, ...]]:
    """Return the rows with about a third of them two or three times, at random places."""
    repeated = [*rows]
    for row in rows:
        if random.random() < 1 / 3:
            for _ in range(random.randint(1, 2)):
                repeated.insert(random.randint(0, len(repeated)), row)
    return repeated


def _draw_lists(name: str, kind: str, random: Random) -> Fixture:
    users, items = random.randint(5, 9), random.randint(14, 22)
    known = sorted(random.sample(range(items), items - 3))
    train = [
        (user, item, random.randint(1, 5))
        for user in range(users - 1)  # the last user is unknown
        for item in sorted(random.sample(known, random.randint(2, 5)))
    ]
    truth, lists, people = [], [], []
    for user in range(users + 1):
        rows, has_list = _draw_list(user, items, kind, random)
        if kind.startswith("unseen"):  # some metrics refuse lists with items of the training data
            seen = {(user, item) for user, item, _ in train}
            rows = [row for row in rows if row[:2] not in seen and row[1] in known]
            rows = [(*row[:3], place) for place, row in enumerate(rows)]
            has_list = bool(rows)
        lists += rows
        people.append((user, has_list, user < users - 1))
        if user < users:  # the user after the last has a list but no truth
            truth += _draw_truth(user, items, kind, random)
    columns = ["user", "item", "score", "position"]
    if kind in ("gaps", "repeated-ranks"):
        columns.append("rank")
    tables: Tables = {
        "recommendations": _columns(lists, *columns),
        "truth": _columns(truth, "user", "item", "grade"),
        "train": _columns(train, "user", "item", "grade"),
        "items": _catalogue(items, known, random),
        "users": _columns(people, "user", "has_list", "in_train"),
    }
    return Fixture(name, tables)


def _draw_list(
    user: int, items: int, kind: str, random: Random
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the rows of a list, and whether one is handed over; it may be empty."""
    if kind == "empty" and random.random() < 0.5:
        return [], random.random() < 0.5
    if user > 0 and random.random() < 0.1:
        return [], False
    length = random.randint(1, 4) if kind == "short" else random.randint(4, 9)
    chosen = random.sample(range(items), length)
    if kind in ("repeated-items", "repeats", "unseen-repeats"):
        chosen = [item for (item,) in _repeat([(item,) for item in chosen], random)]
    scores = _distinct_scores(random, len(chosen))
    if kind == "ties":
        scores = sorted((float(random.randint(0, 3)) for _ in chosen), reverse=True)
    ranks = _draw_ranks(len(chosen), kind, random)
    rows = list(zip(chosen, scores, range(len(chosen)), *ranks, strict=True))
    return [(user, *row) for row in rows], True


def _draw_ranks(length: int, kind: str, random: Random) -> list[list[int]]:
    """Return a rank column that never falls, from 1, or no column."""
    if kind == "gaps":
        return [sorted(random.sample(range(1, length + 5), length))]
    if kind == "repeated-ranks":
        return [sorted(random.choices(range(1, length + 1), k=length))]
    return []


def _draw_truth(user: int, items: int, kind: str, random: Random) -> list[tuple[Any, ...]]:
    if kind == "empty" and random.random() < 0.4:
        return []
    chosen = random.sample(range(items), random.randint(1, 6))
    rows = [(user, item, _grade(kind, random)) for item in chosen]
    return _repeat(rows, random) if kind in ("repeated-truth", "repeats") else rows


def _catalogue(items: int, known: list[int], random: Random) -> dict[str, Column]:
    columns: dict[str, Column] = {
        "item": list(range(items)),
        "in_train": [item in known for item in range(items)],
        "category": [random.randint(0, 3) for _ in range(items)],
    }
    columns["feature0"] = [1] * items  # no vector is all zeros
    for place in range(1, 4):
        columns[f"feature{place}"] = [random.randint(0, 1) for _ in range(items)]
    return columns


def _draw_scores(name: str, kind: str, random: Random) -> Fixture:
    users, items = random.randint(5, 8), random.randint(12, 18)
    scores, truth, train, candidates = [], [], [], []
    for user in range(users):
        row = _distinct_scores(random, items)
        random.shuffle(row)
        if kind == "mask-ties":
            row = [float(random.randint(0, 4)) for _ in row]
        scores.append(row)
        seen = sorted(random.sample(range(items), random.randint(1, 5)))
        # Every item occurs in the training data, whatever was drawn.
        seen = sorted({*seen, *(item for item in range(items) if item % users == user)})
        train += [(user, item, random.randint(1, 5)) for item in seen]
        fresh = [item for item in range(items) if item not in seen]
        held = random.sample(fresh, random.randint(1, min(5, len(fresh))))
        if kind == "reseen":
            held += random.sample(seen, random.randint(0, 2))
        if kind == "empty" and user and random.random() < 0.4:
            held = []
        truth += [(user, item, _grade(kind, random)) for item in held]
        others = [item for item in fresh if item not in held]
        candidates += [(user, item) for item in random.sample(others, min(4, len(others)))]
    tables: Tables = {
        "rows": {"user": list(range(users))},
        "truth": _columns(truth, "user", "item", "grade"),
        "train": _columns(train, "user", "item", "grade"),
        "items": {"item": list(range(items))},
    }
    if kind == "candidates":
        tables["candidates"] = _columns(candidates, "user", "item")
    return Fixture(name, tables, scores)


def _draw_groups(name: str, kind: str, random: Random) -> Fixture:
    rows, grades, weights = [], [], []
    for query in range(random.randint(4, 7)):
        length = random.randint(1 if kind == "empty" else 3, 12)
        scores = _distinct_scores(random, length)
        random.shuffle(scores)
        if kind == "ties":
            scores = [float(random.randint(1, 4)) for _ in scores]
        elif kind not in ("negative-scores", "zero-scores"):
            scores = [score + 20 for score in scores]
        if kind == "zero-scores":
            scores = [max(0.0, score) for score in scores]
        labels = _draw_labels(length, kind, random)
        order = sorted(range(length), key=lambda row: -scores[row])  # rows with equal scores stay
        for item, (score, label) in enumerate(zip(scores, labels, strict=True)):
            rows.append((query, item, score, order.index(item)))
            grades.append((query, item, label))
        weights.append((query, random.choice([0.25, 0.5, 1.0, 2.0, 3.0])))
    queries = [query for query, _ in weights]
    tables: Tables = {
        "recommendations": _columns(rows, "user", "item", "score", "position"),
        "truth": _columns(grades, "user", "item", "grade"),
        "candidates": _columns(rows, "user", "item"),
        "users": {"user": queries, "has_list": [True] * len(queries)},
    }
    if "weights" in kind:
        tables["weights"] = _columns(weights, "user", "weight")
    return Fixture(name, tables)


def _draw_labels(length: int, kind: str, random: Random) -> list[int]:
    """Return grades from 0 to 4 in kinds that are graded, else 0 and 1; some queries of `empty`,
    `weights` and `binary-weights` have one grade throughout."""
    if ("weights" in kind or kind == "empty") and random.random() < 0.5:
        return [random.randint(0, 1)] * length
    most = 4 if kind in ("grades", "weights") else 1
    labels = [random.randint(0, most) for _ in range(length)]
    if length > 1 and sum(labels) in (0, length):
        labels[:2] = [1, 0]
    return labels


def _draw_runs(name: str, kind: str, random: Random) -> Fixture:
    rows, judged, people = [], [], []
    documents = [f"d{n}" for n in range(30)]
    for number in range(1, random.randint(5, 8)):
        query = random.choice(documents[number::9]) if kind == "own" else str(number)
        pool = random.sample(documents, random.randint(3, 15))
        grades = [-1, 0, 0, 1, 2, 3] if kind == "grades" else [0, 0, 1, 1, 2]
        labels = [random.choice(grades) for _ in pool]
        if kind == "empty" and random.random() < 0.3:
            labels = [0] * len(pool)
        labels[0] = max(labels[0], 0)  # trec_eval crashes where the best grade is below -1
        if not (kind == "empty" and random.random() < 0.2):
            judged += [(query, *row) for row in zip(pool, labels, strict=True)]
        found = random.sample(documents, random.randint(1, 12))
        if kind == "own" and query not in found and random.random() < 0.7:
            found[random.randrange(len(found))] = query
        scores = _distinct_scores(random, len(found))
        if kind == "ties":
            scores = [random.randint(1, 4) / 2 for _ in found]
        has_list = not (kind == "empty" and random.random() < 0.2)
        people.append((query, has_list))
        if has_list:
            ranked = zip(found, scores, range(len(found)), strict=True)
            rows += [(query, *row) for row in ranked]
    tables: Tables = {
        "recommendations": _columns(rows, "user", "item", "score", "position"),
        "truth": _columns(judged, "user", "item", "grade"),
        "users": _columns(people, "user", "has_list"),
    }
    return Fixture(name, tables)


def _draw_subtopics(name: str, kind: str, random: Random) -> Fixture:
    """Draw a run, and judge some of its documents, and others, by subtopic."""
    run = _draw_runs(name, kind, random)
    judged = []
    for query in dict.fromkeys(run.tables["users"]["user"]):
        if kind == "empty" and random.random() < 0.2:
            continue
        topics = 1 if kind == "one" else random.randint(2, 5)
        found = [item for user, item in run.rows("recommendations", "user", "item")
                 if user == query]  # fmt: skip
        pool = random.sample([f"d{n}" for n in range(30)], random.randint(2, 6))
        pool = list(dict.fromkeys([*pool, *random.sample(found, len(found) // 2)]))
        grades = [-1, 0, 0, 1, 2, 3] if kind == "grades" else [0, 1]
        if kind == "empty" and random.random() < 0.3:
            grades = [0]
        judged += [
            (query, str(topic), document, random.choice(grades))
            for topic in range(1, topics + 1)
            for document in pool
            if random.random() < 0.6
        ]
    truth = _columns(judged, "user", "subtopic", "item", "grade")
    return Fixture(name, {**run.tables, "truth": truth})


def _draw_ratings(name: str, kind: str, random: Random) -> Fixture:
    lowest = -3 if kind == "grades" else 1
    rows, truth, train, people = [], [], [], []
    users, items = random.randint(4, 7), 14
    for user in range(users):
        train += [
            (user, item, random.randint(lowest, 5))
            for item in sorted(random.sample(range(items), 5))
        ]
        rated = random.sample(range(items), random.randint(2, 8))
        estimates = sorted((random.randint(8, 40) / 8 for _ in rated), reverse=True)
        if kind == "outside":  # beyond the range of the ratings, on both sides
            estimates = [(estimate - 3) * 3 + 3 for estimate in estimates]
        for place, (item, estimate) in enumerate(zip(rated, estimates, strict=True)):
            rows.append((user, item, estimate, place))
            truth.append((user, item, random.randint(lowest, 5)))
        people.append((user, True, True))
    tables: Tables = {
        "recommendations": _columns(rows, "user", "item", "score", "position"),
        "truth": _columns(truth, "user", "item", "grade"),
        "train": _columns(train, "user", "item", "grade"),
        "items": {"item": list(range(items))},
        "users": _columns(people, "user", "has_list", "in_train"),
    }
    return Fixture(name, tables)


def _draw_interactions(name: str, kind: str, random: Random) -> Fixture:
    """Draw distinct pairs, some users with one or two rows; in `ties`, many times are equal."""
    latest = 20 if kind == "ties" else 10_000
    pairs = [
        (user, item)
        for user in range(random.randint(8, 12))
        for item in random.sample(range(25), random.choice([1, 2, 3, 5, 8, 13]))
    ]
    random.shuffle(pairs)
    rows = [
        (row, user, item, random.randint(1, 5), random.randint(0, latest))
        for row, (user, item) in enumerate(pairs)
    ]
    columns = _columns(rows, "row", "user", "item", "rating", "timestamp")
    return Fixture(name, {"interactions": columns})


_FAMILIES: Mapping[str, Callable[[str, str, Random], Fixture]] = {
    "lists": _draw_lists,
    "scores": _draw_scores,
    "groups": _draw_groups,
    "runs": _draw_runs,
    "subtopics": _draw_subtopics,
    "ratings": _draw_ratings,
    "interactions": _draw_interactions,
}

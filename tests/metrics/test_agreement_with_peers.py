"""Agreement with scikit-learn and pytrec_eval on random data, where the definitions coincide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rectitude as rt

pytrec_eval = pytest.importorskip("pytrec_eval", reason="missing: pip install pytrec_eval-terrier")
sklearn = pytest.importorskip("sklearn.metrics", reason="missing: pip install scikit-learn")

SEEDS = range(5)
EXACT = {"rel": 1e-12, "abs": 1e-12}


def dense(seed: int, binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores without ties and grades of every user for every item; one at least is relevant."""
    random = np.random.default_rng(seed)
    scores = random.permuted(np.tile(np.arange(30.0), (20, 1)), axis=1)
    grades = random.integers(0, 2 if binary else 5, (20, 30)).astype(float)
    grades[:, 0] = 1
    return scores, grades


def ours(
    scores: np.ndarray, grades: np.ndarray, metrics: list[str], convention: Any = None
) -> rt.Evaluation:
    users, items = scores.shape
    index = {"user": np.repeat(np.arange(users), items), "item": np.tile(np.arange(items), users)}
    return rt.evaluate({**index, "score": scores.ravel()}, {**index, "grade": grades.ravel()},
                       metrics, convention)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [None, 1, 5, 10, 30])
def test_ndcg_is_that_of_scikit_learn(seed: int, k: int | None) -> None:
    scores, grades = dense(seed, binary=False)
    name = "ndcg" if k is None else f"ndcg@{k}"
    evaluation = ours(scores, grades, [name, name.replace("ndcg", "dcg")], {"gain": "linear"})
    assert evaluation[name] == pytest.approx(sklearn.ndcg_score(grades, scores, k=k), **EXACT)
    total = sklearn.dcg_score(grades, scores, k=k)
    assert evaluation[name.replace("ndcg", "dcg")] == pytest.approx(total, **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision_is_that_of_scikit_learn(seed: int) -> None:
    scores, grades = dense(seed, binary=True)
    evaluation = ours(scores, grades, ["map"])
    pairs = zip(grades, scores, strict=True)
    each = [sklearn.average_precision_score(truth, score) for truth, score in pairs]
    assert evaluation["map"] == pytest.approx(np.mean(each), **EXACT)
    whole = sklearn.label_ranking_average_precision_score(grades, scores)
    assert evaluation["map"] == pytest.approx(whole, **EXACT)
    assert evaluation.per_list()["map"].to_numpy() == pytest.approx(np.array(each), **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_reciprocal_rank_of_one_relevant_item_is_that_of_scikit_learn(seed: int) -> None:
    scores, _ = dense(seed, binary=True)
    target = np.random.default_rng(seed).integers(0, 30, 20)
    grades = np.eye(30)[target]
    evaluation = ours(scores, grades, ["mrr", "hit@3"])
    assert evaluation["mrr"] == pytest.approx(
        sklearn.label_ranking_average_precision_score(grades, scores), **EXACT
    )
    top = sklearn.top_k_accuracy_score(target, scores, k=3, labels=np.arange(30))
    assert evaluation["hit@3"] == pytest.approx(top, **EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_precision_recall_and_f1_are_those_of_scikit_learn(seed: int) -> None:
    scores, grades = dense(seed, binary=True)
    chosen = (scores >= 20).astype(int)  # the ten items with the highest scores
    evaluation = ours(scores, grades, ["precision@10", "recall@10", "f1@10"])
    for name, theirs in [("precision", sklearn.precision_score), ("recall", sklearn.recall_score),
                         ("f1", sklearn.f1_score)]:  # fmt: skip
        expected = theirs(grades, chosen, average="samples", zero_division=0)
        assert evaluation[f"{name}@10"] == pytest.approx(expected, **EXACT)
    micro = ours(scores, grades, ["precision@10", "recall@10"], {"average": "micro"})
    assert micro["precision@10"] == pytest.approx(
        sklearn.precision_score(grades, chosen, average="micro"), **EXACT
    )
    assert micro["recall@10"] == pytest.approx(
        sklearn.recall_score(grades, chosen, average="micro"), **EXACT
    )


MEASURES = {
    "P_1": "precision@1", "P_5": "precision@5", "P_10": "precision@10", "P_100": "precision@100",
    "recall_5": "recall@5", "recall_10": "recall@10", "recall_100": "recall@100",
    "map": "map", "map_cut_5": "map@5", "map_cut_10": "map@10",
    "ndcg": "ndcg", "ndcg_cut_1": "ndcg@1", "ndcg_cut_5": "ndcg@5", "ndcg_cut_10": "ndcg@10",
    "recip_rank": "mrr", "Rprec": "rprec", "bpref": "bpref",
    "success_1": "hit@1", "success_5": "hit@5", "success_10": "hit@10",
}  # fmt: skip
ASKED = set(MEASURES)


def retrieval(
    seed: int, ties: bool
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run and judgements: documents without the other, queries without the other, ties."""
    random = np.random.default_rng(seed)
    run, judged = {}, {}
    for number in range(40):
        found = random.choice(60, random.integers(1, 30), replace=False)
        scores = (
            random.integers(0, 6, len(found)) / 4 if ties else random.permutation(len(found)) / 7
        )
        run[f"q{number}"] = {f"d{d}": float(s) for d, s in zip(found, scores, strict=True)}
        told = random.choice(60, random.integers(1, 25), replace=False)
        grades = random.integers(-1, 4, len(told))
        judged[f"q{number}"] = {f"d{d}": int(g) for d, g in zip(told, grades, strict=True)}
    del run["q3"]
    del judged["q7"]
    judged["q9"] = {"d1": 0, "d2": 0}  # nothing relevant
    return run, judged


@pytest.mark.parametrize("ties", [False, True], ids=["distinct scores", "ties"])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_those_of_pytrec_eval(seed: int, level: int, ties: bool) -> None:
    run, judged = retrieval(seed, ties)
    theirs = pytrec_eval.RelevanceEvaluator(judged, ASKED, relevance_level=level).evaluate(run)
    convention = {"profile": "pytrec_eval", "relevant_from": level}
    evaluation = rt.evaluate(run, judged, list(MEASURES.values()), convention)
    frame = evaluation.per_list().filter(~_missing(evaluation))
    assert set(frame["user"]) == set(theirs)
    for measure, name in MEASURES.items():
        mean = np.mean([values[measure] for values in theirs.values()])
        assert evaluation[name] == pytest.approx(mean, **EXACT), measure
        for query, value in frame.select("user", name).rows():
            assert value == pytest.approx(theirs[query][measure], **EXACT), (measure, query)


def _missing(evaluation: rt.Evaluation) -> Any:
    return evaluation.per_list()["ndcg"].is_null()


@pytest.mark.parametrize("seed", SEEDS)
def test_distinct_scores_and_binary_grades_need_no_profile(seed: int) -> None:
    # Without ties, negative grades and missing lists our default is the same definition.
    random = np.random.default_rng(seed)
    run = {
        f"q{n}": {f"d{d}": float(r) for r, d in enumerate(random.permutation(40)[:20])}
        for n in range(20)
    }
    judged = {q: {f"d{d}": 1 for d in random.choice(40, 6, replace=False)} for q in run}
    theirs = pytrec_eval.RelevanceEvaluator(judged, ASKED).evaluate(run)
    evaluation = rt.evaluate(run, judged, list(MEASURES.values()))
    for measure, name in MEASURES.items():
        mean = np.mean([values[measure] for values in theirs.values()])
        assert evaluation[name] == pytest.approx(mean, **EXACT), measure

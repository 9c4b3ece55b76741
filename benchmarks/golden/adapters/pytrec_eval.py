"""pytrec_eval: every measure of `RelevanceEvaluator`, for judged queries that have a list."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

import pytrec_eval

from golden.fixtures import Case, Fixture

FRAMEWORK = "pytrec_eval-terrier"
CUTOFFS = (1, 3, 5, 10)
AT_K = {
    "precision": "P", "recall": "recall", "map": "map_cut", "ndcg": "ndcg_cut", "hit": "success",
    "precision[relative]": "relative_P",
}  # fmt: skip
WHOLE = {
    "map": "map", "ndcg": "ndcg", "mrr": "recip_rank", "rprec": "Rprec", "bpref": "bpref",
    "infap": "infAP", "set_precision": "set_P", "set_recall": "set_recall", "set_map": "set_map",
    "set_f": "set_F", "set_precision[relative]": "set_relative_P", "iprec[11pt]": "11pt_avg",
    "ndcg[rel]": "ndcg_rel", "rndcg": "Rndcg", "bing": "binG", "g": "G", "utility": "utility",
    "num_ret": "num_ret", "num_rel": "num_rel", "num_rel_ret": "num_rel_ret",
}  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("pytrec_eval-terrier")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate at two levels of relevance, and with judged documents only."""
    options = {"users": "judged", "without_list": "skip"}
    yield _case(fixture, "", options, {})
    yield _case(fixture, "level-2", {**options, "relevant_from": 2}, {"relevance_level": 2})
    yield _case(
        fixture, "judged-only", {**options, "judged_only": True}, {"judged_docs_only_flag": True}
    )


def _case(
    fixture: Fixture, variant: str, options: dict[str, Any], arguments: dict[str, Any]
) -> Case:
    qrels: dict[str, dict[str, int]] = {}
    for query, document, grade in fixture.rows("truth", "user", "item", "grade"):
        qrels.setdefault(query, {})[document] = grade
    run = {
        str(query): dict(rows)
        for query, rows in fixture.grouped("recommendations", "item", "score").items()
    }
    cut = {f"{own}.{','.join(map(str, CUTOFFS))}" for own in AT_K.values()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, cut | {*WHOLE.values()}, **arguments)
    values = evaluator.evaluate(run)
    case = Case("pytrec_eval", fixture, "lists", CUTOFFS, variant, options)
    named = {f"{name}@{k}": f"{own}_{k}" for name, own in AT_K.items() for k in CUTOFFS}
    for name, own in (WHOLE | named).items():
        users = {query: measured[own] for query, measured in values.items()}
        mean = pytrec_eval.compute_aggregated_measure(own, list(users.values()))
        case.put(name, own, mean, users)
    return case

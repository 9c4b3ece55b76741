"""ir_measures: `calc_aggregate` and `iter_calc`, with parameters alone and combined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import ir_measures

from golden.fixtures import Case, Fixture

FRAMEWORK = "ir_measures"
CUTOFFS = (1, 3, 5, 10)
AT_K = {
    "precision": "P", "precision[rel=2]": "P(rel=2)",
    "precision[judged_only]": "P(judged_only=True)",
    "precision[judged_only,rel=2]": "P(judged_only=True,rel=2)",
    "recall": "R", "recall[rel=2]": "R(rel=2)", "recall[judged_only]": "R(judged_only=True)",
    "map": "AP", "map[rel=2]": "AP(rel=2)", "map[judged_only,rel=2]": "AP(judged_only=True,rel=2)",
    "mrr": "RR", "mrr[rel=2]": "RR(rel=2)", "mrr[judged_only]": "RR(judged_only=True)",
    "ndcg": "nDCG", "ndcg[judged_only]": "nDCG(judged_only=True)",
    "ndcg[gains={1:3,2:7}]": "nDCG(gains={1:3,2:7})",
    "ndcg[gains={0:1,3:0}]": "nDCG(gains={0:1,3:0})",
    "ndcg[exp]": "nDCG(dcg='exp-log2')",
    "ndcg[exp,judged_only]": "nDCG(dcg='exp-log2',judged_only=True)",
    "hit": "Success", "hit[rel=2]": "Success(rel=2)", "judged": "Judged", "err": "ERR",
}  # fmt: skip
WHOLE = {
    "map": "AP", "map[rel=2]": "AP(rel=2)", "mrr": "RR", "mrr[rel=2]": "RR(rel=2)", "ndcg": "nDCG",
    "rprec": "Rprec", "rprec[rel=2]": "Rprec(rel=2)", "bpref": "Bpref", "infap": "infAP",
    "set_precision": "SetP", "set_precision[rel=2]": "SetP(rel=2)",
    "set_precision[relative]": "SetP(relative=True)",
    "set_precision[relative,rel=2]": "SetP(relative=True,rel=2)",
    "set_precision[judged_only,relative,rel=2]": "SetP(judged_only=True,relative=True,rel=2)",
    "set_recall": "SetR", "set_recall[rel=2]": "SetR(rel=2)", "set_map": "SetAP",
    "set_f": "SetF", "set_f[rel=2]": "SetF(rel=2)", "set_f[beta=2]": "SetF(beta=2.)",
    "set_f[beta=0.5]": "SetF(beta=0.5)", "set_f[beta=2,rel=2]": "SetF(beta=2.,rel=2)",
    "num_ret": "NumRet", "num_rel_ret": "NumRet(rel=1)", "num_rel": "NumRel", "num_q": "NumQ",
    "rbp[p=0.5]": "RBP(p=0.5)", "rbp[p=0.8,rel=2]": "RBP(p=0.8,rel=2)",
}  # fmt: skip
ROUNDED = ("ndcg[exp", "err")


def version() -> str:
    """The release that is installed."""
    return installed("ir-measures")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate each measure by itself, so that one provider's error spoils only its own."""
    qrels = [ir_measures.Qrel(*row) for row in fixture.rows("truth", "user", "item", "grade")]
    run = [
        ir_measures.ScoredDoc(*row)
        for row in fixture.rows("recommendations", "user", "item", "score")
    ]
    options = {"users": "judged", "without_list": "zero"}
    case = Case("ir_measures", fixture, "lists", CUTOFFS, options=options)
    named = {f"{name}@{k}": f"{own}@{k}" for name, own in AT_K.items() for k in CUTOFFS}
    for name, own in (WHOLE | named).items():
        _add(case, name, own, qrels, run)
        if name.startswith(ROUNDED):
            case.tolerances[name] = 1e-5
    yield case


def _add(case: Case, name: str, own: str, qrels: Any, run: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        measure = ir_measures.parse_measure(own)
        users = {
            value.query_id: value.value for value in ir_measures.iter_calc([measure], qrels, run)
        }
        return ir_measures.calc_aggregate([measure], qrels, run)[measure], users

    case.add_all(name, own, compute)

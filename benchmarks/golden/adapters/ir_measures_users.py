"""ir_measures with models of users: `cwl_eval`, `compat`, and `pyndeval` with subtopics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import ir_measures

from golden.fixtures import Case, Fixture

FRAMEWORK = "ir_measures"
CUTOFFS = (1, 3, 5, 10)
USERS_AT_K = {
    "bpm[max_rel=3]": "BPM(max_rel=3)", "bpm[T=2,max_rel=2]": "BPM(T=2.,max_rel=2)",
    "bpm[min_rel=1,max_rel=3]": "BPM(min_rel=1,max_rel=3)",
    "sdcg[max_rel=3]": "SDCG(max_rel=3)", "sdcg[max_rel=2]": "SDCG(max_rel=2)",
    "nerr8[max_rel=3]": "NERR8(max_rel=3)", "nerr9[max_rel=3]": "NERR9(max_rel=3)",
}  # fmt: skip
USERS = {
    "inst[max_rel=3]": "INST(max_rel=3)", "inst[T=2.5,max_rel=2]": "INST(T=2.5,max_rel=2)",
    "inst[min_rel=1,max_rel=3]": "INST(min_rel=1,max_rel=3)",
    "insq[max_rel=3]": "INSQ(max_rel=3)", "insq[T=3,max_rel=3]": "INSQ(T=3.,max_rel=3)",
    "nerr10[max_rel=3]": "NERR10(max_rel=3)", "nerr10[p=0.5,max_rel=3]": "NERR10(p=0.5,max_rel=3)",
    "nerr11[max_rel=3]": "NERR11(max_rel=3)", "nerr11[T=2,max_rel=3]": "NERR11(T=2.,max_rel=3)",
    "rbp[rel=1]": "RBP(rel=1)", "rbp[p=0.5,rel=1]": "RBP(p=0.5,rel=1)",
    "rbp[p=0.8,rel=2]": "RBP(p=0.8,rel=2)",
    "compat": "Compat", "compat[p=0.8]": "Compat(p=0.8)",
    "compat[over=ranks]": "Compat(normalize=False)",
    "compat[p=0.5,over=ranks]": "Compat(p=0.5,normalize=False)",
}  # fmt: skip
TOPICS_AT_K = {
    "alpha_dcg": "alpha_DCG", "alpha_dcg[alpha=0.3]": "alpha_DCG(alpha=0.3)",
    "alpha_ndcg": "alpha_nDCG", "alpha_ndcg[alpha=0.3]": "alpha_nDCG(alpha=0.3)",
    "alpha_ndcg[alpha=0.9,rel=2]": "alpha_nDCG(alpha=0.9,rel=2)",
    "err_ia": "ERR_IA", "err_ia[rel=2]": "ERR_IA(rel=2)",
    "nerr_ia": "nERR_IA", "nerr_ia[rel=2]": "nERR_IA(rel=2)",
    "p_ia": "P_IA", "p_ia[rel=2]": "P_IA(rel=2)",
    "strecall": "StRecall", "strecall[rel=2]": "StRecall(rel=2)",
}  # fmt: skip
TOPICS = {
    "nrbp": "NRBP", "nrbp[alpha=0.3,beta=0.8]": "NRBP(alpha=0.3,beta=0.8)",
    "nrbp[rel=2]": "NRBP(rel=2)", "nnrbp": "nNRBP",
    "nnrbp[alpha=0.3,beta=0.8]": "nNRBP(alpha=0.3,beta=0.8)", "nnrbp[rel=2]": "nNRBP(rel=2)",
    "ap_ia": "AP_IA", "ap_ia[rel=2]": "AP_IA(rel=2)",
}  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("ir-measures")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate each measure by itself, so that one provider's error spoils only its own."""
    by_topic = fixture.family == "subtopics"
    run = [
        ir_measures.ScoredDoc(*row)
        for row in fixture.rows("recommendations", "user", "item", "score")
    ]
    columns = ("user", "item", "grade", "subtopic") if by_topic else ("user", "item", "grade")
    kind = ir_measures.GenericQrel if by_topic else ir_measures.Qrel
    qrels = [kind(*row) for row in fixture.rows("truth", *columns)]
    options = {"users": "judged", "without_list": "zero"}
    case = Case("ir_measures", fixture, "lists", CUTOFFS, "users", options)
    at_k, whole = (TOPICS_AT_K, TOPICS) if by_topic else (USERS_AT_K, USERS)
    named = {f"{name}@{k}": f"{own}@{k}" for name, own in at_k.items() for k in CUTOFFS}
    for name, own in (whole | named).items():
        _add(case, name, own, qrels, run)
    yield case


def _add(case: Case, name: str, own: str, qrels: Any, run: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        measure = ir_measures.parse_measure(own)
        users = {
            value.query_id: value.value for value in ir_measures.iter_calc([measure], qrels, run)
        }
        return ir_measures.calc_aggregate([measure], qrels, run)[measure], users

    case.add_all(name, own, compute)

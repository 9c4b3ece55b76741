"""Metric names as people type them: of other frameworks, in any case, with cutoffs apart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.conformance.run import conformance
from rectitude.errors import BadArgument, BadName, UnknownName
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES

COMPACT = Path(__file__).parents[1] / "conformance" / "golden"
LISTS = {
    "ann": {"tea": 0.9, "rye": 0.8, "jam": 0.7},
    "bob": {"oil": 0.6, "tea": 0.5, "fig": 0.1},
    "cat": {"fig": 0.9, "jam": 0.2, "tea": 0.1},
}
TRUTH = {"ann": ["rye", "oil"], "bob": ["tea"], "cat": ["tea"]}
TRAIN = {"ann": ["fig"], "bob": ["jam", "rye"], "cat": ["oil", "jam"]}
ITEMS = {"item": ["tea", "rye", "jam", "oil", "fig", "egg"]}
FORTY = [
    ("NDCG@2", None, "ndcg@2"),
    ("nDCG@2", None, "ndcg@2"),
    ("Ndcg@2", "cornac", "ndcg@2"),
    ("ndcg_cut_2", "trec_eval-9", "ndcg@2"),
    ("ndcg_at_k@2", "recommenders", "ndcg@2"),
    ("NDCGK_2", "streamsight", "ndcg@2"),
    ("nDCGRendle2020@2", "elliot", "ndcg[binary]@2"),
    ("nDCG(dcg='exp-log2')@2", "ir_measures", "ndcg[exp]@2"),
    ("NDCG(divide_by_achievable=True)@2", "rectools", "ndcg[divide_by_achievable]@2"),
    ("ndcg_burges@2", "ranx", "ndcg[burges]@2"),
    ("ndcg@2-l1", "ranx", "ndcg[relevant_from=1]@2"),
    ("HR@2", None, "hit@2"),
    ("HR@2", "elliot", "hit@2"),
    ("Hit@2", "lenskit-2026", "hit@2"),
    ("hit_rate@2", "ranx", "hit@2"),
    ("HitRate@2", "rectools", "hit@2"),
    ("HitRatio@2", "cornac", "hit@2"),
    ("HitK@2", "recpack", "hit@2"),
    ("Success@1", "ir_measures", "hit@1"),
    ("success_1", "trec_eval-10", "hit@1"),
    ("hits@2", "ranx", "hits@2"),
    ("P@2", "ir_measures", "precision@2"),
    ("P_5", "pytrec_eval", "precision@5"),
    ("R@2", "ir_measures", "recall@2"),
    ("recall_100", "trec_eval-9", "recall@100"),
    ("CalibratedRecallK@2", "recpack", "recall[calibrated]@2"),
    ("AP", "ir_measures", "map"),
    ("MAP@2", "replay", "map@2"),
    ("map_cut_2", "trec_eval-9", "map@2"),
    ("AveragePrecision@2", "lenskit-2025", "map@2"),
    ("RR", "ir_measures", "mrr"),
    ("MRR@2", "recbole", "mrr@2"),
    ("recip_rank", "trec_eval-9", "mrr"),
    ("RecipRank@2", "lenskit-2026", "mrr@2"),
    ("r-precision", "ranx", "rprec"),
    ("F1@2", "daisyrec", "f1@2"),
    ("iprec_at_recall_0.10", "pytrec_eval", "iprec@0.10"),
    ("11pt_avg", "trec_eval-9", "iprec[11pt]"),
    ("ItemCoverage@2", "recbole", "coverage@2"),
    ("itemcoverage@2", "elliot", "coverage@2"),
    ("CatalogCoverage(normalize=True)@2", "rectools", "coverage[normalize]@2"),
    ("AveragePopularity@2", "recbole", "arp@2"),
    ("AvgRecPopularity@2", "rectools", "arp@2"),
    ("ARP@2", None, "average_popularity@2"),
    ("MeanInvUserFreq@2", "rectools", "miuf@2"),
    ("Novelty@2", "replay", "novelty@2"),
    ("GiniIndex@2", "recbole", "gini@2"),
    ("SEntropy@2", "elliot", "entropy@2"),
    ("APLT@2", "warprec", "aplt@2"),
]


@pytest.mark.parametrize(("typed", "profile", "ours"), FORTY)
def test_a_name_of_a_peer_is_found_under_our_name(typed: str, profile: Any, ours: str) -> None:
    tables = {"train": TRAIN, "items": ITEMS}
    evaluation = rt.evaluate(LISTS, TRUTH, typed, profile, **tables)
    plain = rt.evaluate(LISTS, TRUTH, ours, profile, **tables)
    assert list(evaluation) == [ours]
    assert [evaluation[typed], evaluation[ours]] == pytest.approx([plain[ours]] * 2, nan_ok=True)
    assert typed in evaluation
    assert evaluation.definition(typed) == plain.definition(ours)
    if typed != ours:
        shown = str(parse(typed)[0])
        assert evaluation.ledger.notes["names"] == f"{shown} is {ours}"


NOT_NAMES = {
    ("recommenders", "map"): "a function that is not the metric map, under the same name",
    ("cornac", "NDCG@-1"): "-1 is no cutoff here",
    ("cornac", "NCRR@-1"): "-1 is no cutoff here",
}
"""What a framework reports, and why it is not a name here."""
BY_SCORES = ("auc", "gauc", "lauc", "num_retrieved", "user_coverage", "mae", "mse", "rmse")
"""Metrics for which the cases go by our names."""
MADE_UP = ("|", "_f32", "_f64", "**", "max-rank", "_UC", "_IC", "%", "][", "same run", "At(",
           "_at_k(", "_gain=", ":top=", ":type=", ":border=", ":decay=", "(k=",
           "(topn=", "(average=")  # fmt: skip
"""Parts of names that the recording of the golden values put there, or tuples of settings."""


SAME_NAMES = ("implicit", "ndcg-reference", "smgcn", "smgcn-f1", "smgcn-icde", "replay-torch",
              "sentence-transformers", "surprise", "lightgbm", "allrank",
              "keras-rs", "tf-ranking")  # fmt: skip
"""Profiles whose frameworks have the names that we have."""


def with_their_names(case: dict[str, Any]) -> dict[str, Any]:
    """Return a golden case with the names that the framework reports."""
    reported = case.get("reported_as") or {}
    if isinstance(case.get("options", {}).get("ranking"), dict):
        return case  # the recorded orders go by our names

    def name_of(ours: str) -> str:
        theirs = reported.get(ours, ours)
        base = (case["profile"], theirs.partition("@")[0])
        odd = not isinstance(theirs, str) or any(part in theirs for part in MADE_UP)
        odd |= parse(ours)[0].base in BY_SCORES
        odd |= "by=" in ours  # the attribute stands elsewhere in the framework's configuration
        return ours if odd or base in NOT_NAMES or (base[0], theirs) in NOT_NAMES else theirs

    tables = ("expected", "per_user", "tolerances", "nonfinite")
    renamed = {
        table: {name_of(ours): value for ours, value in case[table].items()}
        for table in tables
        if isinstance(case.get(table), dict)
    }
    return {**case, **renamed}


@pytest.mark.parametrize(
    "profile", [name for name, p in PROFILES.items() if name != "default" and not p.unproven]
)
def test_the_names_of_a_framework_give_its_golden_values(profile: str, tmp_path: Path) -> None:
    (tmp_path / "inputs").symlink_to(COMPACT / "inputs")
    folder = tmp_path / "cases" / profile
    folder.mkdir(parents=True)
    renamed = 0
    for path in (COMPACT / "cases" / profile).glob("*.json"):
        case = json.loads(path.read_text("utf-8"))
        if case["kind"] in ("lists", "scores", "logits"):
            theirs = with_their_names(case)
            renamed += theirs["expected"].keys() != case["expected"].keys()
            (folder / path.name).write_text(json.dumps(theirs))
    (tally,) = conformance(tmp_path, [profile])
    (ours,) = conformance(COMPACT, [profile])
    assert tally.wrong == []
    assert tally.unsupported == 0
    assert tally.compared > 0
    assert renamed or profile in SAME_NAMES
    assert ours.wrong == []


def test_every_name_that_a_framework_reports_means_the_same_metric() -> None:
    for path in sorted(COMPACT.glob("cases/*/*.json")):
        case = json.loads(path.read_text("utf-8"))
        profile = PROFILES[case["profile"]]
        for ours, theirs in (case.get("reported_as") or {}).items():
            odd = not isinstance(theirs, str) or any(part in theirs for part in MADE_UP)
            odd |= "by=" in ours
            place = {(profile.name, theirs), (profile.name, str(theirs).partition("@")[0])}
            if odd or place & NOT_NAMES.keys() or not profile.has(ours):
                continue
            one, other = (profile.resolve(parse(name)[0]) for name in (ours, theirs))
            assert (one.metric, one.convention) == (other.metric, other.convention), theirs
            assert (one.numbers, one.cutoff) == (other.numbers, other.cutoff), theirs


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("ndcg_cut.10", ["ndcg@10"]),
        ("ndcg_cut.5,10", ["ndcg@5", "ndcg@10"]),
        ("ndcg10", ["ndcg@10"]),
        ("P5", ["precision@5"]),
        ("f1", ["f1"]),
        ("ndcg@[5,10]", ["ndcg@5", "ndcg@10"]),
        ("ndcg@(5, 10)", ["ndcg@5", "ndcg@10"]),
        ("ndcg@10,20", ["ndcg@10", "ndcg@20"]),
        ("ndcg@10, recall@20 mrr", ["ndcg@10", "recall@20", "mrr"]),
    ],
)
def test_cutoffs_may_be_written_in_other_ways(typed: str, ours: list[str]) -> None:
    assert list(rt.evaluate(LISTS, TRUTH, typed)) == ours
    assert list(rt.evaluate(LISTS, TRUTH, [typed])) == ours


@pytest.mark.parametrize("name", ["RecBole", "recbole", "RECBOLE"])
def test_profiles_are_found_in_any_case(name: str) -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "ndcg@2", convention=name)
    assert evaluation.manifest["profile"] == "recbole"
    changed = rt.evaluate(LISTS, TRUTH, "ndcg@2", {"profile": name, "ties": "optimistic"})
    assert changed.manifest["profile"] == "recbole, ties=optimistic"


def test_the_profile_of_a_framework_decides_what_its_name_means() -> None:
    share = rt.evaluate(LISTS, TRUTH, "ItemCoverage@2", "recbole", items=ITEMS)
    number = rt.evaluate(LISTS, TRUTH, "ItemCoverage@2", "elliot", train=TRAIN)
    assert share.result("ItemCoverage@2").metric == "item_coverage"
    assert number.result("ItemCoverage@2").metric == "distinct_items"
    assert number["ItemCoverage@2"] == 5.0


@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        ("ItemCoverage@10", ("item_coverage@10 (", "distinct_items@10 (", "Elliot", "RecBole")),
        ("Coverage@10", ("item_coverage@10 (", "train_coverage@10 (")),
        ("novelty@5", ("unseen_share@5 (", "self_information[least=0]@5 (", "epc@5 (")),
        ("diversity@5", ("ild@5 (", "category_diversity@5 (")),
        ("Popularity@5", ("average_popularity@5 (", "hit_popularity@5 (")),
        ("loss", ("cross_entropy (", "log_loss (")),
        ("Hits@10", ("hit@10 (", "hit[hit_as=count]@10 (")),
    ],
)
def test_a_name_of_several_quantities_is_an_error_with_the_choices(
    typed: str, choices: tuple[str, ...]
) -> None:
    with pytest.raises(BadName, match="different things in different frameworks") as caught:
        rt.evaluate(LISTS, TRUTH, typed)
    assert all(choice in str(caught.value) for choice in choices)
    (profile,) = re.findall("such as convention='(.*)': its own", str(caught.value))
    (name,) = parse(typed)
    assert PROFILES[profile].resolve(name).metric


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ndcg_hit@20", "did you mean 'ndcg[list_needed=hit]@20'?"),
        ("f1_at_k", "did you mean 'f1@10'?"),
        ("ndgc@10", "did you mean 'ndcg@10'"),
        ("hitrat@5", "did you mean 'hit@5'"),
        ("recip_ranks", "did you mean 'mrr'?"),
        ("top_popularity@5", "'average_popularity@5'"),
    ],
)
def test_suggestions_go_by_meaning_and_keep_the_cutoff(typed: str, meant: str) -> None:
    with pytest.raises(UnknownName) as caught:
        rt.evaluate(LISTS, TRUTH, typed)
    assert meant in str(caught.value)
    assert "mcc" not in str(caught.value)


def test_without_a_suggestion_all_metrics_are_listed_by_family() -> None:
    with pytest.raises(UnknownName) as caught:
        rt.evaluate(LISTS, TRUTH, "xyzzy")
    lines = str(caught.value).splitlines()
    assert lines[2].strip().startswith("ranking: ndcg, recall, precision")
    assert all(any(f" {name}," in f"{line}," for line in lines) for name in ("auc", "rmse", "reo"))


def test_a_name_of_an_evaluation_can_be_looked_up_in_any_way() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, ["ndcg@2", "hit@1"])
    assert evaluation["NDCG@2"] == evaluation["ndcg_cut_2"] == evaluation["ndcg@2"]
    assert "HR@1" in evaluation
    assert "HR@2" not in evaluation
    assert "Coverage@2" not in evaluation


def test_a_saved_evaluation_still_knows_the_names_that_were_typed(tmp_path: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text('versions = ["1"]\n[names]\nTopShare = "precision"\n')
    evaluation = rt.evaluate(LISTS, TRUTH, "TopShare@2", str(profile))
    evaluation.save(tmp_path / "e.json")
    assert rt.Evaluation.load(tmp_path / "e.json")["TopShare@2"] == evaluation["precision@2"]


def test_metrics_and_cutoffs_can_be_given_apart() -> None:
    both = rt.evaluate(LISTS, TRUTH, ["ndcg", "recall@3", "HR"], cutoffs=[1, 2])
    assert list(both) == ["ndcg@1", "ndcg@2", "recall@3", "hit@1", "hit@2"]
    table = rt.evaluate(LISTS, TRUTH, {"ndcg": [1, 2], "recall": 3, "mrr": None})
    assert list(table) == ["ndcg@1", "ndcg@2", "recall@3", "mrr"]
    usual = rt.evaluate(LISTS, TRUTH, cutoffs=5)
    assert list(usual) == ["ndcg@5", "recall@5", "precision@5", "hit@5", "mrr", "map"]


def test_cutoffs_work_in_batches_and_comparisons() -> None:
    evaluator = rt.Evaluator({"NDCG": [1]}, cutoffs=None)
    evaluator.update(LISTS, TRUTH)
    assert list(evaluator.compute()) == ["ndcg@1"]
    evaluator = rt.Evaluator(["ndcg", "HR@2"], cutoffs=[1, 3])
    evaluator.update(LISTS, TRUTH)
    assert list(evaluator.compute()) == ["ndcg@1", "ndcg@3", "hit@2"]
    assert evaluator.compute().ledger.notes["names"] == "HR@2 is hit@2"
    models = {"a": LISTS, "b": {user: [*items][::-1] for user, items in LISTS.items()}}
    comparison = rt.compare(models, TRUTH, ["ndcg", "HR"], cutoffs=[1, 2])
    assert comparison.of("HR@1", "b", "a").metric == "hit@1"
    stored = {name: rt.evaluate(lists, TRUTH, "ndcg@{1,2}") for name, lists in models.items()}
    chosen = rt.compare(stored, metrics=["NDCG"], cutoffs=[2])
    assert {row.metric for row in chosen.differences} == {"ndcg@2"}


def test_metrics_without_a_cutoff_are_left_alone_by_cutoffs() -> None:
    logits = rt.Logits(np.eye(4) + 0.1)
    evaluation = rt.evaluate(logits, np.arange(4), ["acc", "CE"], cutoffs=[1, 2])
    assert list(evaluation) == ["accuracy@1", "accuracy@2", "cross_entropy"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ({"metrics": "ndcg", "k": 10}, UnknownName, "such as 'ndcg@10', or go to cutoffs=[10]"),
        ({"metrics": "ndcg", "topk": 10}, UnknownName, "cutoffs=[10]"),
        ({"metric": "ndcg"}, UnknownName, "did you mean 'metrics'?"),
        ({"metrics": "ndcg@5", "cutoffs": [10]}, BadArgument, "no metric takes them: ndcg@5"),
        ({"metrics": {"ndcg@5": [10]}}, BadName, "'ndcg@5' has a cutoff"),
        ({"metrics": "ndcg", "cutoffs": [0]}, BadName, "a cutoff is 0"),
        ({"metrics": "ndcg", "cutoffs": "five"}, BadName, "a cutoff is 'five'"),
    ],
)
def test_wrong_cutoffs_are_answered(call: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error) as caught:
        rt.evaluate(LISTS, TRUTH, **call)
    assert words in str(caught.value)


def test_f1_of_logits_asks_for_the_f1_of_classes() -> None:
    logits, targets = rt.Logits(np.eye(4) + 0.1), np.arange(4)
    ledger = rt.evaluate(logits, targets, ["F1", "f1@2", "weighted_f1"]).ledger
    (warning,) = ledger.warnings()
    assert "f1 takes all classes as one list; for predicted classes, ask for weighted_f1" in str(
        warning
    )
    guide = rt.evaluate(logits, targets, ["F1", "Loss", "Acc@1"], "next-location")
    assert list(guide) == ["weighted_f1", "cross_entropy", "accuracy@1"]


def test_every_metric_has_a_family() -> None:
    assert {metric.family for metric in rt.METRICS.values()} >= {
        "ranking", "target", "catalogue", "popularity", "diversity", "calibration", "fairness",
        "ratings", "probabilities",
    }  # fmt: skip
    shipped = [m for m in rt.METRICS.values() if m.function.__module__.startswith("rectitude.")]
    assert all(metric.family != "own" for metric in shipped)

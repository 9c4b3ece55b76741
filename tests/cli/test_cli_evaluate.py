"""`rectitude evaluate`: numbers, formats, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import polars as pl
import pytest
from cli_files import Run

import rectitude as rt
from rectitude.aggregate.evaluation import from_dict

FAILING = "err[gain=exp2,max_grade=1]"


def test_one_run_prints_the_table_and_the_ledger(evaluate: Run) -> None:
    said = evaluate("good.csv", "--metrics", "recall@2", "mrr")
    # ann's list has both of their items, bob's has the one, cid has no list: (1 + 1 + 0) / 3.
    assert said.code == 0
    assert "| recall@2 | 0.6667 |" in said.out
    assert "have no predictions (first: 'cid')" in said.out
    assert said.err == ""


def test_several_runs_are_shown_side_by_side_with_the_best_marked(evaluate: Run) -> None:
    said = evaluate("good.csv", "poor.csv", "--metrics", "mrr,recall@{1,2}")
    lines = said.out.splitlines()
    assert lines[1].split() == ["|", "metric", "|", "good", "|", "poor", "|"]
    # poor: the first hits of ann and bob are at rank 2: (1/2 + 1/2 + 0) / 3.
    assert lines[3].split() == ["|", "mrr", "|", "0.6667*", "|", "0.3333", "|"]
    assert lines[5].split()[1] == "recall@2"
    assert "good:" in lines
    assert "poor:" in lines


def test_equal_values_have_no_best(evaluate: Run, shop: Path) -> None:
    (shop / "same.csv").write_text((shop / "good.csv").read_text())
    assert "0.6667 |" in evaluate("good.csv", "same.csv", "--metrics", "mrr").out


def test_json_of_one_run_is_an_evaluation(evaluate: Run, shop: Path) -> None:
    said = evaluate("good.csv", "--metrics", "ndcg@2", "--json", "--output", "e.json")
    assert (said.code, said.out, said.err) == (0, "", "")
    loaded = rt.Evaluation.load(shop / "e.json")
    assert loaded["ndcg@2"] == rt.evaluate("good.csv", "truth.csv", "ndcg@2")["ndcg@2"]


def test_json_of_several_runs_holds_each_by_label(evaluate: Run) -> None:
    stored = json.loads(evaluate("good.csv", "poor.csv", "--format", "json").out)
    assert (stored["format"], stored["version"]) == ("rectitude.evaluations", 1)
    assert list(stored["evaluations"]) == ["good", "poor"]
    for one in stored["evaluations"].values():
        assert set(one) == {"format", "version", "results", "failures", "ledger", "manifest"}
        assert from_dict(one)["mrr"] > 0


def test_csv_has_full_precision(evaluate: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(evaluate("good.csv", "poor.csv", "--csv").out)))
    assert list(rows[0]) == ["run", "metric", "value", "lists"]
    values = {(row["run"], row["metric"]): float(row["value"]) for row in rows}
    assert values["good", "recall@10"] == 2 / 3
    one = list(csv.DictReader(io.StringIO(evaluate("good.csv", "--csv").out)))
    assert float(one[1]["value"]) == 2 / 3


def test_intervals_are_shown_in_every_table(evaluate: Run) -> None:
    said = evaluate("good.csv", "poor.csv", "--metrics", "mrr", "--intervals")
    assert "0.6667 [" in said.out
    rows = evaluate("good.csv", "poor.csv", "--metrics", "mrr", "--intervals", "--csv").out
    assert rows.startswith("run,metric,value,lists,low,high\ngood,mrr,0.66")


def test_latex_and_markdown_are_tables(evaluate: Run) -> None:
    latex = evaluate("good.csv", "poor.csv", "--latex", "--metrics", "mrr").out
    assert latex.startswith("\\begin{tabular}{lrr}\n")
    assert "mrr & 0.6667 & 0.3333 \\\\" in latex
    assert evaluate("good.csv", "--latex").out.startswith("\\begin{tabular}")
    both = evaluate("good.csv", "poor.csv", "--format", "markdown", "--metrics", "mrr").out
    assert both.splitlines()[2] == "| mrr    | 0.6667* | 0.3333  |"


def test_conventions_reach_the_metric(evaluate: Run) -> None:
    options = ("--json", "--metrics", "ndcg@2", "--convention")
    stored = json.loads(evaluate("good.csv", *options, "rectools", "order=score").out)
    assert stored["manifest"]["profile"].startswith("rectools")
    assert stored["results"]["ndcg@2"]["convention"]["ideal"] == "k"
    assert stored["results"]["ndcg@2"]["convention"]["order"] == "score"
    # Grades from 2 on: a becomes irrelevant, so only b (ann), c (bob) count, and cid has no truth.
    raised = json.loads(evaluate("good.csv", "--json", "--convention", "relevant_from=2").out)
    assert raised["results"]["mrr"]["value"] == (1 / 2 + 1) / 2


def test_columns_lists_train_and_weights_are_passed_on(run: Run, shop: Path) -> None:
    (shop / "t.csv").write_text("visit,visitor,sku\n1,ann,a\n2,ann,b\n")
    (shop / "p.csv").write_text("visit,visitor,sku,score\n1,ann,a,1\n2,ann,x,1\n")
    (shop / "w.csv").write_text("visit,visitor,weight\n1,ann,3\n2,ann,1\n")
    (shop / "train.csv").write_text("visitor,sku\nann,a\n")
    said = run(
        "evaluate", "--truth", "t.csv", "--predictions", "p.csv", "--list-key", "visit",
        "--columns", "user=visitor", "item=sku", "--weights", "w.csv", "--train", "train.csv",
        "--metrics", "hit@1", "--json",
    )  # fmt: skip
    stored = json.loads(said.out)
    # One hit in the list that weighs 3, none in the list that weighs 1: 3 / 4.
    assert stored["results"]["hit@1"]["value"] == 0.75
    assert stored["ledger"]["counts"]["items_unknown"]["count"] == 1


def test_definitions_follow_the_table_once(evaluate: Run) -> None:
    said = evaluate("good.csv", "poor.csv", "--metrics", "mrr", "--definitions")
    assert said.out.count("mrr: Reciprocal rank.") == 1
    refused = evaluate("good.csv", "--csv", "--definitions")
    assert refused.code == 2
    assert "--definitions is not available in csv output" in refused.err


def test_improvements_are_shown_in_every_format(evaluate: Run) -> None:
    asked = ("poor.csv", "good.csv", "--metrics", "mrr", "--improvement")
    # The first hits: poor at ranks 2 and 2, good at ranks 1 and 1, of three users.
    change = "+33.33 pp (+100.0%)"
    assert evaluate(*asked).out.endswith(
        f"poor -> good:\nmrr  33.33% -> 66.67%  {change}  better\n"
    )
    table = evaluate(*asked, "--format", "markdown").out.partition("poor -> good:\n\n")[2]
    row = f"| mrr    | 33.33% | 66.67% | {change} | better |"
    assert table.splitlines()[-1] == row
    tex = change.replace("%", r"\%")
    assert rf"mrr & 33.33\% & 66.67\% & {tex} & better \\" in evaluate(*asked, "--latex").out
    heading, row = evaluate(*asked, "--csv").out.splitlines()
    assert heading == "from,to,metric,baseline,other,difference,unit,relative,better"
    assert row.startswith("poor,good,mrr,0.333")
    assert row.endswith(",pp,100.0,True")
    stored = json.loads(evaluate(*asked, "--json").out)
    assert stored["improvements"]["baseline"] == "poor"
    assert stored["improvements"]["changes"]["good"][0]["relative"] == 100.0
    assert stored["evaluations"].keys() == {"poor", "good"}


def test_an_improvement_needs_a_second_file(evaluate: Run) -> None:
    refused = evaluate("good.csv", "--metrics", "mrr", "--improvement")
    assert refused.code == 2
    assert "there is only 1 evaluation" in refused.err
    refused = evaluate("good.csv", "poor.csv", "--format", "smgcn", "--improvement")
    assert "one of the formats table, markdown, latex, csv, json" in refused.err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_values_of_every_list_can_be_written(evaluate: Run, shop: Path, ending: str) -> None:
    assert evaluate("good.csv", "--metrics", "mrr", "--per-list", f"one.{ending}").code == 0
    assert evaluate("good.csv", "poor.csv", "--per-list", f"two.{ending}").code == 0
    read = pl.read_csv if ending == "csv" else pl.read_parquet
    one, two = read(shop / f"one.{ending}"), read(shop / f"two.{ending}")
    assert dict(one.iter_rows()) == {"ann": 1.0, "bob": 1.0, "cid": 0.0}
    assert two.columns[:2] == ["run", "user"]
    assert two["run"].to_list() == ["good"] * 3 + ["poor"] * 3
    left = {path.name for path in shop.iterdir()}
    assert left == {"truth.csv", "good.csv", "poor.csv", f"one.{ending}", f"two.{ending}"}


def test_a_failing_metric_leaves_the_others_and_exits_1(evaluate: Run) -> None:
    said = evaluate("good.csv", "--metrics", FAILING, "mrr")
    assert said.code == 1
    assert "| mrr    | 0.6667 |" in said.out
    assert f"! {FAILING} failed: " in said.out
    assert said.err == ""


def test_a_failing_metric_is_in_the_file_and_on_stderr(evaluate: Run, shop: Path) -> None:
    said = evaluate("good.csv", "--metrics", FAILING, "mrr", "--json", "--output", "e.json")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: BadGrades: ")
    stored = json.loads((shop / "e.json").read_text())
    assert list(stored["failures"]) == [FAILING]
    assert list(stored["results"]) == ["mrr"]


def test_a_failing_metric_is_shown_with_the_others(evaluate: Run) -> None:
    said = evaluate("good.csv", "poor.csv", "--metrics", FAILING, "mrr")
    assert said.code == 1
    assert said.out.count("failed |") == 2
    assert said.out.count(f"\n! {FAILING} failed: ") == 1


def test_an_output_replaces_an_older_file(evaluate: Run, shop: Path) -> None:
    (shop / "e.csv").write_text("old")
    assert evaluate("good.csv", "--csv", "--output", "e.csv").code == 0
    assert (shop / "e.csv").read_text().startswith("metric,value,lists\n")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("missing.csv",), "UnreadableFile", "missing.csv does not exist"),
        (("good.csv", "missing.csv"), "UnreadableFile", "missing.csv does not exist"),
        (("good.csv", "--metrics", "nddcg"), "UnknownName", "did you mean 'ndcg'"),
        (("good.csv", "--metrics", "ndcg@0"), "BadName", "a whole number from 1"),
        (("good.csv", "--convention", "rectool"), "UnknownName", "did you mean 'rectools'"),
        (("good.csv", "--convention", "ties=best"), "UnknownName", "pessimistic"),
        (("good.csv", "--columns", "usr=visitor"), "UnknownName", "did you mean 'user'"),
        (("good.csv", "--metrix", "ndcg"), "NoSuchOption", "did you mean '--metrics'"),
        (("good.csv", "--json", "--format", "csv"), "BadArgument", "several formats"),
        (("good.csv", "--format", "html"), "BadParameter", "markdown"),
        (("good.csv", "--per-list", "values.xlsx"), "BadArgument", ".csv or .parquet"),
        (("--json",), "BadArgument", "option --predictions was given no value"),
    ],
)
def test_bad_use_exits_2_says_why_and_writes_nothing(
    evaluate: Run, shop: Path, arguments: tuple[str, ...], kind: str, words: str
) -> None:
    before = {path.name for path in shop.iterdir()}
    said = evaluate(*arguments, "--output", "out.txt")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: {kind}: ")
    assert words in said.err
    assert "Traceback" not in said.err
    assert {path.name for path in shop.iterdir()} == before


def test_a_folder_that_does_not_exist_is_refused_before_computing(evaluate: Run) -> None:
    said = evaluate("good.csv", "--output", "no/where.json", "--per-list", "values.csv")
    assert said.code == 2
    assert "a file in a folder that exists" in said.err
    assert not Path("values.csv").exists()


def test_a_missing_option_is_named(run: Run, shop: Path) -> None:
    said = run("evaluate", "--truth", "truth.csv")
    assert said.code == 2
    assert "expected one kind of predictions: files with ranked lists, --scores" in said.err
    assert "for example: recs.csv --truth test.csv" in said.err
    said = run("evaluate", "--predictions", "good.csv")
    assert said.code == 2
    assert "ranked lists were given without --truth" in said.err


def test_predictions_are_arguments_or_an_option(run: Run, shop: Path) -> None:
    as_arguments = run("evaluate", "good.csv", "poor.csv", "--truth", "truth.csv")
    as_option = run("evaluate", "--truth", "truth.csv", "--predictions", "good.csv", "poor.csv")
    both = run("evaluate", "good.csv", "--truth", "truth.csv", "--predictions", "poor.csv")
    assert as_arguments.code == 0
    assert as_arguments == as_option == both


def test_a_file_after_metrics_is_pointed_out(run: Run, shop: Path) -> None:
    said = run("evaluate", "--truth", "truth.csv", "--metrics", "mrr", "good.csv")
    assert said.code == 2
    assert "--metrics was given 'good.csv', which is a file." in said.err
    assert "rectitude evaluate good.csv --metrics ..." in said.err


def test_models_share_one_ledger_where_they_agree(run: Run, shop: Path) -> None:
    said = run("evaluate", "good.csv", "poor.csv", "--truth", "truth.csv", "--metrics", "mrr")
    common, _, rest = said.out.partition("\nin common:\n")[2].partition("\n\n")
    assert "! 1 of 3 users in the truth have no predictions (first: 'cid')" in common
    assert rest.startswith("good:\n")
    assert "users in the truth" not in rest
    assert said.out.count("predictions: good.csv") == 1
    stored = json.loads(
        run("evaluate", "good.csv", "poor.csv", "--truth", "truth.csv", "--json").out
    )
    for evaluation in stored["evaluations"].values():
        assert evaluation["ledger"]["counts"]["users_without_list"]["count"] == 1


@pytest.mark.parametrize("option", ["--k", "-k", "--topk"])
def test_a_cutoff_option_is_answered_with_the_name_of_a_metric(
    run: Run, shop: Path, option: str
) -> None:
    said = run("evaluate", "good.csv", "--truth", "truth.csv", option, "10")
    assert said.code == 2
    assert f"'rectitude evaluate' has no option '{option}'." in said.err
    assert "cutoffs are part of a metric's name: --metrics ndcg@10" in said.err


def test_a_measure_of_trec_eval_needs_its_format(run: Run, shop: Path) -> None:
    said = run("evaluate", "good.csv", "--truth", "truth.csv", "-m", "mrr")
    assert said.code == 2
    assert "for other formats: --metrics mrr" in said.err


def test_values_are_numbers_even_when_undefined(evaluate: Run) -> None:
    said = evaluate(
        "good.csv", "--json", "--metrics", "precision",
        "--convention", "precision_over=returned", "undefined=nan",
    )  # fmt: skip
    value = json.loads(said.out)["results"]["precision"]["value"]
    assert value is None or math.isfinite(value)

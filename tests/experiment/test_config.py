"""The file of an experiment: errors name the file, the line and the nearest key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiments import SMALL, write

import rectitude as rt
from rectitude.errors import BadSetting, RectitudeError, UnknownName, UnreadableFile
from rectitude.experiment.reading import load, schema, starter_text
from rectitude.experiment.run import plan
from rectitude.options import toml_lines

YAML = """\
data:
  shop: {rows: 2000}
prepare:
  - step: deduplicate
    keep: first
split:
  how: time_ratio
  ratio: 0.2
models:
  popularity: {}
evaluate:
  metrics: [ndcg@10]
"""


def line_of(text: str, words: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


def said(folder: Path, text: str, name: str = "experiment.toml") -> str:
    with pytest.raises(RectitudeError) as caught:
        plan(write(folder, text, name))
    return str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "nearest"),
    [
        ("[evaluate]", "[evalute]", "evaluate"),
        ("metrics =", "metrcs =", "metrics"),
        ("ratio = 0.2\nvalid", "rato = 0.2\nvalid", "ratio"),
        ('how = "time_ratio"\nratio', 'how = "time_rato"\nratio', "time_ratio"),
        ("[models.popularity]", "[models.popularty]", "popularity"),
        ("neighbours = 20", "neighbors = 20", "neighbours"),
        ('step = "deduplicate"', 'step = "dedupe"', "deduplicate"),
        ('keep = "first"', 'keeps = "first"', "keep"),
        ('"ndcg@10"', '"ndgc@10"', "ndcg@10"),
        ("shop =", "shpo =", "shop"),
        ('mode = "off"\n\n[models', 'mode = "of"\n\n[models', "off"),
    ],
)
def test_a_typo_is_reported_with_its_line_and_the_nearest_name(
    right: str, wrong: str, nearest: str, tmp_path: Path
) -> None:
    assert right in SMALL
    text = SMALL.replace(right, wrong, 1)
    message = said(tmp_path, text)
    assert f"experiment.toml, line {line_of(text, wrong.splitlines()[0])}" in message
    assert f"did you mean '{nearest}'" in message or f"or '{nearest}'" in message


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ("rows = 2_000", 'rows = "2000"', "a whole number"),
        ("ratio = 0.2\nvalid", "ratio = 'much'\nvalid", "a number"),
        ("neighbours = 20", "neighbours = 'many'", "a whole number"),
        ("[models.popularity]", '[models."a/b"]\nmodel = "random"', "letters, digits"),
        ('metrics = ["ndcg@10", "recall@{5,10}"]', "metrics = 3", "text in quotes or a list"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_with_its_line(
    right: str, wrong: str, expected: str, tmp_path: Path
) -> None:
    assert right in SMALL
    text = SMALL.replace(right, wrong, 1)
    message = said(tmp_path, text)
    assert f"experiment.toml, line {line_of(text, wrong.splitlines()[0])}" in message
    assert expected in message


def test_an_empty_list_of_metrics_is_reported_with_its_line(tmp_path: Path) -> None:
    text = SMALL.replace('metrics = ["ndcg@10", "recall@{5,10}"]', "metrics = []")
    assert f"line {line_of(text, 'metrics =')}: no metric is given" in said(tmp_path, text)


def test_all_wrong_keys_are_reported_at_once(tmp_path: Path) -> None:
    text = SMALL.replace("shop =", "shpo =").replace("metrics =", "metrcs =")
    message = said(tmp_path, text)
    assert "'shpo'" in message
    assert "'metrcs'" in message


def test_missing_files_are_reported_before_anything_runs(tmp_path: Path) -> None:
    text = SMALL.replace("shop = { rows = 2_000 }", 'path = "nothing.csv"')
    assert "line 2: " in (message := said(tmp_path, text))
    assert "nothing.csv does not exist" in message
    lists = SMALL + '\n[models.file]\npredictions = "lists.csv"\n'
    assert "lists.csv is not a file" in said(tmp_path, lists)
    assert not (tmp_path / "runs").exists()


def test_an_unset_environment_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_FOLDER", raising=False)
    text = SMALL.replace("shop = { rows = 2_000 }", 'path = "$SOME_FOLDER/log.csv"')
    message = said(tmp_path, text)
    assert "line 2: '$SOME_FOLDER/log.csv' needs the environment variable SOME_FOLDER" in message
    (tmp_path / "log.csv").write_text("user,item,timestamp\n1,1,1\n")
    monkeypatch.setenv("SOME_FOLDER", str(tmp_path))
    assert plan(write(tmp_path, text))[0] == ("data", "to do")


def test_invalid_toml_is_reported_with_the_line(tmp_path: Path) -> None:
    path = write(tmp_path, "[data]\npath = a.csv\n")
    with pytest.raises(UnreadableFile, match="line 2"):
        load(path)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        load(tmp_path / "absent.toml")


def test_tuning_needs_a_validation_part_and_parameters_that_exist(tmp_path: Path) -> None:
    tune = "[models.popularity.tune]\nspace = { weights = ['binary', 'count'] }\n"
    text = SMALL.replace("[models.item-knn]", f"{tune}\n[models.item-knn]")
    bare = text.replace('validation = { how = "time_ratio", ratio = 0.2 }', "")
    assert f"line {line_of(bare, '.tune]')}" in (message := said(tmp_path, bare))
    assert "no validation part" in message
    wrong = text.replace("weights =", "weight =")
    assert (
        f"line {line_of(wrong, 'space =')}: model 'popularity' has no parameter 'weight'"
        in said(tmp_path, wrong)
    )
    for range_, expected in {
        "low = 3, high = 1": "low below high",
        "low = 3, high = inf": "a range of finite numbers",
        "low = 1, high = 3, step = 0": "a step above 0 that fits into the range",
        "low = 1, high = 3, step = 7": "a step above 0 that fits into the range",
    }.items():
        ranged = text.replace("['binary', 'count']", f"{{ {range_} }}")
        assert expected in said(tmp_path, ranged)


def test_yaml_works_like_toml_and_errors_have_lines_too(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, YAML, "experiment.yaml"))
    assert (run.folder / "config.yaml").read_text() == YAML
    wrong = YAML.replace("ratio: 0.2", "rato: 0.2")
    assert "experiment.yaml, line 8" in said(tmp_path, wrong, "experiment.yaml")
    twice = YAML.replace("  ratio: 0.2\n", "  ratio: 0.2\n  ratio: 0.3\n")
    assert "line 9: split.ratio is given twice" in said(tmp_path, twice, "experiment.yaml")
    with pytest.raises(UnreadableFile, match="line 1: could not determine a constructor"):
        load(write(tmp_path, "!!python/object/apply:os.getcwd []\n", "evil.yaml"))


def test_a_dict_is_an_experiment_and_errors_name_its_keys(tmp_path: Path) -> None:
    told = {"data": {"shop": {"rows": 2000}}, "models": {"popularity": {}, "random": {"sed": 1}}}
    with pytest.raises(UnknownName, match=r"experiment, models.random.sed: model 'random'"):
        rt.run(told, folder=tmp_path / "run")
    with pytest.raises(BadSetting, match="sources of interactions: none"):
        rt.run({"models": {"popularity": {}}}, folder=tmp_path / "run")


def test_lines_are_found_in_any_style_of_toml() -> None:
    lines = toml_lines(
        '# a comment\na.b = 1\n[x]\nlist = [\n  1, # one\n  2,\n]\ntext = """\n[no.heading]\n"""\n'
        "[[steps]]\nstep = 'one'\n[[steps]]\n'step' = 'two'\ninside = { k = 1, l = 2 }\n"
    )
    assert lines[("a", "b")] == 2
    assert lines[("x", "list")] == 4
    assert lines[("x", "text")] == 8
    assert lines[("steps", 0, "step")] == 12
    assert lines[("steps", 1, "step")] == 14
    assert lines[("steps", 1, "inside", "l")] == 15
    assert ("no",) not in lines


def test_tables_in_a_list_have_separate_lines() -> None:
    lines = toml_lines(
        "steps = [\n  { step = 'one { step = 2' },\n"
        "  # { step = 'none' },\n  { step = 'two' },\n]\n"
    )
    assert [lines[("steps", number)] for number in (0, 1)] == [2, 4]
    assert [lines[("steps", number, "step")] for number in (0, 1)] == [2, 4]


def test_the_schema_is_the_one_in_docs_and_names_models_and_splits() -> None:
    kept = Path(__file__).resolve().parents[2] / "docs" / "experiment.schema.json"
    assert json.loads(kept.read_text("utf-8")) == json.loads(
        json.dumps(schema(), default=lambda one: one.model_dump(exclude_defaults=True))
    ), "python docs/generate.py writes it"
    tables = schema()["$defs"]
    assert "time_ratio" in tables["SplitBy"]["properties"]["how"]["enum"]
    assert "item-knn" in tables["Entrant"]["properties"]["model"]["enum"]
    assert all("description" in one for one in tables["MeasuredTable"]["properties"].values())


def test_the_starter_runs_as_it_is(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, starter_text().replace("20_000", "4_000")))
    assert set(run.results["headline"]) == {"popularity", "item-knn", "ease"}
    assert run.results["models"]["ease"]["trials"] == 8


def test_a_word_that_yaml_reads_as_false_is_reported(tmp_path: Path) -> None:
    assert "write 'off' in quotes" in said(tmp_path, f"{YAML}\naudit: {{mode: off}}\n", "e.yaml")

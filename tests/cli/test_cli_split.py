"""Ways to split and steps that need more than a number, on the command line and in experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_files import Run

import rectitude as rt

LOG = """user,item,rating,timestamp
1,a,5,100
1,b,4,110
1,c,3,200
1,d,2,210
2,a,1,100
2,b,5,120
2,c,4,300
3,e,2,10
3,f,4,20
3,a,3,300
"""
SESSIONS = [{"step": "session_gap", "gap": 50}]  # 1: ab, cd; 2: ab, c; 3: ef, a
SPLITS: dict[str, tuple[dict[str, Any], list[str], int]] = {
    "random_rows": ({"ratio": 0.5, "draw": "numpy_generator"}, [], 7),
    "random_next": ({"n": 2}, [], 6),
    "after_first": ({"n": 1, "within": {"how": "leave_last", "keep": 0}}, [], 3),
    "named_users": ({"users": [1, 2], "within": {"how": "leave_last"}}, [], 2),
    "next_after": ({"t": 200, "rows": "first"}, [], 3),
    "last_sessions": ({"n": 1}, SESSIONS, 4),
    "late_sessions": ({"t": 210}, SESSIONS, 4),
    "last_ratio": ({"size": 1, "keep": 1, "validation": 1}, [], 3),
}
"""Parameters, steps before the split, and how many rows are held out."""
STEPS: dict[str, tuple[dict[str, Any], int]] = {
    "session_length": ({"at_least": 2}, 8),
    "users_where": ({"table": "people.csv", "column": "age", "at_least": 30}, 7),
    "items_where": ({"table": "goods.csv", "column": "kind", "among": ["tea"]}, 6),
    "popularity_range": ({"at_most": 0.5}, 3),
    "cap_items": ({"spread": 0.0}, 9),
    "thin_popular_items": ({"above": 0.5, "share": 0.9}, 9),
}
"""Parameters, and how many rows are left."""
PROTOCOLS: dict[str, tuple[str, dict[str, Any], int]] = {
    "sequences": ("recbole", {"method": "RS_820_user", "model_type": "sequential"}, 3),
    "three shares": (
        "recommenders",
        {"method": "python_chrono_split", "ratio": [0.5, 0.25, 0.25], "min_rating": 3},
        3,
    ),
    "rows for validation": (
        "cornac",
        {"method": "TimestampSplit", "test_size": 2, "val_size": 2, "exclude_unknowns": False},
        2,
    ),
}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the current one, with a log and tables about its users and items."""
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "people.csv").write_text("user,age\n1,40\n2,20\n3,35\n")
    (tmp_path / "goods.csv").write_text("item,kind\na,tea\nb,rye\nc,tea\nd,rye\ne,tea\nf,rye\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_toml(value: object) -> str:
    """Write a value as in TOML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def table(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {in_toml(value)}\n" for key, value in values.items())


def write_steps(folder: Path, steps: list[dict[str, Any]]) -> str:
    """Write a recipe, and return the name of its file."""
    (folder / "steps.toml").write_text("".join(f"[[steps]]\n{table(step)}" for step in steps))
    return "steps.toml"


def split_log(
    run: Run, folder: Path, words: list[str], steps: list[dict[str, Any]]
) -> tuple[str, dict[str, int]]:
    """Split on the command line; return the fingerprint and the rows of each part."""
    more = ["--recipe", write_steps(folder, steps)] if steps else []
    said = run("split", "log.csv", *words, *more, "--json")
    assert said.code == 0, said.err
    return _describe(json.loads(said.out))


def experiment(
    folder: Path, split: dict[str, Any], steps: list[dict[str, Any]]
) -> tuple[str, dict[str, int]]:
    """Run an experiment with this split; return the fingerprint and the rows of each part."""
    text = '[data]\npath = "log.csv"\n' + "".join(f"[[prepare]]\n{table(step)}" for step in steps)
    text += f"[split]\n{table(split)}[models.popularity]\n[evaluate]\nmetrics = ['recall@2']\n"
    text += "".join(f"[{stage}]\nmode = 'off'\n" for stage in ("audit", "explain", "report"))
    (folder / "experiment.toml").write_text(text)
    run = rt.run(folder / "experiment.toml")
    assert run.exit_code == 0, run.failures
    (stored,) = run.results["splits"]
    return _describe(stored)


def _describe(stored: dict[str, Any]) -> tuple[str, dict[str, int]]:
    return stored["fingerprint"], {name: part["rows"] for name, part in stored["parts"].items()}


def settings(values: dict[str, Any]) -> list[str]:
    return [f"{key}={in_toml(value)}" for key, value in values.items()]


@pytest.mark.parametrize("how", SPLITS)
def test_an_experiment_splits_as_the_command_line_does(run: Run, log: Path, how: str) -> None:
    options, steps, held = SPLITS[how]
    made = split_log(run, log, ["--how", how, "--set", *settings(options)], steps)
    assert made[1]["truth"] == held
    assert experiment(log, {"how": how, **options}, steps) == made


@pytest.mark.parametrize("step", STEPS)
def test_a_step_leaves_the_same_rows_in_an_experiment(run: Run, log: Path, step: str) -> None:
    options, left = STEPS[step]
    steps = [*(SESSIONS if step == "session_length" else []), {"step": step, **options}]
    made = split_log(run, log, ["--how", "leave_last"], steps)
    assert made[1]["train"] + made[1]["truth"] == left
    assert experiment(log, {"how": "leave_last"}, steps) == made


@pytest.mark.parametrize("name", PROTOCOLS)
def test_words_of_a_framework_mean_the_same_in_an_experiment(
    run: Run, log: Path, name: str
) -> None:
    protocol, options, held = PROTOCOLS[name]
    made = split_log(run, log, ["--protocol", protocol, "--set", *settings(options)], [])
    assert made[1]["truth"] == held
    assert experiment(log, {"protocol": protocol, **options}, []) == made


def test_the_truth_alone_is_written_with_an_empty_train(run: Run, log: Path) -> None:
    words = {"method": "sample_users", "size": 2, "repeats": 2, "disjoint": False}
    holdout = {"holdout": {"method": "LastN", "n": 1}, "test_only": True}
    options = ["--protocol", "lenskit", "--set", *settings({**words, **holdout})]
    said = run("split", "log.csv", *options, "--output", "parts")
    assert said.code == 0, said.err
    assert "8 training rows are left out" in said.out
    for fold in ("fold-1", "fold-2"):
        stored = json.loads((log / "parts" / fold / "split.json").read_text())["parts"]
        assert {name: part["rows"] for name, part in stored.items()} == {"train": 0, "truth": 2}


def test_validation_may_be_a_number_of_rows(run: Run, log: Path) -> None:
    words = ["--how", "time_ratio", "--set", "size=2", "--validate", "3"]
    _, parts = split_log(run, log, words, [])
    assert (parts["truth"], parts["validation_truth"]) == (2, 3)

"""An option that can have no effect beside the other arguments is refused, and not ignored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_files import Run

FILES = ("--truth", "--targets", "--train", "--seen", "--candidates", "--ranking", "--items")
FILES += ("--users", "--weights")
SAVED = {
    "explain": ("a.json", "b.json", (*FILES, "--metric", "--list-key", "--padding", "--seed")),
    "compare": ("a.zip", "b.zip", (*FILES, "--list-key", "--cutoffs")),
}


@pytest.mark.parametrize(
    ("verb", "option"), [(verb, option) for verb in SAVED for option in SAVED[verb][2]]
)
def test_saved_evaluations_refuse_what_they_do_not_use(
    verb: str, option: str, shop: Path, run: Run
) -> None:
    for name, lists in (("a", "good.csv"), ("b", "poor.csv")):
        for ending in ("json", "zip"):
            run("evaluate", lists, "--truth", "truth.csv", "--output", f"{name}.{ending}")
    files = SAVED[verb][:2]
    assert run(verb, *files).code == 0
    said = run(verb, *files, option, "5" if option in ("--seed", "--cutoffs") else "truth.csv")
    assert said.code == 2
    assert option.strip("-").replace("-", "_") in said.err.replace("-", "_")
    assert said.out == ""


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("evaluate --scores scores.npy --truth truth.csv --memory 1GB", "--memory"),
        ("audit --train good.csv --truth truth.csv --targets targets.npy", "--targets"),
        ("convert --formats --to csv", "--to"),
        ("convert --formats good.csv", "FROM"),
        ("run --schema --folder x", "--folder"),
        ("run --init new.toml --only x", "--only"),
        ("run x.toml --dry-run --fresh", "--fresh"),
        ("candidates parts --fold-in good.csv", "--fold-in"),
        ("candidates --train good.csv --truth truth.csv --how full --seed 3", "--seed"),
    ],
)
def test_an_option_without_effect_is_refused(words: str, option: str, shop: Path, run: Run) -> None:
    np.save("scores.npy", np.eye(3))
    said = run(*words.split())
    assert said.code == 2
    assert f"{option} was given, but it does not apply to" in said.err
    assert not Path("new.toml").exists()

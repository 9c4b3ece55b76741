"""The workflows do nothing that a developer could not: they call targets of the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_that_exist(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    called = {match for command in commands for match in re.findall(r"\bmake (\w+)", command)}
    assert called <= TARGETS
    assert all(re.match(r"(make|\.ci/run|test) ?", command) for command in commands)


def test_only_the_jobs_that_publish_may_write() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            assert ("permissions" in job) == (name == "publish"), path.name


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_an_issue_template_can_be_read_and_asks_for_the_doctor(path: Path) -> None:
    template = yaml.safe_load(path.read_text("utf-8"))
    if path.name in ("bug.yml", "wrong-number.yml"):
        assert "rectitude doctor" in str(template["body"])
    assert path.name == "config.yml" or {"name", "description", "body"} <= template.keys()

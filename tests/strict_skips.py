"""Pytest plugin for CI: a test skipped for want of something that CI installs has failed.

A skip counts as such when its reason says `missing: ...` or `... is not installed`, or is the one
that `pytest.importorskip` gives. Tests that want what CI need not have (the large golden tree, real
data) skip with another reason. Loaded with `-p strict_skips` by the Makefile when CI=true.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
FORBIDDEN = re.compile(r"missing:|could not import|.* is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return strict((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return strict((yield))


def strict(report: Report) -> Report:
    """The report, failed if it was skipped for want of something."""
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if FORBIDDEN.match(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped where nothing may be missing: {reason}"
    return report

"""Less common metrics are loaded only when the registry is asked for an unknown name."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = tuple(f"rectitude.metrics.{name}" for name in ("auc", "calibration", "peers", "ratings"))
START = f"import sys, rectitude as rt\nloaded = lambda: any(m in sys.modules for m in {OTHERS!r})\n"


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", START + code], check=True)


def test_common_metrics_do_not_load_the_others() -> None:
    run("rt.evaluate({1: [1, 2]}, {1: [2]}, metrics='ndcg@10')\nassert not loaded()")


@pytest.mark.parametrize(
    "code",
    [
        "assert rt.METRICS['auc'].name == 'auc'",
        "assert 'auc' in rt.METRICS",
        "assert 'auc' in list(rt.METRICS)",
        "assert len(rt.METRICS) > 100",
    ],
)
def test_other_metrics_are_loaded_on_request(code: str) -> None:
    run(f"import rectitude.metrics\nassert not loaded()\n{code}\nassert loaded()")


def test_an_unknown_name_is_compared_with_all_others() -> None:
    run(
        "try: rt.METRICS['serendipityy']\n"
        "except rt.errors.RectitudeError as error: assert \"'serendipity'\" in str(error)\n"
        "else: raise AssertionError"
    )


def test_a_name_is_taken_before_its_metric_is_loaded() -> None:
    run(
        "try: rt.metric('Mine', name='auc')(lambda lists, k: None)\n"
        "except rt.errors.BadName as error: assert 'exists already' in str(error)\n"
        "else: raise AssertionError"
    )


def test_a_wrapper_of_our_metric_cannot_take_a_name_in_use() -> None:
    run(
        "import functools\nfrom rectitude.metrics.ranking import recall\n"
        "try: rt.metric('Mine', name='auc')(functools.wraps(recall)(lambda lists, k: None))\n"
        "except rt.errors.BadName as error: assert 'exists already' in str(error)\n"
        "else: raise AssertionError"
    )


def test_an_object_that_is_not_hashable_can_be_a_metric() -> None:
    run(
        "import numpy as np\nfrom dataclasses import dataclass\n"
        "from rectitude.metrics import Ratio\n"
        "@dataclass\nclass Constant:\n    worth: float = 0.5\n"
        "    __name__ = __qualname__ = 'constant'\n"
        "    def __call__(self, lists, k):\n"
        "        return Ratio.of(np.full(lists.size, self.worth))\n"
        "rt.metric('Mine', name='mine')(Constant())\n"
        "assert rt.evaluate({1: [1]}, {1: [2]}, metrics='mine')['mine'] == 0.5"
    )
